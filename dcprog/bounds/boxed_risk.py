"""A risk's parts as arrays, for the evaluation on many boxes at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dcprog.bounds.separable import SplitPenalty, split_penalty
from dcprog.foundation.arrays import Array, dense
from dcprog.foundation.errors import NotBoundable
from dcprog.losses import ConvexLoss, Loss, absolute, epsilon_insensitive, hinge
from dcprog.risk.risk import Risk
from dcprog.transforms import (
    Transform,
    cap_at,
    chain,
    chain_of,
    extended_from,
    identity,
    perspective_of,
    sum_of,
    trim_of,
)

__all__ = ["BoxedRisk", "boxed"]

LARGEST = 2**24  # numbers in the matrix of the rows


@dataclass
class BoxedRisk:
    r"""Σ_g s_g·[φ(agg v_r·base(u_r)) − Σ_r v_r·sub(u_r)] + a quadratic + penalty, u = Aθ + offset.

    With `dropped` = k > 0 the sum leaves out the k largest φ's.

    Attributes
    ----------
    matrix : array of shape (m, p)
        A.
    sizes : array of shape (m, p)
        |A|, or for transformed coordinates the sums of the absolute terms of A's entries: rounding
        errors of margins are proportional to it.
    offset, weights : arrays of shape (m,)
    groups : int array of shape (m,)
    sample_weight : array of shape (G,)
    loss : Loss or None
        The loss φ(base) − sub, if it is a function of single rows.
    constant, linear, quadratic : float, array (p,), array (p, p)
        The sum over decided samples: constant + linear·δ + ½ δᵀ quadratic δ with δ = θ − origin.
    origin : array of shape (p,)
        A point near θ: far from it the terms of the quadratic would be large and cancel.
    rounding : array of shape (p,)
        A bound of that quadratic's rounding error on the box, divided among the coordinates by the
        effect of their widths on margins.
    """

    matrix: Array
    sizes: Array
    offset: Array
    weights: Array
    groups: npt.NDArray[np.intp]
    sample_weight: Array
    aggregate: str | None
    base: ConvexLoss
    transform: Transform
    dropped: int
    subtracted: ConvexLoss | None
    penalty: SplitPenalty
    loss: Loss | None
    constant: float
    linear: Array
    quadratic: Array
    origin: Array
    rounding: Array

    @property
    def n_groups(self) -> int:
        """The number of groups, G."""
        return self.sample_weight.size

    @property
    def size(self) -> int:
        """The number of entries of θ, p."""
        return self.matrix.shape[1]

    def margins(self, z: Array) -> Array:
        """The margins at the points z, one point per line."""
        return z @ self.matrix.T + self.offset

    def combined(self, losses: Array) -> Array:
        """The losses of each line, combined over groups."""
        if self.aggregate is None:
            return losses
        members = self.members
        parts = losses[:, members]
        if self.aggregate == "max":
            return parts.max(axis=2)
        return np.where(self.first, parts, 0.0).sum(axis=2)

    def total(self, each: Array) -> float:
        """The sum over groups with weights s_g, without the largest ones if trimmed; NaN is −∞."""
        each = np.where(np.isnan(each), -np.inf, each)
        if self.dropped:
            each = np.sort(each)[: each.size - self.dropped]
            return float(each.sum() * self.sample_weight[0])
        live = self.sample_weight > 0
        return float(each[live] @ self.sample_weight[live])

    def subtracted_total(self, each: Array) -> float:
        """The sum over all rows with weights s·v, those of trimmed samples included."""
        factor = self.weights * self.sample_weight[self.groups]
        live = factor > 0
        return float(factor[live] @ each[live])

    @property
    def members(self) -> npt.NDArray[np.intp]:
        """Rows of each group, (G, largest size); short groups repeat their first row."""
        return self._layout()[0]

    @property
    def first(self) -> npt.NDArray[np.bool_]:
        """A mask of the members that are no repetitions."""
        return self._layout()[1]

    def _layout(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
        sizes = np.bincount(self.groups, minlength=self.n_groups)
        order = np.argsort(self.groups, kind="stable")
        start = np.cumsum(sizes) - sizes
        place = np.arange(sizes.max(initial=1))
        own = place < sizes[:, None]
        return order[start[:, None] + np.where(own, place, 0)], own

    def kept(self, groups: npt.NDArray[np.bool_]) -> BoxedRisk:
        """The risk of the groups where the mask is True."""
        if np.all(groups):
            return self
        rows = groups[self.groups]
        number = np.cumsum(groups) - 1
        return replace(
            self,
            matrix=self.matrix[rows],
            sizes=self.sizes[rows],
            offset=self.offset[rows],
            weights=self.weights[rows],
            groups=number[self.groups[rows]],
            sample_weight=self.sample_weight[groups],
            transform=_of_groups(self.transform, groups),
        )


def boxed(risk: Risk) -> BoxedRisk:
    """Convert a risk to arrays, for the evaluation on boxes.

    Parameters
    ----------
    risk : Risk

    Returns
    -------
    BoxedRisk

    Raises
    ------
    NotBoundable
        Its rows have no matrix or a too large one, its transform adapts to the losses, or its
        subtracted part is a function of several rows together.
    """
    if risk.no_matrix is not None or np.prod(risk.rows.shape) > LARGEST:
        raise NotBoundable(repr(risk), "its rows have no matrix that could be formed", "fewer rows")
    loss = risk.loss
    base, transform, subtracted = risk.base, risk.transform, risk.subtracted
    capped = _as_cap(base, subtracted)
    if capped is not None and _is_identity(transform) and risk.aggregate is None:
        cap = capped if risk.weights is None else capped * risk.weights
        transform, subtracted = cap_at(cap), None
    if subtracted is not None and (subtracted.is_joint or risk.aggregate == "max"):
        raise NotBoundable(
            repr(loss or risk),
            "it subtracts a function of several rows together",
            "a transform, such as cap_at(c), in place of the difference",
        )
    n_rows, p = risk.rows.shape
    transform, dropped = _peeled(transform, risk.n_groups)
    ones = np.ones(n_rows)
    matrix = np.ascontiguousarray(dense(risk.matrix()))
    return BoxedRisk(
        matrix=matrix,
        sizes=np.abs(matrix),
        offset=np.zeros(n_rows) if risk.offset is None else risk.offset,
        weights=ones if risk.weights is None else risk.weights,
        groups=risk.groups,
        sample_weight=risk.sampled(np.ones(risk.n_groups)),
        aggregate=risk.aggregate,
        base=base,
        transform=transform,
        dropped=dropped,
        subtracted=subtracted,
        penalty=split_penalty(risk.penalty, risk.penalized),
        loss=None if loss is None or loss.is_joint or risk.weights is not None else loss,
        constant=0.0,
        linear=np.zeros(p),
        quadratic=np.zeros((p, p)),
        origin=np.zeros(p),
        rounding=np.zeros(p),
    )


def _as_cap(base: ConvexLoss, subtracted: ConvexLoss | None) -> float | None:
    """The c with base − subtracted = min(base, c), if the losses differ in their kinks only."""
    if isinstance(base, hinge) and isinstance(subtracted, hinge):
        return base.at - subtracted.at if subtracted.at < base.at else None
    if not isinstance(subtracted, epsilon_insensitive):
        return None
    if isinstance(base, absolute | epsilon_insensitive) and base.at == subtracted.at:
        start = getattr(base, "eps", 0.0)
        return subtracted.eps - start if subtracted.eps > start else None
    return None


def _is_identity(transform: Transform) -> bool:
    return transform.is_linear and transform.steepest == 1


def _of_groups(transform: Transform, groups: npt.NDArray[np.bool_]) -> Transform:
    """The transform of the groups where the mask is True: each may have a cap of its own."""
    if isinstance(transform, cap_at):
        c = np.asarray(transform.c)
        inner = None if transform.inner is None else _of_groups(transform.inner, groups)
        return cap_at(c[groups] if c.size > 1 else transform.c, inner)
    if isinstance(transform, perspective_of):
        return perspective_of(_of_groups(transform.transform, groups), transform.s)
    if isinstance(transform, extended_from):
        return extended_from(_of_groups(transform.transform, groups), transform.edge)
    if isinstance(transform, chain_of):
        return chain_of(_of_groups(transform.outer, groups), transform.inner)
    if isinstance(transform, sum_of):
        return sum_of(*(_of_groups(part, groups) for part in (transform.first, transform.second)))
    return transform


def _peeled(transform: Transform, n: int) -> tuple[Transform, int]:
    """The transform of single losses, and how many of n losses are dropped after it."""
    if not transform.is_joint:
        return transform, 0
    if isinstance(transform, trim_of):
        return identity(), transform.dropped(n)
    if isinstance(transform, chain_of):
        if transform.inner.is_joint and transform.outer.is_linear:
            inner, dropped = _peeled(transform.inner, n)
            return chain(transform.outer, inner), dropped
        if not transform.inner.is_joint:
            outer, dropped = _peeled(transform.outer, n)
            return chain(outer, transform.inner), dropped
    name: Any = transform
    raise NotBoundable(
        repr(name),
        "it is no sum of functions of single losses, and not trimmed last either",
        "cap_at with the cap that a run ended with, or trim(loss, fraction)",
    )
