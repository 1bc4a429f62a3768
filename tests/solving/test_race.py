"""The race of starts: good points, never above the plain run, in any units."""

from __future__ import annotations

import time
import warnings
from functools import cache
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from joblib import parallel_config

import dcprog as dc
from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.models import AngleSVC
from dcprog.problem.surrogate import ProblemSurrogate
from dcprog.solving.race import TOLD, _is_at_the_bound
from dcprog.starts.batch import Batch, graduated_paths
from dcprog.starts.many_points import ManyPoints
from dcprog.starts.protocol import Budget

PLAIN: dict[str, Any] = {"start": "convex", "n_starts": 1}


def flipped(n: int, p: int, seed: int, flips: float = 0.15) -> tuple[Array, Array]:
    """Two classes; some labels are wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = np.sign(X @ rng.normal(size=p) + 0.5 * rng.normal(size=n))
    y[rng.random(n) < flips] *= -1
    return X, y


def turned(n: int, p: int, seed: int, share: float) -> tuple[Array, Array]:
    """Regression with samples far out on a plane of their own."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = X @ np.arange(1.0, p + 1) + 1 + rng.normal(size=n)
    out = int(share * n)
    X[:out] = rng.normal(size=(out, p)) + 5
    y[:out] = -30 + 5 * rng.normal(size=out)
    return X, y


def ramp(X: Any, y: Any, lam: float = 0.1) -> dc.Risk:
    return dc.Risk.from_loss(dc.binary_margins(X, y), dc.cap(dc.hinge(), 1.0), dc.l2(lam))


def residuals(X: Any, y: Any, loss: dc.Loss, penalty: dc.Penalty | None = None) -> dc.Risk:
    return dc.Risk.from_loss(dc.residual_rows(X, y), loss, penalty or dc.l2(1e-3))


def risks() -> dict[str, dc.Risk]:
    """One of each kind of rows, aggregate, transform, penalty and sample weights."""
    rng = np.random.default_rng(0)
    X, y = flipped(60, 3, 0)
    k = rng.integers(3, size=60)
    T, t = turned(60, 2, 0, 0.2)
    several: dict[str, Any] = {
        "aggregate": "sum",
        "transform": dc.cap_at(1.0),
        "penalty": dc.l2(0.5),
    }
    angle = dc.angle_differences(X, k)
    return {
        "ramp": ramp(X, y),
        "truncated": dc.Risk.from_loss(
            dc.binary_margins(X, y), dc.truncate(dc.hinge(), 0.0), dc.l1(0.5)
        ),
        "weighted": dc.Risk.from_loss(
            dc.binary_margins(X, y), dc.rescale(dc.hinge(), 1.0), dc.l2(1.0), rng.random(60)
        ),
        "classes": dc.Risk(dc.class_margins(X, k), dc.squared_hinge(), **several),
        "angle": dc.Risk(
            angle, dc.hinge(), aggregate="max", transform=dc.cap_at(2.0), penalty=dc.l2(0.5)
        ),
        "adaptive": dc.Risk(
            dc.class_margins(X, k),
            dc.squared_hinge(),
            aggregate="sum",
            transform=dc.cap_largest(0.1, dc.power_of(0.5, 1e-8)),
            penalty=dc.l2(2.0),
        ),
        "trimmed": residuals(T, t, dc.trim(dc.square(), 0.25)),
        "tukey": residuals(T, t, dc.tukey(0.5 * dc.square(), 4.685)),
        "sparse": residuals(T, t, dc.cap(dc.absolute(), 2.0), dc.mcp(3.0, 3.0)),
        "root": residuals(T, t, dc.power(dc.absolute(), 0.5)),
        "kernel": dc.Risk.from_loss(
            dc.kernel_margins(np.exp(-((X[:, None] - X) ** 2).sum(2)), y),
            dc.cap(dc.hinge(), 1.0),
            dc.l2(0.1),
        ),
    }


RISKS = risks()


@cache
def raced(name: str) -> dc.Result:
    return dc.solve(RISKS[name])


