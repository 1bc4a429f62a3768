"""Newton's method on the averaged losses of very many samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dcprog as dc
from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.risk_mm import averaged
from dcprog.risk_mm.averaged import averages, is_tall, settled
from dcprog.risk_mm.units import Units

N, D = 2000, 3
RNG = np.random.default_rng(0)
W = np.array([1.0, -2.0, 0.5])
X: Array = RNG.standard_normal((N, D)) * [1.0, 100.0, 1.0] + [0.0, 0.0, 500.0]
SCORE = (X - [0.0, 0.0, 500.0]) / [1.0, 100.0, 1.0] @ W
TARGETS = SCORE + RNG.standard_normal(N) + 30 * (RNG.random(N) < 0.1)
LABELS = np.where(SCORE + RNG.standard_normal(N) > 0, 1, -1) * np.where(RNG.random(N) < 0.1, -1, 1)
NO_LIMIT = Deadline(None)


@pytest.fixture(autouse=True)
def _however_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(averaged, "TALL", N // 2)
    monkeypatch.setattr(averaged, "OF_EACH", 10)


def risk_of(loss: dc.Loss, *, residuals: bool) -> dc.Risk:
    rows = dc.residual_rows(X, TARGETS) if residuals else dc.binary_margins(X, LABELS)
    return dc.Risk.from_loss(rows, loss, dc.l2(1.0), RNG.uniform(0.5, 2.0, N))


def plain_end(risk: dc.Risk, monkeypatch: pytest.MonkeyPatch) -> Any:
    with monkeypatch.context() as patched:
        patched.setattr(averaged, "TALL", 2 * N)
        return dc.solve(risk, start="convex", n_starts=1)


def test_a_smooth_loss_ends_where_its_slope_is_zero() -> None:
    risk = risk_of(dc.tukey(dc.square(), 4.685), residuals=True)
    begun = dc.solve(risk, start="convex", n_starts=1, max_iter=0).x
    assert begun is not None
    x = settled(risk, Units.of(risk, 1.0), begun, NO_LIMIT)
    slope = risk.rows.T @ risk.row_slopes(x) + np.append(x[:-1], 0.0)
    assert np.max(np.abs(slope) * averaged.FLATTEST / np.array([1, 100, 500, 1])) < 1e-3
    assert risk(x) < risk(begun)


@pytest.mark.parametrize(
    ("loss", "residuals"),
    [
        (dc.cap(dc.hinge(), 1.0), False),
        (dc.cap(dc.squared_hinge(), 1.0), False),
        (dc.truncate(dc.squared_hinge(), -1.0), False),
        (dc.cap(dc.absolute(), 2.0), True),
    ],
)
def test_runs_take_fewer_steps_and_end_no_higher(
    loss: dc.Loss, residuals: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    risk = risk_of(loss, residuals=residuals)
    before = plain_end(risk, monkeypatch)
    after = dc.solve(risk, start="convex", n_starts=1)
    assert after.status == "converged"
    assert after.value <= before.value + 2e-3 * before.scale
    assert after.n_iter <= before.n_iter
    assert np.all(np.diff(after.history.value) <= 1e-9 * before.scale)


def test_no_step_is_tried_where_the_model_falls_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    risk = risk_of(dc.tukey(dc.square(), 4.685), residuals=True)
    begun = dc.solve(risk, start="convex", n_starts=1, max_iter=0).x
    assert begun is not None
    x = settled(risk, Units.of(risk, 1.0), begun, NO_LIMIT)
    steps, step = [], averaged._Model.step

    def counted(self: Any, *where: Any) -> Any:
        steps.append(where)
        return step(self, *where)

    monkeypatch.setattr(averaged._Model, "step", counted)
    monkeypatch.setattr(dc.Risk, "along", None)  # no value on the way is asked for
    np.testing.assert_array_equal(settled(risk, Units.of(risk, 1.0), x, NO_LIMIT), x)
    assert len(steps) == 1


def test_a_passed_deadline_leaves_the_point() -> None:
    risk = risk_of(dc.cap(dc.hinge(), 1.0), residuals=False)
    x = np.zeros(D + 1)
    assert settled(risk, Units.of(risk, 1.0), x, Deadline(0.0)) is x


def test_it_takes_no_convex_steep_or_joint_losses() -> None:
    rows = dc.binary_margins(X, LABELS)
    told = {
        name: averages(dc.Risk.from_loss(rows, loss, penalty))
        for name, loss, penalty in (
            ("capped", dc.cap(dc.hinge(), 1.0), dc.l2(1.0)),
            ("convex", dc.hinge(), dc.l2(1.0)),
            ("sparse", dc.cap(dc.hinge(), 1.0), dc.l1(1.0)),
            ("trimmed", dc.trim(dc.hinge(), 0.1), dc.l2(1.0)),
        )
    }
    assert told == {"capped": True, "convex": False, "sparse": False, "trimmed": False}
    few = dc.Risk.from_loss(dc.binary_margins(X[:50], LABELS[:50]), dc.hinge())
    assert not is_tall(few)


@pytest.mark.parametrize(
    "rows",
    [
        dc.binary_margins(X, LABELS),
        dc.residual_rows(X, TARGETS),
        dc.class_margins(X, np.digitize(TARGETS, [-1, 1])),
        dc.angle_margins(X, np.digitize(TARGETS, [-1, 1])),
    ],
)
def test_a_risk_of_all_samples_in_another_order_is_the_risk(rows: Any) -> None:
    weight = RNG.uniform(0.5, 2.0, rows.shape[0])
    risk = dc.Risk.from_loss(rows, dc.cap(dc.squared_hinge(), 1.0), dc.l2(1.0), weight)
    order = RNG.permutation(N)
    other = risk.of_samples(order)
    theta = 0.01 * RNG.standard_normal(rows.shape[1])
    assert other(theta) == pytest.approx(risk(theta), rel=1e-10)
    half = risk.of_samples(order[: N // 2])
    assert half.rows.shape[0] == rows.shape[0] // 2
    assert half(theta) == pytest.approx(risk(theta), rel=0.1)
