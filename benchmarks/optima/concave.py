"""Concave φ of convex losses: value, slope, and the forms that other solvers need.

`relaxed(s)` is nearer to linear for s > 1: where a graduated search begins.
"""

from __future__ import annotations

from dataclasses import dataclass

import cvxpy as cp
import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class Cap:
    """Σ min(t, c)."""

    c: float

    def total(self, t: Array) -> Array:
        """Of columns."""
        return np.minimum(t, self.c).sum(axis=0)

    def slope(self, t: Array) -> Array:
        """1 up to the cap."""
        return (t <= self.c).astype(float)

    def relaxed(self, s: float) -> Cap:
        """A cap s times as high."""
        return Cap(s * self.c)

    def expression(self, t: cp.Expression) -> cp.Expression:
        """Concave in t, entry by entry."""
        return cp.minimum(t, self.c)

    def conjugate(self, v: cp.Expression) -> cp.Expression:
        """ψ with φ(t) = min over 0 ≤ v ≤ 1 of v·t + ψ(v)."""
        return self.c * (1 - v)


@dataclass(frozen=True)
class Tukey:
    """Σ (σ²/6)(1 − (1 − 2t/σ²)₊³)."""

    sigma: float

    def _rest(self, t: Array) -> Array:
        return np.maximum(1 - 2 * t / self.sigma**2, 0)

    def total(self, t: Array) -> Array:
        """Of columns."""
        return (self.sigma**2 / 6 * (1 - self._rest(t) ** 3)).sum(axis=0)

    def slope(self, t: Array) -> Array:
        """(1 − 2t/σ²)₊²."""
        return self._rest(t) ** 2

    def relaxed(self, s: float) -> Tukey:
        """It rejects beyond s times the loss."""
        return Tukey(np.sqrt(s) * self.sigma)

    def conjugate(self, v: cp.Expression) -> cp.Expression:
        """ψ with φ(t) = min over 0 ≤ v ≤ 1 of v·t + ψ(v)."""
        return self.sigma**2 * (1 / 6 - v / 2 + cp.power(v, 1.5) / 3)


@dataclass(frozen=True)
class CappedRoot:
    """Σ min(√(t + δ), c)."""

    c: float
    delta: float

    def total(self, t: Array) -> Array:
        """Of columns."""
        return np.minimum(np.sqrt(t + self.delta), self.c).sum(axis=0)

    def slope(self, t: Array) -> Array:
        """½(t + δ)^{−½} up to the cap."""
        root = np.sqrt(t + self.delta)
        return np.where(root <= self.c, 0.5 / root, 0.0)

    def relaxed(self, s: float) -> CappedRoot:
        """A higher cap, and never so steep at 0 that reweighting stalls."""
        return CappedRoot(np.sqrt(s) * self.c, max(self.delta, 1e-3))

    def expression(self, t: cp.Expression) -> cp.Expression:
        """Concave in t, entry by entry."""
        return cp.minimum(cp.sqrt(t + self.delta), self.c)


@dataclass(frozen=True)
class Trim:
    """Σ of all but the `dropped` largest t."""

    dropped: int

    def total(self, t: Array) -> Array:
        """Of columns."""
        return np.sort(t, axis=0)[: t.shape[0] - self.dropped].sum(axis=0)

    def slope(self, t: Array) -> Array:
        """1, 0 for the largest."""
        kept = np.ones(t.shape)
        order = np.argsort(t, axis=0, kind="stable")
        np.put_along_axis(kept, order[t.shape[0] - self.dropped :], 0.0, axis=0)
        return kept

    def relaxed(self, s: float) -> Trim:
        """A quarter fewer for every doubling."""
        return Trim(round(self.dropped * 0.75 ** np.log2(s)))