@pytest.mark.parametrize("name", RISKS)
def test_it_is_never_above_the_plain_run(name: str) -> None:
    risk = RISKS[name]
    plain, best = dc.solve(risk, **PLAIN), raced(name)
    if name != "adaptive":  # there the plain run sets what all minimise
        assert best.value <= plain.value * (1 + 1e-12)
    assert best.starts[0].kind == "convex"
    assert best.starts[0].value == pytest.approx(plain.value, rel=1e-12)
    # of runs that differ by rounding the first one is the result
    least = min(s.value for s in best.starts if s.status != "dropped")
    assert best.value == pytest.approx(least, rel=1e-12)
    assert best.status == "converged"
    assert best.certificate().holds
    if name != "adaptive":
        assert risk(np.asarray(best.x)) == pytest.approx(best.value, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "near"),
    [("ramp", False), *((n, True) for n, risk in RISKS.items() if ManyPoints.takes(risk))],
)
def test_candidates_are_points_with_their_values_lowest_first(name: str, near: bool) -> None:
    risk = RISKS[name]
    ended = [np.zeros(risk.rows.shape[1])] if near else []
    found = list(Batch().points(risk.surrogate(), Budget(ended=ended)))
    assert found
    assert [d.value for d in found] == sorted(d.value for d in found)
    for one in found:
        assert risk(one.x) == pytest.approx(one.value, rel=1e-9)


@pytest.mark.parametrize("name", [n for n, risk in RISKS.items() if ManyPoints.takes(risk)])
def test_many_points_have_the_values_of_the_risk_and_steps_lower_them(name: str) -> None:
    risk = RISKS[name]
    many = ManyPoints(risk)
    theta = np.random.default_rng(0).normal(size=(5, risk.rows.shape[1]))
    points = many.at(many.given(theta))
    np.testing.assert_allclose(points.values, [risk(t) for t in theta], rtol=1e-9)
    np.testing.assert_allclose(many.taken(points.theta), theta, atol=1e-12)
    lower = points
    for _ in range(3):
        before, lower = lower, many.step(lower, 0.2)
        assert np.all(lower.values <= before.values)
    assert np.sum(lower.values < points.values) >= 3
    assert len(many.step(points[:0], 0.2)) == 0
    again = many.at(lower.theta)
    np.testing.assert_allclose(again.values, lower.values, rtol=1e-9)
    some = ManyPoints(risk, np.arange(many.n_groups)[::2])
    assert np.all(some.at(some.given(theta)).values > 0)


def test_smoothed_maxima_are_finite_where_a_band_of_no_loss_is_wider_than_the_margins() -> None:
    rows = dc.angle_differences(np.random.default_rng(0).normal(size=(9, 2)), np.arange(9) % 3)
    groups, transform = np.repeat(np.arange(9), 2), dc.cap(dc.hinge(), 10.0).transform
    risk = dc.Risk(rows, dc.epsilon_insensitive(5.0), None, groups, "max", transform)
    many = ManyPoints(risk)
    points = many.at(20 * np.eye(rows.shape[1]))
    assert np.all(np.isfinite(many.values(points.theta, points.margins, 0.5)))
    assert np.any(many.step(points, 0.5, smoothly=True).values < points.values)


@pytest.mark.parametrize("effort", ["low", "default", "high"])
def test_every_effort_ends_at_a_critical_point(effort: str) -> None:
    result = dc.solve(ramp(*flipped(100, 3, 1)), effort=effort)
    assert result.status == "converged"
    assert result.starts[0].kind == ("graduated" if effort == "low" else "convex")


def test_more_effort_mostly_ends_no_higher() -> None:
    risks = [ramp(*flipped(100, 5, seed)) for seed in range(4)]
    usual = np.array([dc.solve(risk).value for risk in risks])
    high = np.array([dc.solve(risk, effort="high").value for risk in risks])
    assert np.all(high <= 1.01 * usual)
    assert np.sum(high <= usual * (1 + 1e-6)) >= 3


@pytest.mark.parametrize("name", ["sparse", "adaptive"])
def test_threads_change_nothing(name: str) -> None:
    alone = dc.solve(RISKS[name], n_starts=4)
    with parallel_config(backend="threading"):
        together = dc.solve(RISKS[name], n_starts=4, n_jobs=2)
    np.testing.assert_array_equal(alone.x, together.x)
    assert [s.value for s in alone.starts] == [s.value for s in together.starts]


