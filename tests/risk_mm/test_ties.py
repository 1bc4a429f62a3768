"""Points that are critical for one choice of slopes at a tie: they are seen, and left."""

from __future__ import annotations

from itertools import product

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog.engine.protocol import centre
from dcprog.risk_mm.stationarity import Near, shortest, ties
from dcprog.risk_mm.surrogate import RiskSurrogate

GAMMA = 0.5
# Both ways along each axis: the losses of a sample and of its mirror image tie at 0.
MIRRORED = np.vstack([np.eye(2), -np.eye(2)])
MANY = np.random.default_rng(0).normal(size=(40, 3))


def at_the_cap() -> tuple[dc.Risk, np.ndarray]:
    """min((1 − w)₊², ε) + γw², with ε such that w* = 1/(1 + γ) lies at the kink."""
    cap, penalty = dc.cap_at((GAMMA / (1 + GAMMA)) ** 2), dc.l2(2 * GAMMA)
    risk = dc.Risk(np.ones((1, 1)), dc.squared_hinge(), transform=cap, penalty=penalty)
    return risk, np.array([np.nextafter(1 / (1 + GAMMA), 1)])


def equal_losses() -> tuple[dc.Risk, np.ndarray]:
    """Of three zero residuals the first one is dropped; dropping the second one frees w₁."""
    rows = dc.residual_rows([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]], [2.0, 1.0, 2.0], False)
    return dc.Risk.from_loss(rows, dc.trim(dc.absolute(), 0.34), dc.l2(0.1)), np.array([1.0, 2.0])


def on_rows(rows: np.ndarray, loss: dc.Loss) -> tuple[dc.Risk, np.ndarray]:
    return dc.Risk.from_loss(rows, loss, dc.l2(0.1)), np.zeros(rows.shape[1])


def capped_penalty() -> tuple[dc.Risk, np.ndarray]:
    rows = dc.residual_rows([[1.0]], [1.5], fit_intercept=False)
    return dc.Risk.from_loss(rows, dc.square(), dc.capped_l1(1.0, 1.0)), np.ones(1)


CASES = {
    "at the cap": at_the_cap(),
    "equal losses": equal_losses(),
    "truncated at zero": on_rows(MIRRORED, dc.truncate(dc.hinge(), 0.0)),
    "capped at zero": on_rows(MIRRORED, dc.cap(dc.hinge(), 1.0)),
    "many ties": on_rows(np.vstack([MANY, -MANY]), dc.cap(dc.hinge(), 1.0)),
    "capped penalty": capped_penalty(),
}


@pytest.mark.parametrize("name", CASES)
def test_a_tie_is_told_of_and_left(name: str) -> None:
    risk, x = CASES[name]
    stuck = dc.solve(risk, start=x, escape=False)
    assert stuck.status == "converged"
    assert stuck.x is not None
    np.testing.assert_allclose(stuck.x, x, atol=1e-7)
    told = stuck.certificate()
    assert told.gap.holds
    assert told.residual is not None
    assert told.residual.holds
    assert told.d_stationary is False
    assert not told.holds
    free = dc.solve(risk, start=x)
    assert free.value < stuck.value - 1e-3 * stuck.scale
    assert free.certificate().d_stationary


def test_a_tie_in_a_cvxpy_problem_is_told_of_and_left() -> None:
    w = cp.Variable()
    loss = cp.minimum(cp.square(cp.pos(1 - w)), (GAMMA / (1 + GAMMA)) ** 2)
    problem = cp.Problem(cp.Minimize(loss + GAMMA * cp.square(w)))
    start = {w: np.nextafter(1 / (1 + GAMMA), 1)}
    told = dc.solve(problem, start=start, escape=False, solver="cvxpy").certificate()
    assert told.gap.holds
    assert told.d_stationary is False
    assert told.slope is not None
    assert told.slope.measured == pytest.approx(2 * GAMMA / (1 + GAMMA), rel=0.05)
    free = dc.solve(problem, start=start, solver="cvxpy")
    assert free.value == pytest.approx((GAMMA / (1 + GAMMA)) ** 2)
    assert free.certificate().d_stationary


@pytest.mark.parametrize("factor", [1e-12, 1e12])
@pytest.mark.parametrize("of", ["objective", "data"])
@pytest.mark.parametrize("name", ["capped at zero", "many ties"])
def test_ties_have_no_units(name: str, of: str, factor: float) -> None:
    risk, x = CASES[name]
    assert isinstance(risk.loss, dc.cap)
    rows, lam = risk.rows.matrix(), 0.1
    loss: dc.Loss = risk.loss
    if of == "objective":
        loss, lam = factor * loss, lam * factor
    else:
        rows, lam = factor * rows, lam * factor**2
    other = dc.Risk.from_loss(rows, loss, dc.l2(lam))
    told, scaled = (dc.solve(r, start=x, escape=False).certificate() for r in (risk, other))
    assert told.slope is not None
    assert scaled.slope is not None
    assert scaled.d_stationary is False
    assert scaled.slope.measured == pytest.approx(told.slope.measured, rel=1e-3)


