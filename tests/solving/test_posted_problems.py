"""Classes of problems that users have posted about DCCP and cvxpy, each with its known optimum."""

from itertools import combinations, product
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linprog

import dcprog  # noqa: F401  # registers the method


def solved(problem: cp.Problem, **options: Any) -> float:
    """The value from the default start, without a race of others unless asked for."""
    value = float(problem.solve(method="dc", **{"n_starts": 1} | options))
    assert problem.status == cp.OPTIMAL
    for constraint in problem.constraints:
        assert np.max(constraint.violation()) <= 1e-5
    return value


def test_difference_of_convex_objective() -> None:
    """‖x − a‖² − 3‖x‖ falls along a; its optimum is at ‖x‖ = ‖a‖ + 3/2."""
    a = np.array([0.6, 0.8])
    x = cp.Variable(2)
    value = solved(cp.Problem(cp.Minimize(cp.sum_squares(x - a) - 3 * cp.norm(x))))
    np.testing.assert_allclose(x.value, 2.5 * a, rtol=1e-4)
    assert value == pytest.approx(2.25 - 7.5, rel=1e-7)


def test_norm_at_least() -> None:
    """The nearest point outside a ball, from inside it."""
    x, a = cp.Variable(3), np.array([0.1, -0.2, 0.2])
    value = solved(cp.Problem(cp.Minimize(cp.norm(x - a)), [cp.norm(x) >= 2]))
    assert value == pytest.approx(2 - 0.3, rel=1e-6)


def test_longest_vector_between_two_bounds() -> None:
    x = cp.Variable(2)
    assert solved(cp.Problem(cp.Maximize(cp.norm(x, 2)), [cp.norm(x, 1) <= 3])) == pytest.approx(3)


def test_circles_in_a_square() -> None:
    """Four unit circles fit into a square of side 4."""
    centres = cp.Variable((4, 2))
    i, j = (list(side) for side in zip(*combinations(range(4), 2), strict=True))
    apart = [cp.norm(centres[i] - centres[j], axis=1) >= 2]
    side = 2 * cp.max(cp.abs(centres) + 1)
    assert solved(cp.Problem(cp.Minimize(side), apart)) == pytest.approx(4, rel=1e-5)


def test_hanging_beam() -> None:
    """A rigid bar of length 5 from the ceiling at 0 to the wall at x = 3 hangs 4 below."""
    end = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(end[1]), [end[0] == 3, cp.norm(end) == 5])
    assert solved(problem) == pytest.approx(-4, rel=1e-5)


def test_cantilever_beam() -> None:
    """The lightest beam of five square sections (Svanberg 1987): 0.0624·Σx, published as 1.340."""
    x = cp.Variable(5, bounds=[1, 10])
    weights = np.array([61.0, 37.0, 19.0, 7.0, 1.0])
    load = sum(weights[k] / cp.power(x[k], 3) for k in range(5))
    assert solved(cp.Problem(cp.Minimize(0.0624 * cp.sum(x)), [load <= 1])) == pytest.approx(
        1.33996, rel=1e-4
    )


GAINS = np.array([[1.0, 0.1, 0.2], [0.1, 1.0, 0.1], [0.2, 0.1, 1.0]])
NOISE = 0.1


def sinr(power: cp.Variable) -> list[Any]:
    return [
        GAINS[i, i] * power[i] / (GAINS[i] @ power - GAINS[i, i] * power[i] + NOISE)
        for i in range(3)
    ]


def test_least_power_for_given_sinr_is_a_linear_system() -> None:
    power = cp.Variable(3, nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.sum(power)), [ratio >= 2 for ratio in sinr(power)])
    off_diagonal = GAINS - np.diag(np.diag(GAINS))
    exact = np.linalg.solve(np.diag(np.diag(GAINS)) - 2 * off_diagonal, np.full(3, 2 * NOISE))
    assert solved(problem) == pytest.approx(np.sum(exact), rel=1e-6)
    np.testing.assert_allclose(power.value, exact, rtol=1e-4)


