"""The capped SVM's convergence theory, as its example measures it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.datasets import load_wine
from sklearn.preprocessing import minmax_scale

from examples.capped_svm import verify_convergence as script
from examples.capped_svm.degenerate import Kink, all_capped_claims, kink_claims
from examples.capped_svm.descent import equality_claim, measure_descent
from examples.capped_svm.gap import dual_value, gap_disagreement
from examples.capped_svm.model import Model, published_step
from examples.capped_svm.passes import Judged, compare_passes, judge
from examples.capped_svm.runs import Run, blobs, descend
from examples.capped_svm.stationarity import criticality_residual, measure_stationarity

POWERS = [0.5, 1.0, 1.5, 2.0]
DATA = ["three classes", "two classes", "d > n", "Wine"]


def _model(data: str, p: float, delta: float = 1e-8) -> Model:
    match data:
        case "three classes":
            return Model(*blobs(40, 4, 3, 0.3, 0), p, 1.0, 0.5, delta)
        case "two classes":
            return Model(*blobs(40, 4, 2, 0.2, 0), p, 1.0, 0.1, delta)
        case "d > n":
            return Model(*blobs(20, 40, 3, 0.2, 0), p, 1.0, 5.0, delta)
    X, y = load_wine(return_X_y=True)
    return Model(minmax_scale(X), y, p, 0.5, 0.1, delta)


RUNS = list(zip(DATA, (1.5, 2.0, 0.5, 1.0), strict=True))  # every set and every power once


@pytest.fixture(scope="module", params=RUNS, ids=str)
def run(request: pytest.FixtureRequest) -> Run:
    data, p = request.param
    return descend(data, _model(data, p), "exact")


# ---- the measures themselves ---------------------------------------------------------------------


@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize("data", DATA[:3])
def test_value_and_points_are_the_librarys(data: str, p: float) -> None:
    model = _model(data, p)
    spec = model.spec()
    theta = np.random.default_rng(0).normal(0, 0.3, spec.rows.shape[1])
    coef, intercept = spec.rows.unpack(theta)
    np.testing.assert_array_equal(model.split(theta)[0], coef)
    np.testing.assert_array_equal(model.split(theta)[1], intercept)
    assert model.value(theta) == pytest.approx(spec(theta), rel=1e-12)


@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize("data", DATA[:2])
def test_gradient_is_that_of_the_values(data: str, p: float) -> None:
    model = _model(data, p)
    theta = np.random.default_rng(0).normal(0, 0.3, model.spec().rows.shape[1])
    slope = np.tensordot(model.weights(model.g(theta)), model.g_slope(theta), axes=1)
    slope += model.ridge_slope(theta)
    packed = np.concatenate([slope[:, :-1].ravel(), slope[:, -1]])
    np.testing.assert_allclose(packed, approx_fprime(theta, model.value, 1e-7), atol=1e-4)


def test_residual_of_a_sample_at_the_cap_takes_its_best_share() -> None:
    gamma = 0.5
    w = 2 / (2 + gamma)
    model = Model(np.array([[-1.0], [1.0]]), np.array([0, 1]), 2.0, (1 - w) ** 2, gamma, 0.0)
    point = np.array([w, 0.0])
    residual, _ = criticality_residual(model, point)
    assert residual <= 1e-6
    assert model.value(np.zeros(2)) < model.value(point)
    assert criticality_residual(model, np.array([w + 0.1, 0.0]))[0] > 0.1


@pytest.mark.parametrize(("gamma", "expected"), [(0.8, 0.0), (1.5, 1.0)])
def test_residual_at_a_kink_heeds_the_norm_bound(gamma: float, expected: float) -> None:
    """J = 2[1 − w]₊ + γw² at w = 1: the hinges hold 2 of the ridge's 2γ, no more."""
    X, y = np.array([[-1.0], [1.0]]), np.array([0, 1])
    model = Model(X, y, 1.0, 9.0, gamma, 1e-8)
    residual, kinks = criticality_residual(model, np.array([1.0, 0.0]))
    assert kinks == 2
    assert residual == pytest.approx(expected, abs=1e-6)


# ---- theorem 1 -----------------------------------------------------------------------------------


def test_both_inequalities_and_descent_at_every_step(run: Run) -> None:
    worst = measure_descent(run)
    assert worst.supergradient <= 1e-12
    assert worst.optimality <= 1e-12
    assert worst.rise <= 1e-12
    assert worst.shortfall <= 1e-12
    assert worst.sandwich <= 1e-12


@pytest.mark.parametrize(("data", "p"), RUNS)
def test_both_inequalities_hold_for_the_single_pass(data: str, p: float) -> None:
    model = _model(data, p, delta=1e-3)
    passes = descend(data, model, "single pass", max_iter=60)
    worst = measure_descent(passes)
    assert len(passes.points) > 1
    assert max(worst.supergradient, worst.optimality, worst.rise, worst.shortfall) <= 1e-12


def test_equal_values_do_not_mean_a_fixed_point() -> None:
    claim = equality_claim()
    assert not claim.holds
    assert not claim.expected


# ---- theorem 2 -----------------------------------------------------------------------------------


def test_runs_end_at_stationary_points_off_the_cap(run: Run) -> None:
    end = measure_stationarity(run)
    assert end.to_cap > 1e-6
    assert end.gradient <= 5e-3
    if run.model.p != 1.5:
        assert end.residual <= 1e-3
    if run.values[0] - run.values[-1] > 1e-6:
        assert end.at_start > 0.1
    if run.model.p >= 1:
        assert end.below <= 1e-12


