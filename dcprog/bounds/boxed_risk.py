"""A risk's parts as arrays, for the evaluation on many boxes at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import COPIED, Array, dense
from dcprog.foundation.errors import NotBoundable
from dcprog.losses import ConvexLoss, Loss, absolute, epsilon_insensitive, hinge
from dcprog.penalties import Penalty
from dcprog.risk.risk import Risk
from dcprog.transforms import Transform, cap_at, chain, chain_of, identity, trim_of


class PerBox:
    """A dataclass whose arrays have a line per box; the fields in `shared` hold for all boxes."""

    shared: ClassVar[tuple[str, ...]] = ()

    def take(self, boxes: npt.NDArray[np.intp]) -> Self:
        """The record of some of the boxes."""
        own = [f.name for f in fields(self) if f.name not in self.shared]  # type: ignore[arg-type]
        return replace(self, **{name: _lines(getattr(self, name), boxes) for name in own})  # type: ignore[type-var]


def _lines(value: Any, boxes: npt.NDArray[np.intp]) -> Any:
    if value is None or isinstance(value, PerBox):
        return value and value.take(boxes)
    return tuple(v[boxes] for v in value) if isinstance(value, tuple) else value[boxes]


OfSize = Callable[[Array], Array]


@dataclass
class SplitPenalty:
    r"""Σ_j [l_j|w_j| + (q_j/2) w_j² + Σ_k ψ_k(|w_j|)] + rest(w).

    Attributes
    ----------
    held : bool array of shape (p,)
        True for the entries of θ that are coefficients w; the others have l = q = 0 and no ψ.
    l, q : arrays of shape (p,)
    concave : list of callables
        Each ψ, entry by entry, concave and nondecreasing.
    rest : list of Penalty
        Convex penalties that are not of the separable form above.
    """

    held: npt.NDArray[np.bool_]
    l: Array  # noqa: E741 - the penalty's own letter
    q: Array
    concave: list[OfSize] = field(default_factory=list)
    rest: list[Penalty] = field(default_factory=list)

    def on(self, lo: Array, hi: Array) -> BoxPenalty:
        """The convex minorant of the separable part on each box."""
        weight = np.broadcast_to(self.l, lo.shape)
        constant = np.zeros(lo.shape[0])
        if self.concave:
            least, most = _sizes(lo, hi)
            span = most - least
            for psi in self.concave:
                low = psi(least)
                with np.errstate(invalid="ignore", divide="ignore"):
                    slope = np.where(span > 0, (psi(most) - low) / span, 0.0)
                slope = np.where(self.held & np.isfinite(slope), slope, 0.0)
                weight = weight + slope
                constant = constant + np.where(self.held, low - slope * least, 0.0).sum(axis=1)
        return BoxPenalty(lo, hi, weight, self.q, constant)

    def value(self, z: Array) -> Array:
        """The separable part at the points z, one point per line."""
        each = self.l * np.abs(z) + 0.5 * self.q * z**2
        for psi in self.concave:
            each = each + np.where(self.held, psi(np.abs(z)), 0.0)
        return each.sum(axis=1)

    def missed(self, z: Array, minorant: BoxPenalty) -> Array:
        """The excess of Σ_k ψ_k at z over the chords, coordinate by coordinate."""
        total = np.zeros(z.shape)
        size = np.abs(z)
        least, most = _sizes(minorant.lo, minorant.hi)
        for psi in self.concave:
            low, high = psi(least), psi(most)
            share = np.divide(size - least, most - least, out=np.zeros(z.shape), where=most > least)
            total += psi(size) - low - share * (high - low)
        return np.where(self.held, total, 0.0)


def _sizes(lo: Array, hi: Array) -> tuple[Array, Array]:
    """The least and the largest |w| in [lo, hi]."""
    return np.maximum(np.maximum(lo, -hi), 0.0), np.maximum(np.abs(lo), np.abs(hi))


@dataclass
class BoxPenalty(PerBox):
    """The function constant + Σ_j [weight_j|w_j| + (q_j/2) w_j²] on boxes, one box per line."""

    lo: Array
    hi: Array
    weight: Array
    q: Array
    constant: Array
    shared = ("q",)

    def value(self, z: Array) -> Array:
        """The values at one point per box."""
        return self.constant + self.terms(z).sum(axis=1)

    def lowest(self, slope: Array) -> Array:
        """The minimiser of the penalty + slope·w on each box."""
        with np.errstate(divide="ignore", invalid="ignore"):
            pull = np.maximum(np.abs(slope) - self.weight, 0.0) / self.q
        return np.clip(np.where(pull > 0, -np.sign(slope) * pull, 0.0), self.lo, self.hi)

    def terms(self, x: Array) -> Array:
        """The terms weight_j|x_j| + (q_j/2) x_j²."""
        return self.weight * np.abs(x) + 0.5 * self.q * x**2

    def bends(self, z: Array, width: Array) -> tuple[Array, Array]:
        """Slopes and curvatures at z, with |w| smoothed over `width`."""
        share = np.clip(np.divide(z, width, out=np.sign(z), where=width > 0), -1.0, 1.0)
        bent = np.divide(
            self.weight, width, out=np.zeros(z.shape), where=(np.abs(z) < width) & (width > 0)
        )
        return self.weight * share + self.q * z, bent + self.q


def split_penalty(penalty: Penalty, held: npt.NDArray[np.bool_]) -> SplitPenalty:
    """Split a penalty into a separable part and other convex penalties.

    Parameters
    ----------
    penalty : Penalty
    held : bool array of shape (p,)
        True for the entries of θ that are penalised.

    Returns
    -------
    SplitPenalty

    Raises
    ------
    NotBoundable
        A penalty is neither convex nor a sum of concave functions of sizes.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.bounds.boxed_risk import split_penalty
    >>> from dcprog.penalties import l2, mcp
    >>> parts = split_penalty(l2(0.5) + mcp(1.0), np.array([True, False]))
    >>> parts.q, len(parts.concave)
    (array([0.5, 0. ]), 1)
    """
    parts, zeros = penalty.parts(), np.zeros(held.size)
    for part in parts.others:
        if not part.is_convex:
            raise NotBoundable(
                repr(part),
                "it is neither convex nor a sum of concave functions of the sizes of coefficients",
                "a ConcavePenalty, or a sum of such and convex ones",
            )
    split = SplitPenalty(held, zeros, np.where(held, parts.ridge, 0.0))
    split.l[held] = parts.l1
    split.concave = [part.of_size for part in parts.concave]
    split.rest = [*parts.groups, *parts.others]
    return split


# ----------------------------------------------------------------------------------------------
# the risk


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
            transform=self.transform.of_groups(groups),
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
    if risk.no_matrix is not None or np.prod(risk.rows.shape) > COPIED:
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
    matrix = np.ascontiguousarray(dense(risk.matrix()))
    return BoxedRisk(
        matrix=matrix,
        sizes=np.abs(matrix),
        offset=np.zeros(n_rows) if risk.offset is None else risk.offset,
        weights=risk.factors,
        groups=risk.groups,
        sample_weight=risk.shares,
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
