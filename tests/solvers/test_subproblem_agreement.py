"""Fast solvers against cvxpy on random declarations, and the value against a plain formula."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import dcprog as dc
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError
from dcprog.losses import (
    absolute,
    cap,
    epsilon_insensitive,
    hinge,
    huber,
    log,
    logistic,
    pade_hinge,
    pinball,
    power,
    rescale,
    sigmoid_hinge,
    square,
    squared,
    squared_hinge,
    trim,
    truncate,
    welsch,
)
from dcprog.penalties import elastic_net, l1, l2, mcp, scad
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.rows.kernel import kernel_margins, kernel_residuals
from dcprog.rows.linear import binary_margins, residual_rows
from dcprog.solvers.conic.reference import ReferenceSolver
from dcprog.solvers.registry import make

MARGINS = [hinge(), squared_hinge(), logistic(), hinge(0.5), absolute(at=1.0), square(at=1.0)]
RESIDUALS = [square(), absolute(), huber(0.7), pinball(0.3), epsilon_insensitive(0.2)]
WRAPPED: list[Any] = [
    lambda base: cap(base, 1.0),
    lambda base: rescale(base, 0.7),
    lambda base: log(base, 1.5),
    lambda base: welsch(base, 1.2),
    lambda base: trim(base, 0.1),
    lambda base: base,
]


def _configuration(seed: int) -> tuple[Risk, str]:
    """A random risk with an ``l2`` penalty."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(20, 80)), int(rng.integers(1, 30))
    X: Any = rng.standard_normal((n, p)) * 10 ** rng.uniform(-0.5, 0.5)
    score = X @ rng.standard_normal(p) / np.sqrt(p) + rng.standard_normal(n)
    X = sp.csr_array(X) if rng.random() < 0.3 else X
    intercept = bool(rng.random() < 0.7)
    is_margin = bool(rng.random() < 0.5)
    base = rng.choice(np.array(MARGINS if is_margin else RESIDUALS, dtype=object))
    if isinstance(base, hinge) and rng.random() < 0.4:
        loss = truncate(base, -0.3)
    else:
        loss = WRAPPED[int(rng.integers(len(WRAPPED)))](base)
    rows = (
        binary_margins(X, score > 0, intercept) if is_margin else residual_rows(X, score, intercept)
    )
    weight = rng.uniform(0, 3, n) if rng.random() < 0.5 and not loss.is_joint else None
    penalized = np.ones(rows.shape[1]) if rng.random() < 0.3 else None
    penalty = l2(10 ** rng.uniform(-2, 1.5))
    return Risk.from_loss(rows, loss, penalty, weight, penalized=penalized), repr(loss)


def _plain_value(risk: Risk, theta: Array) -> float:
    """The risk sample by sample, from dense rows."""
    dense = np.asarray(risk.matrix().toarray())
    u = dense @ theta + (0 if risk.offset is None else risk.offset)
    assert risk.loss is not None
    s = np.ones(u.size) if risk.sample_weight is None else risk.sample_weight
    w = theta[risk.penalized]
    ridge = risk.penalty.get_params()["lam"] / 2 * float(w @ w)
    return float(sum(s * risk.loss(u))) + ridge


@pytest.mark.parametrize("seed", range(12))
def test_fast_backend_and_cvxpy_agree_at_every_outer_step(seed: int) -> None:
    risk, _ = _configuration(seed)
    surrogate = risk.surrogate()
    fast = surrogate.solvers[0]
    known = ("newton", "multipliers", "interior", "pivoting")
    assert fast in known
    reference = ReferenceSolver(risk)
    x = surrogate.starts("convex", np.random.default_rng(0))
    surrogate.begin(x)
    for _ in range(6):
        surrogate.tighten(x)
        new = surrogate.minimise(x, 1e-9, fast)
        parts = (surrogate.problem.weights, surrogate.problem.tilts)
        slow = reference.minimise(WeightedRisk(risk, *parts), x, 1e-9).value
        value = WeightedRisk(risk, *parts).value(new)
        assert abs(value - slow) <= 1e-6 * max(abs(slow), WeightedRisk(risk, parts[0]).value(new))
        assert value <= slow + 1e-8 * (1 + abs(slow))
        x = new
    result = dc.solve(risk, start=x)
    assert result.x is not None
    assert result.status == "converged"
    assert result.solver == fast
    assert result.value == pytest.approx(_plain_value(risk, result.x), rel=1e-10)


