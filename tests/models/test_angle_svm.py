"""AngleSVC: its losses as the paper writes them, its theory, the estimator contract, bad input."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV

import dcprog as dc
from dcprog.engine.certificate import criticality_gap
from dcprog.estimators.loop import cleared
from dcprog.foundation.arrays import Array
from dcprog.models import AngleSVC, fisher_gamma, is_fisher_consistent
from dcprog.risk.weighted import WeightedRisk
from dcprog.rows.angle import simplex_vertices

pytestmark = pytest.mark.filterwarnings("ignore::dcprog.foundation.errors.FisherConsistencyWarning")

FORMS = [1, 2]
PENALTIES = ["l2", "l1", "elasticnet"]
MAJORANTS = ["cap", "dc"]


def _data(n: int = 45, d: int = 4, k: int = 3, noise: float = 0.15, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    X = rng.standard_normal((n, d)) + 2 * np.eye(k, d)[y]
    flipped = rng.random(n) < noise
    y[flipped] = rng.integers(0, k, flipped.sum())
    return X, y


def _hinge(a: float, u: Any) -> Any:
    return np.maximum(a - u, 0)


def _smallest_difference(U: Array, y: Any) -> Array:
    """The m_i = min over j ≠ y of u_y − u_j."""
    rows = np.arange(len(y))
    differences = U[rows, y][:, None] - U
    differences[rows, y] = np.inf
    return differences.min(axis=1)


def _paper_loss(form: int, U: Array, y: Any, s: float | None, gamma: float) -> Array:
    """φ₁ or φ₂ sample by sample from the scores U, as the paper writes them."""
    k = U.shape[1]
    if form == 2:
        m = _smallest_difference(U, y)
        return _hinge(1, m) - (0 if s is None else _hinge(s, m))
    own = U[np.arange(len(y)), y]
    first, others = _hinge(k - 1, own), np.maximum(1 + U, 0)
    if s is not None:
        first = first - _hinge((k - 1) * s, own)
        others = others - np.maximum(s + U, 0)
    others[np.arange(len(y)), y] = 0
    return gamma * first + (1 - gamma) * others.sum(axis=1)


def _paper_objective(model: AngleSVC, X: Array, y: Any) -> float:
    """The whole objective of a fitted linear model whose labels are 0, 1, …."""
    F = X @ model.coef_.T + model.intercept_
    k = len(model.classes_)
    loss = np.sum(_paper_loss(model.form, F @ _vertices(k).T, y, model.truncation_, model.gamma))
    beta = np.concatenate([model.coef_.ravel(), model.intercept_])
    lam1, lam2 = {
        "l2": (0.0, model.lam),
        "l1": (model.lam, 0.0),
        "elasticnet": (model.lam, model.lam),
    }[model.penalty]
    return float(loss + lam1 * np.sum(np.abs(beta)) + lam2 / 2 * beta @ beta)


def _vertices(k: int) -> Array:
    """W_j, written anew."""
    W = np.zeros((k, k - 1))
    W[0] = 1 / np.sqrt(k - 1)
    for j in range(1, k):
        W[j] = -(1 + np.sqrt(k)) / (k - 1) ** 1.5
        W[j, j - 1] += np.sqrt(k / (k - 1))
    return W


# ---- the losses ----------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3, 4, 6])
def test_simplex_identities(k: int) -> None:
    W = dc.simplex_vertices(k)
    assert W.shape == (k, k - 1)
    np.testing.assert_allclose(W, _vertices(k), atol=1e-14)
    np.testing.assert_allclose(W.sum(axis=0), 0, atol=1e-13)
    gram = np.full((k, k), -1 / (k - 1))
    np.fill_diagonal(gram, 1)
    np.testing.assert_allclose(W @ W.T, gram, atol=1e-13)
    np.testing.assert_allclose(W.T @ W, k / (k - 1) * np.eye(k - 1), atol=1e-13)


@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("s", [0.0, -0.25, "auto", -3.0, None])
@pytest.mark.parametrize("majorant", MAJORANTS)
@pytest.mark.parametrize("form", FORMS)
def test_spec_is_the_papers_objective(form: int, majorant: str, s: Any, k: int) -> None:
    X, y = _data(30, 5, k)
    rng = np.random.default_rng(1)
    for gamma in (0.0, 1 / 3, 0.5, 1.0):
        model = AngleSVC(
            form, s, gamma, "elasticnet", lam1=0.3, lam2=0.7, majorant=majorant, fit_intercept=False
        )
        spec = model.spec(X, y)
        B = 0.7 * rng.standard_normal((k - 1, 5))
        number = -1 / (k - 1) if s == "auto" else s
        slow = np.sum(_paper_loss(form, X @ B.T @ _vertices(k).T, y, number, gamma))
        slow += 0.3 * np.sum(np.abs(B)) + 0.35 * np.sum(B**2)
        assert spec(B.ravel()) == pytest.approx(slow, rel=1e-12)


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("s", [0.0, -2.0])
def test_losses_are_bounded_and_known_at_zero(k: int, s: float) -> None:
    X, y = _data(40, 5, k)
    rng = np.random.default_rng(2)
    for form, bound, at_zero in ((1, (k - 1) * (1 - s), k - 1), (2, 1 - s, 1)):
        spec = AngleSVC(form, s, lam=1e-12, fit_intercept=False).spec(X, y)
        groups = spec.rows.groups if form == 1 else np.arange(40)
        for scale in (0.1, 1.0, 100.0):
            theta = scale * rng.standard_normal(spec.rows.shape[1])
            loss = np.bincount(groups, spec.loss_values(theta))
            assert np.all(loss >= 0)
            assert np.all(loss <= bound * (1 + 1e-12))
        zero = np.bincount(groups, spec.loss_values(np.zeros(spec.rows.shape[1])))
        # at f = 0 the own row loses γ(k−1) and each of the others 1−γ
        expected = 0.5 * (k - 1) + 0.5 * (k - 1) if form == 1 else 1
        np.testing.assert_allclose(zero, expected)
        assert expected == at_zero


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("form", FORMS)
def test_tilt_is_the_papers_subgradient_of_h(form: int, k: int) -> None:
    """H(b) ≥ H(a) + ⟨g(a), b − a⟩ with the g of the paper, which the DC majorant takes."""
    X, y = _data(30, 4, k)
    W, s, gamma = _vertices(k), -0.3, 0.4
    spec = AngleSVC(form, s, gamma, majorant="dc", fit_intercept=False).spec(X, y)
    convex = AngleSVC(form, None, gamma, fit_intercept=False).spec(X, y)

    def h(theta: Array) -> float:
        return convex(theta) - spec(theta)

    def slope(theta: Array) -> Array:
        U = X @ theta.reshape(k - 1, 4).T @ W.T
        pull = np.zeros((30, k - 1))
        for i, label in enumerate(y):
            others = [j for j in range(k) if j != label]
            if form == 1:
                pull[i] -= gamma * (U[i, label] < (k - 1) * s) * W[label]
                pull[i] += (1 - gamma) * sum((U[i, j] > -s) * W[j] for j in others)
            else:
                nearest = min(others, key=lambda j: U[i, label] - U[i, j])
                below = U[i, label] - U[i, nearest] < s
                pull[i] -= below * (W[label] - W[nearest])
        return (pull.T @ X).ravel()

    rng = np.random.default_rng(3)
    for _ in range(20):
        a, b = rng.standard_normal((2, 4 * (k - 1)))
        assert h(b) >= h(a) + slope(a) @ (b - a) - 1e-9
        np.testing.assert_allclose(spec.rows.T @ spec.tilts(a), -slope(a), atol=1e-10)
    np.testing.assert_array_equal(slope(np.zeros(4 * (k - 1))), 0)


# ---- two classes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("majorant", MAJORANTS)
@pytest.mark.parametrize("s", [0.0, -0.4])
def test_two_classes_are_the_binary_truncated_hinge(s: float, majorant: str) -> None:
    X, y = _data(60, 4, 2)
    binary = dc.RobustClassifier(dc.truncate(dc.hinge(), s), dc.l2(0.8), penalize_intercept=True)
    binary.fit(X, y)
    for gamma in (0.0, 0.3, 1.0):
        model = AngleSVC(1, s, gamma, lam=0.8, majorant=majorant).fit(X, y)
        assert model.objective_ == pytest.approx(binary.objective_, rel=1e-7)
        np.testing.assert_allclose(
            model.decision_function(X), binary.decision_function(X), atol=1e-4
        )
    double = dc.RobustClassifier(dc.truncate(dc.hinge(), s), dc.l2(0.2), penalize_intercept=True)
    double.fit(X, y)
    model = AngleSVC(2, s, lam=0.8, majorant=majorant).fit(X, y)
    assert model.objective_ == pytest.approx(double.objective_, rel=1e-7)
    np.testing.assert_allclose(
        2 * model.decision_function(X), double.decision_function(X), atol=1e-4
    )


# ---- descent, criticality, the convex case -------------------------------------------------------


def _dc_subproblem(model: AngleSVC, X: Array, y: Any) -> float:
    """min G − ⟨g, ·⟩ − const at the solution, by Clarabel from the paper's formulas (2.4)."""
    k, s, gamma = len(model.classes_), float(model.truncation_ or 0), model.gamma
    W = _vertices(k)
    Z = np.column_stack([X, np.ones(len(y))])
    at = np.column_stack([model.coef_, model.intercept_])
    B = cp.Variable(at.shape)
    own = np.eye(k)[y]
    U, now = Z @ B.T @ W.T, Z @ at.T @ W.T
    mine, mine_now = cp.sum(cp.multiply(own, U), axis=1), np.sum(own * now, axis=1)
    if model.form == 1:
        G = gamma * cp.sum(cp.pos(k - 1 - mine))
        G += (1 - gamma) * cp.sum(cp.multiply(1 - own, cp.pos(1 + U)))
        below, above = mine_now < (k - 1) * s, (now > -s) & (own == 0)
        H = gamma * cp.sum(cp.multiply(below, (k - 1) * s - mine))
        H += (1 - gamma) * cp.sum(cp.multiply(above, s + U))
    else:
        far = 1e6 * own
        G = cp.sum(cp.pos(1 - (mine - cp.max(U - far, axis=1))))
        rivals = now - far
        worst = np.argmax(rivals >= rivals.max(axis=1, keepdims=True) - 1e-8, axis=1)  # the first
        m_now = mine_now - now[np.arange(len(y)), worst]
        H = cp.sum(cp.multiply(m_now < s, s - mine + cp.sum(cp.multiply(np.eye(k)[worst], U), 1)))
    if model.penalty != "l2":
        G += model.lam * cp.sum(cp.abs(B))
    if model.penalty != "l1":
        G += model.lam / 2 * cp.sum_squares(B)
    return float(cp.Problem(cp.Minimize(G - H)).solve(solver=cp.CLARABEL))


