"""Shares of numbers' sizes that count as rounding, and tolerances that several files share."""

from __future__ import annotations

import numpy as np

# A sum of a few numbers, or a function of one, has a rounding error below this share of their size.
LAST_PLACES = 4 * float(np.finfo(float).eps)
# A computed sum is exact to this share of the absolute values of its terms.
ROUNDING = 1e-12
# Values computed in two ways, in users' formulas too, differ by at most this share of the sum of
# the absolute values of their terms: seven of sixteen digits are left to rounding.
KNOWN_DIGITS = 1e-9
# A violation up to this share of the absolute values of a constraint's terms counts as none, and an
# argument outside a domain by at most this share of its size as one at the edge.
FEASIBLE = 1e-6
# A solver's sums over samples, in NumPy's order, are exact to this share of their terms' sizes.
SUMMED = 1e-14
# The default of the option `tol`: runs end where the criticality gap is at most this share of
# the sum of the absolute values of F's terms.
TOL = 1e-6
MAX_ITER = 100  # the default of the option `max_iter`: steps of the loop from each start
# Coefficients that no penalty holds are taken to lie within this many times their sizes and units.
RADIUS = 10.0
# Difference quotients step this far, in units of the argument: near the cube root of the unit
# roundoff, where the errors of a central difference by rounding and by curvature balance.
DIFFERENCE = 1e-5
# Slopes beside a point that differ by more than this share of the largest belong to a kink.
JUMP = 1e-2
# A step shorter than this, in units, is none that a run could go on by.
STILL = 1e-6
# Two points closer than this, in units or relative to their sizes, are one to a race.
ONE_PLACE = 1e-2
# Graduated starts soften concave functions to this share of their first slope.
SOFT = 0.1