def test_it_repeats_and_other_seeds_may_differ() -> None:
    risk = ramp(*flipped(80, 4, 2))
    one, other = dc.solve(risk, random_state=3), dc.solve(risk, random_state=3)
    np.testing.assert_array_equal(one.x, other.x)
    hard = ramp(*flipped(300, 8, 2))
    values = {s.value for seed in range(3) for s in dc.solve(hard, random_state=seed).starts[1:]}
    assert len(values) > 2


@pytest.mark.parametrize("a", [2.0**-40, 1e12])
def test_it_has_no_units(a: float) -> None:
    X, y = flipped(60, 3, 4)
    best = dc.solve(ramp(X, y))
    scaled = dc.Risk.from_loss(dc.binary_margins(X, y), a * dc.cap(dc.hinge(), 1.0), dc.l2(0.1 * a))
    assert dc.solve(scaled).value == pytest.approx(a * best.value, rel=1e-6)
    other = ramp(a * X, y, 0.1 * a**2)
    assert dc.solve(other).value == pytest.approx(best.value, rel=1e-6)
    T, t = turned(60, 2, 0, 0.2)
    tukey = dc.solve(residuals(T, t, dc.tukey(0.5 * dc.square(), 4.685), dc.l2(1e-3)))
    stretched = dc.solve(residuals(T, a * t, dc.tukey(0.5 * dc.square(), 4.685 * a), dc.l2(1e-3)))
    assert stretched.value == pytest.approx(a**2 * tukey.value, rel=1e-5)


def test_leverage_does_not_turn_it_round() -> None:
    """The first example of the README: five samples far out on the wrong side."""
    rng = np.random.default_rng(0)
    y = rng.choice([-1.0, 1.0], 100)
    X = rng.normal(size=(100, 2)) + y[:, None]
    X[:5] *= -20
    assert dc.solve(ramp(X, y)).value == pytest.approx(13.24, abs=0.01)


@pytest.mark.parametrize(
    "loss", [dc.trim(dc.square(), 0.35), dc.tukey(0.5 * dc.square(), 4.685)], ids=repr
)
def test_a_third_far_out_leaves_the_fit_of_the_others(loss: dc.Loss) -> None:
    recovered = 0
    for seed in range(5):
        X, y = turned(120, 3, seed, 0.3)
        result = dc.solve(residuals(X, y, loss, dc.l2(1e-6)))
        recovered += bool(np.all(np.abs(np.asarray(result.x)[:3] - [1, 2, 3]) < 0.6))
    assert recovered >= 4


@pytest.mark.parametrize("seed", range(2))
def test_few_judges_with_too_many_outliers_mislead_nobody(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1000, 2))
    y = 2 * X.sum(axis=1) + rng.normal(size=1000)
    X[:300] += 5 * rng.normal(size=2)
    y[:300] = -X[:300].sum(axis=1) + rng.normal(size=300)
    risk = residuals(X, y, dc.trim(dc.square(), 0.35))  # barely more than there are outliers
    clean = dc.solve(residuals(X[300:], y[300:], dc.square()))
    near = dc.solve(risk, start=np.asarray(clean.x), n_starts=1)
    for state in range(2):
        assert dc.solve(risk, random_state=state).value <= near.value * (1 + 1e-6)


