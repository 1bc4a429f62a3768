"""Nonconvex problems as their users write them: packing, recovery, phases, margins."""

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog.foundation.arrays import Array


def test_ten_circles_in_the_smallest_square() -> None:
    n, radii = 10, np.linspace(1, 2, 10)
    centres = cp.Variable((n, 2))
    apart = [
        cp.norm(centres[i] - centres[j]) >= radii[i] + radii[j] for i in range(n) for j in range(i)
    ]
    side = cp.max(cp.max(cp.abs(centres), axis=1) + radii)
    result = dc.solve(cp.Problem(cp.Minimize(side), apart), max_iter=300)
    assert result.status == "converged"
    assert result.violation <= 1e-5
    c = centres.value
    overlaps = [
        radii[i] + radii[j] - np.linalg.norm(c[i] - c[j]) for i in range(n) for j in range(i)
    ]
    assert max(overlaps) <= 1e-5
    reach = np.max(np.max(np.abs(c), axis=1) + radii)
    assert result.value == pytest.approx(reach)
    assert np.sum(np.pi * radii**2) / (2 * reach) ** 2 > 0.65  # a packing, not a line of circles


def planted(rng: np.random.Generator) -> tuple[Array, Array]:
    data, sparse = rng.normal(size=(30, 60)), np.zeros(60)
    sparse[rng.choice(60, 5, replace=False)] = rng.normal(size=5)
    return data, sparse


@pytest.mark.parametrize(
    ("root", "seed"),
    [(lambda x: cp.power(cp.abs(x), 0.5), 0), (lambda x: cp.sqrt(cp.abs(x)), 1)],
)
def test_root_penalty_recovers_a_sparse_vector(root: object, seed: int) -> None:
    data, sparse = planted(np.random.default_rng(seed))
    x = cp.Variable(60)
    goal = cp.Minimize(cp.sum(root(x)))  # type: ignore[operator]
    result = dc.solve(cp.Problem(goal, [data @ x == data @ sparse]), n_starts=1)
    assert result.status == "converged"
    assert result.violation <= 1e-5
    np.testing.assert_allclose(x.value, sparse, atol=1e-5)
    assert result.value == pytest.approx(np.sum(np.sqrt(np.abs(x.value))), rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1))
def test_phases_of_real_measurements_are_recovered(seed: int) -> None:
    rng = np.random.default_rng(seed)
    data, truth = rng.normal(size=(40, 8)), rng.normal(size=8)
    z = cp.Variable(8)
    problem = cp.Problem(cp.Minimize(0), [cp.square(data @ z) == (data @ truth) ** 2])
    result = dc.solve(problem, start="random", random_state=seed, n_starts=4)
    assert result.status == "converged"
    assert result.violation <= 1e-5
    assert min(np.linalg.norm(z.value - truth), np.linalg.norm(z.value + truth)) < 1e-4


def test_largest_margin_with_a_unit_normal_is_the_svm() -> None:
    rng = np.random.default_rng(0)
    data = np.vstack([rng.normal(size=(40, 2)) + 2.5, rng.normal(size=(40, 2)) - 2.5])
    labels = np.repeat([1.0, -1.0], 40)
    w, b, margin = cp.Variable(2), cp.Variable(), cp.Variable()
    separated = [cp.multiply(labels, data @ w + b) >= margin, cp.norm(w) == 1]
    result = dc.solve(cp.Problem(cp.Maximize(margin), separated), n_starts=1)
    assert result.status == "converged"
    assert result.mode == "penalty"
    assert result.violation <= 1e-5
    v, c = cp.Variable(2), cp.Variable()
    svm = cp.Problem(cp.Minimize(cp.sum_squares(v)), [cp.multiply(labels, data @ v + c) >= 1])
    svm.solve(solver=cp.CLARABEL)
    assert result.value == pytest.approx(1 / np.linalg.norm(v.value), rel=1e-5)
    np.testing.assert_allclose(w.value, v.value / np.linalg.norm(v.value), atol=1e-4)


def test_trimmed_least_squares_ignores_gross_outliers() -> None:
    rng = np.random.default_rng(2)
    data, truth = rng.normal(size=(50, 3)), np.array([1.0, -2.0, 0.5])
    target = data @ truth
    target[:5] += 50.0
    x = cp.Variable(3)
    losses = cp.square(data @ x - target)
    result = dc.solve(cp.Problem(cp.Minimize(cp.sum(losses) - cp.sum_largest(losses, 5))))
    assert result.status == "converged"
    np.testing.assert_allclose(x.value, truth, atol=1e-3)


def test_orthogonal_vectors_by_bilinear_equalities() -> None:
    x, y = cp.Variable(2), cp.Variable(2)
    problem = cp.Problem(
        cp.Minimize(cp.sum_squares(x - [2, 0]) + cp.sum_squares(y - [1, 1])), [x @ y == 0]
    )
    result = dc.solve(problem, n_starts=2)
    assert result.violation <= 1e-5
    # x along one direction of the plane, y across it: project both, for every direction
    t = np.linspace(0, np.pi, 20001)
    missed = 2 * np.sin(t), np.cos(t) + np.sin(t)  # of (2, 0) off the direction, of (1, 1) along it
    best = np.min(missed[0] ** 2 + missed[1] ** 2)
    assert result.value == pytest.approx(best, rel=1e-3)