BACKENDS = [
    *(("multipliers", base) for base in (hinge(), absolute(), huber(0.5), pinball(0.2))),
    *(("libsvm", base) for base in (hinge(), absolute(), epsilon_insensitive(0.1))),
    *(("smo", base) for base in (hinge(), hinge(0.5), absolute(), absolute(1.0))),
    *(("smo", base) for base in (pinball(0.2), epsilon_insensitive(0.1))),
    *(("smo_first_order", base) for base in (hinge(), absolute(), epsilon_insensitive(0.1))),
]


@pytest.mark.parametrize(("solver", "base"), BACKENDS, ids=str)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_backend_minimises_the_stated_objective(solver: str, base: Any) -> None:
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((120, 4)), rng.standard_normal(120)
    is_margin = isinstance(base, hinge | squared_hinge)
    kernel = solver in ("libsvm", "smo", "smo_first_order")
    data: Any = X @ X.T if kernel else X
    margins, residuals = (
        (kernel_margins, kernel_residuals) if kernel else (binary_margins, residual_rows)
    )
    rows = margins(data, y > 0) if is_margin else residuals(data, y + 5)
    risk = Risk.from_loss(rows, base, l2(20.0), rng.uniform(0, 2, 120))
    weights, start = risk.sampled(np.ones(120)), np.zeros(5)
    fast = make(solver, risk).minimise(WeightedRisk(risk, weights), start, 1e-7)
    slow = ReferenceSolver(risk).minimise(WeightedRisk(risk, weights), start, 1e-9)
    assert fast.value == pytest.approx(slow.value, rel=1e-6)
    assert abs(fast.coefficients[-1] - slow.coefficients[-1]) < 1e-2


TILTED = [
    *(("newton", base) for base in (squared_hinge(), square(), logistic(), huber(0.5))),
    *(("proximal_newton", base) for base in (squared_hinge(), square(), logistic(), huber(0.5))),
    *((name, hinge()) for name in ("pivoting", "interior", "multipliers", "simplex")),
    *((name, absolute()) for name in ("pivoting", "interior", "multipliers", "simplex")),
]


@pytest.mark.parametrize(("solver", "base"), TILTED, ids=str)
def test_tilts_are_part_of_the_stated_objective(solver: str, base: Any) -> None:
    rng = np.random.default_rng(8)
    X, y = rng.standard_normal((120, 4)), rng.standard_normal(120)
    is_margin = isinstance(base, hinge | squared_hinge | logistic)
    rows = binary_margins(X, y > 0) if is_margin else residual_rows(X, y + 5)
    risk = Risk.from_loss(rows, base, l1(2.0) if solver == "simplex" else l2(20.0))
    size = 0.4 if is_margin else 1.0  # within the slopes of a base that is flat on one side
    tilts = (rng.random(120) if is_margin else rng.uniform(-0.5, 0.5, 120)) * size
    problem, start = WeightedRisk(risk, np.ones(120), tilts), np.zeros(5)
    fast = make(solver, risk).minimise(problem, start, 1e-8)
    slow = ReferenceSolver(risk).minimise(problem, start, 1e-9)
    assert fast.value == pytest.approx(slow.value, rel=1e-6)
    untilted = WeightedRisk(risk, np.ones(120)).value(fast.coefficients)
    assert fast.value == pytest.approx(untilted + tilts @ risk.margins(fast.coefficients))
    assert abs(fast.value - untilted) > 0.01


def test_a_backend_that_misses_the_tolerance_says_so() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((60, 5)), rng.random(60) < 0.5
    risk = Risk.from_loss(kernel_margins(X @ X.T, y), hinge(), l2(1.0))
    with pytest.raises(SubproblemError, match="gap"):
        make("libsvm", risk).minimise(WeightedRisk(risk, np.ones(60)), np.zeros(61), 1e-18)


@pytest.mark.parametrize(
    "base", [pade_hinge(5.0), sigmoid_hinge(5.0), squared(sigmoid_hinge(500.0))], ids=repr
)
def test_newton_finds_the_stationary_point_of_smooth_hinges(base: Any) -> None:
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((60, 3)), rng.random(60) < 0.5
    risk = Risk.from_loss(binary_margins(X, y), base, l2(0.1))
    solution = make("newton", risk).minimise(WeightedRisk(risk, np.ones(60)), np.zeros(4), 1e-9)
    assert solution.dual is not None
    gradient = 0.1 * risk.penalized * solution.coefficients - risk.rows.T @ solution.dual
    np.testing.assert_allclose(gradient, 0, atol=1e-7)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("base", [hinge(), epsilon_insensitive(0.1)], ids=repr)
