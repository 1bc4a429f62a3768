"""The standard form of a program for all solvers: its data, dual bounds and certificates.

Claims of a solver are checked here against the data alone. A lower bound of the optimal value needs
only a point and multipliers, and any of them give a valid bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from cvxpy import settings as s

from dcprog.foundation.arrays import Array
from dcprog.foundation.tolerances import FEASIBLE, KNOWN_DIGITS, LAST_PLACES, LOOSE, RADIUS, SUMMED

Mask = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.intp]

LARGEST = float(np.log(np.finfo(float).max))  # the largest exponent of a finite exp
EXPONENTIAL = 3  # rows of an exponential cone
RESIDUAL = 1e-5  # residuals of dual equations below this share of their terms are rounding


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
    def n_scalable(self) -> int:
        """The number of cones whose rows can be rescaled; in the order of rows, they come first."""
        return self.zero + self.nonneg + len(self.soc) + len(self.psd)

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
            yield "exp", slice(at, at + EXPONENTIAL), None
            at += EXPONENTIAL
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
                    block[:1] = np.maximum(block[:1], np.linalg.norm(block[1:]) * (1 + LAST_PLACES))
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
        shift = -low + LAST_PLACES * float(np.abs(values).max(initial=0.0)) if low else 0.0
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


# ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class StandardForm:
    """The program  min ½x'Px + q'x + d  subject to  b − Ax ∈ K,  l ≤ x ≤ u.

    Parameters
    ----------
    P : sparse array of shape (n, n) or None
    q : array of shape (n,)
    A : sparse array of shape (m, n)
    b : array of shape (m,)
    cones : Cones
        The cone K, of m rows in all.
    offset : float
        The constant d.
    lower, upper : array of shape (n,) or None
        The bounds l and u; None if no unknown is bounded.

    Examples
    --------
    >>> form = StandardForm(None, np.ones(1), sp.csc_array([[-1.0]]), -np.ones(1), Cones(nonneg=1))
    >>> form.bound(np.ones(1), np.ones(1))  # min x, x ≥ 1
    1.0
    """

    P: sp.csc_array | None
    q: Array
    A: sp.csc_array
    b: Array
    cones: Cones
    offset: float = 0.0
    lower: Array | None = None
    upper: Array | None = None

    def terms(self, x: Array) -> float:
        """The sum of the absolute values of the objective's terms at x, without the offset."""
        total = float(np.abs(self.q) @ np.abs(x))
        if self.P is not None:
            total += 0.5 * float(np.abs(x) @ np.abs(self.P @ x))
        return total

    def bound(self, x: Array, z: Array) -> float:
        """A lower bound of the optimal value from multipliers.

        For any x̄, and z in the dual cone K*, every feasible x has

            ½x'Px + q'x ≥ −½x̄'Px̄ − b'z + r'x,    r = Px̄ + q + A'z,

        and r'x is bounded below over l ≤ x ≤ u and |xᵢ| ≤ 10·(|x̄ᵢ| + 1). The last condition is no
        constraint of the program but an assumption on the size of a solution, in units in which the
        program's data are around 1. It is used only where rᵢ is the rounding error of 1e5 times
        larger terms, or negligible in the objective's units. z is moved into K* first. If x̄ = 0 and
        z = 0 give a better bound, it is returned.

        Parameters
        ----------
        x : array of shape (n,)
            Any point x̄; the bound is tight at a minimiser.
        z : array of shape (m,)
            Any multipliers; the bound is tight at optimal ones.

        Returns
        -------
        float
            −inf if x and z give no bound.
        """
        nothing = self._bound(np.zeros_like(self.q), np.zeros_like(self.b))
        if not (np.all(np.isfinite(x)) and np.all(np.isfinite(z))):
            return nothing
        with np.errstate(all="ignore"):
            value = self._bound(x, self.cones.into_dual(z))
        return max(value, nothing) if np.isfinite(value) else nothing

    def _bound(self, x: Array, z: Array) -> float:
        """The lower bound for z in K*."""
        residual, size = self._stationarity(x, z)
        curve = 0.0 if self.P is None else 0.5 * float(x @ (self.P @ x))
        reach = np.where(self._is_rounding(residual, size, x), np.abs(x) + 1, np.inf)
        least = float(np.sum(self._least(residual, RADIUS * reach)))
        return self.offset - curve - float(self.b @ z) + least

    def _is_rounding(self, residual: Array, size: Array, x: Array) -> Mask:
        """Mask of the residuals that are rounding errors of larger terms, or negligible.

        A negligible residual must also be balanced: a cost without opposing terms does not count.
        """
        curvature = np.zeros(1) if self.P is None else self.P.diagonal()
        terms = np.concatenate([size * (np.abs(x) + 1), np.abs(self.q), curvature])
        hardly = np.abs(residual) * (np.abs(x) + 1) <= KNOWN_DIGITS * np.max(terms)
        balanced = 2 * np.abs(residual - self.q) >= np.abs(self.q)
        return np.asarray((np.abs(residual) <= RESIDUAL * size) | (hardly & balanced))

    def _stationarity(self, x: Array, z: Array) -> tuple[Array, Array]:
        """The residual r = Px + q + A'z, and the sum of its terms' absolute values."""
        residual, size = self.q + self.A.T @ z, np.abs(self.q) + abs(self.A).T @ np.abs(z)
        if self.P is not None:
            residual = residual + self.P @ x
            size = size + abs(self.P) @ np.abs(x)
        return residual, size

    def _least(self, r: Array, reach: Array) -> Array:
        """The least rᵢxᵢ over the bounds and |xᵢ| ≤ reachᵢ."""
        low = -reach if self.lower is None else np.maximum(self.lower, -reach)
        high = reach if self.upper is None else np.minimum(self.upper, reach)
        # where a bound lies beyond the reach, the interval extends to that bound
        low, high = np.minimum(low, high), np.maximum(low, high)
        return np.where(r == 0, 0.0, np.where(r > 0, r * low, r * high))

    def without_rounding(self, size: float) -> StandardForm:
        """The program without the rounding errors of linear rows whose coefficients are all 0.

        Such a row, 0'x = b or 0'x ≤ b with a b of 1e-17, arises where a constraint's variables have
        the coefficient 0 and its constants cancel. In its own units b has the size 1, and solvers
        call the program infeasible. `size` is that of the problem's constants.
        """
        linear = self.cones.zero + self.cones.nonneg
        entries = np.bincount(self.A.indices[self.A.data != 0], minlength=len(self.b))[:linear]
        size = max(size, float(np.max(np.abs(self.b[np.isfinite(self.b)]), initial=0.0)))
        noise = np.flatnonzero((entries == 0) & (np.abs(self.b[:linear]) <= SUMMED * size))
        if not np.any(self.b[noise]):
            return self
        b = self.b.copy()
        b[noise] = 0.0
        return replace(self, b=b)

    def proves_infeasible(self, z: Array) -> bool:
        """True if z is a certificate of infeasibility:  z ∈ K*,  A'z = 0,  b'z < 0.

        Then b − Ax ∈ K would give 0 ≤ (b − Ax)'z = b'z < 0. With bounds on x, the least value of
        (A'z)'x replaces the condition A'z = 0. Conditions are checked up to 1e-6 of their terms.
        """
        if z.shape != self.b.shape or not np.all(np.isfinite(z)):
            return False
        with np.errstate(all="ignore"):
            z = self.cones.into_dual(z)
            pull, size = self.A.T @ z, abs(self.A).T @ np.abs(z)
            pull = np.where(np.abs(pull) <= FEASIBLE * size, 0.0, pull)
            free = float(np.sum(self._least(pull, np.full(len(pull), np.inf))))
            terms = float(np.abs(self.b) @ np.abs(z))
            return bool(float(self.b @ z) - free < -FEASIBLE * terms)

    def proves_unbounded(self, x: Array) -> bool:
        """True if x is a direction of unbounded descent:  −Ax ∈ K,  Px = 0,  q'x < 0.

        It proves the program unbounded or infeasible. Conditions are checked up to 1e-6 of their
        terms.
        """
        if x.shape != self.q.shape or not np.all(np.isfinite(x)):
            return False
        size = np.abs(x)
        edge = FEASIBLE * float(np.max(size, initial=0.0))
        with np.errstate(all="ignore"):
            held = self._holds(-(self.A @ x), abs(self.A) @ size, FEASIBLE)
            if self.P is not None:
                held &= bool(np.all(np.abs(self.P @ x) <= FEASIBLE * (abs(self.P) @ size)))
            if self.lower is not None:
                held &= bool(np.all(x[np.isfinite(self.lower)] >= -edge))
            if self.upper is not None:
                held &= bool(np.all(x[np.isfinite(self.upper)] <= edge))
            return held and float(self.q @ x) < -FEASIBLE * float(np.abs(self.q) @ size)

    def is_nearly_feasible(self, x: Array) -> bool:
        """True if x is feasible up to 1e-4 of the terms in each constraint."""
        with np.errstate(all="ignore"):
            size = np.abs(self.b) + abs(self.A) @ np.abs(x)
            held = self._holds(self.b - self.A @ x, size, LOOSE)
            if self.lower is not None:
                edge = LOOSE * (np.abs(x) + np.abs(self.lower))
                held &= bool(np.all(x >= self.lower - edge))
            if self.upper is not None:
                edge = LOOSE * (np.abs(x) + np.abs(self.upper))
                held &= bool(np.all(x <= self.upper + edge))
            return held

    def _holds(self, slack: Array, size: Array, share: float) -> bool:
        """True if the slack is in K up to a share of each cone's largest terms."""
        group = self.cones.groups()
        largest = np.zeros(int(group.max(initial=-1)) + 1)
        np.maximum.at(largest, group, size)
        return bool(np.all(self.cones.miss(slack) <= share * largest[group]))


