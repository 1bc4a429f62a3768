"""Proximal Newton: the minimum, exact zeros, certificates, and the problems no one else takes."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.sparse.linalg import LinearOperator
from sklearn.datasets import load_wine

import dcprog as dc
from dcprog.estimators import RobustClassifier
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError
from dcprog.losses import (
    ConvexLoss,
    cap,
    hinge,
    huber,
    logistic,
    pade_hinge,
    sigmoid_hinge,
    square,
    squared,
    squared_hinge,
)
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
    scad,
)
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.rows.angle import angle_differences, angle_margins
from dcprog.rows.kernel import kernel_angle_margins
from dcprog.rows.linear import binary_margins, class_margins, residual_rows
from dcprog.solvers.conic.reference import ReferenceSolver
from dcprog.solvers.linalg.kronecker import RowHessian
from dcprog.solvers.registry import choose
from dcprog.solvers.smooth.proximal_newton import ProximalNewtonSolver
from dcprog.solvers.smooth.sign_search import SignSearch
from dcprog.solvers.smooth.smooth_problem import SmoothLine, SmoothProblem

MARGINS: list[ConvexLoss] = [
    squared_hinge(),
    square(at=1.0),
    logistic(),
    sigmoid_hinge(5.0),
    squared(sigmoid_hinge(5.0)),
    pade_hinge(5.0),
    pade_hinge(50.0),
]
RESIDUALS: list[ConvexLoss] = [square(), huber(0.7)]
PENALTIES: list[Penalty] = [
    l1(1.0),
    l1(1e-3),
    l1(1e3),
    l2(1.0),
    l2(0.0),
    elastic_net(0.5, 0.5),
    mcp(1.0, 3.0),
    scad(0.5),
    log_sum(0.5, 0.5) + l2(0.1),
]
LARGE = LinearOperator((10**5, 10**5), matvec=lambda v: v, dtype=float)  # never formed
Parts = tuple[Risk, Array, Array | None, Array | None]


def _rows(rng: np.random.Generator, residuals: bool, most: int) -> Any:
    """Rows of every kind, with duplicated and constant columns, and more columns than samples."""
    n, d = int(rng.integers(8, most)), int(rng.integers(1, 12))
    d = n + 5 if rng.random() < 0.2 else d
    X = rng.standard_normal((n, d)) * 10 ** rng.uniform(-1, 1)
    k = int(rng.integers(2, 5))
    score = X[:, 0] + X[:, -1] + np.std(X) * rng.standard_normal(n)
    labels = np.argsort(np.argsort(score)) * k // n
    if rng.random() < 0.3:
        X[:, d // 2] = X[:, 0]
    if rng.random() < 0.2:
        X[:, -1] = 1.0
    data: Any = sp.csr_array(X) if rng.random() < 0.25 else X
    intercept = bool(rng.random() < 0.7)
    if residuals:
        return residual_rows(data, 3 * X[:, 0] + rng.standard_normal(n), intercept)
    build = rng.choice(np.array([angle_margins, angle_differences, class_margins, None]))
    if build is not None:
        return build(data, labels, intercept)
    if rng.random() < 0.3:
        return sp.csr_array(X) if rng.random() < 0.5 else X
    return binary_margins(data, labels > 0, intercept)


def _configuration(seed: int, bases: list[ConvexLoss], most: int = 40) -> Parts:
    rng = np.random.default_rng(seed)
    base = bases[seed % len(bases)]
    rows = _rows(rng, base in RESIDUALS, most)
    penalty = PENALTIES[int(rng.integers(len(PENALTIES)))]
    p = rows.shape[1]
    penalized = np.ones(p) if rng.random() < 0.3 else None
    penalized = rng.random(p) < 0.7 if rng.random() < 0.1 else penalized
    weights = rng.uniform(0, 2, rows.shape[0]) * (rng.random(rows.shape[0]) < 0.8)
    risk = Risk.from_loss(rows, base, penalty, penalized=penalized)
    size = int(risk.penalized.sum())
    shrinkage = None
    if not penalty.is_convex:
        shrinkage = penalty.weights(rng.standard_normal(size) * (rng.random(size) < 0.5))
    tilts = None
    if rng.random() < 0.3:  # slopes the weighted losses can hold, so that a minimum exists
        tilts = -0.5 * weights * base.slope(rng.standard_normal(weights.size))
    return risk, weights, tilts, shrinkage


def _minimise(parts: Parts, solver: Any, tolerance: float = 1e-9) -> Any:
    risk, weights, tilts, shrinkage = parts
    zero = np.zeros(risk.rows.shape[1])
    return solver(risk).minimise(
        WeightedRisk(risk, weights, tilts, shrinkage=shrinkage), zero, tolerance
    )


def _form(parts: Parts) -> tuple[Array, Array]:
    """(l, q) of all entries."""
    risk, _, _, shrinkage = parts
    l, q = np.zeros((2, risk.penalized.size))  # noqa: E741
    form = risk.penalty.parts()
    l[risk.penalized], q[risk.penalized] = form.l1, form.ridge
    l[risk.penalized] += 0.0 if shrinkage is None else shrinkage
    return l, q


# ---- the minimum ---------------------------------------------------------------------------------

POLYNOMIAL = [square(), huber(0.7), squared_hinge(), square(at=1.0)]
EXPONENTIAL = [logistic(), sigmoid_hinge(5.0), squared(sigmoid_hinge(5.0))]


@pytest.mark.parametrize(
    "parts",
    [
        *(_configuration(seed, POLYNOMIAL) for seed in range(24)),
        *(_configuration(seed, EXPONENTIAL, most=16) for seed in range(100, 108)),
    ],
    ids=lambda parts: f"{parts[0].base!r}-{parts[0].penalty!r}-{parts[0].rows.shape}",
)
def test_agrees_with_cvxpy(parts: Parts) -> None:
    fast, slow = _minimise(parts, ProximalNewtonSolver), _minimise(parts, ReferenceSolver, 1e-8)
    assert fast.value == pytest.approx(
        WeightedRisk(parts[0], *parts[1:]).value(fast.coefficients), rel=1e-14
    )
    assert abs(fast.value - slow.value) <= 1e-6 * (1 + abs(slow.value))
    assert fast.value <= slow.value + 1e-8 * (1 + abs(slow.value))


@pytest.mark.parametrize("seed", range(10))
def test_agrees_with_a_generic_minimiser_of_the_split_form(seed: int) -> None:
    parts = _configuration(seed, [pade_hinge(5.0), pade_hinge(2.0), squared(pade_hinge(5.0))])
    risk, weights, tilts, shrinkage = parts
    l, q = _form(parts)  # noqa: E741
    t = 0.0 if tilts is None else tilts
    p = l.size

    squares = (sp.csr_array(risk.matrix()) ** 2).sum(axis=0)
    unit = 1 / np.sqrt(np.where(squares > 0, squares, 1.0))

    def split(z: Array) -> tuple[float, Array]:
        theta = unit * (z[:p] - z[p:])
        slopes = risk.rows.T @ (weights * risk.base.slope(risk.margins(theta)) + t) + q * theta
        losses = WeightedRisk(risk, weights, tilts, shrinkage).value(theta) - float(
            l @ np.abs(theta)
        )
        slopes, rates = unit * slopes, unit * l
        return losses + float(rates @ (z[:p] + z[p:])), np.r_[slopes + rates, rates - slopes]

    solution = _minimise(parts, ProximalNewtonSolver)
    lowest = np.inf
    for theta in (np.zeros(p), solution.coefficients * (1 + 1e-3 * np.cos(np.arange(p)))):
        generic = minimize(
            split,
            np.concatenate([np.maximum(theta, 0), np.maximum(-theta, 0)]) / np.tile(unit, 2),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0, None)] * (2 * p),
            options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 20_000, "maxcor": 30},
        )
        lowest = min(lowest, float(generic.fun))
    assert solution.value == pytest.approx(lowest, rel=1e-6, abs=1e-6)
    assert solution.value <= lowest + 1e-9 * (1 + abs(lowest))


@pytest.mark.parametrize("seed", range(14))
def test_the_slope_is_a_subgradient_and_the_start_does_not_matter(seed: int) -> None:
    parts = _configuration(seed, [*MARGINS, *RESIDUALS])
    risk, weights, tilts, shrinkage = parts
    solver = ProximalNewtonSolver(risk)
    rng = np.random.default_rng(seed)
    values = []
    for size in (0.0, 1.0, 100.0):
        start = size * rng.standard_normal(risk.rows.shape[1])
        solution = solver.minimise(
            WeightedRisk(risk, weights, tilts, shrinkage=shrinkage), start, 1e-10
        )
        values.append(solution.value)
        theta = solution.coefficients
        pull = np.zeros(weights.size) if tilts is None else tilts
        assert solution.dual is not None
        g = risk.rows.T @ (pull - solution.dual)
        l, q = _form(parts)  # noqa: E741
        g = g + q * theta
        missing = np.where(theta != 0, np.abs(g + l * np.sign(theta)), np.maximum(np.abs(g) - l, 0))
        typical = np.asarray(abs(sp.csr_array(risk.matrix())).T @ (weights + np.abs(pull))).ravel()
        assert np.all(missing <= 1e-3 * (l + typical + 1e-9))
    np.testing.assert_allclose(values, values[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("size", [1e-8, 1e8])
@pytest.mark.parametrize("base", [logistic(), pade_hinge(20.0), squared_hinge()], ids=repr)
def test_does_not_mind_the_units(base: ConvexLoss, size: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 4))
    y = X[:, 0] + rng.standard_normal(40) > 0
    expected, scaled = (
        _minimise(
            (
                Risk.from_loss(binary_margins(s * X, y), base, l1(2.0 * s)),
                np.ones(40),
                None,
                None,
            ),
            ProximalNewtonSolver,
        )
        for s in (1.0, size)
    )
    assert scaled.value == pytest.approx(expected.value, rel=1e-7)
    np.testing.assert_array_equal(scaled.coefficients == 0, expected.coefficients == 0)


def test_large_residuals_of_a_small_huber_loss() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    rows = residual_rows(X, 1e4 * (X[:, 0] + rng.standard_normal(60)))
    parts: Parts = Risk.from_loss(rows, huber(1.0), l1(1.0)), np.ones(60), None, None
    fast, slow = _minimise(parts, ProximalNewtonSolver), _minimise(parts, ReferenceSolver)
    assert fast.value == pytest.approx(slow.value, rel=1e-8)


def test_sums_of_groups_are_taken() -> None:
    rng = np.random.default_rng(0)
    rows = class_margins(rng.standard_normal((20, 3)), np.arange(20) % 3)
    risk = Risk(rows, pade_hinge(5.0), aggregate="sum", penalty=l1(0.5))
    each = Risk(rows, pade_hinge(5.0), penalty=l1(0.5))
    d = rng.uniform(0, 2, 20)
    together = _minimise((risk, d, None, None), ProximalNewtonSolver)
    apart = _minimise((each, d[rows.groups], None, None), ProximalNewtonSolver)
    assert together.value == pytest.approx(apart.value, rel=1e-9)


# ---- its parts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_sign_search_meets_the_optimality_conditions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = int(rng.integers(1, 40))
    root = rng.standard_normal((int(rng.integers(1, 50)), p)) * 10 ** rng.uniform(-2, 2, p)
    if rng.random() < 0.3:
        root[:, 0] = root[:, -1]
    H = root.T @ root
    l = np.where(rng.random(p) < 0.8, 10 ** rng.uniform(-1, 1) * np.sqrt(np.diag(H)), 0.0)  # noqa: E741
    x0 = rng.standard_normal(p) * (rng.random(p) < 0.5)
    g = H @ rng.standard_normal(p)  # in the range of H: there is a minimum
    x = SignSearch(H, l).minimise(g, x0)
    slope = g + H @ (x - x0)
    missing = np.where(x != 0, np.abs(slope + l * np.sign(x)), np.maximum(np.abs(slope) - l, 0))
    unit = np.sqrt(np.diag(H))
    assert np.max(missing / unit) <= 1e-9 * (np.max(np.abs(g) / unit) + np.max(unit * np.abs(x0)))


@pytest.mark.parametrize("seed", range(3))
def test_steps_far_from_the_end_are_not_exact(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Huber's loss with a light l1 penalty: exact steps took some 1000 systems, of up to 2n."""
    rng, solved = np.random.default_rng(seed), list[int]()
    direction = SignSearch._direction

    def counted(search: SignSearch, places: Any) -> Array:
        solved.append(len(places))
        return direction(search, places)

    monkeypatch.setattr(SignSearch, "_direction", counted)
    X = rng.standard_normal((150, 375))
    rows = residual_rows(X, X[:, :3].sum(axis=1) + rng.standard_normal(150))
    parts = Risk(rows, huber(0.5), penalty=l1(1.0)), np.ones(150), None, None
    _minimise(parts, ProximalNewtonSolver, 1e-8)
    assert 0 < len(solved) < 600


