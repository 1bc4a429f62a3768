"""A cvxpy problem whose variables count from a point far from 0.

Sizes are measured from 0: a circle of radius 2 around (10⁶, 10⁶) would be a millionth of its own
terms, and a point found within their tolerance may be anywhere in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from dcprog.engine.track import Progress
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import NotMajorizable, SubproblemError
from dcprog.foundation.tolerances import FEASIBLE, ROUNDING
from dcprog.majorants.affine import jacobian
from dcprog.majorants.rules.frame import is_affine_atom
from dcprog.majorants.tree import Values, nodes, rebuilt
from dcprog.majorants.user_problem import Points, declared_kinds, freeze
from dcprog.problem.surrogate import ProblemSurrogate

# An affine argument is far from 0 if the sum of its terms' sizes is this many times its value.
FAR = 100.0

Callback = Callable[[Progress], object]


class Recentred:
    """A problem restated in z = x − x₀: affine arguments Ax + b are Az + (Ax₀ + b).

    Variables that are declared to be more than real (nonnegative, symmetric …) stay.

    Parameters
    ----------
    problem : cvxpy.Problem
        Without Parameters.
    points : Points
        Of its variables.
    x : array
        x₀.
    rounding : float
        Constants below that share of their terms are 0.

    Attributes
    ----------
    problem : cvxpy.Problem
        Of z, which is 0 at x₀.
    """

    def __init__(
        self, problem: cp.Problem, points: Points, x: Array, rounding: float = ROUNDING
    ) -> None:
        self._points, self._rounding = points, rounding
        free = [not declared_kinds(v) for v in points.variables]
        self._origin = np.where(points.spread(np.array(free)), x, 0.0)
        pairs = zip(points.variables, free, strict=True)
        self._moved = {v.id: cp.Variable(v.shape) for v, moves in pairs if moves}
        points.load(self._origin)
        self._values = Values()
        self._done: dict[int, cp.Expression] = {}
        objective = type(problem.objective)(self._new(problem.objective.args[0]))
        self.problem = cp.Problem(objective, [self._constraint(c) for c in problem.constraints])

    def there(self, x: Array) -> dict[cp.Variable, Array]:
        """A point of the user's variables as one of this problem's."""
        return {self._here(v): array for v, array in self._points.unpack(x - self._origin)}

    def back(self, pairs: list[tuple[cp.Variable, Array]]) -> Array:
        """A point of this problem's variables as one of the user's."""
        return self.step(pairs) + self._origin

    def step(self, pairs: list[tuple[cp.Variable, Array]]) -> Array:
        """A displacement of this problem's variables as one of the user's."""
        arrays = {variable.id: array for variable, array in pairs}
        # a variable that is lost by moving is free
        return self._points.pack(
            {v.id: arrays.get(self._here(v).id, np.zeros(v.shape)) for v in self._points.variables}
        )

    def callback(self, told: Callback | None) -> Callback | None:
        """The user's callback, told of the user's variables."""
        if told is None:
            return None
        points = Points(self.problem.variables())
        return lambda progress: told(replace(progress, x=self.back(points.unpack(progress.x))))

    def _here(self, variable: cp.Variable) -> cp.Variable:
        """The expression that replaces one of the user's variables."""
        return self._moved.get(variable.id, variable)

    def _constraint(self, constraint: cp.Constraint) -> cp.Constraint:
        compared = isinstance(constraint, cp.constraints.Inequality | cp.constraints.Equality)
        if compared and constraint.expr.is_affine():  # one constant, not one on either side
            return constraint.copy([self._new(constraint.expr), cp.Constant(0)])
        return constraint.copy([self._new(arg) for arg in constraint.args])

    def _new(self, node: cp.Expression) -> cp.Expression:
        if node.is_constant():
            return node
        if id(node) not in self._done:
            self._done[id(node)] = (
                self._affine(node)
                if node.is_affine()
                else rebuilt(node, [self._new(arg) for arg in node.args])
            )
        return self._done[id(node)]

    def _affine(self, node: cp.Expression) -> cp.Expression:
        terms = [self._linear(v, matrix, node.shape) for v, matrix in self._jacobian(node)]
        here, size = self._values.array(node), self._values.magnitude(node)
        return sum(terms, cp.Constant(np.where(np.abs(here) > self._rounding * size, here, 0.0)))

    def _jacobian(self, node: cp.Expression) -> Iterator[tuple[cp.Variable, sp.csr_array]]:
        matrices = jacobian(node)
        for variable in node.variables():
            yield self._here(variable), sp.csr_array(matrices[variable.id].T)

    @staticmethod
    def _linear(
        variable: cp.Variable, matrix: sp.csr_array, shape: tuple[int, ...]
    ) -> cp.Expression:
        identity = matrix.shape[0] == matrix.shape[1] and variable.shape == shape
        for sign in (1, -1):
            if identity and abs(matrix - sign * sp.eye_array(matrix.shape[0])).sum() == 0:
                return sign * variable
        return cp.reshape(matrix @ cp.vec(variable, order="F"), shape, order="F")


def recentred(
    problem: cp.Problem, surrogate: ProblemSurrogate, x: Array, *, refine: bool
) -> Recentred | None:
    """The problem around x, if x is many units from 0 and nothing curved or multiplied tells.

    Parameters
    ----------
    problem : cvxpy.Problem
    surrogate : ProblemSurrogate
        The surrogate of the problem.
    x : array
    refine : bool
        x is a solver's solution of the convex problem: as accurate as its distance from 0 allows,
        and more so once that is gone.
    """
    points = surrogate.points
    if not _cancels(problem, points, x):
        return None
    frozen = freeze(problem)
    try:
        rough = Recentred(frozen, points, x, FEASIBLE)
        measured = ProblemSurrogate(rough.problem)
        units = rough.step(measured.points.unpack(measured.sizes.natural.unit))
        if not np.any(points.largest(np.abs(x)) > FAR * points.largest(units)):
            return None
        around = Recentred(frozen, points, x)
        if refine:
            first = ProblemSurrogate(around.problem)
            first.starts("convex", np.random.default_rng(0))
            if first.starts.middle is not None:
                better = around.back(first.points.unpack(first.starts.middle))
                around = Recentred(frozen, points, better)
    except (NotMajorizable, SubproblemError):
        return None
    return around


def _cancels(problem: cp.Problem, points: Points, x: Array) -> bool:
    """True if the terms of all affine arguments that can be moved cancel at x."""
    points.load(x)
    values, found = Values(), False
    for node in _arguments(problem):
        if all(declared_kinds(v) for v in node.variables()):
            continue
        size = np.max(values.magnitude(node), initial=0.0)
        if FAR * np.max(np.abs(values.array(node)), initial=0.0) > size:
            return False
        found |= bool(size > 0)
    return found


def _arguments(problem: cp.Problem) -> Iterator[cp.Expression]:
    """The largest affine expressions inside atoms that are not affine."""
    roots = [problem.objective.args[0], *(arg for c in problem.constraints for arg in c.args)]
    seen: set[int] = set()
    for node in (n for root in roots for n in nodes(root)):
        if id(node) in seen or node.is_affine() or is_affine_atom(node):
            continue
        seen.add(id(node))
        yield from (arg for arg in node.args if arg.is_affine() and not arg.is_constant())
