"""Decisions have no units: the same for a·F, for targets and for samples in other units."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
import pytest

import dcprog as dc
from dcprog.losses import ConvexLoss, convex_sum, squared
from dcprog.losses.loss import stretched
from dcprog.penalties import Penalty, group_lasso
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.risk_mm.units import Units, margin_unit, without_caches
from dcprog.rows.angle import angle_differences, angle_margins
from dcprog.rows.kernel import expansion_residuals, kernel_margins
from dcprog.rows.linear import binary_margins, residual_rows

RNG = np.random.default_rng(1)
X = RNG.standard_normal((50, 4))
Y = X @ [1.0, -2.0, 0.5, 0.0] + 0.1 * RNG.standard_normal(50)
Y[:5] += 20
C = np.where(X[:, 0] + 0.5 * RNG.standard_normal(50) > 0, 1, -1)
C[:4] *= -1
THREE = np.digitize(X[:, 0] + 0.3 * RNG.standard_normal(50), [-0.5, 0.5])

Matched = Callable[[float], tuple[Any, Penalty]]

# loss and penalty for targets in the unit s
REGRESSIONS: dict[str, Matched] = {
    "cap of |u|, l2": lambda s: (dc.cap(dc.absolute(), s), dc.l2(1 / s)),
    "cap of |u|, l1": lambda s: (dc.cap(dc.absolute(), s), dc.l1(2.0)),
    "tukey, l2": lambda s: (dc.tukey(dc.square(), s), dc.l2(1.0)),
    "welsch, elastic net": lambda s: (dc.welsch(dc.square(), s), dc.elastic_net(s, 1.0)),
    "cap of huber, scad": lambda s: (dc.cap(dc.huber(s), 4 * s**2), dc.scad(0.5 * s, 3.7)),
    "cap of u², mcp": lambda s: (dc.cap(dc.square(), 4 * s**2), dc.mcp(0.5 * s, 3.0)),
    "truncated |u|, l1": lambda s: (dc.truncate(dc.absolute(), s), dc.l1(2.0)),
    "log, l2": lambda s: (dc.log(dc.square(), s**2), dc.l2(1.0)),
    "rescaled, l2": lambda s: (
        dc.rescale(dc.square(), s**-2),
        dc.l2(-0.1 / s**2 / np.expm1(-(s**-2))),
    ),
    "trimmed, l1": lambda s: (dc.trim(dc.square(), 0.1), dc.l1(s)),
    "power, l2": lambda s: (dc.power(dc.absolute(), 0.5), dc.l2(s**-1.5)),
    "cap of pinball, l2": lambda s: (dc.cap(dc.pinball(0.3), s), dc.l2(1 / s)),
    "cap of a tube, l1": lambda s: (dc.cap(dc.epsilon_insensitive(0.1 * s), s), dc.l1(2.0)),
}


def _same(one: Any, other: Any, a: np.ndarray, b: np.ndarray) -> None:
    assert (other.status, other.n_iter) == (one.status, one.n_iter)
    assert np.max(np.abs(b - a)) <= 1e-6 * np.max(np.abs(a))


@pytest.mark.parametrize("name", REGRESSIONS)
def test_regression_in_other_units_of_the_targets(name: str) -> None:
    one = dc.solve(Risk.from_loss(residual_rows(X, Y), *REGRESSIONS[name](1.0)))
    assert one.x is not None
    for s in (1e-9, 1e9):
        other = dc.solve(Risk.from_loss(residual_rows(X, s * Y), *REGRESSIONS[name](s)))
        assert other.x is not None
        _same(one, other, one.x, other.x / s)


def test_a_regressor_in_other_units_of_the_targets() -> None:
    declared, s = REGRESSIONS["tukey, l2"], 1e-9
    usual = dc.RobustRegressor(*declared(1.0), scale=None).fit(X, Y)
    model = dc.RobustRegressor(*declared(s), scale=None).fit(X, s * Y)
    _same(usual.result_, model.result_, usual.coef_, model.coef_ / s)


def _risks(u: float, a: float) -> dict[str, Risk]:
    """Of samples u·X, times a."""
    Z, weight = u * X, np.full(50, a)
    K = Z @ Z.T
    margins, residuals = binary_margins(Z, C), residual_rows(Z, Y)
    expansion = expansion_residuals(K, Y)
    capped, l2 = dc.cap(dc.hinge(), 1.0), dc.l2(a * u**2)

    def declared(rows: Any, loss: Any, penalty: Penalty) -> Risk:
        return Risk.from_loss(rows, loss, penalty, np.full(rows.shape[0], a))

    return {
        "hinge l2": declared(margins, capped, l2),
        "hinge l1": declared(margins, capped, dc.l1(a * u)),
        "squared hinge": declared(
            margins, dc.cap(dc.squared_hinge(), 1.0), dc.elastic_net(0.3 * a * u, a * u**2)
        ),
        "truncated": declared(margins, dc.truncate(dc.hinge(), 0.0), l2),
        "logistic l1": declared(margins, dc.cap(dc.logistic(), 1.0), dc.l1(a * u)),
        "smoothed": declared(margins, dc.cap(dc.sigmoid_hinge(10.0), 1.0), l2),
        "rescaled": declared(margins, dc.rescale(dc.hinge(), 0.5), l2),
        "power": declared(margins, dc.power(dc.hinge(), 0.5), l2),
        "angle l1": declared(angle_margins(Z, THREE), capped, dc.l1(a * u)),
        "largest": Risk(
            angle_differences(Z, THREE),
            dc.hinge(),
            aggregate="max",
            transform=capped.transform,
            penalty=l2,
            sample_weight=weight,
        ),
        "kernel": declared(kernel_margins(K, C), capped, l2),
        "expansion": declared(expansion, dc.cap(dc.absolute(), 1.0), expansion.norm(a * u**2)),
        "mcp": declared(residuals, dc.cap(dc.square(), 4.0), dc.mcp(0.5 * a * u, 3 / u**2 / a)),
        "matrix": Risk(Z, dc.huber(0.3), penalty=dc.l1(a * u), sample_weight=weight, offset=-Y),
    }


@pytest.mark.parametrize("name", _risks(1.0, 1.0))
def test_objective_and_samples_in_other_units(name: str) -> None:
    usual = _risks(1.0, 1.0)[name]
    one = dc.solve(usual, n_starts=1)
    assert one.x is not None
    for u, a in ((1.0, 1e-12), (1e-12, 1.0), (1e12, 1.0)):
        risk = _risks(u, a)[name]
        other = dc.solve(risk, n_starts=1)
        assert other.x is not None
        assert other.value == pytest.approx(a * one.value, rel=1e-7)
        _same(one, other, usual.margins(one.x), risk.margins(other.x))


@pytest.mark.parametrize("shift", [1e3, 1e6, 1e8])
def test_an_offset_of_the_samples_changes_the_intercept_only(shift: float) -> None:
    """A power of two, so that the samples themselves keep their digits."""
    far = np.exp2(np.round(np.log2(shift)))
    Z = np.round(X * 1024) / 1024
    for loss, penalty in ((dc.cap(dc.logistic(), 1.0), dc.l2(0.1)), (dc.hinge(), dc.l1(1.0))):
        usual = dc.RobustClassifier(loss, penalty).fit(Z, C)
        model = dc.RobustClassifier(loss, penalty).fit(Z + far, C)
        assert model.result_.status == "converged"
        assert model.coef_ == pytest.approx(usual.coef_, rel=1e-5, abs=1e-6)
        assert not model.result_.history.attempts


# ---- the parts -----------------------------------------------------------------------------------

LOSSES = [
    dc.absolute(0.3),
    dc.square(0.3),
    dc.huber(0.7),
    dc.pinball(0.2),
    dc.epsilon_insensitive(0.2, 0.1),
    dc.hinge(),
    dc.squared_hinge(),
    dc.logistic(),
    dc.sigmoid_hinge(5.0),
    dc.pade_hinge(5.0),
    squared(dc.sigmoid_hinge(5.0)),
    convex_sum((dc.hinge(), dc.square()), (0.5, 2.0)),
]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("unit", [1e-6, 1.0, 3.0, 1e6])
def test_losses_in_units(loss: ConvexLoss, unit: float) -> None:
    u = np.linspace(-2, 2, 41) / unit
    for other, factor in (loss.in_units(unit), (stretched(loss, unit), 1.0)):
        assert factor * other(u) == pytest.approx(loss(unit * u), rel=1e-12, abs=1e-14)
        slope = unit * loss.slope(unit * u)
        near = np.isclose(np.abs(slope), 0) | np.isclose(factor * other.slope(u), slope)
        assert np.mean(near) > 0.9  # rounding moves a kink
        assert other.lower == pytest.approx(loss.lower / factor)
        assert other.is_smooth == loss.is_smooth
        if other.pieces is not None:
            assert factor * other.pieces(u) == pytest.approx(loss(unit * u), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    "penalty",
    [
        dc.l1(0.5),
        dc.l2(0.5),
        dc.elastic_net(0.5, 2.0),
        dc.mcp(0.5, 3.0),
        dc.mcp(0.5, 3.0) + dc.l2(0.1),
        group_lasso(0.5, [0, 0, 1]),
    ],
    ids=repr,
)
def test_penalties_in_units(penalty: Penalty) -> None:
    w = np.array([0.2, 0.0, -3.0])
    other = penalty.in_units(4.0, 0.25)
    assert other(w) == pytest.approx(0.25 * penalty(4 * w))
    assert other.slope(w) == pytest.approx(penalty.slope(4 * w))
    assert other.weights(w) == pytest.approx(penalty.weights(4 * w))
    assert other.is_convex == penalty.is_convex
    parts, usual = other.parts(), penalty.parts()
    assert parts.l1 == pytest.approx(usual.l1)
    assert parts.ridge == pytest.approx(4 * usual.ridge)
    assert [len(parts.groups), len(parts.concave)] == [len(usual.groups), len(usual.concave)]
    assert not parts.others


@pytest.mark.parametrize("far", [0.0, 1e5])
def test_a_subproblem_is_the_same_function_in_natural_units(far: float) -> None:
    rng = np.random.default_rng(4)
    risk = Risk.from_loss(residual_rows(1e5 * X + far * 1e5, 1e-3 * Y), dc.huber(1e-3), dc.l2(1e4))
    units = Units.of(risk, 1e-6)
    problem = WeightedRisk(risk, rng.uniform(0, 1, 50), rng.standard_normal(50))
    points = [1e-8 * rng.standard_normal(5) for _ in range(2)]
    there, here = (
        -np.diff([one.value(move(theta)) for theta in points])[0]
        for one, move in ((units.problem(problem), units.theta), (problem, np.asarray))
    )
    assert units.size * there == pytest.approx(here, rel=1e-6)
    assert 1 <= margin_unit(units.natural) < 2
    for unit in (units.size, units.margin, *units.coefficient):
        assert np.frexp(unit)[0] == 0.5  # a power of two: nothing rounds


@pytest.mark.parametrize("cost", [0.1, 3.7, 1e5 / 3])
def test_multipliers_at_their_bounds_are_there_exactly(cost: float) -> None:
    rng = np.random.default_rng(1)
    y = np.where(rng.random(30) < 0.5, -1.0, 1.0)
    K = np.exp(-0.5 * np.subtract.outer(y + rng.standard_normal(30), np.zeros(30)) ** 2)
    K = K @ K.T
    risk = Risk.from_loss(
        expansion := dc.expansion_margins(K, y), dc.hinge(), expansion.norm(1.0), np.full(30, cost)
    )
    dual = dc.solve(risk).dual
    assert dual is not None
    assert np.max(np.abs(dual)) <= cost


@pytest.mark.parametrize("size", [1e-310, 1e-200])
@pytest.mark.parametrize("penalty", [dc.l2(1.0), dc.l1(1.0), dc.mcp(1.0, 3.0)], ids=repr)
def test_vanishing_columns_are_columns_of_zeros(size: float, penalty: Penalty) -> None:
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((20, 3)), rng.standard_normal(20)
    X[:, 1] *= size
    model = dc.RobustRegressor(dc.cap(dc.absolute(), 1.0), penalty, scale=None).fit(X, y)
    X[:, 1] = 0.0
    zero = dc.RobustRegressor(dc.cap(dc.absolute(), 1.0), penalty, scale=None).fit(X, y)
    assert model.result_.status == "converged"
    assert model.objective_ == pytest.approx(zero.objective_, rel=1e-6)
    assert model.coef_[1] == pytest.approx(0.0, abs=1e-9)
    every = dc.RobustRegressor(dc.cap(dc.absolute(), 1.0), penalty, scale=None).fit(X * size, y)
    assert every.result_.status == "converged"


@pytest.mark.parametrize("unit", [1.0, 1e3])
def test_margins_that_a_solver_has_computed_are_those_of_the_risk(unit: float) -> None:
    risk = Risk.from_loss(residual_rows(unit * X, 64 * Y), dc.tukey(dc.square(), 4.0), dc.l2(1.0))
    surrogate = risk.surrogate()
    start = surrogate.starts("convex", np.random.default_rng(0))
    surrogate.begin(start)
    surrogate.tighten(start)
    found = surrogate.minimise(start, 1e-8, surrogate.solvers[0])
    np.testing.assert_array_equal(surrogate.declared.margins(found), risk.margins(found))


def test_rows_without_caches_share_the_samples_in_natural_units() -> None:
    """A race copies rows after its plain run, and formed X/unit a second time."""
    risk = Risk(binary_margins(1e3 * X, C), dc.hinge(), penalty=dc.l2(1.0))
    rows = Units.of(risk, 1.0).natural.rows
    other = copy(risk)
    other.rows = without_caches(risk.rows)
    again = Units.of(other, 1.0).natural.rows
    assert again is not rows
    assert again.X is rows.X