@pytest.mark.parametrize("k", [3])
@pytest.mark.parametrize("majorant", MAJORANTS)
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("form", FORMS)
def test_descends_to_a_critical_point(form: int, penalty: str, majorant: str, k: int) -> None:
    X, y = _data(15 * k, 5, k)
    model = AngleSVC(form, penalty=penalty, lam=0.5, majorant=majorant, n_starts=1).fit(X, y)
    scale = 1 + abs(model.objective_)
    assert model.result_.status == "converged"
    assert model.objective_ == pytest.approx(_paper_objective(model, X, y), rel=1e-10)
    assert model.objective(X, y) == pytest.approx(model.objective_, rel=1e-10)
    assert np.max(np.diff(model.result_.history.value), initial=0.0) <= 1e-7 * scale
    assert model.objective_ <= model.result_.history.value[-1] + 1e-7 * scale
    assert model.result_.gap <= 1e-6 * scale
    theta = np.asarray(model.result_.x)
    assert criticality_gap(model.spec_.surrogate("CLARABEL"), theta) <= 1e-6 * scale
    # both majorants have the same slopes where no margin is at s
    assert model.objective_ - _dc_subproblem(model, X, y) <= 1e-5 * scale


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("form", FORMS)
def test_first_step_is_the_untruncated_fit(form: int, penalty: str) -> None:
    """From β = 0 nothing is beyond s ≤ 0, so the majorant there is the convex problem."""
    X, y = _data()
    options: dict[str, Any] = {"penalty": penalty, "lam": 0.5, "n_starts": 1}
    convex = AngleSVC(form, None, **options).fit(X, y)
    for majorant in MAJORANTS:
        model = AngleSVC(form, **options, majorant=majorant)
        spec = model.spec(X, y)
        surrogate = spec.surrogate()
        zero = np.zeros(spec.rows.shape[1])
        surrogate.tighten(zero)
        first = surrogate.minimise(zero, 1e-9, surrogate.solvers[0])
        assert convex.spec_(first) == pytest.approx(convex.objective_, rel=1e-7)
        start = model.fit(X, y).result_.history.value[0]
        assert start == pytest.approx(spec(first), rel=1e-3 if penalty == "l1" else 1e-5)
        assert model.objective_ <= start + 1e-9


