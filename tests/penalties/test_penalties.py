"""Every penalty against a slow formula of its own, its majorant, and as an estimator."""

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

from dcprog.checks.declarations import check_penalty
from dcprog.majorants.majorant import majorize
from dcprog.penalties import (
    Penalty,
    capped_l1,
    elastic_net,
    group_lasso,
    l1,
    l2,
    log_sum,
    lp,
    mcp,
    penalty_sum,
    scad,
    weighted_l1,
)

Slow = Callable[[list[float]], float]


def slow_scad(w: float, lam: float, a: float) -> float:
    t = abs(w)
    if t <= lam:
        return lam * t
    if t <= a * lam:
        return (2 * a * lam * t - t**2 - lam**2) / (2 * (a - 1))
    return lam**2 * (a + 1) / 2


def slow_mcp(w: float, lam: float, gamma: float) -> float:
    t = abs(w)
    return lam * t - t**2 / (2 * gamma) if t <= gamma * lam else gamma * lam**2 / 2


def each(f: Callable[[float], float]) -> Slow:
    return lambda w: sum(f(x) for x in w)


CONVEX: list[tuple[Penalty, Slow]] = [
    (l1(2.0), each(lambda x: 2 * abs(x))),
    (l1(0.0), each(lambda x: 0.0)),
    (l2(3.0), each(lambda x: 1.5 * x * x)),
    (elastic_net(1.0, 2.0), each(lambda x: abs(x) + x * x)),
    (
        group_lasso(1.5, [0, 0, 1, 1, 2]),
        lambda w: 1.5 * (math.hypot(w[0], w[1]) + math.hypot(w[2], w[3]) + abs(w[4])),
    ),
    (
        group_lasso(1.5, list("aabab")),
        lambda w: 1.5 * (math.hypot(w[0], w[1], w[3]) + math.hypot(w[2], w[4])),
    ),
    (group_lasso(1.5, [[0, 3], [1]]), lambda w: 1.5 * (math.hypot(w[0], w[3]) + abs(w[1]))),
    (
        weighted_l1([1.0, 2, 0, 4, 5]),
        lambda w: sum(v * abs(x) for v, x in zip((1, 2, 0, 4, 5), w, strict=True)),
    ),
    (l1(1.0) + l2(0.5), each(lambda x: abs(x) + 0.25 * x * x)),
]
CONCAVE: list[tuple[Penalty, Slow]] = [
    (capped_l1(2.0, 0.7), each(lambda x: 2 * min(abs(x), 0.7))),
    (scad(0.8, 3.0), each(lambda x: slow_scad(x, 0.8, 3.0))),
    (scad(0.3), each(lambda x: slow_scad(x, 0.3, 3.7))),
    (mcp(0.8, 2.0), each(lambda x: slow_mcp(x, 0.8, 2.0))),
    (mcp(0.8, 0.5), each(lambda x: slow_mcp(x, 0.8, 0.5))),
    (log_sum(1.5, 0.5), each(lambda x: 1.5 * math.log(1 + abs(x) / 0.5))),
    (lp(1.5, 0.5), each(lambda x: 1.5 * math.sqrt(abs(x)))),
    (lp(1.5, 1.0), each(lambda x: 1.5 * abs(x))),
    (mcp(1.0) + l2(0.5), each(lambda x: slow_mcp(x, 1.0, 3.0) + 0.25 * x * x)),
    (
        l1(0.1) + lp(1.0, 0.3) + scad(1.0, 3.0),
        each(lambda x: 0.1 * abs(x) + abs(x) ** 0.3 + slow_scad(x, 1.0, 3.0)),
    ),
]
# A new penalty is one line above.
ALL = CONVEX + CONCAVE
IDS = [repr(penalty) for penalty, _ in ALL]


def _points(draws: int = 100) -> Any:
    rng = np.random.default_rng(0)
    points = rng.standard_normal((draws, 5)) * 10 ** rng.uniform(-2, 1, (draws, 5))
    points[rng.random(points.shape) < 0.2] = 0.0
    return points


@pytest.mark.parametrize(("penalty", "slow"), ALL, ids=IDS)
def test_penalty_is_its_formula(penalty: Penalty, slow: Slow) -> None:
    for w in _points():
        assert penalty(w) == pytest.approx(slow(w.tolist()), rel=1e-11, abs=1e-11)
    assert isinstance(penalty(w), float)


@pytest.mark.parametrize(("penalty", "slow"), ALL, ids=IDS)
def test_penalty_passes_the_checks(penalty: Penalty, slow: Slow) -> None:
    check_penalty(penalty)


