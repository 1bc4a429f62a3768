"""A subproblem's lower bound holds whatever the solver left, and is tight where it is right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dcprog as dc
from dcprog.penalties import group_lasso
from dcprog.risk.duality import duality_gap
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.rows.angle import angle_differences
from dcprog.rows.kernel import expansion_residuals
from dcprog.rows.linear import binary_margins, class_margins, residual_rows
from dcprog.solvers.registry import choose, make

RNG = np.random.default_rng(0)
X = RNG.standard_normal((25, 3))
Y = np.where(X[:, 0] + 0.5 * RNG.standard_normal(25) > 0, 1, -1)
T = X @ [1.0, -2.0, 0.0] + 0.3 * RNG.standard_normal(25) + 5
K = np.exp(-0.5 * np.sum((X[:, None] - X) ** 2, axis=2))
THREE = np.arange(25) % 3

MARGINS, RESIDUALS = binary_margins(X, Y), residual_rows(X, T)
EXPANSION = expansion_residuals(K, T)
RISKS = {
    "squares l2": Risk(RESIDUALS, dc.square(), penalty=dc.l2(0.7)),
    "squares": Risk(RESIDUALS, dc.square(), penalty=dc.l2(0.0)),
    "squares l1": Risk(RESIDUALS, dc.square(), penalty=dc.l1(3.0)),
    "squares elastic net": Risk(RESIDUALS, dc.square(), penalty=dc.elastic_net(2.0, 0.5)),
    "squares mcp": Risk(RESIDUALS, dc.square(), penalty=dc.mcp(1.0, 3.0)),
    "huber l2": Risk(RESIDUALS, dc.huber(0.5), penalty=dc.l2(0.7)),
    "absolute l2": Risk(RESIDUALS, dc.absolute(), penalty=dc.l2(0.7)),
    "absolute l1": Risk(RESIDUALS, dc.absolute(), penalty=dc.l1(1.0)),
    "pinball scad": Risk(RESIDUALS, dc.pinball(0.3), penalty=dc.scad(0.5, 3.7)),
    "tube of an expansion": Risk(EXPANSION, dc.epsilon_insensitive(0.1), penalty=EXPANSION.norm(2)),
    "hinge l2": Risk(MARGINS, dc.hinge(), penalty=dc.l2(0.7)),
    "hinge l2, all held": Risk(MARGINS, dc.hinge(), penalty=dc.l2(0.7), penalized=np.ones(4)),
    "squared hinge l2": Risk(MARGINS, dc.squared_hinge(), penalty=dc.l2(0.7)),
    "logistic l1": Risk(MARGINS, dc.logistic(), penalty=dc.l1(0.7)),
    "logistic l2": Risk(MARGINS, dc.logistic(), penalty=dc.l2(0.7)),
    "classes": Risk(class_margins(X, THREE), dc.squared_hinge(), aggregate="sum"),
    "largest": Risk(angle_differences(X, THREE), dc.hinge(), aggregate="max", penalty=dc.l2(0.7)),
    "largest l1": Risk(angle_differences(X, THREE), dc.hinge(), aggregate="max", penalty=dc.l1(1)),
    "group lasso": Risk(MARGINS, dc.logistic(), penalty=group_lasso(0.5, [0, 0, 1])),
    "group lasso l2": Risk(
        MARGINS, dc.logistic(), penalty=group_lasso(0.5, [0, 0, 1]) + dc.l2(0.3)
    ),
}


def _weighted(risk: Risk, tilted: bool) -> WeightedRisk:
    rng = np.random.default_rng(3)
    weights = rng.uniform(0, 2, risk.n_groups) * (rng.random(risk.n_groups) > 0.2)
    tilts = 0.05 * rng.standard_normal(risk.rows.shape[0]) if tilted else None
    if tilts is not None and not np.all(risk.penalized):  # what nothing holds must not fall
        tilts -= np.mean(tilts) if isinstance(risk.rows, type(RESIDUALS)) else 0.0
    shrinkage = None if risk.penalty.is_convex else rng.uniform(0.1, 1, int(risk.penalized.sum()))
    return WeightedRisk(risk, weights, tilts, shrinkage)


def _solved(problem: WeightedRisk) -> Any:
    risk = problem.risk
    return make(choose(risk)[0], risk).minimise(problem, np.zeros(risk.rows.shape[1]), 1e-10)


@pytest.mark.parametrize("name", RISKS)
def test_the_bound_is_tight_at_a_solution(name: str) -> None:
    risk = RISKS[name]
    problem = _weighted(risk, tilted=False)
    solution = _solved(problem)
    gap = duality_gap(problem, solution.coefficients, solution.dual)
    scale = problem.value(solution.coefficients)
    assert 0 <= gap <= (1e-6 if choose(risk)[0] != "cvxpy" else 1e-3) * scale


@pytest.mark.parametrize("tilted", [False, True])
@pytest.mark.parametrize("name", RISKS)
def test_no_lie_makes_it_too_high(name: str, tilted: bool) -> None:
    risk = RISKS[name]
    if tilted and "lasso" in name:
        pytest.skip("the tilted one may be unbounded")
    problem = _weighted(risk, tilted)
    solution = _solved(problem)
    least = problem.value(solution.coefficients)
    rng = np.random.default_rng(7)
    size = np.max(np.abs(solution.coefficients))
    slack = 1e-8 * (1 + abs(least))
    for spread in (0.0, 1e-6, 1e-2, 1.0, 100.0):
        theta = solution.coefficients + spread * size * rng.standard_normal(size_of(solution))
        noise = rng.standard_normal(risk.rows.shape[0])
        for dual in (solution.dual, None, spread * noise, 100 * noise, np.nan * noise):
            if spread and dual is not None:
                dual = dual + spread * noise
            bound = problem.value(theta) - duality_gap(problem, theta, dual)
            assert bound <= least + slack


def test_slopes_that_a_loss_has_nowhere_make_no_bound_too_high() -> None:
    risk = Risk(np.array([[1.0]]), dc.hinge(), penalty=dc.l2(10.0))
    problem = WeightedRisk(risk, np.ones(1))
    least, theta = problem.value(np.array([0.1])), np.array([0.3])
    slope = -2.0  # the line 2 − 2θ is above the hinge 1 − θ
    assert problem.value(theta) - duality_gap(problem, theta, np.array([-slope])) <= least + 1e-12


def size_of(solution: Any) -> int:
    """The number of coefficients."""
    return solution.coefficients.size


def test_a_solver_that_hands_back_its_start_leaves_a_gap() -> None:
    risk = RISKS["hinge l2"]
    surrogate = risk.surrogate()
    start = surrogate.starts("convex", np.random.default_rng(0))
    surrogate.begin(start + 1)
    surrogate.tighten(start + 1)
    assert surrogate.bound() < surrogate.value(start + 1) - 1
    found = surrogate.minimise(start + 1, 1e-10, surrogate.solvers[0])
    assert surrogate.bound() == pytest.approx(surrogate.majorant_value(found), rel=1e-6)
    assert surrogate.bound() <= surrogate.majorant_value(found)


def test_without_evidence_there_is_no_bound() -> None:
    risk = Risk(RESIDUALS, dc.absolute(), penalty=dc.l2(0.7))
    surrogate = risk.surrogate()
    assert surrogate.bound() == -np.inf
    problem = _weighted(risk, tilted=False)
    assert duality_gap(problem, np.zeros(4)) == np.inf
