"""A cache of compiled problems for later solves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import cvxpy as cp

from dcprog.majorants.frozen_problem import check_data
from dcprog.surrogates.problem import ProblemSurrogate

__all__ = ["compiled", "kept"]

Options = Mapping[str, Any] | None

_KEPT: WeakKeyDictionary[cp.Problem, dict[tuple[str | None, str], ProblemSurrogate]]
_KEPT = WeakKeyDictionary()


def compiled(problem: cp.Problem, solver: str | None, options: Options = None) -> ProblemSurrogate:
    """The surrogate kept from the last solve with that solver and its options, or a new one.

    It is taken out while it is used: two threads never share one.
    """
    key = solver, repr(options)
    before = _KEPT.get(problem, {}).pop(key, None) if _is_name(solver) else None
    if before is not None:
        check_data(problem)
        if before.renew():
            return before
    return ProblemSurrogate(problem, solver, options=options)


def kept(
    problem: cp.Problem, solver: str | None, surrogate: ProblemSurrogate, options: Options = None
) -> None:
    """Keep a surrogate for the next solve."""
    _KEPT.setdefault(problem, {})[solver, repr(options)] = surrogate


def _is_name(solver: object) -> bool:
    return solver is None or isinstance(solver, str)
