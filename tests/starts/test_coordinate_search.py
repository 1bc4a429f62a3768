"""Sparse least squares searched coordinate by coordinate: the values are those of the risk."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

import dcprog as dc
from dcprog.foundation.arrays import Array
from dcprog.starts.coordinate_search import CoordinateSearch, profiled
from dcprog.starts.protocol import Budget

PENALTIES = (
    dc.log_sum(3.0, 0.1),
    dc.lp(3.0, 0.5),
    dc.mcp(2.0, 0.1),
    dc.scad(2.0),
    dc.capped_l1(3, 1),
)


def data(n: int, p: int, seed: int) -> tuple[Array, Array]:
    """Correlated columns of different sizes, three of which matter, around an offset."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + rng.normal(size=(n, 1))
    y = 2 * X[:, 0] - 3 * X[:, 1] + X[:, 2] + rng.normal(size=n) + 5
    return X * rng.uniform(0.5, 2, p), y


def sparse(X: Any, y: Any, penalty: dc.Penalty, intercept: bool = True) -> dc.Risk:
    weights = np.linspace(0.5, 1.5, len(y))
    rows = dc.residual_rows(X, y, fit_intercept=intercept)
    return dc.Risk.from_loss(rows, 0.5 * dc.square(), penalty, sample_weight=weights)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("intercept", [True, False])
def test_values_differ_as_those_of_the_risk(penalty: dc.Penalty, intercept: bool) -> None:
    X, y = data(30, 8, 0)
    risk = sparse(X, y, penalty, intercept)
    x = np.zeros(risk.rows.shape[1])
    fit = profiled(risk, x, 1e-9)
    with np.errstate(divide="ignore"):
        ends, values = fit.descended(np.vstack([np.zeros(8), fit.ridges()]))
    least = np.array([risk(fit.taken(v)) for v in ends])
    np.testing.assert_allclose(values - values[0], least - least[0], atol=1e-8 * least[0])


@pytest.mark.parametrize("penalty", PENALTIES)
def test_no_coordinate_has_a_lower_minimum_where_it_ends(penalty: dc.Penalty) -> None:
    X, y = data(40, 10, 1)
    risk = sparse(X, y, penalty, intercept=False)
    x = searched(risk, 10)
    value = risk(x)
    for j in range(10):
        for size in np.linspace(-4, 4, 401):
            other = x.copy()
            other[j] = size
            assert risk(other) >= value * (1 - 1e-4)


def test_it_finds_the_best_subset_of_few() -> None:
    """Under ℓ½ F is convex nowhere; the minimum on each support is found from many starts."""
    X, y = data(30, 5, 2)
    risk = sparse(X, y, dc.lp(4.0, 0.5), intercept=False)
    x = searched(risk, 5)
    supports = [s for k in range(6) for s in combinations(range(5), k)]
    root = np.sqrt(np.linspace(0.5, 1.5, 30))
    for support in supports:
        w = np.zeros(5)
        inside = list(support)
        w[inside] = np.linalg.lstsq(root[:, None] * X[:, inside], root * y)[0]
        assert dc.solve(risk, start=w, n_starts=1).value >= risk(x) * (1 - 1e-4)


def test_it_has_no_units() -> None:
    X, y = data(40, 10, 3)
    a = 2.0**20
    one = searched(sparse(X, y, dc.mcp(2.0, 0.1)), 11)
    other = searched(sparse(X * a, y, dc.mcp(2.0 * a, 0.1 / a**2)), 11)
    other[:-1] *= a
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def searched(risk: dc.Risk, p: int) -> Array:
    (found,) = CoordinateSearch().points(risk.surrogate(), Budget(ended=[np.zeros(p)]))
    assert found.value == pytest.approx(risk(found.x))
    return found.x


def takes(risk: dc.Risk) -> bool:
    return CoordinateSearch().takes(risk.surrogate()) is None


def test_it_takes_squares_with_concave_penalties_only() -> None:
    X, y = data(30, 5, 0)
    assert takes(sparse(X, y, dc.mcp(1.0)))
    assert not takes(sparse(X, y, dc.l1(1.0)))
    rows = dc.residual_rows(X, y)
    assert not takes(dc.Risk.from_loss(rows, dc.huber(1.0), dc.mcp(1.0)))
    assert not takes(dc.Risk.from_loss(rows, dc.cap(dc.square(), 1.0), dc.mcp(1.0)))
    assert not takes(dc.Risk.from_loss(rows, dc.square(), dc.mcp(1.0), penalized=np.zeros(6)))


def test_the_race_is_lower_by_it() -> None:
    lower = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = np.cumsum(rng.normal(size=(40, 60)), axis=1)
        X /= np.linalg.norm(X, axis=0)
        y = X[:, ::12] @ rng.normal(size=5) * 3 + 0.3 * rng.normal(size=40)
        risk = dc.Risk.from_loss(dc.residual_rows(X, y), 0.5 * dc.square(), dc.mcp(0.3, 0.5))
        plain = dc.solve(risk, start="convex", n_starts=1)
        best = dc.solve(risk)
        assert best.value <= plain.value
        lower += best.value < plain.value * (1 - 1e-3)
    assert lower >= 2
