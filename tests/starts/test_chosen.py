"""The start of random choices: clusters' means, other sides of caps, other sets of samples."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from benchmarks.further_problems import two_means
from dcprog.problem.surrogate import ProblemSurrogate
from dcprog.starts.convex import Chosen
from dcprog.starts.protocol import Budget

POINTS = np.random.default_rng(3).normal(size=(6, 2))


def made(problem: cp.Problem) -> list[np.ndarray]:
    surrogate = ProblemSurrogate(problem)
    surrogate.begin(np.ones(surrogate.points.size))
    budget = Budget(rng=np.random.default_rng(0), ended=[np.ones(surrogate.points.size)])
    assert Chosen().takes(surrogate) is None
    return list(Chosen().points(surrogate, budget))


def test_of_least_squared_distances_they_are_means_of_clusters() -> None:
    centres = [cp.Variable(2) for _ in range(2)]
    terms = [cp.minimum(*(cp.sum_squares(c - p) for c in centres)) for p in POINTS]
    found = made(cp.Problem(cp.Minimize(sum(terms))))
    parts = [[bool(code >> i & 1) for i in range(6)] for code in range(1, 63)]
    means = [np.concatenate([POINTS[a].mean(0), POINTS[~a].mean(0)]) for a in map(np.array, parts)]
    assert len({tuple(point.round(6)) for point in found}) > 2
    for point in found:
        in_one = min(float(np.max(np.abs(c - POINTS.mean(0)))) for c in (point[:2], point[2:]))
        misses = [float(np.max(np.abs(point - mean))) for mean in means]
        assert min(in_one, *misses) <= 1e-4


def test_of_caps_they_are_fits_to_random_samples() -> None:
    x = cp.Variable()
    y = np.array([0.0, 1.0, 3.0, 7.0])
    found = made(cp.Problem(cp.Minimize(cp.sum(cp.minimum(cp.square(x - y), 1)) + 1e-6 * x**2)))
    subsets = [y[[bool(code >> i & 1) for i in range(4)]] for code in range(1, 16)]
    assert len({float(point[0].round(6)) for point in found}) > 2
    for point in found:
        means = [0.0, *(s.mean() for s in subsets)]
        assert min(abs(point[0] - mean) for mean in means) <= 1e-4


@pytest.mark.parametrize("seed", [1, 2])
def test_two_clusters_are_those_of_enumeration(seed: int) -> None:
    assert dc.solve(two_means(), random_state=seed).value == pytest.approx(103.6428571429)


def test_problems_without_choices_are_refused() -> None:
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(x[0] * x[1]), [cp.norm(x) <= 1])
    assert Chosen().takes(ProblemSurrogate(problem)) is not None
