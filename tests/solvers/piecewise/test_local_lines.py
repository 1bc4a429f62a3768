"""Lines along few directions are what the codes themselves say."""

from __future__ import annotations

import numpy as np
import pytest

import dcprog as dc
from dcprog.foundation.arrays import Array
from dcprog.solvers.linalg.kronecker import Curvature
from dcprog.solvers.piecewise.polyhedral import Polyhedral, _AnyLines

RNG = np.random.default_rng(0)
N, D = 40, 3
X = RNG.normal(size=(N, D))


def labels(k: int) -> Array:
    """All k classes, as whole numbers."""
    return np.r_[np.arange(k), RNG.integers(k, size=N - k)]


def angle(k: int) -> dc.Risk:
    rows = dc.angle_margins(X, labels(k))
    return dc.Risk(rows, dc.hinge(), penalty=dc.l2(1.0))


def one_by_one() -> dc.Risk:
    return dc.Risk(dc.class_margins(X, labels(4)), dc.pinball(0.3))


def binary() -> dc.Risk:
    return dc.Risk(dc.binary_margins(X, RNG.choice([-1.0, 1.0], N)), dc.hinge())


RISKS = {"3 classes": angle(3), "7 classes": angle(7), "a class": one_by_one(), "two": binary()}


@pytest.mark.parametrize("name", RISKS)
def test_lines_along_directions(name: str) -> None:
    design = Polyhedral(RISKS[name])
    assert design.directions is not None
    vectors, which, rate = design.directions
    np.testing.assert_allclose(rate[:, :, None] * vectors[which][:, None], design.code, rtol=1e-14)
    live = np.flatnonzero(RNG.random(len(design.code)) < 0.7)
    fast = design.local(live)
    slow = _AnyLines(design.code[live], design.sample[live], design.n)
    scores, duals = RNG.normal(size=(N, design.c)), RNG.normal(size=(live.size, rate.shape[1]))
    W = RNG.uniform(0.1, 10.0, duals.shape)
    np.testing.assert_allclose(fast.values(scores), slow.values(scores), atol=1e-13)
    np.testing.assert_allclose(fast.adjoint(duals), slow.adjoint(duals), atol=1e-12)
    one, other = fast.curvature(W), slow.curvature(W)
    np.testing.assert_allclose(one.matrices(), other.matrices(), atol=1e-11)
    zero = np.zeros(design.c * D)
    np.testing.assert_allclose(one.summed(X, zero), other.summed(X, zero), atol=1e-10)


def test_an_angle_loss_has_a_direction_a_class() -> None:
    for k in (3, 7):
        directions = Polyhedral(angle(k)).directions
        assert directions is not None
        assert len(directions[0]) == k


def test_codes_without_structure_are_kept() -> None:
    rows = dc.angle_margins(X, labels(4))
    risk = dc.Risk(rows, dc.hinge(), aggregate="max")
    assert Polyhedral(risk).directions is None


def test_more_products_than_entries_are_matrices() -> None:
    vectors, weights = RNG.normal(size=(9, 2)), RNG.uniform(size=(N, 9))
    curvature = Curvature.of(weights, vectors)
    assert curvature.vectors is None
    direct: Array = np.einsum("nk,ka,kb->nab", weights, vectors, vectors)
    np.testing.assert_allclose(curvature.matrices(), direct)
