"""A cvxpy problem under its majorisation: values at points, and the convex problems behind it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms.atom import Atom
from cvxpy.expressions.leaf import Leaf

from dcprog.engine.track import Attempt
from dcprog.foundation.arrays import EDGE, Array
from dcprog.foundation.errors import NotMajorizable, SubproblemError, UnfitSolver
from dcprog.majorants.affine import Box
from dcprog.majorants.atoms import plain
from dcprog.majorants.feasibility import Feasibility, Miss
from dcprog.majorants.rewrites import Rewriting
from dcprog.majorants.rules import Context, Frame, fresh_context, signed_quotients
from dcprog.majorants.tree import Values, nodes, short
from dcprog.majorants.user_problem import Frozen, Points, check_data
from dcprog.problem.split_constraints import split
from dcprog.solvers.conic.compiled import check_solver
from dcprog.solvers.conic.portfolio import Portfolio
from dcprog.solvers.faults import failures


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


class Modes:
    """The convex problems of each mode of a step, made and compiled when first asked for.

    ============  ================================================================
    free          the objective's majorant; nonconvex constraints are left out
    feasible      the objective's majorant under the majorised constraints
    penalty       the objective's majorant plus slacks at the price τ·weight
    restore       the slacks' price alone
    pulled        the feasible mode's, held near a point by springs
    boxed …       another mode's between the bounds of ``box``: finite where that is not
    fixed …       another mode's with some variables fixed by ``fix``
    project       the distance to a point, inside the domain by a margin
    relaxation    nothing, under the convex constraints: infeasible only if the problem is
    ============  ================================================================

    Parameters
    ----------
    objective : Frame
    convex : sequence of constraints
    nonconvex : sequence of Frame
        Majorants of e, of which e ≤ 0 is asked.
    variables : sequence of variables
    context : Context
    solver : str, optional
        To try first.
    options : mapping, optional
        The user's options for that solver.
    """

    def __init__(
        self,
        objective: Frame,
        convex: Sequence[cp.Constraint],
        nonconvex: Sequence[Frame],
        variables: Sequence[cp.Variable],
        context: Context,
        solver: str | None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self._objective = objective
        self._convex = list(convex)
        self._nonconvex = list(nonconvex)
        self._variables = variables
        self._context = context
        self._solver = solver
        self._options = options
        self._problems: dict[str, cp.Problem] = {}
        self._portfolios: dict[str, Portfolio] = {}
        shapes = [f.expression.shape for f in self._nonconvex]
        self._prices = [cp.Parameter(s, nonneg=True, value=np.ones(s)) for s in shapes]
        self._slacks = [cp.Variable(s, nonneg=True) for s in shapes]
        self._margin = cp.Parameter(nonneg=True, value=0.0)
        self._parameters: dict[str, list[cp.Parameter]] = {}  # a name, and one of each variable

    def portfolio(self, mode: str) -> Portfolio:
        """The solvers of a mode."""
        if mode not in self._portfolios:
            solver = None if mode in ("project", "relaxation") else self._solver
            self._portfolios[mode] = Portfolio(self.problem(mode), solver, self._options)
        return self._portfolios[mode]

    def problem(self, mode: str) -> cp.Problem:
        """The convex problem of a mode."""
        if mode not in self._problems:
            objective, constraints = self._declared(mode)
            self._problems[mode] = cp.Problem(cp.Minimize(objective), constraints)
        return self._problems[mode]

    def _declared(self, mode: str) -> tuple[Any, list[cp.Constraint]]:
        """The objective and the constraints of a mode."""
        objective = self._objective.expression
        roots = [self._objective.node, *(frame.node for frame in self._nonconvex)]
        match mode:
            case "free":
                return objective, [*self._always, *domain_of(roots[1:])]
            case "feasible":
                return objective, [*self._always, *(f.expression <= 0 for f in self._nonconvex)]
            case "penalty" | "restore":
                pairs = list(zip(self._nonconvex, self._slacks, strict=True))
                prices = zip(self._prices, self._slacks, strict=True)
                price = sum(cp.sum(cp.multiply(p, s)) for p, s in prices)
                relaxed = [*self._always, *(frame.expression <= s for frame, s in pairs)]
                return price if mode == "restore" else objective + price, relaxed
            case "pulled":
                inner = self.problem("feasible")
                return inner.objective.args[0] + self._springs() / 2, inner.constraints
            case "project":
                roots += [arg for constraint in self._convex for arg in constraint.args]
                inside = [_inside(constraint, self._margin) for constraint in domain_of(roots)]
                return self._springs(), [*self._convex, *inside]
            case _:  # the relaxation
                return 0, [*self._convex, *domain_of(roots)]

    @property
    def _always(self) -> list[cp.Constraint]:
        return [*self._convex, *self._context.constraints, *self._context.domain]

    def majorised(self, mode: str) -> list[cp.Constraint]:
        """The majorised constraints in the problem of a mode, of each nonconvex one."""
        return self.problem(mode).constraints[len(self._always) :]

    @property
    def prices(self) -> list[Array]:
        """The prices of the slacks of each nonconvex constraint."""
        return [parameter.value for parameter in self._prices]

    def set_prices(self, prices: Sequence[Array]) -> None:
        """Set the prices of the slacks of each nonconvex constraint."""
        for parameter, price in zip(self._prices, prices, strict=True):
            parameter.value = price

    def hold(
        self, arrays: Sequence[Array], stiffness: Sequence[Array], margin: float = 0.0
    ) -> None:
        """Set the point, and the stiffness of the springs, of the modes "project" and "pulled"."""
        self._set("stiffness", stiffness)
        self._set("rest", [k * a for k, a in zip(stiffness, arrays, strict=True)])
        self._margin.value = margin

    def _springs(self) -> Any:
        """Σ ‖stiffness·(v − array)‖²."""
        pairs = zip(self._variables, self._set("stiffness"), self._set("rest"), strict=True)
        return sum(cp.sum_squares(cp.multiply(k, v) - rest) for v, k, rest in pairs)

    def box(self, mode: str, low: Sequence[Array], high: Sequence[Array]) -> str:
        """The name of a mode's problem between these bounds."""
        pairs = zip(self._variables, self._set("low", low), self._set("high", high), strict=True)
        return self._restricted(
            f"boxed {mode}", mode, [c for v, a, b in pairs for c in (v >= a, v <= b)]
        )

    def fix(self, mode: str, known: Mapping[int, Array]) -> str:
        """The name of a mode's problem with the variables of these ids fixed."""
        fixed = [v for v in self._variables if v.id in known]
        held = self._set("fixed", [known.get(v.id) for v in self._variables])
        pairs = zip(self._variables, held, strict=True)
        name = f"fixed {mode} " + " ".join(str(v.id) for v in fixed)
        return self._restricted(name, mode, [v == p for v, p in pairs if v.id in known])

    def _restricted(self, name: str, mode: str, constraints: list[cp.Constraint]) -> str:
        """The name of a mode's problem under further constraints."""
        if name not in self._problems:
            inner = self.problem(mode)
            self._problems[name] = cp.Problem(inner.objective, [*inner.constraints, *constraints])
        return name

    def _set(self, name: str, arrays: Sequence[Array | None] = ()) -> list[cp.Parameter]:
        """Set Parameters with a name, one of each variable; None leaves one as it is."""
        if name not in self._parameters:
            nonneg = name == "stiffness"
            self._parameters[name] = [cp.Parameter(v.shape, nonneg=nonneg) for v in self._variables]
        for parameter, array in zip(self._parameters[name], arrays, strict=False):
            if array is not None:
                parameter.value = array
        return self._parameters[name]

    def reset(self) -> None:
        """Forget warm starts; compiled problems stay."""
        for portfolio in self._portfolios.values():
            portfolio.reset()

    @property
    def solve_time(self) -> float:
        """Seconds inside the solvers' own calls."""
        return sum(p.solve_time for p in self._portfolios.values())

    @property
    def compile_time(self) -> float:
        """Seconds spent compiling."""
        return sum(p.compile_time for p in self._portfolios.values())