@pytest.mark.parametrize("build", [angle_margins, angle_differences, class_margins, None])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_hessian_is_that_of_the_matrix(build: Any, sparse: bool, intercept: bool) -> None:
    rng = np.random.default_rng(0)
    X: Any = rng.standard_normal((12, 4))
    X = sp.csr_array(X) if sparse else X
    rows = X if build is None else build(X, np.arange(12) % 3, intercept)
    risk = Risk(rows, square())
    A = sp.csr_array(risk.matrix()).toarray()
    D = rng.uniform(0, 2, len(A)) * (np.arange(len(A)) < 18)
    full, some = A.T @ (D[:, None] * A), np.array([3, 0, A.shape[1] - 1])
    curved = RowHessian(risk)
    np.testing.assert_allclose(curved.hessian(D, np.arange(len(full))), full, atol=1e-12)
    np.testing.assert_allclose(curved.hessian(D, some), full[np.ix_(some, some)], atol=1e-12)
    q = rng.uniform(1, 2, len(full)) * (np.arange(len(full)) < len(full) - 1)
    g = rng.standard_normal(len(full))
    if not sparse:
        step = curved.step(D, q, g)
        np.testing.assert_allclose(full @ step + q * step, -g, atol=1e-9)


@pytest.mark.parametrize("penalty", [l2(0.5), l1(0.5)], ids=repr)
def test_many_columns_are_not_formed(penalty: Penalty) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 4000)), np.arange(30) % 3
    risk = Risk.from_loss(angle_margins(X, y), pade_hinge(5.0), penalty)
    assert risk.rows.shape[1] > 8000
    solution = _minimise((risk, np.ones(90), None, None), ProximalNewtonSolver, 1e-8)
    g = risk.rows.T @ solution.dual
    if isinstance(penalty, l2):
        np.testing.assert_allclose(0.5 * risk.penalized * solution.coefficients, g, atol=1e-5)
    else:
        assert np.all(np.abs(g) <= np.where(risk.penalized, 0.5 * (1 + 1e-5), 1e-5))
        assert np.count_nonzero(solution.coefficients) <= 92
    dense = Risk.from_loss(angle_margins(X, y), pade_hinge(5.0), l2(0.0))
    assert "8002 unknowns" in str(ProximalNewtonSolver.refusal(dense))


