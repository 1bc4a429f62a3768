"""Units for a program in standard form: solvers' tolerances are absolute around 1."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dcprog.errors import SubproblemError
from dcprog.solvers.standard_form import StandardForm
from dcprog.solvers.units import USUAL, Entries, powers
from dcprog.tree import Array

__all__ = ["Scaler", "Scaling", "minimise_in_units"]

NOISE = 1e2  # tolerances
ROUNDS = 3  # of a solution that shows units far from the right ones


@dataclass(frozen=True)
class Scaling:
    """x = columns·x̂,  rows·(b − Ax) ∈ K,  objective·F: powers of two, so that nothing rounds."""

    columns: Array | float = 1.0
    rows: Array | float = 1.0
    objective: float = 1.0

    def primal(self, x: Array) -> Array:
        """The program's unknowns from the scaled ones."""
        return np.asarray(self.columns * x, dtype=float)

    def dual(self, z: Array) -> Array:
        """The program's multipliers from the scaled ones."""
        return np.asarray(self.rows * z / self.objective, dtype=float)


class Scaler:
    """Chooses units for one program after another of the same kind.

    Unknowns and rows get the units of :class:`~dcprog.solvers.units.Entries`, unknowns in no row
    the unit in which their curvature is as large as the other terms, and the objective the unit
    in which its coefficients are of size 1. What a solution then shows of the true sizes goes
    into the next program's units. Programs that are of size 1 up to a factor of a hundred stay as
    they are.

    Examples
    --------
    >>> from dcprog.solvers.cones import Cones
    >>> A, b = sp.csc_array([[-1.0]]), np.array([-1e9])
    >>> form = StandardForm(None, np.array([1e-12]), A, b, Cones(nonneg=1))
    >>> scaled, scaling = Scaler().scale(form)
    >>> float(np.round(scaled.b[0], 1)), float(np.round(scaled.q[0], 1))
    (-0.9, 1.1)
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget what solutions have shown."""
        self._columns: Array | None = None  # of A alone
        self._rows: Array | None = None
        self._unit: float | None = None
        self._objective: float | None = None
        self._coefficients: float | None = None  # the objective's, when its unit was found
        self._even: sp.csc_array | None = None  # the A they were found for
        self._matrices: dict[str, tuple[Any, ...]] = {}

    def scale(self, form: StandardForm) -> tuple[StandardForm, Scaling]:
        """The program in units of its own, and these."""
        with np.errstate(all="ignore"):
            scaling = self._scaling(form)
        if scaling is None:
            return form, Scaling()
        columns, rows, objective = scaling.columns, scaling.rows, scaling.objective
        return (
            replace(
                form,
                P=None if form.P is None else self._both("P", form.P, columns, columns, objective),
                q=objective * columns * form.q,
                A=self._both("A", form.A, rows, columns, 1.0),
                b=rows * form.b,
                offset=objective * form.offset,
                lower=None if form.lower is None else form.lower / columns,
                upper=None if form.upper is None else form.upper / columns,
            ),
            scaling,
        )

    def learn(self, form: StandardForm, x: Array, tolerance: float) -> bool:
        """Take sizes from a solution; False if the units were right for it.

        Terms below the tolerance are noise and tell nothing.
        """
        with np.errstate(all="ignore"):
            return self._learn(form, x, tolerance)

    def _learn(self, form: StandardForm, x: Array, tolerance: float) -> bool:
        scaling = self._scaling(form)
        if self._objective is None or self._unit is None:
            return False
        columns = 1.0 if scaling is None else scaling.columns
        terms = form.terms(x)
        seen, size = self._objective * terms, float(np.max(np.abs(x / columns), initial=0.0))
        wrong = False
        if not form.cones.fixed and _is_off(size, tolerance):
            self._unit, wrong = _power(self._unit * size), True
        if _is_off(seen, tolerance):
            self._objective, wrong = _power(1 / terms), True
        if wrong:
            self._coefficients = None
        return wrong

    def _scaling(self, form: StandardForm) -> Scaling | None:
        """None where every unit is 1."""
        if self._columns is None or self._rows is None or not self._fits(form):
            self._columns, self._rows = Entries(form).units()
            self._even = form.A
        if self._unit is None:
            self._unit = _unit(form, self._columns)
        columns = self._columns * self._unit
        free = np.diff(form.A.indptr) == 0
        if np.any(free):
            columns = _with_free(form, columns, free)
        objective = self._follow(_middle(_coefficients(form, columns)))
        rows = self._rows / self._unit
        if objective == 1 and np.all(columns == 1) and np.all(rows == 1):
            return None
        return Scaling(columns, rows, objective)

    def _follow(self, coefficients: float) -> float:
        """The objective's unit, which moves with its coefficients."""
        if self._objective is None:
            self._objective = _usual(1 / coefficients)
            self._coefficients = coefficients
        moved = _usual(coefficients / (self._coefficients or coefficients))
        if moved != 1 or self._coefficients is None:
            self._objective /= moved
            self._coefficients = coefficients
        return self._objective

    def _fits(self, form: StandardForm) -> bool:
        """Are the rows and columns of A still even in these units?"""
        assert self._columns is not None
        assert self._rows is not None
        if self._even is form.A or _alike(self._even, form.A):
            return True
        if form.A.shape != (len(self._rows), len(self._columns)):
            return False
        return Entries(form).are_even(np.log2(self._rows), np.log2(self._columns))

    def _both(
        self, name: str, matrix: sp.csc_array, rows: Any, columns: Any, factor: float
    ) -> sp.csc_array:
        """The matrix in units; the last one is kept."""
        kept = self._matrices.get(name)
        if (
            kept is not None
            and kept[0] is matrix
            and kept[3] == factor
            and np.array_equal(kept[1], rows)
            and np.array_equal(kept[2], columns)
        ):
            return kept[4]
        by_column = np.repeat(columns, np.diff(matrix.indptr))
        values = matrix.data * (factor * rows[matrix.indices] * by_column)
        scaled = sp.csc_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)
        self._matrices[name] = (matrix, rows, columns, factor, scaled)
        return scaled


