"""What a penalty is: a convex part and a concave function of the sizes of the coefficients."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import EDGE, Array
from dcprog.foundation.parameters import Declared

__all__ = ["ConcavePenalty", "Penalty", "makes"]


# What penalties of penalties are made by, each by its name: files that build on this one add to it.
MAKERS: dict[str, Callable[..., Any]] = {}


Maker = TypeVar("Maker", bound=Callable[..., Any])


def makes(maker: Maker) -> Maker:
    """A class or function that makes penalties of penalties, under its name."""
    MAKERS[maker.__name__] = maker
    return maker


class Penalty(Declared, ABC):
    """A function of the penalised coefficients w, given by value, slope and expression.

    Penalties add. A subclass that defines no more than the three abstract methods is convex. A
    concave one is majorised by its convex part plus a weighted ℓ1 norm, Σ_j weights_j |w_j|.
    """

    @abstractmethod
    def __call__(self, w: Array) -> float:
        """Value."""

    @abstractmethod
    def slope(self, w: Array) -> Array:
        """A subgradient, 0 where w_j = 0 is a kink."""

    @abstractmethod
    def expression(self, w: cp.Expression) -> cp.Expression:
        """The penalty of a cvxpy expression."""

    @property
    def is_convex(self) -> bool:
        """Is the penalty its own majorant?"""
        return True

    @property
    def convex_part(self) -> Penalty | None:
        """What a majorant keeps as it is, None if nothing."""
        return self

    def weights(self, w: npt.ArrayLike, edge: float = EDGE) -> Array:
        """Weights of the ℓ1 norm in the majorant that touches at w, of its shape; 0 if convex."""
        return np.zeros(np.shape(w))

    def surrogate(self, w: npt.ArrayLike, edge: float = EDGE) -> Penalty:
        """The convex penalty above this one that touches it at w, up to a constant.

        Parameters
        ----------
        w : array
        edge : float, default 1e-10
            Where the slope at 0 is infinite, coefficients smaller than `edge` get the slope there.

        Returns
        -------
        Penalty
            ``convex_part + weighted_l1(weights(w))``; the penalty itself if it is convex.
        """
        if self.is_convex:
            return self
        weighted = MAKERS["weighted_l1"](self.weights(w, edge))
        return weighted if self.convex_part is None else self.convex_part + weighted

    def expression_with(
        self, w: cp.Expression, weights: cp.Expression | npt.ArrayLike
    ) -> cp.Expression:
        """The majorant as a cvxpy expression: the convex part plus Σ weights_j |w_j|.

        With ``weights = cp.Parameter(w.size, nonneg=True)`` a problem compiles once; afterwards
        ``weights.value = penalty.weights(w.value)`` moves the majorant.
        """
        if self.is_convex:
            return self.expression(w)
        if not isinstance(weights, cp.Expression):
            weights = cp.Constant(np.asarray(weights, dtype=float))
        total = cp.sum(cp.multiply(weights, cp.abs(w)))
        return total if self.convex_part is None else self.convex_part.expression(w) + total

    def extended(self, edge: float = EDGE) -> Penalty:
        """The penalty with finite slopes, which the majorants for that `edge` touch exactly."""
        return self

    def as_l1_l2(self, size: int) -> tuple[Array, float] | None:
        """(l, q) if the penalty is Σ_j l_j |w_j| + (q/2)‖w‖² for `size` coefficients, else None."""
        return None

    def in_units(self, unit: float, factor: float = 1.0) -> Penalty:
        """The penalty of coefficients that are counted in other units.

        Parameters
        ----------
        unit, factor : float
            Positive numbers.

        Returns
        -------
        Penalty
            factor·penalty(unit·w).
        """
        return self if unit == factor == 1 else MAKERS["penalty_in_units"](self, unit, factor)

    def sparse_sizes(self, w: npt.ArrayLike) -> Array:
        """What must be 0 for an entry to lie at a kink of the penalty, entry by entry.

        Parameters
        ----------
        w : array

        Returns
        -------
        array of the shape of w
            |w_j|, the norm of its group, or ∞ where the penalty has no kink and so favours no zero.
        """
        w = np.asarray(w, dtype=float)
        form = self.as_l1_l2(w.size)
        return np.where(form[0] > 0, np.abs(w), np.inf) if form else np.full(w.shape, np.inf)

    def __add__(self, other: Any) -> Penalty:
        return MAKERS["penalty_sum"](self, other) if isinstance(other, Penalty) else NotImplemented

    def __radd__(self, other: Any) -> Penalty:
        return self if other == 0 else NotImplemented  # the start of Python's sum()


class ConcavePenalty(Penalty):
    """Σ_j ψ(|w_j|) with ψ concave and nondecreasing, given by value, slope and expression.

    By concavity ψ(|w_j|) ≤ ψ(|v_j|) + ψ'(|v_j|)(|w_j| − |v_j|): the majorant at v is a weighted ℓ1
    norm with the weights ψ'(|v_j|).
    """

    @abstractmethod
    def of_size(self, t: Array) -> Array:
        """ψ(t), t ≥ 0."""

    @abstractmethod
    def rate(self, t: Array) -> Array:
        """ψ'(t); at a kink the larger one."""

    @abstractmethod
    def expression_of_size(self, t: cp.Expression) -> cp.Expression:
        """ψ of a cvxpy expression, entry by entry."""

    def __call__(self, w: Array) -> float:
        """Σ ψ(|w_j|)."""
        return float(np.sum(self.of_size(np.abs(w))))

    def slope(self, w: Array) -> Array:
        """ψ'(|w_j|) sign(w_j)."""
        return np.where(w == 0, 0.0, self.rate(np.maximum(np.abs(w), EDGE))) * np.sign(w)

    def expression(self, w: cp.Expression) -> cp.Expression:
        """``sum(psi(abs(w)))``."""
        return cp.sum(self.expression_of_size(cp.abs(w)))

    @property
    def is_convex(self) -> bool:
        """No."""
        return False

    @property
    def convex_part(self) -> None:
        """None."""
        return None

    def weights(self, w: npt.ArrayLike, edge: float = EDGE) -> Array:
        """ψ'(|w_j|)."""
        size = np.abs(np.asarray(w, dtype=float))
        return self.rate(size if self._starts_finite else np.maximum(size, edge))

    def sparse_sizes(self, w: npt.ArrayLike) -> Array:
        """|w_j|, if ψ rises at 0."""
        w = np.asarray(w, dtype=float)
        return np.where(self.weights(np.zeros(w.shape)) > 0, np.abs(w), np.inf)

    def extended(self, edge: float = EDGE) -> Penalty:
        """ψ, with its tangent at `edge` below `edge` if its slope at 0 is infinite."""
        return self if self._starts_finite else extended_penalty(self, edge)

    @property
    def _starts_finite(self) -> bool:
        with np.errstate(divide="ignore"):
            return bool(np.isfinite(self.rate(np.asarray(0.0))))


class extended_penalty(ConcavePenalty):
    """Σ ψ(|w_j|), carried on along the tangent of ψ at `edge` below it.

    Parameters
    ----------
    penalty : ConcavePenalty
    edge : float, default 1e-10
    """

    def __init__(self, penalty: ConcavePenalty, edge: float = EDGE) -> None:
        self.penalty = penalty
        self.edge = edge

    def of_size(self, t: Array) -> Array:
        """ψ(max(t, edge)) − ψ'(edge)(edge − t)₊."""
        inside = np.maximum(t, self.edge)
        return self.penalty.of_size(inside) - self.penalty.rate(inside) * (inside - t)

    def rate(self, t: Array) -> Array:
        """ψ'(max(t, edge))."""
        return self.penalty.rate(np.maximum(t, self.edge))

    def expression_of_size(self, t: cp.Expression) -> cp.Expression:
        """Not available: cvxpy takes the penalty itself."""
        raise ValueError(f"use {self.penalty!r}.expression, whose edges cvxpy's path handles")