def standard_form(data: dict[str, Any], offset: float, solver: Any) -> StandardForm:
    """The standard form of the data that cvxpy passes to a solver.

    Parameters
    ----------
    data : dict
        The data of the solver's interface: equations A x = b and inequalities F x ≤ G for quadratic
        programs, or Ax = b and Gx ≤ h, or all rows in A and b.
    offset : float
        The objective's constant.
    solver : cvxpy's interface of the solver
    """
    cost = data[s.Q] if s.Q in data else data[s.C]
    if s.F in data or s.H in data:
        matrix, vector = (s.F, s.G) if s.F in data else (s.G, s.H)
        A, b = _stacked(data[s.A], data[s.B], data[matrix], data[vector], len(cost))
    else:
        A, b = data[s.A], data[s.B]
    return StandardForm(
        P=data.get(s.P),
        q=cost,
        A=sp.csc_array(A),
        b=np.asarray(b, dtype=float),
        cones=Cones.of(data["dims"], solver),
        offset=offset,
        lower=data.get(s.LOWER_BOUNDS),
        upper=data.get(s.UPPER_BOUNDS),
    )


def solver_data(form: StandardForm, data: dict[str, Any]) -> dict[str, Any]:
    """The solver's `data` with its numbers replaced by those of the form."""
    result = dict(data)
    result[s.Q if s.Q in data else s.C] = form.q
    if form.P is not None:
        result[s.P] = form.P
    for key, bound in ((s.LOWER_BOUNDS, form.lower), (s.UPPER_BOUNDS, form.upper)):
        if data.get(key) is not None:
            result[key] = bound
    if s.F not in data and s.H not in data:
        return result | {s.A: form.A, s.B: form.b}
    rows = form.cones.zero
    matrix, vector = (s.F, s.G) if s.F in data else (s.G, s.H)
    parts = {s.A: form.A[:rows], s.B: form.b[:rows], matrix: form.A[rows:], vector: form.b[rows:]}
    return result | {key: part for key, part in parts.items() if data[key] is not None}


def _stacked(A: Any, b: Any, F: Any, g: Any, n: int) -> tuple[sp.csc_array, Array]:
    """The rows of A and F and the vectors b and g stacked; either pair may be None."""
    A = sp.csc_array((0, n)) if A is None else A
    F = sp.csc_array((0, n)) if F is None else F
    parts = [np.asarray(v, dtype=float) for v in (b, g) if v is not None]
    return sp.csc_array(sp.vstack([A, F], format="csc")), np.concatenate([*parts, np.zeros(0)])
