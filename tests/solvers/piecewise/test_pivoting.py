"""The active set method against the interior point method and cvxpy, on data with many ties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dcprog as dc
from dcprog.foundation.arrays import Array
from dcprog.losses import absolute, epsilon_insensitive, hinge, pinball
from dcprog.penalties import elastic_net, l1, l2
from dcprog.risk.duality import duality_gap
from dcprog.risk.weighted import WeightedRisk
from dcprog.solvers.piecewise.pivoting import KinkBasis, PivotingSolver
from dcprog.solvers.registry import make

KINDS = ("any", "rounded", "twice", "of one column", "zeros and ones")
MARGINS: list[Any] = [hinge(), hinge(0.5), absolute(at=1.0)]
RESIDUALS: list[Any] = [absolute(), pinball(0.3), epsilon_insensitive(0.3)]
PENALTIES: list[Any] = [l2(0.3), l2(0.01), l1(2.0), elastic_net(1.0, 0.5), l2(0.0)]


def _samples(rng: np.random.Generator, n: int, p: int, kind: str) -> Array:
    X = rng.standard_normal((n, p))
    if kind == "rounded":
        return np.round(X)
    if kind == "twice":
        return np.repeat(X[: n // 2 + 1], 2, axis=0)[:n]
    if kind == "of one column":
        return np.repeat(X[:, :1], p, axis=1)
    return (X > 0.5).astype(float) if kind == "zeros and ones" else X


def _risk(rng: np.random.Generator, kind: str) -> dc.Risk:
    n, p = int(rng.integers(6, 120)), int(rng.integers(1, 25))
    X = _samples(rng, n, p, kind)
    target = X @ rng.standard_normal(p) + rng.standard_normal(n)
    target = np.round(target) if kind == "rounded" else target
    intercept = bool(rng.random() < 0.7)
    penalty = PENALTIES[rng.integers(len(PENALTIES))]
    if rng.random() < 0.5:
        y = target > np.median(target)
        base = MARGINS[rng.integers(3)]
        return dc.Risk(dc.binary_margins(X, y, intercept), base, penalty=penalty)
    base = RESIDUALS[rng.integers(3)]
    return dc.Risk(dc.residual_rows(X, target, intercept), base, penalty=penalty)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_no_solution_is_lower_and_the_multipliers_prove_it(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    risk = _risk(rng, kind)
    solver, other = PivotingSolver(risk), make("interior", risk)
    theta = np.zeros(risk.rows.shape[1]) if seed % 2 else rng.standard_normal(risk.rows.shape[1])
    for step in range(3):
        weights = np.ones(risk.n_groups)
        if step:
            weights = rng.uniform(0, 2, risk.n_groups) * (rng.random(risk.n_groups) < 0.8)
        problem = WeightedRisk(risk, weights)
        found = solver.minimise(problem, theta, 1e-9)
        try:
            least = other.minimise(problem, theta, 1e-9).value
        except dc.SubproblemError:  # where the other one fails, the bound alone speaks
            least = found.value
        assert found.value <= least + 1e-9 * (1 + abs(least))
        missed = duality_gap(problem, found.coefficients, found.dual)
        assert missed <= 1e-7 * (1 + abs(found.value))
        theta = found.coefficients


def test_the_reference_agrees_with_tilts_and_offsets() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((60, 4)), rng.standard_normal(60)
    risk = dc.Risk(dc.residual_rows(X, y), pinball(0.2), penalty=elastic_net(0.3, 0.7), offset=-y)
    tilts = 0.05 * rng.standard_normal(60)
    problem = WeightedRisk(risk, rng.uniform(0.5, 1.5, 60), tilts)
    found = PivotingSolver(risk).minimise(problem, np.zeros(5), 1e-9)
    least = make("cvxpy", risk).minimise(problem, np.zeros(5), 1e-9)
    assert found.value == pytest.approx(least.value, rel=1e-7)
    np.testing.assert_allclose(found.coefficients, least.coefficients, atol=1e-5)


def test_the_next_subproblem_begins_where_the_last_one_ended() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 20))
    risk = dc.Risk(dc.binary_margins(X, X[:, 0] + rng.standard_normal(300) > 0), hinge())
    solver, weights = PivotingSolver(risk), np.ones(300)
    first = solver.minimise(WeightedRisk(risk, weights), np.zeros(21), 1e-9)
    again = solver.minimise(WeightedRisk(risk, weights), first.coefficients, 1e-9)
    assert again.n_iter == 0
    weights[0] = 0.0
    from_there = solver.minimise(WeightedRisk(risk, weights), first.coefficients, 1e-9).n_iter
    from_zero = (
        PivotingSolver(risk).minimise(WeightedRisk(risk, weights), np.zeros(21), 1e-9).n_iter
    )
    assert from_there is not None
    assert from_zero is not None
    assert from_there < from_zero


def test_coefficients_that_an_l1_norm_leaves_out_are_zero() -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 20))
    risk = dc.Risk(dc.binary_margins(X, X[:, 0] > 0), hinge(), penalty=l1(12.0))
    problem = WeightedRisk(risk, np.ones(80))
    theta = PivotingSolver(risk).minimise(problem, np.zeros(21), 1e-9).coefficients
    assert 0 < np.count_nonzero(theta[:-1]) < 10


def test_a_direction_that_falls_for_ever_is_named() -> None:
    risk = dc.Risk(np.ones((3, 1)), hinge(), penalty=l2(0.0))
    problem = WeightedRisk(risk, np.ones(3), np.full(3, -2.0))
    with pytest.raises(dc.SubproblemError, match="unbounded"):
        PivotingSolver(risk).minimise(problem, np.zeros(1), 1e-9)


def test_kinks_come_and_go_as_if_the_inverse_were_made_anew() -> None:
    rng = np.random.default_rng(0)
    h, rows = np.array([1.0, 2.0, 0.5, 0.0]), rng.standard_normal((6, 4))
    basis, slope = KinkBasis(h, rows[:2]), rng.standard_normal(4)
    basis.hold(rows[2])
    basis.exchange(0, rows[3] - rows[0])
    basis.drop(1)
    for got, wanted in zip(basis.step(slope), KinkBasis(h, rows[[3, 2]]).step(slope), strict=True):
        np.testing.assert_allclose(got, wanted, atol=1e-12)
    np.testing.assert_allclose(rows[[3, 2]] @ basis.away(1), [0.0, 1.0], atol=1e-12)