@pytest.mark.parametrize("data", DATA)
def test_residual_for_p_between_1_and_2_falls_with_smoothing(data: str) -> None:
    ends = []
    for delta in (1e-8, 1e-16):
        run = descend(data, _model(data, 1.5, delta), "exact")
        ends.append(criticality_residual(run.model, run.points[-1])[0])
    assert ends[1] <= 1e-3
    assert ends[0] <= 0.5


def test_reported_gap_is_that_of_another_solver(run: Run) -> None:
    miss, last = gap_disagreement(run)
    assert miss <= 1e-6
    assert last <= 1e-6


def test_the_dual_bound_is_below_every_value() -> None:
    model = _model("three classes", 1.0)
    rng = np.random.default_rng(0)
    d = rng.uniform(0.1, 2, 40)
    for _ in range(20):
        bound = dual_value(model, d, rng.uniform(0, 1, (40, 3)))
        theta = rng.normal(0, 0.5, 15)
        assert bound <= d @ model.g(theta) + model.ridge(theta)


# ---- where the publication fails -----------------------------------------------------------------


@pytest.mark.parametrize("gamma", [0.25, 0.5, 1.0, 2.0])
def test_kink_of_the_cap_is_a_fixed_point_with_a_way_down(gamma: float) -> None:
    kink = Kink(gamma)
    end, result = kink.solve(kink.point)
    assert end == pytest.approx(kink.point, abs=1e-12)
    assert result.gap <= 1e-12
    assert kink.slope(-1) == pytest.approx(-2 * gamma / (1 + gamma), abs=1e-6)  # a way down
    assert kink.slope(1) >= -1e-6
    assert kink.value(0.0) == pytest.approx(kink.eps)
    assert kink.value(0.0) < kink.value(kink.point)
    w = np.linspace(-1, 2, 301)
    assert np.all(kink.majorant(w) >= kink.value(w) - 1e-15)
    beside, _ = kink.solve(kink.point - 1e-6)
    assert beside == pytest.approx(0, abs=1e-9)


def test_degenerate_points_come_out_as_expected() -> None:
    for claim in [*kink_claims(), *all_capped_claims()]:
        assert claim.holds == claim.expected, claim.text


@pytest.mark.parametrize("p", [0.5, 1.0, 1.5])
def test_without_smoothing_satisfied_samples_have_infinite_weights(p: float) -> None:
    run = descend("", _model("Wine", p), "exact", max_iter=1)
    sharp, start = run.model.unsmoothed, run.points[0]
    assert np.any(np.isinf(sharp.weights(sharp.g(start))))
    assert not np.all(np.isfinite(published_step(sharp, start)))
    assert np.all(np.isfinite(published_step(run.model, start)))
    with pytest.raises(ValueError, match="delta=0"):
        sharp.spec()


def test_published_step_is_the_librarys_single_pass() -> None:
    run = descend("", _model("three classes", 1.0, 1e-2), "single pass", max_iter=3)
    for x, new in zip(run.points, run.points[1:], strict=False):
        np.testing.assert_allclose(published_step(run.model, x), new, atol=1e-8)


# ---- the single pass -----------------------------------------------------------------------------


def _end(p: float, label: str, delta: float = 1e-8) -> Judged:
    model = replace(_model("three classes", p), delta=delta)
    return judge(label, model, passes=800)


@pytest.mark.slow
@pytest.mark.parametrize("p", [0.5, 1.0])
def test_single_pass_stalls_for_small_smoothing(p: float) -> None:
    exact, stalled = _end(p, "exact"), _end(p, "single")
    assert stalled.value > 1.3 * exact.value
    assert stalled.gap > 1
    assert stalled.run.result.gap < 1e-2  # its own majorant's: no sign of the stall
    assert abs(exact.gap) <= 1e-6


@pytest.mark.slow
def test_larger_smoothing_cures_the_stall_for_p_1() -> None:
    exact = _end(1.0, "exact")
    for delta in (1e-3, 1e-2):
        cured = _end(1.0, "single", delta)
        assert cured.value < 1.05 * exact.value
        assert cured.gap < 0.1


def test_single_pass_agrees_with_exact_steps_for_p_2() -> None:
    exact, single = _end(2.0, "exact"), _end(2.0, "single")
    assert single.value == pytest.approx(exact.value, rel=1e-8)
    assert exact.run.result.n_iter < 10 < single.run.result.n_iter


# ---- the script ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_tables_claims_and_plots(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    some = [(data, _model(data, p)) for data in ("Wine", "two classes") for p in POWERS]
    monkeypatch.setattr(script, "problems", lambda full, quick: some)
    monkeypatch.setattr(script, "compare_passes", lambda seeds: compare_passes(1))
    assert script.main(["--output", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert len(re.findall(r"^(?:Wine|two classes)  ", printed, re.M)) == len(some)
    assert len(re.findall(r"^p = ", printed, re.M)) == len(POWERS)
    assert (count := re.search(r"^(\d+) of (\d+) claims as expected", printed, re.M))
    assert count[1] == count[2]
    assert int(count[1]) >= 35
    assert "8 exact and 8 single-pass runs" in printed
    for name in ("descent", "kink"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