def domain_of(roots: Iterable[cp.Expression]) -> list[cp.Constraint]:
    """The convex constraints that the atoms below put on their arguments, each atom once."""
    found: list[cp.Constraint] = []
    seen: set[int] = set()
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        if id(node) in seen or not isinstance(node, Atom) or node.is_constant():
            continue
        seen.add(id(node))
        waiting += node.args
        found += [c for c in node._domain() if c.is_dcp() and not _holds(c)]
    return found


def _holds(constraint: cp.Constraint) -> bool:
    """True if the constraint is known to hold everywhere."""
    return isinstance(constraint, cp.constraints.Inequality) and constraint.expr.is_nonpos()


def _inside(constraint: cp.Constraint, margin: cp.Parameter) -> cp.Constraint:
    """The constraint with a margin."""
    if isinstance(constraint, cp.constraints.Inequality):
        return constraint.expr + margin <= 0
    if isinstance(constraint, cp.constraints.PSD):
        n = constraint.args[0].shape[0]
        return constraint.args[0] - margin * np.eye(n) >> 0
    return constraint


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
        """Forget all that earlier runs have left; compiled problems stay."""
        self.modes.reset()
        self.context.begin()
        self.feasibility.forget()
        self.domain.forget()
        self.mode = "feasible"
        self.attempts: list[Attempt] = []
        self.start_solver = ""
        self._edge = EDGE
        self.forget_values()

    @property
    def is_convex(self) -> bool:
        """True if no rule had to change anything: the problem is its own majorant."""
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
        """The distance inside their domain at which tangents replace infinite slopes."""
        return self._edge

    @edge.setter
    def edge(self, edge: float) -> None:
        if edge != self._edge:
            self._edge = edge
            self.forget_values()

    def forget_values(self) -> None:
        """Drop cached values after a change of the problem's Parameters or of ε."""
        self._point: Array | None = None
        self._values = Values()

    def at(self, x: Array) -> Values:
        """Values of the problem's nodes at x, cached until another x is asked for."""
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

    def inside(self, x: Array) -> float:
        """The objective with arguments outside a domain moved to its edge."""
        self.points.load(x)
        return float(np.sum(self.context.values_inside().array(self.frame.node)))

    def is_finite(self, x: Array) -> bool:
        """True if every node of the user's problem is inside its domain, as cvxpy evaluates it."""
        self.points.load(x)
        args = [arg for c in self.problem.constraints for arg in c.args]
        return finite_in_domain(self.frame.node) and not any(map(_is_nan, args))

    # ------------------------------------------------------------------------------------------
    # constraints

    def convex_miss(self, values: Values) -> Miss:
        """The violation of the convex constraints and of the domain of F."""
        return self.feasibility.convex(values) | self.domain.convex(values)

    def miss(self, x: Array) -> Miss:
        """The violation of all constraints and declared attributes."""
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
        """Compile the modes of runs: nonconvex constraints left out, priced, and majorised."""
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
