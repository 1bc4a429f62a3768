"""A claim is held against every point known: what is wrong is an error, and never a result."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pytest

import dcprog as dc
from dcprog.bounds.minorant import Minorant
from dcprog.bounds.search import Boxes, Found, Incumbent, Search
from tests.bounds.random_risks import exponential, tilted

Array = npt.NDArray[np.float64]
ROUNDING = 1e-12


def least(risk: dc.Risk, lower: float, upper: float, n: int = 4001) -> float:
    """The least of a dense grid, of one coefficient."""
    return min(risk(np.array([x])) for x in np.linspace(lower, upper, n))


def ramp(seed: int = 0, n: int = 40, scale: float = 1.0) -> dc.Risk:
    """The ramp loss of two classes of which some labels are flipped."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.where(X[:, 0] > 0, scale, -scale)
    y[:6] *= -1
    return dc.Risk.from_loss(dc.binary_margins(X, y), dc.cap(dc.hinge(), 1.0), dc.l2(0.1))


# ----------------------------------------------------------------------------------------------
# bounds that were wrong


def test_half_a_hinge_minus_a_hinge_is_no_cap() -> None:
    a = np.random.default_rng(0).normal(size=(8, 1))
    risk = dc.Risk.from_loss(a, 0.5 * dc.hinge() - dc.hinge(0.0), dc.l2(0.1))
    bound = dc.lower_bound(risk, box=(-50, 50), start=np.zeros(1))
    assert bound.value <= least(risk, -50, 50)


def test_weights_are_inside_of_a_cap_that_a_difference_makes() -> None:
    risk = dc.Risk(
        np.array([[1.0], [-1.0]]),
        dc.hinge(),
        weights=[0.3, 0.3],
        subtracted=dc.hinge(0.0),
        penalty=dc.l2(0.01),
    )
    bound = dc.lower_bound(risk, start=np.zeros(1))
    found = least(risk, -10, 10)
    assert bound.value <= found
    assert bound.objective == pytest.approx(found, rel=2e-3)


def test_what_is_subtracted_of_trimmed_samples_counts() -> None:
    rng = np.random.default_rng(0)
    a, offset = rng.normal(size=(5, 1)), 3 * rng.normal(size=5)
    risk = dc.Risk(
        a,
        dc.square(),
        transform=dc.trim_of(0.4),
        subtracted=dc.huber(1.0),
        penalty=dc.l2(0.3),
        offset=offset,
    )
    worst = max(np.array([[-0.2], [0.2]]), key=risk)
    bound = dc.lower_bound(risk, start=worst, box=(-0.2, 0.2))
    found = least(risk, -0.2, 0.2)
    assert bound.value <= found
    assert bound.objective == pytest.approx(found, rel=2e-3)


def test_a_coefficient_without_data_is_penalised_all_the_same() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=10), np.zeros(10)])
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    y[:2] *= -1
    rows = dc.binary_margins(X, y, fit_intercept=False)
    risk = dc.Risk.from_loss(rows, dc.cap(dc.hinge(), 1.0), dc.mcp(1.0))
    there = dc.solve(risk).x
    assert there is not None
    bound = dc.lower_bound(risk, start=np.array([there[0], 10.0]))
    assert bound.value <= risk(there)
    assert bound.x is not None
    assert bound.x[1] == 0


def test_a_penalty_may_be_negative() -> None:
    """Losses that reach the incumbent's value do not hold a coefficient that a penalty draws on."""
    rows = np.array([[0.1], [-0.1]])
    risk = dc.Risk.from_loss(rows, dc.cap(dc.square(), 20.0), tilted() + dc.l2(0.0))
    with pytest.raises(dc.NotBoundable, match="coefficient 0"):
        dc.lower_bound(risk, start=np.zeros(1))
    bound = dc.lower_bound(risk, start=np.zeros(1), box=(-30, 30))
    assert bound.status == "proved"
    assert bound.value <= least(risk, -30, 30)


def test_a_penalty_of_no_slope_at_0_is_least_there() -> None:
    """So what a user wrote holds no coefficient, but hinders none that is held either."""

    class kernel(dc.Penalty):
        def __call__(self, w: Array) -> float:
            return float(np.sum(np.cosh(w) - 1))

        def slope(self, w: Array) -> Array:
            return np.sinh(w)

        def expression(self, w: Any) -> Any:
            raise NotImplementedError

    risk = dc.Risk.from_loss(np.ones((3, 1)), dc.cap(dc.hinge(), 1.0), kernel() + dc.l1(0.1))
    bound = dc.lower_bound(risk, start=np.ones(1))
    assert bound.status == "proved"
    assert bound.value <= least(risk, -3, 3)