@pytest.mark.parametrize("form", FORMS)
def test_truncation_far_away_is_none(form: int) -> None:
    X, y = _data()
    convex = AngleSVC(form, None).fit(X, y)
    for majorant in MAJORANTS:
        far = AngleSVC(form, -1e6, majorant=majorant).fit(X, y)
        assert far.objective_ == pytest.approx(convex.objective_, rel=1e-7)
        np.testing.assert_allclose(far.coef_, convex.coef_, atol=1e-4)


def test_an_infinite_truncation_is_refused() -> None:
    with pytest.raises(ValueError, match="The 'truncation' parameter"):
        AngleSVC(truncation=-np.inf).fit(*_data())


@pytest.mark.parametrize("form", FORMS)
def test_primal_value_is_dual_value(form: int) -> None:
    """The duals (a), (b) of one tilted subproblem with an ℓ2 penalty."""
    X, y = _data(24, 4, 3)
    k, lam, gamma, s = 3, 0.7, 0.4, -0.5
    W = _vertices(k)
    spec = AngleSVC(form, s, gamma, lam=lam, majorant="dc", fit_intercept=False).spec(X, y)
    surrogate = spec.surrogate()
    centre = np.random.default_rng(4).standard_normal(8)
    surrogate.tighten(centre)
    assert surrogate.problem.tilts is not None
    theta = surrogate.minimise(centre, 1e-10, surrogate.solvers[0])
    primal = WeightedRisk(spec, surrogate.problem.weights, surrogate.problem.tilts).value(theta)
    g = -(spec.rows.T @ surrogate.problem.tilts).reshape(k - 1, 4)
    rows, delta, upper, sample = [], [], [], []
    for i, label in enumerate(y):
        for j in range(k):
            if form == 1:
                rows.append(np.outer(-W[j] if j == label else W[j], X[i]))
                delta.append(k - 1 if j == label else 1)
                upper.append(gamma if j == label else 1 - gamma)
            elif j != label:
                rows.append(np.outer(W[j] - W[label], X[i]))
                delta.append(1)
                sample.append(i)
    R = np.reshape(rows, (len(rows), -1))
    mu = cp.Variable(len(rows), nonneg=True)
    if form == 1:
        within = [mu <= np.array(upper)]
    else:
        within = [sp.csr_array((np.ones(len(sample)), (sample, range(len(sample))))) @ mu <= 1]
    value = np.array(delta) @ mu - cp.sum_squares(g.ravel() - R.T @ mu) / (2 * lam)
    dual = float(cp.Problem(cp.Maximize(value), within).solve(solver=cp.CLARABEL))
    assert primal == pytest.approx(dual, rel=1e-7)
    beta = (g.ravel() - R.T @ np.asarray(mu.value)) / lam
    np.testing.assert_allclose(theta, beta, atol=1e-4)


