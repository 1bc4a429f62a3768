"""The linear terms of one variable in a majorant, gathered in one Parameter."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array, unvec

__all__ = ["Gradient"]

# If at most this share of a variable's entries is reached, the Parameter has only these entries:
# compiling costs time and memory by the product of Parameters, variables and cones.
FEW = 0.5


class Gradient:
    """⟨g, x⟩ for one variable x, with a Parameter for the entries of g that can differ from 0.

    Parameters
    ----------
    variable : cvxpy.Variable
    """

    def __init__(self, variable: cp.Variable) -> None:
        self.variable = variable
        self._reached = np.zeros(variable.size, dtype=bool)
        self._entries: npt.NDArray[np.intp] | None = None  # None: all

    def reach(self, entries: npt.NDArray[np.bool_]) -> None:
        """Mark these entries, column-major, as reached by a linear term."""
        self._reached |= entries

    def expression(self) -> cp.Expression:
        """The expression ⟨g, x⟩, made after all terms have called ``reach``."""
        variable = self.variable
        if np.count_nonzero(self._reached) > FEW * variable.size:
            self._parameter = cp.Parameter(variable.shape)
            return cp.sum(cp.multiply(self._parameter, variable))
        self._entries = np.flatnonzero(self._reached)
        self._parameter = cp.Parameter(self._entries.size)
        return cp.sum(cp.multiply(self._parameter, cp.vec(variable, order="F")[self._entries]))

    def begin(self) -> None:
        """Reset the sum of the terms to 0."""
        self._sum = np.zeros(self.variable.size)

    def add(self, term: Array) -> None:
        """Add a term's slope, column-major."""
        self._sum += term

    def set(self) -> None:
        """Give the Parameter the sum of the terms."""
        shape = self._parameter.shape
        entries = slice(None) if self._entries is None else self._entries
        self._parameter.value = unvec(self._sum[entries], shape)
