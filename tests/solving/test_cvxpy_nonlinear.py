"""Problems of cvxpy's own nonlinear tests: solved as well as a nonlinear solver does, or better.

Adapted from ``cvxpy.tests.nlp_tests`` (Apache-2.0), smaller where that tells the same. The
reference is SLSQP on cvxpy's own values, from the same start.
"""

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import minimize

import dcprog as dc

nlp = cp.nlp
Made = tuple[cp.Problem, dict[cp.Variable, Any]]


def hs071() -> Made:
    x = cp.Variable(4, bounds=[0, 6])
    goal = x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2]
    constraints = [x[0] * x[1] * x[2] * x[3] >= 25, cp.sum(cp.square(x)) == 40]
    return cp.Problem(cp.Minimize(goal), constraints), {x: [1.0, 5.0, 5.0, 1.0]}


def maximum_likelihood() -> Made:
    data = np.random.default_rng(0).normal(size=200)
    mu, sigma = cp.Variable(1), cp.Variable(1, nonneg=True)
    fit = 100 * cp.log(1 / (2 * np.pi * sigma**2)) - cp.sum(cp.square(data - mu)) / (2 * sigma**2)
    return cp.Problem(cp.Maximize(fit), [mu == sigma**2]), {mu: [0.5], sigma: [1.0]}


def free_likelihood() -> Made:
    data = np.random.default_rng(1).normal(size=30)
    mu, sigma = cp.Variable(1), cp.Variable(1, nonneg=True)
    squares = cp.sum(cp.square(data - mu))
    goal = 15 * cp.log(2 * np.pi * cp.square(sigma)) + (1 / (2 * cp.square(sigma))) * squares
    return cp.Problem(cp.Minimize(goal)), {mu: [0.0], sigma: [1.0]}


def rosenbrock() -> Made:
    x = cp.Variable(2)
    goal = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    return cp.Problem(cp.Minimize(goal)), {x: [-1.0, 2.0]}


def quadratic_cone() -> Made:
    x, y, z = cp.Variable(1), cp.Variable(1, bounds=[0, np.inf]), cp.Variable(1, bounds=[0, np.inf])
    constraints = [x + y + z == 1, x**2 + y**2 - z**2 <= 0, x**2 - cp.multiply(y, z) <= 0]
    return cp.Problem(cp.Maximize(x), constraints), {x: [0.1], y: [0.4], z: [0.5]}


def localization() -> Made:
    rng = np.random.default_rng(42)
    beacons, true = rng.uniform(-5, 5, (10, 2)), np.array([2.0, -1.5])
    x, t = cp.Variable(2), cp.Variable(10)
    far = cp.sqrt(cp.sum(cp.square(x - beacons), axis=1))
    rho = np.linalg.norm(beacons - true, axis=1)
    return cp.Problem(cp.Minimize(cp.sum_squares(t - rho)), [t == far]), {x: [0.1, 0.1], t: rho}


def div_composition() -> Made:
    x = cp.Variable(nonneg=True, bounds=[1, 5])
    return cp.Problem(cp.Maximize(cp.exp(1 / x))), {x: 2.0}


def of_logistic(function: Any, scale: float) -> Callable[[], Made]:
    def made() -> Made:
        x = cp.Variable(5)
        goal = cp.sum(function(cp.logistic(scale * x)))
        return cp.Problem(cp.Minimize(goal), [x >= 0.1, cp.sum(x) == 5]), {x: np.arange(5) / 2.0}

    return made


def product_of_matrices(graph_form: bool) -> Callable[[], Made]:
    def made() -> Made:
        rng = np.random.default_rng(0)
        X, Y = cp.Variable((3, 4), bounds=[-1, 1]), cp.Variable((4, 5), bounds=[-2, 2])
        t = cp.Variable()
        start = {X: rng.random((3, 4)), Y: rng.random((4, 5))}
        if not graph_form:
            return cp.Problem(cp.Minimize(cp.sum(X @ Y))), start
        total = float(np.sum(start[X] @ start[Y]))
        return cp.Problem(cp.Minimize(t), [t == cp.sum(X @ Y)]), {**start, t: total}

    return made


