"""Changes of units of a program in standard form and of its solutions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcprog.foundation.arrays import Array
from dcprog.solvers.conic.cones import Rows, to_edges
from dcprog.solvers.conic.standard_form import Evidence, StandardForm

__all__ = ["BoostedEvidence", "Scaling"]


@dataclass(frozen=True)
class Scaling:
    """The scaling x = columns·x̂,  rows·(b − Ax) ∈ K,  objective·F, without rounding errors.

    All factors are powers of two. In the cones that start at ``heads``, the factors of the first
    two rows apply to their sum and their difference: ŝ = T⁻¹·rows·T·s, where T maps the two rows to
    sum and difference, a Lorentz boost.
    """

    columns: Array | float = 1.0
    rows: Array | float = 1.0
    objective: float = 1.0
    heads: Rows | None = None

    def primal(self, x: Array) -> Array:
        """The unknowns of the program from those of the scaled one."""
        return np.asarray(self.columns * x, dtype=float)

    def dual(self, z: Array) -> Array:
        """The multipliers of the program from those of the scaled one."""
        return self.boosted(z) / self.objective

    def boosted(self, s: Array) -> Array:
        """T⁻¹·rows·T·s for rows s or, as the map is symmetric, for multipliers."""
        if not self.boosts:
            return np.asarray(self.rows * s, dtype=float)
        turn, factors = self._turned()
        return np.asarray(turn @ (factors * (turn @ s)), dtype=float)

    def boosted_rows(self, A: sp.csc_array) -> sp.csc_array:
        """The matrix A in units, with boosted cones."""
        turn, factors = self._turned()
        # in this order, because the boost itself has rounding errors
        scaled = turn @ (sp.diags_array(factors) @ (turn @ A))
        scaled = sp.csc_array(scaled @ sp.diags_array(np.asarray(self.columns)))
        scaled.eliminate_zeros()
        return scaled

    @property
    def boosts(self) -> bool:
        """True if a cone is boosted."""
        return self.heads is not None and len(self.heads) > 0

    def _turned(self) -> tuple[sp.csr_array, Array]:
        """The map T, and the factors f with  T⁻¹·rows·T = T·f·T."""
        assert self.heads is not None
        factors = np.array(self.rows)
        factors[self.heads] /= 2
        factors[self.heads + 1] /= 2
        return to_edges(len(factors), self.heads), factors

    def evidence(self, x: Array, z: Array) -> Evidence:
        """The evidence from the program's unknowns and the scaled program's multipliers."""
        if not self.boosts:
            return Evidence(x, self.dual(z), self.columns)
        return BoostedEvidence(x, z, self.columns, self)


@dataclass(frozen=True, eq=False)
class BoostedEvidence(Evidence):
    """Evidence with the multipliers z of the scaled program.

    In the units of the program itself, the difference of a boosted cone's first two multipliers
    would be lost in the rounding errors of their sum.
    """

    scaling: Scaling = Scaling()

    def bound(self, form: StandardForm | None) -> float:
        """The lower bound of a program's optimal value from this evidence."""
        if form is None or self.x.shape != form.q.shape or self.z.shape != form.b.shape:
            return -np.inf
        with np.errstate(all="ignore"):
            A, P = self.scaling.boosted_rows(form.A), form.P
            if P is not None:
                units = sp.diags_array(np.asarray(self.units))
                P = sp.csc_array(self.scaling.objective * (units @ P @ units))
            b = self.scaling.boosted(form.b)
            scaled = form.in_units(P, A, b, self.units, self.scaling.objective)
        return scaled.bound(self.x / self.units, self.z) / self.scaling.objective