@pytest.mark.parametrize("form", FORMS)
def test_alternating_linearisation_finds_the_same_minimum(form: int) -> None:
    """The alternating scheme (d) of the paper for one elastic net subproblem, ρ = 1."""
    X, y = _data(18, 3, 3)
    lam1, lam2, rho = 0.6, 0.4, 1.0
    model = AngleSVC(form, None, penalty="elasticnet", lam1=lam1, lam2=lam2, fit_intercept=False)
    spec = model.fit(X, y).spec_
    A, size = np.asarray(spec.matrix().toarray()), spec.rows.shape[1]
    z, d2, centre = cp.Variable(size), cp.Parameter(size), cp.Parameter(size)
    losses = cp.pos(1 - A @ z)
    if form == 1:
        loss = cp.sum(cp.multiply(np.asarray(spec.sample_weight), losses))
    else:
        loss = cp.sum(cp.max(cp.reshape(losses, (18, 2), order="C"), axis=1))
    step = cp.Problem(cp.Minimize(loss + d2 @ z + rho / 2 * cp.sum_squares(z - centre)))
    bar, two, best = np.zeros(size), np.zeros(size), spec(np.zeros(size))
    for _ in range(150):
        d2.value, centre.value = two, bar
        step.solve(solver=cp.CLARABEL)
        one = np.asarray(z.value)
        d1 = -two - rho * (one - bar)
        if spec(one) < best:
            bar, best = one, spec(one)
        raw = rho * bar - d1
        soft = np.sign(raw) * np.maximum(np.abs(raw) - lam1, 0) / (lam2 + rho)
        two = -d1 - rho * (soft - bar)
        if spec(soft) < best:
            bar, best = soft, spec(soft)
    assert best == pytest.approx(model.objective_, rel=1e-5)
    assert best >= model.objective_ * (1 - 1e-7)