@pytest.mark.parametrize("origin", [1e6, 1e8])
@pytest.mark.parametrize("loss", [dc.square(), dc.cap(dc.square(), 4.0), dc.trim(dc.square(), 0.2)])
def test_the_origin_of_the_responses_counts_for_nothing(loss: dc.Loss, origin: float) -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 1)), rng.normal(size=60)
    y[:12] += 20 * rng.normal(size=12)
    plain = dc.Risk.from_loss(dc.residual_rows(X, y), loss, dc.l2(0.1))
    far = dc.Risk.from_loss(dc.residual_rows(X, y + origin), loss, dc.l2(0.1))
    start = np.array([0.0, np.median(y)])
    there = dc.lower_bound(plain, start=start)
    bound = dc.lower_bound(far, start=start + np.array([0.0, origin]))
    assert bound.status == "proved"
    assert bound.value <= there.objective * (1 + 1e-16 * origin)
    assert bound.value >= there.objective * (1 - 2.1e-3)


@pytest.mark.parametrize("graduated", [False, True])
def test_caps_of_groups_may_be_inside_of_other_transforms(graduated: bool) -> None:
    a, caps = np.random.default_rng(1).normal(size=(12, 1)), np.linspace(0.5, 2.0, 12)
    transform = dc.cap_at(caps) if graduated else dc.cap_at(1.5, dc.cap_at(caps))
    risk = dc.Risk(a, dc.squared_hinge(), transform=transform, penalty=dc.l2(0.3))
    risk = risk.graduated(2.0) if graduated else risk
    bound = dc.lower_bound(risk)
    assert bound.status == "proved"
    assert bound.value <= least(risk, -10, 10)


@pytest.mark.parametrize("loss", [dc.square(), dc.square() - dc.huber(1.0)])
def test_a_start_without_a_finite_value_is_refused(loss: dc.Loss) -> None:
    risk = dc.Risk.from_loss(np.ones((5, 1)), loss, dc.l2(1.0))
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="no finite value"):
        dc.lower_bound(risk, start=np.array([1e200]))


def test_losses_that_overflow_in_a_wide_box_make_no_claim_of_it() -> None:
    risk = dc.Risk(np.ones((3, 1)), exponential(), penalty=dc.l2(1.0), transform=dc.log_of(1.0))
    with np.errstate(all="ignore"):
        bound = dc.lower_bound(risk, start=np.zeros(1), box=(-1e4, 1e4), time_limit=0.3)
    assert bound.value <= least(risk, -3, 3)


# ----------------------------------------------------------------------------------------------
# a bound that is resumed


def test_a_bound_that_a_callback_saw_is_resumed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a bound of what was dropped until then, and knows what was not."""
    monkeypatch.setattr("dcprog.bounds.search.PAUSE", 0.0)
    seen: list[dc.Bound] = []

    def stop(bound: dc.Bound) -> bool:
        seen.append(pickle.loads(pickle.dumps(bound)))
        return len(seen) == 3

    dc.lower_bound(ramp(), callback=stop)
    whole = dc.lower_bound(ramp())
    for bound in seen:
        resumed = dc.lower_bound(ramp(), start=bound)
        assert resumed.status == "proved"
        assert resumed.nodes > bound.nodes
        assert resumed.value <= whole.objective * (1 + 1e-12)


def test_a_bound_of_other_data_is_refused() -> None:
    """Also where the best point is worth the same: a sample beyond its cap is moved further."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 1)), rng.normal(size=20)
    y[0] = 50.0
    risks = [
        dc.Risk.from_loss(dc.residual_rows(X, end), dc.cap(dc.square(), 1.0), dc.l2(0.1))
        for end in (y, np.concatenate([[60.0], y[1:]]))
    ]
    bound = dc.lower_bound(risks[0])
    assert bound.x is not None
    assert risks[1](bound.x) == bound.objective
    assert dc.lower_bound(risks[0], start=bound).nodes == bound.nodes
    with pytest.raises(ValueError, match="another problem"):
        dc.lower_bound(risks[1], start=bound)


# ----------------------------------------------------------------------------------------------
# rules made wrong


def raised(function: Callable[..., Any], by: Callable[[Any], Any]) -> Callable[..., Any]:
    """The function with its result changed."""
    return lambda *args, **options: by(function(*args, **options))


def test_a_line_above_a_loss_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from dcprog.bounds import minorant

    lines = raised(minorant.supporting_lines, lambda found: (found[0], found[1] + 0.1, found[2]))
    monkeypatch.setattr(minorant, "supporting_lines", lines)
    risk = ramp()
    with pytest.raises(dc.WrongBound, match="please report") as caught:
        dc.lower_bound(risk)
    error = caught.value
    assert error.box is not None
    assert error.claim > error.value == risk(error.point)
    assert len(error.box[0]) == len(error.box[1]) == 3
    assert str(error.value) in str(error)
    assert pickle.loads(pickle.dumps(error)).claim == error.claim


