"""A penalty along a line is the penalty at its points."""

from __future__ import annotations

import numpy as np
import pytest

import dcprog as dc
from dcprog.foundation.arrays import Array
from dcprog.foundation.kernel_matrix import Gram
from dcprog.penalties import kernel_norm

RNG = np.random.default_rng(0)
X = RNG.normal(size=(7, 7))


@pytest.mark.parametrize(
    "penalty", [kernel_norm(X @ X.T, 0.3), dc.l1(2.0), dc.mcp(1.0, 3.0), dc.l2() + dc.l1(0.5)]
)
def test_along_a_line(penalty: dc.Penalty) -> None:
    w, way = RNG.normal(size=(2, 7))
    line = penalty.along(w, way)
    for t in (0.0, 1e-3, -2.0, 50.0):
        assert line(t) == pytest.approx(penalty(w + t * way), rel=1e-12)


def test_products_that_are_of_use_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """One product a way, though the point's own is asked for between them."""
    gram, made = Gram(X @ X.T), []

    def product(K: Array, a: Array) -> Array:
        made.append(a)
        return np.asarray(K @ a)

    monkeypatch.setattr("dcprog.foundation.kernel_matrix.symmetric_product", product)
    w, penalty = RNG.normal(size=7), kernel_norm(gram)
    for way in RNG.normal(size=(10, 7)):
        penalty.along(w, way)
    assert len(made) == 11