def steepest(risk: dc.Risk, x: np.ndarray, units: np.ndarray, scale: float) -> float:
    """The most negative slope of F at x, by differences in all directions of the plane."""
    h, angles = 1e-7, np.linspace(0, 2 * np.pi, 1441)
    ways = np.column_stack([np.cos(angles), np.sin(angles)]) * units
    return min((risk(x + h * way) - risk(x)) / (h * scale) for way in ways)


def tied_points(seed: int) -> list[tuple[dc.Risk, np.ndarray]]:
    """Where two residuals of five lie at kinks, under several losses."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(5, 2)), 2 * rng.normal(size=5)
    rows = dc.residual_rows(X, y, fit_intercept=False)
    found = []
    for loss in (dc.cap(dc.absolute(), 1.0), dc.truncate(dc.absolute(), 1.0)):
        risk = dc.Risk.from_loss(rows, loss, dc.l2(0.05))
        for kinks in product((-1.0, 0.0, 1.0), repeat=2):
            found.append((risk, np.linalg.solve(X[:2], y[:2] - np.array(kinks))))
    trimmed = dc.Risk.from_loss(rows, dc.trim(dc.absolute(), 0.5), dc.l2(0.05))
    for signs in product((-1.0, 1.0), repeat=2):  # three residuals of one size
        A = np.array([X[0] - signs[0] * X[1], X[0] - signs[1] * X[2]])
        b = np.array([y[0] - signs[0] * y[1], y[0] - signs[1] * y[2]])
        found.append((trimmed, np.linalg.solve(A, b)))
    return found


@pytest.mark.parametrize("seed", range(1))
def test_verdicts_are_those_of_all_directions(seed: int) -> None:
    verdicts = set()
    for risk, x in tied_points(seed):
        surrogate = risk.surrogate()
        centre(surrogate, x)
        units, scale = surrogate.units(x), surrogate.scale(x)
        slope, found = steepest(risk, x, units, scale), surrogate.nearby.stationarity(x)
        if slope < -0.02:
            assert found.slope < -1e-3
            verdicts.add(False)
        elif slope > -1e-5:
            assert found.slope > -1e-5
            verdicts.add(True)
    assert False in verdicts


def test_a_stationary_tie_is_told_from_the_others() -> None:
    """|r₁| holds what the cap's kink would let go: all choices keep x."""
    rows = dc.residual_rows([[10.0, 0.0], [0.1, 0.0], [0.0, 1.0]], [0.0, 1.0, 0.0], False)
    risk = dc.Risk.from_loss(rows, dc.cap(dc.absolute(), 1.0), dc.l2(0.1))
    surrogate = risk.surrogate()
    centre(surrogate, np.zeros(2))
    x = np.zeros(2)
    near = Near(surrogate.problem, x, surrogate.units(x), surrogate.scale(x), 1e-5)
    assert len(ties(near).flips) == 1
    assert dc.solve(risk, start=x, escape=False).certificate().d_stationary is True


def test_every_choice_of_few_ties_is_tried() -> None:
    rows = MANY[:3]
    risk = dc.Risk.from_loss(rows, dc.cap(dc.hinge(), 1.0), dc.l2(0.1))
    surrogate, x = risk.surrogate(), np.zeros(3)
    centre(surrogate, x)
    tied = ties(Near(surrogate.problem, x, np.ones(3), 1.0, 1e-5))
    choices = {tuple(choice.weights) for choice in tied.choices()}
    assert choices | {(1.0, 1.0, 1.0)} == set(product((0.0, 1.0), repeat=3))
    assert tied.all_tried


def test_many_ties_without_a_descent_are_no_proof() -> None:
    """Eight tied samples that a steep one holds: not every choice of theirs is looked at."""
    rows = np.vstack([[[100.0]], np.full((8, 1), 0.1)])
    y = np.r_[0.0, np.ones(8)]
    risk = dc.Risk.from_loss(dc.residual_rows(rows, y, False), dc.cap(dc.absolute(), 1.0))
    certificate = dc.solve(risk, start=np.zeros(1), escape=False).certificate()
    assert certificate.holds
    assert certificate.d_stationary is None


def test_units_that_overflow_tell_no_subgradient() -> None:
    """Subnormal features: the unit of their coefficient is infinite."""
    rng = np.random.default_rng(0)
    X, y = 1e-310 * rng.normal(size=(15, 1)), np.full(15, 0.001)
    y[[2, 14]] = 0.021
    loss = dc.trim(dc.cap(dc.pinball(0.7), 0.001), 0.25)
    model = dc.RobustRegressor(loss, dc.capped_l1(0.3, 1.0), scale=None).fit(X, y)
    assert np.all(np.isfinite(model.coef_))
    risk = dc.Risk.from_loss(dc.residual_rows(X, y), loss, dc.capped_l1(0.3, 1.0))
    surrogate = RiskSurrogate(risk)
    x = np.array([0.0, 0.001])
    centre(surrogate, x)
    near = Near(surrogate.problem, x, np.array([np.inf, 1.0]), surrogate.scale(x), 1e-6)
    with np.errstate(all="ignore"):
        assert shortest(near) is None
