"""The sums of a pass over blocks of samples for a Newton step: value, slope, Gram matrices."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.columns import row_blocks
from dcprog.foundation.weighted_gram import weighted_gram
from dcprog.losses import ConvexLoss
from dcprog.rows.scores import with_ones

__all__ = ["Look", "Pass"]


@dataclass(frozen=True)
class Pass:
    """Sums over samples, of the size of coefficients or Gram matrices.

    Attributes
    ----------
    losses : float
        The sum Σ w base(u).
    value : float
        The sum Σ w base(u) + t u.
    size : float
        The sum of the absolute values of these terms.
    curves, slants : float
        Σ D and Σ E with D = w base''(u) s² and E = |w base'(u) + t| s²/(1 + |u|), the curvature of
        a parabola over a straight piece.
    slope : array of shape (c, d̃)
        The sum Σ s (w base'(u) + t) x̃ for each score.
    gram : array of shape (c, d̃, d̃)
        The sum Σ (D + μE) x̃x̃ᵀ for each score.
    """

    losses: float
    value: float
    size: float
    curves: float
    slants: float
    slope: Array
    gram: Array

    def __add__(self, other: Pass) -> Pass:
        mine, theirs = vars(self), vars(other)
        return Pass(**{name: mine[name] + theirs[name] for name in mine})


@dataclass(frozen=True)
class Look:
    """A function that sums over a block of samples x with the margins u = s·(Bx̃) + o.

    Attributes
    ----------
    base : ConvexLoss
    B : array of shape (c, d̃)
        The coefficients; x̃ is x, followed by 1 if B has a column for it.
    names : tuple of str
        The names of the vectors of a block: ``sign`` s, ``weight`` w, perhaps ``offset`` o and
        ``tilt`` t, all with one column per score.
    damping : float
        The damping μ.
    curves : bool
        Whether Gram matrices are needed.
    """

    base: ConvexLoss
    B: Array
    names: tuple[str, ...]
    damping: float
    curves: bool

    def __call__(self, X: Array, *vectors: Array) -> Pass:
        """The sums over a block, computed by parts that fit into the cache."""
        parts = (
            self._part(X[rows], **dict(zip(self.names, (v[rows] for v in vectors), strict=True)))
            for rows in row_blocks(X)
        )
        return reduce(add, parts)

    def _part(
        self,
        X: Array,
        sign: Array,
        weight: Array,
        offset: Array | None = None,
        tilt: Array | None = None,
    ) -> Pass:
        Z = X if X.shape[1] == self.B.shape[1] else with_ones(X)
        u = sign * (Z @ self.B.T)
        if offset is not None:
            u += offset
        losses, pull = weight * self.base(u), weight * self.base.slope(u)
        tilted = np.zeros(0)
        if tilt is not None:
            pull += tilt
            tilted = tilt * u
        D = weight * self.base.curvature(u) * sign**2
        E = np.abs(pull) / (1 + np.abs(u)) * sign**2
        total = float(np.sum(losses))
        return Pass(
            losses=total,
            value=total + float(np.sum(tilted)),
            size=float(np.sum(np.abs(losses)) + np.sum(np.abs(tilted))),
            curves=float(np.sum(D)),
            slants=float(np.sum(E)),
            slope=(sign * pull).T @ Z,
            gram=self._gram(Z, D if self.damping == 0 else D + self.damping * E),
        )

    def _gram(self, Z: Array, D: Array) -> Array:
        if not self.curves:
            return np.zeros(())
        return np.array([_weighted(Z, d) for d in D.T])


def _weighted(Z: Array, d: Array) -> Array:
    """The matrix ZᵀDZ; samples of weight 0 are skipped if they are at least half of all."""
    live = np.flatnonzero(d)
    return weighted_gram(Z[live], d[live]) if 2 * live.size <= d.size else weighted_gram(Z, d)