@pytest.mark.parametrize("penalty", ["l1", "elasticnet"])
@pytest.mark.parametrize("form", FORMS)
def test_l1_gives_exact_zeros(form: int, penalty: str) -> None:
    X, y = _data(45, 3, 3)
    X = np.column_stack([X, 0.3 * np.random.default_rng(5).standard_normal((45, 20))])
    model = AngleSVC(form, penalty=penalty, lam=6.0, fit_intercept=False, n_starts=1).fit(X, y)
    useless = model.coef_[:, 3:]
    assert np.sum(useless == 0) >= 35
    assert np.any(model.coef_[:, :3] != 0)
    sizes = np.abs(model.coef_[model.coef_ != 0])
    assert sizes.min() > 1e-5


def test_clearing_heeds_the_objective() -> None:
    risk = dc.Risk(np.array([[1.0, 1e-9]]), dc.absolute(1.0), penalty=dc.l1(0.1))
    np.testing.assert_array_equal(cleared(risk, np.array([1.0, 1e-7]), 1e-8), [1, 0])
    steep = dc.Risk(np.array([[1.0, 1e9]]), dc.absolute(1.0), penalty=dc.l1(0.1))
    kept = np.array([0.9, 1e-10])
    np.testing.assert_array_equal(cleared(steep, kept, 1e-8), kept)
    ridge = dc.Risk(np.eye(2), dc.absolute(1.0), penalty=dc.l2(0.1))
    assert cleared(ridge, kept, 1.0) is kept


# ---- invariance ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [None, "rbf"])
@pytest.mark.parametrize("form", FORMS)
def test_relabelling_permutes_an_l2_solution(form: int, kernel: str | None) -> None:
    X, y = _data(48, 4, 4)
    order = np.array([2, 0, 3, 1])
    options: dict[str, Any] = {"kernel": kernel, "lam": 0.5, "tol": 1e-9, "n_starts": 1}
    one = AngleSVC(form, **options).fit(X, y)
    other = AngleSVC(form, **options).fit(X, order[y])
    assert other.objective_ == pytest.approx(one.objective_, rel=1e-7)
    np.testing.assert_allclose(
        other.decision_function(X)[:, order], one.decision_function(X), atol=1e-4
    )


@pytest.mark.parametrize("k", [3, 4, 5])
def test_l1_solution_depends_on_which_class_is_first(k: int) -> None:
    """Exchanging other vertices exchanges coordinates; with k = 4 they are corners of a cube."""
    X, y = _data(16 * k, 4, k)

    def value(order: list[int], penalty: str) -> float:
        y_new = np.array(order)[y]
        return AngleSVC(1, None, penalty=penalty, lam=3.0).fit(X, y_new).objective_

    others, first = [0, *range(2, k), 1], [*range(1, k), 0]
    for penalty in ("l1", "elasticnet"):
        one = value(list(range(k)), penalty)
        assert value(others, penalty) == pytest.approx(one, rel=1e-6)
        assert (abs(value(first, penalty) - one) > 1e-3 * one) == (k != 4)


# ---- Fisher consistency --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("k", "s", "expected"),
    [
        (3, 0.0, 1 / 3),
        (3, -0.5, 1 / 3),
        (3, -1.0, 2 / 5),
        (3, -2.0, 0.5),
        (3, -9.0, 0.5),
        (5, -0.25, 0.2),
        (5, -1.0, 2 / 7),
        (4, None, 0.5),
        (2, 0.0, 1.0),
    ],
)
def test_threshold(k: int, s: float | None, expected: float) -> None:
    assert fisher_gamma(k, s) == pytest.approx(expected)
    assert is_fisher_consistent(1, k, s, expected)
    if k > 2:
        assert not is_fisher_consistent(1, k, s, expected + 1e-6)


