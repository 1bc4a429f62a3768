"""Constraints of second order  d − Cx ∈ {(s₀, s₁): s₀ ≥ ‖s₁‖}  inside an interior point method."""

from __future__ import annotations

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.tolerances import CANCELLED


class SecondOrder:
    """The slack s = d − Cx and the multiplier z of one constraint, both inside the cone.

    Newton's equations are those of a row  s ≥ 0  with the Nesterov–Todd scaling W in place of
    √(s/z), and with products in the cone's Jordan algebra:  λ = Wz = W⁻¹s.

    Parameters
    ----------
    C : array of shape (k, p)
    d : array of shape (k,)

    References
    ----------
    Nesterov, Todd (1998), Primal-dual interior-point methods for self-scaled cones, SIAM J. Optim.
    8(2). Vandenberghe (2010), The CVXOPT linear and quadratic cone program solvers.
    """

    def __init__(self, C: Array, d: Array) -> None:
        self.C, self.d = C, d
        self.s = self.z = self.residual = d

    def begin(self, x: Array) -> None:
        """Slack and multiplier near d − Cx and Cx − d, moved along the cone's axis into it."""
        slack = self.d - self.C @ x
        self.s, self.z = _inside(slack), _inside(-slack)

    def measure(self, x: Array) -> None:
        """Compute the residual  Cx + s − d."""
        self.residual = self.C @ x + self.s - self.d

    @property
    def product(self) -> float:
        """The complementarity s'z."""
        return float(self.s @ self.z)

    def scale(self) -> Array:
        """Set W at the iterate; C'W⁻²C."""
        size_s, size_z = np.sqrt(_determinant(self.s)), np.sqrt(_determinant(self.z))
        s, z = self.s / size_s, self.z / size_z
        self._stretch = np.sqrt(size_s / size_z)
        self._w = (s + _mirrored(z)) / np.sqrt(2 * (1 + float(s @ z)))
        self._lam = self._by(self.z)
        self.aim = _times(self._lam, self._lam)
        rows = self._back(self.C)
        return np.asarray(rows.T @ rows, dtype=float)

    def _by(self, v: Array) -> Array:
        """The product W v."""
        return self._stretch * _rotated(self._w, v)

    def _back(self, v: Array) -> Array:
        """The product W⁻¹v."""
        return _rotated(_mirrored(self._w), v) / self._stretch

    def pull(self) -> Array:
        """The constraint's part of the gradient of Newton's system, for the present aim."""
        self._offset = self._back(self._back(self.residual) - _divided(self.aim, self._lam))
        return np.asarray(self._offset @ self.C, dtype=float)

    def move(self, dx: Array) -> None:
        """Set the directions of s and z that follow from that of x."""
        along = self.C @ dx
        self.ds = -self.residual - along
        self.dz = self._offset + self._back(self._back(along))

    def correct(self, target: float) -> None:
        """Aim at the central path: Mehrotra's second-order term, and complementarity `target`."""
        self.aim = self.aim + _times(self._back(self.ds), self._by(self.dz))
        self.aim[0] -= target

    def reach(self) -> tuple[float, float]:
        """The longest steps along the directions that stay in the cone."""
        return _longest(self.s, self.ds), _longest(self.z, self.dz)

    def after(self, along: float, along_dual: float) -> float:
        """The complementarity after steps."""
        return float((self.s + along * self.ds) @ (self.z + along_dual * self.dz))

    def step(self, along: float, along_dual: float) -> None:
        """Take steps along the directions."""
        self.s = self.s + along * self.ds
        self.z = self.z + along_dual * self.dz


def _determinant(v: Array) -> float:
    """v₀² − ‖v₁‖², positive inside the cone."""
    norm = float(np.linalg.norm(v[1:]))
    return float((v[0] - norm) * (v[0] + norm))


def _mirrored(v: Array) -> Array:
    return np.concatenate([v[:1], -v[1:]])


def _rotated(w: Array, v: Array) -> Array:
    """The product with [[w₀, w₁'], [w₁, I + w₁w₁'/(1 + w₀)]], of a vector or of columns."""
    head, tail = v[:1], v[1:]
    inner = w[1:] @ tail
    rest = np.multiply.outer(w[1:], head[0] + inner / (1 + w[0]))
    return np.concatenate([w[0] * head + inner, tail + rest])


def _times(u: Array, v: Array) -> Array:
    """The Jordan product (u'v, u₀v₁ + v₀u₁)."""
    return np.append(u @ v, u[0] * v[1:] + v[0] * u[1:])


def _divided(r: Array, u: Array) -> Array:
    """The v with u ∘ v = r."""
    head = (u[0] * r[0] - u[1:] @ r[1:]) / _determinant(u)
    return np.append(head, (r[1:] - head * u[1:]) / u[0])


def _longest(v: Array, d: Array) -> float:
    """The longest step t with v + td in the cone: the first root of its determinant."""
    a, b, c = _determinant(d), float(v[0] * d[0] - v[1:] @ d[1:]), _determinant(v)
    inside = b * b - a * c
    slope = np.sqrt(inside) - b if inside >= 0 else 0.0
    return float(c / slope) if slope > 0 else np.inf


def _inside(v: Array) -> Array:
    """The vector, moved along the axis to a distance of its own size where it is not inside."""
    norm = float(np.linalg.norm(v[1:]))
    size = max(norm, abs(float(v[0]))) or 1.0
    moved = v.copy()
    if v[0] - norm <= CANCELLED * size:
        moved[0] = norm + size
    return moved
