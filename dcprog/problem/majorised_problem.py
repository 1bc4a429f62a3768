"""A cvxpy problem under its majorisation: values at points, and the convex problems behind it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.expressions.leaf import Leaf

from dcprog.engine.track import Attempt
from dcprog.foundation.arrays import EDGE, Array
from dcprog.foundation.errors import NotMajorizable, SubproblemError, UnfitSolver
from dcprog.majorants.affine import Box
from dcprog.majorants.atoms import plain
from dcprog.majorants.feasibility import Feasibility, Miss
from dcprog.majorants.rewrites import Rewriting
from dcprog.majorants.rules import Frame, fresh_context, signed_quotients
from dcprog.majorants.tree import Values, nodes, short
from dcprog.majorants.user_problem import Frozen, Points, check_data
from dcprog.problem.modes import Modes, domain_of
from dcprog.problem.split_constraints import split
from dcprog.solvers.conic.compiled import check_solver
from dcprog.solvers.faults import failures

__all__ = ["MajorisedProblem", "finite_in_domain"]


def finite_in_domain(expression: cp.Expression) -> bool:
    """True if the expression is finite at the variables' values and every node inside its domain.

    For a user's own expression: cvxpy's own evaluation, too, must give a number, without the slack
    and the extensions of a run. The logarithm of a determinant is not finite at the edge.

    Parameters
    ----------
    expression : cvxpy expression

    Returns
    -------
    bool

    Examples
    --------
    >>> import cvxpy as cp
    >>> x = cp.Variable(value=0.0)
    >>> finite_in_domain(cp.sqrt(x)), finite_in_domain(cp.log(x))
    (True, False)
    >>> finite_in_domain(cp.minimum(cp.inv_pos(x), 3))   # infinite inside, but it has a value
    True
    """
    ours, cvxpys = Values(), _PlainValues()
    try:
        with np.errstate(all="ignore"):
            if not all(_is_defined(node, ours, cvxpys) for node in nodes(expression)):
                return False
            return all(np.all(np.isfinite(v.array(expression))) for v in (ours, cvxpys))
    except Exception:  # cvxpy's evaluation may raise errors of many kinds
        return False


def _is_defined(node: cp.Expression, *values: Values) -> bool:
    return not any(np.any(np.isnan(v.array(node))) for v in values)


class _PlainValues(Values):
    """Values as cvxpy computes them."""

    def _evaluate(self, node: Any) -> Any:
        own = isinstance(node, Leaf | cp.perspective) or 0 in node.shape
        return super()._evaluate(node) if own else plain(node, [self(arg) for arg in node.args])


# ----------------------------------------------------------------------------------------------


class MajorisedProblem:
    """The part of a problem that no run changes, and its numbers at a point.

    Parameters
    ----------
    problem : cvxpy.Problem
        Parameters are taken at their current values.
    solver : str or None
        Installed cvxpy solver to try first.
    tolerance : float
        Violation up to which a point counts as feasible, relative to what the constraint's terms
        add up to.
    solver_options : mapping, optional
        The user's, for that solver.

    Attributes
    ----------
    problem : cvxpy.Problem
        With the Parameters frozen.
    sign : float
        −1 for a maximisation.
    frame : Frame
        Of the objective, to be minimised.
    parts : Split
        The constraints, by what becomes of them.
    constraints : list of Frame
        Of the nonconvex constraints e ≤ 0.
    mode : str
        Which of the convex problems is being solved (see ``Modes``).
    attempts : list of Attempt
        Solver calls that failed, beside those of the steps.
    """

    def __init__(
        self,
        problem: cp.Problem,
        solver: str | None,
        tolerance: float,
        solver_options: Mapping[str, Any] | None = None,
    ) -> None:
        check_data(problem)
        self._named = check_solver(solver)
        self._solver_options = solver_options
        self.tolerance = tolerance
        try:
            self._declare(Frozen(problem))
        except NotMajorizable:  # with its Parameters it is not, with numbers it may be
            self._declare(Frozen(problem, moving=False))
        self.restart()

    def _declare(self, frozen: Frozen) -> None:
        # a problem of our own: who keeps this object does not keep the user's alive
        frozen.problem = cp.Problem(frozen.problem.objective, frozen.problem.constraints)
        self._frozen = frozen
        signs = Box(frozen.problem.constraints)
        self.problem = Rewriting(signs).of_problem(frozen.problem)
        self.points = Points(self.problem.variables())
        self.sign = -1.0 if isinstance(self.problem.objective, cp.Maximize) else 1.0
        self.context = fresh_context(signs)
        objective = self.problem.objective.args[0]
        self.frame = Frame(objective if self.sign > 0 else -objective, self.context, gather=True)
        self.parts = parts = split(self.problem.constraints, signs)
        self.constraints = [Frame(e, self.context, entrywise=True) for e in parts.nonconvex]
        self.modes = Modes(
            self.frame,
            parts.convex,
            self.constraints,
            self.points.variables,
            self.context,
            self._named,
            self._solver_options,
        )
        if frozen.moves and not self.modes.problem("feasible").is_dpp():
            raise NotMajorizable(short(objective), "its Parameters multiply one another", "numbers")
        self.feasibility = Feasibility(parts.convex, parts.nonconvex, self.points.variables)
        self.roots = [self.frame.node, *parts.nonconvex]
        self.context.quotients = signed_quotients(self.roots, self.context.signs)
        self.domain = Feasibility(domain_of(self.roots), [], [])

    def renew(self) -> bool:
        """Take the user's Parameters at their present values; False if that takes a new object."""
        return self._frozen.refresh()

    def restart(self) -> None:
        """Forget all that earlier runs have left, but not what is compiled."""
        self.modes.reset()
        self.context.begin()
        self.mode = "feasible"
        self.attempts: list[Attempt] = []
        self.start_solver = ""
        self._edge = EDGE
        self.forget_values()

    @property
    def is_convex(self) -> bool:
        """No rule had to change anything: the problem is its own majorant."""
        return bool(self.problem.is_dcp())

    @property
    def has_equalities(self) -> bool:
        """True if an equality was split in two."""
        return self.parts.has_equalities

    @property
    def penalised(self) -> bool:
        """True if nonconvex constraints have slacks at present."""
        return self.mode != "feasible"

    def note(self, solver: str, tolerance: float, outcome: str) -> None:
        """Put a failed call on record."""
        self.attempts.append(Attempt(0, solver, tolerance, outcome))

    # ------------------------------------------------------------------------------------------
    # values

    @property
    def edge(self) -> float:
        """How far inside their domain tangents are taken where a slope is infinite."""
        return self._edge

    @edge.setter
    def edge(self, edge: float) -> None:
        if edge != self._edge:
            self._edge = edge
            self.forget_values()

    def forget_values(self) -> None:
        """Drop cached values, after a change in what they depend on."""
        self._point: Array | None = None
        self._values = Values()

    def at(self, x: Array) -> Values:
        """Values of the problem's nodes at x, kept while x stays the same."""
        self.points.load(x)
        if self._point is None or not np.array_equal(self._point, x):
            self._values = self.context.values(self._edge)
            self._point = x.copy()
        return self._values

    def objective(self, values: Values) -> float:
        """The objective without penalties; an extension beyond infinite slopes."""
        return float(np.sum(values.array(self.frame.node)))

    def terms(self, values: Values) -> float:
        """The sum of the absolute values of the objective's terms."""
        return float(np.sum(values.magnitude(self.frame.node)))

    def majorant(self, x: Array) -> float:
        """The majorant of the objective."""
        self.points.load(x)
        return float(np.sum(Values(self.context.definitions).array(self.frame.expression)))

    def exact(self, x: Array) -> float:
        """The objective by its own formula; NaN where rounding has left its domain."""
        self.points.load(x)
        return float(np.sum(Values().array(self.frame.node)))

    def is_finite(self, x: Array) -> bool:
        """True if every node of the user's problem is inside its domain, as cvxpy evaluates it."""
        self.points.load(x)
        args = [arg for c in self.problem.constraints for arg in c.args]
        return finite_in_domain(self.frame.node) and not any(map(_is_nan, args))

    # ------------------------------------------------------------------------------------------
    # constraints

    def convex_miss(self, values: Values) -> Miss:
        """By how much convex constraints are missed, and the domain of F."""
        return self.feasibility.convex(values) | self.domain.convex(values)

    def miss(self, x: Array) -> Miss:
        """By how much any constraint or declared attribute is missed."""
        return self.feasibility.all(self.at(x))

    def is_feasible(self, x: Array) -> bool:
        """True if every constraint is met, up to the tolerance relative to the sum of its terms."""
        return self.miss(x).relative <= self.tolerance

    # ------------------------------------------------------------------------------------------
    # the convex problems

    def update(self, values: Values) -> None:
        """Centre the majorants."""
        for frame in (self.frame, *self.constraints, *self.context.frames):
            frame.update(values)

    def solvers(self, mode: str | None = None) -> tuple[str, ...]:
        """Solvers for the convex problem of a mode, best first."""
        return self.modes.portfolio(mode or self.mode).order

    def compile(self) -> None:
        """Compile what runs solve: with nonconvex constraints left out, priced, and majorised."""
        for mode in ("free", "penalty", "feasible") if self.constraints else ("feasible",):
            portfolio = self.modes.portfolio(mode)
            portfolio.compile(portfolio.order[0])

    def minimise(
        self, mode: str, tolerance: float, solver: str, time_limit: float | None = None
    ) -> Array:
        """Minimiser of the problem of a mode, a finite point.

        Raises
        ------
        SubproblemError
        """
        self.forget_values()
        with failures(solver, let=(UnfitSolver,) if solver == self._named else ()):
            self.modes.portfolio(mode).minimise(solver, tolerance, time_limit)
        x = self.points.current()
        if not np.all(np.isfinite(x)):
            raise SubproblemError("failed", f"{solver}: the solution is not finite")
        return x


def _is_nan(expression: cp.Expression) -> bool:
    """True if an expression has no value by cvxpy's own evaluation."""
    try:
        with np.errstate(all="ignore"):
            return bool(np.any(np.isnan(np.asarray(expression.value, dtype=float))))
    except Exception:
        return True
