"""How much of a sum may be rounding: bounds are lowered, and ranges widened, by that much."""

from __future__ import annotations

import numpy as np

__all__ = ["KNOWN_DIGITS", "SMALLEST", "of_functions", "of_terms"]

EPS = float(np.finfo(float).eps)
# Roundings of one term before it is added: of a few products.
PRODUCTS = 8
# The same of values of losses and transforms, and of slopes of chords between them.
FUNCTIONS = 200
# Values of a risk that differ by that share of what its terms add up to are the same: seven of
# sixteen digits are left to the functions that a user wrote, and to sums of as many terms as
# memory holds.
KNOWN_DIGITS = 1e-9
# Smaller numbers have fewer digits.
SMALLEST = float(np.finfo(float).tiny)


def of_terms(n: int) -> float:
    """By what share of Σ|term| a computed sum of n terms may be off.

    Every partial sum is rounded, so that a term meets n roundings at most beside its own.

    Examples
    --------
    >>> from dcprog.bounds.rounding import of_terms
    >>> of_terms(10) < 1e-14
    True
    """
    return (2 * n + PRODUCTS) * EPS


def of_functions(n: int) -> float:
    """Bounds of the rounding in a sum of n values of losses and transforms."""
    return of_terms(n) + FUNCTIONS * EPS
