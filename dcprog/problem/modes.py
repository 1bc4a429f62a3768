"""The convex problems that a majorised cvxpy problem is solved through, one a mode."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms.atom import Atom

from dcprog.foundation.arrays import Array
from dcprog.majorants.rules import Context, Frame
from dcprog.solvers.conic.portfolio import Portfolio

__all__ = ["Modes"]


class Modes:
    """The convex problems of each mode of a step, made and compiled when first asked for.

    ============  ================================================================
    free          the objective's majorant; nonconvex constraints are left out
    feasible      the same under the majorised constraints
    penalty       the same, with slacks at the price τ·weight
    restore       the slacks' price alone
    pulled        the feasible mode's, held near a point by springs
    boxed …       another mode's between the bounds of ``box``: finite where that is not
    fixed …       another mode's with some variables fixed by ``fix``
    project       the distance to a point, ``target``, inside the domain by ``margin``
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
        self._roots = [objective.node, *(frame.node for frame in self._nonconvex)]
        self._variables = variables
        self._context = context
        self._solver = solver
        self._options = options
        self.majorised: dict[str, list[cp.Constraint]] = {"feasible": [], "penalty": []}
        self._problems: dict[str, cp.Problem] = {}
        self._portfolios: dict[str, Portfolio] = {}
        self._prices: list[cp.Parameter] = []
        self._targets: list[cp.Parameter] = []
        self._units: list[cp.Parameter] = []
        self._margin = cp.Parameter(nonneg=True, value=0.0)
        self._corners: list[tuple[cp.Parameter, cp.Parameter]] = []
        self._held: dict[str, list[cp.Parameter]] = {}
        self._springs: list[tuple[cp.Parameter, cp.Parameter]] = []

    def portfolio(self, mode: str) -> Portfolio:
        """The solvers of a mode."""
        if mode not in self._portfolios:
            solver = None if mode in ("project", "relaxation") else self._solver
            self._portfolios[mode] = Portfolio(self.problem(mode), solver, self._options)
        return self._portfolios[mode]

    def problem(self, mode: str) -> cp.Problem:
        """The convex problem of a mode."""
        if mode not in self._problems:
            self._problems[mode] = getattr(self, f"_{mode}")()
        return self._problems[mode]

    @property
    def prices(self) -> list[float]:
        """Of the slacks of each nonconvex constraint."""
        return [float(parameter.value) for parameter in self._prices]

    def set_prices(self, prices: Sequence[float]) -> None:
        """Of the slacks of each nonconvex constraint."""
        self._slacks()
        for parameter, price in zip(self._prices, prices, strict=True):
            parameter.value = price

    def aim(self, arrays: Sequence[Array], units: Sequence[Array], margin: float) -> None:
        """Set the target of a projection."""
        self.problem("project")
        for target, unit, a, u in zip(self._targets, self._units, arrays, units, strict=True):
            unit.value = 1 / u
            target.value = a / u
        self._margin.value = margin

    def box(self, mode: str, low: Sequence[Array], high: Sequence[Array]) -> str:
        """The name of a mode's problem between these bounds."""
        if not self._corners:
            self._corners = [
                (cp.Parameter(v.shape), cp.Parameter(v.shape)) for v in self._variables
            ]
        for (least, most), a, b in zip(self._corners, low, high, strict=True):
            least.value, most.value = a, b
        name = f"boxed {mode}"
        if name not in self._problems:
            inner = self.problem(mode)
            pairs = zip(self._variables, self._corners, strict=True)
            bounds = [c for v, (a, b) in pairs for c in (v >= a, v <= b)]
            self._problems[name] = cp.Problem(inner.objective, [*inner.constraints, *bounds])
        return name

    def pull(self, arrays: Sequence[Array], stiffness: Sequence[Array]) -> str:
        """The name of the feasible mode's problem with ½Σ(stiffness·(v − array))² added."""
        if not self._springs:
            shapes = [v.shape for v in self._variables]
            self._springs = [(cp.Parameter(s, nonneg=True), cp.Parameter(s)) for s in shapes]
        for (k, rest), array, stiff in zip(self._springs, arrays, stiffness, strict=True):
            k.value, rest.value = stiff, stiff * array
        if "pulled" not in self._problems:
            inner = self.problem("feasible")
            pairs = zip(self._variables, self._springs, strict=True)
            energy: Any = sum(cp.sum_squares(cp.multiply(k, v) - rest) for v, (k, rest) in pairs)
            goal = cp.Minimize(inner.objective.args[0] + energy / 2)
            self._problems["pulled"] = cp.Problem(goal, inner.constraints)
        return "pulled"

    def fix(self, mode: str, known: Mapping[int, Array]) -> str:
        """The name of a mode's problem with the variables of these ids fixed."""
        fixed = [v for v in self._variables if v.id in known]
        name = f"fixed {mode} " + " ".join(str(v.id) for v in fixed)
        if name not in self._problems:
            inner = self.problem(mode)
            held = [cp.Parameter(v.shape) for v in fixed]
            pairs = zip(fixed, held, strict=True)
            self._held[name] = held
            self._problems[name] = cp.Problem(
                inner.objective, [*inner.constraints, *(v == p for v, p in pairs)]
            )
        for parameter, variable in zip(self._held[name], fixed, strict=True):
            parameter.value = known[variable.id]
        return name

    def reset(self) -> None:
        """Forget warm starts, keep what is compiled."""
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

    # ------------------------------------------------------------------------------------------

    @property
    def _always(self) -> list[cp.Constraint]:
        return [*self._convex, *self._context.constraints, *self._context.domain]

    def _free(self) -> cp.Problem:
        dropped = domain_of([frame.node for frame in self._nonconvex])
        return cp.Problem(cp.Minimize(self._objective.expression), [*self._always, *dropped])

    def _feasible(self) -> cp.Problem:
        majorised = [frame.expression <= 0 for frame in self._nonconvex]
        self.majorised["feasible"] = majorised
        return cp.Problem(cp.Minimize(self._objective.expression), [*self._always, *majorised])

    def _penalty(self) -> cp.Problem:
        relaxed = self._relaxed()
        self.majorised["penalty"] = relaxed[len(self._always) :]
        return cp.Problem(cp.Minimize(self._objective.expression + self._price()), relaxed)

    def _restore(self) -> cp.Problem:
        return cp.Problem(cp.Minimize(self._price()), self._relaxed())

    def _price(self) -> Any:
        slacks = self._slacks()
        return sum(p * cp.sum(s) for p, s in zip(self._prices, slacks, strict=True))

    def _slacks(self) -> list[cp.Variable]:
        if not self._prices:
            self._prices = [cp.Parameter(nonneg=True, value=1.0) for _ in self._nonconvex]
            self._slack = [cp.Variable(f.expression.shape, nonneg=True) for f in self._nonconvex]
        return self._slack

    def _relaxed(self) -> list[cp.Constraint]:
        pairs = zip(self._nonconvex, self._slacks(), strict=True)
        return [*self._always, *(frame.expression <= s for frame, s in pairs)]

    def _project(self) -> cp.Problem:
        self._targets = [cp.Parameter(v.shape) for v in self._variables]
        self._units = [cp.Parameter(v.shape, nonneg=True) for v in self._variables]
        far: Any = sum(
            cp.sum_squares(cp.multiply(u, v) - t)
            for v, u, t in zip(self._variables, self._units, self._targets, strict=True)
        )
        roots = [*self._roots, *(arg for constraint in self._convex for arg in constraint.args)]
        inside = [_inside(constraint, self._margin) for constraint in domain_of(roots)]
        return cp.Problem(cp.Minimize(far), [*self._convex, *inside])

    def _relaxation(self) -> cp.Problem:
        return cp.Problem(cp.Minimize(0), [*self._convex, *domain_of(self._roots)])


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
