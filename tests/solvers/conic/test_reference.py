"""cvxpy's path for risks: whose point counts, and what its multipliers prove."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dcprog as dc
from dcprog import losses, penalties
from dcprog.foundation.arrays import Array
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.rows.linear import binary_margins, residual_rows
from dcprog.solvers.conic.portfolio import Portfolio
from dcprog.solvers.conic.reference import ReferenceSolver

PENALTIES = [penalties.group_lasso(0.7, [0, 0, 1]), penalties.l1(0.3), penalties.mcp(0.5, 3.0)]


def _risks(penalty: Any) -> list[Risk]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3))
    y = X @ np.ones(3) + rng.standard_normal(30)
    return [
        Risk.from_loss(binary_margins(X, np.where(y > 0, 1, -1)), losses.hinge(), penalty),
        Risk.from_loss(residual_rows(X, y), losses.cap(losses.absolute(), 1.0), penalty),
        Risk.from_loss(residual_rows(1e6 * X, 1e-3 * y), losses.pinball(0.3), penalty),
    ]


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_kinked_losses_converge_by_cvxpys_multipliers(penalty: Any) -> None:
    for risk in _risks(penalty):
        result = dc.solve(risk, solver="cvxpy")
        assert result.status == "converged"
        assert "dual bound" in result.message or "majorant did not change" in result.message


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@pytest.mark.parametrize("wrong", ["start", "noise", "stale"])
def test_no_wrong_answer_makes_a_bound_too_high(
    penalty: Any, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for risk in _risks(penalty):
        surrogate = risk.surrogate("cvxpy")
        x = surrogate.starts("convex", np.random.default_rng(0)) + 0.1
        surrogate.begin(x)
        surrogate.tighten(x)
        least = surrogate.majorant_value(surrogate.minimise(x, 1e-10, "cvxpy"))
        slack = 1e-9 * surrogate.scale(x)
        assert surrogate.bound() <= least + slack
        with monkeypatch.context() as patch:
            patch.setattr(Portfolio, "minimise", _misled(wrong, Portfolio.minimise))
            surrogate.minimise(x, 1e-8, "cvxpy")
        assert surrogate.bound() <= least + slack
        moved = x + 0.3 * np.abs(x) + 0.1
        surrogate.tighten(moved)
        assert surrogate.bound() <= surrogate.majorant_value(x) + slack  # none of other weights


def _misled(wrong: str, honest: Any) -> Any:
    rng = np.random.default_rng(1)

    def minimise(self: Portfolio, *arguments: Any) -> None:
        variables = self.problem.variables()
        if wrong != "stale":
            honest(self, *arguments)
        for variable in variables:
            value: Array = np.zeros(variable.shape) if wrong == "start" else variable.value
            variable.save_value(value + (rng.standard_normal(variable.shape) * (wrong == "noise")))

    return minimise


def test_the_next_solver_is_asked_where_multipliers_deny_a_point() -> None:
    risk = _risks(penalties.l1(0.3))[0]
    solver = ReferenceSolver(risk)
    honest = type(solver.portfolio).minimise
    asked: list[str] = []

    class Content(Portfolio):
        """A first solver that is content with θ = 0."""

        def minimise(self, solver: str, tolerance: float, time_limit: float | None = None) -> None:
            honest(self, solver, tolerance, time_limit)
            asked.append(solver)
            if len(asked) == 1:
                for variable in self.problem.variables():
                    variable.save_value(np.zeros(variable.shape))

    solver.portfolio.__class__ = Content
    zero = np.zeros(risk.rows.shape[1])
    weights = np.ones(risk.n_groups)
    found = solver.minimise(WeightedRisk(risk, weights), zero, 1e-8)
    assert len(asked) == 2
    assert found.value == pytest.approx(
        ReferenceSolver(risk).minimise(WeightedRisk(risk, weights), zero, 1e-8).value
    )
    assert found.bound <= found.value + 1e-9


def test_weights_that_are_next_to_nothing_are_left_out() -> None:
    risk = _risks(penalties.group_lasso(1e6, [0, 0, 0]))[2]
    weights = np.where(np.arange(30) < 10, 1e-3, 10.0 ** np.linspace(-40, -300, 30))
    start = np.full(risk.rows.shape[1], 1e-14)
    found = ReferenceSolver(risk).minimise(WeightedRisk(risk, weights), start, 1e-8)
    assert found.value <= WeightedRisk(risk, weights).value(start) * (1 + 1e-9)
    assert found.value - found.bound <= 1e-4 * found.value
