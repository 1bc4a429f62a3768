"""How much of a sum may be rounding: bounds are lowered, and ranges widened, by that much."""

from __future__ import annotations

import numpy as np

__all__ = ["KNOWN_DIGITS", "of_terms"]

# Roundings of one term before it is added: of functions of a few operations each.
EACH = 50
# Values of a function that differ by that share of what its terms add up to are the same: seven of
# sixteen digits are left to the functions that a user wrote, and to sums of as many terms as
# memory holds.
KNOWN_DIGITS = 1e-9


def of_terms(n: int) -> float:
    """By what share of Σ|term| the computed sum of n terms may be off.

    Every partial sum is rounded, so that a term meets n roundings at most beside its own.

    Examples
    --------
    >>> from dcprog.bounds.rounding import of_terms
    >>> of_terms(10) < 1e-12
    True
    """
    return float((2 * n + EACH) * np.finfo(float).eps)
