"""The standard form of a program for all solvers: its data, dual bounds and certificates.

Claims of a solver are checked here against the data alone. A lower bound of the optimal value needs
only a point and multipliers, and any of them give a valid bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from cvxpy import settings as s

from dcprog.foundation.arrays import Array
from dcprog.solvers.conic.cones import Cones

Mask = npt.NDArray[np.bool_]

__all__ = ["Evidence", "StandardForm", "solver_data", "standard_form"]

REACH = 10.0  # solutions are assumed to be at most this many times as far from 0 as the solver's
RESIDUAL = 1e-5  # residuals of dual equations below this share of their terms are rounding
NOTHING = 1e-9  # residuals below this share of the largest dual equation's terms are negligible
PROOF = 1e-6  # tolerance of a ray's conditions, relative to their terms
FEASIBLE = 1e-4  # tolerance of a point's constraints, relative to their terms


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

    def in_units(
        self, P: Any, A: sp.csc_array, b: Array, columns: Array | float, objective: float
    ) -> StandardForm:
        """The program in x / columns with its objective scaled; P, A and b are scaled already."""
        return replace(
            self,
            P=P,
            q=objective * columns * self.q,
            A=A,
            b=b,
            offset=objective * self.offset,
            lower=None if self.lower is None else self.lower / columns,
            upper=None if self.upper is None else self.upper / columns,
        )

    def terms(self, x: Array) -> float:
        """The sum of the absolute values of the objective's terms at x, without the offset."""
        total = float(np.abs(self.q) @ np.abs(x))
        if self.P is not None:
            total += 0.5 * float(np.abs(x) @ np.abs(self.P @ x))
        return total

    def bound(self, x: Array, z: Array, units: Array | float = 1.0) -> float:
        """A lower bound of the optimal value from multipliers.

        For any x̄, and z in the dual cone K*, every feasible x has

            ½x'Px + q'x ≥ −½x̄'Px̄ − b'z + r'x,    r = Px̄ + q + A'z,

        and r'x is bounded below over l ≤ x ≤ u and |xᵢ| ≤ 10·(|x̄ᵢ| + unitᵢ). The last condition is
        no constraint of the program but an assumption on the size of a solution. It is used only
        where rᵢ is the rounding error of 1e5 times larger terms, or negligible in the objective's
        units. z is moved into K* first. If x̄ = 0 and z = 0 give a better bound, it is returned.

        Parameters
        ----------
        x : array of shape (n,)
            Any point x̄; the bound is tight at a minimiser.
        z : array of shape (m,)
            Any multipliers; the bound is tight at optimal ones.
        units : array of shape (n,)
            A typical size of each unknown.

        Returns
        -------
        float
            −inf if x and z give no bound.
        """
        nothing = self._bound(np.zeros_like(self.q), np.zeros_like(self.b), units)
        if not (np.all(np.isfinite(x)) and np.all(np.isfinite(z))):
            return nothing
        with np.errstate(all="ignore"):
            value = self._bound(x, self.cones.into_dual(z), units)
        return max(value, nothing) if np.isfinite(value) else nothing

    def _bound(self, x: Array, z: Array, units: Array | float) -> float:
        """The lower bound for z in K*."""
        residual, size = self._stationarity(x, z)
        curve = 0.0 if self.P is None else 0.5 * float(x @ (self.P @ x))
        reach = np.where(self._is_rounding(residual, size, x, units), np.abs(x) + units, np.inf)
        least = float(np.sum(self._least(residual, REACH * reach)))
        return self.offset - curve - float(self.b @ z) + least

    def _is_rounding(self, residual: Array, size: Array, x: Array, units: Array | float) -> Mask:
        """Mask of the residuals that are rounding errors of larger terms, or negligible.

        A negligible residual must also be balanced: a cost without opposing terms does not count.
        """
        typical = np.abs(x) + units
        largest = float(np.max(size * typical, initial=float(np.max(np.abs(self.q) * units))))
        if self.P is not None:
            largest = max(largest, float(np.max(self.P.diagonal() * units * units)))
        hardly = np.abs(residual) * typical <= NOTHING * largest
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
            pull = np.where(np.abs(pull) <= PROOF * size, 0.0, pull)
            free = float(np.sum(self._least(pull, np.full(len(pull), np.inf))))
            terms = float(np.abs(self.b) @ np.abs(z))
            return bool(float(self.b @ z) - free < -PROOF * terms)

    def proves_unbounded(self, x: Array) -> bool:
        """True if x is a direction of unbounded descent:  −Ax ∈ K,  Px = 0,  q'x < 0.

        It proves the program unbounded or infeasible. Conditions are checked up to 1e-6 of their
        terms.
        """
        if x.shape != self.q.shape or not np.all(np.isfinite(x)):
            return False
        with np.errstate(all="ignore"):
            size = np.abs(x)
            held = self._misses(-(self.A @ x), abs(self.A) @ size, PROOF)
            if self.P is not None:
                held &= bool(np.all(np.abs(self.P @ x) <= PROOF * (abs(self.P) @ size)))
            edge = PROOF * float(np.max(size, initial=0.0))
            if self.lower is not None:
                held &= bool(np.all(x[np.isfinite(self.lower)] >= -edge))
            if self.upper is not None:
                held &= bool(np.all(x[np.isfinite(self.upper)] <= edge))
            return held and float(self.q @ x) < -PROOF * float(np.abs(self.q) @ size)

    def is_nearly_feasible(self, x: Array) -> bool:
        """True if x is feasible up to 1e-4 of the terms in each constraint."""
        with np.errstate(all="ignore"):
            size = np.abs(self.b) + abs(self.A) @ np.abs(x)
            held = self._misses(self.b - self.A @ x, size, FEASIBLE)
            edge = FEASIBLE * np.abs(x)
            if self.lower is not None:
                held &= bool(np.all(x >= self.lower - edge - FEASIBLE * np.abs(self.lower)))
            if self.upper is not None:
                held &= bool(np.all(x <= self.upper + edge + FEASIBLE * np.abs(self.upper)))
            return held

    def _misses(self, slack: Array, size: Array, share: float) -> bool:
        """True if the slack is in K up to a share of each cone's largest terms."""
        group = self.cones.groups()
        largest = np.zeros(int(group.max(initial=-1)) + 1)
        np.maximum.at(largest, group, size)
        return bool(np.all(self.cones.miss(slack) <= share * largest[group]))


@dataclass(frozen=True, eq=False)
class Evidence:
    """A solver's point and multipliers in the program's units, with the units that it used."""

    x: Array
    z: Array
    units: Array | float = 1.0

    def bound(self, form: StandardForm | None) -> float:
        """The lower bound of a program's optimal value from this evidence."""
        if form is None or self.x.shape != form.q.shape or self.z.shape != form.b.shape:
            return -np.inf
        return form.bound(self.x, self.z, self.units)


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
    if s.F in data:
        A, b = _stacked(data[s.A], data[s.B], data[s.F], data[s.G], len(cost))
    elif s.H in data:
        A, b = _stacked(data[s.A], data[s.B], data[s.G], data[s.H], len(cost))
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
