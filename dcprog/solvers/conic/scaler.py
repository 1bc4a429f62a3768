"""Scale programs in standard form to size 1, as solvers' tolerances are absolute around 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.solvers.conic.cones import Rows
from dcprog.solvers.conic.scaling import Scaling
from dcprog.solvers.conic.standard_form import StandardForm
from dcprog.solvers.conic.units import (
    USUAL,
    Entries,
    coefficients,
    common_unit,
    middle,
    power,
    units_of,
    usual,
    with_free,
)

__all__ = ["Scaler", "minimise_in_units"]

NOISE = 1e2  # sizes below this many tolerances are noise
ROUNDS = 3  # most repeated solutions with corrected units


class Scaler:
    """Choose units for a sequence of similar programs.

    Unknowns and rows get the units of :class:`Entries`, unknowns in no row the unit in which their
    curvature is as large as the other terms, and the objective the unit in which its coefficients
    are of size 1. The sizes at a solution correct the units of the next program. Programs that are
    of size 1 up to a factor of a hundred are not scaled.

    Examples
    --------
    >>> from dcprog.solvers.conic.cones import Cones
    >>> A, b = sp.csc_array([[-1.0]]), np.array([-1e9])
    >>> form = StandardForm(None, np.array([1e-12]), A, b, Cones(nonneg=1))
    >>> scaled, scaling = Scaler().scale(form)
    >>> float(np.round(scaled.b[0], 1)), float(np.round(scaled.q[0], 1))
    (-0.9, 1.1)
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Discard all units and all sizes learnt from solutions."""
        self._boosts = True
        self._columns: Array | None = None  # units of the columns of A
        self._rows: Array | None = None
        self._heads: Rows | None = None  # first rows of the boosted cones
        self._unit: float | None = None
        self._objective: float | None = None
        self._coefficients: float | None = None  # the objective's size when its unit was chosen
        self._even: sp.csc_array | None = None  # the matrix A that the units were chosen for
        self._matrices: dict[str, tuple[Any, ...]] = {}

    def give_up_boosts(self) -> bool:
        """Switch off boosts after a failure of the solver; False if no cone was boosted."""
        boosted = self._boosts and self._heads is not None and len(self._heads) > 0
        if boosted:
            self.reset()
            self._boosts = False
        return boosted

    def scale(self, form: StandardForm) -> tuple[StandardForm, Scaling]:
        """The program in its chosen units, and the scaling."""
        with np.errstate(all="ignore"):
            scaling = self._scaling(form)
        if scaling is None:
            return form, Scaling()
        columns, objective = scaling.columns, scaling.objective
        P = None if form.P is None else self._both("P", form.P, columns, columns, objective)
        b = scaling.boosted(form.b)
        return form.in_units(P, self._boosted(form.A, scaling), b, columns, objective), scaling

    def learn(self, form: StandardForm, x: Array, tolerance: float) -> bool:
        """Correct the units by the sizes at a solution; False if the units were right.

        Sizes below the tolerance are noise and are ignored.
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
            self._unit, wrong = power(self._unit * size), True
        if _is_off(seen, tolerance):
            self._objective, wrong = power(1 / terms), True
        if wrong:
            self._coefficients = None
        return wrong

    def _scaling(self, form: StandardForm) -> Scaling | None:
        """The scaling for a program; None if every unit is 1."""
        if self._columns is None or self._rows is None or not self._fits(form):
            self._columns, self._rows, self._heads = units_of(form, self._boosts)
            self._even = form.A
        if self._unit is None:
            self._unit = common_unit(form, self._columns)
        columns = self._columns * self._unit
        free = np.diff(form.A.indptr) == 0
        if np.any(free):
            columns = with_free(form, columns, free)
        objective = self._follow(middle(coefficients(form, columns)))
        rows = self._rows / self._unit
        if objective == 1 and np.all(columns == 1) and np.all(rows == 1):
            return None
        return Scaling(columns, rows, objective, self._heads)

    def _follow(self, coefficients: float) -> float:
        """The unit of the objective, updated if its coefficients change by a large factor."""
        if self._objective is None:
            self._objective = usual(1 / coefficients)
            self._coefficients = coefficients
        moved = usual(coefficients / (self._coefficients or coefficients))
        if moved != 1 or self._coefficients is None:
            self._objective /= moved
            self._coefficients = coefficients
        return self._objective

    def _fits(self, form: StandardForm) -> bool:
        """True if the current units still suit the rows and columns of A."""
        assert self._columns is not None
        assert self._rows is not None
        if self._even is form.A or _alike(self._even, form.A):
            return True
        if form.A.shape != (len(self._rows), len(self._columns)):
            return False
        return Entries(form, self._heads).are_even(np.log2(self._rows), np.log2(self._columns))

    def _boosted(self, A: sp.csc_array, scaling: Scaling) -> sp.csc_array:
        """The matrix A in units, with boosted cones; the last result is cached."""
        if not scaling.boosts:
            return self._both("A", A, scaling.rows, scaling.columns, 1.0)
        parts: list[Any] = [scaling.rows, scaling.columns, scaling.heads]
        key = np.hstack(parts)
        kept = self._matrices.get("boosted")
        if kept is None or kept[0] is not A or not np.array_equal(kept[1], key):
            kept = self._matrices["boosted"] = (A, key, scaling.boosted_rows(A))
        return kept[2]

    def _both(
        self, name: str, matrix: sp.csc_array, rows: Any, columns: Any, factor: float
    ) -> sp.csc_array:
        """A matrix with scaled rows and columns; the last result is cached by name."""
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


def _alike(one: sp.csc_array | None, other: sp.csc_array) -> bool:
    """True if two matrices have the same pattern and entries equal up to a factor of 100."""
    if one is None or one.nnz != other.nnz or one.shape != other.shape:
        return False
    a, b = np.abs(one.data), np.abs(other.data)
    return bool(
        np.all(a <= USUAL * b)
        and np.all(b <= USUAL * a)
        and np.array_equal(one.indices, other.indices)
        and np.array_equal(one.indptr, other.indptr)
    )


def _is_off(size: float, tolerance: float) -> bool:
    """True if a size is too small for the tolerance, which is relative only above 1.

    Sizes up to 100 tolerances are noise.
    """
    return NOISE * tolerance < size < 1 / USUAL


def minimise_in_units(
    scaler: Scaler,
    form: StandardForm,
    tolerance: float,
    time_limit: float | None,
    solve: Callable[[StandardForm, float, float | None], Array],
) -> Array:
    """Solve a program, and again with corrected units if the solution shows that they were wrong.

    ``solve`` takes the program, a tolerance and seconds. If a later solve fails, the last solution
    is returned.
    """
    deadline = Deadline(time_limit)
    x = solve(form, tolerance, time_limit)
    for _ in range(ROUNDS):
        if not scaler.learn(form, x, tolerance):
            break
        try:
            x = solve(form, tolerance, deadline.left)
        except SubproblemError:
            break
    return x