# ---- what it refuses, and what has no minimum ----------------------------------------------------


@pytest.mark.parametrize(
    ("risk", "reason"),
    [
        (Risk(np.eye(2), (pade_hinge(5.0) + hinge(0)).base, penalty=l1(1.0)), "slope jumps"),
        (Risk(angle_margins(np.eye(2), [0, 1]), square(), aggregate="max"), "maximum"),
        (Risk(LARGE, square()), "pass an array"),
        (Risk(np.eye(2), square(), penalty=group_lasso(1.0, [0, 0])), "made of l1, l2"),
        (Risk(np.ones((2, 3001)), square(), penalty=l2(0.0)), "3001 unknowns"),
    ],
)
def test_refusals_name_the_reason(risk: Risk, reason: str) -> None:
    with pytest.raises(ValueError, match=f"cannot take this risk: .*{reason}"):
        choose(risk, "proximal_newton")


@pytest.mark.parametrize("base", [logistic(), pade_hinge(5.0), huber(1.0)], ids=repr)
def test_a_function_without_a_minimum_is_reported(base: ConvexLoss) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3))
    risk = Risk.from_loss(binary_margins(X, X[:, 0] > 0), base, l2(0.0))
    solver = ProximalNewtonSolver(risk)
    for weights, tilt in ((1.0, 2.5), (0.0, 1.0)):
        with pytest.raises(SubproblemError) as caught:
            solver.minimise(
                WeightedRisk(risk, np.full(30, weights), np.full(30, tilt)), np.zeros(4), 1e-8
            )
        assert caught.value.status == "unbounded"
    with pytest.raises(SubproblemError, match="time limit"):
        solver.minimise(
            WeightedRisk(risk, np.ones(30), np.full(30, -0.01)), np.ones(4), 1e-8, time_limit=0.0
        )