@pytest.mark.parametrize(("penalty", "slow"), CONVEX, ids=IDS[: len(CONVEX)])
def test_convex_penalty_is_its_own_majorant(penalty: Penalty, slow: Slow) -> None:
    assert penalty.is_convex
    assert penalty.surrogate(np.ones(5)) is penalty
    assert penalty.convex_part is penalty
    assert penalty.extended() is penalty or isinstance(penalty, penalty_sum)
    assert penalty.expression(cp.Variable(5)).is_convex()
    np.testing.assert_array_equal(penalty.weights(np.ones(5)), 0)


@pytest.mark.parametrize(("penalty", "slow"), CONCAVE, ids=IDS[len(CONVEX) :])
def test_concave_penalty_has_a_majorant_in_cvxpy_too(penalty: Penalty, slow: Slow) -> None:
    assert not penalty.is_convex
    w = cp.Variable(5)
    majorant = majorize(penalty.expression(w))
    points = _points(10)
    w.value = np.where(points[0] == 0, 0.5, points[0])
    majorant.tighten()
    assert majorant.value == pytest.approx(penalty(w.value))
    for point in points:
        w.value = point
        assert majorant.value >= penalty(point) - 1e-9


NUMBERS = st.lists(st.floats(-5, 5), min_size=3, max_size=3).map(np.array)


@settings(max_examples=300, deadline=None)
@given(v=NUMBERS, w=NUMBERS, lam=st.floats(0, 3), a=st.floats(0.05, 4), data=st.data())
def test_majorant_is_above_and_touches(
    v: Any, w: Any, lam: float, a: float, data: st.DataObject
) -> None:
    penalties = [
        capped_l1(lam, a),
        scad(lam, 1 + a),
        mcp(lam, a),
        log_sum(lam, a),
        lp(lam, min(a, 1.0)),
        lp(lam, 0.5) + l2(a),
    ]
    penalty = data.draw(st.sampled_from(penalties))
    majorant, extended = penalty.surrogate(v), penalty.extended()
    assert majorant.is_convex
    above = extended(v) + majorant(w) - majorant(v)
    size = 1 + majorant(w) + majorant(v)
    assert above >= extended(w) - 1e-11 * size
    assert extended(w) >= penalty(w) - 1e-11 * size


def test_a_penalty_that_underflows_is_none() -> None:
    np.testing.assert_array_equal(lp(5e-324, 0.5).rate(np.array([0.0, 1.0])), [0.0, 0.0])


def test_majorant_has_the_slopes_as_weights() -> None:
    w = np.array([0.0, 0.5, -1.0, 5.0])
    np.testing.assert_allclose(capped_l1(2.0, 0.5).weights(w), [2, 2, 0, 0])
    np.testing.assert_allclose(mcp(1.0, 2.0).weights(w), [1, 0.75, 0.5, 0])
    np.testing.assert_allclose(scad(0.5, 3.0).weights(w), [0.5, 0.5, 0.25, 0])
    np.testing.assert_allclose(lp(1.0, 0.5).weights(w)[1:], 0.5 / np.sqrt([0.5, 1, 5]))
    np.testing.assert_allclose(lp(1.0, 0.5).weights(w)[0], 0.5e5)
    assert lp(1.0, 0.5).weights(w, edge=0.25)[0] == 1
    np.testing.assert_allclose((mcp(1.0, 2.0) + l2() + mcp(1.0, 2.0)).weights(w), [2, 1.5, 1, 0])


def test_infinite_slope_at_zero_leaves_a_known_gap() -> None:
    zero = np.zeros(1)
    extended = lp(2.0, 0.5).extended(1e-4)
    assert extended(zero) == pytest.approx(2 * 0.5 * 1e-2)
    assert extended(np.ones(1)) == 2.0
    assert log_sum(1.0, 0.1).extended()(zero) == 0


@pytest.mark.parametrize(("penalty", "slow"), CONCAVE, ids=IDS[len(CONVEX) :])
def test_a_problem_with_the_majorant_compiles_once(penalty: Penalty, slow: Slow) -> None:
    w, weights = cp.Variable(5), cp.Parameter(5, nonneg=True)
    target = np.array([0.0, 0.1, -1.0, 2.0, -4.0])
    problem = cp.Problem(
        cp.Minimize(cp.sum_squares(w - target) + penalty.expression_with(w, weights))
    )
    start = np.full(5, 0.3)
    weights.value = penalty.weights(start)
    problem.solve(solver=cp.CLARABEL, enforce_dpp=True)
    parts = penalty.surrogate(start).parts()
    assert parts.is_elastic
    shrunk = np.maximum(np.abs(2 * target) - parts.l1, 0) / (2 + parts.ridge)
    np.testing.assert_allclose(w.value, np.sign(target) * shrunk, atol=1e-3)
    constant = penalty.expression_with(w, penalty.weights(start))
    assert constant.value == pytest.approx(penalty.surrogate(start)(w.value))


