"""Finite Newton against cvxpy, the optimality conditions and its limiting cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

import dcprog as dc
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError
from dcprog.losses import hinge, square, squared_hinge
from dcprog.models.capped_single_pass import SinglePassSolver
from dcprog.penalties import l2
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.rows.linear import Margins, binary_margins, class_margins, residual_rows
from dcprog.solvers import registry
from dcprog.solvers.conic.reference import ReferenceSolver
from dcprog.solvers.linalg.ridge import Ridge
from dcprog.solvers.smooth.newton import NewtonSolver

SHAPES = [(40, 5, 3), (40, 5, 2), (25, 60, 3), (25, 60, 2)]
LARGE = LinearOperator((10**5, 10**5), matvec=lambda v: v, dtype=float)  # never formed
WEIGHTS = ["ones", "5e3", "1e8", "1e-8..1e8", "sparse"]


def _risk(n: int, d: int, c: int, lam: float = 1.0, seed: int = 0, **options: Any) -> Risk:
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, d)), np.arange(n) % c
    rows = class_margins(X, y, **options) if c > 2 else binary_margins(X, y, **options)
    return Risk(rows, squared_hinge(), aggregate="sum", penalty=l2(lam))


def _weights(kind: str, n: int) -> Array:
    rng = np.random.default_rng(1)
    return {
        "ones": np.ones(n),
        "5e3": 10 ** rng.uniform(-1, 3.7, n),
        "1e8": rng.choice([1.0, 1e8], n),
        "1e-8..1e8": 10 ** rng.uniform(-8, 8, n),
        "sparse": rng.choice([0.0, 0.0, 1.0], n),
    }[kind]


def _zero(risk: Risk) -> Array:
    return np.zeros(risk.rows.shape[1])


@pytest.mark.parametrize("lam", [2e-3, 2.0])
@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("shape", SHAPES[::2])
def test_newton_and_cvxpy_agree(shape: tuple[int, int, int], kind: str, lam: float) -> None:
    risk = _risk(*shape, lam=lam)
    weights, zero = _weights(kind, shape[0]), _zero(risk)
    fast = NewtonSolver(risk).minimise(WeightedRisk(risk, weights), zero, 1e-8)
    slow = ReferenceSolver(risk).minimise(WeightedRisk(risk, weights), zero, 1e-8)
    assert abs(fast.value - slow.value) <= 1e-6 * abs(slow.value)
    assert fast.value <= slow.value * (1 + 1e-9)


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_gradient_vanishes_at_the_solution(shape: tuple[int, int, int], kind: str) -> None:
    risk = _risk(*shape)
    weights = _weights(kind, shape[0])
    solution = NewtonSolver(risk).minimise(WeightedRisk(risk, weights), _zero(risk), 1e-8)
    theta = solution.coefficients
    assert solution.dual is not None
    gradient = risk.penalized * theta - risk.rows.T @ solution.dual
    # rounding of the residuals, times the weights
    assert np.max(np.abs(gradient)) <= 1e-13 * (1 + np.max(weights)) * 100


def test_start_does_not_matter() -> None:
    risk = _risk(40, 5, 3)
    weights = _weights("5e3", 40)
    solver = NewtonSolver(risk)
    rng = np.random.default_rng(2)
    values = [
        solver.minimise(WeightedRisk(risk, weights), size * rng.standard_normal(18), 1e-8).value
        for size in (0.0, 1.0, 1e3, 1e6)
    ]
    np.testing.assert_allclose(values, values[0], rtol=1e-12)


@pytest.mark.parametrize("size", [1e7, 1e9])
def test_one_step_of_a_leverage_point_is_not_the_end(size: float) -> None:
    """Squares have one quadratic, but its factor loses digits: the step is taken again."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 4))
    y = X @ np.ones(4) + rng.standard_normal(60)
    X[0] *= size
    y[0] = X[0] @ np.ones(4)
    result = dc.solve(Risk(residual_rows(X, y, fit_intercept=False), square(), penalty=l2(1e-4)))
    A, b = np.vstack([X, np.sqrt(5e-5) * np.eye(4)]), np.append(y, np.zeros(4))
    best = np.linalg.lstsq(A / np.linalg.norm(A, axis=0), b)[0] / np.linalg.norm(A, axis=0)
    assert result.value <= np.sum((A @ best - b) ** 2) * (1 + 1e-6)


