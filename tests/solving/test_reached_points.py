"""A solver that fails near the minimum has not worked for nothing: its point is a step."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

import dcprog as dc
from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.risk.weighted import WeightedRisk
from dcprog.solvers.protocol import ExactSolver, Solution
from dcprog.solvers.registry import make
from dcprog.solvers.smooth.weighted_lasso import WeightedLasso

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 4))
Y = np.where(X[:, 0] + 0.5 * RNG.standard_normal(80) > 0, 1, -1)
Y[:8] *= -1


class Only(dc.ConvexLoss):
    """A hinge whose parts no solver but one knows."""

    def __call__(self, u: Any) -> Array:
        return np.maximum(1 - np.asarray(u), 0.0)

    def slope(self, u: Any) -> Array:
        return -(np.asarray(u) < 1).astype(float)


class Short(ExactSolver):
    """Goes nine tenths of the way, and fails."""

    fails: ClassVar[bool] = True

    def __init__(self, risk: dc.Risk) -> None:
        self.plain = dc.Risk(risk.rows, dc.hinge(), penalty=risk.penalty)

    @staticmethod
    def refusal(risk: dc.Risk) -> str | None:
        return None if isinstance(risk.base, Only) else "it is another loss"

    def minimise(
        self, problem: WeightedRisk, start: Array, tolerance: float, time_limit: float | None = None
    ) -> Solution:
        plain = WeightedRisk(self.plain, problem.weights, problem.tilts)
        found = make("interior", self.plain).minimise(plain, start, tolerance)
        theta = start + 0.9 * (found.coefficients - start)
        raise dc.SubproblemError("failed", "nine tenths of the way", point=theta)


class Useless(Short):
    """Fails at a point that is higher, or no point."""

    points: ClassVar[list[Any]] = [np.full(5, 1e3), np.full(5, np.nan), None]

    def minimise(self, problem: WeightedRisk, start: Array, *rest: Any, **more: Any) -> Solution:
        self.points.append(self.points.pop(0))
        raise dc.SubproblemError("failed", "elsewhere", point=self.points[0])


def declared() -> dc.Risk:
    return dc.Risk.from_loss(dc.binary_margins(X, Y), dc.cap(Only(), 1.0), dc.l2(0.1))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("start", ["zero", "convex"])
def test_points_that_a_failing_solver_reaches_are_steps(start: str) -> None:
    dc.register_solver("short", Short)
    risk = declared()
    result = dc.solve(risk, start=start, n_starts=1, escape=False, polish=False)
    exact = dc.solve(
        dc.Risk.from_loss(risk.rows, dc.cap(dc.hinge(), 1.0), dc.l2(0.1)),
        start=start,
        n_starts=1,
        escape=False,
        polish=False,
    )
    assert result.x is not None
    assert result.status != "converged"  # nothing confirms it
    assert result.value <= exact.value * (1 + 1e-3)
    assert np.all(np.diff(result.history.value) <= 0)
    assert any("nine tenths" in str(a) for a in result.history.attempts)


def test_points_that_are_no_descent_are_not() -> None:
    dc.register_solver("useless", Useless)
    risk = declared()
    result = dc.solve(risk, start=np.full(5, 0.1), n_starts=1)
    assert result.status == "solver_failed"
    assert result.value <= risk(np.full(5, 0.1))


@pytest.mark.parametrize("name", ["dual_coordinate", "multipliers", "newton", "proximal_newton"])
def test_a_time_limit_leaves_the_point_reached(name: str) -> None:
    base = dc.hinge() if name in ("dual_coordinate", "multipliers") else dc.logistic()
    risk = dc.Risk(dc.binary_margins(X, Y), base, penalty=dc.l2(1e-6))
    problem = WeightedRisk(risk, np.ones(80))
    with pytest.raises(dc.SubproblemError) as caught:
        make(name, risk).minimise(problem, np.zeros(5), 1e-12, time_limit=0.0)
    assert caught.value.point.shape == (5,)
    assert np.isfinite(problem.value(caught.value.point))  # whether it is a step the loop decides


def test_a_lasso_that_is_too_large_leaves_its_point(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dcprog.solvers.smooth.smooth_problem.MOST_UNKNOWNS", 2)
    risk = dc.Risk(dc.residual_rows(X, X @ np.ones(4)), dc.square(), penalty=dc.l1(0.1))
    with pytest.raises(dc.SubproblemError, match="above 2") as caught:
        WeightedLasso(risk).minimiser(
            WeightedRisk(risk, np.ones(80)), np.zeros(5), 1e-9, Deadline()
        )
    assert caught.value.point.shape == (5,)


class Loose(Short):
    """The same, where loose steps save time."""

    @staticmethod
    def loosest(risk: dc.Risk) -> float:
        return 1e-2


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_loose_solve_that_ends_short_is_not_done_again() -> None:
    dc.register_solver("loose", Loose)
    result = dc.solve(declared(), n_starts=1, max_iter=1)
    assert {attempt.tolerance for attempt in result.history.attempts} == {1e-2}
    assert result.history.value[1] < result.history.value[0]