@pytest.mark.parametrize("base", [logistic(), sigmoid_hinge(5.0), squared_hinge()], ids=repr)
def test_an_infimum_that_is_not_reached_is_approached(base: ConvexLoss) -> None:
    X = np.random.default_rng(0).standard_normal((30, 3))
    risk = Risk.from_loss(binary_margins(X, X[:, 0] > 0), base, l2(0.0))
    solution = ProximalNewtonSolver(risk).minimise(
        WeightedRisk(risk, np.ones(30)), np.zeros(4), 1e-8
    )
    assert 0 <= solution.value <= 1e-8
    assert solution.n_iter is not None
    assert solution.n_iter < 100


def test_without_losses_the_penalty_decides() -> None:
    risk = Risk(np.eye(3), square(), penalty=elastic_net(1.0, 2.0), penalized=[1, 1, 0])
    solver = ProximalNewtonSolver(risk)
    still = solver.minimise(WeightedRisk(risk, np.zeros(3)), np.array([4.0, 5.0, 6.0]), 1e-8)
    np.testing.assert_array_equal(still.coefficients, [0, 0, 6])
    tilted = solver.minimise(
        WeightedRisk(risk, np.zeros(3), np.array([-5.0, 0.5, 0])), np.ones(3), 1e-8
    )
    np.testing.assert_allclose(tilted.coefficients, [2, 0, 1])
    assert tilted.value == pytest.approx(-4.0)