def cos_times_sin() -> Made:
    rng = np.random.default_rng(0)
    X, Y = cp.Variable((2, 3), bounds=[-2, 2]), cp.Variable((3, 2), bounds=[-2, 2])
    goal = cp.sum(nlp.cos(X) @ nlp.sin(Y))
    return cp.Problem(cp.Minimize(goal)), {X: rng.random((2, 3)), Y: rng.random((3, 2))}


def of_bounded(function: Any, low: float, high: float) -> Callable[[], Made]:
    def made() -> Made:
        x = cp.Variable((3, 2))
        goal = cp.sum(function(x))
        inside = [x >= low, x <= high]
        return cp.Problem(cp.Minimize(goal), inside), {x: np.full((3, 2), (low + high) / 2)}

    return made


def product_positive() -> Made:
    X = cp.Variable((2, 3), pos=True)
    goal = cp.sum(cp.prod(X, axis=1))
    return cp.Problem(cp.Maximize(goal), [cp.sum(X, axis=1) <= 3]), {X: np.full((2, 3), 0.5)}


def product_squared() -> Made:
    x = cp.Variable(3)
    constraints = [x[0] >= 0.5, x[1] <= -0.5, x[2] >= 1, cp.sum(x) == 2]
    return cp.Problem(cp.Minimize(cp.prod(x) ** 2), constraints), {x: [1.0, -1.0, 2.0]}


def product_near_zero() -> Made:
    x = cp.Variable(3)
    constraints = [x[0] >= 0.5, x[2] >= 1, cp.sum(x) == 3]
    return cp.Problem(cp.Minimize((cp.prod(x) - 1) ** 2), constraints), {x: [1.0, 0.1, 2.0]}


def product_in_a_constraint() -> Made:
    x = cp.Variable(3, pos=True)
    return cp.Problem(cp.Minimize(cp.sum(x)), [cp.prod(x) >= 8]), {x: [3.0, 2.0, 4.0]}


def log_of_product() -> Made:
    x = cp.Variable(4, pos=True)
    return cp.Problem(cp.Maximize(cp.log(cp.prod(x))), [cp.sum(x) <= 4]), {x: np.full(4, 0.5)}


def product_of_sums() -> Made:
    X, A = cp.Variable((2, 3)), np.random.default_rng(0).random((4, 2))
    goal = cp.prod(cp.sum(A @ X, axis=1))
    constraints = [X >= 0.1, X <= 1]
    return cp.Problem(cp.Minimize(goal), constraints), {X: np.full((2, 3), 0.5)}


SIGMA = np.array([[0.41, 0.22, 0.18], [0.22, 0.58, 0.33], [0.18, 0.33, 0.81]]) * 1e-3


def risk_parity() -> Made:
    w, t = cp.Variable(3, nonneg=True), cp.Variable(3)
    risk = cp.quad_form(w, SIGMA)
    squares = cp.sum(cp.multiply(cp.square(w), cp.square(t))) / risk
    goal = squares + risk / 3 - 2 / 3 * cp.sum(cp.multiply(w, t))
    start = np.array([0.2, 0.3, 0.5])
    constraints = [cp.sum(w) == 1, t == SIGMA @ w]
    return cp.Problem(cp.Minimize(1e3 * goal), constraints), {w: start, t: SIGMA @ start}


def least_entropy() -> Made:
    q = cp.Variable(4, nonneg=True)
    goal = cp.sum(cp.entr(q))
    return cp.Problem(cp.Minimize(goal), [cp.sum(q) == 1]), {q: [0.1, 0.2, 0.3, 0.4]}


def pricing() -> Made:
    """Revenue p·d(p) with logistic demand, two products."""
    p = cp.Variable(2, bounds=[0, 20])
    demand = 1 / (1 + cp.exp(0.5 * p - np.array([3.0, 4.0])))
    return cp.Problem(cp.Maximize(cp.sum(cp.multiply(p, demand)))), {p: [5.0, 5.0]}


