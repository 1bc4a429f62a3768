"""The base class of concave penalties: sums of concave functions of |w_j|."""

from __future__ import annotations

from abc import abstractmethod

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import EDGE, Array
from dcprog.foundation.regularity import UNKNOWN, Regularity
from dcprog.penalties.penalty import Parts, Penalty


class ConcavePenalty(Penalty):
    """Σ_j ψ(|w_j|) with ψ concave and nondecreasing, given by its value and slope.

    By concavity ψ(|w_j|) ≤ ψ(|v_j|) + ψ'(|v_j|)(|w_j| − |v_j|): the majorant at v is a weighted ℓ1
    norm with the weights ψ'(|v_j|). No solver needs the expression; the problem in cvxpy, as
    :meth:`Risk.problem` writes it, does.

    Attributes
    ----------
    regularity : Regularity
        What theorems on convergence may rest on, of ψ on t ≥ 0; nothing unless a subclass says so.
    """

    regularity: Regularity = UNKNOWN

    @abstractmethod
    def of_size(self, t: Array) -> Array:
        """ψ(t) for t ≥ 0, entry by entry."""

    @abstractmethod
    def rate(self, t: Array) -> Array:
        """ψ'(t), entry by entry; at a kink the larger one-sided slope."""

    def expression_of_size(self, t: cp.Expression) -> cp.Expression:
        """ψ of a cvxpy expression, entry by entry.

        Raises
        ------
        ValueError
            The subclass does not define it.
        """
        raise ValueError(f"{self!r} has no cvxpy expression: it defines no expression_of_size(t)")

    @property
    def has_expression(self) -> bool:
        """True if the class defines ψ of a cvxpy expression."""
        return type(self).expression_of_size is not ConcavePenalty.expression_of_size

    def __call__(self, w: Array) -> float:
        """Σ ψ(|w_j|)."""
        return float(np.sum(self.of_size(np.abs(w))))

    def slope(self, w: Array) -> Array:
        """The slopes ψ'(|w_j|) sign(w_j)."""
        return np.where(w == 0, 0.0, self.rate(np.maximum(np.abs(w), EDGE))) * np.sign(w)

    def expression(self, w: cp.Expression) -> cp.Expression:
        """``sum(psi(abs(w)))``."""
        return cp.sum(self.expression_of_size(cp.abs(w)))

    @property
    def is_convex(self) -> bool:
        """False: a concave penalty is treated as nonconvex."""
        return False

    @property
    def convex_part(self) -> None:
        """The convex part, which is None: the whole penalty is majorised."""
        return None

    def weights(self, w: npt.ArrayLike, edge: float = EDGE) -> Array:
        """The weights ψ'(|w_j|), at max(|w_j|, edge) if ψ'(0) is infinite."""
        size = np.abs(np.asarray(w, dtype=float))
        return self.rate(size if self._starts_finite else np.maximum(size, edge))

    def parts(self) -> Parts:
        """The penalty itself, as a concave part."""
        return Parts(concave=(self,))

    def extended(self, edge: float = EDGE) -> Penalty:
        """The penalty, with the tangent of ψ at `edge` below `edge` if ψ'(0) is infinite."""
        return self if self._starts_finite else extended_penalty(self, edge)

    @property
    def _starts_finite(self) -> bool:
        if self.regularity.is_smooth or self.regularity.is_piecewise_linear:
            return True
        with np.errstate(divide="ignore"):
            return bool(np.isfinite(self.rate(np.asarray(0.0))))


class extended_penalty(ConcavePenalty):
    """Σ ψ(|w_j|), where ψ is replaced by its tangent at `edge` below `edge`.

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
