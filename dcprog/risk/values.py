"""What a declared risk is worth at a point θ."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.losses import ConvexLoss, Loss
from dcprog.penalties import Penalty
from dcprog.rows.scores import Scores
from dcprog.transforms import Transform

__all__ = ["RiskValues"]

TIE = 1e-9
REMEMBERED = 2  # points: where a loop is, and where it may go


class RiskValues:
    """Values of R(θ) and of its parts; :class:`~dcprog.risk.risk.Risk` sets the attributes."""

    rows: Any
    base: ConvexLoss
    loss: Loss | None
    weights: Array | None
    groups: npt.NDArray[np.intp]
    n_groups: int
    aggregate: str | None
    transform: Transform
    penalty: Penalty
    penalized: npt.NDArray[np.bool_]
    sample_weight: Array | None
    subtracted: ConvexLoss | None
    offset: Array | None
    _known: list[tuple[Array, Array]] | None = None  # θ and the margins there, the latest first

    @cached_property
    def members(self) -> npt.NDArray[np.intp]:
        """Rows of each group, (n_groups, largest size); short groups repeat their first row."""
        sizes = np.bincount(self.groups)
        if np.all(sizes == sizes[0]) and np.all(np.diff(self.groups) >= 0):
            return np.arange(self.groups.size).reshape(sizes.size, -1)
        order = np.argsort(self.groups, kind="stable")
        first = np.cumsum(sizes) - sizes
        place = np.arange(sizes.max())
        return order[first[:, None] + np.where(place < sizes[:, None], place, 0)]

    def matrix(self) -> Any:
        """The rows as an array or a sparse matrix.

        Raises
        ------
        ValueError
            They are a general LinearOperator.
        """
        return self.scores.matrix()

    @property
    def scores(self) -> Scores:
        """The rows, as those of linear scores: what solvers ask for X, codes, signs and kernels.

        Raises
        ------
        ValueError
            They are a general LinearOperator.
        """
        if not isinstance(self.rows, Scores):
            raise ValueError(self.no_matrix)
        return self.rows

    @property
    def no_matrix(self) -> str | None:
        """Why the rows have no matrix and no scores, None if they have."""
        if isinstance(self.rows, Scores):
            return None
        return (
            "the matrix of so large a LinearOperator is not formed; pass an array, a sparse matrix "
            "or one of the row builders"
        )

    def margins(self, theta: Array) -> Array:
        """The vector u = Aθ + offset, of shape (n_rows,)."""
        if self._known is None:
            return self._margins(theta)
        for known, u in self._known:
            if np.array_equal(known, theta):
                return u
        u = self._margins(theta)
        u.flags.writeable = False
        self._known[:] = [(theta.copy(), u), *self._known[: REMEMBERED - 1]]
        return u

    def _margins(self, theta: Array) -> Array:
        u = self.rows @ theta
        return u if self.offset is None else u + self.offset

    def remembering(self) -> Self:
        """The same risk, which keeps the last margins: a loop asks for them several times.

        Only for as long as nobody changes the data.
        """
        risk = copy(self)
        risk._known = []
        return risk

    def with_margins(self, theta: Array, u: Array) -> float:
        """R(θ) where the margins at θ are known to be u."""
        risk = self.remembering()
        risk._known = [(theta, u)]
        return risk(theta)

    @property
    def has_convex_losses(self) -> bool:
        """Is only the penalty left to be majorised, if anything is?"""
        return self.transform.is_linear and self.subtracted is None

    def losses(self, theta: Array) -> Array:
        """v_r·base(u_r), of shape (n_rows,)."""
        return self._scaled(self.base(self.margins(theta)))

    def _scaled(self, losses: Array) -> Array:
        return losses if self.weights is None else self.weights * losses

    def aggregates(self, theta: Array) -> Array:
        """The losses combined over each group, of shape (n_groups,)."""
        return self._combined(self.losses(theta))

    def _combined(self, losses: Array) -> Array:
        match self.aggregate:
            case "sum":
                return np.bincount(self.groups, losses).astype(float)
            case "max":
                return np.max(losses[self.members], axis=1)
        return losses

    def sampled(self, values: Array) -> Array:
        """s_g times the values."""
        return values if self.sample_weight is None else self.sample_weight * values

    def slopes(self, theta: Array) -> Array:
        """s_g·φ'(agg_g) at θ, the weights of a tightening, of shape (n_groups,)."""
        return self.sampled(self.transform.slope(self.aggregates(theta)))

    def row_weights(self, weights: Array) -> Array:
        """d_g·v_r for every row: what the base losses are multiplied with under a sum."""
        return self._scaled(weights[self.groups])

    def tilts(self, theta: Array) -> Array | None:
        """Slopes of −Σ_g s_g agg v_r·sub(u_r) in the margins; None if nothing is subtracted.

        Of rows that tie for a maximum the first one is taken.
        """
        if self.subtracted is None:
            return None
        u = self.margins(theta)
        slopes = (
            -self._scaled(self.subtracted.slope(u))
            * self.sampled(np.ones(self.n_groups))[self.groups]
        )
        if self.aggregate != "max":
            return slopes
        values = self._scaled(self.subtracted(u))[self.members]
        largest = values.max(axis=1, keepdims=True)
        # a vertex solution ties rows exactly, rounding must not choose between them
        sizes = np.abs(largest) + np.abs(slopes * u)[self.members].max(axis=1, keepdims=True)
        place = np.argmax(values >= largest - TIE * sizes, axis=1)
        first = self.members[np.arange(self.n_groups), place]
        tilts = np.zeros(u.size)
        tilts[first] = slopes[first]
        return tilts

    def penalty_value(self, theta: Array) -> float:
        """penalty(θ)."""
        return self.penalty(theta[self.penalized])

    def loss_values(self, theta: Array) -> Array:
        """What each group adds to R(θ), of shape (n_groups,)."""
        values = self.transform(self.aggregates(theta))
        if self.subtracted is not None:
            values = values - self._combined(self._scaled(self.subtracted(self.margins(theta))))
        return self.sampled(values)

    def magnitude(self, theta: Array) -> float:
        """What the terms of R(θ) add up to in absolute value."""
        values = np.abs(self.transform(self.aggregates(theta)))
        if self.subtracted is not None:
            less = self._scaled(self.subtracted(self.margins(theta)))
            values = values + np.abs(self._combined(less))
        return float(np.sum(self.sampled(values))) + abs(self.penalty_value(theta))

    def __call__(self, theta: Array) -> float:
        """R(θ)."""
        return float(np.sum(self.loss_values(theta))) + self.penalty_value(theta)
