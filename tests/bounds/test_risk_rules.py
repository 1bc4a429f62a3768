"""Every rule that a risk's bound rests on, held against dense grids and random points.

A bound may exceed the function by rounding of the function's own terms alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dcprog as dc
from dcprog.bounds.boxed_risk import BoxPenalty, boxed, split_penalty
from dcprog.bounds.minorant import (
    Chords,
    lines_of_shares,
    subtracted_lines,
    supporting_lines,
)
from dcprog.bounds.ranges import base_range, group_range, piecewise_least, row_range
from dcprog.bounds.risk_space import RiskSpace, decided
from dcprog.bounds.search import Boxes
from dcprog.bounds.state_space import StateSpace, hinge_sums
from dcprog.losses.piecewise_quadratic import Pieces
from tests.bounds.random_risks import (
    AGGREGATES,
    BASES,
    PENALTIES,
    SUBTRACTED,
    TRANSFORMS,
    points,
    random_boxes,
    random_risk,
)

Array = npt.NDArray[np.float64]

# A share of what the terms add up to: a few hundred roundings.
ROUNDING = 1e-13
# Where ROUNDING of it is the smallest number that has all digits.
TINY = 1e-290
SEEDS = st.integers(0, 2**32 - 1)
PARTS = st.fixed_dictionaries(
    {
        "base": st.sampled_from(list(BASES)),
        "transform": st.sampled_from(list(TRANSFORMS)),
        "subtracted": st.sampled_from(["nothing", "nothing", *SUBTRACTED]),
        "penalty": st.sampled_from(list(PENALTIES)),
        "aggregate": st.sampled_from(AGGREGATES),
    }
).filter(lambda parts: parts["aggregate"] != "max" or parts["subtracted"] == "nothing")


NAMES = ("base", "transform", "subtracted", "penalty", "aggregate")
KINDS = (BASES, TRANSFORMS, SUBTRACTED, PENALTIES)


def checked(n: int) -> Any:
    """The same n examples every time."""
    return settings(max_examples=n, deadline=None, derandomize=True, database=None)


def named(
    base: str,
    transform: str,
    subtracted: str = "nothing",
    penalty: str = "l2",
    aggregate: str | None = None,
) -> dict[str, Any]:
    """One choice of the names."""
    return dict(zip(NAMES, (base, transform, subtracted, penalty, aggregate), strict=True))


def values(risk: dc.Risk, at: Array) -> tuple[Array, Array]:
    """The risk at points, ∞ where that is no number, and what its terms add up to there."""
    with np.errstate(all="ignore"):
        found = np.array([[risk(x), risk.magnitude(x)] for x in at]).T
    size = np.where(np.isfinite(found[1]), found[1], 0.0)
    return np.where(np.isnan(found[0]), np.inf, found[0]), size + TINY


def intervals(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Intervals of many sizes, some of width 0, some with ends at halves."""
    low = 10.0 ** rng.uniform(-4, 3, n) * rng.normal(size=n)
    low = np.where(rng.random(n) < 0.3, np.round(2 * low) / 2, low)
    width = 10.0 ** rng.uniform(-8, 4, n) * (rng.random(n) < 0.9)
    return low, np.where(rng.random(n) < 0.2, np.maximum(np.round(low + width), low), low + width)


