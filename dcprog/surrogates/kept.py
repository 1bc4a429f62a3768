"""What was compiled for a problem serves its next solve."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import cvxpy as cp

from dcprog.majorants.frozen_problem import check_data
from dcprog.surrogates.problem import ProblemSurrogate

__all__ = ["compiled", "kept"]

_KEPT: WeakKeyDictionary[cp.Problem, dict[str | None, ProblemSurrogate]] = WeakKeyDictionary()


def compiled(problem: cp.Problem, solver: str | None) -> ProblemSurrogate:
    """The surrogate kept from the last solve with that solver, or a new one.

    It is taken out while it is used: two threads never share one.
    """
    before = _KEPT.get(problem, {}).pop(solver, None) if _is_name(solver) else None
    if before is not None:
        check_data(problem)
        if before.renew():
            return before
    return ProblemSurrogate(problem, solver)


def kept(problem: cp.Problem, solver: str | None, surrogate: ProblemSurrogate) -> None:
    """Keep a surrogate for the next solve."""
    _KEPT.setdefault(problem, {})[solver] = surrogate


def _is_name(solver: object) -> bool:
    return solver is None or isinstance(solver, str)
