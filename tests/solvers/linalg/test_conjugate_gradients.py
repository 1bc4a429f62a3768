"""Truncated conjugate gradients lower the model, and Newton's method with them is certified."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import dcprog as dc
from dcprog.foundation.deadline import Deadline
from dcprog.losses import ConvexLoss
from dcprog.risk.weighted import WeightedRisk
from dcprog.solvers.linalg import ridge
from dcprog.solvers.linalg.conjugate_gradients import truncated_minimiser
from dcprog.solvers.smooth.augmented_lagrangian import AugmentedLagrangianSolver
from dcprog.solvers.smooth.newton import NewtonSolver


@pytest.fixture
def system() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((60, 40))
    return A.T @ A + 0.1 * np.eye(40), rng.standard_normal(40)


def test_a_truncated_step_has_most_of_the_fall(system: tuple[np.ndarray, np.ndarray]) -> None:
    H, r = system
    delta, best = truncated_minimiser(lambda x: H @ x, np.diag(H), r), np.linalg.solve(H, r)
    model = delta @ H @ delta / 2 - r @ delta
    assert model == pytest.approx(-r @ delta / 2)
    assert -best @ r / 2 <= model < 0.8 * (-best @ r / 2)


def test_it_ends_at_the_deadline_with_a_direction_of_descent(
    system: tuple[np.ndarray, np.ndarray],
) -> None:
    H, r = system
    calls: list[int] = []

    def times(x: np.ndarray) -> np.ndarray:
        calls.append(1)
        return H @ x

    delta = truncated_minimiser(times, np.diag(H), r, Deadline(0.0))
    assert len(calls) == 1
    assert r @ delta > 0


@pytest.mark.parametrize("base", [dc.logistic(), dc.squared_hinge()])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_truncated_newton_finds_the_minimiser(
    base: ConvexLoss, fit_intercept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    X = sp.random_array((300, 60), density=0.1, rng=rng).tocsr()
    rows = dc.binary_margins(X, np.arange(300) % 2, fit_intercept=fit_intercept)
    problem = WeightedRisk(dc.Risk(rows, base), np.ones(300))
    start = np.zeros(rows.shape[1])
    exact = NewtonSolver(problem.risk).minimise(problem, start, 1e-9)
    monkeypatch.setattr(ridge, "MOST_OF_SPARSE", 20)
    assert NewtonSolver.loosest(problem.risk) > 0
    found = NewtonSolver(problem.risk).minimise(problem, start, 1e-9)
    assert found.value <= exact.value * (1 + 1e-9)


def test_the_method_of_multipliers_ends_with_truncated_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(1)
    X = sp.random_array((300, 60), density=0.1, rng=rng).tocsr()
    problem = WeightedRisk(
        dc.Risk(dc.binary_margins(X, np.arange(300) % 2), dc.hinge()), np.ones(300)
    )
    exact = AugmentedLagrangianSolver(problem.risk).minimise(problem, np.zeros(61), 1e-8)
    monkeypatch.setattr(ridge, "MOST_OF_SPARSE", 20)
    found = AugmentedLagrangianSolver(problem.risk).minimise(problem, np.zeros(61), 1e-6)
    assert found.value <= exact.value * (1 + 2e-6)


def test_large_sparse_samples_never_become_a_dense_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ridge, "weighted_gram", None)
    monkeypatch.setattr(ridge, "dense", None)
    rng = np.random.default_rng(0)
    X = sp.random_array((3000, 1000), density=0.01, rng=rng).tocsr()
    risk = dc.Risk(dc.binary_margins(X, np.arange(3000) % 2), dc.squared_hinge())
    result = dc.solve(risk, solver="newton")
    assert result.status == "converged"
