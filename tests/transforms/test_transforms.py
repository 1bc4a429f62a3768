"""Concave transforms: formula, concavity, algebra, and the check of a user's own."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from dcprog.checks.declarations import check_transform
from dcprog.foundation.errors import NotMajorizable
from dcprog.transforms import (
    Transform,
    andrews_by,
    cap_at,
    cap_largest,
    chain,
    chain_of,
    concave,
    erf_by,
    extended_from,
    huberize_by,
    identity,
    log_of,
    log_ratio_by,
    power_of,
    rational_by,
    rescale_by,
    scale_by,
    sum_of,
    trim_of,
    tukey_by,
    welsch_by,
)
from dcprog.transforms.from_functions import seen_limit

T = np.concatenate([[0.0], np.geomspace(1e-4, 50, 60), [0.5, 1.0, 2.0]])


def ratio(t: Any) -> Any:
    return t / (1 + t)


def ratio_slope(t: Any) -> Any:
    return 1 / (1 + t) ** 2


# A new transform is one line here: the formulas themselves are tested with the losses.
ALL: list[Transform] = [
    identity(),
    scale_by(2.5),
    cap_at(1.5),
    cap_at(np.inf),
    cap_at(1.2, power_of(0.75, 1e-8)),
    power_of(0.5),
    power_of(0.3, 0.1),
    power_of(1.0),
    rescale_by(0.01),
    rescale_by(3.0),
    log_of(0.5),
    huberize_by(1.0),
    andrews_by(1.0),
    tukey_by(2.0),
    welsch_by(1.5),
    log_ratio_by(2.0),
    rational_by(0.5, 0.01),
    rational_by(1.0, 0.0),
    rational_by(3.0, 1.0),
    erf_by(1.0, 0.01),
    concave(value=ratio, slope=ratio_slope),
    sum_of(cap_at(1.0), log_of(1.0)),
    chain_of(cap_at(1.0), log_of(1.0)),
    chain_of(power_of(0.5), rescale_by(1.0)),
    chain_of(rescale_by(1.0), power_of(0.5)),
    extended_from(power_of(0.5), 0.25),
    trim_of(0.3),
    chain_of(trim_of(0.3), cap_at(1.0)),
    sum_of(trim_of(0.3), identity()),
]
SINGLE = [t for t in ALL if not t.is_joint]


@pytest.mark.parametrize("transform", ALL, ids=repr)
def test_transform_and_its_graduated_ones_are_concave_and_nondecreasing(
    transform: Transform,
) -> None:
    check_transform(transform, T)
    for s in (1.5, 8.0):
        check_transform(transform.graduated(s), T)
    assert transform.graduated(1.0).__class__ is transform.__class__
    np.testing.assert_array_equal(transform.graduated(1.0)(T), transform(T))


@pytest.mark.parametrize("transform", SINGLE, ids=repr)
def test_the_graduated_one_is_the_perspective(transform: Transform) -> None:
    for s in (1.5, 8.0, 1e7):
        check_perspective(transform, s)


def check_perspective(transform: Transform, s: float) -> None:
    graduated = transform.graduated(s)
    np.testing.assert_allclose(graduated(T), s * transform(T / s), rtol=1e-12)
    np.testing.assert_allclose(graduated.slope(T), transform.slope(T / s), rtol=1e-12)
    assert np.isclose(graduated.limit, s * transform.limit) or transform.is_linear
    if np.isfinite(transform.steepest):
        assert graduated.steepest == transform.steepest
        risen = graduated(T) - graduated(np.zeros(()))  # towards the tangent at 0, from below
        assert np.all(risen >= transform(T) - transform(np.zeros(())) - 1e-7 * s)
        if np.isclose(np.min(graduated.slope(T)), transform.steepest, rtol=1e-2):
            np.testing.assert_allclose(risen, transform.steepest * T, rtol=1e-2, atol=1e-7)


def test_graduated_shares_come_in_from_small_ones() -> None:
    t = np.arange(10.0)
    assert np.count_nonzero(trim_of(0.4).graduated(4.0)(t) < t) == 1
    assert cap_largest(0.4).graduated(4.0)(t).max() == 8
    trimmed_cap = chain_of(trim_of(0.4), cap_at(3.0)).graduated(2.0)
    np.testing.assert_allclose(trimmed_cap(t).sum(), np.sort(np.minimum(t, 6.0))[:8].sum())


def test_trimming_by_nothing_is_linear() -> None:
    """The risk is convex then, and a run ends at its bound without a search for lower points."""
    assert trim_of(0.0).is_linear
    assert not trim_of(0.1).is_linear


@pytest.mark.parametrize("transform", SINGLE, ids=repr)
def test_slope_is_the_derivative(transform: Transform) -> None:
    t = T[1:]
    step = 1e-6 * t
    left, right = transform(t) - transform(t - step), transform(t + step) - transform(t)
    smooth = np.abs(right - left) <= 1e-4 * step
    got = transform.slope(t)[smooth]
    np.testing.assert_allclose(got, (left + right)[smooth] / (2 * step)[smooth], atol=1e-4)
    assert np.all(np.isfinite(transform.extended().slope(np.append(t, 0.0))))


def test_transforms_reach_infinity_without_a_warning() -> None:
    for transform in SINGLE:
        with np.errstate(all="raise", under="ignore", divide="ignore"):
            top = float(transform(np.inf))
            assert top >= float(transform(1e6)) * (1 - 1e-12), transform


@pytest.mark.parametrize("transform", ALL, ids=repr)
def test_expression_agrees(transform: Transform) -> None:
    t = cp.Variable(T.size)
    t.value = T
    if not transform.has_expression:
        with pytest.raises(ValueError, match=r"expression"):
            transform.expression(t)
        return
    got, value = transform.expression(t).value, transform(T)
    assert np.sum(got) == pytest.approx(np.sum(value))
    if not transform.is_joint:
        np.testing.assert_allclose(got, value, atol=1e-9)


def test_transforms_are_estimators() -> None:
    for transform in ALL:
        for copied in (clone(transform), pickle.loads(pickle.dumps(transform))):
            assert repr(copied) == repr(transform)
            np.testing.assert_array_equal(copied(T), transform(T), err_msg=repr(transform))


def test_shapes_are_kept() -> None:
    for transform in SINGLE:
        for shape in ((), (3,), (2, 3)):
            assert np.shape(transform(np.ones(shape))) == shape, transform
            assert np.shape(transform.slope(np.ones(shape))) == shape, transform


def test_tiny_parameters_lose_no_digits() -> None:
    np.testing.assert_allclose(rescale_by(1e-9)(T), T, rtol=1e-7)
    np.testing.assert_allclose(log_ratio_by(1e-12)(T), ratio(T), rtol=1e-9)
    np.testing.assert_allclose(andrews_by(1e6)(T), T, rtol=1e-9)
    np.testing.assert_allclose(tukey_by(1e6)(T), T, rtol=1e-9)


# ---- limits ------------------------------------------------------------------------------------


def test_the_limit_is_what_values_far_out_approach() -> None:
    for transform in SINGLE:
        seen = seen_limit(transform)
        assert transform.limit == seen or transform.limit == pytest.approx(seen, rel=1e-12)
        assert transform.up_to(np.inf) == transform.limit
        assert transform.up_to(2.0) == transform(2.0)


def test_limits_of_sums_and_chains() -> None:
    assert sum_of(cap_at(2.0), welsch_by(2.0)).limit == 6
    assert sum_of(cap_at(2.0), log_of(1.0)).limit == np.inf
    assert chain(log_of(1.0), cap_at(math.e - 1)).limit == pytest.approx(1)
    assert chain(cap_at(9.0), log_of(1.0)).limit == 9
    assert cap_at(9.0, welsch_by(2.0)).limit == 4
    assert cap_at([1.0, 3.0]).limit == 3
    assert cap_largest(0.1).limit == np.inf
    assert cap_largest(0.1, rescale_by(1.0)).limit == rescale_by(1.0).limit
    assert trim_of(0.1).limit == np.inf
    assert extended_from(erf_by(1.0, 1e-3)).limit == 1


@pytest.mark.parametrize(
    ("value", "limit"),
    [
        (ratio, 1.0),
        (lambda t: 1 - np.exp(-t), 1.0),
        (lambda t: np.sqrt(t**2 + t) - t, np.inf),  # ½, but digits cancel
        (lambda t: t - np.log(np.cosh(t)), math.log(2)),
        (np.sqrt, np.inf),
        (lambda t: np.log1p(np.log1p(t)), np.inf),
        (lambda t: t + ratio(t), np.inf),
        (lambda t: np.nan * t, np.inf),
    ],
)
def test_a_limit_is_seen_far_out(value: Any, limit: float) -> None:
    assert seen_limit(value) == pytest.approx(limit, rel=1e-2)


def test_log_ratio_keeps_its_digits_far_out() -> None:
    t = np.geomspace(1e-12, 1e15, 28)
    slow = [math.log1p(x) - math.log1p(x * math.exp(-50)) for x in t]
    np.testing.assert_allclose(log_ratio_by(50.0)(t), slow, rtol=1e-13)


# ---- infinite slopes ---------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(p=st.floats(0.1, 0.9), edge=st.floats(1e-8, 1), s=st.floats(0, 3), t=st.floats(0, 3))
def test_extension_is_above_and_touched_by_its_tangents(
    p: float, edge: float, s: float, t: float
) -> None:
    transform = power_of(p)
    extended = transform.extended(edge)
    assert extended(t) >= transform(t) - 1e-12
    assert extended(max(t, edge)) == transform(max(t, edge))
    assert extended(t) <= extended(s) + extended.slope(s) * (t - s) + 1e-9


def test_finite_slopes_need_no_extension() -> None:
    for transform in (identity(), cap_at(1.0), power_of(0.5, 0.1), chain(cap_at(1), log_of(1.0))):
        assert transform.extended() is transform
    assert isinstance(chain(cap_at(1.0), power_of(0.5)).extended(), extended_from)
    assert isinstance(cap_at([1.0, 2.0], power_of(0.5)).extended(), extended_from)


# ---- algebra -----------------------------------------------------------------------------------


def test_chains_are_written_simply() -> None:
    outer = cap_at(1.0)
    assert chain(outer, identity()) is outer
    assert chain(identity(), outer) is outer
    assert repr(chain(scale_by(2.0), scale_by(3.0))) == "scale_by(factor=6.0)"
    assert chain(scale_by(2.0), identity()).is_linear


def test_chain_of_a_cap_is_the_cap_with_an_inner_transform() -> None:
    one, other = chain(cap_at(2.0), power_of(0.5)), cap_at(2.0, power_of(0.5))
    np.testing.assert_array_equal(one(T), other(T))
    np.testing.assert_array_equal(one.slope(T), other.slope(T))


def test_adaptive_cap_in_a_chain_is_fixed_by_the_losses() -> None:
    adaptive = chain_of(cap_largest(0.2), log_of(1.0))
    assert adaptive.rounds == 5
    fixed = adaptive.fixed(np.arange(10.0))
    np.testing.assert_allclose(fixed(np.arange(10.0)).max(), math.log(8))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: chain(cap_at(1.0), trim_of(0.1)), "trim last"),
        (lambda: chain(trim_of(0.1), trim_of(0.1)), "trim last"),
        (lambda: chain(log_of(1.0), cap_largest(0.1)), "trim last"),
        (lambda: chain(power_of(0.5), rational_by(3.0, 1.0)), "starts at 0"),
    ],
)
def test_chains_without_a_majorant_are_refused(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(NotMajorizable, match=words):
        make()


# ---- a user's own ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "slope", "words"),
    [
        (np.square, lambda t: 2 * t, r"not concave.*tangent at t=0 .*at t=10000"),
        (np.sqrt, lambda t: 1 / np.sqrt(t), None),
        (lambda t: -t, lambda t: -1.0, r"not nondecreasing: slope\(0\) = -1"),
        (lambda t: np.sin(t), lambda t: np.cos(t), r"not nondecreasing: slope\(.*\) = -"),
        (ratio, lambda t: 0.5 / (1 + t) ** 2, "below the value.*Check the slope"),
        (ratio, lambda t: 2 / (1 + t) ** 2, "Check the slope"),
        (lambda t: np.log(t), lambda t: 1 / t, r"value is not finite at t=0"),
        (lambda t: np.minimum(t, 1.0), lambda t: np.where(t <= 1, np.nan, 0), "slope is not fin"),
        (lambda t: t[:3], lambda t: 1.0, r"value gives shape \(3,\)"),
        (lambda t: np.floor(t), lambda t: 0.0 * t, "not concave"),
    ],
)
def test_users_function_is_checked_at_construction(value: Any, slope: Any, words: Any) -> None:
    if words is None:  # half the slope is missing, but twice a supergradient is not one either
        words = "not concave with this slope"
    with np.errstate(divide="ignore"), pytest.raises(ValueError, match=words):
        concave(value=value, slope=slope)


@pytest.mark.parametrize("value", [math.atan, lambda t: 1.0 if t > 1 else t])
def test_users_function_must_take_arrays(value: Any) -> None:
    with pytest.raises(TypeError, match=r"value fails at an array .* np\.vectorize"):
        concave(value=value, slope=lambda t: 1 / (1 + t**2))
    vectorized = concave(value=np.vectorize(math.atan), slope=lambda t: 1 / (1 + t**2))
    np.testing.assert_allclose(vectorized(T), np.arctan(T))


def test_an_error_of_a_users_function_stays_its_own() -> None:
    """Not one for taking no array: it fails at numbers, too."""

    def known_to_five(t: Any) -> Any:
        if np.any(t > 5):
            raise ValueError("known up to 5")
        return np.arctan(t)

    with pytest.raises(ValueError, match=r"^known up to 5$"):
        concave(value=known_to_five, slope=lambda t: 1 / (1 + t**2))


def test_users_function_may_be_steep_at_zero() -> None:
    root = concave(np.sqrt, lambda t: 0.5 / np.sqrt(t), expression=cp.sqrt)
    assert root.steepest == np.inf
    assert root.extended().slope(0.0) == pytest.approx(0.5e5)
    assert root.expression(cp.Constant(4.0)).value == pytest.approx(2)


def test_users_functions_are_parameters() -> None:
    mine = concave(value=ratio, slope=ratio_slope)
    assert mine.get_params() == {"value": ratio, "slope": ratio_slope, "expression": None}
    mine.set_params(value=np.log1p, slope=lambda t: 1 / (1 + t))
    np.testing.assert_allclose(mine(T), np.log1p(T))
    with pytest.raises(ValueError, match="not concave"):
        mine.set_params(value=np.square)
    np.testing.assert_allclose(mine(T), np.log1p(T))


@pytest.mark.parametrize("name", ["value", "slope", "expression"])
def test_users_functions_must_be_functions(name: str) -> None:
    functions: dict[str, Any] = {"value": ratio, "slope": ratio_slope, name: 3}
    with pytest.raises(TypeError, match=f"{name}=3: a function"):
        concave(**functions)


# ---- bad numbers -------------------------------------------------------------------------------

NAN = float("nan")
BAD: list[tuple[Callable[..., Any], dict[str, Any], str, list[Any]]] = [
    (scale_by, {}, "factor", [0.0, -1.0, NAN, "1"]),
    (cap_at, {}, "c", [-1.0, NAN, "1", [1.0, -1.0]]),
    (cap_largest, {}, "fraction", [1.0, -0.1, NAN, "1"]),
    (cap_largest, {"fraction": 0.1}, "rounds", [0, -2, "1"]),
    (cap_largest, {"fraction": 0.1}, "otherwise", [0.0, NAN, "1"]),
    (cap_largest, {"fraction": 0.1}, "least", [-1.0, NAN, "1"]),
    (trim_of, {}, "fraction", [1.0, -0.1, NAN, "1"]),
    (rescale_by, {}, "eta", [0.0, -1.0, NAN, "1"]),
    (power_of, {}, "p", [0.0, 1.5, NAN, "1"]),
    (power_of, {"p": 0.5}, "delta", [-1.0, NAN, "1"]),
    (log_of, {}, "scale", [0.0, -1.0, NAN, "1"]),
    *((f, {}, "sigma", [0.0, -1.0, NAN, np.inf, "1"]) for f in (huberize_by, andrews_by)),
    *((f, {}, "sigma", [0.0, -1.0, NAN, "1"]) for f in (tukey_by, welsch_by, log_ratio_by)),
    (rational_by, {"delta": 0.1}, "s", [0.0, -1.0, NAN, "1"]),
    (rational_by, {"s": 0.5}, "delta", [0.0, -1.0, NAN, "1"]),
    (rational_by, {"s": 2.0}, "delta", [0.49]),
    (erf_by, {"delta": 0.1}, "s", [0.0, -1.0, NAN, "1"]),
    (erf_by, {"s": 1.0}, "delta", [0.0, -1.0, NAN, "1"]),
]


@pytest.mark.parametrize(("make", "others", "name", "values"), BAD)
def test_bad_numbers_are_refused_by_name(
    make: Callable[..., Any], others: dict[str, Any], name: str, values: list[Any]
) -> None:
    for value in values:
        with pytest.raises(TypeError if value == "1" else ValueError, match=f"{name}="):
            make(**others, **{name: value})


def test_cap_by_the_largest_share_counts_as_declared() -> None:
    losses = np.random.default_rng(0).permutation(np.arange(1.0, 101.0))
    assert np.sum(cap_largest(0.29).slope(losses) == 0) == 29  # 0.29 · 100 is 28.999…
    assert cap_largest(0.2)(np.inf) == np.inf  # the bound of a loss that it caps