def rounded(base: dc.ConvexLoss, u: Array) -> Array:
    """What its values' rounding is in proportion to."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.nan_to_num(np.abs(base(u)) + np.abs(base.slope(u) * u)) + TINY


def steepest(base: dc.ConvexLoss) -> float:
    """The largest slope of a piecewise linear loss; 0 for others."""
    pieces = base.pieces
    straight = pieces is not None and not any(pieces.quadratic)
    return float(np.abs(pieces.linear).max()) if pieces is not None and straight else 0.0


def grids(low: Array, high: Array) -> Array:
    """A dense grid of each interval, a line each, with what of it is at a kink."""
    even = low[:, None] + np.linspace(0, 1, 201) * (high - low)[:, None]
    kinks = np.clip([-1.0, -0.7, -0.5, 0.0, 1 / 3, 0.5, 0.7, 1.0], low[:, None], high[:, None])
    return np.clip(np.hstack([even, kinks]), low[:, None], high[:, None])


# ----------------------------------------------------------------------------------------------
# single rules


@checked(40)
@given(SEEDS)
def test_margins_lie_in_their_ranges(seed: int) -> None:
    rng = np.random.default_rng(seed)
    risk = random_risk(rng)
    parts = boxed(risk)
    lo, hi = random_boxes(rng, risk, 4)
    low, high = row_range(parts, lo, hi)
    ends = [parts.matrix * side[:, None, :] for side in (lo, hi)]
    size = np.abs(ends).max(axis=0).sum(axis=2).max(axis=0) + np.abs(parts.offset)
    least = np.minimum(*ends).sum(axis=2) + parts.offset
    assert np.all((low <= least) & (low >= least - ROUNDING * size))
    for k in range(4):
        u = np.array([risk.margins(x) for x in points(rng, lo[k], hi[k], 20)])
        assert np.all((low[k] <= u) & (u <= high[k]))


@pytest.mark.parametrize("name", BASES)
def test_a_base_loss_lies_in_its_range(name: str) -> None:
    base = BASES[name]
    low, high = intervals(np.random.default_rng(0), 300)
    bottom, top = base_range(base, low, high)
    at = grids(low, high)
    found, size = base(at), rounded(base, at)
    assert np.all(bottom[:, None] <= found + ROUNDING * size)
    assert np.all(top[:, None] >= found - ROUNDING * size)
    falls, rises = base.slope(low) < 0, base.slope(high) > 0
    monotone = ~(falls & rises)
    assert np.allclose(bottom[monotone], np.minimum(base(low), base(high))[monotone], 1e-12, TINY)


def test_an_infimum_that_is_lost_in_wide_intervals_is_not_invented() -> None:
    """Where tangents at far ends meet is known up to the rounding of the ends' values."""
    wide = np.asarray(10.0 ** np.arange(4, 18), dtype=np.float64)
    bottom, _ = base_range(BASES["a user's kinked one"], -wide, 1.1 * wide)
    assert np.all(bottom <= 0)


@checked(40)
@given(SEEDS, st.sampled_from(list(BASES)), st.sampled_from(AGGREGATES))
def test_the_losses_of_groups_lie_in_their_ranges(
    seed: int, base: str, aggregate: str | None
) -> None:
    rng = np.random.default_rng(seed)
    risk = random_risk(rng, base, aggregate=aggregate)
    parts = boxed(risk)
    lo, hi = random_boxes(rng, risk, 4)
    least, most = group_range(parts, *row_range(parts, lo, hi))
    for k in range(4):
        t = np.array([risk.aggregates(x) for x in points(rng, lo[k], hi[k], 20)])
        assert np.all((least[k] <= t) & (t <= most[k]) | np.isinf(t))


@checked(60)
@given(SEEDS)
def test_pieces_are_least_where_a_grid_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    knots = tuple(np.sort(rng.normal(size=int(rng.integers(4))).round(1)))
    a = rng.choice([-1.0, 0.0, 0.0, 1.0], len(knots) + 1) * rng.random(len(knots) + 1)
    b, c = rng.normal(size=(2, len(knots) + 1)).round(1)
    for k, knot in enumerate(knots):  # continuous
        c[k + 1] = c[k] + (a[k] - a[k + 1]) * knot**2 + (b[k] - b[k + 1]) * knot
    f = Pieces(knots, tuple(a), tuple(b), tuple(c))
    low, high = intervals(rng, 40)
    least = piecewise_least(f, low, high)
    found = f(grids(low, high))
    assert np.all(least <= found.min(axis=1) + 1e-9 * np.abs(found).max(axis=1))
    assert np.all(least >= found.min(axis=1) - 0.1 * (1 + np.ptp(found, axis=1)))
    everywhere = piecewise_least(f, np.array([-np.inf]), np.array([np.inf]))
    assert everywhere == pytest.approx(f.extremes()[0])
    half = piecewise_least(f, low[:1], np.array([np.inf]))
    assert half <= f(low[:1] + np.geomspace(1e-6, 1e6, 300)).min() * (1 - 1e-12) + 1e-9


@pytest.mark.parametrize("share", [0.8, 0.0])
@pytest.mark.parametrize("name", BASES)
def test_lines_lie_below_the_base_loss(name: str, share: float) -> None:
    base, rng = BASES[name], np.random.default_rng(1)
    low, high = intervals(rng, 200)
    u = low + rng.choice([0.0, 0.3, 0.5, 1.0], low.size) * (high - low)
    u[:20] = np.clip(0.0, low[:20], high[:20])
    slope, value, _ = supporting_lines(base, u, base(u), low, high, share)
    at = grids(low, high)
    with np.errstate(invalid="ignore"):
        line = value[:, None] + slope[:, None] * (at - u[:, None])
        size = np.abs(value)[:, None] + np.abs(line - value[:, None]) + rounded(base, at)
        size = size + steepest(base) * np.abs(u)[:, None]
        above = line - base(at) - ROUNDING * size
    assert np.nanmax(above) <= 0


