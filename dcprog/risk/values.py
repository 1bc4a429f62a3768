"""Values of a declared risk at a point θ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import BLOCK, PRODUCTS, Array, blocks
from dcprog.foundation.blocked_matrix import BlockedMatrix
from dcprog.losses import ConvexLoss, Loss
from dcprog.penalties import Penalty
from dcprog.rows.scores import Scores
from dcprog.transforms import Transform

TIE = 1e-9
REMEMBERED = 2  # points with known margins: a loop's current and next one; one if by blocks


class RiskValues:
    """Values of R(θ) and of its parts; :class:`~dcprog.risk.risk.Risk` sets the attributes."""

    rows: Any
    base: ConvexLoss
    loss: Loss | None
    weights: Array | None
    n_groups: int
    aggregate: str | None
    transform: Transform
    penalty: Penalty
    penalized: npt.NDArray[np.bool_]
    sample_weight: Array | None
    subtracted: ConvexLoss | None
    offset: Array | None
    _groups: npt.NDArray[np.intp] | None = None  # None where every row is a group
    _known: list[tuple[Array, Array]] | None = None  # θ and the margins there, the latest first

    @property
    def groups(self) -> npt.NDArray[np.intp]:
        """The group of each row, of shape (n_rows,)."""
        return np.arange(self.rows.shape[0]) if self._groups is None else self._groups

    def of_rows(self, values: Array) -> Array:
        """Values of the groups as values of their rows."""
        return values if self._groups is None else values[self._groups]

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

    def members_of(self, groups: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """The rows of some groups, as in ``members``."""
        return groups[:, None] if self._groups is None else self.members[groups]

    def matrix(self) -> Any:
        """The rows as an array or a sparse matrix.

        Raises
        ------
        ValueError
            They are a general LinearOperator.
        """
        return self.scores.matrix()

    @property
    def by_blocks(self) -> bool:
        """True if the samples are read by blocks."""
        return isinstance(self.rows, Scores) and isinstance(self.rows.X, BlockedMatrix)

    @property
    def scores(self) -> Scores:
        """The rows as ``Scores``, from which solvers get X, codes, signs and kernels.

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
        """The reason why the rows have no matrix and no scores; None if they have."""
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
            if known is theta or np.array_equal(known, theta):
                return u
        del self._known[0 if self.by_blocks else REMEMBERED - 1 :]
        u = self._margins(theta)
        u.flags.writeable = False
        self._known.insert(0, (theta.copy(), u))
        return u

    def _margins(self, theta: Array) -> Array:
        u = self.rows @ theta
        if self.offset is not None:
            u += self.offset
        return u

    def parts(self, theta: Array) -> Iterator[tuple[slice, Self]]:
        """The risk of a block of rows at a time, with known margins at θ.

        If there are few rows, or they depend on one another, all of them are one block. Otherwise
        every row is a group. A sum over the blocks needs no further vectors as long as the data.
        """
        u, n = self.margins(theta), self.rows.shape[0]
        if n <= BLOCK and self._known is not None:
            return iter([(slice(0, n), self)])
        return self._parts(theta, lambda rows: u[rows])

    def _parts(
        self, theta: Array, margins: Callable[[slice], Array]
    ) -> Iterator[tuple[slice, Self]]:
        n = self.rows.shape[0]
        step = BLOCK if n > BLOCK and self._is_separable else max(n, 1)
        for rows in blocks(n, step):
            part = self.remembering()
            part._known = [(theta, margins(rows))]
            if step < n:
                part.weights = None if self.weights is None else self.weights[rows]
                s = self.sample_weight
                part.sample_weight = None if s is None else s[rows]
                part.n_groups = rows.stop - rows.start
            yield rows, part

    @property
    def _is_separable(self) -> bool:
        """True if the losses are a sum over rows, all with the same loss function."""
        own = getattr(self.transform, "transform", self.transform)
        return self._is_entrywise and np.size(getattr(own, "c", 0.0)) == 1

    @property
    def _is_entrywise(self) -> bool:
        """True if every row is a group, and no loss is a function of several of them."""
        functions = (self.base, self.transform, self.subtracted)
        return self._groups is None and not any(f is not None and f.is_joint for f in functions)

    def remembering(self) -> Self:
        """A copy of the risk that keeps the last margins: a loop asks for them several times.

        The copy is valid as long as the data do not change.
        """
        risk = copy(self)
        risk._known = []
        return risk

    def forgetting(self) -> Self:
        """A copy of the risk that keeps no margins."""
        risk = copy(self)
        risk._known = None
        return risk

    def along(self, theta: Array, way: Array) -> Callable[[float], float]:
        """R(θ + t·way) as a function of t, whose margins are linear in it."""
        u, change = self.margins(theta), np.asarray(self.rows @ way).ravel()
        penalty = self.penalty.along(theta[self.penalized], way[self.penalized])

        def value(t: float) -> float:
            there = theta + t * way
            parts = self._parts(there, lambda rows: u[rows] + t * change[rows])
            return self._summed(there, parts) + penalty(t)

        return value

    def either_side(self, theta: Array, ways: Array) -> Array:
        """R(θ + way) and R(θ − way) for every row of `ways`, of shape (len(ways), 2)."""
        u = self.margins(theta)

        def losses(change: Array) -> Any:
            parts = self._parts(theta, lambda rows: u[rows] + change[..., rows])
            return sum(np.sum(part.loss_values(theta), axis=-1) for _, part in parts)

        changes = self._changes(ways)
        if len(ways) and u.size <= BLOCK and self._is_entrywise:
            change = np.array(list(changes))
            values = losses(np.stack([change, -change], axis=1))
        else:
            values = np.array([[losses(c), losses(-c)] for c in changes]).reshape(-1, 2)
        paid = [[self.penalty_value(theta + s * way) for s in (1, -1)] for way in ways]
        return values + np.array(paid).reshape(-1, 2)

    def _changes(self, ways: Array) -> Iterator[Array]:
        """The products A·way for every row of `ways`, several by one product with X."""
        step = max(1, PRODUCTS // self.rows.shape[0])
        for some in blocks(len(ways), step):
            yield from np.ascontiguousarray(np.transpose(self.rows @ ways[some].T))

    @property
    def has_convex_losses(self) -> bool:
        """True if at most the penalty has to be majorised."""
        return self.transform.is_linear and self.subtracted is None

    def losses(self, theta: Array) -> Array:
        """The losses v_r·base(u_r), of shape (n_rows,)."""
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

    @property
    def shares(self) -> Array:
        """The sample weights s_g, ones where none are given."""
        return np.ones(self.n_groups) if self.sample_weight is None else self.sample_weight

    @property
    def factors(self) -> Array:
        """The weights v_r of the rows' losses, ones where none are given."""
        return np.ones(self.rows.shape[0]) if self.weights is None else self.weights

    def sampled(self, values: Array) -> Array:
        """The values of groups times their sample weights s_g."""
        return values if self.sample_weight is None else self.sample_weight * values

    def slopes(self, theta: Array) -> Array:
        """The weights s_g·φ'(agg_g) of a tightening at θ, of shape (n_groups,)."""
        slopes = np.empty(self.n_groups)
        for rows, part in self.parts(theta):
            slopes[rows] = part.sampled(part.transform.slope(part.aggregates(theta)))
        return slopes

    def row_weights(self, weights: Array) -> Array:
        """The factor d_g·v_r of every row's base loss, for losses that are summed."""
        return self._scaled(self.of_rows(weights))

    def row_slopes(self, theta: Array) -> Array:
        """The slope of the loss in every margin, for losses that are summed."""
        slopes = self.row_weights(self.slopes(theta))
        slopes *= self.base.slope(self.margins(theta))
        tilts = self.tilts(theta)
        return slopes if tilts is None else slopes + tilts

    def tilts(self, theta: Array) -> Array | None:
        """Slopes of −Σ_g s_g agg v_r·sub(u_r) in the margins; None if nothing is subtracted.

        Of rows that tie for a maximum the first one is taken.
        """
        if self.subtracted is None:
            return None
        u = self.margins(theta)
        slopes = -self._scaled(self.subtracted.slope(u))
        if self.sample_weight is not None:
            slopes = slopes * self.of_rows(self.sample_weight)
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
        """The value of the penalty at θ."""
        return self.penalty(theta[self.penalized])

    def loss_values(self, theta: Array) -> Array:
        """The contribution of each group to R(θ), of shape (n_groups,)."""
        values = self.transform(self.aggregates(theta))
        if self.subtracted is not None:
            values = values - self._combined(self._scaled(self.subtracted(self.margins(theta))))
        return self.sampled(values)

    def magnitude(self, theta: Array) -> float:
        """The sum of the absolute values of the terms of R(θ)."""
        total = sum(part._magnitude(theta) for _, part in self.parts(theta))
        return total + abs(self.penalty_value(theta))

    def _magnitude(self, theta: Array) -> float:
        values = np.abs(self.transform(self.aggregates(theta)))
        if self.subtracted is not None:
            less = self._scaled(self.subtracted(self.margins(theta)))
            values = values + np.abs(self._combined(less))
        return float(np.sum(self.sampled(values)))

    def __call__(self, theta: Array) -> float:
        """The value R(θ)."""
        return self._summed(theta, self.parts(theta)) + self.penalty_value(theta)

    @staticmethod
    def _summed(theta: Array, parts: Iterable[tuple[slice, RiskValues]]) -> float:
        """The sum of the losses of all parts."""
        return sum(float(np.sum(part.loss_values(theta))) for _, part in parts)
