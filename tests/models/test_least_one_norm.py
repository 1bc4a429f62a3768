"""LeastOneNormSVC: SVR, primal and dual programs, optimality, SMO, the estimator contract."""

from __future__ import annotations

import pickle
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import scale
from sklearn.svm import SVR

import dcprog as dc
from dcprog.foundation.arrays import Array
from dcprog.models import LeastOneNormSVC
from dcprog.models.least_one_norm import DUAL, optimality
from dcprog.rows.kernel import kernel_margins
from examples.common.baselines import baseline
from examples.least_one_norm import smo_steps


def _data(n: int = 60, seed: int = 0, apart: float = 1.0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    return rng.standard_normal((n, 3)) + apart * y[:, None], y


def _coefficients(model: LeastOneNormSVC, n: int) -> Array:
    a = np.zeros(n)
    a[model.support_] = model.dual_coef_[0]
    return a


# ---- agreement -----------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.1, 20.0])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_objective_is_that_of_primal_dual_and_regression(C: float, kernel: str) -> None:
    X, y = _data()
    K = rbf_kernel(X, gamma=0.3) if kernel == "rbf" else X @ X.T
    model = LeastOneNormSVC(C=C, kernel=kernel, gamma=0.3).fit(X, y)

    values, vectors = np.linalg.eigh(K)
    factor = vectors * np.sqrt(np.maximum(values, 0))
    w, b, alpha = cp.Variable(60), cp.Variable(), cp.Variable(60)
    primal = cp.sum_squares(w) / 2 + C * cp.norm1(factor @ w + b - y)
    value = cp.Problem(cp.Minimize(primal)).solve(solver="CLARABEL")
    dual = cp.sum_squares(factor.T @ cp.multiply(y, alpha)) / 2 - cp.sum(alpha)
    constraints = [cp.abs(alpha) <= C, y @ alpha == 0]
    least = cp.Problem(cp.Minimize(dual), constraints).solve(solver="CLARABEL")
    assert value + least == pytest.approx(0, abs=1e-6 * (1 + value))
    assert model.objective_ == pytest.approx(value, rel=1e-6)

    machine = SVR(C=C, epsilon=0.0, kernel="precomputed", tol=1e-8).fit(K, y)
    np.testing.assert_allclose(model.decision_function(X), machine.predict(K), atol=1e-3)


@pytest.mark.parametrize("solver", sorted(DUAL))
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_solvers_agree(solver: str, kernel: str) -> None:
    X, y = _data()
    reference = LeastOneNormSVC(C=3.0, kernel=kernel).fit(X, y)
    model = LeastOneNormSVC(C=3.0, kernel=kernel, solver=solver).fit(X, y)
    assert model.objective_ == pytest.approx(reference.objective_, rel=1e-6)
    np.testing.assert_allclose(
        model.decision_function(X), reference.decision_function(X), atol=1e-3
    )


def test_objective_is_the_plain_sum() -> None:
    X, y = _data()
    model = LeastOneNormSVC(C=2.0, gamma=0.3).fit(X, y)
    a, f = _coefficients(model, 60), model.decision_function(X)
    slow = a @ rbf_kernel(X, gamma=0.3) @ a / 2
    slow += 2.0 * sum(abs(1 - label * score) for label, score in zip(y, f, strict=True))
    assert model.objective_ == pytest.approx(slow, rel=1e-9)
    assert model.objective(X, y) == pytest.approx(slow, rel=1e-9)
    assert model.spec(X, y)(model.result_.x) == pytest.approx(slow, rel=1e-9)


# ---- theory --------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["auto", "smo", "libsvm"])
@pytest.mark.parametrize("C", [0.05, 50.0])
def test_optimality_conditions(solver: str, C: float) -> None:
    X, y = _data()
    model = LeastOneNormSVC(C=C, gamma=0.3, solver=solver, tol=1e-8).fit(X, y)
    report = model.optimality(X, y)
    assert report.stationarity < 1e-3
    assert report.balance < 1e-9 * (1 + 60 * C)
    assert report.box <= 0
    assert 0 <= report.gap < 1e-8 * (1 + model.objective_)
    lower, upper = report.intercepts
    assert lower - 1e-3 <= model.intercept_[0] <= upper + 1e-3
    assert np.max(np.abs(model.dual_coef_)) <= C


def test_intercept_is_the_mean_over_free_samples_or_the_middle() -> None:
    X, y = _data()
    model = LeastOneNormSVC(C=1.0, gamma=0.3, tol=1e-8).fit(X, y)
    a = _coefficients(model, 60)
    r = y - rbf_kernel(X, gamma=0.3) @ a
    free = np.abs(a) < 1 - 1e-9
    assert free.any()
    assert model.intercept_[0] == pytest.approx(np.mean(r[free]), abs=1e-6)
    two = LeastOneNormSVC(C=0.1, kernel="linear").fit([[-1.0], [1.0]], [0, 1])
    np.testing.assert_allclose(np.abs(two.dual_coef_), 0.1)
    lower, upper = two.optimality([[-1.0], [1.0]], [0, 1]).intercepts
    assert lower < upper
    assert two.intercept_[0] == pytest.approx((lower + upper) / 2, abs=1e-12)


def test_changing_a_label_beyond_the_function_changes_nothing() -> None:
    """w stays the same while y_i − f(x_i) keeps its sign: regression on targets."""
    X, y = _data(apart=0.3)
    K = rbf_kernel(X, gamma=0.3)
    rows = dc.kernel_residuals(K, y)
    before = dc.solve(dc.Risk.from_loss(rows, dc.absolute(), dc.l2(1.0)), tol=1e-9)
    assert before.x is not None
    residual = rows @ before.x + y
    far = int(np.argmax(np.abs(residual)))
    moved = y.copy()
    moved[far] += 5.0 * np.sign(residual[far])
    after_rows = dc.kernel_residuals(K, moved)
    after = dc.solve(dc.Risk.from_loss(after_rows, dc.absolute(), dc.l2(1.0)), tol=1e-9)
    assert after.x is not None
    np.testing.assert_allclose(after.x, before.x, atol=1e-4)


def test_least_squares_machine_solves_its_linear_system() -> None:
    X, y = _data()
    K, C = rbf_kernel(X, gamma=0.3), 2.0
    rows = kernel_margins(K, y)
    theta = dc.solve(baseline(rows, "lssvm", C)).x
    assert theta is not None
    system = np.block(
        [[np.zeros((1, 1)), np.ones((1, 60))], [np.ones((60, 1)), K + np.eye(60) / C]]
    )
    solution = np.linalg.solve(system, np.append(0.0, y))
    f = K @ solution[1:] + solution[0]
    np.testing.assert_allclose(y * (rows @ theta), f, atol=1e-6)
    alpha = y * solution[1:]
    np.testing.assert_allclose(y * f, 1 - alpha / C, atol=1e-9)


def test_mislabelled_sample_moves_the_least_squares_line_more() -> None:
    rng = np.random.default_rng(0)
    wins = 0
    for _ in range(10):
        X = np.vstack([rng.standard_normal((20, 2)), rng.normal([5, 2], size=(20, 2))])
        y = np.repeat([1.0, -1.0], 20)
        switched = y.copy()
        switched[[0, 20]] *= -1
        turns = []
        for name in ("l1", "ls"):
            directions = []
            for labels in (y, switched):
                if name == "l1":
                    w = LeastOneNormSVC(kernel="linear").fit(X, labels).coef_[0]
                else:
                    theta = dc.solve(baseline(dc.binary_margins(X, labels), "lssvm")).x
                    assert theta is not None
                    w = theta[:2]
                directions.append(w / np.linalg.norm(w))
            turns.append(np.arccos(np.clip(directions[0] @ directions[1], -1, 1)))
        wins += turns[0] < turns[1]
    assert wins >= 8


def test_first_order_smo_counts_its_pairs() -> None:
    X, y = _data()
    model = LeastOneNormSVC(C=1.0, solver="smo").fit(X, y)
    assert model.n_iter_ == model.result_.solver_steps > 10
    assert LeastOneNormSVC(C=1.0, solver="qp").fit(X, y).n_iter_ == 1


def test_smo_by_name_moves_the_most_violating_pairs() -> None:
    """The published loop, in NumPy, is where the model is after as many pairs."""
    X, y = _data()
    K = rbf_kernel(X, gamma=0.3)
    apart = {}
    for solver in ("smo", "auto"):
        model = LeastOneNormSVC(C=3.0, kernel="precomputed", solver=solver).fit(K, y)
        published = smo_steps.published(K, y, 3.0, model.n_iter_)
        apart[solver] = float(np.max(np.abs(_coefficients(model, 60) - published)))
    assert apart["smo"] < 1e-3
    assert apart["auto"] > 0.1  # pairs of the second order are fewer


def test_optimality_of_a_point_that_is_not() -> None:
    K, y = np.eye(4), np.array([1.0, 1.0, -1.0, -1.0])
    a = np.array([2.0, 0.0, 0.0, 0.0])
    report = optimality(a, K @ a, y, 0.0, 1.0)
    assert report.box == 1.0
    assert report.balance == 2.0
    assert report.stationarity == 1.0


# ---- kernels and classes -------------------------------------------------------------------------


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_several_classes(multiclass: str) -> None:
    X, y = load_wine(return_X_y=True)
    model = LeastOneNormSVC(multiclass=multiclass).fit(scale(X), y)
    assert model.score(scale(X), y) > 0.95
    assert model.dual_coef_.shape[0] == 3
    assert model.objective(scale(X), y) == pytest.approx(model.objective_, rel=1e-9)
    with pytest.raises(ValueError, match="two classes"):
        model.optimality(scale(X), y)


def test_precomputed_kernel_in_cross_validation() -> None:
    X, y = _data(90)
    named = cross_val_score(LeastOneNormSVC(gamma=0.3), X, y, cv=3)
    given = cross_val_score(
        LeastOneNormSVC(kernel="precomputed"), rbf_kernel(X, gamma=0.3), y, cv=3
    )
    np.testing.assert_array_equal(named, given)


def test_nystroem_and_memory_limit() -> None:
    X, y = _data(90)
    with pytest.raises(ValueError, match="nystroem"):
        LeastOneNormSVC(memory_limit=0.01).fit(X, y)
    model = LeastOneNormSVC(memory_limit=0.01, approximation="nystroem", n_components=20).fit(X, y)
    assert model.score(X, y) > 0.8
    report = model.optimality(X, y)  # of the machine of the features
    assert max(report.stationarity, report.balance, report.gap) <= 1e-4
    assert report.box == 0.0


def test_a_function_that_meets_all_labels_is_found_as_exactly_as_rounding_lets() -> None:
    """C·Σ|1 − yf| of the rounding errors alone is beyond the tolerance of a start."""
    rng = np.random.default_rng(34)
    X, y = rng.standard_normal((300, 4)), np.r_[1, np.zeros(299)].astype(int)
    model = LeastOneNormSVC(C=1e5).fit(X, y)
    assert model.result_.status == "converged"
    np.testing.assert_allclose(model.decision_function(X), np.where(y == 1, 1, -1), atol=1e-6)


@pytest.mark.parametrize("solver", ["auto", "smo", "libsvm", "qp"])
def test_an_indefinite_kernel_matrix_is_refused(solver: str) -> None:
    X, y = _data(90)
    K = rbf_kernel(X, gamma=0.3) - 0.5 * np.eye(90)  # with a positive diagonal
    with pytest.raises(ValueError, match="positive semidefinite"):
        LeastOneNormSVC(kernel="precomputed", solver=solver).fit(K, y)


# ---- the estimator contract ----------------------------------------------------------------------


def test_pickle_and_clone() -> None:
    X, y = _data()
    model = LeastOneNormSVC(C=2.0).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert clone(model).get_params() == model.get_params()


BAD: list[tuple[dict[str, Any], str]] = [
    ({"C": 0.0}, "'C'"),
    ({"C": np.inf}, "C"),
    ({"kernel": "sigmoid"}, "'kernel'"),
    ({"gamma": -1.0}, "'gamma'"),
    ({"solver": "newton"}, "'solver'"),
    ({"degree": 0}, "'degree'"),
    ({"coef0": -1.0}, "'coef0'"),
    ({"multiclass": "angle"}, "'multiclass'"),
    ({"approximation": "fourier"}, "'approximation'"),
    ({"approximation": "nystroem", "solver": "smo"}, "kernel matrix"),
    ({"n_components": 0}, "'n_components'"),
    ({"memory_limit": 0.0}, "'memory_limit'"),
    ({"tol": 0.0}, "'tol'"),
    ({"random_state": "x"}, "'random_state'"),
    ({"verbose": -1}, "'verbose'"),
]


@pytest.mark.parametrize(("options", "words"), BAD, ids=str)
def test_bad_parameters_are_named(options: dict[str, Any], words: str) -> None:
    X, y = _data(20)
    with pytest.raises((ValueError, TypeError), match=words):
        LeastOneNormSVC(**options).fit(X, y)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("C", [1.0, 100.0])
def test_the_quadratic_program_ends_at_dual_coefficients(kernel: str, C: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    model = LeastOneNormSVC(C=C, kernel=kernel, solver="qp").fit(X, y)
    auto = LeastOneNormSVC(C=C, kernel=kernel).fit(X, y)
    assert model.result_.solver == "dual_qp"
    assert model.objective_ == pytest.approx(auto.objective_, rel=1e-7)
    for report in (model.optimality(X, y), auto.optimality(X, y)):
        assert report.box <= 1e-9 * C
        assert report.stationarity <= 1e-5
        assert report.balance <= 1e-9 * C
        assert report.gap <= 1e-6 * (1 + model.objective_)