def test_counterexample_to_the_published_range() -> None:
    P = np.array([0.5005, 0.4995, 0.0])

    def cost(u: list[float]) -> float:
        return sum(P[j] * _paper_loss(1, np.array([u]), np.array([j]), 0.0, 0.5)[0] for j in (0, 1))

    right, tie, wrong = [2.5, 2.0, -4.5], [2.0, 2.0, -4.0], [2.0, 2.5, -4.5]
    for u in (right, tie, wrong):
        assert cost(u) == pytest.approx(0.5)
    assert cost([2.0, -1.0, -1.0]) == pytest.approx(1.5 * 0.4995)
    rng = np.random.default_rng(0)
    others = rng.normal(0, 3, (500, 3))
    assert min(cost(list(u - u.mean())) for u in others) >= 0.5 - 1e-12
    assert not is_fisher_consistent(1, 3, 0.0, 0.5)


@pytest.mark.parametrize(
    ("params", "k", "warned"),
    [
        ({"form": 1}, 3, True),
        ({}, 3, False),
        ({"form": 1, "gamma": 1 / 3}, 3, False),
        ({"form": 1, "gamma": 0.4, "truncation": -1.0}, 3, False),
        ({"form": 1, "truncation": None}, 4, False),
        ({"form": 1, "truncation": None, "gamma": 0.6}, 4, True),
        ({"form": 2}, 3, False),
        ({"form": 2, "truncation": 0.0}, 3, False),
        ({"form": 2, "truncation": -0.6}, 3, True),
        ({"form": 2, "truncation": None}, 3, True),
        ({"form": 2, "truncation": -5.0}, 2, False),
        ({"form": 1, "gamma": 1.0}, 2, False),
    ],
)
def test_inconsistent_parameters_warn_once(params: dict[str, Any], k: int, warned: bool) -> None:
    X, y = _data(30, 3, k)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        AngleSVC(**params, n_starts=1).fit(X, y)
    found = [w for w in caught if w.category is dc.FisherConsistencyWarning]
    assert len(found) == int(warned)
    assert all(w.filename == __file__ for w in found)


@pytest.mark.parametrize(
    ("params", "k", "said"),
    [
        ({"form": 1}, 3, "not every minimiser"),
        ({"form": 1, "truncation": -2.0}, 4, "for some class probabilities no minimiser"),
        ({"form": 2, "truncation": -0.6}, 3, "for some class probabilities no minimiser"),
    ],
)
def test_the_warning_says_which_reading_fails(params: dict[str, Any], k: int, said: str) -> None:
    X, y = _data(30, 3, k)
    with pytest.warns(dc.FisherConsistencyWarning, match=said):
        AngleSVC(**params).fit(X, y)


@pytest.mark.parametrize(
    ("k", "s", "gamma", "some"),
    [
        (3, 0.0, 0.5, True),
        (3, -2.0, 0.6, True),
        (3, -2.1, 0.5, True),
        (3, -2.1, 0.6, False),
        (4, -5 / 3, 0.5, True),
        (4, -1.67, 0.5, False),
        (4, -2.99, 0.5, False),
        (4, -3.0, 0.5, True),
        (5, -1.5, 0.5, True),
        (5, -1.51, 0.5, False),
        (4, None, 0.6, False),
    ],
)
def test_some_minimiser_is_right(k: int, s: float | None, gamma: float, some: bool) -> None:
    assert is_fisher_consistent(1, k, s, gamma, "some") == some
    assert some or not is_fisher_consistent(1, k, s, gamma)


@pytest.mark.parametrize(
    "call",
    [
        lambda: fisher_gamma(1, 0.0),
        lambda: fisher_gamma(3, 0.5),
        lambda: is_fisher_consistent(1, 3, 0.5),
        lambda: is_fisher_consistent(1, 3, 0.0, reading="most"),
    ],
)
def test_threshold_refuses_bad_numbers(call: Any) -> None:
    with pytest.raises(ValueError, match="needed"):
        call()


# ---- kernels -------------------------------------------------------------------------------------


@pytest.mark.parametrize("majorant", MAJORANTS)
@pytest.mark.parametrize("form", FORMS)
def test_linear_kernel_is_the_linear_model(form: int, majorant: str) -> None:
    X, y = _data(45, 4, 3)
    options: dict[str, Any] = {"lam": 0.5, "majorant": majorant, "tol": 1e-8, "n_starts": 1}
    plain = AngleSVC(form, **options).fit(X, y)
    kernel = AngleSVC(form, kernel="linear", **options).fit(X, y)
    assert kernel.objective_ == pytest.approx(plain.objective_, rel=1e-7)
    assert kernel.objective(X, y) == pytest.approx(plain.objective_, rel=1e-7)
    np.testing.assert_allclose(kernel.coef_, plain.coef_, atol=1e-4)
    np.testing.assert_allclose(kernel.decision_function(X), plain.decision_function(X), atol=1e-3)
    np.testing.assert_allclose(
        np.sum(kernel.dual_coef_ @ (X @ X.T) * kernel.dual_coef_), np.sum(plain.coef_**2), rtol=1e-3
    )


