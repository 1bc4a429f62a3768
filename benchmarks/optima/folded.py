"""Penalties ψ(|w|) of one coefficient: value, minimiser of ½h·w² − z·w + ψ(|w|), statements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import cvxpy as cp
import numpy as np

import dcprog as dc

Array = np.ndarray
Statement = tuple[cp.Expression, list[cp.Constraint]]


class Folded(ABC):
    """A penalty on sizes."""

    declaration: dc.Penalty

    @abstractmethod
    def value(self, t: Array) -> Array:
        """ψ(t), t ≥ 0."""

    @abstractmethod
    def stationary(self, z: Array, h: Array) -> list[Array]:
        """Sizes t > 0 that may minimise ½h·t² − z·t + ψ(t) beside 0, z ≥ 0."""

    def minimiser(self, z: Array, h: Array) -> Array:
        """The lowest of the candidates, with z's sign."""
        size = np.abs(z)
        best, lowest = np.zeros(z.shape), np.zeros(z.shape)
        for t in self.stationary(size, h):
            t = np.maximum(t, 0)
            value = h * t**2 / 2 - size * t + self.value(t)
            best, lowest = np.where(value < lowest, t, best), np.minimum(value, lowest)
        return np.sign(z) * best

    @abstractmethod
    def convex_concave(self, w: cp.Variable, s: cp.Variable) -> list[cp.Constraint]:
        """Constraints with which s ≥ ψ(|w|)."""

    @abstractmethod
    def smooth(self, t: cp.Variable) -> Statement:
        """Σψ(t) and constraints of what it needs, t ≥ 0."""


@dataclass(frozen=True)
class LogSum(Folded):
    """λ log(1 + t/ε)."""

    lam: float
    eps: float

    @property
    def declaration(self) -> dc.Penalty:  # type: ignore[override]
        """dcprog's."""
        return dc.log_sum(self.lam, self.eps)

    def value(self, t: Array) -> Array:
        """λ log(1 + t/ε)."""
        return self.lam * np.log1p(t / self.eps)

    def stationary(self, z: Array, h: Array) -> list[Array]:
        """The larger root of h·t² + (hε − z)t + λ − zε."""
        middle = z - h * self.eps
        root = np.maximum(middle**2 - 4 * h * (self.lam - z * self.eps), 0)
        return [(middle + np.sqrt(root)) / (2 * h)]

    def convex_concave(self, w: cp.Variable, s: cp.Variable) -> list[cp.Constraint]:
        """The logarithm is concave."""
        t = cp.Variable(w.shape, nonneg=True)
        return [cp.abs(w) <= t, self.lam * cp.log1p(t / self.eps) <= s]

    def smooth(self, t: cp.Variable) -> Statement:
        """As it is."""
        return self.lam * cp.sum(cp.log(1 + t / self.eps)), []


@dataclass(frozen=True)
class Half(Folded):
    """λ√t."""

    lam: float

    @property
    def declaration(self) -> dc.Penalty:  # type: ignore[override]
        """dcprog's."""
        return dc.lp(self.lam, 0.5)

    def value(self, t: Array) -> Array:
        """λ√t."""
        return self.lam * np.sqrt(t)

    def stationary(self, z: Array, h: Array) -> list[Array]:
        """s² for the largest root of s³ − (z/h)s + λ/(2h) (Xu and others 2012)."""
        third = np.sqrt(np.maximum(z, 1e-300) / (3 * h))
        cosine = np.clip(-self.lam / (4 * h) / third**3, -1, 1)
        return [(2 * third * np.cos(np.arccos(cosine) / 3)) ** 2]

    def convex_concave(self, w: cp.Variable, s: cp.Variable) -> list[cp.Constraint]:
        """The root is concave."""
        t = cp.Variable(w.shape, nonneg=True)
        return [cp.abs(w) <= t, self.lam * cp.sqrt(t) <= s]

    def smooth(self, t: cp.Variable) -> Statement:
        """t ≤ r², from r = 1: at r = 0 nothing moves."""
        r = cp.Variable(t.shape, nonneg=True, value=np.ones(t.shape))
        return self.lam * cp.sum(r), [t <= cp.square(r)]


@dataclass(frozen=True)
class Mcp(Folded):
    """λt − t²/(2γ) up to γλ, then γλ²/2."""

    lam: float
    gamma: float

    @property
    def declaration(self) -> dc.Penalty:  # type: ignore[override]
        """dcprog's."""
        return dc.mcp(self.lam, self.gamma)

    def value(self, t: Array) -> Array:
        """λt − t²/(2γ) up to γλ, then γλ²/2."""
        flat = self.gamma * self.lam**2 / 2
        return np.where(t < self.gamma * self.lam, self.lam * t - t**2 / (2 * self.gamma), flat)

    def stationary(self, z: Array, h: Array) -> list[Array]:
        """On the flat part, and inside it where the sum is convex."""
        curvature = h - 1 / self.gamma
        inside = np.divide(
            z - self.lam, curvature, out=np.zeros(z.shape), where=np.asarray(curvature > 0)
        )
        return [z / h, np.clip(inside, 0, self.gamma * self.lam)]

    def convex_concave(self, w: cp.Variable, s: cp.Variable) -> list[cp.Constraint]:
        """λ|w| ≤ s + Huber's function."""
        far = self.gamma * self.lam
        return [self.lam * cp.abs(w) <= s + cp.huber(w, far) / (2 * self.gamma)]

    def smooth(self, t: cp.Variable) -> Statement:
        """min over 0 ≤ v ≤ 1 of λvt + (γλ²/2)(1 − v)²."""
        v = cp.Variable(t.shape, bounds=[0, 1])
        flat = self.gamma * self.lam**2 / 2
        return cp.sum(self.lam * cp.multiply(v, t) + flat * cp.square(1 - v)), []
