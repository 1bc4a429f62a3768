"""Every loss against a slow formula of its own, as a part of others, and as an estimator."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcprog.checks.declarations import check_loss
from dcprog.losses import (
    ConvexLoss,
    Loss,
    absolute,
    andrews,
    cap,
    compose,
    epsilon_insensitive,
    erf,
    excess,
    hinge,
    huber,
    huberize,
    log,
    log_ratio,
    logistic,
    pade_hinge,
    pinball,
    power,
    rational,
    rescale,
    sigmoid_hinge,
    square,
    squared,
    squared_hinge,
    trim,
    truncate,
    tukey,
    welsch,
)
from dcprog.majorants.majorant import majorize
from dcprog.transforms import cap_at, concave, rescale_by

Slow = Callable[[float], float]
Made = Callable[[Loss], Loss]


def slow_pade(t: float, eta: float) -> float:
    if abs(t) >= 1 / eta:
        return max(t, 0.0)
    gap = (1 - eta * abs(t)) ** 5 / (2 * eta * (5 + 10 * (eta * t) ** 2 + (eta * t) ** 4))
    return max(t, 0.0) + gap


def slow_huber(u: float, d: float) -> float:
    return u * u / 2 if abs(u) <= d else d * abs(u) - d * d / 2


# A new convex loss is one line here.
BASES: list[tuple[ConvexLoss, Slow]] = [
    (square(), lambda u: u**2),
    (square(at=1.0), lambda u: (1 - u) ** 2),
    (absolute(), abs),
    (absolute(at=1.0), lambda u: abs(1 - u)),
    (huber(0.7), lambda u: slow_huber(u, 0.7)),
    (epsilon_insensitive(0.3), lambda u: max(abs(u) - 0.3, 0.0)),
    (epsilon_insensitive(0.3, at=1.0), lambda u: max(abs(1 - u) - 0.3, 0.0)),
    (pinball(0.3), lambda u: 0.3 * u if u >= 0 else -0.7 * u),
    (logistic(), lambda u: math.log1p(math.exp(-u)) if u > 0 else -u + math.log1p(math.exp(u))),
    (hinge(), lambda u: max(1 - u, 0.0)),
    (hinge(at=-0.5), lambda u: max(-0.5 - u, 0.0)),
    (squared_hinge(), lambda u: max(1 - u, 0.0) ** 2),
    (squared_hinge(at=2.0), lambda u: max(2 - u, 0.0) ** 2),
    (pade_hinge(2.0), lambda u: slow_pade(1 - u, 2.0)),
    (pade_hinge(10.0, at=0.5), lambda u: slow_pade(0.5 - u, 10.0)),
    (sigmoid_hinge(2.0), lambda u: math.log(1 + math.exp(2 * (1 - u))) / 2),
    (sigmoid_hinge(5.0, at=0.5), lambda u: math.log(1 + math.exp(5 * (0.5 - u))) / 5),
    (squared(sigmoid_hinge(2.0)), lambda u: (math.log(1 + math.exp(2 * (1 - u))) / 2) ** 2),
    (squared(pade_hinge(0.5)), lambda u: slow_pade(1 - u, 0.5) ** 2),
    (squared(absolute()), lambda u: u**2),
]


def slow_rational(t: float, s: float, delta: float) -> float:
    def f(x: float) -> float:
        return (x / (1 + x)) ** s / s

    if t >= delta:
        return f(t)
    slope = (delta / (1 + delta)) ** (s - 1) / (1 + delta) ** 2
    return f(delta) + slope * (t - delta)


def slow_erf(t: float, s: float, delta: float) -> float:
    if t >= delta:
        return math.erf(math.sqrt(t / s))
    slope = math.exp(-delta / s) / math.sqrt(math.pi * s * delta)
    return math.erf(math.sqrt(delta / s)) + slope * (t - delta)


def slow_huberize(t: float, s: float) -> float:
    return t if t <= s * s / 2 else s * math.sqrt(2 * t) - s * s / 2


def slow_andrews(t: float, s: float) -> float:
    inside = t <= s**2 * math.pi**2 / 2
    return s**2 * (1 - math.cos(math.sqrt(2 * t) / s)) if inside else 2 * s**2


def slow_tukey(t: float, s: float) -> float:
    return s**2 / 6 * (1 - (1 - 2 * t / s**2) ** 3) if t <= s**2 / 2 else s**2 / 6


def slow_log_ratio(t: float, s: float) -> float:
    return math.log((1 + t) / (1 + t * math.exp(-s))) / (1 - math.exp(-s))


# A new concave function of a loss is one line here.
COMBINATORS: dict[str, tuple[Made, Slow]] = {
    "cap": (lambda f: cap(f, 1.3), lambda t: min(t, 1.3)),
    "rescale": (
        lambda f: rescale(f, 0.7),
        lambda t: (1 - math.exp(-0.7 * t)) / (1 - math.exp(-0.7)),
    ),
    "power": (lambda f: power(f, 0.5), math.sqrt),
    "power, smoothed": (lambda f: power(f, 0.3, 0.01), lambda t: (t + 0.01) ** 0.3),
    "log": (lambda f: log(f, 2.0), lambda t: 2 * math.log(1 + t / 2)),
    "huberize": (lambda f: huberize(f, 1.2), lambda t: slow_huberize(t, 1.2)),
    "andrews": (lambda f: andrews(f, 0.8), lambda t: slow_andrews(t, 0.8)),
    "tukey": (lambda f: tukey(f, 2.5), lambda t: slow_tukey(t, 2.5)),
    "welsch": (lambda f: welsch(f, 1.5), lambda t: 1.5**2 * (1 - math.exp(-t / 1.5**2))),
    "log_ratio": (lambda f: log_ratio(f, 1.1), lambda t: slow_log_ratio(t, 1.1)),
    "rational": (lambda f: rational(f, 0.5, 0.1), lambda t: slow_rational(t, 0.5, 0.1)),
    "rational, s > 1": (lambda f: rational(f, 2.0, 0.5), lambda t: slow_rational(t, 2.0, 0.5)),
    "erf": (lambda f: erf(f, 1.4, 0.05), lambda t: slow_erf(t, 1.4, 0.05)),
}
SATURATING = {"cap", "rescale", "andrews", "tukey", "welsch", "log_ratio", "erf"} | {
    "rational",
    "rational, s > 1",
}


def share(t: Any) -> Any:
    return t / (1 + t)


def share_slope(t: Any) -> Any:
    return 1 / (1 + t) ** 2


SHARE = concave(value=share, slope=share_slope)


SCALE = 1 - math.exp(-1)


def _h(at: float) -> Slow:
    return lambda u: max(at - u, 0.0)


# Losses of losses, each with what it should be.
NESTED: list[tuple[Loss, Slow]] = [
    (truncate(hinge(), 0.0), lambda u: min(max(1 - u, 0.0), 1.0)),
    (truncate(squared_hinge(), 0.0), lambda u: _h(1)(u) ** 2 - _h(0)(u) ** 2),
    (truncate(pade_hinge(2.0), 0.0), lambda u: slow_pade(1 - u, 2.0) - slow_pade(-u, 2.0)),
    (
        truncate(sigmoid_hinge(2.0), -0.5),
        lambda u: math.log((1 + math.exp(2 - 2 * u)) / (1 + math.exp(-1 - 2 * u))) / 2,
    ),
    (truncate(absolute(), 1.5), lambda u: min(abs(u), 1.5)),
    (truncate(epsilon_insensitive(0.5), 2.0), lambda u: min(max(abs(u) - 0.5, 0.0), 1.5)),
    (compose(SHARE, square()), lambda u: u * u / (1 + u * u)),
    (compose(rescale_by(1.0), hinge()), lambda u: -math.expm1(-_h(1)(u)) / SCALE),
    (
        cap(rescale(hinge(), 1.0), 0.5),
        lambda u: min((1 - math.exp(-_h(1)(u))) / 0.632120558829, 0.5),
    ),
    (cap(cap(hinge(), 2.0), 1.0), lambda u: min(_h(1)(u), 1.0)),
    (log(power(hinge(), 0.5), 1.0), lambda u: math.log(1 + math.sqrt(_h(1)(u)))),
    (cap(truncate(squared_hinge(), 0.0), 0.7), lambda u: min(_h(1)(u) ** 2 - _h(0)(u) ** 2, 0.7)),
    (log(truncate(hinge(), 0.0), 1.0), lambda u: math.log(1 + min(_h(1)(u), 1.0))),
    (power(truncate(hinge(), 0.0), 0.5, 0.1), lambda u: math.sqrt(min(_h(1)(u), 1.0) + 0.1)),
    (
        cap(cap(hinge(), 1.0) - 0.2 * square(), 0.5),
        lambda u: min(min(_h(1)(u), 1) - u * u / 5, 0.5),
    ),
    (2 * cap(hinge(), 1.0), lambda u: 2 * min(_h(1)(u), 1.0)),
    (np.float64(0.5) * truncate(hinge(), 0.0), lambda u: min(_h(1)(u), 1.0) / 2),
    (hinge() * 3, lambda u: 3 * _h(1)(u)),
    (hinge() + absolute(), lambda u: _h(1)(u) + abs(u)),
    (cap(hinge() + 2 * absolute(), 3.0), lambda u: min(_h(1)(u) + 2 * abs(u), 3.0)),
    (hinge() + cap(hinge(), 1.0), lambda u: _h(1)(u) + min(_h(1)(u), 1.0)),
    (cap(hinge(), 1.0) + cap(absolute(), 1.0), lambda u: min(_h(1)(u), 1) + min(abs(u), 1)),
    (
        truncate(hinge(), 0.0) + truncate(hinge(), -1.0),
        lambda u: min(_h(1)(u), 1.0) + min(_h(1)(u), 2.0),
    ),
    (hinge() - hinge(0.0), lambda u: min(_h(1)(u), 1.0)),
    (hinge() - 0.5 * hinge(0.0) - square(), lambda u: _h(1)(u) - _h(0)(u) / 2 - u * u),
    (
        log(cap(hinge(), 1.0) + cap(absolute(), 1.0), 1.0),
        lambda u: math.log(1 + min(_h(1)(u), 1) + min(abs(u), 1)),
    ),
    (huberize(0.5 * square(), 1.0), lambda u: slow_huber(u, 1.0)),
    (sum([hinge(), hinge(), square()], 0), lambda u: 2 * _h(1)(u) + u * u),  # type: ignore[list-item]
]

TRIMMED: list[Loss] = [
    trim(hinge(), 0.3),
    trim(square(), 0.0),
    trim(cap(hinge(), 2.0), 0.2),
    trim(power(absolute(), 0.5), 0.2),
    trim(truncate(hinge(), 0.0), 0.25),
    trim(hinge() - absolute(), 0.25),
    2 * trim(hinge(), 0.1),
    trim(hinge(), 0.1) + hinge(),
    trim(hinge(), 0.1) + square(),
    trim(hinge(), 0.1) - 0.1 * absolute(),
]
GRID = np.linspace(-4, 4, 161)


def _close(got: Any, expected: Any, name: str = "") -> None:
    np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-11, err_msg=name)


# ---- values ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("base", "slow_base"), BASES, ids=[repr(loss) for loss, _ in BASES])
def test_base_and_every_function_of_it_are_their_formulas(
    base: ConvexLoss, slow_base: Slow
) -> None:
    slow_values = [slow_base(u) for u in GRID]
    _close(base(GRID), slow_values, repr(base))
    for name, (make, slow) in COMBINATORS.items():
        loss = make(base)
        _close(loss(GRID), [slow(t) for t in slow_values], repr(loss))
        assert loss.base is base, loss
        assert loss.subtracted is None, loss
        assert np.isfinite(loss.bound) == (name in SATURATING), loss


def test_nested_loss_is_its_formula() -> None:
    for loss, slow in NESTED:
        _close(loss(GRID), [slow(u) for u in GRID], repr(loss))


@pytest.mark.parametrize("base", [base for base, _ in BASES], ids=repr)
def test_base_and_every_function_of_it_pass_the_checks(base: ConvexLoss) -> None:
    for loss in [base, *(make(base) for make, _ in COMBINATORS.values())]:
        check_loss(loss)  # its errors name the loss


def test_nested_and_trimmed_losses_pass_the_checks() -> None:
    for loss in [*(loss for loss, _ in NESTED), *TRIMMED]:
        check_loss(loss)


def test_trimmed_loss_is_the_sum_of_the_smallest() -> None:
    u = np.random.default_rng(0).normal(size=41)
    for fraction in (0.0, 0.1, 0.29, 0.9):
        kept = np.sort(hinge()(u))[: 41 - math.floor(fraction * 41)]
        assert math.isclose(trim(hinge(), fraction)(u).sum(), kept.sum(), abs_tol=1e-12)
        assert np.sum(trim(hinge(), fraction).surrogate(u)[0]) == kept.size
    assert trim(hinge(), 0.29).transform.dropped(100) == 29


def test_smooth_hinges_lie_as_far_above_the_hinge_as_published() -> None:
    t = np.linspace(-2, 2, 401)
    gap = pade_hinge(4.0)(1 - t) - np.maximum(t, 0)
    assert gap.min() >= 0
    assert math.isclose(gap.max(), 0.1 / 4)
    assert np.all(gap[np.abs(t) >= 0.25] < 1e-15)
    assert math.isclose(pade_hinge(4.0).curvature(1.0).item(), 1.6 * 4)
    gap = sigmoid_hinge(4.0)(1 - t) - np.maximum(t, 0)
    assert math.isclose(gap.max(), math.log(2) / 4)


def test_a_square_of_what_may_be_negative_is_refused() -> None:
    with pytest.raises(ValueError, match="may be negative"):
        squared(excess(cap_at(1.0), 1.0, hinge()))


@pytest.mark.parametrize("make", [pade_hinge, sigmoid_hinge])
@pytest.mark.parametrize("eta", [1e-300, 1e-8, 1.0, 1e8, 1e300])
def test_smooth_hinges_are_finite_at_every_sharpness(
    make: type[pade_hinge | sigmoid_hinge], eta: float
) -> None:
    loss = make(eta)
    ends = [-1e300, -1e8, 0.0, 1.0, 2.0, 1e8, 1e300]
    near = 1 + np.array([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0]) / eta
    u = np.array([*ends, *near])
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        value, slope, curvature = loss(u), loss.slope(u), loss.curvature(u)
    hinged = np.maximum(1 - u, 0)
    gap = {pade_hinge: 0.1, sigmoid_hinge: math.log(2)}[make] / eta
    assert np.all(value >= hinged)
    assert np.all(value - hinged <= gap * (1 + 1e-12) + 1e-15 * hinged)
    assert np.all((slope >= -1) & (slope <= 0))
    assert np.all((curvature >= 0) & (curvature <= 1.6 * eta * (1 + 1e-12)))


@pytest.mark.parametrize("base", [pade_hinge(100.0), squared(sigmoid_hinge(100.0))], ids=repr)
def test_a_sharp_loss_names_softer_ones(base: ConvexLoss) -> None:
    softer = base.softer
    assert softer is not None
    assert "eta=12.5" in repr(softer)
    assert softer.softer is None
    assert hinge().softer is None


def test_bounds_are_the_suprema() -> None:
    for eta, bound in ((0.2, 5.52), (0.5, 2.54), (1, 1.58), (2, 1.16), (3, 1.05)):
        assert round(rescale(hinge(), eta).bound, 2) == bound
    assert truncate(hinge(), -0.5).bound == 1.5
    assert truncate(squared_hinge(), 0.0).bound == np.inf
    assert truncate(pade_hinge(3.0), 0.25).bound == 0.75
    assert truncate(absolute(), 2.0).bound == 2
    assert (hinge() - square()).bound == 1.25
    assert (hinge() + absolute()).lower == 1
    assert log_ratio(hinge(), 1.0).bound == pytest.approx(1 / (1 - math.exp(-1)))
    assert (cap(hinge(), 1.0) + cap(square(), 2.0)).bound == 3


def test_extreme_margins_overflow_nowhere() -> None:
    u = np.array([-1e6, 1e6])
    with np.errstate(over="raise", invalid="raise"):
        for loss in (logistic(), sigmoid_hinge(50.0), pade_hinge(50.0), andrews(square(), 1.0)):
            assert np.all(np.isfinite(loss(u)))
            assert np.all(np.isfinite(loss.slope(u)))


# ---- ties --------------------------------------------------------------------------------------


def test_a_sample_at_the_cap_keeps_its_weight() -> None:
    assert cap(hinge(), 1.0).surrogate(0.0)[0] == 1
    assert cap(hinge(), 1.0).surrogate(-1e-9)[0] == 0


def test_a_truncated_loss_has_no_tilt_at_its_kink() -> None:
    assert truncate(hinge(), 0.0).surrogate(0.0)[1] == 0
    assert truncate(hinge(), 0.0).surrogate(-1e-9)[1] == 1
    assert cap(truncate(hinge(), 0.0), 5.0).surrogate(0.0)[1] == 0
    assert truncate(absolute(), 1.0).surrogate(1.0)[1] == 0


def test_infinite_slope_is_cut_off_at_the_edge() -> None:
    loss = power(hinge(), 0.5)
    weight, _ = loss.surrogate([1.0, 2.0])
    np.testing.assert_allclose(weight, 0.5e5)
    assert loss.surrogate([1.0], edge=0.25)[0] == 1
    assert loss.transform.steepest == np.inf


# ---- random points and parameters --------------------------------------------------------------

numbers = st.floats(-5, 5)
positive = st.floats(0.05, 5)


@settings(max_examples=300, deadline=None)
@given(data=st.data(), u=numbers, v=numbers, a=positive, b=positive)
def test_majorant_is_above_and_touches(
    data: st.DataObject, u: float, v: float, a: float, b: float
) -> None:
    base = data.draw(st.sampled_from(_random_bases(a)))
    loss = data.draw(st.sampled_from(_random_losses(base, b)))
    weight, tilt = loss.surrogate(u)
    rise = weight * (loss.base(v) - loss.base(u)) + tilt * (v - u)
    assert loss(u) + rise >= loss(v) - 1e-9 * (1 + abs(loss(v)) + abs(rise))


def _random_bases(a: float) -> list[ConvexLoss]:
    quantile = a / (1 + a)
    margins = [hinge(a), squared_hinge(a), pade_hinge(a), sigmoid_hinge(a), logistic()]
    return [*margins, square(a), absolute(a), huber(a), pinball(quantile), epsilon_insensitive(a)]


def _random_losses(base: ConvexLoss, b: float) -> list[Loss]:
    return [
        cap(base, b),
        rescale(base, b),
        power(base, min(b, 1.0), 0.1),
        log(base, b),
        huberize(base, b),
        andrews(base, b),
        tukey(base, b),
        welsch(base, b),
        log_ratio(base, b),
        rational(base, b, b),
        erf(base, b, b / 10),
        cap(log(base, b), b),
        b * base - hinge(-b),
        rescale(cap(base, b) + absolute(), b) if not isinstance(base, absolute) else base,
    ]


@settings(max_examples=100, deadline=None)
@given(
    u=st.lists(numbers, min_size=1, max_size=12),
    v=st.lists(numbers, min_size=12, max_size=12),
    fraction=st.floats(0, 0.99),
    c=positive,
)
def test_trimmed_majorant_is_above_in_the_sum(
    u: list[float], v: list[float], fraction: float, c: float
) -> None:
    here, there = np.array(u), np.array(v[: len(u)])
    for loss in (trim(cap(hinge(), c), fraction), trim(truncate(hinge(), -c), fraction)):
        weight, tilt = loss.surrogate(here)
        change = loss.base(there) - loss.base(here)
        rise = weight * change + tilt * (there - here)
        assert np.sum(loss(here) + rise) >= np.sum(loss(there)) - 1e-9


# ---- cvxpy -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMBINATORS)
@pytest.mark.parametrize("base", [hinge(), square(), pinball(0.4)], ids=repr)
def test_expression_has_a_majorant_of_its_own(base: ConvexLoss, name: str) -> None:
    loss = COMBINATORS[name][0](base)
    x = cp.Variable(6)
    if not loss.has_expression:
        with pytest.raises(ValueError, match=r"no cvxpy expression.*structured path"):
            loss.expression(x)
        return
    rng = np.random.default_rng(0)
    majorant = majorize(loss.expression(x))
    x.value = rng.normal(size=6)
    value = loss(x.value)
    majorant.tighten()
    np.testing.assert_allclose(majorant.value, value, atol=1e-5 + 1e-9)
    for _ in range(20):
        x.value = 2 * rng.normal(size=6)
        assert np.all(majorant.value >= loss(x.value) - 1e-9)


def test_a_loss_without_atoms_says_which_solver_takes_it() -> None:
    with pytest.raises(ValueError, match="Newton"):
        pade_hinge(2.0).expression(cp.Variable())
    with pytest.raises(ValueError, match="Newton"):
        cap(pade_hinge(2.0), 1.0).expression(cp.Variable())
    assert not cap(pade_hinge(2.0), 1.0).has_expression
    assert not truncate(pade_hinge(2.0), 0.0).has_expression


# ---- pieces ------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [b for b, _ in BASES if b.pieces is not None], ids=repr)
def test_pieces_are_the_loss(loss: ConvexLoss) -> None:
    assert loss.pieces is not None
    _close(loss.pieces(GRID), loss(GRID))
    _close(loss.pieces(np.array(loss.pieces.knots)), loss(np.array(loss.pieces.knots)))


def test_pieces_of_sums_and_differences() -> None:
    for loss in (2 * hinge() + huber(0.5), hinge() - 3 * squared_hinge(0.25), square() + square()):
        assert loss.pieces is not None
        _close(loss.pieces(GRID), loss(GRID))
        low, high = loss.pieces.extremes()
        assert low <= loss(GRID).min()
        assert high >= loss(GRID).max()
    assert cap(hinge(), 1.0).pieces is None
    assert (hinge() - logistic()).pieces is None


# ---- a user's own ------------------------------------------------------------------------------


def test_a_loss_is_declared_by_its_parts() -> None:
    class ramp(Loss):
        base = hinge()
        subtracted = hinge(0.0)

    check_loss(ramp())
    assert ramp().bound == 1
    assert np.array_equal(ramp()(GRID), truncate(hinge(), 0.0)(GRID))


def test_a_convex_loss_without_curvature_says_so() -> None:
    class quartic(ConvexLoss):
        def __call__(self, u: Any) -> Any:
            return np.asarray(u, dtype=float) ** 4

        def slope(self, u: Any) -> Any:
            return 4 * np.asarray(u, dtype=float) ** 3

        def expression(self, u: cp.Expression) -> cp.Expression:
            return cp.power(u, 4)

    check_loss(cap(quartic() + hinge(), 2.0))
    with pytest.raises(NotImplementedError, match="curvature"):
        quartic().curvature(1.0)