def _unit(form: StandardForm, columns: Array) -> float:
    """The unit of all unknowns where no right-hand side tells it: there q balances P."""
    bounds = [v[np.isfinite(v)] for v in (form.lower, form.upper) if v is not None]
    if form.cones.fixed or form.P is None or any(np.any(v) for v in (form.b, *bounds)):
        return 1.0
    pull = _middle(columns * np.abs(form.q), none=0.0)
    return _usual(pull / _middle(columns**2 * np.abs(form.P.diagonal()), none=np.inf))


def _with_free(form: StandardForm, columns: Array, free: npt.NDArray[np.bool_]) -> Array:
    """The unknowns in no row get the unit in which they curve as much as the others cost."""
    if form.P is None:
        return columns
    curvature = form.P.diagonal()
    curved = free & (curvature > 0)
    others = _coefficients(form, np.where(free, 0.0, columns))
    pulls = form.q[curved] ** 2 / curvature[curved]
    size = _middle(others, none=0.0) or _middle(pulls, none=0.0)
    if not size:
        return columns
    units = np.sqrt(size / curvature[curved])
    if np.all((units <= USUAL) & (units >= 1 / USUAL)):
        units = np.ones(len(units))
    columns = columns.copy()
    columns[free] = 1.0
    columns[curved] = powers(units)
    return columns


def _coefficients(form: StandardForm, columns: Array) -> Array:
    """The sizes of the objective's coefficients, unknowns in units."""
    linear = columns * np.abs(form.q)
    return (
        linear
        if form.P is None
        else np.concatenate([linear, columns**2 * np.abs(form.P.diagonal())])
    )


def _alike(one: sp.csc_array | None, other: sp.csc_array) -> bool:
    """Are the entries of two matrices the same up to a usual factor?"""
    if one is None or one.nnz != other.nnz or one.shape != other.shape:
        return False
    a, b = np.abs(one.data), np.abs(other.data)
    return bool(
        np.all(a <= USUAL * b)
        and np.all(b <= USUAL * a)
        and np.array_equal(one.indices, other.indices)
        and np.array_equal(one.indptr, other.indptr)
    )


def _middle(sizes: Array, none: float = 1.0) -> float:
    """The median of what is neither 0 nor infinite."""
    usable = sizes[(sizes > 0) & np.isfinite(sizes)]
    return float(np.median(usable)) if len(usable) else none


def _is_off(size: float, tolerance: float) -> bool:
    """Is the size of a solution too small for the tolerance, which is relative above 1 only?

    What is no larger than the tolerance is noise.
    """
    return NOISE * tolerance < size < 1 / USUAL


def _usual(size: float) -> float:
    """1 where the size is about that."""
    if not 0 < size < np.inf or 1 / USUAL <= size <= USUAL:
        return 1.0
    return _power(size)


def _power(size: float) -> float:
    return float(powers(np.array([size]))[0])


def minimise_in_units(
    scaler: Scaler,
    form: StandardForm,
    tolerance: float,
    time_limit: float | None,
    solve: Callable[[StandardForm, float, float | None], Array],
) -> Array:
    """A program's solution, found again where it shows that the units were far from right.

    ``solve`` takes the program, a tolerance and seconds. Where it fails after it once succeeded,
    the last solution stands.
    """
    end = None if time_limit is None else time.perf_counter() + time_limit
    x = solve(form, tolerance, time_limit)
    for _ in range(ROUNDS):
        if not scaler.learn(form, x, tolerance):
            break
        try:
            x = solve(form, tolerance, None if end is None else end - time.perf_counter())
        except SubproblemError:
            break
    return x