@pytest.mark.parametrize("name", [n for n, f in BASES.items() if f.pieces is not None])
def test_lines_of_any_shares_lie_below_the_pieces(name: str) -> None:
    base, rng = BASES[name], np.random.default_rng(2)
    pieces = base.pieces
    assert pieces is not None
    if any(pieces.quadratic):
        return
    u, at = 10.0 ** rng.uniform(-3, 8, 100) * rng.normal(size=100), rng.normal(size=(100, 50))
    shares = [np.clip(rng.uniform(-0.5, 1.5, u.shape), 0, 1) for _ in pieces.knots]
    slope, value = lines_of_shares(pieces, u, shares)
    line = value[:, None] + slope[:, None] * (at - u[:, None])
    size = np.abs(value) + np.abs(slope * u) + base(u) + steepest(base) * np.abs(u)
    assert np.all(line <= base(at) + ROUNDING * size[:, None])


@pytest.mark.parametrize("name", [n for n in TRANSFORMS if n != "trimmed"])
def test_chords_lie_below_the_transform(name: str) -> None:
    transform = TRANSFORMS[name] or dc.log_of(1e9)
    low, high = (np.abs(side) for side in intervals(np.random.default_rng(3), 200))
    low, high = np.minimum(low, high)[None], np.maximum(low, high)[None]
    high[0, :10] = np.inf
    for cap in (None, np.array([0.3])):
        chords = Chords.of(transform, low, high)
        level, slope = (chords.at_low, chords.slope) if cap is None else chords.capped(cap)
        t = grids(low[0], np.minimum(high[0], 1e6))
        chord = level.T + slope.T * (t - low.T)
        phi = transform(t) if cap is None else np.minimum(transform(t), cap)
        assert np.all(slope >= 0)
        assert np.all(chord <= phi + ROUNDING * np.abs(phi) + 1e-300)


@checked(30)
@given(SEEDS, st.sampled_from([name for name in SUBTRACTED if name != "nothing"]))
def test_lines_lie_below_what_is_subtracted(seed: int, subtracted: str) -> None:
    rng = np.random.default_rng(seed)
    risk = random_risk(rng, "logistic", subtracted=subtracted)
    parts = boxed(risk)
    lo, hi = random_boxes(rng, risk, 4)
    low, high = row_range(parts, lo, hi)
    lines = subtracted_lines(parts, lo, hi, low, high)
    assert lines is not None
    sub = SUBTRACTED[subtracted]
    assert sub is not None
    factor = parts.weights * parts.sample_weight
    for k in range(4):
        u = low[k] + rng.random((30, 1)) * (high[k] - low[k])
        line = lines.level[k] + lines.slope[k] * (u - low[k])
        assert np.all(line <= -factor * sub(u) * (1 - ROUNDING) + lines.rounding[k])


@pytest.mark.parametrize("name", [n for n in PENALTIES if not n.startswith("a user's")])
def test_penalties_lie_above_their_minorant(name: str) -> None:
    rng = np.random.default_rng(4)
    held = np.array([True, False, True])
    split = split_penalty(PENALTIES[name], held)
    lo, hi = (side.reshape(-1, 3) for side in intervals(rng, 150))
    on = split.on(lo, hi)
    for _ in range(40):
        x = lo + rng.choice([0, 0.2, 1, rng.random()], lo.shape) * (hi - lo)
        x = np.where(rng.random(x.shape) < 0.2, np.clip(0.0, lo, hi), x)
        exact = np.array([PENALTIES[name](w[held]) for w in x])
        assert np.all(on.value(x) <= exact * (1 + ROUNDING) + 1e-300)
        assert np.allclose(split.value(x), exact, rtol=1e-12)


@checked(60)
@given(SEEDS)
def test_the_lowest_point_under_a_penalty_is_the_lowest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    on, slope = random_penalty(rng)
    lowest = on.lowest(slope)
    assert np.all((on.lo <= lowest) & (lowest <= on.hi))
    least = slope * lowest + on.terms(lowest)
    for place in range(on.lo.shape[1]):
        grid = grids(on.lo[:, place], on.hi[:, place])
        weight, q = on.weight[:, place, None], on.q[place]
        sums = slope[:, place, None] * grid + weight * np.abs(grid) + 0.5 * q * grid**2
        size = np.abs(slope[:, place, None] * grid) + weight * np.abs(grid) + q * grid**2
        assert np.all(least[:, place, None] <= sums + ROUNDING * (size + np.abs(sums)))