def test_kernels_agree_with_their_matrix() -> None:
    X, y = _data(45, 2, 3)
    Z = np.random.default_rng(6).standard_normal((20, 2))
    options: dict[str, Any] = {"form": 2, "lam": 0.3}
    by_name = AngleSVC(kernel="rbf", kernel_gamma=0.5, **options).fit(X, y)
    by_matrix = AngleSVC(kernel="precomputed", **options).fit(rbf_kernel(X, gamma=0.5), y)
    by_call = AngleSVC(kernel=lambda a, b: rbf_kernel(a, b, gamma=0.5), **options).fit(X, y)
    scores = by_name.decision_function(Z)
    np.testing.assert_allclose(by_matrix.decision_function(rbf_kernel(Z, X, gamma=0.5)), scores)
    np.testing.assert_allclose(by_call.decision_function(Z), scores)
    assert by_name.dual_coef_.shape == (2, 45)
    assert not hasattr(by_name, "coef_")
    for model in (by_name, by_call):
        assert model.objective(X, y) == pytest.approx(model.objective_, rel=1e-6)


def test_kernel_learns_what_no_line_separates() -> None:
    rng = np.random.default_rng(7)
    X = rng.uniform(-1, 1, (150, 2))
    y = np.digitize(np.hypot(*X.T), [0.45, 0.8])
    linear = AngleSVC(2, lam=0.1).fit(X, y).score(X, y)
    assert AngleSVC(2, lam=0.01, kernel="rbf").fit(X, y).score(X, y) > linear + 0.25
    assert AngleSVC(2, lam=0.01, kernel="poly", coef0=1.0).fit(X, y).score(X, y) > linear + 0.25


# ---- robustness ----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_truncation_withstands_outliers(form: int) -> None:
    rng = np.random.default_rng(8)
    y = np.arange(150) % 3
    X = 0.4 * rng.standard_normal((150, 2)) + np.column_stack(
        [np.cos(2 * np.pi * y / 3), np.sin(2 * np.pi * y / 3)]
    )
    dirty = X.copy()
    dirty[:15] = [3, 0] + 0.4 * rng.standard_normal((15, 2))
    scores = {
        s: AngleSVC(form, s, lam=1.0, fit_intercept=False).fit(dirty, y).score(X[15:], y[15:])
        for s in ("auto", None)
    }
    assert scores["auto"] >= scores[None]
    assert scores["auto"] > 0.93


# ---- contract ------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3, 5])
def test_attributes_and_shapes(k: int) -> None:
    X, y = _data(60, 5, k)
    model = AngleSVC(n_starts=1).fit(X, y)
    assert model.coef_.shape == (k - 1, 5)
    assert model.intercept_.shape == (k - 1,)
    np.testing.assert_array_equal(model.simplex_, simplex_vertices(k))
    scores = model.decision_function(X)
    if k == 2:
        assert scores.shape == (60,)
        np.testing.assert_array_equal(model.predict(X), (scores > 0).astype(int))
    else:
        assert scores.shape == (60, k)
        np.testing.assert_allclose(scores.sum(axis=1), 0, atol=1e-12)
        np.testing.assert_array_equal(model.predict(X), np.argmax(scores, axis=1))
    assert model.truncation_ == -1 / (k - 1)
    assert model.n_iter_ >= 1
    assert model.spec_(model.result_.x) == model.objective_
    bare = AngleSVC(fit_intercept=False).fit(X, y)
    np.testing.assert_array_equal(bare.intercept_, 0)


def test_string_labels_and_data_frames() -> None:
    X, y = _data()
    names = np.array(["ash", "birch", "cedar"])[y]
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = AngleSVC().fit(frame, names)
    assert set(model.predict(frame)) <= set(names)
    assert list(model.feature_names_in_) == list("abcd")
    np.testing.assert_allclose(model.coef_, AngleSVC().fit(X, y).coef_, atol=1e-9)
    assert model.objective(frame, names) == pytest.approx(model.objective_)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("form", FORMS)
