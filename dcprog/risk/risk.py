"""``Risk``: the declaration of a problem Σ φ(loss) + penalty.

The simplest risk is a scalar loss on margins or residuals; an estimator declares

    Risk.from_loss(binary_margins(X, y), loss, penalty, sample_weight=...)
    Risk.from_loss(residual_rows(X, y), loss, penalty, sample_weight=...)

and passes it to :func:`dcprog.solve`. ``risk.rows.unpack(result.x)`` returns the coefficients and
intercepts.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, ClassVar

import cvxpy as cp
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from dcprog.foundation.arrays import EDGE, Array
from dcprog.foundation.blocked_matrix import blocked
from dcprog.foundation.names import check_choice
from dcprog.foundation.parameters import advice
from dcprog.losses import ConvexLoss, Loss
from dcprog.losses.loss import combination
from dcprog.penalties import Penalty, l2
from dcprog.risk.expressions import problem_of
from dcprog.risk.values import RiskValues
from dcprog.rows.linear import Samples
from dcprog.rows.scores import Scores
from dcprog.transforms import Transform, identity

LARGEST_FORMED = 2**27  # numbers of an operator's matrix


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
        rows = rows @ np.eye(p) if n * p <= LARGEST_FORMED else rows
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

AGGREGATES = ("sum", "max")


class Risk(RiskValues):
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
