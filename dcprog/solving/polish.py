"""A last Newton step on the active pieces: from a solver's accuracy to that of the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

import cvxpy as cp
import numpy as np
import numpy.typing as npt
from scipy.linalg import null_space

from dcprog.engine.stationarity import STEEP
from dcprog.engine.track import Run
from dcprog.foundation.arrays import Array, vec
from dcprog.foundation.tolerances import BESIDE, DIFFERENCES, JUMP, RANK, ROUNDING, STATIONARY
from dcprog.majorants.gradients import Tape
from dcprog.majorants.tree import Values, rebuilt, spread_to
from dcprog.majorants.user_problem import compared
from dcprog.problem.surrogate import ProblemSurrogate

T = TypeVar("T")


class ActivePieces:
    """Expressions with the pieces that attain maxima, minima and absolute values in their place.

    At the variables' present values. Of pieces that tie the first is taken, and the others are to
    equal it: a maximum of two that is minimised has its minimum where they meet.

    Parameters
    ----------
    reach : float
        Pieces that differ by less, relative to their size, tie.

    Attributes
    ----------
    ties : list of expressions
        Vectors that are 0 on the piece.

    Examples
    --------
    >>> import cvxpy as cp
    >>> x = cp.Variable(3, value=[1.0, 1.0, -2.0], name="x")
    >>> pieces = ActivePieces(1e-6)
    >>> smooth = pieces.of(cp.max(x) + cp.norm1(x))
    >>> float(smooth.value), [tie.shape for tie in pieces.ties], smooth.is_affine()
    (5.0, [(1,)], True)
    """

    def __init__(self, reach: float) -> None:
        self._reach = reach
        self._seen: dict[int, cp.Expression] = {}
        self._keep: list[cp.Expression] = []  # ids stay theirs
        self.ties: list[cp.Expression] = []

    def of(self, node: cp.Expression) -> cp.Expression:
        """The expression on its active pieces."""
        if id(node) not in self._seen:
            self._keep.append(node)
            self._seen[id(node)] = self._piece(node)
        return self._seen[id(node)]

    def _piece(self, node: cp.Expression) -> cp.Expression:
        if node.is_constant() or not node.args:
            return node
        args = [self.of(arg) for arg in node.args]
        first = args[0]
        if isinstance(node, cp.abs):
            return self._magnitude(first)
        if isinstance(node, cp.norm1):
            return cp.sum(self._magnitude(first), axis=node.axis, keepdims=node.keepdims)
        if isinstance(node, cp.norm_inf):
            return self._largest(self._magnitude(first), node.axis, node.keepdims)
        if isinstance(node, cp.max):
            return self._largest(first, node.axis, node.keepdims)
        if isinstance(node, cp.min):
            return -self._largest(-first, node.axis, node.keepdims)
        if isinstance(node, cp.maximum | cp.minimum):
            return self._extreme(args, node.shape, 1 if isinstance(node, cp.maximum) else -1)
        if all(new is old for new, old in zip(args, node.args, strict=True)):
            return node
        return rebuilt(node, args)

    def _magnitude(self, arg: cp.Expression) -> cp.Expression:
        at = Values().array(arg)
        small = np.abs(at) <= self._reach * self._size(at)
        self._tie(arg, small)
        return cp.multiply(np.where(small, 0.0, np.sign(at)), arg)

    def _largest(
        self, arg: cp.Expression, axis: int | tuple[int, ...] | None, keepdims: bool
    ) -> cp.Expression:
        at = Values().array(arg)
        top = np.max(at, axis=axis, keepdims=True)
        near = at >= top - self._reach * self._size(at)
        order = np.where(near, np.arange(at.size).reshape(at.shape), at.size)
        first = order == np.min(order, axis=axis, keepdims=True)
        chosen = cp.sum(cp.multiply(first.astype(float), arg), axis=axis, keepdims=True)
        self._tie(arg - spread_to(chosen, arg.shape), near & ~first)
        return cp.sum(cp.multiply(first.astype(float), arg), axis=axis, keepdims=keepdims)

    def _extreme(
        self, args: list[cp.Expression], shape: tuple[int, ...], sign: int
    ) -> cp.Expression:
        spread = [spread_to(arg, shape) for arg in args]
        at = np.array([sign * Values().array(arg) for arg in spread])
        near = at >= np.max(at, axis=0) - self._reach * self._size(at)
        first = near & (np.cumsum(near, axis=0) == 1)
        terms = [cp.multiply(m.astype(float), e) for m, e in zip(first, spread, strict=True)]
        chosen = sum(terms[1:], terms[0])
        for expression, tied in zip(spread, near & ~first, strict=True):
            self._tie(expression - chosen, tied)
        return chosen

    def _size(self, at: Array) -> float:
        return float(np.max(np.abs(at), initial=0.0)) or 1.0

    def _tie(self, expression: cp.Expression, where: npt.NDArray[np.bool_]) -> None:
        places = np.flatnonzero(where.ravel(order="F"))
        if places.size:
            self.ties.append(cp.vec(expression, order="F")[places])


# ----------------------------------------------------------------------------------------------

# Values, slopes and curvatures that are so near 0, relative to their size, count as 0. Reaches are
# tried one after the other.
REACHES = 1e-5, 1e-3
CURVED = 1e-6  # relative curvatures below it: differences of gradients do not tell them from 0
MOST_COORDINATES = 400  # coordinates, at most, and twice as many active rows
# Coordinates, at most, at the end of a run that has converged, and of one whose solvers failed: a
# Hessian by differences walks the tree twice for each.
MOST_EXAMINED = 24, 60
# Steps for differences of gradients, in units: the first is taken whose differences agree, up to
# JUMP, with those of half the step.
SHARES = DIFFERENCES[:-1]
STEPS = 8  # Newton steps, and rounds in which constraints with a multiplier of wrong sign go

Mask = npt.NDArray[np.bool_]


def polished(surrogate: ProblemSurrogate, run: Run) -> Run:
    """The run at the solution of the KKT conditions beside its point, where that is better.

    On the active pieces (see :class:`ActivePieces`) and constraints F is smooth, and Newton's
    method solves ∇f + Aᵀλ = 0, c = 0. Its end is taken if F is no higher there, counting what x
    gains by missing constraints at the price of their multipliers, and no constraint is missed by
    more.

    Parameters
    ----------
    surrogate : ProblemSurrogate
    run : Run
        Judged.

    Returns
    -------
    Run
        The same object where nothing is better: of large problems, of semidefinite ones, where a
        slope is infinite or a matrix singular in a way that matters.
    """
    x = run.x
    if x is None or not 0 < x.size <= MOST_COORDINATES:
        return run
    if run.status != "converged" or not run.feasible:
        return run
    found = _first(surrogate, x, surrogate.units(x), _Kkt.solved)
    return run if found is None else _moved(surrogate, run, found)


@dataclass(frozen=True, eq=False)
class Verdict:
    """The second-order conditions at the end of a run.

    Attributes
    ----------
    x : array or None
        The point, or one beside it at which the conditions hold; None if nothing is shown.
    downhill : array or None
        A direction along the constraints in which the Lagrangian curves downwards.
    """

    x: Array | None = None
    downhill: Array | None = None


def examined(surrogate: ProblemSurrogate, x: Array, most: int) -> Verdict:
    """The second-order conditions at a point that meets the constraints.

    A point is a local minimum if the KKT conditions of the active constraints have a solution
    there, nothing is at a kink, and the Hessian of the Lagrangian is positive semidefinite on the
    null space of these constraints.

    Parameters
    ----------
    surrogate : ProblemSurrogate
    x : array
    most : int
        Of more coordinates nothing is said.

    Returns
    -------
    Verdict
    """
    if not 0 < x.size <= most:
        return Verdict()
    # a run that failed may have been far away: its units say nothing of x
    largest = surrogate.points.spread(surrogate.points.largest(np.abs(x)))
    units = np.where(largest > 0, largest, surrogate.sizes.natural.unit)
    return _first(surrogate, x, units, _Kkt.verdict) or Verdict()


def verified(surrogate: ProblemSurrogate, run: Run, x: Array) -> Run:
    """A run that no solver could take further, converged at its local minimum x."""
    moved = _moved(surrogate, run, x)
    return replace(
        moved,
        gap=0.0,
        status="converged",
        message="the KKT conditions hold, and the Lagrangian curves upwards",
        history=run.history.ending(moved.value, moved.violation),
    )


def _moved(surrogate: ProblemSurrogate, run: Run, x: Array) -> Run:
    problem = surrogate.majorised
    miss = problem.miss(x)
    return replace(
        run,
        x=x,
        value=surrogate.facts.sign * problem.exact(x),
        violation=miss.absolute,
        values=[(v, array.copy()) for v, array in problem.points.unpack(x)],
        relative_violation=miss.relative,
    )


def _first(
    surrogate: ProblemSurrogate, x: Array, units: Array, ask: Callable[[_Kkt], T | None]
) -> T | None:
    """The first answer of the KKT conditions, over the reaches."""
    for reach in REACHES:
        try:
            with np.errstate(all="ignore"):
                found = ask(_Kkt(surrogate, x, units, reach))
        except (ValueError, ArithmeticError, NotImplementedError):  # LinAlgError is a ValueError
            continue
        if found is not None:
            return found
    return None


class _Kkt:
    """The KKT conditions of a problem on the pieces that are active at a point.

    Rows are entries of expressions that are asked to be 0; of inequalities: at most 0.
    """

    def __init__(self, surrogate: ProblemSurrogate, x: Array, units: Array, reach: float) -> None:
        self._problem, self._points = surrogate.majorised, surrogate.points
        self._x, self._units, self._reach = x, units, reach
        self._points.load(x)
        pieces = ActivePieces(reach)
        self._objective = pieces.of(self._problem.frame.node)
        rows = []
        for constraint in self._problem.problem.constraints:
            pair = compared(constraint)
            if pair is None:
                raise NotImplementedError(type(constraint).__name__)
            rows.append(self._active(pieces.of(pair[0]), not pair[1]))
        rows += [(bound, True) for bound in self._at_bounds()]
        asked = sum(expression.size for expression, _ in rows)
        rows += [(tie, False) for tie in pieces.ties]
        rows = [(expression, inequality) for expression, inequality in rows if expression.size]
        self._is_tied, self._asked = bool(pieces.ties), asked  # rows of constraints come first
        self._rows = [expression for expression, _ in rows]
        self._sizes = [expression.size for expression in self._rows]
        if sum(self._sizes) > 2 * MOST_COORDINATES:
            raise ValueError("too many active constraints")
        kinds = np.array([inequality for _, inequality in rows], dtype=bool)
        self._inequality: Mask = np.repeat(kinds, np.array(self._sizes, dtype=int))
        self._tape = Tape([self._objective, *self._rows], self._points)
        self._multipliers = np.zeros(self._inequality.size)
        self._share = 0.0  # of the units, by which differences of gradients step; 0 if not chosen
        self._kept: Mask = np.ones(self._inequality.size, dtype=bool)

    def _active(self, expression: cp.Expression, inequality: bool) -> tuple[cp.Expression, bool]:
        """The entries that count at the variables' present values."""
        column = cp.vec(expression, order="F")
        if not inequality:
            return column, False
        values = Values()
        at = values.array(expression)
        size = np.maximum(values.magnitude(expression), np.abs(at))
        places = np.flatnonzero(vec(at >= -self._reach * np.where(size > 0, size, 1.0)))
        return column[places], True

    def _at_bounds(self) -> Iterator[cp.Expression]:
        """Variables' entries at their declared bounds."""
        for variable, unit in zip(
            self._points.variables, self._points.split(self._units), strict=True
        ):
            kept = variable.attributes
            if any(kept[name] for name in ("PSD", "NSD", "symmetric", "diag")):
                raise NotImplementedError("matrices with attributes")
            low, high = variable.get_bounds()
            for gap in (variable - high, low - variable):
                least = np.broadcast_to(Values().array(gap), variable.shape)
                places = np.flatnonzero(vec(least >= -self._reach * unit))
                if places.size:
                    yield cp.vec(gap, order="F")[places]

    def verdict(self) -> Verdict | None:
        """The second-order conditions at the point, or at the solution beside it."""
        if self._is_tied:
            return None
        x: Array | None = self._x
        self._multipliers = self._least_multipliers(self._kept)
        if np.any(self._wrong(self._multipliers)) or not self._is_stationary(self._x):
            # where equal terms cancel, Newton's steps wander on a ridge of F
            x = self.solved()
        return self._curvature(x) if x is not None and self._is_stationary(x) else None

    def _least_multipliers(self, kept: Mask) -> Array:
        """The multipliers with which the Lagrangian is steepest least at the point."""
        slope, matrix, _ = self._system(self._x, kept)
        units = self._units
        return np.asarray(np.linalg.lstsq((matrix * units).T, -slope * units, rcond=RANK)[0])

    def _wrong(self, multipliers: Array) -> Mask:
        """Inequalities whose multipliers are negative."""
        least = -STATIONARY * np.max(np.abs(multipliers), initial=0.0)
        return self._inequality & (multipliers < least)

    def _is_stationary(self, x: Array) -> bool:
        """True if the Lagrangian is flat, and no row with a price is short of its limit.

        F may fall by the prices times these distances: near a bound is not at the bound.
        """
        left = self._lagrangian(x, self._multipliers) * self._units
        rows = self._residual(self._tape.values(x))
        unmet = np.append(np.abs(left), np.sum(np.abs(self._multipliers * rows)))
        scale = self._problem.terms(self._problem.at(x))
        return 0 < scale and float(np.max(unmet)) <= STATIONARY * scale

    def _curvature(self, x: Array) -> Verdict | None:
        """A local minimum, or the direction of the most negative curvature."""
        units = self._units
        _, matrix, _ = self._system(x, self._kept)
        bend = self._hessian(x, self._multipliers) * np.outer(units, units)
        flat = null_space(matrix * units, rcond=RANK) if matrix.size else np.eye(x.size)
        if not flat.shape[1]:
            return Verdict(x)
        curves, ways = np.linalg.eigh(flat.T @ bend @ flat)
        size = max(float(np.max(np.abs(bend))), self._problem.terms(self._problem.at(x)))
        if curves[0] >= -CURVED * size:
            return Verdict(x)
        steep = curves[0] < -STEEP * size
        return Verdict(None, units * (flat @ ways[:, 0])) if steep else None

    def solved(self) -> Array | None:
        """The solution beside the point, if it is no worse."""
        kept: Mask = np.ones(self._inequality.size, dtype=bool)
        for _ in range(STEPS):
            found = self._newton(kept)
            if found is None:
                return None
            x, multipliers = found
            wrong = self._wrong(multipliers)
            if not np.any(wrong):
                self._kept, self._multipliers = kept, multipliers
                return x if self._is_no_worse(x, multipliers) else None
            kept = kept & ~wrong
        return None

    def _newton(self, kept: Mask) -> tuple[Array, Array] | None:
        """The solution, with multipliers that are 0 for rows that are not kept."""
        x, units, n = self._x.copy(), self._units, self._x.size
        multipliers = np.zeros(kept.size)
        multipliers[kept] = self._least_multipliers(kept)
        for _ in range(STEPS):
            slope, matrix, residual = self._system(x, kept)
            bend = self._hessian(x, multipliers) * np.outer(units, units)
            lever = matrix * units
            rows = 1 / np.maximum(np.linalg.norm(lever, axis=1), np.finfo(float).tiny)
            lever = lever * rows[:, None]
            size = np.max(np.abs(bend), initial=0.0) or 1.0
            whole = np.block([[bend / size, lever.T], [lever, np.zeros((rows.size, rows.size))]])
            asked = np.concatenate([-slope * units / size, -residual * rows])
            answer = np.linalg.lstsq(whole, asked, rcond=RANK)[0]
            step, multipliers[kept] = answer[:n], answer[n:] * rows * size
            if not np.all(np.isfinite(answer)) or np.max(np.abs(step)) > BESIDE:
                return None
            x = x + units * step
            if np.max(np.abs(step)) <= ROUNDING:
                break
        return self._inside(x), multipliers

    def _inside(self, x: Array) -> Array:
        """The point with entries that rounding has moved out of declared bounds set to them."""
        bounds = [v.get_bounds() for v in self._points.variables]
        arrays = self._points.split(x)
        clipped = [np.clip(a, *sides) for a, sides in zip(arrays, bounds, strict=True)]
        return np.concatenate([vec(a) for a in clipped])

    def _system(self, x: Array, kept: Mask) -> tuple[Array, Array, Array]:
        """∇f, the Jacobian of the rows that are kept, and their values."""
        values = self._tape.values(x)
        slope, *lines = self._tape.jacobians(values)
        matrix = np.concatenate([np.zeros((0, x.size)), *lines])
        if not (np.all(np.isfinite(slope)) and np.all(np.isfinite(matrix))):
            raise ValueError("no finite gradient at the current point")
        return slope[0], matrix[kept], self._residual(values)[kept]

    def _residual(self, values: Values) -> Array:
        """The values of all rows."""
        return np.concatenate([np.zeros(0), *(vec(values.array(row)) for row in self._rows)])

    def _lagrangian(self, x: Array, multipliers: Array) -> Array:
        """∇f + Aᵀλ."""
        weights = np.split(multipliers, np.cumsum(self._sizes, dtype=int)[:-1])
        one = np.ones(self._objective.shape)
        return self._tape.gradient([one, *(weights if self._rows else ())], self._tape.values(x))

    def _hessian(self, x: Array, multipliers: Array) -> Array:
        """The Hessian of the Lagrangian, by differences of its gradient."""
        self._share = self._share or self._steady_share(x, multipliers)
        lines = []
        for j in range(x.size):
            aside = np.zeros(x.size)
            aside[j] = self._share * self._units[j]
            lines.append(self._difference(x, multipliers, aside) / aside[j])
        bend = np.array(lines)
        return (bend + bend.T) / 2

    def _steady_share(self, x: Array, multipliers: Array) -> float:
        """The largest share of the units whose differences are those of half of it.

        Far from 0 the units are many periods of a sine.

        Raises
        ------
        ArithmeticError
            No share is.
        """
        units, least = self._units, CURVED * self._problem.terms(self._problem.at(x))
        way = units * np.random.default_rng(0).uniform(-1, 1, x.size)
        for share in SHARES:
            long, short = (
                units * self._difference(x, multipliers, part * way) / part
                for part in (share, share / 2)
            )
            if np.all(np.abs(long - short) <= JUMP * np.abs(short) + least):
                return share
        raise ArithmeticError("differences of the gradient tell no curvature")

    def _difference(self, x: Array, multipliers: Array, aside: Array) -> Array:
        """Half the difference of the Lagrangian's gradients on both sides of x."""
        ahead, behind = (self._lagrangian(x + s * aside, multipliers) for s in (1, -1))
        return (ahead - behind) / 2

    def _is_no_worse(self, x: Array, multipliers: Array) -> bool:
        """True if F, with missed constraints priced, is no higher and none is missed by more."""
        problem, before = self._problem, self._x
        if not (np.all(np.isfinite(x)) and problem.is_finite(x)):
            return False
        if problem.miss(x).relative > max(problem.miss(before).relative, ROUNDING):
            return False
        missed = self._residual(self._tape.values(before))
        missed = np.where(self._inequality, np.maximum(missed, 0.0), np.abs(missed))
        worth = float(np.abs(multipliers[: self._asked]) @ missed[: self._asked])
        terms = problem.terms(problem.at(before))
        return problem.exact(x) <= problem.exact(before) + worth + ROUNDING * terms
