"""Bounds of the rounding errors of sums, by which bounds are lowered and ranges widened."""

from __future__ import annotations

import numpy as np

EPS = float(np.finfo(float).eps)
# Roundings of one term, a few products, before it is added.
PRODUCTS = 8
# Roundings of a value of a loss or transform, or of the slope of a chord between such values.
FUNCTIONS = 200
# Numbers below this have fewer digits.
SMALLEST = float(np.finfo(float).tiny)


def of_terms(n: int) -> float:
    """A bound of the rounding error of a sum of n terms, as a share of Σ|term|.

    Every partial sum is rounded, so that a term undergoes at most n roundings beside its own.

    Examples
    --------
    >>> from dcprog.bounds.rounding import of_terms
    >>> of_terms(10) < 1e-14
    True
    """
    return (2 * n + PRODUCTS) * EPS


# The share of Σ|term| for a line: a level, and a slope times a distance.
OF_LINE = of_terms(3)


def of_functions(n: int) -> float:
    """The bound of ``of_terms`` for a sum of n values of losses and transforms."""
    return of_terms(n) + FUNCTIONS * EPS
