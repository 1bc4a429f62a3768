"""``Risk``: the declaration of a problem Σ φ(loss) + penalty.

The simplest risk is a scalar loss on margins or residuals; an estimator declares

    Risk.from_loss(binary_margins(X, y), loss, penalty, sample_weight=...)
    Risk.from_loss(residual_rows(X, y), loss, penalty, sample_weight=...)

and passes it to :func:`dcprog.solve`. ``risk.rows.unpack(result.x)`` returns the coefficients and
intercepts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

import cvxpy as cp
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from dcprog.foundation.arrays import BLOCK, EDGE, FORMED, Array, blocks
from dcprog.foundation.blocked_matrix import BlockedMatrix, blocked
from dcprog.foundation.parameters import advice, check_choice
from dcprog.foundation.tolerances import KNOWN_DIGITS
from dcprog.losses import ConvexLoss, Loss
from dcprog.losses.loss import combination
from dcprog.penalties import Penalty, l2
from dcprog.rows.linear import Samples
from dcprog.rows.scores import Scores
from dcprog.transforms import Transform, identity


def check_kind(name: str, value: Any, kind: type, example: str) -> Any:
    """The value, if it is an instance of the class `kind`."""
    if not isinstance(value, kind):
        told = advice(value, kind, example)
        raise TypeError(f"{name}={value!r}: a {kind.__name__} is needed; {told}")
    return value


def real(name: str, values: Any) -> Any:
    """The values as floats."""
    if np.iscomplexobj(values):
        raise TypeError(f"{name} is complex: real numbers are needed")
    return np.asarray(values, dtype=float)


def flags(name: str, values: Any, size: int) -> npt.NDArray[np.bool_]:
    """The values as booleans of shape (size,)."""
    array = vector(name, values, size)
    if not np.all((array == 0) | (array == 1)):
        raise ValueError(f"{name} must hold True and False only, a mask over the coefficients")
    return array.astype(bool)


def vector(name: str, values: npt.ArrayLike, size: int) -> Array:
    """The values as finite floats of shape (size,)."""
    array = real(name, values)
    if array.shape != (size,):
        raise ValueError(f"{name} has shape {array.shape}: ({size},) is needed, as rows has")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} holds NaN or infinity")
    return array


def weight_vector(name: str, values: npt.ArrayLike | None, size: int) -> Array | None:
    """The values as nonnegative floats of shape (size,); None for None."""
    if values is None:
        return None
    array = vector(name, values, size)
    if np.any(array < 0):
        raise ValueError(f"{name} must be finite and not negative")
    return array


def checked_rows(rows: Any) -> Any:
    """Rows of two dimensions with finite data: arrays as ``Samples``, a row builder's as they are.

    Of another operator the matrix, which the solvers need, is formed if it is not too large.
    """
    by_blocks = None if isinstance(rows, LinearOperator) else blocked(rows)
    if by_blocks is not None:
        return Samples(by_blocks)
    sparse = sp.issparse(rows)
    if sparse:
        rows = sp.csr_array(rows)  # for a sparse matrix * is the matrix product
    elif isinstance(rows, LinearOperator) and not isinstance(rows, Scores):
        n, p = rows.shape
        if np.issubdtype(rows.dtype, np.complexfloating):
            raise TypeError("rows is complex: real numbers are needed")
        rows = rows @ np.eye(p) if n * p <= FORMED else rows
    elif not isinstance(rows, LinearOperator):
        rows = real("rows", rows)
    if np.iscomplexobj(rows):
        raise TypeError("rows is complex: real numbers are needed")
    if len(rows.shape) != 2 or rows.shape[0] == 0:
        raise ValueError(f"rows has shape {rows.shape}: (n_rows, p) with n_rows > 0 is needed")
    data: Any = getattr(rows, "data", rows) if sparse else rows
    if isinstance(data, np.ndarray) and not np.all(np.isfinite(data)):
        raise ValueError("rows holds NaN or infinity; remove or impute those entries")
    return rows if isinstance(rows, LinearOperator) else Samples(rows)


# ----------------------------------------------------------------------------------------------

T = TypeVar("T")

AGGREGATES = ("sum", "max")
REMEMBERED = 2  # points with known margins: a loop's current and next one; one if by blocks


@dataclass
class Place:
    """The margins and results of a risk at θ that are remembered.

    Attributes
    ----------
    key : bytes
        θ.
    margins : array
    told : dict
        Results by name, with the objects that they are of.
    """

    key: bytes
    margins: Array
    told: dict[str, tuple[tuple[Any, ...], Any]] = field(default_factory=dict)


class Risk:
    r"""R(θ) = Σ_g s_g·[φ(agg_{r∈g} v_r·base(u_r)) − agg_{r∈g} v_r·sub(u_r)] + penalty(θ).

    The margins or residuals are u = Aθ + offset, with the rows a_r of A.

    Parameters
    ----------
    rows : array, sparse matrix, LinearOperator or row builder's, of shape (n_rows, p)
        The rows a_r. A memory-mapped or dask array is read by blocks.
    base : ConvexLoss
        Convex loss of a margin or residual.
    weights : array of shape (n_rows,), optional
        v_r ≥ 0, ones by default.
    groups : int array of shape (n_rows,), optional
        The group of each row, 0, 1, …; by default the rows' own (the sample, for the row builders).
        Used only with an aggregate.
    aggregate : {None, "sum", "max"}, default None
        How the losses of a group combine; None makes every row a group.
    transform : Transform, optional
        φ, concave and nondecreasing; the identity by default.
    penalty : Penalty, default l2(1.0)
        Convex, or concave in the sizes of the coefficients.
    penalized : bool array of shape (p,), optional
        The entries of θ that are penalised; by default the rows' own (all but the intercepts),
        or all.
    sample_weight : array of shape (n_groups,), optional
        s_g ≥ 0, outside φ; ones by default.
    subtracted : ConvexLoss, optional
        sub, which a majorant replaces by its tangent; nothing by default.
    offset : array of shape (n_rows,), optional
        By default the rows' own (the targets, for residuals), or 0.

    Raises
    ------
    TypeError
        A loss, transform or penalty has another type.
    ValueError
        Shapes do not fit, weights are negative, data are not finite, the aggregate is unknown, or
        a trimmed loss has sample weights that differ.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.losses import squared_hinge
    >>> from dcprog.risk.risk import Risk
    >>> from dcprog.transforms import cap_at
    >>> rows = np.array([[1.0], [2.0], [-9.0]])
    >>> risk = Risk(rows, squared_hinge(), transform=cap_at(1.0))
    >>> risk(np.array([1.0]))
    1.5
    """

    _surrogate: ClassVar[Callable[..., Any]]
    _groups: npt.NDArray[np.intp] | None = None  # None where every row is a group
    _known: list[Place] | None = None  # the latest first

    def __init__(
        self,
        rows: Any,
        base: ConvexLoss,
        weights: npt.ArrayLike | None = None,
        groups: npt.ArrayLike | None = None,
        aggregate: str | None = None,
        transform: Transform | None = None,
        penalty: Penalty | None = None,
        penalized: npt.ArrayLike | None = None,
        *,
        sample_weight: npt.ArrayLike | None = None,
        subtracted: ConvexLoss | None = None,
        offset: npt.ArrayLike | None = None,
    ) -> None:
        if aggregate is not None:
            check_choice("aggregate", aggregate, AGGREGATES)
        self.rows = checked_rows(rows)
        self.base = check_kind("base", base, ConvexLoss, "hinge()")
        self.aggregate = aggregate
        self.transform = check_kind("transform", transform or identity(), Transform, "cap_at(1.0)")
        self.penalty = check_kind(
            "penalty", l2() if penalty is None else penalty, Penalty, "l2(1.0)"
        )
        self.subtracted = subtracted
        if subtracted is not None:
            check_kind("subtracted", subtracted, ConvexLoss, "hinge(0.0)")
        self.loss: Loss | None = None
        self._set_groups(groups)
        n_rows, p = self.rows.shape
        if penalized is None:
            penalized = getattr(self.rows, "penalized", np.ones(p))
        self.penalized = flags("penalized", penalized, p)
        self.weights = weight_vector("weights", weights, n_rows)
        self.sample_weight = weight_vector("sample_weight", sample_weight, self.n_groups)
        offset = getattr(self.rows, "offset", None) if offset is None else offset
        self.offset = None if offset is None else vector("offset", offset, n_rows)
        self._check_joint()
        self._check_transform()
        self.penalty(np.zeros(int(self.penalized.sum())))  # groups of coefficients must fit

    @classmethod
    def from_loss(
        cls,
        rows: Any,
        loss: Loss,
        penalty: Penalty | None = None,
        sample_weight: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
        penalized: npt.ArrayLike | None = None,
    ) -> Risk:
        r"""Σ_r s_r·loss(u_r) + penalty(θ), a loss on every row.

        Parameters
        ----------
        rows, penalty, offset, penalized
            As for the class.
        loss : Loss
        sample_weight : array of shape (n_rows,), optional
            s_r ≥ 0; ones by default.

        Returns
        -------
        Risk

        Raises
        ------
        TypeError, ValueError
            As from the class.

        Examples
        --------
        >>> import numpy as np
        >>> from dcprog.losses import cap, square
        >>> from dcprog.risk.risk import Risk
        >>> from dcprog.rows.linear import residual_rows
        >>> rows = residual_rows(np.array([[1.0], [2.0], [3.0]]), [1.0, 2.0, 9.0])
        >>> Risk.from_loss(rows, cap(square(), 4.0))(np.array([1.0, 0.0]))
        4.5
        """
        check_kind("loss", loss, Loss, "hinge()")
        risk = cls(
            rows,
            loss.base,
            transform=loss.transform,
            penalty=penalty,
            penalized=penalized,
            sample_weight=sample_weight,
            subtracted=loss.subtracted,
            offset=offset,
        )
        risk.loss = loss
        return risk

    def _set_groups(self, groups: npt.ArrayLike | None) -> None:
        n_rows = self.rows.shape[0]
        if groups is None and self.aggregate is not None:
            groups = getattr(self.rows, "groups", None)
        if groups is None or self.aggregate is None:
            self._groups, self.n_groups = None, n_rows
            return
        labels = vector("groups", groups, n_rows)
        self._groups = labels.astype(np.intp)
        if not np.array_equal(self._groups, labels) or np.min(self._groups) < 0:
            raise ValueError("groups must be whole numbers 0, 1, …")
        sizes = np.bincount(self._groups)
        if np.any(sizes == 0):
            raise ValueError("groups must be numbered 0, 1, … without gaps")
        self.n_groups = sizes.size

    def _check_joint(self) -> None:
        sub = self.subtracted
        if sub is not None and sub.is_joint and self.aggregate is not None:
            raise ValueError(f"subtracted={sub!r} takes all rows together: leave out the aggregate")
        joint = self.transform.is_joint and self.transform.rounds == 0
        s = self.sample_weight
        if (joint or (sub is not None and sub.is_joint)) and s is not None and np.ptp(s) > 0:
            raise ValueError(
                "sample_weight differs between samples, and the loss is trimmed: its sum would not "
                "be continuous; use weights, which are inside the trimming"
            )

    def _check_transform(self) -> None:
        """Raise an error if there are several caps, but not one per group."""
        if np.size(getattr(self.transform, "c", 0.0)) not in (1, self.n_groups):
            raise ValueError(
                f"transform={self.transform!r} has {np.size(self.transform.c)} caps for "
                f"{self.n_groups} groups"
            )

    def problem(self) -> cp.Problem:
        """The risk as a cvxpy problem in one variable named ``theta``.

        Returns
        -------
        cvxpy.Problem
            Nonconvex if the transform is; ``dc.solve`` takes it.

        Raises
        ------
        ValueError
            Rows or a part of the loss have no cvxpy form.
        """
        return problem_of(self)

    def with_penalty(self, penalty: Penalty) -> Risk:
        """A copy of the risk with another penalty; rows and data are shared.

        Parameters
        ----------
        penalty : Penalty

        Returns
        -------
        Risk

        Raises
        ------
        TypeError
            `penalty` is not a Penalty.
        """
        risk = copy(self)
        risk.penalty = check_kind("penalty", penalty, Penalty, "l2(1.0)")
        risk.penalty(np.zeros(int(risk.penalized.sum())))
        return risk

    def of_samples(self, samples: npt.NDArray[np.intp]) -> Risk:
        """The risk of some samples in memory, weighted so that together they stand for all.

        Parameters
        ----------
        samples : int array
            Of row builders' rows without an aggregate.

        Returns
        -------
        Risk
        """
        scores, risk = self.scores, copy(self)
        m = scores.shape[0] // scores.X.shape[0]
        rows = (samples[:, None] * m + np.arange(m)).ravel()
        risk.rows, risk.n_groups = scores.of_samples(samples), rows.size
        risk.transform = self.transform.of_groups(rows)
        risk.sample_weight = self.shares[rows] * (self.n_groups / rows.size)
        risk.weights = None if self.weights is None else self.weights[rows]
        risk.offset = None if self.offset is None else self.offset[rows]
        risk.loss = self.loss if risk.transform is self.transform else None
        risk._known = None
        return risk

    def fixed(self, theta: Array) -> Risk:
        """A copy of the risk whose transform, if it adapts to losses, is fixed at those at θ."""
        risk = copy(self)
        risk.transform = self.transform.fixed(self.aggregates(theta))
        risk.loss = self.loss if risk.transform is self.transform else None
        return risk

    def extended(self, transform_edge: float = EDGE, penalty_edge: float = EDGE) -> Risk:
        """A copy of the risk without infinite slopes of its transform and its concave penalty."""
        risk = copy(self)
        risk.transform = self.transform.extended(transform_edge)
        risk.penalty = self.penalty.extended(penalty_edge)
        return risk

    def graduated(self, s: float) -> Risk:
        """A copy nearer to the convex base: φ_s(t) = s·φ(t/s), sub divided by s, for s ≥ 1."""
        risk = copy(self)
        risk.transform = self.transform.graduated(s)
        risk.subtracted = combination([(1 / s, self.subtracted)])
        risk.loss = self.loss if s == 1 else None
        return risk

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
        place = self.known(theta)
        if place is not None:
            return place.margins
        del self._known[0 if self.by_blocks else REMEMBERED - 1 :]
        u = self._margins(theta)
        self.remember(theta, u)
        return u

    def known(self, theta: Array) -> Place | None:
        """The remembered place θ; None if there is none."""
        if not self._known:
            return None
        key = theta.tobytes()
        for number, place in enumerate(self._known):
            if place.key == key:
                if number:
                    self._known.insert(0, self._known.pop(number))
                return place
        return None

    def remember(self, theta: Array, u: Array) -> None:
        """Remember the margins u at θ."""
        assert self._known is not None
        del self._known[0 if self.by_blocks else REMEMBERED - 1 :]
        u.flags.writeable = False
        self._known.insert(0, Place(theta.tobytes(), u))

    def _once(self, name: str, of: tuple[Any, ...], theta: Array, work: Callable[[], T]) -> T:
        """The result of some work at θ, done once while θ is remembered and the objects `of` stay.

        A step asks for losses and penalty a dozen times. Of long data only margins are kept.
        """
        place = self.known(theta)
        if place is not None and name in place.told:
            objects, result = place.told[name]
            if all(one is other for one, other in zip(objects, of, strict=True)):
                return copy(result)  # a user's loss or transform may write into its own
        result = work()
        place = place or self.known(theta)
        if place is not None and place.margins.size <= BLOCK:
            place.told[name] = of, copy(result)
        return result

    def pull(self, slopes: Array) -> Array:
        """The gradient Aᵀs in θ of slopes s in the margins, of shape (p,)."""
        return np.asarray(self.rows.rmatvec(slopes))

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
            part._known = [Place(theta.tobytes(), margins(rows))]
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

        if len(ways) and u.size <= BLOCK and self._is_entrywise:
            change = np.ascontiguousarray(np.transpose(self.rows @ ways.T))  # one product with X
            values = losses(np.stack([change, -change], axis=1))
        else:
            changes = (np.asarray(self.rows @ way).ravel() for way in ways)
            values = np.array([[losses(c), losses(-c)] for c in changes]).reshape(-1, 2)
        w, penalty = theta[self.penalized], self.penalty
        paid = [[penalty(w + way), penalty(w - way)] for way in ways[:, self.penalized]]
        return values + np.array(paid).reshape(-1, 2)

    @property
    def has_convex_losses(self) -> bool:
        """True if at most the penalty has to be majorised."""
        return self.transform.is_linear and self.subtracted is None

    def losses(self, theta: Array) -> Array:
        """The losses v_r·base(u_r), of shape (n_rows,)."""
        return self._once("losses", (self.base,), theta, lambda: self._losses(theta))

    def _losses(self, theta: Array) -> Array:
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
        place = np.argmax(values >= largest - KNOWN_DIGITS * sizes, axis=1)
        first = self.members[np.arange(self.n_groups), place]
        tilts = np.zeros(u.size)
        tilts[first] = slopes[first]
        return tilts

    def penalty_value(self, theta: Array) -> float:
        """The value of the penalty at θ."""
        penalty = self.penalty
        return self._once("penalty", (penalty,), theta, lambda: penalty(theta[self.penalized]))

    def loss_values(self, theta: Array) -> Array:
        """The contribution of each group to R(θ), of shape (n_groups,)."""
        functions = self.base, self.transform, self.subtracted
        return self._once("loss values", functions, theta, lambda: self._loss_values(theta))

    def _loss_values(self, theta: Array) -> Array:
        values = self.transform(self.aggregates(theta))
        if self.subtracted is not None:
            values = values - self._combined(self._scaled(self.subtracted(self.margins(theta))))
        return self.sampled(values)

    def magnitude(self, theta: Array) -> float:
        """The sum of the absolute values of the terms of R(θ)."""
        total = sum(part._magnitude(theta) for _, part in self.parts(theta))
        return total + abs(self.penalty_value(theta))

    def _magnitude(self, theta: Array) -> float:
        if self.subtracted is None:
            return float(np.sum(np.abs(self.loss_values(theta))))
        values = np.abs(self.transform(self.aggregates(theta)))
        less = self._scaled(self.subtracted(self.margins(theta)))
        return float(np.sum(self.sampled(values + np.abs(self._combined(less)))))

    def __call__(self, theta: Array) -> float:
        """The value R(θ)."""
        return self._summed(theta, self.parts(theta)) + self.penalty_value(theta)

    @staticmethod
    def _summed(theta: Array, parts: Iterable[tuple[slice, Risk]]) -> float:
        """The sum of the losses of all parts."""
        return sum(float(np.sum(part.loss_values(theta))) for _, part in parts)

    def surrogate(self, solver: str | None = None) -> Any:
        """A new surrogate for the outer loop; ``dcprog.risk_mm.surrogate`` sets its constructor."""
        return self._surrogate(self, solver)

    def __repr__(self) -> str:
        aggregate = (
            "" if self.aggregate is None else f", {self.aggregate} of {self.n_groups} groups"
        )
        loss: Any = self.loss
        if loss is None:
            loss = f"{self.transform!r} of {self.base!r}"
            loss += "" if self.subtracted is None else f" - {self.subtracted!r}"
        return (
            f"Risk({self.rows.shape[0]} rows, {self.rows.shape[1]} coefficients{aggregate}: "
            f"{loss} + {self.penalty!r})"
        )


# ----------------------------------------------------------------------------------------------


def margin_expression(risk: Risk, theta: cp.Variable) -> cp.Expression:
    """The margins u of a variable θ."""
    # the matrix includes the signs: otherwise cvxpy infers wrong bounds
    u = risk.matrix() @ theta
    return u if risk.offset is None else u + risk.offset


def penalised_part(risk: Risk, theta: cp.Variable) -> cp.Expression:
    """The penalised entries of θ."""
    return theta[np.flatnonzero(risk.penalized)]


def aggregate_expression(risk: Risk, u: cp.Expression, loss: ConvexLoss) -> cp.Expression:
    """The losses v_r·loss(u_r) combined over groups, of shape (n_groups,)."""
    losses = loss.expression(u)
    if risk.weights is not None:
        losses = cp.multiply(risk.weights, losses)
    match risk.aggregate:
        case "sum":
            n_rows = risk.groups.size
            places = (risk.groups, np.arange(n_rows))
            return sp.csr_array((np.ones(n_rows), places)) @ losses
        case "max":
            members = risk.members
            padded = cp.reshape(losses[members.ravel()], members.shape, order="C")
            return cp.max(padded, axis=1)
    return losses


def problem_of(risk: Risk) -> cp.Problem:
    """The risk as a cvxpy problem in one variable named ``theta``."""
    theta = cp.Variable(risk.rows.shape[1], name="theta")
    u = margin_expression(risk, theta)
    if risk.loss is not None:
        total = _total(risk, risk.loss.expression(u))
    else:
        total = _total(risk, risk.transform.expression(aggregate_expression(risk, u, risk.base)))
        if risk.subtracted is not None:
            total = total - _total(risk, aggregate_expression(risk, u, risk.subtracted))
    penalty = risk.penalty.expression(penalised_part(risk, theta))
    return cp.Problem(cp.Minimize(total + penalty))


def _total(risk: Risk, values: cp.Expression) -> cp.Expression:
    """The sum Σ s_g values_g; the values of a joint loss are summed already."""
    if risk.sample_weight is None:
        return cp.sum(values)
    if values.size != risk.n_groups:
        return float(risk.sample_weight[0]) * cp.sum(values)
    return cp.sum(cp.multiply(risk.sample_weight, values))