def random_penalty(rng: np.random.Generator) -> tuple[BoxPenalty, Array]:
    """A penalty on boxes with weights of many sizes, some 0, and slopes."""
    lo, hi = (side.reshape(-1, 2) for side in intervals(rng, 20))
    weight = 10.0 ** rng.uniform(-3, 3, lo.shape) * (rng.random(lo.shape) < 0.6)
    q = 10.0 ** rng.uniform(-20, 3, 2) * (rng.random(2) < 0.7)
    slope = 10.0 ** rng.uniform(-3, 3, lo.shape) * rng.choice([-1.0, 0.0, 1.0], lo.shape)
    return BoxPenalty(lo, hi, weight, q, np.zeros(lo.shape[0])), slope


@checked(30)
@given(SEEDS)
def test_shares_of_hinges_are_shares(seed: int) -> None:
    """Of any data: weights of 0, boxes of no width, rows of zeros."""
    rng = np.random.default_rng(seed)
    boxes, m, p = 4, int(rng.integers(1, 9)), int(rng.integers(1, 4))
    rows = rng.normal(size=(m, p)) * (rng.random((m, p)) < 0.7)
    weights = 10.0 ** rng.uniform(-9, 9) * rng.random((boxes, m)) * (rng.random((boxes, m)) < 0.7)
    lo, hi = (side.reshape(boxes, p) for side in intervals(rng, boxes * p))
    tilt = rng.normal(size=(boxes, p)) * (rng.random((boxes, p)) < 0.5)
    theta, shares = hinge_sums(rows, rng.normal(size=m), weights, tilt, rng.random(p), lo, hi)
    assert np.all((lo <= theta) & (theta <= hi))
    assert np.all((shares >= 0) & (shares <= 1))


# ----------------------------------------------------------------------------------------------
# the whole on boxes


def on_boxes(space: RiskSpace, lo: Array, hi: Array, z: Array) -> Boxes:
    """The boxes as the space has them."""
    n, more = lo.shape[0], space.entries - lo.shape[1]
    low, high = np.hstack([lo, np.zeros((n, more))]), np.hstack([hi, np.ones((n, more))])
    z = np.hstack([z, np.full((n, more), 0.5)])
    return Boxes(low, high, np.full(n, -np.inf), z, high - low)


@checked(100)
@given(SEEDS, PARTS)
@example(0, named("hinge", "identity", "hinge"))
@example(1, named("square", "trimmed", "Huber"))
@example(125, named("square", "trimmed", penalty="tiny l2", aggregate="sum"))
def test_no_bound_is_above_the_risk_on_its_box(seed: int, parts: dict[str, Any]) -> None:
    rng = np.random.default_rng(seed)
    risk = random_risk(rng, **parts)
    lo, hi = random_boxes(rng, risk, 3)
    at = [points(rng, *box, 16) for box in zip(lo, hi, strict=True)]
    known = [values(risk, x) for x in at]
    target = rng.choice(np.concatenate([f for f, _ in known]))
    spaces: list[RiskSpace] = [RiskSpace(risk, (lo[0], hi[0]))]
    if StateSpace.takes(spaces[0].parts):
        spaces.append(StateSpace(risk, (lo[0], hi[0])))
    for space in spaces:
        boxes = on_boxes(space, lo, hi, np.array([x[0] for x in at]))
        together = rng.random() < 0.5
        for lot in [[0, 1, 2]] if together else [[0], [1], [2]]:
            with np.errstate(all="ignore"):
                found = space.bound(boxes.take(np.array(lot)), target)
            for place, k in enumerate(lot):
                f, size = known[k]
                rounding = ROUNDING * size
                assert np.all(found.lower[place] <= f + rounding)


@checked(60)
@given(SEEDS, PARTS)
def test_the_value_that_is_told_is_the_risks(seed: int, parts: dict[str, Any]) -> None:
    """At the point that is told with it: boxes of usual sizes, where little is rounded off."""
    rng = np.random.default_rng(seed)
    if parts["base"] == "a user's smooth one":
        return
    risk = random_risk(rng, **parts)
    x = rng.normal(size=(3, risk.rows.shape[1]))
    space = RiskSpace(risk, (x[0], x[0]))
    found = space.bound(on_boxes(space, x - 0.5, x + 0.5, x), rng.choice(values(risk, x)[0]))
    f, size = values(risk, found.z)
    assert np.allclose(found.value, f, rtol=0, atol=1e-8 * np.max(size))


