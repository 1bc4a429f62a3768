"""SmoothSVC: the paper's theory, agreement with other minimisers, the filter, the contract."""

from __future__ import annotations

import math
import pickle
from functools import partial
from itertools import islice
from typing import Any

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime, minimize
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

import dcprog as dc
from dcprog.foundation.arrays import Array
from dcprog.losses import hinge, pade_hinge, sigmoid_hinge, squared
from dcprog.models import SmoothSVC
from dcprog.penalties import l2
from dcprog.risk.risk import Risk
from dcprog.rows.linear import binary_margins
from dcprog.solvers.linalg.line_search import armijo
from dcprog.solvers.registry import explain_choice
from dcprog.solvers.smooth.newton import NewtonScore, Weighted
from dcprog.solvers.smooth.per_score import Separable
from examples.smooth_svm.outlier_filter import noisy

ETAS = [0.5, 1.0, 10.0, 1e4]
VARIANTS: list[dict[str, Any]] = [
    {"smoothing": "pade"},
    {"smoothing": "sigmoid"},
    {"smoothing": "sigmoid", "slack_norm": 2},
    {"smoothing": "pade", "slack_norm": 2},
]
SHAPES = [(60, 4), (20, 40)]


def _data(n: int = 60, d: int = 4, c: int = 2, noise: float = 0.15, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % c
    X = rng.standard_normal((n, d)) + 1.5 * np.eye(c, d)[y]
    flipped = rng.random(n) < noise
    y[flipped] = rng.integers(0, c, flipped.sum())
    return X, y


def _gradient(spec: Risk, theta: Array) -> Array:
    assert spec.sample_weight is not None
    return theta + spec.rows.T @ (spec.sample_weight * spec.base.slope(spec.margins(theta)))


def _slow_smoothing(t: float, model: SmoothSVC) -> float:
    eta = model.eta
    if model.smoothing == "sigmoid":
        return max(t, 0.0) + math.log1p(math.exp(-abs(eta * t))) / eta
    if abs(t) >= 1 / eta:
        return max(t, 0.0)
    z = (eta * t) ** 2
    return t / 2 + (1 + 10 * z + 5 * z**2) / (5 + 10 * z + z**2) / (2 * eta)


def _slow_objective(model: SmoothSVC, X: Array, y: Any, dropped: int = 0) -> float:
    """F sample by sample, as the paper writes it."""
    losses = []
    for x, label in zip(X, y, strict=True):
        shown = model.classes_[1:] if len(model.coef_) == 1 else model.classes_
        loss = 0.0
        for k, w, b in zip(shown, model.coef_, model.intercept_, strict=True):
            t = 1 - (1.0 if label == k else -1.0) * (float(w @ x) + b)
            loss += _slow_smoothing(t, model) ** model.slack_norm
        losses.append(model.C / model.slack_norm * loss)
    ridge = float(np.sum(model.coef_**2) + np.sum(model.intercept_**2)) / 2
    return ridge + sum(sorted(losses)[: len(losses) - dropped])


def _gaussians(displacement: float, m: int = 1000, both: bool = False, seed: int = 0) -> Any:
    """Section 3.5's data: N(±(2, 2), I), and a share of 0.025 moved past the other class."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(m) < m // 2, 1.0, -1.0)
    X = rng.standard_normal((m, 2)) + 2 * y[:, None]
    k = round(0.025 * m)
    if both:
        moved = np.r_[np.arange(k - k // 2), m // 2 + np.arange(k // 2)]
    else:
        moved = np.arange(k)
    X[moved] -= displacement * y[moved, None]
    return X, y, moved


# ---- the smoothing -------------------------------------------------------------------------------


@pytest.mark.parametrize("eta", ETAS)
def test_the_exact_gap_identity(eta: float) -> None:
    t = np.linspace(-1 / eta, 1 / eta, 2001)
    gap = pade_hinge(eta)(1 - t) - np.maximum(1 - (1 - t), 0)
    a = np.abs(1 - (1 - t)) * eta
    exact = (1 - np.minimum(a, 1)) ** 5 / (2 * eta * (5 + 10 * a**2 + a**4))
    np.testing.assert_allclose(gap, exact, rtol=0, atol=1e-15 * max(1, 1 / eta))
    assert np.max(gap) == pytest.approx(0.1 / eta)
    assert np.argmax(gap) == 1000
    assert np.all(np.diff(gap[1000:]) <= 1e-16)


@pytest.mark.parametrize("eta", ETAS[:3])
def test_joins_are_four_times_differentiable_and_no_more(eta: float) -> None:
    """The k-th derivative on the inside tends to that on the outside as (1 − η|t|)^{5−k}."""
    loss = pade_hinge(eta)
    for side, (value, slope) in {1.0: (1 / eta, -1.0), -1.0: (0.0, 0.0)}.items():
        u = 1 - side / eta
        assert loss(u) == pytest.approx(value, abs=1e-15 / eta)
        assert loss.slope(u) == pytest.approx(slope, abs=1e-13)
        assert loss.curvature(u) == pytest.approx(0.0, abs=1e-12 * eta)
    for share in (1e-2, 1e-3):
        x = 1 - share
        z, d = x * x, 5 + 10 * x**2 + x**4
        inside = loss.curvature(1 - x / eta) / eta
        assert inside == pytest.approx(40 * (5 + 3 * z) * ((1 - z) / d) ** 3, rel=1e-9)
        assert inside / share**3 == pytest.approx(40 * 8 * 8 / 16**3, rel=20 * share)


def test_the_printed_denominator_jumps() -> None:
    """11 in place of 10 ends 1/(34η) below the line it should join."""

    def printed(z: float) -> float:
        return 0.5 + (1 + 10 * z + 5 * z**2) / (5 + 11 * z + z**2) / 2

    assert 1 - printed(1.0) == pytest.approx(1 / 34)


@pytest.mark.parametrize("eta", ETAS)
@pytest.mark.parametrize("make", [pade_hinge, sigmoid_hinge])
def test_smoothings_are_convex_and_their_slopes_differences(make: Any, eta: float) -> None:
    loss, width = make(eta), 3 / eta
    u = 1 + np.linspace(-width, width, 1201)
    assert np.all(np.diff(loss.slope(u)) >= -1e-15)
    assert np.all(loss.curvature(u) >= 0)
    assert np.all(np.abs(loss.slope(u) + 0.5) <= 0.5)
    h = 1e-4 / eta
    slope = (loss(u + h) - loss(u - h)) / (2 * h)
    np.testing.assert_allclose(loss.slope(u), slope, atol=1e-6 + 1e-11 * eta)
    curvature = (loss.slope(u + h) - loss.slope(u - h)) / (2 * h)
    np.testing.assert_allclose(loss.curvature(u) / eta, curvature / eta, atol=1e-6)
    steepest = {pade_hinge: 1.6, sigmoid_hinge: 0.25}[make]
    assert np.max(loss.curvature(u)) == pytest.approx(steepest * eta)


# ---- the minimiser -------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_gradient_and_hessian_are_differences(
    variant: dict[str, Any], shape: tuple[int, int]
) -> None:
    X, y = _data(*shape)
    spec = SmoothSVC(C=0.7, eta=2.0, **variant).spec(X, y)
    theta = np.random.default_rng(1).normal(0, 0.3, shape[1] + 1)
    np.testing.assert_allclose(_gradient(spec, theta), approx_fprime(theta, spec, 1e-6), atol=2e-4)
    A = spec.matrix().toarray()
    assert spec.sample_weight is not None
    curvature = spec.sample_weight * spec.base.curvature(spec.margins(theta))
    hessian = np.eye(theta.size) + A.T * curvature @ A
    numeric = approx_fprime(theta, partial(_gradient, spec), 1e-7)
    np.testing.assert_allclose(hessian, numeric, atol=1e-4 * np.max(hessian))


@pytest.mark.parametrize("C", [0.01, 100.0])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_agrees_with_lbfgs(variant: dict[str, Any], shape: tuple[int, int], C: float) -> None:
    X, y = _data(*shape)
    model = SmoothSVC(C=C, eta=5.0, **variant).fit(X, y)
    spec = model.spec_
    generic: Any = minimize(  # type: ignore[call-overload]
        spec,
        np.zeros(shape[1] + 1),
        jac=lambda point: _gradient(spec, point),
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 20_000, "maxfun": 100_000},
    )
    assert model.objective_ == pytest.approx(generic.fun, rel=1e-8)
    assert model.objective_ <= generic.fun * (1 + 1e-10)
    assert _slow_objective(model, X, y) == pytest.approx(model.objective_, rel=1e-10)


@pytest.mark.parametrize("slack_norm", [1, 2])
def test_sigmoid_agrees_with_cvxpy(slack_norm: int) -> None:
    X, y = _data()
    model = SmoothSVC(smoothing="sigmoid", slack_norm=slack_norm, eta=5.0)
    fast, slow = clone(model).fit(X, y), clone(model).set_params(solver="cvxpy").fit(X, y)
    assert fast.objective_ == pytest.approx(slow.objective_, rel=1e-6)
    np.testing.assert_allclose(fast.coef_, slow.coef_, atol=1e-3)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_the_minimiser_is_unique(variant: dict[str, Any]) -> None:
    X, y = _data()
    model = SmoothSVC(**variant).fit(X, y)
    for seed in range(4):
        start = 10.0**seed * np.random.default_rng(seed).standard_normal(5)
        again = dc.solve(model.spec_, start=start)
        assert again.x is not None
        np.testing.assert_allclose(again.x, model.result_.x, atol=1e-7)


@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("smoothing", "gap"), [("pade", 0.1), ("sigmoid", math.log(2))])
def test_distance_to_the_exact_svm(
    smoothing: str, gap: float, shape: tuple[int, int], C: float
) -> None:
    """‖θ_η − θ*‖² ≤ 2·C·m·gap/η, with θ* by an interior point method."""
    X, y = _data(*shape)
    theta = cp.Variable(shape[1] + 1)
    A = np.where(y == 1, 1.0, -1.0)[:, None] * np.c_[X, np.ones(len(y))]
    limit = cp.sum_squares(theta) / 2 + C * cp.sum(cp.pos(1 - A @ theta))
    tight = {f"tol_{name}": 1e-10 for name in ("gap_abs", "gap_rel", "feas")}
    best = cp.Problem(cp.Minimize(limit)).solve(solver=cp.CLARABEL, **tight)
    for eta in (1.0, 10.0, 100.0, 1e4):
        model = SmoothSVC(C=C, eta=eta, smoothing=smoothing).fit(X, y)
        distance = float(np.sum((model.result_.x - theta.value) ** 2))
        assert distance <= 2 * C * len(y) * gap / eta + 1e-7
        assert best * (1 - 1e-7) <= model.objective_ <= best + C * len(y) * gap / eta + 1e-7
    assert model.objective_ == pytest.approx(best, rel=2e-3)


def test_every_newton_step_lowers_f() -> None:
    X, y = _data()
    for C, eta in ((0.1, 10.0), (1.0, 10.0), (1.0, 1e3), (100.0, 1e4)):
        spec = SmoothSVC(C=C, eta=eta).spec(X, y)
        scores = Separable(spec)
        losses = Weighted(spec.base, np.full(len(y), C))
        zero = np.zeros(len(y))
        score = NewtonScore(scores.ridge, losses, scores.signs[:, 0], zero, zero, search=armijo)
        before = np.inf
        for place in islice(score.path(np.zeros(5), 0.0), 80):
            assert place.value <= before + 1e-13 * place.size
            before = place.value
            if place.promise <= 1e-14 * place.size:
                break
        assert place.promise <= 1e-14 * place.size


def test_zero_gradient_at_the_end() -> None:
    X, y = _data(100, 10)
    for variant in VARIANTS:
        for eta in ETAS:
            model = SmoothSVC(eta=eta, **variant).fit(X, y)
            spec, theta = model.spec_, model.result_.x
            assert np.linalg.norm(_gradient(spec, theta)) <= 1e-8 * (1 + len(y))


def test_solver_chosen_and_why() -> None:
    X, y = _data()
    said = explain_choice(SmoothSVC().spec(X, y))
    assert "newton: chosen" in said
    assert "cvxpy: not chosen: its base pade_hinge(eta=10.0) has no cvxpy expression" in said
    for solver in ("auto", "newton"):
        model = SmoothSVC(solver=solver).fit(X, y)
        assert model.result_.solver == "newton"
        assert model.objective_ == pytest.approx(SmoothSVC().fit(X, y).objective_, rel=1e-12)
    with pytest.raises(ValueError, match="cannot take this risk"):
        SmoothSVC(solver="cvxpy").fit(X, y)


# ---- robustness, as far as it goes ---------------------------------------------------------------


@pytest.mark.parametrize("both", [False, True])
def test_one_norm_models_behave_alike_at_both_displacements(both: bool) -> None:
    for displacement, low, high in ((75.0, 0.94, 0.98), (150.0, 0.48, 0.56)):
        X, y, _ = _gaussians(displacement, both=both)
        exact = dc.solve(
            Risk.from_loss(binary_margins(X, y), hinge(), l2(1.0), penalized=np.ones(3))
        )
        assert exact.x is not None
        predicted = np.where(X @ exact.x[:2] + exact.x[2] > 0, 1.0, -1.0)
        accuracy = [
            float(np.mean(predicted == y)),
            *(SmoothSVC(smoothing=name).fit(X, y).score(X, y) for name in ("pade", "sigmoid")),
        ]
        assert min(accuracy) >= low
        assert max(accuracy) <= high
        assert abs(accuracy[1] - accuracy[0]) <= 0.005


@pytest.mark.parametrize("both", [False, True])
def test_squared_slacks_break_down_where_plain_ones_do_not(both: bool) -> None:
    X, y, _ = _gaussians(75.0, both=both)
    assert SmoothSVC(smoothing="sigmoid", slack_norm=2).fit(X, y).score(X, y) < 0.6
    assert SmoothSVC().fit(X, y).score(X, y) > 0.95


@pytest.mark.parametrize("filtering", ["one_step", "trimmed"])
@pytest.mark.parametrize("smoothing", ["pade", "sigmoid"])
@pytest.mark.parametrize("both", [False, True])
def test_the_filter_removes_exactly_the_planted_outliers(
    both: bool, smoothing: str, filtering: str
) -> None:
    X, y, moved = _gaussians(75.0, 400, both)
    model = SmoothSVC(outlier_ratio=0.025, filtering=filtering, smoothing=smoothing).fit(X, y)
    np.testing.assert_array_equal(np.flatnonzero(model.outlier_), np.sort(moved))
    clean = np.setdiff1d(np.arange(400), moved)
    assert model.score(X[clean], y[clean]) > 0.99
    refit = SmoothSVC(smoothing=smoothing).fit(X[clean], y[clean])
    np.testing.assert_allclose(model.coef_, refit.coef_, atol=1e-8)


@pytest.mark.parametrize("both", [False, True])
def test_the_filter_cannot_help_once_the_first_fit_has_flipped(both: bool) -> None:
    X, y, moved = _gaussians(150.0, both=both)
    model = SmoothSVC(outlier_ratio=0.025).fit(X, y)
    assert not np.any(model.outlier_[moved])
    assert model.outlier_.sum() == 25


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_one_step_is_a_fit_a_filter_and_a_refit(variant: dict[str, Any]) -> None:
    """The algorithm as published, in five lines."""
    X, y = _data(n=100, noise=0.2)
    first = SmoothSVC(**variant).fit(X, y)
    slack = np.maximum(1 - np.where(y == 1, 1, -1) * first.decision_function(X), 0)
    candidates = np.flatnonzero(slack >= np.percentile(slack, 90))
    dropped = candidates[np.argsort(-slack[candidates])[:7]]
    kept = np.setdiff1d(np.arange(100), dropped)
    second = SmoothSVC(**variant).fit(X[kept], y[kept])
    model = SmoothSVC(outlier_ratio=0.07, **variant).fit(X, y)
    np.testing.assert_array_equal(np.flatnonzero(model.outlier_), np.sort(dropped))
    np.testing.assert_allclose(model.coef_, second.coef_, atol=1e-8)
    np.testing.assert_allclose(model.intercept_, second.intercept_, atol=1e-8)


@pytest.mark.parametrize("filtering", ["one_step", "trimmed"])
def test_a_share_of_the_samples_is_rounded_up(filtering: str) -> None:
    X, y = _data(n=90, noise=0.3)
    assert SmoothSVC(outlier_ratio=0.05, filtering=filtering).fit(X, y).outlier_.sum() == 5


@pytest.mark.parametrize("seed", range(5))
def test_the_rest_is_fitted_once(seed: int) -> None:
    """Also where another filter would leave out other samples."""
    X, y = noisy(seed)
    model = SmoothSVC(outlier_ratio=0.15).fit(X, y)
    rest = SmoothSVC().fit(X[~model.outlier_], y[~model.outlier_])
    np.testing.assert_allclose(model.coef_, rest.coef_, atol=1e-6)


def test_one_step_leaves_out_no_more_than_a_tenth() -> None:
    X, y = _data(n=100, noise=0.3)
    assert SmoothSVC(outlier_ratio=0.3).fit(X, y).outlier_.sum() == 10
    assert SmoothSVC(outlier_ratio=0.3, filtering="trimmed").fit(X, y).outlier_.sum() == 30


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_trimmed_loss_goes_down_to_a_critical_point(variant: dict[str, Any]) -> None:
    X, y = _data(n=120, noise=0.3)
    model = SmoothSVC(outlier_ratio=0.15, filtering="trimmed", **variant).fit(X, y)
    values = model.result_.history.value
    assert np.max(np.diff(values), initial=-1.0) <= 1e-10 * values[0]
    assert model.result_.status == "converged"
    assert model.objective_ == pytest.approx(_slow_objective(model, X, y, 18), rel=1e-10)
    assert model.objective(X, y) == pytest.approx(model.objective_, rel=1e-12)
    one = SmoothSVC(outlier_ratio=0.099, **variant).fit(X, y)
    more = SmoothSVC(outlier_ratio=0.099, filtering="trimmed", **variant).fit(X, y)
    assert more.objective_ <= one.objective_ * (1 + 1e-12)
    kept = ~more.outlier_
    refit = SmoothSVC(**variant).fit(X[kept], y[kept])
    np.testing.assert_allclose(refit.coef_, more.coef_, atol=1e-4)


def test_restarts_go_no_higher_and_repeat() -> None:
    X, y = _data(n=120, noise=0.35)
    options: dict[str, Any] = {"outlier_ratio": 0.2, "filtering": "trimmed"}
    one = SmoothSVC(**options).fit(X, y)
    many = [SmoothSVC(**options, n_starts=6, random_state=0).fit(X, y) for _ in range(2)]
    assert many[0].objective_ <= one.objective_ * (1 + 1e-12)
    np.testing.assert_array_equal(many[0].coef_, many[1].coef_)


def test_without_outliers_one_start_is_enough() -> None:
    X, y = _gaussians(75.0, m=200)[:2]
    assert len(SmoothSVC().fit(X, y).result_.starts) == 1
    trimmed = SmoothSVC(outlier_ratio=0.1, filtering="trimmed").fit(X, y)
    assert len(trimmed.result_.starts) > 1


# ---- several classes -----------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_several_classes_are_one_against_the_rest(variant: dict[str, Any]) -> None:
    X, y = _data(n=90, c=3)
    model = SmoothSVC(**variant).fit(X, y)
    assert model.coef_.shape == (3, 4)
    for k in range(3):
        one = SmoothSVC(**variant).fit(X, y == k)
        np.testing.assert_allclose(model.coef_[k], one.coef_[0], atol=1e-8)
        np.testing.assert_allclose(model.intercept_[k], one.intercept_[0], atol=1e-8)
    assert _slow_objective(model, X, y) == pytest.approx(model.objective_, rel=1e-10)


def test_several_classes_leave_out_whole_samples() -> None:
    X, y = _data(n=90, c=3, noise=0.0)
    y[:5] = (y[:5] + 1) % 3
    X[:5] *= 10
    for filtering in ("one_step", "trimmed"):
        model = SmoothSVC(outlier_ratio=5 / 90, filtering=filtering).fit(X, y)
        assert model.outlier_.shape == (90,)
        assert model.outlier_.sum() == 5
        refit = SmoothSVC().fit(X[~model.outlier_], y[~model.outlier_])
        np.testing.assert_allclose(refit.coef_, model.coef_, atol=1e-7)


# ---- contract ------------------------------------------------------------------------------------


def test_attributes_and_shapes() -> None:
    X, y = load_iris(return_X_y=True)
    model = SmoothSVC().fit(X, y)
    assert model.coef_.shape == (3, 4)
    assert model.intercept_.shape == (3,)
    assert model.decision_function(X).shape == (150, 3)
    assert model.outlier_.shape == (150,)
    assert not model.outlier_.any()
    assert model.n_iter_ >= 1
    assert model.result_.status == "converged"
    assert model.score(X, y) > 0.9
    assert model.spec_(model.result_.x) == pytest.approx(model.objective_, rel=1e-12)
    binary = SmoothSVC().fit(X[y < 2], y[y < 2])
    assert binary.coef_.shape == (1, 4)
    assert binary.decision_function(X).shape == (150,)


def test_declared_spec_is_solved_like_the_model() -> None:
    X, y = _data(n=100, noise=0.3)
    model = SmoothSVC(outlier_ratio=0.2, filtering="trimmed")
    result = dc.solve(model.spec(X, y))
    assert result.value == pytest.approx(model.fit(X, y).objective_, rel=1e-9)
    assert model.spec(X, y).base.get_params() == pade_hinge(10.0).get_params()
    other = SmoothSVC(smoothing="sigmoid", slack_norm=2).spec(X, y)
    assert repr(other.base) == repr(squared(sigmoid_hinge(10.0)))


def test_string_labels_and_data_frames() -> None:
    X, y = _data()
    names = np.array(["ash", "birch"])[y]
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = SmoothSVC(outlier_ratio=0.1).fit(frame, names)
    assert set(model.predict(frame)) <= set(names)
    assert list(model.feature_names_in_) == list("abcd")
    plain = SmoothSVC(outlier_ratio=0.1).fit(X, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-10)


@pytest.mark.parametrize("ratio", [0.0, 0.1])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("shape", SHAPES)
def test_sparse_equals_dense(shape: tuple[int, int], classes: int, ratio: float) -> None:
    X, y = _data(*shape, classes)
    X[np.abs(X) < 0.5] = 0
    make = SmoothSVC(outlier_ratio=ratio, filtering="trimmed")
    dense, sparse = clone(make).fit(X, y), clone(make).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(dense.coef_, sparse.coef_, atol=1e-7)
    np.testing.assert_array_equal(dense.predict(X), sparse.predict(sp.csr_matrix(X)))


def test_pickle_and_clone() -> None:
    X, y = _data()
    model = SmoothSVC(outlier_ratio=0.1).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.objective(X, y) == model.objective(X, y)
    assert clone(model).get_params() == model.get_params()


def test_grid_search() -> None:
    X, y = _data()
    grid = {"smoothing": ["pade", "sigmoid"], "C": [0.1, 1.0]}
    search = GridSearchCV(SmoothSVC(), grid, cv=2)
    assert search.fit(X, y).best_score_ > 0.5


def test_too_few_iterations_warn() -> None:
    X, y = _data(n=300, noise=0.4)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        SmoothSVC(outlier_ratio=0.3, filtering="trimmed", max_iter=1, n_starts=1).fit(X, y)


# ---- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("C", 0.0),
        ("C", -1.0),
        ("C", np.nan),
        ("C", "one"),
        ("eta", 0.0),
        ("eta", -1.0),
        ("eta", np.nan),
        ("eta", np.inf),
        ("smoothing", "spline"),
        ("slack_norm", 0),
        ("slack_norm", 3),
        ("slack_norm", 1.5),
        ("outlier_ratio", 1.0),
        ("outlier_ratio", -0.1),
        ("outlier_ratio", np.nan),
        ("filtering", "median"),
        ("solver", 3),
        ("solver", "simplex"),
        ("tol", 0.0),
        ("max_iter", 0),
        ("n_starts", 0),
        ("random_state", "seed"),
        ("verbose", "loud"),
    ],
)
def test_bad_parameter_is_named(name: str, value: Any) -> None:
    X, y = _data()
    with pytest.raises(ValueError, match=name):
        SmoothSVC(**{name: value}).fit(X, y)


def test_a_ratio_that_leaves_nothing() -> None:
    X, y = _data(n=10)
    with pytest.raises(ValueError, match="leaves none of 10 samples"):
        SmoothSVC(outlier_ratio=0.95).fit(X, y)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_data_that_are_not_finite(bad: float) -> None:
    X, y = _data()
    X[3, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        SmoothSVC().fit(X, y)


def test_one_class() -> None:
    X, _ = _data()
    with pytest.raises(ValueError, match="class"):
        SmoothSVC().fit(X, np.zeros(60))


def test_objective_refuses_a_new_label() -> None:
    X, y = _data()
    with pytest.raises(ValueError, match="not one of the classes"):
        SmoothSVC().fit(X, y).objective(X, y + 1)
