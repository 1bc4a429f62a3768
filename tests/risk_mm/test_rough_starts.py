"""A loose convex start is near the least value of its own problem, however small that is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dcprog as dc
from dcprog.engine.track import Attempt
from dcprog.risk.duality import duality_gap
from dcprog.risk_mm.starts import convex_problem
from dcprog.risk_mm.surrogate import Subproblems
from dcprog.rows.linear import binary_margins, class_margins
from dcprog.solvers.piecewise.dual_coordinate import DualCoordinateSolver
from dcprog.solvers.protocol import Solution


def test_a_start_far_below_zero_may_be_far_above_its_minimum() -> None:
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(450, 450))
    X = Z * np.logspace(-3, 3, 450)  # dual coordinates leave a quarter of the value at θ = 0
    y = np.sign(Z @ rng.normal(size=450))
    loss = dc.cap(dc.hinge(), 1.0)
    risk = dc.Risk.from_loss(binary_margins(X, y), loss, penalty=dc.l2(1e-4))
    result = dc.solve(risk, n_starts=1)
    assert result.status == "converged"
    assert result.value < 1e-3  # all samples are fitted


def test_a_score_that_fails_leaves_the_multipliers_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of one score alone gave no gap, so that no point of several classes was near."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 4)), rng.integers(3, size=150)
    risk = dc.Risk.from_loss(class_margins(X, y), dc.hinge(), penalty=dc.l2(10.0))
    problem, solver = convex_problem(risk), DualCoordinateSolver(risk)
    found = DualCoordinateSolver._descend
    calls: list[int] = []

    def descend(self: Any, *args: Any) -> Any:
        calls.append(1)
        w, b, gap = found(self, *args)
        return w, b, np.inf if len(calls) == 3 else gap

    monkeypatch.setattr(DualCoordinateSolver, "_descend", descend)
    monkeypatch.setattr(DualCoordinateSolver, "_may_finish", False)
    with pytest.raises(dc.SubproblemError) as failed:
        solver.minimise(problem, np.zeros(risk.rows.shape[1]), 1e-2)
    point, dual = failed.value.point, failed.value.dual
    assert duality_gap(problem, point, dual) <= 0.05 * problem.value(point)


def test_a_finer_solve_that_fails_higher_leaves_the_point_of_the_looser_one() -> None:
    risk = dc.Risk(np.ones((3, 1)), dc.square(at=1.0))  # 3(1 − θ)² + θ²/2, least at 6/7
    problem = convex_problem(risk)

    class Worse:
        def __init__(self, natural: Any) -> None:
            self.points = [np.array([0.5]), np.array([0.3])]

        def minimise(self, problem: Any, start: Any, tolerance: float, limit: Any) -> Any:
            point = self.points.pop(0)
            if not self.points:
                raise dc.SubproblemError("failed", "no better", point=point)
            return Solution(point, None, problem.value(point))

    attempts: list[Attempt] = []
    made: Any = Worse
    subproblems = Subproblems(risk, lambda name, natural: made(natural))
    found = subproblems.first_solved(("worse",), attempts, problem, np.zeros(1), None, (1e-2,))
    assert len(attempts) == 1
    assert found == subproblems.units.own(np.array([0.5]))
