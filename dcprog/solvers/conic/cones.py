"""The product of cones in cvxpy's standard form: its blocks of rows, and who lies inside."""

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
LARGEST = 700.0  # exponent


@dataclass(frozen=True)
class Cones:
    """K = {0} × nonnegative × second-order × semidefinite × exponential × power, in this order.

    Attributes
    ----------
    zero, nonneg : int
        Rows of the first two.
    soc : tuple of int
        Rows of each second-order cone  s₀ ≥ ‖s₁‖.
    psd : tuple of int
        Order of each semidefinite matrix, whose triangle is stacked with √2 off the diagonal.
    exp : int
        Number of exponential cones  y·exp(x/y) ≤ z, three rows each.
    power : tuple of tuples of float
        Exponents of each power cone  Π xᵢ^αᵢ ≥ |z|, one row more than exponents.
    exp_order : tuple of int
        Where a solver keeps x, y and z of an exponential cone.
    lower_triangle : bool
        Is the matrix's lower triangle stacked, column by column? Otherwise the upper one.
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
        """True if the rows of some cone have a size of their own, as those of exp(x/y) have."""
        return bool(self.exp or self.power)

    def _blocks(self) -> Iterator[tuple[str, slice, Any]]:
        """Kind, rows and parameter of every cone with more than one row."""
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
        """First rows of the second-order cones with more than one."""
        blocks = [rows for kind, rows, _ in self._blocks() if kind == "soc"]
        return np.array([r.start for r in blocks if r.stop - r.start > 1], dtype=np.intp)

    def groups(self) -> Rows:
        """Number of the cone that each row belongs to; rows of the first two stand alone."""
        single = self.zero + self.nonneg
        parts = [np.arange(single)]
        for number, (_, rows, _) in enumerate(self._blocks()):
            parts.append(np.full(rows.stop - rows.start, single + number))
        return np.concatenate(parts)

    def into_dual(self, z: Array) -> Array:
        """A point of the dual cone K* near z: z itself where it is inside.

        Where numbers overflow, the point is not finite.
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
        """How far each row's cone is missed by s, 0 inside."""
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
        # the lower triangle by columns is the upper one by rows
        return np.triu_indices(order) if self.lower_triangle else np.tril_indices(order)

    def _matrix(self, block: Array, order: int) -> Array:
        """The symmetric matrix of a stacked triangle."""
        matrix = np.zeros((order, order))
        i, j = self._triangle(order)
        matrix[i, j] = matrix[j, i] = np.where(i == j, block, block / np.sqrt(2))
        return matrix

    def _shifted(self, block: Array, order: int) -> Array:
        """The triangle with as much added to the diagonal as makes it semidefinite."""
        i, j = self._triangle(order)
        values = np.linalg.eigvalsh(self._matrix(block, order))
        low = min(float(values.min(initial=0.0)), 0.0)
        shift = -low + 1e-15 * float(np.abs(values).max(initial=0.0)) if low else 0.0
        return np.asarray(block + shift * (i == j), dtype=float)


def _exp_dual(u: float, v: float, w: float) -> tuple[float, float, float]:
    """Near (u, v, w) with  u < 0, w ≥ −u·exp(v/u − 1),  or  u = 0, v, w ≥ 0."""
    if u >= 0:
        return 0.0, max(v, 0.0), max(w, 0.0)
    exponent = v / u - 1
    return u, v, max(w, -u * np.exp(exponent)) if exponent < LARGEST else np.inf


def _exp_miss(x: float, y: float, z: float) -> float:
    if y > 0 and x / y < LARGEST:
        return float(y * np.exp(x / y) - z)
    return float(max(x, -y, -z)) if y <= 0 else np.inf


def to_edges(n_rows: int, heads: Rows) -> sp.csr_array:
    """The symmetric map of (s₀, s₁) to (s₀ + s₁, s₀ − s₁) in the rows from each head on."""
    rows = np.arange(n_rows)
    signs = np.ones(n_rows)
    signs[heads + 1] = -1.0
    entries = np.concatenate([signs, np.ones(2 * len(heads))])
    at = np.concatenate([rows, heads, heads + 1]), np.concatenate([rows, heads + 1, heads])
    return sp.csr_array((entries, at), shape=(n_rows, n_rows))
