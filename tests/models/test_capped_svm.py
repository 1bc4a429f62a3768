"""CappedSVC: agreement of its solvers, the paper's theory, the estimator contract, bad input."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import minmax_scale, scale

import dcprog as dc
from dcprog.engine.descent import descend
from dcprog.engine.track import Settings
from dcprog.foundation.arrays import Array
from dcprog.losses import squared_hinge
from dcprog.models import CappedSVC
from dcprog.models.capped_single_pass import SinglePassSolver
from dcprog.penalties import l2
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.rows.linear import class_margins
from dcprog.solvers.conic.reference import ReferenceSolver
from dcprog.solvers.smooth.newton import NewtonSolver
from dcprog.transforms import cap_at, power_of

POWERS = [0.5, 1.0, 1.5, 2.0]


def _data(n: int = 60, d: int = 4, c: int = 3, noise: float = 0.2, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % c
    X = rng.standard_normal((n, d)) + 2 * np.eye(c, d)[y]
    flipped = rng.random(n) < noise
    y[flipped] = rng.integers(0, c, flipped.sum())
    return X, y


def _slow_objective(
    model: CappedSVC, X: Array, y: Any, *, delta: float, coef: Any = None, intercept: Any = None
) -> float:
    """J_δ sample by sample, as the paper writes it."""
    coef = model.coef_ if coef is None else coef
    intercept = model.intercept_ if intercept is None else intercept
    total = model.gamma * float(np.sum(coef**2))
    for x, label in zip(X, y, strict=True):
        if len(coef) == 1:
            target = np.array([1.0 if label == model.classes_[1] else -1.0])
        else:
            target = np.array([1.0 if label == k else -1.0 for k in model.classes_])
        residual = np.maximum(0, 1 - target * (coef @ x + intercept))
        total += min((float(residual @ residual) + delta) ** (model.p / 2), model.eps_)
    return total


# ---- agreement -----------------------------------------------------------------------------------


@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize("shape", [(60, 4, 3), (60, 4, 2), (20, 40, 3), (20, 40, 2)])
def test_newton_and_cvxpy_agree_on_every_subproblem(shape: tuple[int, int, int], p: float) -> None:
    X, y = _data(*shape)
    spec = CappedSVC(p=p, gamma=0.5).spec(X, y)
    surrogate = spec.surrogate("newton")
    reference = ReferenceSolver(spec)
    x = surrogate.starts("convex", np.random.default_rng(0))
    surrogate.begin(x)
    for _ in range(12):
        surrogate.tighten(x)
        new = surrogate.minimise(x, 1e-8, "newton")
        slow = reference.minimise(WeightedRisk(spec, surrogate.problem.weights), x, 1e-8).value
        fast = WeightedRisk(spec, surrogate.problem.weights).value(new)
        assert abs(fast - slow) <= 1e-6 * slow
        x = new


@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("algorithm", ["exact", "alternating"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_objective_equals_a_plain_loop(p: float, classes: int, algorithm: str) -> None:
    X, y = _data(c=classes)
    model = CappedSVC(p=p, algorithm=algorithm, delta=1e-4, max_iter=50).fit(X, y)
    slow = _slow_objective(model, X, y, delta=1e-4)
    assert model.objective_ == pytest.approx(slow, rel=1e-10)
    assert model.objective(X, y) == pytest.approx(slow, rel=1e-10)
    plain = _slow_objective(model, X, y, delta=0.0)
    assert model.objective(X, y, delta=0) == pytest.approx(plain, rel=1e-10)
    assert plain <= slow <= plain + len(y) * 1e-4 ** (p / 2)


@pytest.mark.parametrize("solver", ["newton", "cvxpy", "CLARABEL"])
def test_solvers_reach_the_same_objective(solver: str) -> None:
    X, y = _data()
    options: dict[str, Any] = {"eps": 1.0, "p": 1.5, "delta": 1e-4}
    auto = CappedSVC(**options).fit(X, y)
    other = CappedSVC(**options, solver=solver).fit(X, y)
    assert other.objective_ == pytest.approx(auto.objective_, rel=1e-6)


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_spec_through_the_other_front_door(p: float) -> None:
    X, y = _data(n=30)
    model = CappedSVC(p=p, eps=1.0, delta=1e-3).fit(X, y)
    problem = model.spec_.problem()
    theta = problem.variables()[0]
    theta.value = model.result_.x
    assert problem.objective.value == pytest.approx(model.objective_, rel=1e-9)
    resumed = dc.solve(problem, start="current", tol=1e-6)
    assert resumed.value == pytest.approx(model.objective_, rel=1e-5)


def test_declared_spec_is_solved_like_the_model() -> None:
    X, y = _data()
    model = CappedSVC()
    result = dc.solve(model.spec(X, y), max_iter=500)
    assert result.value == pytest.approx(model.fit(X, y).objective_, rel=1e-9)


# ---- theory --------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize("algorithm", ["exact", "alternating"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_smoothed_objective_never_rises_once_the_cap_is_frozen(p: float, algorithm: str) -> None:
    X, y = _data(noise=0.3)
    model = CappedSVC(p=p, algorithm=algorithm, delta=1e-6, gamma=0.3, max_iter=100).fit(X, y)
    value = model.result_.history.value
    assert np.max(np.diff(value), initial=-1.0) <= 1e-10 * value[0]
    assert model.result_.gap >= 0


@pytest.mark.parametrize("p", POWERS)
def test_two_columns_are_one_column_with_scaled_cap_and_penalty(p: float) -> None:
    X, y = _data(c=2)
    gamma, eps, delta = 0.4, 1.3, 1e-6
    two = Risk(
        class_margins(X, y),
        squared_hinge(),
        aggregate="sum",
        transform=cap_at(eps, power_of(p / 2, delta)),
        penalty=l2(2 * gamma),
    )
    one = CappedSVC(
        p=p,
        eps=eps * 2 ** (-p / 2),
        gamma=2 ** (1 - p / 2) * gamma,
        delta=delta / 2,
        max_iter=1000,
        n_starts=1,
    ).fit(X, y)
    result = dc.solve(two, start="convex", max_iter=1000)
    assert result.x is not None
    coef, intercept = two.rows.unpack(result.x)
    np.testing.assert_allclose(coef[0], -coef[1], atol=1e-8)
    np.testing.assert_allclose(intercept[0], -intercept[1], atol=1e-8)
    assert result.value == pytest.approx(2 ** (p / 2) * one.objective_, rel=1e-4)
    same = two.rows.pack(np.vstack([-one.coef_, one.coef_]), np.r_[-one.intercept_, one.intercept_])
    assert two(same) == pytest.approx(2 ** (p / 2) * one.objective_, rel=1e-12)


@pytest.mark.parametrize("shape", [(30, 4), (10, 15)])
def test_block_pass_is_the_closed_form_and_the_minimiser(shape: tuple[int, int]) -> None:
    n, d = shape
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((n, d)), np.arange(n) % 3
    gamma, weights = 0.7, rng.uniform(0, 3, n)
    weights[:2] = 0
    risk = Risk(class_margins(X, y), squared_hinge(), aggregate="sum", penalty=l2(2 * gamma))
    centre = rng.standard_normal(risk.rows.shape[1])
    solver = SinglePassSolver(risk)
    problem = WeightedRisk(risk, weights)
    theta = solver.minimise(problem, centre, 1e-8).coefficients
    coef, intercept = risk.rows.unpack(theta)

    Y = risk.rows.signs
    W0, b0 = risk.rows.unpack(centre)
    M = np.maximum(Y * (X @ W0.T + b0) - 1, 0)
    Z, D, s = Y + Y * M, np.diag(weights), weights.sum()
    H = D - np.outer(weights, weights) / s
    W = np.linalg.solve(X.T @ H @ X + gamma * np.eye(d), X.T @ H @ Z)
    b = (Z.T @ weights - W.T @ X.T @ weights) / s
    np.testing.assert_allclose(coef, W.T, atol=1e-10)
    np.testing.assert_allclose(intercept, b, atol=1e-10)

    def block(flat: Array) -> float:
        w, c = risk.rows.unpack(flat)
        scores = X @ w.T + c
        return float(weights @ np.sum((scores - Y - Y * M) ** 2, axis=1) + gamma * np.sum(w**2))

    generic = minimize(block, np.zeros(theta.size), method="BFGS", options={"gtol": 1e-9})
    assert block(theta) <= generic.fun * (1 + 1e-9)
    assert block(theta) == pytest.approx(generic.fun, rel=1e-7)
    assert solver.value(problem, theta, centre) == pytest.approx(block(theta), rel=1e-12)


def test_alternating_starts_with_ridge_regression_to_the_labels() -> None:
    X, y = _data()
    spec = CappedSVC(p=1.0, eps=1.0, gamma=1.0).spec(X, y)
    coef, intercept = spec.rows.unpack(
        spec.surrogate("alternating").starts("convex", np.random.default_rng(0))
    )
    centred, targets = X - X.mean(axis=0), spec.rows.signs
    W = np.linalg.solve(centred.T @ centred + np.eye(4), centred.T @ targets)
    np.testing.assert_allclose(coef, W.T, atol=1e-10)
    np.testing.assert_allclose(intercept, targets.mean(axis=0) - X.mean(axis=0) @ W, atol=1e-10)


def test_all_samples_capped_gives_zero_coefficients() -> None:
    X, y = _data()
    spec = CappedSVC(eps=1e-12, p=2.0, delta=0.0).spec(X, y)
    for solver in (NewtonSolver(spec), SinglePassSolver(spec)):
        start = np.ones(spec.rows.shape[1])
        coef, intercept = spec.rows.unpack(
            solver.minimise(WeightedRisk(spec, np.zeros(60)), start, 1e-8).coefficients
        )
        np.testing.assert_allclose(coef, 0, atol=1e-14)
        np.testing.assert_array_equal(intercept, 1)
    model = CappedSVC(eps=1e-12, p=2.0, delta=0.0).fit(X, y)
    np.testing.assert_allclose(model.coef_, 0, atol=1e-12)
    assert np.all(np.isfinite(model.intercept_))


def test_single_pass_stalls_for_small_delta_and_exact_does_not() -> None:
    X, y = _data(n=40, noise=0.3, seed=3)
    spec = CappedSVC(p=1.0, eps=1.0, gamma=0.5, delta=1e-8).spec(X, y)
    values = {}
    for solver in ("newton", "alternating"):
        surrogate = spec.surrogate(solver)
        start = surrogate.starts("convex", np.random.default_rng(0))
        values[solver] = descend(surrogate, start, Settings(tol=1e-9, max_iter=300)).value
    assert values["alternating"] > 1.05 * values["newton"]
    for solver in values:
        surrogate = CappedSVC(p=2.0, eps=1.0, gamma=0.5).spec(X, y).surrogate(solver)
        start = surrogate.starts("convex", np.random.default_rng(0))
        values[solver] = descend(surrogate, start, Settings(tol=1e-6, max_iter=400)).value
    assert values["alternating"] == pytest.approx(values["newton"], rel=0.05)


def test_sample_exactly_at_the_cap_is_a_fixed_point_but_no_minimum() -> None:
    gamma = 0.5
    eps, w = (gamma / (1 + gamma)) ** 2, 1 / (1 + gamma)
    at = np.nextafter(w, 1)  # rounding must not put the sample beyond the cap
    risk = Risk(np.ones((1, 1)), squared_hinge(), transform=cap_at(eps), penalty=l2(2 * gamma))
    surrogate = risk.surrogate()
    surrogate.tighten(np.array([at]))
    assert surrogate.problem.weights[0] == 1
    fixed = surrogate.minimise(np.array([at]), 1e-9, "cvxpy")
    assert fixed[0] == pytest.approx(w, abs=1e-6)
    assert risk(np.zeros(1)) < risk(np.array([w]))
    slope = (risk(np.array([w - 1e-7])) - risk(np.array([w]))) / 1e-7
    assert slope == pytest.approx(-2 * gamma / (1 + gamma), abs=1e-4)


def test_cap_is_the_quantile_of_the_fifth_tightening() -> None:
    X, y = _data(n=50, noise=0.3)
    model = CappedSVC(p=2.0, delta=0.0, cap_fraction=0.2, cap_floor=0.0, max_iter=5)
    spec = model.spec(X, y)
    surrogate = spec.surrogate()
    x = surrogate.starts("convex", np.random.default_rng(0))
    surrogate.begin(x)
    for step in range(5):
        surrogate.tighten(x)
        losses = np.sort(spec.aggregates(x))[::-1]
        assert surrogate.risk.transform.c == losses[10]
        if step < 4:
            x = surrogate.minimise(x, 1e-8, "newton")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert model.fit(X, y).eps_ == pytest.approx(losses[10], rel=1e-9)


def test_the_cap_is_set_in_five_rounds_and_kept() -> None:
    """On data whose heuristic cap rises from point to point, through a whole run."""
    X, y = _data(n=95, noise=0.3, seed=1)
    spec = CappedSVC(p=1.0, gamma=1.0, cap_floor=0.0).spec(X, y)
    points: list[Array] = []
    result = dc.solve(
        spec,
        start="convex",
        n_starts=1,
        escape=False,
        callback=lambda progress: points.append(progress.x),
    )
    caps = np.array([spec.fixed(point).transform.c for point in points])
    assert np.all(np.abs(np.diff(caps[:6])) > 1e-6)
    assert result.spec is not None
    assert result.spec.transform.c == pytest.approx(caps[4], rel=1e-12)


def test_the_cap_is_no_lower_than_its_floor() -> None:
    X, y = _data(n=50, noise=0.3)
    low, high = (CappedSVC(p=1.0, cap_floor=floor).fit(X, y).eps_ for floor in (0.0, 100.0))
    assert low < 10
    assert high == pytest.approx(10, rel=1e-6)


def test_no_class_is_given_up_at_the_default_floor() -> None:
    """Three classes in a row: the middle one is in no half-plane of its own."""
    X, y = load_iris(return_X_y=True)
    published = CappedSVC(p=1.0, gamma=1.0, cap_floor=0.0)
    assert published.fit(scale(X), y).score(scale(X), y) < 0.8
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert CappedSVC().fit(scale(X), y).score(scale(X), y) > 0.95


def test_infinite_cap_is_the_plain_squared_hinge() -> None:
    X, y = _data()
    model = CappedSVC(p=2.0, eps=1e12, gamma=1.0, delta=0.0).fit(X, y)
    plain = Risk(class_margins(X, y), squared_hinge(), aggregate="sum", penalty=l2(2.0))
    assert model.objective_ == pytest.approx(dc.solve(plain).value, rel=1e-9)


def test_well_separated_classes_are_learnt_with_default_cap() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    X = rng.standard_normal((400, 10)) + 4 * y[:, None]
    assert CappedSVC(gamma=0.1).fit(X, y).score(X, y) > 0.99


# ---- contract ------------------------------------------------------------------------------------


def test_attributes_and_shapes() -> None:
    X, y = load_wine(return_X_y=True)
    X = minmax_scale(X)
    model = CappedSVC().fit(X, y)
    assert model.coef_.shape == (3, 13)
    assert model.intercept_.shape == (3,)
    assert model.decision_function(X).shape == (178, 3)
    assert model.n_iter_ >= 1
    assert model.result_.status == "converged"
    assert model.score(X, y) > 0.95
    assert model.spec_(model.result_.x) == pytest.approx(model.objective_, rel=1e-12)
    binary = CappedSVC().fit(X[y < 2], y[y < 2])
    assert binary.coef_.shape == (1, 13)
    assert binary.decision_function(X).shape == (178,)


def test_string_labels_and_data_frames() -> None:
    X, y = _data()
    names = np.array(["ash", "birch", "cedar"])[y]
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = CappedSVC().fit(frame, names)
    assert set(model.predict(frame)) <= set(names)
    assert list(model.feature_names_in_) == list("abcd")
    np.testing.assert_allclose(model.coef_, CappedSVC().fit(X, y).coef_, atol=1e-9)


@pytest.mark.filterwarnings("ignore:the single pass ends")
@pytest.mark.parametrize("algorithm", ["exact", "alternating"])
@pytest.mark.parametrize("shape", [(60, 4, 3), (20, 40, 3)])
def test_sparse_equals_dense(shape: tuple[int, int, int], algorithm: str) -> None:
    X, y = _data(*shape)
    X[np.abs(X) < 0.5] = 0
    make = CappedSVC(p=2.0, eps=1.0, algorithm=algorithm, max_iter=200, n_starts=1)
    dense, sparse = clone(make).fit(X, y), clone(make).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(dense.coef_, sparse.coef_, atol=1e-7)
    np.testing.assert_array_equal(dense.predict(X), sparse.predict(sp.csr_matrix(X)))


def test_pickle_and_clone() -> None:
    X, y = _data()
    model = CappedSVC(p=1.5).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.objective(X, y) == model.objective(X, y)
    assert clone(model).get_params() == model.get_params()


def test_grid_search() -> None:
    X, y = _data()
    search = GridSearchCV(CappedSVC(n_starts=1), {"p": [1.0, 2.0], "gamma": [0.1, 1.0]}, cv=2)
    assert search.fit(X, y).best_score_ > 0.4


def test_restarts_share_one_cap_and_repeat() -> None:
    X, y = _data(noise=0.3)
    one = CappedSVC(p=2.0).fit(X, y)
    many = [CappedSVC(p=2.0, n_starts=5, random_state=0).fit(X, y) for _ in range(2)]
    assert many[0].eps_ == one.eps_
    assert many[0].objective_ <= one.objective_ + 1e-9
    np.testing.assert_array_equal(many[0].coef_, many[1].coef_)


def test_too_few_iterations_warn() -> None:
    X, y = _data(noise=0.3)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = CappedSVC(p=1.0, max_iter=1).fit(X, y)
    assert model.n_iter_ == 1


@pytest.mark.parametrize("acceleration", ["linesearch", "squarem"])
def test_acceleration_goes_no_higher_than_its_start(acceleration: str) -> None:
    X, y = _data(noise=0.3)
    model = CappedSVC(acceleration=acceleration, eps=1.0).fit(X, y)
    assert model.objective_ <= model.result_.history.value[0]


# ---- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("p", 0.0),
        ("p", 2.5),
        ("p", "one"),
        ("eps", 0.0),
        ("eps", -1.0),
        ("eps", np.nan),
        ("cap_fraction", 1.0),
        ("cap_fraction", -0.1),
        ("cap_floor", -1.0),
        ("gamma", 0.0),
        ("gamma", -1.0),
        ("gamma", np.nan),
        ("delta", -1e-8),
        ("delta", np.nan),
        ("algorithm", "gradient"),
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
        CappedSVC(**{name: value}).fit(X, y)


def test_combinations_that_cannot_be() -> None:
    X, y = _data()
    with pytest.raises(ValueError, match="delta=0 with p=1"):
        CappedSVC(p=1.0, delta=0.0).fit(X, y)
    with pytest.raises(ValueError, match="takes no solver"):
        CappedSVC(algorithm="alternating", solver="cvxpy").fit(X, y)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_data_that_are_not_finite(bad: float) -> None:
    X, y = _data()
    X[3, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        CappedSVC().fit(X, y)


def test_one_class() -> None:
    X, _ = _data()
    with pytest.raises(ValueError, match="class"):
        CappedSVC().fit(X, np.zeros(60))


def test_objective_refuses_a_new_label() -> None:
    X, y = _data()
    with pytest.raises(ValueError, match="not one of the classes"):
        CappedSVC(eps=1.0, p=2.0).fit(X, y).objective(X, y + 1)
