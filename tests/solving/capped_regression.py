"""A capped regression that several files solve, and a solve whose subproblems are watched."""

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from dcprog.foundation.arrays import Array
from dcprog.problem.majorised_problem import MajorisedProblem

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(20, 3)), RNG.normal(size=20)


def capped(e: cp.Expression, cap: float = 1.0) -> cp.Expression:
    return cp.sum(cp.minimum(cp.square(e), cap))


def regression(x: cp.Variable) -> cp.Problem:
    return cp.Problem(cp.Minimize(capped(A @ x - B) + 0.1 * cp.sum_squares(x)))


def regression_value(x: Array) -> float:
    return float(np.sum(np.minimum((A @ x - B) ** 2, 1)) + 0.1 * x @ x)


Meddle = Callable[[int, str, Array], Array]


def watch(monkeypatch: pytest.MonkeyPatch, meddle: Meddle) -> list[str]:
    """Note the solver of every subproblem; `meddle(number, solver, solution)` may change it."""
    calls: list[str] = []
    minimise = MajorisedProblem.minimise

    def watched(self: MajorisedProblem, mode: str, tolerance: float, *args: Any) -> Array:
        solver = args[0]
        calls.append(solver)
        return meddle(len(calls), solver, minimise(self, mode, tolerance, *args))

    monkeypatch.setattr(MajorisedProblem, "minimise", watched)
    return calls


def nothing(number: int, solver: str, solution: Array) -> Array:
    return solution
