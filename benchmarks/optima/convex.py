"""Convex losses u ↦ base(u): value, cvxpy's expression, and a parabola that stands for them."""

from __future__ import annotations

from abc import ABC, abstractmethod

import cvxpy as cp
import numpy as np

Array = np.ndarray
NEAR = 1e-6  # parabolas over a kink that is nearer would be infinitely steep


class Base(ABC):
    """A convex loss; a subset fit aims at `target`."""

    target = 0.0

    @abstractmethod
    def value(self, u: Array) -> Array:
        """base(u)."""

    @abstractmethod
    def parabola(self, u: Array) -> tuple[Array, Array]:
        """Curvature a and centre m of ½a(z − m)² + const, which has the slope of base at z = u."""

    @abstractmethod
    def expression(self, u: cp.Expression) -> cp.Expression:
        """The same for cvxpy."""


class Hinge(Base):
    """(1 − u)₊ (the parabola of Hunter and Lange's |z|)."""

    target = 1.0

    def value(self, u: Array) -> Array:
        """(1 − u)₊."""
        return np.maximum(1 - u, 0)

    def parabola(self, u: Array) -> tuple[Array, Array]:
        """((1 − z) + |1 − u|)²/(4|1 − u|)."""
        far = np.maximum(np.abs(1 - u), NEAR)
        return 0.5 / far, 1 + far

    def expression(self, u: cp.Expression) -> cp.Expression:
        """``pos(1 - u)``."""
        return cp.pos(1 - u)


class SquaredHinge(Base):
    """(1 − u)₊²."""

    target = 1.0

    def value(self, u: Array) -> Array:
        """(1 − u)₊²."""
        return np.maximum(1 - u, 0) ** 2

    def parabola(self, u: Array) -> tuple[Array, Array]:
        """(1 − z)², 0 beyond the kink: a finite Newton step."""
        return np.where(u < 1, 2.0, 0.0), np.ones(u.shape)

    def expression(self, u: cp.Expression) -> cp.Expression:
        """``square(pos(1 - u))``."""
        return cp.square(cp.pos(1 - u))


class Absolute(Base):
    """|u|."""

    def value(self, u: Array) -> Array:
        """|u|."""
        return np.abs(u)

    def parabola(self, u: Array) -> tuple[Array, Array]:
        """z²/(2|u|)."""
        return 1 / np.maximum(np.abs(u), NEAR), np.zeros(u.shape)

    def expression(self, u: cp.Expression) -> cp.Expression:
        """``abs(u)``."""
        return cp.abs(u)


class HalfSquare(Base):
    """½u²."""

    def value(self, u: Array) -> Array:
        """½u²."""
        return u**2 / 2

    def parabola(self, u: Array) -> tuple[Array, Array]:
        """Itself."""
        return np.ones(u.shape), np.zeros(u.shape)

    def expression(self, u: cp.Expression) -> cp.Expression:
        """``square(u) / 2``."""
        return cp.square(u) / 2
