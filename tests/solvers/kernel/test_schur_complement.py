"""Systems over a changing set of variables: against NumPy, and across new factors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel

from dcprog.foundation.arrays import Array
from dcprog.solvers.kernel.schur_complement import SchurComplement


def _exact(system: SchurComplement, free: Any, right: Array) -> Array:
    own = system.sample[free]
    matrix = system.K[np.ix_(own, own)] + system.delta * np.eye(free.size)
    return np.asarray(np.linalg.solve(matrix, right), dtype=float)


def _solved(system: SchurComplement, free: Any, right: Array) -> Array:
    solution = system.solve(free, right)
    assert solution is not None
    return solution


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_every_set_is_solved_whatever_came_before(seed: int) -> None:
    """Sets that drift, leap, shrink to one and grow to all; one or two variables a sample."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60))
    K = rbf_kernel(rng.standard_normal((n, 2)), gamma=10 ** rng.uniform(-1, 1))
    sample = np.tile(np.arange(n), int(rng.integers(1, 3)))
    system = SchurComplement(K, sample, 10 ** rng.uniform(-3, 0))
    inside = rng.random(sample.size) < 0.5
    for _ in range(12):
        flips = rng.permutation(sample.size)[: int(rng.choice([0, 1, 3, sample.size]))]
        inside[flips] = ~inside[flips]
        inside[int(rng.integers(sample.size))] = True
        free = np.flatnonzero(inside)
        right = rng.standard_normal((free.size, 2))
        solution = _solved(system, free, right)
        own = sample[free]
        left = K[np.ix_(own, own)] @ solution + system.delta * solution
        size = np.abs(right).max() + np.abs(solution).max()
        np.testing.assert_allclose(left, right, atol=1e-8 * size)


def test_few_changes_need_no_new_factor_and_many_do() -> None:
    K = rbf_kernel(np.random.default_rng(0).standard_normal((80, 3)))
    system = SchurComplement(K, np.arange(80), 1e-6)
    first = np.arange(60)
    system.solve(first, np.ones((60, 1)))
    factor = system.factor
    near = np.r_[first[3:], 70]
    right = np.arange(58.0)[:, None]
    near_solution = _solved(system, near, right)
    assert system.factor is factor
    assert system.width == 4
    np.testing.assert_allclose(near_solution, _exact(system, near, right), rtol=1e-6, atol=1e-6)
    system.solve(first, np.ones((60, 1)))  # back again: nothing is new
    assert (system.factor is factor, system.width) == (True, 4)
    system.solve(np.arange(20, 80), np.ones((60, 1)))
    assert system.factor is not factor
    assert system.width == 0


def test_another_delta_takes_a_new_factor() -> None:
    K = rbf_kernel(np.random.default_rng(0).standard_normal((30, 3)))
    system, free, right = SchurComplement(K, np.arange(30), 1e-3), np.arange(30), np.ones((30, 1))
    system.solve(free, right)
    system.delta = 1.0
    np.testing.assert_allclose(_solved(system, free, right), _exact(system, free, right))


def test_an_indefinite_matrix_is_told() -> None:
    K = np.array([[1.0, 2.0], [2.0, 1.0]])
    system = SchurComplement(K, np.arange(2), 1e-9)
    assert system.solve(np.arange(2), np.ones((2, 1))) is None
    # and can go on with another set
    assert _solved(system, np.arange(1), np.ones((1, 1)))[0, 0] == pytest.approx(1.0)
