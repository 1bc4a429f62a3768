"""RescaledHingeSVC: the paper's loop written out, its theory, the estimator contract, bad input."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.preprocessing import scale
from sklearn.svm import SVC

import dcprog as dc
from dcprog.foundation.arrays import Array
from dcprog.models import RescaledHingeSVC
from dcprog.models.rescaled_hinge import class_centre_weights
from dcprog.rows.kernel import expansion_margins
from examples.common.baselines import LOSSES, baseline, one_shot_weights

ETAS = [0.2, 0.5, 1.0, 2.0, 3.0]


def _data(n: int = 120, d: int = 3, noise: float = 0.15, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.7, 1.0, -1.0)
    y[rng.random(n) < noise] *= -1
    return X, y


def _beta(eta: float) -> float:
    return 1 / (1 - np.exp(-eta))


def _r1(f: Array, norm: float, y: Array, C: float, eta: float) -> float:
    """R_1 sample by sample, as the paper writes it."""
    margins = [float(a * b) for a, b in zip(y, f, strict=True)]
    losses = [_beta(eta) * (1 - np.exp(-eta * max(0.0, 1 - z))) for z in margins]
    return norm / 2 + C * sum(losses)


def _half_quadratic(
    K: Array, y: Array, C: float, eta: float, v: Array, rounds: int
) -> tuple[list[Array], list[float], Array]:
    """The paper's loop with LIBSVM: −v and R_1 after each round, and the last scores."""
    weights, values = [], []
    for _ in range(rounds):
        machine = SVC(C=1.0, kernel="precomputed", tol=1e-8, cache_size=500)
        machine.fit(K, y, sample_weight=C * _beta(eta) * eta * -v)
        a = np.zeros(len(y))
        a[machine.support_] = machine.dual_coef_[0]
        f = K @ a + machine.intercept_[0]
        v = -np.exp(-eta * np.maximum(1 - y * f, 0))
        weights.append(-v)
        values.append(_r1(f, float(a @ K @ a), y, C, eta))
    return weights, values, f


# ---- agreement with the paper's loop -------------------------------------------------------------


@pytest.mark.parametrize("eta", [0.5, 2.0])
@pytest.mark.parametrize("initial", ["ones", "class_center"])
def test_outer_loop_is_the_half_quadratic_algorithm(eta: float, initial: str) -> None:
    X, y = _data()
    K = rbf_kernel(X, gamma=0.4)
    start = class_centre_weights(X, y, 1.0) if initial == "class_center" else np.ones(len(y))
    known, values, f = _half_quadratic(K, y, 3.0, eta, -start, 6)
    for rounds in range(1, 7):
        model = RescaledHingeSVC(
            C=3.0, eta=eta, gamma=0.4, initial_weights=initial, max_iter=rounds, tol=1e-10
        ).fit(X, y)
        assert model.n_iter_ == rounds
        np.testing.assert_allclose(model.weights_[0], known[rounds - 1], atol=2e-5)
        assert model.objective_ == pytest.approx(values[rounds - 1], rel=1e-6)
    np.testing.assert_allclose(model.decision_function(X), f, atol=1e-4)


