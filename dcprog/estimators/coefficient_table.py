"""A table of coefficients with standard errors, z-statistics, p-values and intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from dcprog.foundation.arrays import Array
from dcprog.foundation.table import Table

__all__ = ["CoefficientTable"]

HEADINGS = ("coef", "std err", "z", "P>|z|", "[0.025", "0.975]")


@dataclass(frozen=True)
class CoefficientTable:
    """Estimates and standard errors, with z, p-values and intervals by the normal distribution.

    Attributes
    ----------
    title : str
        The first line of the table.
    names : list of str
    coef, errors : array of shape (k,)

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.estimators.coefficient_table import CoefficientTable
    >>> CoefficientTable("a fit", ["x0"], np.array([2.0]), np.array([0.5]))
    a fit
              coef   std err         z     P>|z|    [0.025    0.975]
    x0           2       0.5         4   6.3e-05      1.02      2.98
    """

    title: str
    names: list[str]
    coef: Array
    errors: Array

    @property
    def z(self) -> Array:
        """The coefficients divided by their standard errors."""
        with np.errstate(all="ignore"):
            return self.coef / self.errors

    @property
    def p_values(self) -> Array:
        """The two-sided p-values for the hypothesis that a coefficient is 0."""
        return 2 * ndtr(-np.abs(self.z))

    def interval(self, level: float = 0.95) -> Array:
        """The ends of the confidence intervals, of shape (k, 2).

        Parameters
        ----------
        level : float, default 0.95
            0 < level < 1.

        Raises
        ------
        ValueError
            The level is not between 0 and 1.
        """
        if not 0 < level < 1:
            raise ValueError(f"level={level!r}: a number between 0 and 1 is needed")
        reach = float(ndtri((1 + level) / 2)) * self.errors
        return np.column_stack([self.coef - reach, self.coef + reach])

    def _columns(self) -> list[Array]:
        return [self.coef, self.errors, self.z, self.p_values, *self.interval().T]

    def _table(self) -> Table:
        return Table(self.title, self.names, dict(zip(HEADINGS, self._columns(), strict=True)))

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame; pandas must be installed."""
        return self._table().to_frame()

    def __repr__(self) -> str:
        return repr(self._table())

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()
