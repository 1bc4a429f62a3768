"""Penalties on boxes: separable parts by coordinates, concave ones by their chords."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dcprog.bounds.rounding import of_terms
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import NotBoundable
from dcprog.penalties import ConcavePenalty, Penalty, penalty_sum
from dcprog.penalties.penalty import penalty_in_units

__all__ = ["BoxPenalty", "SplitPenalty", "split_penalty"]

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
class BoxPenalty:
    """The function constant + Σ_j [weight_j|w_j| + (q_j/2) w_j²] on boxes, one box per line."""

    lo: Array
    hi: Array
    weight: Array
    q: Array
    constant: Array

    def take(self, boxes: npt.NDArray[np.intp]) -> BoxPenalty:
        """The penalty on some of the boxes."""
        weight = self.weight[boxes]
        return BoxPenalty(self.lo[boxes], self.hi[boxes], weight, self.q, self.constant[boxes])

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

    def reach(self, slope: Array, room: Array, z: Array) -> tuple[Array, Array]:
        """Bounds of each w_j that follow from slope·(w_j − z_j) + its term ≤ `room`.

        Where w_j changes its sign on the box, |w_j| counts as 0. With y = w − z the inequality is
        tilt·y + (q/2)y² ≤ rest. One of its two roots is computed from their product, −2·rest/q:
        by the usual formula it would suffer from cancellation, and it remains where q = 0.
        """
        sign = np.where(self.lo >= 0, 1.0, np.where(self.hi <= 0, -1.0, 0.0))
        at_z = np.abs(sign) * self.weight * np.abs(z) + 0.5 * self.q * z**2
        size = np.abs(room) + 2 * self.terms(np.maximum(np.abs(self.lo), np.abs(self.hi)))
        rest = room - at_z + of_terms(3) * size
        tilt = slope + sign * self.weight + self.q * z
        with np.errstate(all="ignore"):
            square = tilt**2 + 2 * self.q * rest
            root = np.sqrt(np.where(square < np.inf, np.maximum(square, 0.0), np.nan))
            far = -tilt + np.where(tilt < 0, root, -root)
            near = z - 2 * rest / far
            far = z + far / self.q
        least, most = np.where(tilt < 0, (near, far), (far, near))
        return np.where(np.isnan(least), -np.inf, least), np.where(np.isnan(most), np.inf, most)

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
    >>> from dcprog.bounds.separable import split_penalty
    >>> from dcprog.penalties import l2, mcp
    >>> parts = split_penalty(l2(0.5) + mcp(1.0), np.array([True, False]))
    >>> parts.q, len(parts.concave)
    (array([0.5, 0. ]), 1)
    """
    split = SplitPenalty(held, np.zeros(held.size), np.zeros(held.size))
    _add(split, penalty)
    return split


def _add(split: SplitPenalty, penalty: Penalty) -> None:
    form = penalty.as_l1_l2(int(split.held.sum()))
    if form is not None:
        split.l[split.held] += form[0]
        split.q[split.held] += form[1]
    elif isinstance(penalty, penalty_sum):
        _add(split, penalty.first)
        _add(split, penalty.second)
    elif isinstance(penalty, ConcavePenalty):
        split.concave.append(penalty.of_size)
    elif isinstance(penalty, penalty_in_units) and isinstance(penalty.penalty, ConcavePenalty):
        inner, unit, factor = penalty.penalty.of_size, penalty.unit, penalty.factor
        split.concave.append(lambda t: factor * inner(unit * t))
    elif penalty.is_convex:
        split.rest.append(penalty)
    else:
        raise NotBoundable(
            repr(penalty),
            "it is neither convex nor a sum of concave functions of the sizes of coefficients",
            "a ConcavePenalty, or a sum of such and convex ones",
        )
