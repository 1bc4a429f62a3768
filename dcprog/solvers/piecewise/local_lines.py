"""The lines code_gp · f_{i(g)} of local functions, with as few products as the codes allow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.solvers.linalg.kronecker import Curvature

if TYPE_CHECKING:
    from dcprog.solvers.piecewise.polyhedral import Polyhedral

__all__ = ["LocalLines", "local_lines", "row_sums"]

Index = npt.NDArray[np.intp]


class LocalLines(Protocol):
    """The lines of G local functions with P pieces each, as functions of scores (n, c)."""

    def values(self, scores: Array) -> Array:
        """The values code_gp · f_{i(g)}, of shape (G, P)."""

    def adjoint(self, duals: Array) -> Array:
        """The sums Σ duals_gp code_gp over the lines of each sample, of shape (n, c)."""

    def curvature(self, W: Array) -> Curvature:
        """The sums Σ_gp W_gp δ_gp δ_gpᵀ of each sample, δ deviations from g's weighted mean."""


def local_lines(design: Polyhedral, live: Index) -> LocalLines:
    """The lines of the local functions `live`."""
    directions = design.directions
    if directions is None:
        return _AnyLines(design.code[live], design.sample[live], design.n)
    vectors, which, rate = directions
    places = design.sample[live] * len(vectors) + which[live]
    return _RatedLines(vectors, places, rate[live], design.n)


def row_sums(values: Array) -> Array:
    """The row sums of an array (G, P), by a product, as NumPy sums short rows slowly."""
    return values @ np.ones(values.shape[1])


class _AnyLines:
    """Lines whose codes have no common directions."""

    def __init__(self, code: Array, sample: Index, n: int) -> None:
        self.code, self.sample, self.n = code, sample, n

    def values(self, scores: Array) -> Array:
        values: Array = np.einsum("gpc,gc->gp", self.code, scores[self.sample])
        return values

    def adjoint(self, duals: Array) -> Array:
        return self._gather(np.einsum("gp,gpc->gc", duals, self.code))

    def curvature(self, W: Array) -> Curvature:
        mean = np.einsum("gp,gpc->gc", W, self.code) / row_sums(W)[:, None]
        deviation = self.code - mean[:, None]
        return Curvature(self._gather(np.einsum("gp,gpa,gpb->gab", W, deviation, deviation)))

    def _gather(self, values: Array) -> Array:
        flat = values.reshape(len(values), -1)
        sums: list[Array] = [
            np.bincount(self.sample, column, self.n).astype(float) for column in flat.T
        ]
        return np.stack(sums, axis=1).reshape(self.n, *values.shape[1:])


class _RatedLines:
    """Lines with codes rate_gp·v_k, where each local function has one of few vectors v_k.

    The scores v_k · f_i are computed once per sample and vector; all else is scalar arithmetic.
    """

    def __init__(self, vectors: Array, places: Index, rate: Array, n: int) -> None:
        self.vectors, self.places, self.rate, self.n = vectors, places, rate, n

    def values(self, scores: Array) -> Array:
        along = (scores @ self.vectors.T).ravel()
        return self.rate * along[self.places, None]

    def adjoint(self, duals: Array) -> Array:
        return self._gather(row_sums(duals * self.rate)) @ self.vectors

    def curvature(self, W: Array) -> Curvature:
        total = row_sums(W)
        mean = row_sums(W * self.rate) / total
        spread = row_sums(W * (self.rate - mean[:, None]) ** 2)
        return Curvature.of(self._gather(spread), self.vectors)

    def _gather(self, values: Array) -> Array:
        k = len(self.vectors)
        return np.bincount(self.places, values, self.n * k).astype(float).reshape(self.n, k)