def test_group_lasso_is_no_sum_over_coefficients() -> None:
    assert not group_lasso(1.0, [0, 0]).parts().is_elastic
    parts = (group_lasso(1.0, [0, 0]) + l2()).parts()
    assert not parts.is_elastic
    assert parts.ridge_alone is None
    assert parts.ridge == 1
    np.testing.assert_array_equal(group_lasso(1.0, [0, 0]).slope(np.zeros(2)), 0)


def test_groups_must_fit_the_coefficients() -> None:
    for groups in ([0, 0, 1], [[0, 5]]):
        penalty = group_lasso(1.0, groups)
        with pytest.raises(ValueError, match="do not fit the 4"):
            penalty(np.ones(4))
        with pytest.raises(ValueError, match="do not fit the 4"):
            penalty.expression(cp.Variable(4))


@pytest.mark.parametrize(("penalty", "slow"), ALL, ids=IDS)
def test_penalty_is_an_estimator(penalty: Penalty, slow: Slow) -> None:
    w = _points(1)[0]
    for copied in (clone(penalty), pickle.loads(pickle.dumps(penalty))):
        assert repr(copied) == repr(penalty)
        assert copied(w) == penalty(w)


def test_parameters_are_reached_by_name() -> None:
    penalty = (l1(1.0) + mcp(2.0, 3.0)).set_params(second__gamma=4.0, first__lam=0.5)
    assert repr(penalty) == "penalty_sum(first=l1(lam=0.5), second=mcp(gamma=4.0, lam=2.0))"
    with pytest.raises(ValueError, match="gamma=0"):
        penalty.set_params(second__gamma=0.0)
    assert penalty.second.gamma == 4
    total = sum([l1(1.0), l2(2.0)])
    assert isinstance(total, Penalty)
    assert total(np.ones(2)) == 4


NAN = float("nan")
LAM: list[Any] = [-1.0, NAN, np.inf, "1", None]
BAD: list[tuple[Callable[..., Any], dict[str, Any], str, list[Any]]] = [
    (l1, {}, "lam", LAM),
    (l2, {}, "lam", LAM),
    (elastic_net, {"l2": 1.0}, "l1", LAM),
    (elastic_net, {"l1": 1.0}, "l2", LAM),
    (group_lasso, {"groups": [0, 1]}, "lam", LAM),
    (group_lasso, {"lam": 1.0}, "groups", [[[0, 1], [1]], [[]], [[0], []], [0.0, NAN], []]),
    (group_lasso, {"lam": 1.0}, "groups", [[[-1]], [[0.5]], [[[0]]], 3, None]),
    (weighted_l1, {}, "v", [[-1.0], [NAN], [np.inf]]),
    (capped_l1, {"theta": 1.0}, "lam", LAM),
    (capped_l1, {"lam": 1.0}, "theta", [0.0, *LAM]),
    (scad, {}, "lam", LAM),
    (scad, {"lam": 1.0}, "a", [1.0, 0.5, *LAM]),
    (mcp, {}, "lam", LAM),
    (mcp, {"lam": 1.0}, "gamma", [0.0, *LAM]),
    (log_sum, {"eps": 1.0}, "lam", LAM),
    (log_sum, {"lam": 1.0}, "eps", [0.0, *LAM]),
    (lp, {"p": 0.5}, "lam", LAM),
    (lp, {"lam": 1.0}, "p", [0.0, 1.5, *LAM]),
]


@pytest.mark.parametrize(("make", "others", "name", "values"), BAD)
def test_bad_parameters_are_refused_by_name(
    make: Callable[..., Any], others: dict[str, Any], name: str, values: list[Any]
) -> None:
    number = make is not group_lasso or name == "lam"
    for value in values:
        wrong_type = number and (isinstance(value, str) or value is None)
        with pytest.raises(TypeError if wrong_type else ValueError, match=f"{name}="):
            make(**others, **{name: value})


@pytest.mark.parametrize(("penalty", "slow"), ALL, ids=IDS)
def test_penalties_take_factors(penalty: Penalty, slow: Slow) -> None:
    w = _points(1)[0]
    for double in (2 * penalty, penalty * 2, np.float64(2) * penalty):
        assert double(w) == pytest.approx(2 * penalty(w))
        np.testing.assert_allclose(double.slope(w), 2 * penalty.slope(w))
        np.testing.assert_allclose(double.weights(w), 2 * penalty.weights(w))


@pytest.mark.parametrize("factor", [0.0, -1.0, NAN, np.inf])
def test_factors_are_positive(factor: float) -> None:
    with pytest.raises(ValueError, match="factor="):
        factor * l1()
    with pytest.raises(TypeError):
        l1() * l2()


def test_only_penalties_add() -> None:
    with pytest.raises(TypeError, match="second=3: a penalty is needed"):
        penalty_sum(l1(), 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="first=<class"):
        penalty_sum(l1, l2())  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        l1() + 3
