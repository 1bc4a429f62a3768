"""The convex risk that a tightening passes to a solver: weights, tilts and shrinkage."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.risk.risk import Risk


@dataclass(frozen=True, eq=False)
class WeightedRisk:
    r"""P(θ) = Σ_g d_g agg_{r∈g}(v_r base(u_r)) + Σ_r t_r u_r + penalty(θ) + Σ_j ν_j |θ_j|.

    The risk's transform and subtracted part are not used, and of a concave penalty only the convex
    part is: the weights d, the tilts t and the shrinkage ν stand for the rest.

    Parameters
    ----------
    risk : Risk
        The risk whose margins u, weights v of rows, base, groups and penalty are used.
    weights : array of shape (n_groups,)
        d ≥ 0.
    tilts : array of shape (n_rows,), optional
        t, in units of one over a margin; none by default.
    shrinkage : array, optional
        ν ≥ 0, one a penalised coefficient; none by default.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.losses import hinge
    >>> from dcprog.risk.risk import Risk
    >>> from dcprog.risk.weighted import WeightedRisk
    >>> risk = Risk(np.array([[1.0], [2.0]]), hinge())
    >>> WeightedRisk(risk, np.array([1.0, 0.0])).value(np.array([0.5]))  # (1 − ½) + ½²/2
    0.625
    """

    risk: Risk
    weights: Array
    tilts: Array | None = None
    shrinkage: Array | None = None

    def value(self, theta: Array) -> float:
        """The value P(θ)."""
        value = self.penalty(theta)
        for rows, part in self.risk.parts(theta):
            value += float(self.weights[rows] @ part.aggregates(theta))
        return value if self.tilts is None else value + float(self.tilts @ self.risk.margins(theta))

    def penalty(self, theta: Array) -> float:
        """The penalty's convex part plus Σ_j ν_j |θ_j|."""
        w, part = theta[self.risk.penalized], self.risk.penalty.convex_part
        value = 0.0 if part is None else part(w)
        return value if self.shrinkage is None else value + float(self.shrinkage @ np.abs(w))

    @property
    def untilted(self) -> WeightedRisk:
        """The weighted risk without its tilts, which is nowhere negative."""
        return replace(self, tilts=None)

    @cached_property
    def row_weights(self) -> Array:
        """The factor d_g v_r of every row's base loss, for losses that are summed."""
        return self.risk.row_weights(self.weights)

    @cached_property
    def row_tilts(self) -> Array:
        """The vector t, of zeros if there are no tilts."""
        return np.zeros(self.risk.rows.shape[0]) if self.tilts is None else self.tilts

    @cached_property
    def linear(self) -> Array:
        """The tilts as a linear function of θ: Aᵀt, of shape (p,)."""
        if self.tilts is None:
            return np.zeros(self.risk.rows.shape[1])
        return self.risk.pull(self.tilts)

    @cached_property
    def penalty_weights(self) -> tuple[Array, Array]:
        """The weights of |θ_j| and of θ_j²/2, for penalties with the convex part of these."""
        parts, held = self.risk.penalty.parts(), self.risk.penalized
        assert parts.is_elastic
        l1, l2 = np.zeros(held.size), np.zeros(held.size)
        l1[held], l2[held] = parts.l1, parts.ridge
        if self.shrinkage is not None:
            l1[held] += self.shrinkage
        return l1, l2

    def repeats(self, other: WeightedRisk) -> bool:
        """True if weights, tilts and shrinkage are the same."""
        return (
            np.array_equal(self.weights, other.weights)
            and _equal(self.tilts, other.tilts)
            and _equal(self.shrinkage, other.shrinkage)
        )


def _equal(one: Array | None, other: Array | None) -> bool:
    return one is other or (one is not None and other is not None and np.array_equal(one, other))