def test_sparse_equals_dense(form: int, penalty: str) -> None:
    X, y = _data()
    X[np.abs(X) < 0.5] = 0
    make = AngleSVC(form, penalty=penalty, n_starts=1)
    dense, sparse = clone(make).fit(X, y), clone(make).fit(sp.csr_array(X), y)
    assert sparse.objective_ == pytest.approx(dense.objective_, rel=1e-6)
    np.testing.assert_allclose(
        sparse.decision_function(sp.csr_matrix(X)), dense.decision_function(X), atol=1e-4
    )


def test_pickle_and_clone() -> None:
    X, y = _data()
    for model in (AngleSVC().fit(X, y), AngleSVC(2, kernel="rbf").fit(X, y)):
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert again.objective(X, y) == pytest.approx(model.objective(X, y), rel=1e-12)
        assert clone(model).get_params() == model.get_params()


def test_grid_search() -> None:
    X, y = _data()
    search = GridSearchCV(AngleSVC(n_starts=1), {"form": [1, 2], "lam": [0.1, 1.0]}, cv=2)
    assert search.fit(X, y).best_score_ > 0.5


def test_restarts_repeat_and_go_no_higher() -> None:
    X, y = _data(noise=0.3)
    one = AngleSVC().fit(X, y)
    many = [AngleSVC(n_starts=5, random_state=0).fit(X, y) for _ in range(2)]
    assert many[0].objective_ <= one.objective_ + 1e-9
    np.testing.assert_array_equal(many[0].coef_, many[1].coef_)


def test_too_few_iterations_warn() -> None:
    X, y = _data(noise=0.4, seed=3)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = AngleSVC(2, max_iter=1, lam=0.1, n_starts=1).fit(X, y)
    assert model.n_iter_ == 1


def test_spec_through_the_other_front_door() -> None:
    X, y = _data()
    for form in FORMS:
        for majorant in MAJORANTS:
            model = AngleSVC(form, majorant=majorant).fit(X, y)
            problem = model.spec_.problem()
            theta = problem.variables()[0]
            theta.value = model.result_.x
            assert problem.objective.value == pytest.approx(model.objective_, rel=1e-9)
            resumed = dc.solve(problem, start="current")
            assert resumed.value == pytest.approx(model.objective_, rel=1e-5)


# ---- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("form", 3),
        ("form", "one"),
        ("truncation", 0.1),
        ("truncation", np.nan),
        ("truncation", "none"),
        ("gamma", -0.1),
        ("gamma", 1.1),
        ("gamma", np.nan),
        ("penalty", "lasso"),
        ("lam", 0.0),
        ("lam", -1.0),
        ("lam", np.nan),
        ("lam1", -1.0),
        ("lam2", -1.0),
        ("lam1", 1.0),
        ("lam2", 1.0),
        ("kernel", "cosine"),
        ("kernel_gamma", 0.0),
        ("kernel_gamma", "wide"),
        ("degree", 0),
        ("coef0", -1.0),
        ("fit_intercept", "yes"),
        ("majorant", "mm"),
        ("solver", 3),
        ("solver", "simplex"),
        ("tol", 0.0),
        ("max_iter", 0),
        ("n_starts", 0),
        ("random_state", "seed"),
        ("acceleration", "nesterov"),
        ("verbose", "loud"),
    ],
)
def test_bad_parameter_is_named(name: str, value: Any) -> None:
    X, y = _data()
    with pytest.raises(ValueError, match=name):
        AngleSVC(**{name: value}).fit(X, y)


def test_combinations_that_cannot_be() -> None:
    X, y = _data()
    with pytest.raises(ValueError, match="take penalty='l2'"):
        AngleSVC(penalty="l1", kernel="rbf").fit(X, y)
    with pytest.raises(ValueError, match="nothing is penalised"):
        AngleSVC(penalty="elasticnet", lam1=0, lam2=0).fit(X, y)
    with pytest.raises(ValueError, match="positive semidefinite"):
        AngleSVC(kernel="precomputed").fit(-np.eye(45), y)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_data_that_are_not_finite(bad: float) -> None:
    X, y = _data()
    X[3, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        AngleSVC().fit(X, y)


def test_one_class() -> None:
    X, _ = _data()
    with pytest.raises(ValueError, match="class"):
        AngleSVC().fit(X, np.zeros(45))


def test_objective_refuses_a_new_label() -> None:
    X, y = _data()
    with pytest.raises(ValueError, match="not one of the classes"):
        AngleSVC().fit(X, y).objective(X, y + 1)
