"""SMO: against LIBSVM, cvxpy and itself; duality gap, warm starts, selection rules."""

from __future__ import annotations

import importlib
import pickle
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, SVR

import dcprog as dc
from dcprog.checks.declarations import check_penalty
from dcprog.foundation import jit
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError
from dcprog.foundation.kernel_matrix import Gram
from dcprog.losses import absolute, cap, epsilon_insensitive, hinge, pinball, rescale, truncate
from dcprog.penalties import kernel_norm, l2
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.rows.kernel import (
    KernelExpansion,
    expansion_margins,
    expansion_residuals,
    kernel_margins,
)
from dcprog.solvers.conic.reference import ReferenceSolver
from dcprog.solvers.kernel import smo
from dcprog.solvers.kernel.smo import Dual, minimise_dual, warm
from dcprog.solvers.registry import make
from tests.solvers.kernel import smo_reference


def _data(n: int = 80, seed: int = 0, gamma: float = 0.5) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
    return rbf_kernel(X, gamma=gamma), y


def _random_dual(seed: int) -> tuple[Array, Dual]:
    """Kernels of every rank, repeated samples, boxes of every size, one or two kinks a sample."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 90)), int(rng.integers(1, 10))
    X = rng.standard_normal((n, d)) * 10 ** rng.uniform(-1, 1)
    X = np.round(X) if rng.random() < 0.3 else X
    kernels = (X @ X.T, rbf_kernel(X, gamma=10 ** rng.uniform(-3, 1)), (X @ X.T / d + 1) ** 2)
    K = kernels[int(rng.integers(3))]
    y = np.where(X[:, 0] + rng.standard_normal(n) > 0, 1.0, -1.0)
    box = 10 ** rng.uniform(-2, 2) * rng.uniform(0, 1, n) * (rng.random(n) < 0.9)
    sample = np.arange(n)
    if rng.random() < 0.3:
        zero = np.zeros(n)
        q, lo, hi = np.r_[y - 0.1, y + 0.1], np.r_[zero, -box], np.r_[box, zero]
        return (K + K.T) / 2, Dual(np.tile(sample, 2), q, lo, hi)
    lo, hi = (-box, box) if rng.random() < 0.5 else (np.minimum(0, y * box), np.maximum(0, y * box))
    return (K + K.T) / 2, Dual(sample, y, lo, hi)


def _primal(K: Array, dual: Dual) -> float:
    """The primal by cvxpy, from the factor of K."""
    values, vectors = np.linalg.eigh(K)
    factor = vectors * np.sqrt(np.maximum(values, 0))
    w, b = cp.Variable(len(K)), cp.Variable()
    r = dual.q - (factor[dual.sample] @ w + b)
    losses = cp.sum(cp.multiply(dual.hi, cp.pos(r)) + cp.multiply(-dual.lo, cp.pos(-r)))
    problem = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + losses))
    return float(problem.solve(solver="CLARABEL"))


# ---- the dual ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_gap_bounds_the_distance_to_an_independent_solution(seed: int) -> None:
    K, dual = _random_dual(seed)
    point = minimise_dual(K, dual, tol=1e-8)
    assert np.all((dual.lo <= point.v) & (point.v <= dual.hi))
    assert abs(np.sum(point.v)) <= 1e-10 * (1 + np.sum(np.abs(point.v)))
    Kc = K @ point.c
    value = dual.primal(point.c, Kc, dual.gradient(Kc), point.intercept)
    assert point.gap <= 1e-8 * (1 + abs(value))
    assert value == pytest.approx(_primal(K, dual), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_gap_is_primal_minus_dual_value(seed: int) -> None:
    K, dual = _random_dual(seed)
    v = warm(dual, np.random.default_rng(seed).uniform(dual.lo, dual.hi))
    c = dual.coefficients(v, len(K))
    Kc = K @ c
    g, b = dual.gradient(Kc), 0.3
    value = dual.primal(c, Kc, g, b) + (c @ Kc / 2 - dual.q @ v)
    assert dual.gap(v, g, b) == pytest.approx(value, rel=1e-9, abs=1e-9)
    assert dual.gap(v, g, b) >= dual.gap(v, g, dual.intercept(g)) >= 0


def test_intercept_is_the_middle_of_all_that_are_optimal() -> None:
    dual = Dual(np.arange(2), np.array([1.0, -1.0]), np.array([0.0, -1.0]), np.array([1.0, 0.0]))
    assert dual.intercept(np.array([-1.0, 1.0])) == 0.0  # every b in [−1, 1] costs 2
    three = Dual(np.arange(3), np.array([1.0, 5.0, 2.0]), -np.ones(3), np.ones(3))
    assert three.intercept(-three.q) == 2.0  # the median


def _dual_value(K: np.ndarray, dual: Dual, v: np.ndarray) -> float:
    c = dual.coefficients(v, len(K))
    return float(0.5 * c @ K @ c - dual.q @ v)


@pytest.mark.parametrize("seed", range(6))
def test_compiled_loop_is_the_plain_one(seed: int) -> None:
    K, dual = _random_dual(seed)
    rows = dual.sample
    whole = rows.size == len(K)
    for second in (True, False):
        outcomes = []
        for descend in (smo.descend, smo_reference.descend):
            v = warm(dual, np.zeros(dual.q.size))
            g = dual.gradient(K @ dual.coefficients(v, len(K)))
            parts = (dual.q, dual.lo, dual.hi, v, g)
            n_iter = descend(K, rows, *parts, whole, second, 1e-3, 300)
            Kc = K @ dual.coefficients(v, len(K))
            np.testing.assert_allclose(g, dual.gradient(Kc), atol=1e-8 * (1 + np.abs(Kc).max()))
            outcomes.append((n_iter, v))
        (fast_n, fast), (slow_n, slow) = outcomes
        assert _dual_value(K, dual, fast) == pytest.approx(
            _dual_value(K, dual, slow), rel=1e-4, abs=1e-4
        )
        assert fast_n == slow_n or max(fast_n, slow_n) > 20  # ties are broken alike at first


def test_first_order_step_decreases_the_dual_by_half_the_squared_violation() -> None:
    """Δ²/(2‖φ_U − φ_L‖²) for a step that meets no bound."""
    K, y = _data(40)
    dual = Dual(np.arange(40), y, np.full(40, -1e6), np.full(40, 1e6))
    descend = smo.descend
    v, g, rows = np.zeros(40), -y, np.arange(40)
    for _ in range(60):
        before, value = v.copy(), 0.5 * v @ K @ v - y @ v
        high, low = int(np.argmax(g)), int(np.argmin(g))
        apart = g[high] - g[low]
        parts = (dual.q, dual.lo, dual.hi, v, g)
        assert descend(K, rows, *parts, True, False, 1e-9, 1) == 1
        assert set(np.flatnonzero(v != before)) == {high, low}
        gain = apart**2 / (2 * (K[high, high] + K[low, low] - 2 * K[high, low]))
        assert value - (0.5 * v @ K @ v - y @ v) == pytest.approx(gain, rel=1e-8)


def test_violation_rule_of_the_first_order_selection() -> None:
    K, y = _data()
    dual = Dual(np.arange(80), y, -np.ones(80), np.ones(80))
    point = minimise_dual(K, dual, violation=1e-3, selection="first")
    g = dual.gradient(K @ point.c)
    assert dual.violation(point.v, g) <= 1e-3
    sooner = minimise_dual(K, dual, violation=1e-1, selection="first")
    assert sooner.n_iter < point.n_iter


def test_a_budget_of_pairs_is_kept() -> None:
    K, y = _data()
    dual = Dual(np.arange(80), y, -np.ones(80), np.ones(80))
    with pytest.raises(SubproblemError, match="after 7 pairs"):
        minimise_dual(K, dual, selection="first", max_iter=7)


def test_violations_at_the_size_of_rounding_end_it() -> None:
    """It moved a thousand pairs a variable in vain."""
    X, labels = make_classification(400, 80, n_informative=40, flip_y=0.15, random_state=1)
    y = np.where(labels == 1, 1.0, -1.0)
    dual = Dual(np.arange(400), y, np.minimum(0, y), np.maximum(0, y))
    K = 900 * X @ X.T
    assert minimise_dual(K, dual, tol=1e-8).gap < 1e-5
    with pytest.raises(SubproblemError, match=r"after \d{1,5} pairs"):
        minimise_dual(K, dual, tol=1e-15)


# ---- warm starts ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_warm_start_is_feasible_and_keeps_what_is_at_a_bound(seed: int) -> None:
    _, dual = _random_dual(seed)
    rng = np.random.default_rng(seed)
    v = warm(dual, rng.uniform(dual.lo, dual.hi))
    held = rng.random(v.size) < 0.3
    v = warm(dual, np.where(held, dual.hi, v))
    smaller = Dual(dual.sample, dual.q, 0.9 * dual.lo, 0.9 * dual.hi)
    new = warm(smaller, v, dual)
    assert np.all((smaller.lo <= new) & (new <= smaller.hi))
    assert abs(np.sum(new)) <= 1e-12 * (1 + np.sum(np.abs(v)))


def test_warm_start_of_a_solution_takes_no_pairs() -> None:
    K, y = _data()
    dual = Dual(np.arange(80), y, np.minimum(0, y), np.maximum(0, y))
    point = minimise_dual(K, dual)
    again = minimise_dual(K, dual, warm(dual, point.v, dual))
    assert again.n_iter == 0
    np.testing.assert_array_equal(again.v, point.v)


def test_next_subproblem_is_cheaper_than_the_first() -> None:
    K, y = _data(300)
    rows = expansion_margins(K, y)
    risk = Risk.from_loss(rows, hinge(), rows.norm(1.0))
    solver: Any = make("smo", risk)
    weights = np.random.default_rng(0).uniform(0.5, 1, 300)
    first = solver.minimise(WeightedRisk(risk, weights), np.zeros(301), 1e-8)
    second = solver.minimise(WeightedRisk(risk, 0.99 * weights), first.coefficients, 1e-8)
    assert second.n_iter < first.n_iter / 5


def test_a_box_without_a_feasible_point_is_unbounded() -> None:
    dual = Dual(np.arange(2), np.ones(2), np.array([1.0, 0.0]), np.array([2.0, 1.0]))
    with pytest.raises(SubproblemError, match="without end") as error:
        minimise_dual(np.eye(2), dual)
    assert error.value.status == "unbounded"


# ---- the solver ----------------------------------------------------------------------------------

LOSSES: list[Any] = [
    hinge(),
    hinge(0.3),
    absolute(at=1.0),
    pinball(0.3),
    epsilon_insensitive(0.2),
    truncate(hinge(), -0.4),
    rescale(hinge(), 1.0),
    cap(epsilon_insensitive(0.1, 1.0), 0.8),
]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("solver", ["smo", "smo_first_order", "libsvm"])
def test_every_outer_step_agrees_with_cvxpy(loss: Any, solver: str) -> None:
    K, y = _data(50)
    rows = expansion_margins(K, y)
    weights = np.random.default_rng(1).uniform(0, 2, 50)
    risk = Risk.from_loss(rows, loss, rows.norm(0.3), weights)
    try:
        surrogate = risk.surrogate(solver)
    except ValueError:
        assert solver == "libsvm"
        return
    reference = ReferenceSolver(risk)
    x = surrogate.starts("convex", np.random.default_rng(0))
    surrogate.begin(x)
    for _ in range(4):
        surrogate.tighten(x)
        parts = (surrogate.problem.weights, surrogate.problem.tilts)
        fast = make(solver, risk).minimise(WeightedRisk(risk, *parts), x, 1e-8)
        new = surrogate.minimise(x, 1e-8, solver)
        slow = reference.minimise(WeightedRisk(risk, *parts), x, 1e-9)
        assert WeightedRisk(risk, *parts).value(new) == pytest.approx(slow.value, rel=1e-6)
        assert fast.value == pytest.approx(slow.value, rel=1e-6)
        assert fast.value == WeightedRisk(risk, *parts).value(fast.coefficients)
        x = new


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_multipliers_balance_the_penalty(loss: Any) -> None:
    K, y = _data(50)
    rows = expansion_margins(K, y)
    risk = Risk.from_loss(rows, loss, rows.norm(0.3))
    tilts = risk.tilts(np.zeros(51))
    solution = make("smo", risk).minimise(
        WeightedRisk(risk, np.ones(50), tilts), np.zeros(51), 1e-10
    )
    assert solution.dual is not None
    slopes = -solution.dual + (0 if tilts is None else tilts)
    a = solution.coefficients[:-1]
    np.testing.assert_allclose(0.3 * (K @ a) + K @ (y * slopes), 0, atol=1e-9)
    assert abs(y @ slopes) < 1e-9


def test_both_declarations_of_a_kernel_machine_have_one_solution() -> None:
    K, y = _data()
    plain, expanded = kernel_margins(K, y), expansion_margins(K, y)
    one = dc.solve(Risk.from_loss(plain, cap(hinge(), 1.0), l2(0.5)))
    two = dc.solve(Risk.from_loss(expanded, cap(hinge(), 1.0), expanded.norm(0.5)))
    assert one.solver == two.solver == "smo"
    assert one.value == pytest.approx(two.value, rel=1e-7)
    assert one.x is not None
    assert two.x is not None
    np.testing.assert_allclose(
        K @ plain.dual_coef(one.x)[0], K @ expanded.dual_coef(two.x)[0], atol=1e-4
    )


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_weighted_svm_is_libsvms(C: float) -> None:
    K, y = _data(200)
    weights = np.random.default_rng(2).uniform(0, 1, 200)
    rows = expansion_margins(K, y)
    risk = Risk.from_loss(rows, hinge(), rows.norm(1.0), C * weights)
    machine = SVC(C=C, kernel="precomputed", tol=1e-8).fit(K, y, sample_weight=weights)
    a = np.zeros(200)
    a[machine.support_] = machine.dual_coef_[0]
    theirs = risk(np.append(a, machine.intercept_))
    ours = dc.solve(risk)
    assert ours.value <= theirs * (1 + 1e-8)
    assert ours.value == pytest.approx(theirs, rel=1e-5)  # their kernel has single precision
    assert ours.solver_steps > 0


def test_epsilon_regression_is_libsvms() -> None:
    K, _ = _data(120)
    target = np.random.default_rng(3).standard_normal(120)
    rows = expansion_residuals(K, target)
    risk = Risk.from_loss(rows, epsilon_insensitive(0.2), rows.norm(1.0))
    machine = SVR(epsilon=0.2, kernel="precomputed", tol=1e-8).fit(K, target)
    a = np.zeros(120)
    a[machine.support_] = machine.dual_coef_[0]
    theirs = risk(np.append(a, machine.intercept_))
    assert dc.solve(risk).value == pytest.approx(theirs, rel=1e-6)


def test_a_missed_tolerance_is_said() -> None:
    K, y = _data()
    rows = expansion_margins(K, y)
    risk = Risk.from_loss(rows, hinge(), rows.norm(1.0))
    solver = make("smo", risk)
    with pytest.raises(SubproblemError, match="gap stayed"):
        solver.minimise(WeightedRisk(risk, np.ones(80)), np.zeros(81), 1e-22)


@pytest.mark.parametrize("solver", ["smo", "smo_first_order", "libsvm"])
def test_weights_that_are_all_zero_or_of_one_class(solver: str) -> None:
    K, y = _data(20)
    rows = expansion_margins(K, y)
    risk = Risk.from_loss(rows, hinge(), rows.norm(1.0))
    made = make(solver, risk)
    for weights in (np.zeros(20), (y > 0).astype(float)):
        solution = made.minimise(WeightedRisk(risk, weights), np.zeros(21), 1e-8)
        assert 0 <= solution.value <= 1e-8
        np.testing.assert_array_equal(solution.coefficients[:-1], 0)


# ---- rows, norm and Gram matrix ------------------------------------------------------------------


def test_kernel_norm_is_the_plain_formula() -> None:
    K, _ = _data(12)
    penalty = kernel_norm(K, 0.7)
    w = np.random.default_rng(4).standard_normal(12)
    slow = 0.35 * sum(w[i] * w[j] * K[i, j] for i in range(12) for j in range(12))
    assert penalty(w) == pytest.approx(slow, rel=1e-12)
    assert float(penalty.expression(cp.Constant(w)).value) == pytest.approx(slow, rel=1e-9)
    step = 1e-6 * np.eye(12)[0]
    assert penalty.slope(w)[0] == pytest.approx((penalty(w + step) - penalty(w - step)) / 2e-6)
    check_penalty(penalty, size=12)
    assert pickle.loads(pickle.dumps(penalty))(w) == penalty(w)
    assert repr(penalty) == "kernel_norm(K of 12 samples, lam=0.7)"


def test_expansion_rows_are_those_of_the_matrix() -> None:
    K, y = _data(10)
    rows = expansion_margins(K, y)
    theta = np.random.default_rng(5).standard_normal(11)
    np.testing.assert_allclose(rows @ theta, y * (K @ theta[:-1] + theta[-1]))
    np.testing.assert_allclose(rows.matrix() @ theta, rows @ theta)
    u = np.arange(10.0)
    np.testing.assert_allclose(rows.T @ u, rows.matrix().T @ u)


def test_gram_remembers_products_and_no_caller_can_spoil_them() -> None:
    gram = Gram(np.eye(3))
    a = np.array([1.0, 2.0, 3.0])
    product = gram.times(a)
    assert gram.times(a.copy()) is product
    with pytest.raises(ValueError, match="read-only"):
        product[0] = 7.0
    a[0] = 9.0
    np.testing.assert_array_equal(gram.times(a), a)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(gram)).times(a), a)


@pytest.mark.parametrize(
    ("K", "words"),
    [
        (np.ones((2, 3)), "square"),
        ([[1.0, np.nan], [np.nan, 1.0]], "NaN"),
        ([[1.0, 2.0], [0.0, 1.0]], "symmetric"),
        ([[1.0, 0.0], [0.0, -1.0]], "positive semidefinite"),
        (-np.eye(4), "positive semidefinite"),
    ],
)
def test_what_is_no_kernel_is_refused(K: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Gram(K)


def test_expansion_has_one_score() -> None:
    with pytest.raises(ValueError, match="one score"):
        KernelExpansion(np.eye(2), np.ones((2, 2)))


# ---- compilation ---------------------------------------------------------------------------------


def _twice(x: int) -> int:
    return 2 * x


def test_where_numba_cannot_write_its_cache_it_compiles_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    numba = importlib.import_module("numba")
    plain = numba.njit

    def refusing(*, cache: bool = False, **options: Any) -> Any:
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return plain(**options)

    monkeypatch.setattr(numba, "njit", refusing)
    assert jit.compiled(_twice)(3) == 6