PROBLEMS: dict[str, Callable[[], Made]] = {
    "hs071": hs071,
    "maximum likelihood": maximum_likelihood,
    "free likelihood": free_likelihood,
    "rosenbrock": rosenbrock,
    "quadratic cone": quadratic_cone,
    "localization": localization,
    "div composition": div_composition,
    "sinh": of_logistic(nlp.sinh, 2),
    "tanh": of_logistic(nlp.tanh, 2),
    "asinh": of_logistic(nlp.asinh, 3),
    "atanh": of_logistic(nlp.atanh, 0.1),
    "matrix product": product_of_matrices(graph_form=False),
    "matrix product, graph form": product_of_matrices(graph_form=True),
    "cos times sin": cos_times_sin,
    "sin on a box": of_bounded(nlp.sin, 0.1, 3),
    "cos on a box": of_bounded(nlp.cos, 0.1, 5),
    "tan on a box": of_bounded(nlp.tan, -1.4, 1.4),
    "tanh on a box": of_bounded(nlp.tanh, -2, 3),
    "normcdf on a box": of_bounded(nlp.normcdf, -2, 3),
    "xexp on a box": of_bounded(cp.xexp, 0.1, 3),
    "positive products": product_positive,
    "product squared": product_squared,
    "product near zero": product_near_zero,
    "product in a constraint": product_in_a_constraint,
    "log of a product": log_of_product,
    "product of sums": product_of_sums,
    "risk parity": risk_parity,
    "least entropy": least_entropy,
    "pricing": pricing,
}
BILINEAR = "hs071", "matrix product", "matrix product, graph form", "risk parity", "pricing"


def reference(problem: cp.Problem, start: dict[cp.Variable, Any]) -> float:
    """The value that SLSQP finds, or infinity where it fails."""
    variables = problem.variables()
    sign = -1 if isinstance(problem.objective, cp.Maximize) else 1

    def at(x: Any, expression: cp.Expression) -> Any:
        place = 0
        for v in variables:
            v.save_value(np.reshape(x[place : place + v.size], v.shape, order="F"))
            place += v.size
        with np.errstate(all="ignore"):
            return np.ravel(expression.value)

    kinds = {True: "eq", False: "ineq"}
    constraints: Any = [
        {
            "type": kinds[isinstance(c, cp.constraints.Equality)],
            "fun": lambda x, c=c: -at(x, c.expr),
        }
        for c in problem.constraints
    ]
    bounds = []
    for v in variables:
        low, high = v.bounds if v.bounds is not None else (-np.inf, np.inf)
        low = np.maximum(np.broadcast_to(low, v.shape), 0.0 if v.is_nonneg() else -np.inf)
        high = np.broadcast_to(high, v.shape)
        bounds += list(zip(low.ravel(order="F"), high.ravel(order="F"), strict=True))
    x0 = np.concatenate([np.ravel(start[v], order="F") for v in variables])
    found: Any = minimize(  # type: ignore[call-overload]
        lambda x: sign * at(x, problem.objective.args[0])[0],
        x0,
        method="SLSQP",
        bounds=bounds,
        constraints=constraints,
        options={"maxiter": 500, "ftol": 1e-12},
    )
    missed = max([0.0, *(np.max(np.abs(c.violation())) for c in problem.constraints)])
    return float(found.fun) if found.success and missed <= 1e-6 else np.inf


TAKE_SECONDS = "localization", "matrix product, graph form"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name in TAKE_SECONDS else name
        for name in PROBLEMS
    ],
)
def test_as_good_as_a_nonlinear_solver(name: str) -> None:
    problem, start = PROBLEMS[name]()
    best = reference(problem, start)
    for variable in problem.variables():
        variable.value = None
    for variable, value in start.items():
        variable.value = value
    dc.solve(problem, start=[start] if name == "tanh" else "current")  # its vertices are local
    assert problem.status == cp.OPTIMAL
    sign = -1 if isinstance(problem.objective, cp.Maximize) else 1
    assert sign * problem.value <= best + 1e-5 * (1 + abs(best))
    assert problem.value == pytest.approx(float(np.sum(problem.objective.args[0].value)), abs=1e-9)
    for constraint in problem.constraints:
        assert np.max(np.abs(constraint.violation())) <= 1e-5
    if name in BILINEAR:
        assert problem.solver_stats.num_iters <= 50


STUCK: dict[str, tuple[Any, float]] = {
    "quotient": (lambda x: cp.Maximize(x[0] / (1 + x[1]) - cp.square(x[0]) / 8), 1.5),
    "sum of quotients": (lambda x: cp.Maximize(cp.sum(x / (0.5 + x[::-1]))), 1.6),
    "product from above": (lambda x: cp.Minimize(x[0] * x[1] * x[2] - x[0]), -2.0),
    "product from below": (lambda x: cp.Maximize(x[0] * x[1] * x[2]), 8.0),
}


