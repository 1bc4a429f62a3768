"""Exchanges: a sample near the cap changes sides where that leads lower."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dcprog as dc
from dcprog.engine.protocol import centre
from dcprog.foundation.deadline import Deadline
from dcprog.moves.exchange import Exchange
from dcprog.risk_mm.surrogate import RiskSurrogate
from dcprog.starts.effort import EFFORTS
from dcprog.starts.protocol import Budget


def classes(seed: int, n: int = 40, p: int = 2) -> dc.Risk:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = np.sign(X @ rng.normal(size=p))
    y[rng.random(n) < 0.15] *= -1
    return dc.Risk.from_loss(dc.binary_margins(X, y), dc.cap(dc.hinge(), 1.0), dc.l2(0.1))


def responses(seed: int, n: int = 40, p: int = 2) -> dc.Risk:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = X @ rng.normal(size=p) + rng.standard_t(1.2, size=n)
    return dc.Risk.from_loss(dc.residual_rows(X, y), dc.trim(dc.square(), 0.25), dc.l2(0.1))


def other_losses(risk: dc.Risk) -> list[dc.Risk]:
    losses = (dc.truncate(dc.hinge(), 0.0), dc.cap(dc.squared_hinge(), 2.0))
    return [dc.Risk.from_loss(risk.rows, loss, risk.penalty) for loss in losses]


def exchanged(risk: dc.Risk, x: Any, flips: int = 6, seconds: float | None = None) -> Any:
    budget = Budget(replace(EFFORTS["default"], flips=flips), deadline=Deadline(seconds))
    return next(iter(Exchange().points(risk.surrogate(), x, budget)), None)


def plain(risk: dc.Risk) -> dc.Result:
    return dc.solve(risk, start="convex", n_starts=1)


def end(risk: dc.Risk, start: Any = "convex") -> Any:
    return dc.solve(risk, start=start, n_starts=1).x


RISKS = [classes(s) for s in range(4)] + [responses(s) for s in range(4)]
RISKS += [risk for s in range(3) for risk in other_losses(classes(s))]


def test_what_is_offered_is_lower_and_often_there() -> None:
    improved, larger = 0, [make(s, n=300, p=8) for make in (classes, responses) for s in range(6)]
    for risk in larger:
        result = plain(risk)
        point = exchanged(risk, result.x)
        if point is not None:
            assert risk(point) < result.value
            improved += 1
    assert improved >= len(larger) // 3


@pytest.mark.parametrize("seed", range(2))
def test_after_all_exchanges_no_flip_leads_lower(seed: int) -> None:
    """By brute force: each sample is given up, or kept, and the weighted risk solved."""
    risk = classes(seed, n=20)
    x = end(risk)
    while (point := exchanged(risk, x, flips=20)) is not None:
        x = end(risk, point)
    surrogate = risk.surrogate()
    centre(surrogate, x)
    problem, value = surrogate.problem, risk(x)
    near = np.abs(risk.aggregates(x) - 1) < 0.4
    for g in np.flatnonzero(near):
        weights = problem.weights.copy()
        weights[g] = 1.0 - weights[g]
        flipped = dc.Risk(risk.rows, risk.base, weights=weights, penalty=risk.penalty)
        assert risk(end(flipped)) > value - 1e-5 * value


def test_the_race_ends_with_exchanges_and_the_plain_run_has_none() -> None:
    kinds = set()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(300, 10))
        y = np.sign(X @ rng.normal(size=10))
        y[rng.random(300) < 0.15] *= -1
        rows = dc.binary_margins(X, y)
        risk = dc.Risk.from_loss(rows, dc.truncate(dc.hinge(), 0.0), dc.l2(0.1))
        result = dc.solve(risk)
        least = min(start.value for start in result.starts)
        assert result.value == pytest.approx(least, rel=1e-14)  # the first of equals is taken
        kinds |= {start.kind for start in result.starts}
        if "exchange" in kinds:
            break
    assert "exchange" in kinds
    assert [start.kind for start in plain(risk).starts] == ["convex"]


def test_moves_and_the_runs_from_their_points_share_a_surrogate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, begin = list[RiskSurrogate](), RiskSurrogate.__init__

    def counted(self: RiskSurrogate, *options: Any) -> None:
        begin(self, *options)
        made.append(self)

    monkeypatch.setattr(RiskSurrogate, "__init__", counted)
    result = dc.solve(classes(0, n=300, p=100))
    assert "exchange" in [start.kind for start in result.starts]
    assert len(made) == 3  # of the plain run, the candidates and the moves


@pytest.mark.parametrize("factor", [1e-12, 1e12])
@pytest.mark.parametrize("of", ["objective", "data"])
def test_exchanges_have_no_units(factor: float, of: str) -> None:
    risk = next(r for r in RISKS if exchanged(r, end(r)) is not None)
    X, loss, lam = risk.rows.X, risk.loss, 0.1
    assert loss is not None
    signs = np.asarray(risk.rows.signs).ravel()
    x, unit = end(risk), np.ones(3)
    if of == "objective":
        other = dc.Risk.from_loss(risk.rows, factor * loss, dc.l2(factor * lam))
    else:
        rows = dc.binary_margins(factor * X, signs)
        other, unit = dc.Risk.from_loss(rows, loss, dc.l2(lam * factor**2)), unit.copy()
        unit[:2] = factor
    point, scaled = exchanged(risk, x), exchanged(other, x / unit)
    assert point is not None
    assert scaled is not None
    np.testing.assert_allclose(scaled * unit, point, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("loss", [dc.hinge(), dc.rescale(dc.hinge(), 0.5), dc.log(dc.hinge(), 1.0)])
def test_smooth_and_convex_losses_have_no_sides(loss: dc.Loss) -> None:
    risk = dc.Risk.from_loss(classes(0).rows, loss, dc.l2(0.1))
    assert exchanged(risk, end(risk)) is None


def test_no_time_is_no_exchange() -> None:
    risk = next(r for r in RISKS if exchanged(r, end(r)) is not None)
    assert exchanged(risk, end(risk), seconds=0.0) is None
    assert exchanged(risk, end(risk), flips=0) is None