@pytest.mark.parametrize("solver", ["smo", "smo_first_order", "libsvm", "cvxpy"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_solvers_agree(solver: str, kernel: str) -> None:
    X, y = _data(60)
    auto = RescaledHingeSVC(kernel=kernel).fit(X, y)
    other = RescaledHingeSVC(kernel=kernel, solver=solver).fit(X, y)
    assert other.objective_ == pytest.approx(auto.objective_, rel=1e-6)


def test_declared_spec_through_both_front_doors() -> None:
    X, y = _data(40)
    model = RescaledHingeSVC(C=2.0, eta=1.0, max_iter=50)
    spec = model.spec(X, y)
    result = dc.solve(spec, max_iter=50)
    fitted = model.fit(X, y)
    assert fitted.result_.status == "converged"
    assert spec(fitted.result_.x) == pytest.approx(fitted.objective_, rel=1e-12)
    assert result.value == pytest.approx(fitted.objective_, rel=1e-4)
    problem = spec.problem()
    problem.variables()[0].value = fitted.result_.x
    assert problem.objective.value == pytest.approx(fitted.objective_, rel=1e-7)
    assert dc.solve(problem, start="current").value == pytest.approx(fitted.objective_, rel=1e-5)


@pytest.mark.parametrize("eta", ETAS)
def test_objective_is_the_plain_sum(eta: float) -> None:
    X, y = _data()
    model = RescaledHingeSVC(C=2.0, eta=eta).fit(X, y)
    f = model.decision_function(X)
    a = model.dual_coef_[0]
    K = rbf_kernel(X[model.support_], gamma=1 / (3 * X.var()))
    assert model.norm_[0] == pytest.approx(a @ K @ a, rel=1e-9)
    slow = _r1(f, model.norm_[0], y, 2.0, eta)
    assert model.objective_ == pytest.approx(slow, rel=1e-9)
    assert model.objective(X, y) == pytest.approx(slow, rel=1e-9)


# ---- theory --------------------------------------------------------------------------------------


@pytest.mark.parametrize("eta", ETAS)
def test_r1_never_rises_and_ends_stationary(eta: float) -> None:
    X, y = _data(noise=0.3)
    model = RescaledHingeSVC(C=2.0, eta=eta, max_iter=300, tol=1e-10).fit(X, y)
    value = model.result_.history.value
    assert np.max(np.diff(value), initial=-1.0) <= 1e-9 * value[0]
    a = np.zeros(len(y))
    a[model.support_] = model.dual_coef_[0]
    z = y * model.decision_function(X)
    cost = 2.0 * _beta(eta) * eta * np.exp(-eta * np.maximum(1 - z, 0))
    share = y * a / cost  # t_i of Clarke's condition
    assert abs(np.sum(a)) < 1e-9
    assert np.all(share > -1e-9)
    assert np.all(share < 1 + 1e-3)
    np.testing.assert_allclose(share[z < 1 - 1e-4], 1, atol=1e-3)
    np.testing.assert_allclose(share[z > 1 + 1e-4], 0, atol=1e-4)


@pytest.mark.parametrize("eta", ETAS)
def test_first_round_is_a_plain_machine_with_cost_c_beta_eta(eta: float) -> None:
    X, y = _data()
    model = RescaledHingeSVC(C=0.7, eta=eta, gamma=0.5, max_iter=1).fit(X, y)
    plain = SVC(C=0.7 * _beta(eta) * eta, gamma=0.5, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-5)
    assert model.n_iter_ == 1


def test_small_eta_is_the_plain_machine() -> None:
    X, y = _data()
    model = RescaledHingeSVC(eta=1e-6, gamma=0.5).fit(X, y)
    plain = SVC(gamma=0.5, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-4)


def test_remote_mislabelled_points_lose_their_weight() -> None:
    X, y = _data(noise=0.0)
    X, y = np.vstack([X, [[30.0, 0, 0], [-30.0, 0, 0]]]), np.append(y, [-1.0, 1.0])
    model = RescaledHingeSVC(C=1.0, eta=2.0, kernel="linear", max_iter=30).fit(X, y)
    assert np.all(model.outlier_weight_[-2:] < 1e-3)
    assert np.median(model.outlier_weight_[:-2]) > 0.5


def test_class_centre_weights_by_hand_and_by_kernel() -> None:
    X, y = _data(30)
    slow = []
    for x, label in zip(X, y, strict=True):
        centre = X[y == label].mean(axis=0)
        slow.append(2 / (1 + np.exp(0.8 * np.linalg.norm(x - centre))))
    np.testing.assert_allclose(class_centre_weights(X, y, 0.8), slow)
    np.testing.assert_allclose(class_centre_weights(sp.csr_array(X), y, 0.8), slow)
    np.testing.assert_allclose(class_centre_weights(X @ X.T, y, 0.8, is_kernel=True), slow)


# ---- kernels, classes, sizes ---------------------------------------------------------------------


def test_kernels_are_the_same_function_whichever_way_they_come() -> None:
    X, y = _data(60)
    Z = np.random.default_rng(1).standard_normal((20, 3))
    named = RescaledHingeSVC(gamma=0.3).fit(X, y)
    own = RescaledHingeSVC(kernel=lambda A, B: rbf_kernel(A, B, gamma=0.3)).fit(X, y)
    given = RescaledHingeSVC(kernel="precomputed").fit(rbf_kernel(X, gamma=0.3), y)
    sparse = RescaledHingeSVC(gamma=0.3).fit(sp.csr_array(X), y)
    expected = named.decision_function(Z)
    np.testing.assert_allclose(own.decision_function(Z), expected, atol=1e-7)
    np.testing.assert_allclose(
        given.decision_function(rbf_kernel(Z, X, gamma=0.3)), expected, atol=1e-7
    )
    np.testing.assert_allclose(sparse.decision_function(sp.csr_array(Z)), expected, atol=1e-6)
    poly = RescaledHingeSVC(kernel="poly", degree=2, coef0=1.0).fit(X, y)
    assert poly.score(X, y) > 0.8
    assert not hasattr(given, "support_vectors_")


@pytest.mark.parametrize("eta", [0.1, 2.0])
def test_a_linear_machine_is_the_same_in_the_primal_and_by_its_kernel_matrix(eta: float) -> None:
    X, y = _data(100)
    options: dict[str, Any] = {"kernel": "linear", "eta": eta, "tol": 1e-9}
    kernel = RescaledHingeSVC(solver="smo", **options).fit(X, y)
    primal = RescaledHingeSVC(**options).fit(X, y)
    assert (kernel.result_.solver, primal.result_.solver) == ("smo", "pivoting")
    for model in (kernel, primal):
        np.testing.assert_allclose(
            model.decision_function(X), X @ model.coef_[0] + model.intercept_
        )
        expansion = model.dual_coef_ @ model.support_vectors_
        np.testing.assert_allclose(expansion, model.coef_, atol=1e-4)
        assert abs(np.sum(model.dual_coef_)) <= 1e-4
    np.testing.assert_allclose(primal.coef_, kernel.coef_, atol=1e-4)
    np.testing.assert_allclose(primal.weights_, kernel.weights_, atol=1e-4)
    assert primal.objective_ == pytest.approx(kernel.objective_, rel=1e-8)


def test_a_linear_machine_takes_features_of_any_size_at_once() -> None:
    """Its expansion loses all digits to cancellation: SMO cannot end on such a kernel matrix."""
    X, y = load_breast_cancer(return_X_y=True)
    for size in (1.0, 1e4):
        model = RescaledHingeSVC(C=100.0, kernel="linear").fit(size * X, y)
        assert model.result_.status in ("converged", "max_iter")
        assert model.score(size * X, y) > 0.97


def test_without_a_matrix_a_linear_machine_goes_by_its_coefficients() -> None:
    X, y = _data(100)
    primal = RescaledHingeSVC(kernel="linear", memory_limit=1e-3, solver="cvxpy").fit(X, y)
    assert not hasattr(primal, "dual_coef_")  # cvxpy's solvers do not give them
    inside = np.flatnonzero(
        np.where(y == primal.classes_[1], 1, -1) * primal.decision_function(X) < 1
    )
    assert set(inside) <= set(primal.support_)
    with pytest.raises(ValueError, match="solver='auto'"):
        RescaledHingeSVC(kernel="linear", memory_limit=1e-3, solver="smo").fit(X, y)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_tolerance_below_rounding_is_no_burden(kernel: str) -> None:
    """It went to dense quadratic programs, which had no dual coefficients either."""
    X, y = _data(100)
    model = RescaledHingeSVC(C=10.0, kernel=kernel, tol=1e-14).fit(X, y)
    assert model.result_.history.attempts == ()
    Z = model.support_vectors_
    K = Z @ X.T if kernel == "linear" else rbf_kernel(Z, X, 1 / (X.shape[1] * X.var()))
    f = model.dual_coef_[0] @ K + model.intercept_
    np.testing.assert_allclose(f, model.decision_function(X), atol=1e-6)


def test_beyond_the_memory_limit_the_error_names_the_ways_out() -> None:
    X, y = _data(100)
    with pytest.raises(ValueError, match=r"nystroem.*linear"):
        RescaledHingeSVC(memory_limit=0.05).fit(X, y)
    model = RescaledHingeSVC(memory_limit=0.05, approximation="nystroem", n_components=40)
    assert model.fit(X, y).score(X, y) > 0.75
    assert model.coef_.shape == (1, 40)


@pytest.mark.parametrize("kernel", ["poly", "linear", lambda A, B: A @ B.T])
def test_nystroem_with_all_components_is_the_kernel(kernel: Any) -> None:
    X, y = _data(40)
    exact = RescaledHingeSVC(kernel=kernel, degree=2).fit(X, y)
    approximate = RescaledHingeSVC(
        kernel=kernel, degree=2, approximation="nystroem", n_components=40
    ).fit(X, y)
    np.testing.assert_allclose(
        approximate.decision_function(X), exact.decision_function(X), atol=1e-2
    )


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_several_classes_are_several_machines(multiclass: str) -> None:
    X, labels = load_wine(return_X_y=True)
    X, y = scale(X), np.array(["a", "b", "c"])[labels]
    model = RescaledHingeSVC(multiclass=multiclass).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.decision_function(X).shape == (178, 3)
    assert model.dual_coef_.shape == (3, model.support_.size)
    assert model.objective(X, y) == pytest.approx(model.objective_, rel=1e-9)
    assert model.weights_.shape == (3, 178)
    gamma = 1 / (13 * X.var())
    positive, among = ("b", labels < 2) if multiclass == "ovo" else ("a", labels >= 0)
    alone = RescaledHingeSVC(gamma=gamma).fit(X[among], (y == positive)[among])
    np.testing.assert_allclose(model._scores(X)[:, 0], alone.decision_function(X), atol=1e-5)


def test_precomputed_kernel_in_cross_validation() -> None:
    X, y = _data(90)
    named = cross_val_score(RescaledHingeSVC(gamma=0.3), X, y, cv=3)
    given = cross_val_score(
        RescaledHingeSVC(kernel="precomputed"), rbf_kernel(X, gamma=0.3), y, cv=3
    )
    np.testing.assert_array_equal(named, given)


def test_reaching_ten_rounds_is_no_warning_and_said_in_the_result() -> None:
    X, y = _data(noise=0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = RescaledHingeSVC(C=5.0, eta=2.0, tol=1e-9).fit(X, y)
    assert model.n_iter_ == 10
    assert model.result_.status == "max_iter"
    assert np.isfinite(model.result_.gap)


# ---- baselines -----------------------------------------------------------------------------------


def test_one_shot_weights_by_hand() -> None:
    f, y = np.array([0.5, -2.0, 1.0]), np.array([1, 1, -1])
    np.testing.assert_allclose(one_shot_weights(f, 16, y), np.exp([-0.25, -1.5, -1.0]))
    np.testing.assert_allclose(one_shot_weights(f, 17), 1 - np.abs(f) / 2.001)
    np.testing.assert_allclose(one_shot_weights(f, 18), 2 / (1 + np.exp(0.7 * np.abs(f))))
    np.testing.assert_allclose(one_shot_weights(f, 19), [2 / 3, 1 / 3, 1 / 2])
    with pytest.raises(ValueError, match="16, 17, 18 or 19"):
        one_shot_weights(f, 20)
    with pytest.raises(ValueError, match="labels"):
        one_shot_weights(f, 16)


def test_weighted_machine_is_libsvms() -> None:
    X, y = _data()
    K = rbf_kernel(X, gamma=0.5)
    weights = one_shot_weights(SVC(gamma=0.5).fit(X, y).decision_function(X), 19)
    rows = expansion_margins(K, y)
    risk = baseline(rows, "svm", 2.0, weights)
    machine = SVC(C=2.0, gamma=0.5, tol=1e-8).fit(X, y, sample_weight=weights)
    theta = dc.solve(risk).x
    assert theta is not None
    np.testing.assert_allclose(K @ theta[:-1] + theta[-1], machine.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_baselines_are_declarations(name: str) -> None:
    X, y = _data(40)
    risk = baseline(dc.binary_margins(X, y), name, 2.0)
    result = dc.solve(risk)
    assert result.status == "converged"
    theta = result.x
    assert theta is not None
    z = y * (X @ theta[:-1] + theta[-1])
    slow = {
        "svm": np.maximum(1 - z, 0),
        "ramp": np.maximum(1 - z, 0) - np.maximum(-1 - z, 0),
        "closs": (1 - np.exp(-0.5 * (1 - z) ** 2)) / (1 - np.exp(-0.5)),
        "l2svm": np.maximum(1 - z, 0) ** 2 / 2,
        "lssvm": (1 - z) ** 2 / 2,
    }[name]
    assert result.value == pytest.approx(theta[:-1] @ theta[:-1] / 2 + 2 * slow.sum(), rel=1e-9)
    with pytest.raises(ValueError, match="choose one of"):
        baseline(risk.rows, "perceptron")


# ---- the estimator contract ----------------------------------------------------------------------


def test_pickle_clone_and_grid() -> None:
    X, y = _data(60)
    model = RescaledHingeSVC(C=2.0).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert clone(model).get_params() == model.get_params()
    search = GridSearchCV(RescaledHingeSVC(), {"C": [0.1, 1.0], "eta": [0.5, 2.0]}, cv=2)
    assert search.fit(X, y).best_score_ > 0.6


BAD: list[tuple[dict[str, Any], str]] = [
    ({"C": 0.0}, "'C'"),
    ({"C": "a"}, "'C'"),
    ({"eta": 0.0}, "'eta'"),
    ({"eta": -1.0}, "'eta'"),
    ({"kernel": "sigmoid"}, "'kernel'"),
    ({"gamma": 0.0}, "'gamma'"),
    ({"gamma": "wide"}, "'gamma'"),
    ({"degree": 0}, "'degree'"),
    ({"coef0": -1.0}, "'coef0'"),
    ({"initial_weights": "zeros"}, "'initial_weights'"),
    ({"theta": 0.0}, "'theta'"),
    ({"max_iter": 0}, "'max_iter'"),
    ({"multiclass": "angle"}, "'multiclass'"),
    ({"approximation": "fourier"}, "'approximation'"),
    ({"approximation": "nystroem", "kernel": "precomputed"}, "nystroem"),
    ({"n_components": 0}, "'n_components'"),
    ({"memory_limit": 0.0}, "'memory_limit'"),
    ({"solver": "simplex"}, "simplex"),
    ({"solver": 3}, "'solver'"),
    ({"solver": "newton"}, "slope jumps"),
    ({"tol": 0.0}, "'tol'"),
    ({"random_state": "x"}, "'random_state'"),
    ({"verbose": -1}, "'verbose'"),
]


@pytest.mark.parametrize(("options", "words"), BAD, ids=str)
def test_bad_parameters_are_named(options: dict[str, Any], words: str) -> None:
    X, y = _data(20)
    with pytest.raises((ValueError, TypeError), match=words):
        RescaledHingeSVC(**options).fit(X, y)


def test_bad_data_is_refused() -> None:
    X, y = _data(20)
    with pytest.raises(ValueError, match="one class"):
        RescaledHingeSVC().fit(X, np.ones(20))
    with pytest.raises(ValueError, match="NaN"):
        RescaledHingeSVC().fit(np.full((20, 2), np.nan), y)
    with pytest.raises(ValueError, match="square"):
        RescaledHingeSVC(kernel="precomputed").fit(X, y)
    with pytest.raises(ValueError, match="symmetric"):
        RescaledHingeSVC(kernel="precomputed").fit(np.triu(np.ones((20, 20))), y)
    with pytest.raises(ValueError, match="returned shape"):
        RescaledHingeSVC(kernel=lambda A, B: np.ones(3)).fit(X, y)
    with pytest.raises(ValueError, match="one declaration is of two"):
        RescaledHingeSVC().spec(X, np.arange(20) % 3)
    with pytest.raises(ValueError, match="not one of the classes"):
        RescaledHingeSVC().fit(X, y).objective(X, np.full(20, 7.0))
