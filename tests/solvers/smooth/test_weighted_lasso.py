"""Weighted lasso problems on working sets: the general paths' solutions, certified, zeros exact."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import dcprog as dc
from dcprog.foundation.arrays import Array
from dcprog.penalties import Penalty, weighted_l1
from dcprog.risk.duality import duality_gap
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.solvers.registry import choose, make
from dcprog.solvers.smooth import proximal_newton
from dcprog.solvers.smooth.proximal_newton import ProximalNewtonSolver
from dcprog.solvers.smooth.sign_search import SignSearch
from dcprog.solvers.smooth.weighted_lasso import WeightedLasso, WorkingSet

TIGHT = 1e-10


def data(n: int, p: int, sparse: bool = False) -> tuple[Any, Array]:
    rng = np.random.default_rng(n + p)
    X = rng.standard_normal((n, p)) + 0.5 * rng.standard_normal((n, 1))
    if sparse:
        X = X * (rng.random((n, p)) < 0.3)
    y = X[:, :4] @ np.array([3.0, -2.0, 1.0, 0.5]) + 0.3 * rng.standard_normal(n) + 2
    return (sp.csr_array(X) if sparse else X), y


def problem_of(
    n: int, p: int, penalty: Penalty, intercept: bool, sparse: bool = False
) -> WeightedRisk:
    """With weights that differ, some of them 0."""
    X, y = data(n, p, sparse)
    risk = Risk.from_loss(dc.residual_rows(X, y, intercept), dc.square(), penalty)
    weights = np.random.default_rng(0).random(n)
    weights[:3] = 0.0
    shrinkage = None
    if not penalty.is_convex:
        shrinkage = np.random.default_rng(1).random(p) * 30
        shrinkage[:2] = 0.0  # large coefficients under mcp are not held at all
    return WeightedRisk(risk, weights, None, shrinkage)


def by_cvxpy(problem: WeightedRisk) -> float:
    """The minimum, written down anew."""
    risk = problem.risk
    theta = cp.Variable(risk.rows.shape[1])
    l1, l2 = problem.penalty_weights
    u = np.asarray(risk.matrix().toarray()) @ theta + risk.offset
    loss = problem.row_weights @ cp.square(u) + problem.row_tilts @ u
    penalty = l1 @ cp.abs(theta) + 0.5 * (l2 @ cp.square(theta))
    return float(cp.Problem(cp.Minimize(loss + penalty)).solve(solver="CLARABEL"))


def lasso(risk: Risk) -> ProximalNewtonSolver:
    """The solver of parabolas, by a working set."""
    solver = ProximalNewtonSolver(risk)
    assert solver.lasso is not None
    return solver


def newton(risk: Risk) -> ProximalNewtonSolver:
    """The same by proximal Newton steps."""
    solver = ProximalNewtonSolver(risk)
    solver.lasso = None
    return solver


CASES = [
    (60, 20, dc.l1(8.0), True, False),
    (60, 20, dc.elastic_net(8.0, 3.0), False, False),
    (30, 150, dc.l1(3.0), True, False),
    (30, 150, dc.elastic_net(3.0, 1.0), True, False),
    (60, 30, dc.l1(4.0), True, True),
    (40, 300, dc.l1(2.0), False, True),
    (50, 30, dc.mcp(1.0), True, False),
    (50, 30, dc.scad(1.0) + dc.l2(2.0), False, False),
    (50, 30, weighted_l1(np.arange(30.0)), True, False),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_minimum_is_that_of_the_other_paths(
    case: tuple[int, int, Penalty, bool, bool],
) -> None:
    problem = problem_of(*case)
    zero = np.zeros(problem.risk.rows.shape[1])
    ours = lasso(problem.risk).minimise(problem, zero, TIGHT)
    theirs = newton(problem.risk).minimise(problem, zero, TIGHT)
    value, size = problem.value(ours.coefficients), 1 + abs(problem.value(zero))
    assert ours.value == pytest.approx(value, abs=1e-12 * size)
    assert value <= problem.value(theirs.coefficients) + 1e-9 * size
    assert value == pytest.approx(by_cvxpy(problem), abs=1e-6 * size)
    assert duality_gap(problem, ours.coefficients, ours.dual) <= 1e-8 * size
    held = problem.penalty_weights[0] > 0
    np.testing.assert_array_equal(ours.coefficients[held] == 0, theirs.coefficients[held] == 0)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-8])
def test_what_is_asked_for_is_certified(tolerance: float) -> None:
    problem = problem_of(30, 150, dc.l1(3.0), True)
    zero = np.zeros(151)
    found = lasso(problem.risk).minimise(problem, zero, tolerance)
    gap = duality_gap(problem, found.coefficients, found.dual)
    assert gap <= tolerance * (1 + abs(found.value)) * 1.01


def test_epochs_by_coordinates_end_at_the_minimum_of_the_search_for_signs() -> None:
    """Of a tight solve the search corrects whatever epochs leave; loose solves end with them."""
    rng = np.random.default_rng(0)
    X, l1 = rng.standard_normal((30, 12)), rng.random(12) * 20
    H, slope, zero = X.T @ X, X.T @ rng.standard_normal(30) * 5, np.zeros(12)
    part = WorkingSet(np.arange(12), H, zero, zero, slope)
    x, at = part.descended(zero, slope, l1, 1e-20, 10_000)
    np.testing.assert_allclose(at, slope + H @ x, atol=1e-9)
    np.testing.assert_allclose(x, SignSearch(H, l1).minimise(slope, zero), atol=1e-8)
    assert 0 < np.count_nonzero(x) < 12


def test_a_loose_step_goes_down_and_a_warm_one_ends_at_the_minimum() -> None:
    problem = problem_of(30, 400, dc.l1(2.0), True)
    solver, zero = lasso(problem.risk), np.zeros(401)
    loose = solver.minimise(problem, zero, 0.3)
    assert loose.value < problem.value(zero)
    warm = solver.minimise(problem, loose.coefficients, TIGHT)
    cold = lasso(problem.risk).minimise(problem, zero, TIGHT)
    assert warm.value == pytest.approx(cold.value, rel=1e-9)


def test_other_weights_on_the_same_rows_are_not_taken_for_the_first() -> None:
    first = problem_of(60, 20, dc.l1(8.0), True)
    solver, zero = lasso(first.risk), np.zeros(21)
    solver.minimise(first, zero, TIGHT)
    second = WeightedRisk(first.risk, first.weights[::-1].copy())
    again = solver.minimise(second, zero, TIGHT)
    fresh = newton(second.risk).minimise(second, zero, TIGHT)
    assert again.value == pytest.approx(fresh.value, rel=1e-9)


def test_tilts_and_margins() -> None:
    X, y = data(40, 60)
    rows = dc.binary_margins(X, y > 2)
    risk = Risk.from_loss(rows, dc.square(at=1.0), dc.elastic_net(2.0, 1.0))
    tilts = np.random.default_rng(0).standard_normal(40)
    problem = WeightedRisk(risk, np.ones(40), tilts)
    ours, theirs = (made(risk).minimise(problem, np.zeros(61), TIGHT) for made in (lasso, newton))
    assert ours.value == pytest.approx(theirs.value, rel=1e-9)


def test_without_any_weight_the_penalty_alone_counts() -> None:
    problem = problem_of(30, 20, dc.l1(1.0), False)
    problem = WeightedRisk(problem.risk, np.zeros(30))
    found = lasso(problem.risk).minimise(problem, np.ones(20), 1e-6)
    np.testing.assert_array_equal(found.coefficients, 0)


@pytest.mark.parametrize(
    ("risk", "word"),
    [
        (Risk(np.eye(3), dc.huber(1.0), penalty=dc.l1(1.0)), "parabola"),
        (
            Risk(np.eye(3), dc.square(), penalty=dc.l2(1.0)),
            "sparse",
        ),
        (Risk(np.eye(3), dc.square(), penalty=dc.group_lasso(1.0, [0, 0, 1])), "sparse"),
        (Risk(np.eye(3), dc.square(), penalty=dc.l1(1.0), penalized=[1, 1, 0]), "no intercept"),
        (
            Risk(dc.class_margins(np.eye(3), [0, 1, 2]), dc.square(), penalty=dc.l1(1.0)),
            "one margin",
        ),
        (
            Risk(np.eye(4), dc.square(), groups=[0, 0, 1, 1], aggregate="max", penalty=dc.l1(1.0)),
            "sums",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_working_set_is_not_for(risk: Risk, word: str) -> None:
    assert word in WeightedLasso.takes.missed(risk)
    solver = make("proximal_newton", risk) if word in ("no intercept", "one margin") else None
    assert getattr(solver, "lasso", None) is None


@pytest.mark.parametrize(
    "penalty",
    [dc.mcp(20.0, 0.05), dc.scad(20.0), dc.log_sum(2.0, 0.1), dc.mcp(20.0, 0.05) + dc.l2(1.0)],
    ids=repr,
)
def test_runs_end_where_majorants_do(penalty: Penalty, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that goes on by the risk itself ends at a critical point of the other solvers."""
    X, y = data(60, 150)
    risk = Risk.from_loss(dc.residual_rows(X, y), dc.square(), penalty)
    assert choose(risk)[0] == "proximal_newton"
    ours = dc.solve(risk, start=np.zeros(151), escape=False)
    assert ours.x is not None
    assert ours.status == "converged"
    assert ours.solver == "proximal_newton"
    monkeypatch.setattr(proximal_newton, "_is_lasso", lambda risk: False)
    again = dc.solve(risk, start=ours.x, solver="proximal_newton", escape=False)
    assert ours.value <= again.value + 1e-6 * risk.magnitude(ours.x)
    plain = dc.solve(risk, start=np.zeros(151), solver="proximal_newton", escape=False)
    assert ours.value <= plain.value * (1 + 1e-2)  # local minima differ, not by much
    assert ours.n_iter <= plain.n_iter


def test_a_concave_penalty_of_unknown_parts_is_left_to_majorants() -> None:
    X, y = data(60, 20)
    penalty = dc.mcp(20.0, 0.05) + dc.l1(0.5)
    risk = Risk.from_loss(dc.residual_rows(X, y), dc.square(), penalty)
    full = dc.solve(risk, start=np.zeros(21), escape=False)

    class opaque(dc.Penalty):
        """The same, whose parts nobody knows."""

        is_convex = False
        convex_part = None

        def __call__(self, w: Array) -> float:
            return penalty(w)

        def slope(self, w: Array) -> Array:
            return penalty.slope(w)

        def expression(self, w: cp.Expression) -> cp.Expression:
            return penalty.expression(w)

        def weights(self, w: Any, edge: float = 1e-10) -> Array:
            return penalty.weights(w, edge) + 0.5

    other = dc.solve(risk.with_penalty(opaque()), start=np.zeros(21), escape=False)
    assert other.value == pytest.approx(full.value, rel=1e-3)
