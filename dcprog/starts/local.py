"""Local minima by smooth methods, from random points and vertices of the convex set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import cvxpy as cp
import numpy as np
from scipy.optimize import minimize

from dcprog.foundation.arrays import EDGE, Array, unvec, vec
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.foundation.tolerances import DECADES, RADIUS, ROUNDING, STILL, TOL
from dcprog.majorants.gradients import Tape
from dcprog.majorants.tree import Values, nodes, spread_to
from dcprog.majorants.user_problem import Points, compared
from dcprog.problem.surrogate import ProblemSurrogate
from dcprog.starts.protocol import Budget, Candidate, OfProblem

MOST_ENTRIES = 400  # of variables
MOST_ATOMS = 30_000  # evaluations of atoms and their slopes from one point: about a second
NEARLY = 1e-3  # violations, relative to their terms, that a run from there may still remove
KEPT = 2  # minima that are given to the race
OUTSIDE = 1e20  # in place of F outside its domain, and of violations
# Steps stall at kinks: a ramp loss of 200 samples cost four times the race, for no lower point.
KINKED = cp.abs, cp.max, cp.maximum, cp.min, cp.minimum, cp.norm1, cp.norm_inf, cp.sum_largest
KINKS = "it has kinks"

# Sequential quadratic programming is several times as fast in few entries and rows; its steps cost
# the cube of these. It is repeated, with the scales of its end, until it moves less than STILL. All
# repetitions together take STEPS_OF_SQP evaluations, of which each counts as LEAST_STEPS or more.
FEW_ENTRIES, FEW_ROWS = 60, 150
STEPS_OF_SQP, LEAST_STEPS = 200, 20
JACOBIAN = 3  # evaluations with slopes that take as long as one with the Jacobian beside them
FALL = 1e-10  # the decrease of F, relative to its scale, at which it ends
# Random points of sequential quadratic programming, as a multiple of those of the method of
# multipliers; they end where they have evaluated as many atoms as the latter may.
TIMES = 9

ROUNDS, STEPS = 12, 100  # rounds of the method of multipliers, and quasi-Newton steps in each
PRICE, DEARER, DEAREST = 1.0, 10.0, 1e5  # penalty parameter at first, its growth, its largest value
MET = 1e-7  # violations, relative to their scales, that count as none
SLOWLY = 0.25  # the penalty parameter grows where a round leaves a larger share of the violation
# Slopes over a unit step and decreases, relative to the scale, at which a method ends.
FLAT = 1e-8


class Local(OfProblem):
    """Ends of sequential quadratic programming, or of the method of multipliers.

    These follow curved constraints, which majorised ones leave only in short steps, and are short
    of a majorant's safety: the ends are points to run from, whatever they are.
    """

    def refusal(self, surrogate: ProblemSurrogate) -> str | None:
        """Refuse kinks that no epigraph removes, cones, and more than a few hundred entries."""
        reason = unfit(surrogate)
        if reason != KINKS:
            return reason
        try:
            return None if SmoothProblem(surrogate).is_few else KINKS
        except Kinked:
            return KINKS

    def points(self, surrogate: ProblemSurrogate, budget: Budget) -> Iterable[Array | Candidate]:
        """The lowest minima; feasible ones come first."""
        with np.errstate(all="ignore"):
            smooth = SmoothProblem(surrogate)
            found: list[tuple[float, float, Array]] = []
            for count, x in enumerate(_begins(surrogate, smooth, budget)):
                if count >= budget.effort.local and not found:
                    break  # the constraints may contradict one another
                end = smooth.minimised(x, budget.deadline)
                problem = surrogate.majorised
                missed, value = problem.miss(end).relative, problem.exact(end)
                if np.isfinite(value) and missed <= NEARLY:
                    found.append((max(missed, problem.tolerance), value, end))
                    budget.agreed = _is_agreed(surrogate, found, budget)
                    if budget.agreed:
                        break
            found.sort(key=lambda one: one[:2])
            for missed, value, end in found[:KEPT]:
                feasible = missed <= surrogate.majorised.tolerance
                yield Candidate("local", end, value) if feasible else end


def unfit(surrogate: ProblemSurrogate) -> str | None:
    """The reason why the method does not take a problem; None if it does."""
    if not 0 < surrogate.points.size <= MOST_ENTRIES:
        return f"it has no entries of variables or more than {MOST_ENTRIES}"
    asked = _asked(surrogate.majorised.problem)
    if asked is None:
        return "it has constraints with cones"
    shaped = ("PSD", "NSD", "symmetric", "diag", "hermitian")
    if any(v.attributes[name] for v in surrogate.points.variables for name in shaped):
        return "it has variables with a shape"
    roots = [surrogate.majorised.problem.objective.args[0], *(e for e, _ in asked)]
    if any(map(_has_kinks, roots)):
        return KINKS
    return None


def _is_agreed(
    surrogate: ProblemSurrogate, found: list[tuple[float, float, Array]], budget: Budget
) -> bool:
    """True if no lower end is expected.

    The lowest is at a lower bound of F, or as many as the effort's `local` are equally low.
    """
    ends = np.array([one[:2] for one in found])
    values = ends[ends[:, 0] <= surrogate.majorised.tolerance, 1]
    if not values.size:
        return False
    lowest = float(np.min(values))
    slack = TOL * surrogate.scale(found[-1][2])  # to which a constant adds nothing
    if not surrogate.restoring and lowest <= surrogate.facts.lower_bound + slack:
        return True
    return int(np.count_nonzero(values <= lowest + slack)) >= budget.effort.local


def _begins(surrogate: ProblemSurrogate, smooth: SmoothProblem, budget: Budget) -> Iterator[Array]:
    """Random points of several sizes that meet the convex constraints, in a box often uniform."""
    unit, points = surrogate.sizes.natural.unit, surrogate.points
    low, high = implied_bounds(surrogate)
    boxed = np.isfinite(low) & np.isfinite(high)
    middle, half = (np.where(boxed, t, 0.0) for t in ((low + high) / 2, (high - low) / 2))
    for k in range(budget.effort.local * (TIMES if smooth.is_few else 1)):
        if budget.deadline.left == 0 or smooth.passed >= budget.effort.local * MOST_ATOMS:
            return
        size, uniform = DECADES[k % len(DECADES)], budget.rng.uniform(-1, 1, points.size)
        normal = unit * budget.rng.standard_normal(points.size)
        inside = middle + size * half * uniform if size <= 1 else np.clip(normal, low, high)
        x = np.where(boxed, inside, size * normal)
        with suppress(SubproblemError):
            yield surrogate.starts.inside(points.projected(x))


def implied_bounds(surrogate: ProblemSurrogate) -> tuple[Array, Array]:
    """Bounds of the entries, declared or by affine inequalities in one variable."""
    signs = surrogate.majorised.context.signs
    columns = [cp.vec(v, order="F") for v in surrogate.points.variables]
    low, above = (np.concatenate([signs.least(s * c) for c in columns]) for s in (1, -1))
    return low, -above


class SmoothProblem:
    """A problem in units of its variables and of its constraints' terms, and its local minima.

    Convex kinks that F, or a violation, rises with are variables: a maximum is a number above its
    terms, which are constraints.

    Parameters
    ----------
    surrogate : ProblemSurrogate
        Of a problem that :func:`unfit` accepts, but for its kinks.

    Attributes
    ----------
    low, high : array
        Declared bounds, infinite for the variables in place of kinks.
    passed : float
        Atoms whose values and slopes were evaluated so far.

    Raises
    ------
    Kinked
        A kink is concave, or F falls with it.

    References
    ----------
    Kraft (1988), A software package for sequential quadratic programming, DFVLR-FB 88-28; Conn,
    Gould, Toint (1991), A globally convergent augmented Lagrangian algorithm, SIAM J. Numer.
    Anal. 28; Byrd, Lu, Nocedal, Zhu (1995), A limited memory algorithm for bound constrained
    optimization, SIAM J. Sci. Comput. 16.
    """

    def __init__(self, surrogate: ProblemSurrogate) -> None:
        problem, self._own = surrogate.majorised, surrogate.points
        lifted = Epigraphs()
        root = lifted.of(problem.frame.node)
        pairs = [(e if eq else lifted.of(e), eq) for e, eq in _asked(problem.problem) or []]
        asked = [*pairs, *((e, False) for e in lifted.below)]
        self._lifted = lifted.nodes
        points = Points([*self._own.variables, *lifted.variables])
        self._tape = Tape([root, *(e for e, _ in asked)], points)
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
        self.passed = 0.0
        self._scale, self._sizes = 1.0, np.ones(self._equal.size)
        self._units = np.resize(surrogate.sizes.natural.unit, points.size)
        self._last: tuple[Array, Values] | None = None
        self._last_jacobian: tuple[Array, Array] | None = None

    @property
    def is_few(self) -> bool:
        """True for problems of sequential quadratic programming.

        Not of more equations than entries, with which SciPy's writes past its arrays: the process
        ends (scipy/scipy issue 25665).
        """
        entries, rows, equations = self._units.size, self._equal.size, np.sum(self._equal)
        return entries <= FEW_ENTRIES and 0 < rows <= FEW_ROWS and bool(equations <= entries)

    def minimised(self, x: Array, deadline: Deadline) -> Array:
        """The end of a method; it may miss constraints."""
        if not self.is_few:
            return self.by_multipliers(x, deadline)
        if self._lifted:
            x = self._with_kinks(x)
        left = min(STEPS_OF_SQP, int(MOST_ATOMS / (JACOBIAN * self._tape.work)))
        while left > 0 and deadline.left != 0:
            end, taken = self._by_quadratic_programs(x, left)
            self.passed += taken * JACOBIAN * self._tape.work
            if not np.all(np.isfinite(end)):
                break
            moved = np.max(np.abs(end - x) / np.maximum(np.abs(x), self._units))
            x, left = end, left - max(taken, LEAST_STEPS)
            if moved <= STILL:
                break
        return x[: self._own.size]

    def _with_kinks(self, x: Array) -> Array:
        """The point with the values of the kinks there, whose sizes are their units."""
        self._own.load(x)
        kinks = np.concatenate([vec(Values().array(node)) for node in self._lifted])
        self._units[x.size :] = np.maximum(np.abs(kinks), np.max(self._units[: x.size]))
        return np.append(x, kinks)

    def _by_quadratic_programs(self, x: Array, steps: int) -> tuple[Array, int]:
        """The end of sequential quadratic programming, and how often it has evaluated F."""
        self._rescaled(x)
        kinds = (("eq", self._equal, 1.0), ("ineq", ~self._equal, -1.0))
        constraints: list[Any] = [
            {
                "type": kind,
                "fun": lambda z, rows=rows, sign=sign: sign * self._bounded(z)[rows],
                "jac": lambda z, rows=rows, sign=sign: sign * self._jacobian(z)[rows],
            }
            for kind, rows, sign in kinds
            if np.any(rows)
        ]
        # without bounds, a step where a constraint is flat would lead many periods of a sine away
        boxed = np.isfinite(self.low) & np.isfinite(self.high)
        reach = np.where(boxed, np.inf, RADIUS * np.maximum(np.abs(x), self._units))
        low, high = np.maximum(self.low, x - reach), np.minimum(self.high, x + reach)
        found = minimize(
            self._objective,
            x / self._units,
            jac=True,
            method="SLSQP",
            bounds=list(zip(low / self._units, high / self._units, strict=True)),
            constraints=constraints,
            options={"maxiter": steps, "ftol": FALL},
        )
        return np.clip(self._units * found.x, self.low, self.high), int(found.nfev)

    def _objective(self, z: Array) -> tuple[float, Array]:
        values, tape = self._values(z), self._tape
        total = float(np.sum(values.array(tape.roots[0]))) / self._scale
        slope = self._slope(np.full(tape.roots[0].shape, 1 / self._scale), values)
        return (total, slope) if np.isfinite(total) else (OUTSIDE, slope)

    def _bounded(self, z: Array) -> Array:
        misses = self._misses(self._values(z))
        return np.nan_to_num(misses, nan=OUTSIDE, posinf=OUTSIDE, neginf=-OUTSIDE)

    def _jacobian(self, z: Array) -> Array:
        """The Jacobian of the constraints, each row divided by its scale."""
        if self._last_jacobian is not None and np.array_equal(z, self._last_jacobian[0]):
            return self._last_jacobian[1]
        lines = np.concatenate(self._tape.jacobians(self._values(z), EDGE)[1:])
        lines[~np.all(np.isfinite(lines), axis=1)] = 0.0
        jacobian = lines * self._units / self._sizes[:, None]
        self._last_jacobian = z.copy(), jacobian
        return jacobian

    def _slope(self, weight: Array, values: Values) -> Array:
        """The gradient of ⟨weight, F⟩, in units; 0 if it is not finite."""
        try:
            return self._tape.gradient(self._tape.alone(0, weight), values, EDGE) * self._units
        except (ValueError, ArithmeticError):
            return np.zeros(self._units.size)

    def _values(self, z: Array) -> Values:
        """Values at a point in units; the last ones are cached."""
        if self._last is None or not np.array_equal(z, self._last[0]):
            self._last = z.copy(), self._tape.values(self._units * z)
        return self._last[1]

    def by_multipliers(self, x: Array, deadline: Deadline) -> Array:
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
                    "ftol": ROUNDING,
                },
            )
            left -= found.nfev
            self.passed += found.nfev * self._tape.work
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
        self._last_jacobian = None
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


class Kinked(ValueError):
    """A kink that no epigraph removes."""


class Epigraphs:
    """Expressions with variables in place of convex kinks, by which they rise.

    Attributes
    ----------
    variables : list of cvxpy Variables
    nodes : list of cvxpy expressions
        The kinks that they stand for.
    below : list of cvxpy expressions
        Smooth, at most 0 where the variables are above the kinks.
    """

    def __init__(self) -> None:
        self.variables: list[cp.Variable] = []
        self.nodes: list[cp.Expression] = []
        self.below: list[cp.Expression] = []

    def of(self, node: cp.Expression) -> cp.Expression:
        """The smooth expression of a node that is minimised, or asked to be at most 0."""
        if not _has_kinks(node):
            return node
        if isinstance(node, KINKED):
            return self._above(node)
        if not all(node.is_incr(k) or not _has_kinks(arg) for k, arg in enumerate(node.args)):
            raise Kinked(KINKS)
        return node.copy([self.of(arg) for arg in node.args])

    def _above(self, node: cp.Expression) -> cp.Expression:
        """A variable that is at least the kink."""
        if isinstance(node, cp.norm1):
            return self.of(cp.sum(cp.abs(node.args[0]), axis=node.axis, keepdims=node.keepdims))
        if isinstance(node, cp.max | cp.norm_inf) and node.axis is not None:
            node = _of_slices(node)
        if not isinstance(node, cp.abs | cp.max | cp.maximum | cp.norm_inf):
            raise Kinked(KINKS)
        variable = cp.Variable(node.shape)
        self.variables.append(variable)
        self.nodes.append(node)
        self.below += [self.of(piece) - variable for piece in _pieces(node)]
        return variable


def _has_kinks(node: cp.Expression) -> bool:
    return any(isinstance(one, KINKED) for one in nodes(node))


def _of_slices(node: cp.max | cp.norm_inf) -> cp.Expression:
    """A maximum along an axis of a matrix as one of its rows or columns."""
    (arg,) = node.args
    if arg.ndim != 2 or node.keepdims or node.axis not in (0, 1):
        raise Kinked(KINKS)
    slices = [arg[:, k] if node.axis == 1 else arg[k, :] for k in range(arg.shape[node.axis])]
    return cp.maximum(*(map(cp.abs, slices) if isinstance(node, cp.norm_inf) else slices))


def _asked(problem: cp.Problem) -> list[tuple[cp.Expression, bool]] | None:
    """Smooth expressions that are to be 0 (True) or at most 0; None if a constraint is a cone's."""
    found: list[tuple[cp.Expression, bool]] = []
    for constraint in problem.constraints:
        pair = compared(constraint)
        if pair is None:
            return None
        if isinstance(constraint, cp.constraints.Inequality):
            low, high = constraint.args
            found += [(piece - high, False) for piece in _pieces(low)]
        else:
            found.append(pair)
    return found


def _pieces(node: cp.Expression) -> list[cp.Expression]:
    """Expressions whose largest one is the node: entry by entry, or all entries of a scalar."""
    if isinstance(node, cp.abs) or (_is_whole(node) and isinstance(node, cp.norm_inf)):
        return [sign * node.args[0] for sign in (1, -1)]
    if isinstance(node, cp.maximum):
        if node.shape == ():
            return [piece for arg in node.args for piece in _pieces(arg)]
        parts = (_pieces(arg) if not _is_whole(arg) else [arg] for arg in node.args)
        return [spread_to(piece, node.shape) for part in parts for piece in part]
    if _is_whole(node):
        return _pieces(node.args[0])
    return [node]


def _is_whole(node: cp.Expression) -> bool:
    """True for the largest of all entries of an array."""
    return isinstance(node, cp.norm_inf | cp.max) and node.axis is None
