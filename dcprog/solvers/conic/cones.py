"""The product of cones in cvxpy's standard form: its blocks of rows, and tests of membership."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dcprog.foundation.arrays import Array

Rows = npt.NDArray[np.intp]

__all__ = ["Cones", "Rows", "to_edges"]

E = float(np.e)
LARGEST = 700.0  # largest exponent for which exp does not overflow


@dataclass(frozen=True)
class Cones:
    """K = {0} × nonnegative × second-order × semidefinite × exponential × power, in this order.

    Attributes
    ----------
    zero, nonneg : int
        The numbers of rows of the zero and the nonnegative cone.
    soc : tuple of int
        The number of rows of each second-order cone  s₀ ≥ ‖s₁‖.
    psd : tuple of int
        The order of each semidefinite matrix; its triangle is stacked with √2 off the diagonal.
    exp : int
        The number of exponential cones  y·exp(x/y) ≤ z, of three rows each.
    power : tuple of tuples of float
        The exponents of each power cone  Π xᵢ^αᵢ ≥ |z|, which has one row more than exponents.
    exp_order : tuple of int
        The positions of x, y and z of an exponential cone in the solver's rows.
    lower_triangle : bool
        Whether the lower triangle of a matrix is stacked, column by column; else the upper one.
    """

    zero: int = 0
    nonneg: int = 0
    soc: tuple[int, ...] = ()
    psd: tuple[int, ...] = ()
    exp: int = 0
    power: tuple[tuple[float, ...], ...] = ()
    exp_order: tuple[int, ...] = (0, 1, 2)
    lower_triangle: bool = False

    @staticmethod
    def of(dims: Any, solver: Any) -> Cones:
        """The cones of cvxpy's ``ConeDims`` in the order of a solver's interface."""
        kind = getattr(solver, "PSD_TRIANGLE_KIND", None)
        return Cones(
            zero=dims.zero,
            nonneg=dims.nonneg,
            soc=tuple(dims.soc),
            psd=tuple(dims.psd),
            exp=dims.exp,
            power=(
                *((float(a), 1 - float(a)) for a in dims.p3d),
                *(tuple(map(float, alphas)) for alphas in dims.pnd),
            ),
            exp_order=tuple(getattr(solver, "EXP_CONE_ORDER", None) or (0, 1, 2)),
            lower_triangle="LOWER" in str(kind),
        )

    @property
    def fixed(self) -> bool:
        """True if there are exponential or power cones, whose rows cannot be rescaled."""
        return bool(self.exp or self.power)

    def _blocks(self) -> Iterator[tuple[str, slice, Any]]:
        """Yield the kind, the rows and the parameter of each cone after the first two."""
        at = self.zero + self.nonneg
        for size in self.soc:
            yield "soc", slice(at, at + size), size
            at += size
        for order in self.psd:
            size = order * (order + 1) // 2
            yield "psd", slice(at, at + size), order
            at += size
        for _ in range(self.exp):
            yield "exp", slice(at, at + 3), None
            at += 3
        for alphas in self.power:
            yield "power", slice(at, at + len(alphas) + 1), np.array(alphas)
            at += len(alphas) + 1

    def heads(self) -> Rows:
        """The first rows of the second-order cones with more than one row."""
        blocks = [rows for kind, rows, _ in self._blocks() if kind == "soc"]
        return np.array([r.start for r in blocks if r.stop - r.start > 1], dtype=np.intp)

    def groups(self) -> Rows:
        """The number of each row's cone; every zero or nonnegative row is a cone by itself."""
        single = self.zero + self.nonneg
        parts = [np.arange(single)]
        for number, (_, rows, _) in enumerate(self._blocks()):
            parts.append(np.full(rows.stop - rows.start, single + number))
        return np.concatenate(parts)

    def into_dual(self, z: Array) -> Array:
        """A point of the dual cone K* near z, equal to z where z is inside.

        The point is not finite if numbers overflow.
        """
        z = np.array(z, dtype=float)
        z[self.zero : self.zero + self.nonneg].clip(0, None, out=z[self.zero :][: self.nonneg])
        for kind, rows, what in self._blocks():
            block = z[rows]
            match kind:
                case "soc":
                    block[:1] = np.maximum(block[:1], np.linalg.norm(block[1:]) * (1 + 1e-15))
                case "psd":
                    z[rows] = self._shifted(block, what)
                case "exp":
                    order = list(self.exp_order)
                    u, v, w = block[order]
                    block[order] = _exp_dual(u, v, w)
                case "power":
                    block[:-1] = np.maximum(block[:-1], 0)
                    reach = float(np.prod((block[:-1] / what) ** what))
                    block[-1] = np.clip(block[-1], -reach, reach)
        return z

    def miss(self, s: Array) -> Array:
        """The violation of each row's cone by s, 0 inside the cone."""
        missed = np.zeros(len(s))
        missed[: self.zero] = np.abs(s[: self.zero])
        inside = slice(self.zero, self.zero + self.nonneg)
        missed[inside] = np.maximum(-s[inside], 0)
        for kind, rows, what in self._blocks():
            block = s[rows]
            match kind:
                case "soc":
                    far = float(np.linalg.norm(block[1:]) - block[0])
                case "psd":
                    far = -float(np.linalg.eigvalsh(self._matrix(block, what)).min(initial=0.0))
                case "exp":
                    far = _exp_miss(*block[list(self.exp_order)])
                case _:
                    reach = float(np.prod(np.maximum(block[:-1], 0) ** what))
                    far = max(-float(block[:-1].min()), abs(float(block[-1])) - reach)
            missed[rows] = max(far, 0.0)
        return missed

    def _triangle(self, order: int) -> tuple[Any, Any]:
        # the lower triangle by columns has the order of the upper one by rows
        return np.triu_indices(order) if self.lower_triangle else np.tril_indices(order)

    def _matrix(self, block: Array, order: int) -> Array:
        """The symmetric matrix of a stacked triangle."""
        matrix = np.zeros((order, order))
        i, j = self._triangle(order)
        matrix[i, j] = matrix[j, i] = np.where(i == j, block, block / np.sqrt(2))
        return matrix

    def _shifted(self, block: Array, order: int) -> Array:
        """The triangle with the least shift of the diagonal that makes it semidefinite."""
        i, j = self._triangle(order)
        values = np.linalg.eigvalsh(self._matrix(block, order))
        low = min(float(values.min(initial=0.0)), 0.0)
        shift = -low + 1e-15 * float(np.abs(values).max(initial=0.0)) if low else 0.0
        return np.asarray(block + shift * (i == j), dtype=float)


