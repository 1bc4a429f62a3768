"""No bound is above the true optimum, which enumeration finds, nor further below than it says."""

from __future__ import annotations

import numpy as np
import pytest

import dcprog as dc
from tests.bounds.enumeration import (
    capped_squared_hinges,
    capped_squares,
    on_a_line,
    trimmed_squares,
)

GAP = 1e-3
ROUNDING = 1e-9


def regression(rng: np.random.Generator) -> tuple[dc.Risk, float]:
    n, p = int(rng.integers(3, 13)), int(rng.integers(1, 4))
    intercept = bool(rng.integers(2))
    X, y = rng.normal(size=(n, p)), 3 * rng.normal(size=n)
    lam, cap = float(10 ** rng.uniform(-2, 1)), float(10 ** rng.uniform(-1, 1))
    weight = rng.uniform(0.2, 2.0, size=n)
    rows = dc.residual_rows(X, y, intercept)
    risk = dc.Risk.from_loss(rows, dc.cap(dc.square(), cap), dc.l2(lam), sample_weight=weight)
    A = np.column_stack([X, np.ones(n)]) if intercept else X
    ridge = np.array([lam] * p + [0.0] * intercept)
    return risk, capped_squares(A, y, ridge, cap, weight)


def trimmed(rng: np.random.Generator) -> tuple[dc.Risk, float]:
    n, p = int(rng.integers(4, 12)), int(rng.integers(1, 3))
    X, y = rng.normal(size=(n, p)), 3 * rng.normal(size=n)
    lam, fraction = float(10 ** rng.uniform(-1, 1)), float(rng.uniform(0.1, 0.5))
    rows = dc.residual_rows(X, y, True)
    risk = dc.Risk.from_loss(rows, dc.trim(dc.square(), fraction), dc.l2(lam))
    A, ridge = np.column_stack([X, np.ones(n)]), np.array([lam] * p + [0.0])
    return risk, trimmed_squares(A, y, ridge, int(fraction * n + 1e-9))


def squared_hinges(rng: np.random.Generator) -> tuple[dc.Risk, float]:
    n, p = int(rng.integers(3, 11)), int(rng.integers(1, 4))
    X, y = rng.normal(size=(n, p)), rng.choice([-1.0, 1.0], size=n)
    y[:2] = -1.0, 1.0
    lam, cap = float(10 ** rng.uniform(-2, 0)), float(10 ** rng.uniform(-0.5, 0.5))
    rows = dc.binary_margins(X, y, fit_intercept=False)
    risk = dc.Risk.from_loss(rows, dc.cap(dc.squared_hinge(), cap), dc.l2(lam))
    return risk, capped_squared_hinges(y[:, None] * X, np.full(p, lam), cap)


def hinges(rng: np.random.Generator) -> tuple[dc.Risk, float]:
    n = int(rng.integers(2, 13))
    a = rng.normal(size=n)
    lam, cap = float(10 ** rng.uniform(-2, 1)), float(10 ** rng.uniform(-0.5, 0.5))
    loss = dc.cap(dc.hinge(), cap) if rng.integers(2) else dc.truncate(dc.hinge(), 1 - cap)
    risk = dc.Risk.from_loss(a[:, None], loss, dc.l2(lam))

    def value(w: float) -> float:
        return float(np.minimum(np.maximum(1 - a * w, 0), cap).sum() + lam / 2 * w**2)

    return risk, on_a_line(value, np.concatenate([1 / a, (1 - cap) / a]), lam)


def differences(rng: np.random.Generator) -> tuple[dc.Risk, float]:
    n = int(rng.integers(2, 13))
    a, t = rng.normal(size=n), 2 * rng.normal(size=n)
    lam, s = float(10 ** rng.uniform(-1, 1)), float(rng.uniform(0.3, 2.0))
    loss = dc.absolute() - 0.7 * dc.epsilon_insensitive(s)
    risk = dc.Risk.from_loss(a[:, None], loss, dc.l2(lam), offset=t)

    def value(w: float) -> float:
        u = np.abs(a * w + t)
        return float((u - 0.7 * np.maximum(u - s, 0)).sum() + lam / 2 * w**2)

    return risk, on_a_line(value, np.concatenate([-t / a, (s - t) / a, (-s - t) / a]), lam)


KINDS = [regression, trimmed, squared_hinges, hinges, differences]


def judge(case: int) -> None:
    rng = np.random.default_rng(case)
    risk, least = KINDS[case % len(KINDS)](rng)
    bound = dc.lower_bound(risk, time_limit=60, gap=GAP)
    assert bound.status == "proved"
    assert bound.value <= least + ROUNDING * bound.scale
    assert bound.objective >= least - ROUNDING * bound.scale
    assert bound.objective - bound.value <= GAP * bound.scale * (1 + 1e-6)  # the scale is of x
    assert bound.x is not None
    assert np.isclose(risk(bound.x), bound.objective, rtol=1e-12)


@pytest.fixture
def by_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """The samples' states are searched, not the boxes of θ."""
    monkeypatch.setattr("dcprog.bounds.state_space.FEW_ENTRIES", 0)
    monkeypatch.setattr("dcprog.bounds.state_space.MANY_ENTRIES", 0)


@pytest.fixture
def in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are searched in turns, a few boxes each."""
    monkeypatch.setattr("dcprog.bounds.state_space.FEW_ENTRIES", 0)
    monkeypatch.setattr("dcprog.bounds.lower_bound.FIRST_TURN", 1e-3)


@pytest.mark.usefixtures("by_states")
@pytest.mark.parametrize("case", range(10))
def test_bounds_by_states_are_below_the_optimum(case: int) -> None:
    judge(case)


@pytest.mark.usefixtures("in_turns")
@pytest.mark.parametrize("case", range(6))
def test_bounds_in_turns_are_below_the_optimum(case: int) -> None:
    judge(case)


@pytest.mark.slow
@pytest.mark.usefixtures("by_states")
@pytest.mark.parametrize("case", range(10, 300))
def test_more_bounds_by_states_are_below_the_optimum(case: int) -> None:
    judge(case)


@pytest.mark.parametrize("case", range(15))
def test_bounds_are_below_the_optimum(case: int) -> None:
    judge(case)


@pytest.mark.slow
@pytest.mark.parametrize("case", range(15, 500))
def test_more_bounds_are_below_the_optimum(case: int) -> None:
    judge(case)