def test_decided_samples_that_cost_too_much_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The space's own value is as wrong as its bound: the user's function tells."""
    from dcprog.bounds import risk_space

    decided = raised(risk_space.decided, lambda near: replace(near, constant=near.constant + 0.5))
    monkeypatch.setattr(risk_space, "decided", decided)
    with pytest.raises(dc.WrongBound):
        dc.lower_bound(ramp())


def test_states_whose_chords_are_too_high_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dcprog.bounds.state_space.FEW_ENTRIES", 0)
    monkeypatch.setattr("dcprog.bounds.state_space.MANY_ENTRIES", 0)
    seen = raised(Minorant.seen, lambda view: replace(view, lower=view.lower + 0.5))
    monkeypatch.setattr(Minorant, "seen", seen)
    with pytest.raises(dc.WrongBound):
        dc.lower_bound(ramp(n=14))


def test_a_loss_below_its_own_infimum_is_found_out() -> None:
    """A user's loss says that it is never negative, and is."""

    class lowered(dc.ConvexLoss):
        def __call__(self, u: npt.ArrayLike) -> Array:
            return np.asarray(u, dtype=float) ** 2 - 1

        def slope(self, u: npt.ArrayLike) -> Array:
            return 2 * np.asarray(u, dtype=float)

    risk = dc.Risk.from_loss(np.ones((3, 1)), lowered(), dc.l2(0.1))
    with pytest.raises(dc.WrongBound) as caught:
        dc.lower_bound(risk, start=np.array([0.1]))
    assert caught.value.claim == 0


def test_a_bound_that_was_tampered_with_is_found_out() -> None:
    bound = dc.lower_bound(ramp())
    with pytest.raises(dc.WrongBound):
        dc.lower_bound(ramp(), start=replace(bound, floor=2 * bound.value))


# ----------------------------------------------------------------------------------------------
# a search of x² on boxes


class Parabola:
    """X² on boxes of one number, bounded by x² − width; its scale is 1000 but near 0."""

    lot, least_scale = 4, 0.0

    def __init__(self, error: float = 0.0) -> None:
        self.error = error

    def at(self, x: Array) -> Incumbent:
        return Incumbent(x, self.value(x), 1.0 if abs(x[0]) < 0.1 else 1000.0, 0.0)

    def region(self, x: Array) -> tuple[Array, Array]:
        return x, x

    def value(self, z: Array) -> float:
        return float(z[0] ** 2)

    def root(self, best: Incumbent) -> Boxes:
        one = np.ones((1, 1))
        return Boxes(-one, 2 * one, np.array([-10.0]), one, one)

    def improved(self, z: Array, seconds: float) -> Incumbent:
        return self.at(z)

    def bound(self, boxes: Boxes, target: float) -> Found:
        width, z = (boxes.hi - boxes.lo)[:, 0], np.clip(0.0, boxes.lo, boxes.hi)
        lower = z[:, 0] ** 2 - width + self.error
        return Found(lower, z, z[:, 0] ** 2, boxes.hi - boxes.lo)


def searched(space: Parabola, start: float) -> Search:
    """The search, when it says that it is done."""
    best = space.at(np.array([start]))
    search = Search(space, space.root(best), best, 1e-3)
    assert search.run(time.perf_counter() + 10) == "proved"
    return search


@pytest.mark.parametrize("start", [0.7, 0.05, 2.0])
def test_the_gap_is_as_small_as_asked_also_where_the_scale_shrinks(start: float) -> None:
    """Boxes that were dropped for a gap of 1e-3·1000 are looked at again for one of 1e-3·1."""
    search = searched(Parabola(), start)
    assert search.best.value - search.lower <= 1e-3 * search.scale * (1 + 1e-9)
    assert search.lower <= 0


@pytest.mark.parametrize("start", [0.7, 0.05])
def test_a_wrong_box_is_named(start: float) -> None:
    with pytest.raises(dc.WrongBound) as caught:
        searched(Parabola(error=3.0), start)
    error = caught.value
    assert error.box is not None
    assert error.box[0] <= error.point <= error.box[1]
    assert error.claim > error.value


def test_runs_from_better_points_keep_to_the_time_that_is_left() -> None:
    class Timed(Parabola):
        given: ClassVar[list[float]] = []

        def improved(self, z: Array, seconds: float) -> Incumbent:
            self.given.append(seconds)
            return super().improved(z, seconds)

    space = Timed()
    best = space.at(np.array([2.0]))
    Search(space, space.root(best), best, 1e-3).run(time.perf_counter() + 10)
    assert any(space.given)
    assert all(0 <= seconds <= 10 for seconds in space.given)