def test_tilts_are_linear_terms() -> None:
    risk = _risk(40, 5, 3)
    weights, tilts = _weights("ones", 40), np.random.default_rng(3).uniform(-1, 0.5, 120)
    fast = NewtonSolver(risk).minimise(WeightedRisk(risk, weights, tilts), _zero(risk), 1e-8)
    slow = ReferenceSolver(risk).minimise(WeightedRisk(risk, weights, tilts), _zero(risk), 1e-9)
    assert fast.value == pytest.approx(slow.value, rel=1e-7)


def test_unbounded_tilt_is_reported() -> None:
    risk = _risk(40, 5, 2)
    signs = risk.rows.signs[:, 0]
    problem = WeightedRisk(risk, (signs < 0).astype(float), signs)
    with pytest.raises(SubproblemError, match="falls for ever") as caught:
        NewtonSolver(risk).minimise(problem, _zero(risk), 1e-8)
    assert caught.value.status == "unbounded"


@pytest.mark.parametrize("solver", [NewtonSolver, SinglePassSolver])
@pytest.mark.parametrize("shape", SHAPES)
def test_all_weights_zero_gives_zero_coefficients_and_keeps_intercepts(
    solver: type[NewtonSolver | SinglePassSolver], shape: tuple[int, int, int]
) -> None:
    risk = _risk(*shape)
    start = np.random.default_rng(4).standard_normal(risk.rows.shape[1])
    solution = solver(risk).minimise(WeightedRisk(risk, np.zeros(shape[0])), start, 1e-8)
    coef, intercept = risk.rows.unpack(solution.coefficients)
    np.testing.assert_allclose(coef, 0, atol=1e-14)
    np.testing.assert_array_equal(intercept, risk.rows.unpack(start)[1])


@pytest.mark.parametrize("shape", [(40, 5, 2), (25, 60, 2)])
def test_weights_on_one_class_cost_nothing(shape: tuple[int, int, int]) -> None:
    risk = _risk(*shape)
    weights = (risk.rows.signs[:, 0] > 0).astype(float)
    assert NewtonSolver(risk).minimise(WeightedRisk(risk, weights), _zero(risk), 1e-8).value < 1e-20


def test_no_intercept() -> None:
    risk = _risk(40, 5, 3, fit_intercept=False)
    fast = NewtonSolver(risk).minimise(WeightedRisk(risk, np.ones(40)), _zero(risk), 1e-8)
    slow = ReferenceSolver(risk).minimise(WeightedRisk(risk, np.ones(40)), _zero(risk), 1e-9)
    assert fast.coefficients.shape == (15,)
    assert fast.value == pytest.approx(slow.value, rel=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_sparse_rows_equal_dense_rows(shape: tuple[int, int, int]) -> None:
    dense = _risk(*shape)
    rows = Margins(sp.csr_array(dense.rows.X), dense.rows.signs)
    sparse = Risk(rows, squared_hinge(), aggregate="sum")
    weights = _weights("5e3", shape[0])
    solutions = [
        NewtonSolver(r).minimise(WeightedRisk(r, weights), _zero(r), 1e-8) for r in (dense, sparse)
    ]
    np.testing.assert_allclose(solutions[0].coefficients, solutions[1].coefficients, atol=1e-10)


@pytest.mark.parametrize("shape", [(30, 4), (10, 25)])
def test_ridge_step_solves_its_normal_equations(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(5)
    X, c, g = rng.standard_normal(shape), rng.uniform(0, 2, shape[0]), rng.standard_normal(shape[1])
    delta, beta = Ridge(X, 0.3).step(g, np.asarray(0.7), c)
    moved = X @ delta + beta
    np.testing.assert_allclose(g + 2 * X.T @ (c * moved) + 0.3 * delta, 0, atol=1e-10)
    assert 0.7 + 2 * c @ moved == pytest.approx(0, abs=1e-10)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"base": hinge()}, "slope jumps"),
        ({"aggregate": "max"}, "maximum"),
        ({"penalty": l2(0.0)}, "penalty"),
        ({"rows": LARGE}, "pass an array"),
        ({"penalized": np.arange(18) > 0}, "only a part"),
    ],
)
def test_says_what_it_cannot_take(change: dict[str, Any], reason: str) -> None:
    options: dict[str, Any] = {"rows": _risk(40, 5, 3).rows, "base": squared_hinge()} | change
    refusal = registry.refusal(NewtonSolver, Risk(**options))
    assert refusal is not None
    assert reason in refusal
    with pytest.raises(ValueError, match="cannot take this risk"):
        Risk(**options).surrogate("newton")
