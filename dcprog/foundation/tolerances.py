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
# What subtractions have shrunk to this share of its size may have lost too many digits, and is
# computed anew.
CANCELLED = 1e-3
# An entry below this share of the largest one beside it counts as 0.
NEGLIGIBLE = 1e-8
# Squares of larger numbers overflow, those of numbers below its reciprocal vanish.
SQUARABLE = float(np.sqrt(np.finfo(float).max))
# Data whose usual size is within this factor of 1 are left in their unit.
USUAL = 1e2
LEVEL = 0.95  # of confidence intervals, as usual
# The default of the option `tol`: runs end where the criticality gap is at most this share of
# the sum of the absolute values of F's terms.
TOL = 1e-6
CONVEX_START = 1e-8  # of the convex problem that gives the start, in the same share
MAX_ITER = 100  # the default of the option `max_iter`: steps of the loop from each start
# Coefficients that no penalty holds are taken to lie within this many times their sizes and units.
RADIUS = 10.0
# Difference quotients step this far, in units of the argument: near the cube root of the unit
# roundoff, where the errors of a central difference by rounding and by curvature balance.
DIFFERENCE = 1e-5
# Shorter steps that are tried next, for functions with a bend narrower than that.
DIFFERENCES = DIFFERENCE * np.array([1.0, 1e-2, 1e-4, 1e-6])
# Slopes beside a point that differ by more than this share of the largest belong to a kink.
JUMP = 1e-2
# A function that has fallen by this multiple of its first size, or that falls along a step of this
# length, counts as unbounded.
BOTTOMLESS = 1e25
# Slopes that are to be 0 add up to at most this share of their sizes.
STATIONARY = 1e-7
# A step shorter than this, in units, is none that a run could go on by.
STILL = 1e-6
# Two points closer than this, in units or relative to their sizes, are one to a race.
ONE_PLACE = 1e-2
# Graduated starts soften concave functions to this share of their first slope.
SOFT = 0.1
# Solves of which the minimiser is needed, not the value alone, end within this share of F's scale:
# at a smooth minimum an error of 1e-10 in the value leaves 1e-5 in the point.
TIGHT = 1e-10
# Eigenvalues and singular values below this share of the largest are 0 but for rounding.
RANK = 1e-10
# Runs and solves that only say where others begin, or which to drop, end within this share of F's
# scale.
LOOSE = 1e-4
# An iteration inside another one is accurate to this share of the outer one's tolerance.
INNER = 1e-2
# While the outer iteration is far from its end, the inner one ends at this share of what the outer
# one gains, or has left to gain: what it leaves is less than what the next outer step takes up.
FORCING = 0.1
# A value this many tolerances above another one counts as no higher: at a minimiser no solver gets
# below it.
ACCEPT = 10.0
# Decimal steps around a size that is known to a factor of ten.
DECADES = (1.0, 0.1, 10.0)
# A point beside another one, in units: near enough for the same slopes, too far to be rounding.
BESIDE = 0.1
HALVINGS = 30  # of an interval, of which a billionth is left
# A step of a search along a line has to lower the function by this share of what its first slope
# promises: Armijo's rule, with the usual constant.
ARMIJO = 1e-4
# A slope of at most this share of another one is flat beside it.
FLAT = 0.1
# The share of the way to the boundary that a step of an interior point method takes, as usual.
TO_BOUNDARY = 0.995
# Steps of an inner iteration that ends long before: a guard against endless loops.
MOST_STEPS = 500
# Rounds in a row that gain next to nothing, after which an inner iteration ends.
STALLS = 3
# Steps of the loop from a point that another search has found, or that another search goes on from:
# most runs that end well are shorter.
HASTY = 30
# Coefficients up to which dense systems cost less than what is computed from the samples.
FEW_COEFFICIENTS = 200