def test_highest_rate_of_a_shared_channel() -> None:
    """Σ log(1 + SINR) against a grid: with weak coupling all send, with strong coupling one."""
    grid = np.linspace(0, 1, 21)
    for coupling in (0.1, 3.0):
        gains = np.full((2, 2), coupling) + (1 - coupling) * np.eye(2)
        power = cp.Variable(2, nonneg=True)
        ratios = [power[i] / (gains[i, 1 - i] * power[1 - i] + NOISE) for i in range(2)]
        problem = cp.Problem(cp.Maximize(sum(cp.log(1 + r) for r in ratios)), [power <= 1])
        best = max(
            np.log1p(p / (coupling * q + NOISE)) + np.log1p(q / (coupling * p + NOISE))
            for p, q in product(grid, grid)
        )
        assert solved(problem) >= best - 1e-6


def test_maximum_of_quadratics() -> None:
    """max_k xᵀA_k x + b_kᵀx with indefinite A_k, against a fine grid of the box."""
    rng = np.random.default_rng(1)
    forms = [m + m.T for m in rng.normal(size=(4, 2, 2))]
    slopes = rng.normal(size=(4, 2))
    x = cp.Variable(2)
    pieces = [cp.quad_form(x, A) + b @ x for A, b in zip(forms, slopes, strict=True)]
    problem = cp.Problem(cp.Minimize(cp.maximum(*pieces)), [cp.abs(x) <= 1])
    axis = np.linspace(-1, 1, 401)
    points = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    heights = [
        np.einsum("ni,ij,nj->n", points, A, points) + points @ b
        for A, b in zip(forms, slopes, strict=True)
    ]
    assert solved(problem) <= np.min(np.max(heights, axis=0)) + 1e-6


def test_concave_equality() -> None:
    """min x + y with √x + √y = 2 on x, y ≥ 0: concave, so the optimum is between: x = y = 1."""
    x = cp.Variable(2, nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [cp.sum(cp.sqrt(x)) == 2])
    assert solved(problem) == pytest.approx(2, rel=1e-5)
    problem = cp.Problem(cp.Maximize(cp.sum(x)), [cp.sum(cp.sqrt(x)) == 2])
    # at x = (4, 0) the root's slope is infinite: tangents are taken a little inside
    assert solved(problem) == pytest.approx(4, rel=1e-4)


