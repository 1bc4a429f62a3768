"""Local minima by a quasi-Newton method, from random points and vertices of the convex set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

import cvxpy as cp
import numpy as np
from cvxpy.constraints.zero import Equality, Zero
from scipy.optimize import minimize

from dcprog.engine.protocol import Surrogate
from dcprog.foundation.arrays import EDGE, Array, unvec, vec
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.majorants.gradients import Tape
from dcprog.majorants.tree import Values, nodes
from dcprog.problem.surrogate import ProblemSurrogate
from dcprog.starts.protocol import Budget, Candidate

MOST_ENTRIES = 400  # of variables
MOST_ATOMS = 30_000  # evaluations of atoms and their slopes from one point: about a second
# Distances of random points from 0, in units, or from the middle of a box, in shares of it; far
# points are projected to near vertices of the convex constraints.
SIZES = 1.0, 10.0, 0.3
ROUNDS, STEPS = 12, 100  # of multipliers, and quasi-Newton steps in each
PRICE, DEARER, DEAREST = 1.0, 10.0, 1e5  # of squared violations in scales, growth, the most
NEARLY = 1e-3  # violations, relative to their terms, from which a run may still be feasible
MET = 1e-7  # violations, relative to their scales, that count as none
SLOWLY = 0.25  # violations that fall by less in a round are priced higher
KEPT = 2  # of the minima, for the heats
# Slopes over a unit step and decreases, relative to the scale, at which a round ends.
FLAT, FINE = 1e-8, 1e-12
OUTSIDE = 1e20  # in place of F outside its domain
# Quasi-Newton steps stall at their kinks: a ramp loss of 200 samples cost four times the race, for
# no lower point.
KINKED = cp.abs, cp.max, cp.maximum, cp.min, cp.minimum, cp.norm1, cp.norm_inf, cp.sum_largest


class Local:
    """Ends of a quasi-Newton method on the augmented Lagrangian.

    It follows curved constraints, which majorised ones leave only in short steps, and is short of
    a majorant's safety: the ends are points to run from, whatever they are.

    References
    ----------
    Conn, Gould, Toint (1991), A globally convergent augmented Lagrangian algorithm, SIAM J. Numer.
    Anal. 28; Byrd, Lu, Nocedal, Zhu (1995), A limited memory algorithm for bound constrained
    optimization, SIAM J. Sci. Comput. 16.
    """

    def takes(self, surrogate: Surrogate) -> str | None:
        """Smooth cvxpy problems of a few hundred entries, with equations and inequalities only."""
        if not isinstance(surrogate, ProblemSurrogate):
            return "it is no cvxpy problem"
        if surrogate.points.size > MOST_ENTRIES:
            return f"it has more than {MOST_ENTRIES} entries of variables"
        kinds = (cp.constraints.Inequality, Equality, Zero, cp.NonNeg, cp.NonPos)
        if not all(isinstance(c, kinds) for c in surrogate.majorised.problem.constraints):
            return "it has constraints with cones"
        shaped = ("PSD", "NSD", "symmetric", "diag", "hermitian")
        if any(v.attributes[name] for v in surrogate.points.variables for name in shaped):
            return "it has variables with a shape"
        problem = surrogate.majorised.problem
        roots = [problem.objective.args[0], *(arg for c in problem.constraints for arg in c.args)]
        if any(isinstance(node, KINKED) for root in roots for node in nodes(root)):
            return "it has kinks"
        return None

    def points(self, surrogate: Surrogate, budget: Budget) -> Iterable[Array | Candidate]:
        """The lowest minima, those that meet the constraints first."""
        assert isinstance(surrogate, ProblemSurrogate)
        with np.errstate(all="ignore"):
            lagrangian = _Lagrangian(surrogate)
            found = []
            for x in _begins(surrogate, lagrangian.low, lagrangian.high, budget):
                end = lagrangian.minimised(x, budget.deadline)
                problem = surrogate.majorised
                missed, value = problem.miss(end).relative, problem.exact(end)
                if np.isfinite(value) and missed <= NEARLY:
                    found.append((max(missed, problem.tolerance), value, end))
            found.sort(key=lambda one: one[:2])
            for missed, value, end in found[:KEPT]:
                feasible = missed <= surrogate.majorised.tolerance
                yield Candidate("local", end, value) if feasible else end


def _begins(
    surrogate: ProblemSurrogate, low: Array, high: Array, budget: Budget
) -> Iterator[Array]:
    """Random points of several sizes that meet the convex constraints, uniform in a box."""
    unit, points = surrogate.sizes.natural.unit, surrogate.points
    boxed = np.isfinite(low) & np.isfinite(high)
    middle, half = (np.where(boxed, t, 0.0) for t in ((low + high) / 2, (high - low) / 2))
    for k in range(budget.effort.local):
        if budget.deadline.left == 0:
            return
        size, uniform = SIZES[k % len(SIZES)], budget.rng.uniform(-1, 1, points.size)
        normal = unit * budget.rng.standard_normal(points.size)
        x = np.where(boxed, middle + min(size, 1.0) * half * uniform, size * normal)
        with suppress(SubproblemError):
            yield surrogate.starts.inside(points.projected(x))


class _Lagrangian:
    """F plus priced violations, in units of the variables and of the constraints' terms."""

    def __init__(self, surrogate: ProblemSurrogate) -> None:
        problem, points = surrogate.majorised, surrogate.points
        asked = [_asked(constraint) for constraint in problem.problem.constraints]
        self._tape = Tape([problem.frame.node, *(e for e, _ in asked)], points)
        self._counts = [e.size for e, _ in asked]
        self._equal = np.repeat(np.array([equal for _, equal in asked], dtype=bool), self._counts)
        self._ends = np.cumsum([0, *self._counts])[:-1]
        sides = [v.get_bounds() for v in points.variables]
        shapes = [v.shape for v in points.variables]
        self.low, self.high = (
            np.concatenate(
                [vec(np.broadcast_to(s[k], shape)) for s, shape in zip(sides, shapes, strict=True)]
            )
            for k in (0, 1)
        )
        self._scale, self._sizes = 1.0, np.ones(self._equal.size)
        self._units = surrogate.sizes.natural.unit * np.ones(points.size)

    def minimised(self, x: Array, deadline: Deadline) -> Array:
        """The end of the method of multipliers, of the descent where there are no constraints."""
        z, low, high = (side / self._units for side in (x, self.low, self.high))
        multipliers, price, before, lowest = np.zeros(self._equal.size), PRICE, np.inf, np.inf
        left = int(MOST_ATOMS / self._tape.work)
        for _ in range(ROUNDS):
            if deadline.left == 0 or left <= 0:
                break
            multipliers = multipliers * self._rescaled(self._units * z)
            found = minimize(
                self._value_and_slope,
                z,
                (multipliers, price),
                method="L-BFGS-B",
                jac=True,
                bounds=list(zip(low, high, strict=True)),
                options={
                    "maxiter": STEPS,
                    "maxfun": left,
                    "maxcor": 20,
                    "gtol": FLAT,
                    "ftol": FINE,
                },
            )
            left -= found.nfev
            z, value = found.x, float(found.fun) * self._scale
            misses = self._misses(self._tape.values(self._units * z))
            shifted = multipliers + price * misses
            multipliers = np.where(self._equal, shifted, np.maximum(shifted, 0.0))
            missed = np.where(self._equal, np.abs(misses), np.maximum(misses, 0.0))
            most = float(np.max(missed, initial=0.0))
            if most <= MET and value >= lowest - MET * self._scale:
                break
            if most > max(SLOWLY * before, MET):
                if price >= DEAREST:
                    break
                price *= DEARER
            before, lowest = most, value
        return self._units * z

    def _rescaled(self, x: Array) -> Array:
        """Take the scales of F and of the constraints at x; factors of the multipliers."""
        values = self._tape.values(x)
        sizes = [np.max(values.magnitude(root), initial=0.0) for root in self._tape.roots]
        known = [float(size) if 0 < size < np.inf else 1.0 for size in sizes]
        old, scale, self._scale = self._sizes, self._scale, known[0]
        self._sizes = np.repeat(np.array(known[1:]), self._counts)
        return self._sizes / old * scale / self._scale

    def _misses(self, values: Values) -> Array:
        rows = [vec(values.array(root)) for root in self._tape.roots[1:]]
        return np.concatenate([np.zeros(0), *rows]) / self._sizes

    def _value_and_slope(self, z: Array, multipliers: Array, price: float) -> tuple[float, Array]:
        tape, values = self._tape, self._tape.values(self._units * z)
        shifted = multipliers + price * self._misses(values)
        shifted = np.where(self._equal, shifted, np.maximum(shifted, 0.0))
        priced = float(np.sum(shifted**2 - multipliers**2)) / (2 * price)
        total = float(np.sum(values.array(tape.roots[0]))) / self._scale + priced
        weights = np.split(shifted / self._sizes, self._ends[1:]) if self._counts else []
        shapes = [root.shape for root in tape.roots]
        first = np.full(shapes[0], 1 / self._scale)
        rest = [unvec(w, shape) for w, shape in zip(weights, shapes[1:], strict=True)]
        try:
            slope = tape.gradient([first, *rest], values, EDGE) * self._units
        except (ValueError, ArithmeticError):
            return OUTSIDE, np.zeros(z.size)
        return (total, slope) if np.isfinite(total) else (OUTSIDE, np.zeros(z.size))


def _asked(constraint: cp.Constraint) -> tuple[cp.Expression, bool]:
    """An expression that is to be 0 (True), or at most 0."""
    if isinstance(constraint, cp.constraints.Inequality):
        return constraint.expr, False
    if isinstance(constraint, Equality):
        return constraint.expr, True
    if isinstance(constraint, Zero):
        return constraint.args[0], True
    sign = -1 if isinstance(constraint, cp.NonNeg) else 1
    return sign * constraint.args[0], False