@pytest.mark.parametrize("name", STUCK)
@pytest.mark.parametrize("at", [(0.0, 0.0, 0.0), (0.0, 0.5, 0.5), (0.0, 0.0, 1.0)])
def test_zero_factors_and_numerators_are_no_trap(name: str, at: tuple[float, ...]) -> None:
    """Where one is 0, F has a slope, and so must its majorant: no escapes help here."""
    goal, best = STUCK[name]
    x = cp.Variable(3, nonneg=True)
    problem = cp.Problem(goal(x), [x <= 2])
    result = dc.solve(problem, start={x: np.array(at)}, escape=False)
    sign = -1 if isinstance(problem.objective, cp.Maximize) else 1
    assert sign * result.value <= sign * best + 1e-5


def test_a_ratio_of_exponentials_is_minimised_as_its_logarithm_is() -> None:
    rng = np.random.default_rng(11)
    above, below = rng.normal(size=(2, 10, 3))
    x = cp.Variable(3)
    inside = [cp.norm(x) <= 2]
    ratio = cp.sum(cp.exp(above @ x)) / cp.sum(cp.exp(below @ x))
    logarithm = cp.log_sum_exp(above @ x) - cp.log_sum_exp(below @ x)
    best = dc.solve(cp.Problem(cp.Minimize(logarithm), inside), n_starts=1)
    ours = dc.solve(cp.Problem(cp.Minimize(ratio), inside), n_starts=1)
    assert ours.status == "converged"
    assert ours.n_iter <= 20
    assert np.log(ours.value) == pytest.approx(best.value, abs=1e-5)


@pytest.mark.slow
def test_a_vanishing_product_ends() -> None:
    """At 0 all its slopes are, too: where no solver can take a step nothing is left to gain."""
    A = np.array([[0.5488135, 0.71518937], [0.60276338, 0.54488318], [0.4236548, 0.64589411]])
    A, X = np.vstack([A, [0.43758721, 0.891773]]), cp.Variable((2, 3))
    problem = cp.Problem(cp.Minimize(cp.prod(cp.sum(A @ X, axis=1))), [X >= 0, X <= 1])
    result = dc.solve(problem)
    assert result.status == "converged"
    assert result.value == pytest.approx(0, abs=1e-9)
    assert result.gap <= 1e-6 * result.scale
    # the global search's point has the distance to its bound for a gap
    assert all(np.isfinite(one.gap) for one in result.starts)
    assert dc.solve(problem, n_starts=1).status == "converged"


def test_softmax_is_fitted() -> None:
    shares = np.array([0.1, 0.2, 0.3, 0.4])
    x = cp.Variable(4)
    softmax = cp.exp(x) / cp.sum(cp.exp(x))
    problem = cp.Problem(cp.Minimize(cp.sum_squares(softmax - shares)), [cp.sum(x) == 0])
    assert problem.solve(method="dc") == pytest.approx(0, abs=1e-6)
    np.testing.assert_allclose(x.value, np.log(shares) - np.mean(np.log(shares)), atol=0.02)


@pytest.mark.slow
def test_a_beam_buckles() -> None:
    """Clnlbeam with free ends: 350 is the straight beam, a saddle that solvers stay at from 0."""
    n, load = 40, 350.0
    h = 1 / n
    t, x = cp.Variable(n + 1, bounds=[-1, 1]), cp.Variable(n + 1, bounds=[-0.05, 0.05])
    u = cp.Variable(n + 1)
    bending = cp.sum(cp.square(u[1:]) + cp.square(u[:-1]))
    goal = h / 2 * (bending + load * cp.sum(nlp.cos(t[1:]) + nlp.cos(t[:-1])))
    constraints = [
        x[1:] - x[:-1] - h / 2 * (nlp.sin(t[1:]) + nlp.sin(t[:-1])) == 0,
        t[1:] - t[:-1] - h / 2 * (u[1:] + u[:-1]) == 0,
    ]
    problem = cp.Problem(cp.Minimize(goal), constraints)
    assert problem.solve(method="dc") == pytest.approx(328.01465, abs=1e-2)  # SLSQP, 8 starts
    assert max(float(np.max(c.violation())) for c in constraints) <= 1e-6