def far_out(n: int, p: int, seed: int) -> tuple[Array, Array, int]:
    """A tenth of leverage together, which no subset of many coefficients avoids by chance."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = X @ rng.normal(size=p) + rng.normal(size=n)
    k = n // 10
    X[:k] = 5 + 0.3 * rng.normal(size=(k, p))
    y[:k] = rng.normal(size=k) - 30
    return X, y, k


@pytest.mark.parametrize("seed", [1])
@pytest.mark.parametrize("loss", [dc.tukey(0.5 * dc.square(), 4.685), dc.cap(dc.absolute(), 3.0)])
def test_leverage_is_got_away_from_with_many_coefficients(loss: dc.Loss, seed: int) -> None:
    X, y, k = far_out(2000, 60, seed)
    risk = residuals(X, y, loss)
    clean = dc.solve(residuals(X[k:], y[k:], loss), start="convex", n_starts=1)
    near = dc.solve(risk, start=np.asarray(clean.x), n_starts=1)
    assert dc.solve(risk).value <= near.value * (1 + 1e-6)


def test_of_very_many_samples_only_far_better_candidates_are_run_from() -> None:
    X, y, _ = far_out(100_000, 20, 1)
    risk = residuals(X, y, dc.tukey(0.5 * dc.square(), 4.685))
    plain = dc.solve(risk, start="convex", n_starts=1)
    assert dc.solve(risk).value < 0.7 * plain.value
    X, y = flipped(100_000, 3, 0)
    first, *others = dc.solve(ramp(X, y)).starts
    assert first.status == "converged"
    assert {start.status for start in others} == {"dropped"}


def test_candidates_of_constrained_problems_meet_the_constraints() -> None:
    """Circles in a square, whose plain run ends 12% above the best known."""
    radii = np.random.default_rng(2).uniform(0.5, 2, 4)
    centres = cp.Variable((len(radii), 2))
    pairs = zip(*np.triu_indices(len(radii), 1), strict=True)
    half = cp.max(cp.max(cp.abs(centres), axis=1) + radii)
    apart = [cp.norm(centres[i] - centres[j]) >= radii[i] + radii[j] for i, j in pairs]
    problem = cp.Problem(cp.Minimize(half), apart)
    raced = dc.solve(problem)
    assert raced.value <= 1.03 * 2.43400
    assert raced.value < 0.96 * raced.starts[0].value


def test_a_penalty_that_is_steep_at_0_is_got_over() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 400))
    y = X[:, :5].sum(axis=1) + 0.1 * rng.normal(size=80)
    steepest = float(np.max(np.abs(X.T @ y)))
    rows = dc.residual_rows(X, y, fit_intercept=False)
    risk = dc.Risk.from_loss(rows, 0.5 * dc.square(), dc.log_sum(0.1 * steepest, 0.09))
    with pytest.warns(dc.TrivialSolutionWarning):
        plain = dc.solve(risk, **PLAIN)
    best = dc.solve(risk)
    truth = dc.solve(risk, start=np.r_[np.ones(5), np.zeros(395)], n_starts=1)
    assert best.value <= truth.value < 0.8 * plain.value


# ---- what the result tells -----------------------------------------------------------------------


def test_optima_are_the_distinct_points_best_first() -> None:
    result = dc.solve(ramp(*flipped(200, 5, 0)), n_starts=5)
    values = [optimum.value for optimum in result.optima]
    assert values == sorted(values)
    assert values[0] == pytest.approx(result.value, rel=1e-9)
    assert result.optima[0].distance == 0
    assert sum(optimum.count for optimum in result.optima) == len(result.starts) - sum(
        s.status != "converged" for s in result.starts
    )
    for optimum in result.optima[1:]:
        assert optimum.distance > 0
        assert len(optimum.starts) == optimum.count


def test_dropped_starts_are_told_of() -> None:
    result = dc.solve(ramp(*flipped(200, 5, 0)))
    dropped = [s for s in result.starts if s.status == "dropped"]
    assert 0 < len(dropped) <= TOLD
    assert f"{len(dropped)} dropped" in repr(result)
    assert len(result.history) == result.n_iter + 1
    assert result.history.value[-1] == result.value


def test_a_number_of_starts_is_that_many_runs() -> None:
    risk = ramp(*flipped(60, 3, 4))
    assert len(dc.solve(risk, n_starts=1).starts) == 1
    assert len(dc.solve(risk, n_starts=6).starts) == 6
    named = dc.solve(risk, start="convex", n_starts=3)
    assert [s.kind for s in named.starts] == ["convex", "half", "random"]


def test_a_named_start_is_the_only_one() -> None:
    risk = ramp(*flipped(60, 3, 4))
    for start in ("convex", np.zeros(4), "graduated", "random"):
        assert len(dc.solve(risk, start=start).starts) == 1


def test_the_users_starts_enter_the_race() -> None:
    risk = ramp(*flipped(60, 3, 4))
    good = dc.solve(risk).x
    result = dc.solve(risk, start=[np.zeros(4), good, "convex"])
    assert [s.kind for s in result.starts[:3]] == ["given", "given", "convex"]
    assert result.value <= risk(np.asarray(good)) + 1e-9


# ---- limits --------------------------------------------------------------------------------------


def test_a_convex_problem_is_run_once() -> None:
    X, y = flipped(60, 3, 4)
    rows = dc.binary_margins(X, y)
    assert len(dc.solve(dc.Risk.from_loss(rows, dc.hinge(), dc.l2(1.0))).starts) == 1
    x = cp.Variable(2)
    assert len(dc.solve(cp.Problem(cp.Minimize(cp.sum_squares(x - 1)))).starts) == 1


def test_a_callback_may_stop_it_and_the_point_is_kept() -> None:
    risk = ramp(*flipped(200, 5, 0))
    result = dc.solve(risk, callback=lambda progress: progress.n_iter == 1)
    assert result.status == "interrupted"
    assert len(result.starts) == 1
    assert np.all(np.isfinite(np.asarray(result.x)))


def test_the_time_limit_is_for_all_of_it() -> None:
    risk = ramp(*flipped(2000, 20, 0))
    begun = time.perf_counter()
    result = dc.solve(risk, effort="high", time_limit=0.3)
    assert time.perf_counter() - begun < 5
    assert result.x is not None


def test_ctrl_c_between_runs_keeps_the_plain_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dcprog.solving.race.pool", stop)
    risk = ramp(*flipped(60, 3, 4))
    result = dc.solve(risk)
    assert result.status == "interrupted"
    assert result.value == dc.solve(risk, **PLAIN).value


# ---- trivial ends --------------------------------------------------------------------------------


def test_trivial_ends_are_named_with_their_share() -> None:
    X, y = flipped(60, 3, 4)
    with pytest.warns(dc.TrivialSolutionWarning, match="n_starts.*cap"):
        dc.solve(ramp(X, y, lam=1e6))
    few = dc.Risk.from_loss(dc.binary_margins(X, y), dc.cap(dc.hinge(), 0.2), dc.l2(1.0))
    with pytest.warns(dc.TrivialSolutionWarning, match=r"\d\d% of the samples are given up"):
        dc.solve(few)
    T, t = turned(60, 2, 0, 0.2)
    with pytest.warns(dc.TrivialSolutionWarning, match="coefficients are 0") as caught:
        dc.RobustRegressor(dc.cap(dc.square(), 100.0), dc.l2(1e8), scale=None).fit(T, t)
    assert [w.filename for w in caught] == [__file__]


def test_samples_of_weight_0_are_not_given_up() -> None:
    """Half of the samples, far out and of weight 0, are no share of the data."""
    X, y = turned(60, 2, 0, 0.0)
    far = np.r_[np.zeros(60), np.full(60, 1e3)]
    X, y, weight = np.vstack([X, X]), np.r_[y, y] + far, np.repeat([1.0, 0.0], 60)
    loss = dc.cap(dc.square(), 100.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", dc.TrivialSolutionWarning)
        dc.solve(dc.Risk.from_loss(dc.residual_rows(X, y), loss, dc.l2(1.0), weight))
    few = np.repeat([1.0, 0.0], [2, 118])
    few[60:62] = 1.0  # of four that count two are given up
    with pytest.warns(dc.TrivialSolutionWarning, match="50% of the samples are given up"):
        dc.solve(dc.Risk.from_loss(dc.residual_rows(X, y), loss, dc.l2(1.0), few))


@pytest.mark.parametrize("level", [0.0, 0.1, 1e6])
@pytest.mark.parametrize("loss", ["tukey", dc.cap(dc.absolute(), 1.0)])
def test_a_constant_has_no_coefficients_to_be_warned_of(level: float, loss: Any) -> None:
    X = np.random.default_rng(0).normal(size=(30, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error", dc.TrivialSolutionWarning)
        model = dc.RobustRegressor(loss).fit(X, np.full(30, level))
    np.testing.assert_allclose(model.predict(X), level, rtol=1e-9)


def test_samples_of_large_margins_are_not_given_up_where_the_loss_is_flat() -> None:
    """A truncated pinball loss is flat at large margins, a ramp at small ones."""
    y = np.where(np.arange(100) % 2, 1.0, -1.0)
    X = np.random.default_rng(0).normal(y[:, None], 1.0, (100, 2))
    pinball = 0.5 * dc.hinge() + 0.5 * dc.absolute(at=1)
    truncated = (pinball + 0.5 * dc.hinge(at=1.2)) - 0.5 * dc.absolute(at=1.2)
    right = dc.Risk.from_loss(dc.binary_margins(X, y), truncated, dc.l2(0.1))
    with warnings.catch_warnings():
        warnings.simplefilter("error", dc.TrivialSolutionWarning)
        result = dc.solve(right, **PLAIN)
    assert result.x is not None
    assert np.mean(right.margins(result.x) > 1.2) > 0.3
    X, y = flipped(60, 3, 4)
    ramp_of_two = dc.hinge() - dc.hinge(at=0.8)
    wrong = dc.Risk.from_loss(dc.binary_margins(X, y), ramp_of_two, dc.l2(1.0))
    with pytest.warns(dc.TrivialSolutionWarning, match=r"\d\d% of the samples are given up"):
        dc.solve(wrong, **PLAIN)


def test_what_a_loss_is_told_to_drop_is_not_warned_of() -> None:
    T, t = turned(60, 2, 0, 0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", dc.TrivialSolutionWarning)
        dc.solve(residuals(T, t, dc.trim(dc.square(), 0.4)))
        dc.solve(dc.Risk.from_loss(dc.binary_margins(*flipped(60, 3, 4)), dc.hinge(), dc.l2(1e6)))


def test_a_point_so_far_out_that_rounding_is_all_is_not_the_best() -> None:
    """hinge(u) − hinge₋ₛ(u) of margins of 10¹⁷ is 0 in floating point, and 1 + s in truth."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=40) > 0, 1.0, -1.0)
    risk = dc.Risk.from_loss(dc.binary_margins(X, y), dc.truncate(dc.hinge(), 0.5), dc.l2(1.0))
    far = np.array([0.0, 0.0, 1e17])
    assert risk(far) < 1.0
    result = dc.solve(risk, start=[np.zeros(3), far])
    assert result.x is not None
    assert abs(result.x[2]) < 10
    assert result.value > 1.0


