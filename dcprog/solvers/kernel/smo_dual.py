"""The dual of a kernel machine with a piecewise linear loss."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError

__all__ = ["Dual", "warm"]

ROUNDING = 1e-14


@dataclass(frozen=True)
class Dual:
    r"""The dual  min ½ cᵀKc − q·v  over  lo ≤ v ≤ hi, Σv = 0,  with c_i the sum of sample i's v.

    It belongs to the primal  min (λ/2)cᵀKc + Σ_v λ·max(hi_v r_v, lo_v r_v) + const  over c and b,
    with r_v = q_v − f and f = Kc + b at the sample of v: there is one v for each kink of a loss.

    Attributes
    ----------
    sample : int array of shape (m,)
        The sample of each variable.
    q, lo, hi : arrays of shape (m,)
    lam : float
        The weight λ.
    constant : float
    """

    sample: npt.NDArray[np.intp]
    q: Array
    lo: Array
    hi: Array
    lam: float = 1.0
    constant: float = 0.0

    def above(self, at_zero: float) -> Dual:
        """The dual with the constant set such that the primal has the given value at f = 0."""
        losses = float(np.sum(np.maximum(self.hi * self.q, self.lo * self.q)))
        return replace(self, constant=at_zero - self.lam * losses)

    def coefficients(self, v: Array, n: int) -> Array:
        """The coefficients c of the variables v, of shape (n,)."""
        return v.copy() if v.size == n else np.bincount(self.sample, v, n).astype(float)

    def gradient(self, Kc: Array) -> Array:
        """The gradient in v."""
        return Kc[self.sample] - self.q

    def extremes(self, v: Array, g: Array) -> tuple[float, float]:
        """The least gradient of variables below `hi`, and the largest of variables above `lo`."""
        least = np.min(g, where=v < self.hi, initial=np.inf)
        return float(least), float(np.max(g, where=v > self.lo, initial=-np.inf))

    def violation(self, v: Array, g: Array) -> float:
        """The violation of the optimality conditions, 0 at the minimiser."""
        least, most = self.extremes(v, g)
        return max(0.0, most - least)

    def loose(self, v: Array, g: Array) -> npt.NDArray[np.intp]:
        """The variables that are not held at a bound by their gradient."""
        least, most = self.extremes(v, g)
        return np.flatnonzero(~((v >= self.hi) & (g < least) | (v <= self.lo) & (g > most)))

    def intercept(self, g: Array) -> float:
        """The b that minimises the primal for a given c; the middle of an interval of them."""
        order = np.argsort(-g)
        kinks = -g[order]
        slopes = np.cumsum((self.hi - self.lo)[order]) - np.sum(self.hi)
        allowed = ROUNDING * float(np.sum(self.hi - self.lo)) * len(g) ** 0.5
        first = min(int(np.searchsorted(slopes, -allowed)), len(g) - 1)
        last = min(int(np.searchsorted(slopes, allowed, side="right")), len(g) - 1)
        return float(kinks[first] + kinks[last]) / 2

    def gap(self, v: Array, g: Array, b: float) -> float:
        """The duality gap at (c, b) and v, as a sum of nonnegative terms."""
        r = -g - b
        return self.lam * float(np.sum(np.where(r > 0, (self.hi - v) * r, (self.lo - v) * r)))

    def primal(self, c: Array, Kc: Array, g: Array, b: float) -> float:
        """The primal value at (c, b)."""
        r = -g - b
        losses = float(np.sum(np.maximum(self.hi * r, self.lo * r)))
        return self.constant + self.lam * (float(c @ Kc) / 2 + losses)


def warm(dual: Dual, v: Array, former: Dual | None = None) -> Array:
    """A feasible point near v: entries at a former bound move to the new one, and Σv = 0.

    Parameters
    ----------
    dual : Dual
    v : array of shape (m,)
    former : Dual, optional
        The dual that v belongs to, with the same variables.

    Returns
    -------
    array of shape (m,)

    Raises
    ------
    SubproblemError
        ``unbounded`` if no v within the bounds sums to 0.
    """
    if np.sum(dual.lo) > 0 or np.sum(dual.hi) < 0:
        raise SubproblemError("unbounded", "the intercept can fall without end")
    if former is not None:
        v = np.where(v >= former.hi, dual.hi, np.where(v <= former.lo, dual.lo, v))
    v = np.clip(v, dual.lo, dual.hi)
    rounding = ROUNDING * float(np.sum(np.abs(v)))
    inside = (v > dual.lo) & (v < dual.hi)
    for movable in (inside, np.ones(v.size, dtype=bool)):
        excess = float(np.sum(v))
        room = np.where(movable, v - dual.lo if excess > 0 else dual.hi - v, 0.0)
        total = float(np.sum(room))
        if abs(excess) <= rounding or total == 0:
            continue
        v = np.clip(v - np.sign(excess) * room * min(1.0, abs(excess) / total), dual.lo, dual.hi)
    return v