def _exp_dual(u: float, v: float, w: float) -> tuple[float, float, float]:
    """A point of the dual exponential cone near (u, v, w).

    It has  u < 0, w ≥ −u·exp(v/u − 1),  or  u = 0, v, w ≥ 0.
    """
    if u >= 0:
        return 0.0, max(v, 0.0), max(w, 0.0)
    exponent = v / u - 1
    return u, v, max(w, -u * np.exp(exponent)) if exponent < LARGEST else np.inf


def _exp_miss(x: float, y: float, z: float) -> float:
    if y > 0 and x / y < LARGEST:
        return float(y * np.exp(x / y) - z)
    return float(max(x, -y, -z)) if y <= 0 else np.inf


def to_edges(n_rows: int, heads: Rows) -> sp.csr_array:
    """The symmetric map (s₀, s₁) ↦ (s₀ + s₁, s₀ − s₁) on each head's row and the next one."""
    rows = np.arange(n_rows)
    signs = np.ones(n_rows)
    signs[heads + 1] = -1.0
    entries = np.concatenate([signs, np.ones(2 * len(heads))])
    at = np.concatenate([rows, heads, heads + 1]), np.concatenate([rows, heads + 1, heads])
    return sp.csr_array((entries, at), shape=(n_rows, n_rows))