# ---- estimators ----------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"kernel": "rbf"}, {"penalize_intercept": True}])
@pytest.mark.parametrize("loss", [pade_hinge(5.0), cap(pade_hinge(5.0), 1.0)], ids=repr)
def test_pade_fits_three_classes(loss: Any, options: dict[str, Any]) -> None:
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = RobustClassifier(loss, **options).fit(X, y)
    assert model.result_.status == "converged"
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize(
    "penalty",
    [
        l1(1.0),
        elastic_net(1.0, 0.1),
        mcp(1.0),
        scad(1.0),
        lp(1.0, 0.5),
        log_sum(1.0, 1.0),
        capped_l1(1.0, 1.0),
    ],
    ids=repr,
)
def test_pade_takes_every_separable_penalty(penalty: Penalty) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 6))
    y = np.digitize(X[:, 0] + 0.3 * rng.standard_normal(80), [-0.5, 0.5])
    options: dict[str, Any] = {"n_starts": 1, "multiclass": "ovr"}
    model = RobustClassifier(cap(pade_hinge(5.0), 1.0), penalty, **options).fit(X, y)
    assert model.result_.status == "converged"
    assert 0 < np.count_nonzero(model.coef_) < model.coef_.size
    assert model.result_.certificate().descent.measured <= 1e-6


def test_capped_logistic_loss_with_a_concave_penalty_is_quick() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    y = X[:, 0] + 0.5 * rng.standard_normal(60) > 0
    model = RobustClassifier(cap(logistic(), 1.0), mcp(1.0, 3.0))
    begun = time.process_time()
    model.fit(X, y)
    assert time.process_time() - begun < 1
    assert model.result_.status == "converged"
    assert np.any(model.coef_ == 0)


def test_kernel_machine_of_three_classes_is_that_of_its_margins() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 2)), np.arange(30) % 3
    K = np.exp(-np.sum((X[:, None] - X) ** 2, axis=2))
    rows = kernel_angle_margins(K, y)
    result = dc.solve(Risk.from_loss(rows, pade_hinge(5.0), l2(0.5)))
    assert result.solver == "proximal_newton"
    assert result.x is not None
    a, (_, b) = rows.dual_coef(result.x), rows.unpack(result.x)
    u = angle_margins(K, y, fit_intercept=True) @ np.concatenate([a.ravel(), b])
    value = np.sum(pade_hinge(5.0)(u)) + 0.25 * np.sum(a * (a @ K))
    assert result.value == pytest.approx(value, rel=1e-9)


def test_a_long_step_without_a_ridge_has_a_finite_rise() -> None:
    """The square of 1e200 overflows; 0 times it was NaN, at which no search along a line ends."""
    rng = np.random.default_rng(0)
    X, y = 1e-200 * rng.standard_normal((20, 3)), np.sign(rng.standard_normal(20))
    risk = Risk(binary_margins(X, y, fit_intercept=False), logistic(), penalty=l1(1e-205))
    problem = SmoothProblem.of(WeightedRisk(risk, np.ones(20)))
    d = 1e200 * rng.standard_normal(3)
    line = SmoothLine(problem, problem.place(np.zeros(3)), d, np.asarray(risk.rows @ d).ravel())
    assert line.rise(1.0) == pytest.approx(risk(d) - risk(np.zeros(3)))