@checked(80)
@given(SEEDS, PARTS)
def test_decided_samples_leave_the_risk_as_it_is(seed: int, parts: dict[str, Any]) -> None:
    """A boxed risk without penalty, computed from its parts by the formula of its docstring."""
    rng = np.random.default_rng(seed)
    risk = random_risk(rng, **parts | {"penalty": "none"})
    lo, hi = random_boxes(rng, risk, 1)
    near = decided(boxed(risk), lo[0], hi[0])
    for x in points(rng, lo[0], hi[0], 12):
        away = x - near.origin
        with np.errstate(all="ignore"):
            u = near.margins(x[None])
            each = near.transform(near.combined(near.weights * near.base(u)))[0]
            total = near.total(each) + near.constant + near.linear @ away
            total += 0.5 * away @ near.quadratic @ away
            if near.subtracted is not None:
                total -= near.subtracted_total(near.subtracted(u[0]))
            f, size = values(risk, x[None])
        rounding = near.rounding.sum() + space_rounding(risk, x) + 1e-12 * size[0]
        assert np.isinf(f[0]) or abs(total - f[0]) <= rounding


def space_rounding(risk: dc.Risk, x: Array) -> float:
    """What rounding of margins may do to the risk at a point."""
    return 10 * RiskSpace(risk, (x, x)).at(x).rounding


@checked(30)
@given(SEEDS, PARTS)
def test_no_point_outside_of_the_first_box_is_better(seed: int, parts: dict[str, Any]) -> None:
    """Than the incumbent, or than the point of the box that is nearest to it."""
    rng = np.random.default_rng(seed)
    risk = random_risk(rng, **parts)
    space = RiskSpace(risk)
    best = space.at(rng.choice([0.01, 1.0, 100.0]) * rng.normal(size=risk.rows.shape[1]))
    try:
        root = space.root(best)
    except (dc.NotBoundable, ValueError):
        return
    lo, hi, eta = root.lo[0], root.hi[0], space._inward(best.x)
    side, n = np.maximum(hi - lo, 1e-3), 40
    ends = rng.choice([1.0001, 1.1, 3.0, 100.0], (n, eta.size))
    away = side * rng.standard_cauchy((n, eta.size)) * (rng.random((n, eta.size)) < 0.6)
    at = np.vstack([eta + away, ends * np.where(rng.random((n, eta.size)) < 0.5, lo, hi)])
    f, size = values(risk, np.array([space._outward(x) for x in at]))
    near, _ = values(risk, np.array([space._outward(np.clip(x, lo, hi)) for x in at]))
    least = np.minimum(near, best.value)
    assert np.all(f >= least - 1e-9 * (size + best.scale))
    assert np.all(f >= root.lower[0] - 1e-9 * size)


# ----------------------------------------------------------------------------------------------
# the search


@pytest.mark.parametrize("seed", range(24))
def test_no_bound_is_above_a_grid(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    names = [str(rng.choice(list(kinds))) for kinds in KINDS]
    aggregate = AGGREGATES[seed % 3] if names[2] == "nothing" else None
    risk = random_risk(rng, names[0], names[1], names[2], names[3], aggregate)
    if seed % 2:
        monkeypatch.setattr("dcprog.bounds.state_space.FEW_ENTRIES", 0)
    lo, hi = random_boxes(rng, risk, 1)
    box = None if rng.random() < 0.3 else (lo[0], hi[0])
    start = rng.normal(size=risk.rows.shape[1])
    try:
        bound = dc.lower_bound(risk, start=start, box=box, time_limit=0.2)
    except dc.NotBoundable:
        return
    assert bound.x is not None
    around = bound.x + 10.0 ** rng.uniform(-3, 1, (150, 1)) * rng.normal(size=(150, start.size))
    at = around if box is None else np.vstack([np.clip(around, *box), points(rng, *box, 150)])
    f, size = values(risk, at)
    assert np.all(f >= bound.value - ROUNDING * size - 2 * RiskSpace(risk).at(bound.x).rounding)
    if bound.status == "proved":
        assert bound.gap <= 1e-3 * (1 + 1e-6)