@pytest.mark.parametrize("seed", range(1))
def test_indefinite_quadratic_program(seed: int) -> None:
    """On the box all vertices are known, and the best of them bounds the concave case."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(5, 5))
    Q, q = -(root @ root.T), rng.normal(size=5)  # concave: the optimum is a vertex
    x = cp.Variable(5)
    problem = cp.Problem(cp.Minimize(cp.quad_form(x, Q) + q @ x), [cp.abs(x) <= 1])
    vertices = np.array(list(product((-1.0, 1.0), repeat=5)))
    best = min(v @ Q @ v + q @ v for v in vertices)
    assert solved(problem, n_starts="auto") == pytest.approx(best, rel=1e-6)


def test_quadratic_constraints_of_both_signs() -> None:
    """Between two hyperbolas and a circle: min x₀² + 2x₁² with x₀x₁ ≥ 1 is 2√2."""
    x = cp.Variable(2)
    hyperbola = np.array([[0, 0.5], [0.5, 0]])
    problem = cp.Problem(
        cp.Minimize(cp.square(x[0]) + 2 * cp.square(x[1])),
        [cp.quad_form(x, hyperbola) >= 1, cp.sum_squares(x) <= 9],
    )
    assert solved(problem) == pytest.approx(2 * np.sqrt(2), rel=1e-5)


def test_portfolio_with_fixed_costs() -> None:
    """Linear return minus a fixed cost a holding, by cap(|w|/ε): every support enumerated."""
    returns, fixed, least = np.array([0.10, 0.09, 0.08, 0.05]), 0.02, 0.1
    w = cp.Variable(4, nonneg=True)
    costs = fixed * cp.sum(cp.minimum(w / least, 1))
    problem = cp.Problem(cp.Maximize(returns @ w - costs), [cp.sum(w) == 1, w <= 0.4])

    def best(support: tuple[int, ...]) -> float:
        most = np.array([0.4 if i in support else 0.0 for i in range(4)])
        found = linprog(-returns, A_eq=np.ones((1, 4)), b_eq=[1], bounds=[(0, m) for m in most])
        return float(-np.asarray(found.fun)) - fixed * len(support) if found.success else -np.inf

    supports = [s for k in range(1, 5) for s in combinations(range(4), k)]
    assert solved(problem) >= max(map(best, supports)) - 1e-6


def test_sharpe_ratio() -> None:
    """The tangency portfolio, by its convex form."""
    rng = np.random.default_rng(0)
    root, mean = rng.uniform(size=(10, 10)), rng.uniform(size=10)
    S = root @ root.T
    w = cp.Variable(10, nonneg=True)
    ratio = cp.square(mean @ w) / cp.quad_form(w, S)
    value = solved(cp.Problem(cp.Maximize(ratio), [cp.sum(w) == 1]))
    convex = cp.Problem(cp.Minimize(cp.quad_form(w, S)), [mean @ w == 1])
    assert value == pytest.approx(1 / convex.solve(solver="CLARABEL"), rel=1e-5)


def test_linear_fractional_program() -> None:
    """A ratio of affine functions has its optimum at a vertex."""
    x = cp.Variable(2, nonneg=True)
    ratio = (2 * x[0] + x[1] + 1) / (x[0] + 3 * x[1] + 2)
    problem = cp.Problem(cp.Maximize(ratio), [cp.sum(x) <= 4, x[0] <= 3])
    assert solved(problem) == pytest.approx(7 / 5, rel=1e-6)


@pytest.mark.parametrize("seed", range(2))
def test_queues_behind_a_pole(seed: int) -> None:
    """1/(u − r) with u ≥ r: a solver's point a hair below r is at no value of −10⁹."""
    rng = np.random.default_rng(seed)
    rates, prices = rng.uniform(0.05, 0.4, 3), rng.uniform(0.5, 2, 3)
    u = cp.Variable(3)
    budget = prices @ u <= 2 * prices @ rates
    convex = cp.Problem(cp.Minimize(rates @ cp.inv_pos(u - rates)), [budget])
    posted = cp.Problem(cp.Minimize(cp.sum(rates / (u - rates))), [u >= rates, budget])
    assert solved(posted) == pytest.approx(convex.solve(), rel=1e-4)


@pytest.mark.parametrize("side", [1, -1])
def test_pole_of_either_sign(side: int) -> None:
    x = cp.Variable()
    behind = [side * (x - 1) >= 0, cp.abs(x - 1) <= 4]
    away = cp.Problem(cp.Minimize(side / (x - 1) + side * x), behind)
    assert solved(away) == pytest.approx(2 + side, rel=1e-5)
    into = cp.Problem(cp.Minimize(-side / (x - 1)), behind)
    into.solve(method="dc")
    assert into.status == cp.UNBOUNDED


def test_main_lobe_of_an_antenna() -> None:
    """Lowest side lobes at |gain| ≥ 1: turned by a phase, that is Re(gain) ≥ 1, which is convex."""
    n = 6
    angles = np.deg2rad(np.r_[-90:-20:10, 30:91:10])
    steering = np.exp(-1j * np.pi * np.outer(np.sin(angles), np.arange(n)))
    w, v = cp.Variable(n, complex=True), cp.Variable(n, complex=True)
    lobes = [cp.max(cp.abs(steering @ each)) for each in (w, v)]
    convex = cp.Problem(cp.Minimize(lobes[1]), [cp.real(cp.sum(v)) >= 1])
    best = convex.solve(solver="CLARABEL")
    assert solved(cp.Problem(cp.Minimize(lobes[0]), [cp.abs(cp.sum(w)) >= 1])) == pytest.approx(
        best, rel=1e-4
    )


@pytest.mark.slow
def test_orthonormal_columns() -> None:
    """max tr(XᵀAX) with XᵀX = I is the sum of the largest eigenvalues."""
    root = np.random.default_rng(3).normal(size=(4, 4))
    A = root @ root.T
    X = cp.Variable((4, 2))
    problem = cp.Problem(cp.Maximize(cp.trace(X.T @ A @ X)), [X.T @ X == np.eye(2)])
    assert solved(problem) == pytest.approx(np.sum(np.linalg.eigvalsh(A)[-2:]), rel=1e-4)