# ---- graduated paths -----------------------------------------------------------------------------


@pytest.mark.parametrize("width", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("name", ["ramp", "truncated", "classes", "angle"])
def test_smoothed_steps_lower_the_smoothed_risk(name: str, width: float) -> None:
    risk = RISKS[name]
    many = ManyPoints(risk)
    theta = np.random.default_rng(0).normal(size=(3, risk.rows.shape[1]))
    before = many.at(many.given(theta))
    after = many.step(before, width, smoothly=True)
    h = width * many.margin
    assert np.all(after.values <= many.values(before.theta, before.margins, h))
    np.testing.assert_allclose(after.values, many.values(after.theta, after.margins, h))


def test_smoothed_losses_are_means_over_the_width() -> None:
    risk = residuals(*turned(40, 2, 0, 0.2), dc.cap(dc.square(), 1e9))
    many = ManyPoints(risk)
    u = np.linspace(-3, 3, 40)[None]
    offsets = np.linspace(-0.5, 0.5, 20001)
    mean = np.mean((u[0][:, None] + offsets) ** 2, axis=1)
    np.testing.assert_allclose(many.losses(u, 0.5)[0], mean, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(("seed", "best_known"), [(500, 14.1757), (501, 18.1423), (508, 7.9445)])
def test_of_maxima_over_classes_the_best_known_minimum_is_found(
    seed: int, best_known: float
) -> None:
    rng = np.random.default_rng(seed)
    n, p, k = 200, 10, 3
    centres, y = 2 * rng.normal(size=(k, p)), rng.integers(k, size=n)
    X = centres[y] + rng.normal(size=(n, p))
    y[: n // 10] = rng.integers(k, size=n // 10)
    assert AngleSVC().fit(X, y).objective_ <= best_known * (1 + 1e-4)


def test_smoothed_maxima_are_above_and_their_slopes_those_of_a_difference() -> None:
    rng = np.random.default_rng(0)
    rows = dc.angle_differences(rng.normal(size=(30, 2)), np.arange(30) % 4)
    many = ManyPoints(dc.Risk(rows, dc.hinge(), aggregate="max", transform=dc.cap_at(1.5)))
    losses, way = rng.exponential(size=(2, 1, 90))
    smooth, exact = many._aggregated(losses, 0.4), many._aggregated(losses)
    assert np.all((smooth >= exact) & (smooth <= exact + 0.2 * np.log(3)))
    change = (many._aggregated(losses + 1e-6 * way, 0.4) - smooth) / 1e-6
    slopes = np.sum((many._parts(losses, 0.4) * way).reshape(1, 30, 3), axis=2)
    np.testing.assert_allclose(slopes, change, rtol=1e-4)


def test_paths_end_lower_than_the_plain_run_and_repeat() -> None:
    for seed in range(3):
        risk = ramp(*flipped(300, 8, seed))
        many = ManyPoints(risk)
        none = many.at(np.zeros((0, 9)))
        ends, again = (
            graduated_paths(many, none, 8, np.random.default_rng(0), Deadline(None))
            for _ in range(2)
        )
        np.testing.assert_array_equal(ends.theta, again.theta)
        np.testing.assert_allclose(ends.values, [risk(x) for x in many.taken(ends.theta)])
        assert np.min(ends.values) < dc.solve(risk, **PLAIN).value


def test_paths_stop_at_the_deadline_with_points() -> None:
    many = ManyPoints(RISKS["ramp"])
    fits = many.at(np.ones((2, many.A.shape[1])))
    ends = graduated_paths(many, fits, 3, np.random.default_rng(0), Deadline(0.0))
    assert np.all(np.isfinite(ends.values))


def test_a_race_over_large_noise_ends_well_below_the_plain_run() -> None:
    X, y = flipped(1000, 30, 0)
    risk = ramp(X, y)
    assert dc.solve(risk).value < 0.97 * dc.solve(risk, **PLAIN).value


def blind_deconvolution(shift: float, constant: float) -> cp.Problem:
    """Five samples of the convolution of two unknown sequences, each moved by a shift."""
    rng = np.random.default_rng(1)
    x, k = rng.normal(size=4), rng.normal(size=2)
    y = np.convolve(x, k) + 0.1 * rng.normal(size=5)
    signal, filtering = cp.Variable(4) - shift, cp.Variable(2) - shift
    sums = [sum(filtering[j] * signal[i - j] for j in range(2) if 0 <= i - j < 4) for i in range(5)]
    shrinkage = 0.05 * cp.sum_squares(signal) + 0.05 * cp.sum_squares(filtering)
    return cp.Problem(cp.Minimize(cp.sum_squares(cp.hstack(sums) - y) + shrinkage + constant))


@pytest.mark.parametrize(("shift", "constant"), [(300, 0), (0, 1e7)])
def test_a_minimum_above_the_lower_bound_does_not_end_the_race(
    shift: float, constant: float
) -> None:
    # over the unit of the objective's values at 0, F varies by 1e8 and more
    result = dc.solve(blind_deconvolution(shift, constant))
    assert result.value - constant == pytest.approx(0.160396, rel=1e-4)
    assert result.value - constant < 0.995 * (result.starts[0].value - constant)


@cache
def deconvolved() -> Array:
    x = dc.solve(blind_deconvolution(0, 0), start="convex", n_starts=1).x
    assert x is not None
    return x


@pytest.mark.parametrize(("shift", "constant"), [(0, 0), (30, 0), (0, 1e5), (0, 1e6)])
def test_solvers_resolve_less_than_the_size_of_the_objective_at_its_minimum(
    shift: float, constant: float
) -> None:
    x = deconvolved() + shift
    surrogate = ProblemSurrogate(blind_deconvolution(shift, constant))
    surrogate.begin(x)
    assert 0 < surrogate.attainable < surrogate.scale(x) < 2
    surrogate.tighten(x)
    assert 0 < surrogate.attainable < surrogate.scale(x) < 2
    assert not _is_at_the_bound(surrogate, x)