def test_multipliers_do_not_mind_the_units(base: Any, size: float) -> None:
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((50, 4)), rng.standard_normal(50)
    rows = binary_margins(X, y > 0) if isinstance(base, hinge) else residual_rows(X, y)
    weights, start = 10 ** rng.uniform(-3, 3, 50), np.zeros(5)
    one = Risk.from_loss(rows, base, l2(1.0))
    many = Risk.from_loss(rows, base, l2(size))
    expected = make("multipliers", one).minimise(WeightedRisk(one, weights), start, 1e-9).value
    scaled = (
        make("multipliers", many).minimise(WeightedRisk(many, size * weights), start, 1e-9).value
    )
    assert scaled == pytest.approx(size * expected, rel=1e-6)


def test_an_unbounded_tilt_is_an_error() -> None:
    risk = Risk.from_loss(binary_margins(np.eye(2), [0, 1]), hinge())
    for solver in ("multipliers", "newton"):
        base = hinge() if solver == "multipliers" else squared_hinge()
        risk = Risk.from_loss(risk.rows, base)
        with pytest.raises(SubproblemError):
            make(solver, risk).minimise(
                WeightedRisk(risk, np.zeros(2), np.array([1.0, -3.0])), np.zeros(3), 1e-8
            )


@pytest.mark.parametrize("penalty", [l1(0.5), elastic_net(0.3, 0.5), mcp(0.8, 3.0), scad(0.5, 3.7)])
@pytest.mark.parametrize("solver", ["CLARABEL", "ARROW", "PIQP"])
def test_general_path_takes_every_penalty(penalty: Any, solver: str) -> None:
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((40, 6)), rng.standard_normal(40)
    risk = Risk.from_loss(residual_rows(X, y), cap(absolute(), 1.0), penalty)
    surrogate = risk.surrogate()
    x = surrogate.starts("convex", np.random.default_rng(0))
    surrogate.begin(x)
    for _ in range(4):
        surrogate.tighten(x)
        assert surrogate.majorant_value(x) == pytest.approx(risk(x), rel=1e-12)
        for other in x + 0.3 * rng.standard_normal((20, 7)):
            assert surrogate.majorant_value(other) >= risk(other) - 1e-9
        parts = (surrogate.problem.weights, surrogate.problem.tilts)
        known = make("cvxpy", risk).minimise(
            WeightedRisk(risk, *parts, shrinkage=surrogate.problem.shrinkage), x, 1e-9
        )
        try:
            other_way = make(solver, risk)
        except ValueError:
            return
        found = other_way.minimise(
            WeightedRisk(risk, *parts, shrinkage=surrogate.problem.shrinkage), x, 1e-9
        )
        assert found.value == pytest.approx(known.value, rel=1e-6)
        x = known.coefficients


@pytest.mark.parametrize("loss", [power(absolute(), 0.5), cap(power(absolute(), 0.7), 1.0)])
def test_infinite_slopes_descend_to_a_critical_point(loss: Any) -> None:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 2))
    y = X @ [1.0, -2.0] + 3.0
    y[:8] += 10 * rng.random(8)
    result = dc.solve(Risk.from_loss(residual_rows(X, y), loss, l2(1e-3)))
    assert result.status == "converged"
    assert result.x is not None
    np.testing.assert_allclose(result.x, np.array([1.0, -2.0, 3.0]), atol=1e-2)


def test_kernel_machine_is_the_one_of_its_dual() -> None:
    rng = np.random.default_rng(6)
    X = rng.standard_normal((40, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    K = np.exp(-np.sum((X[:, None] - X) ** 2, axis=2))
    rows = kernel_margins(K, y)
    result = dc.solve(Risk.from_loss(rows, hinge(), l2(0.5)))
    assert result.x is not None
    a, b = rows.dual_coef(result.x)[0], result.x[-1]
    primal = np.sum(np.maximum(0, 1 - y * (K @ a + b))) + 0.25 * a @ K @ a
    assert result.value == pytest.approx(primal, rel=1e-9)
    assert result.solver == "smo"


def test_general_path_where_nothing_is_left_to_lose() -> None:
    risk = Risk(binary_margins(np.eye(4), [0, 0, 1, 1]), hinge(), aggregate="max")
    solver = ReferenceSolver(risk)
    start = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    none = solver.minimise(WeightedRisk(risk, np.zeros(4)), start, 1e-8)
    np.testing.assert_array_equal(none.coefficients, [0, 0, 0, 0, 5])
    one_class = solver.minimise(WeightedRisk(risk, np.array([0.0, 0, 1, 1])), start, 1e-8)
    assert 0 <= one_class.value <= 1e-8
    again = solver.minimise(
        WeightedRisk(risk, np.array([0.0, 0, 1, 1])), one_class.coefficients, 1e-8
    )
    assert 0 <= again.value <= 1e-8
