"""Values of a majorised problem at a point: F with the price of violations, M, sizes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.majorants.feasibility import Miss
from dcprog.majorants.tree import Values
from dcprog.surrogates import edges
from dcprog.surrogates.majorised_problem import MajorisedProblem
from dcprog.surrogates.price import Price, exchange_rate
from dcprog.surrogates.sizes import Sizes

__all__ = ["ProblemValues"]

# Where F is 0, solvers resolve that share of what it is elsewhere, times tol.
RESOLVED = 1e-2


class ProblemValues:
    """Values of F, of its majorant and of the constraints; a surrogate moves the price.

    Parameters
    ----------
    problem : MajorisedProblem
    """

    def __init__(self, problem: MajorisedProblem) -> None:
        self.majorised = problem
        self.points = problem.points
        self.sign = problem.sign
        self._forget()

    def _forget(self) -> None:
        """Runs before this one."""
        self.sizes = Sizes(self.majorised)
        self.restoring = False
        self._price = Price()
        self._weights: list[float] = []

    def value(self, x: Array) -> float:
        """f(x), plus the price of violations in penalty mode; infinite outside convex constraints.

        In feasible mode outside all constraints.
        """
        values = self.majorised.at(x)
        value = 0.0 if self.restoring else self.majorised.objective(values)
        if np.isnan(value) or not self._strict_miss(values).relative <= self.majorised.tolerance:
            return np.inf
        return value + self._paid(values)

    def along(self, x: Array, way: Array) -> Callable[[float], float]:
        """F(x + t·way) as a function of t."""
        return lambda t: self.value(x + t * way)

    def outside(self, x: Array) -> float:
        """How far constraints without a price are missed, against what their terms add up to."""
        return self._strict_miss(self.majorised.at(x)).relative

    def _strict_miss(self, values: Values) -> Miss:
        strict = self.majorised.convex_miss(values)
        if not self.majorised.penalised:
            strict |= self.majorised.feasibility.nonconvex(values)
        return strict

    def _paid(self, values: Values, *, majorised: bool = False) -> float:
        """τ·Σ max(e, 0)/size."""
        if not self.majorised.penalised:
            return 0.0
        return self._price.tau * self._missed(values, majorised=majorised)

    def _missed(self, values: Values, *, majorised: bool = False) -> float:
        """Σ max(e, 0)/size over the nonconvex constraints e ≤ 0, or over their majorants."""
        frames = self.majorised.constraints
        expressions = (f.expression if majorised else f.node for f in frames)
        return sum(
            w * float(np.sum(np.maximum(values.array(e), 0)))
            for w, e in zip(self._weights, expressions, strict=True)
        )

    def _exchange_rate(self, x: Array) -> float:
        """How fast the objective varies against the violation around x: the scale of τ."""
        problem = self.majorised

        def at(point: Array) -> tuple[float, float]:
            values = problem.at(point)
            return problem.objective(values), self._missed(values)

        rate = exchange_rate(at, x, self.sizes.beside, problem.tolerance)
        return rate or problem.terms(problem.at(x)) or 1.0

    def majorant_value(self, x: Array) -> float:
        """The majorant, its slacks at their best, in NumPy."""
        value = 0.0 if self.restoring else self.majorised.majorant(x)
        self.points.load(x)
        return value + self._paid(Values(self.majorised.context.definitions), majorised=True)

    def scale(self, x: Array) -> float:
        """The size of the objective and of the priced violations.

        The objective counts with its absolute value or, where a constant makes that large, with
        what its terms add up to.
        """
        problem, values = self.majorised, self.majorised.at(x)
        price = self._paid(values) + self._price.resolution
        if self.restoring:
            return price
        return price + min(problem.terms(values), abs(problem.objective(values)))

    @property
    def resolution(self) -> float:
        """A hundredth of what the objective varies by over the problem's own unit."""
        return RESOLVED * self.sizes.variation + self._price.resolution

    def units(self, x: Array) -> Array:
        """The size each coordinate has had; where that is 0, its variable's, or its unit."""
        return self.sizes.units(x)

    def objective(self, x: Array) -> float:
        """The user's objective, in the user's sign.

        Where F is its extension beyond an infinite slope (√u at u = 0), this is not.
        """
        values = self.majorised.at(x)
        if self.majorised.context.edges:
            exact = self.majorised.exact(x)
            if not np.isnan(exact):  # rounding may have left the domain
                return self.sign * exact
        return self.sign * self.majorised.objective(values)

    def violation(self, x: Array) -> float:
        """Largest violation of any constraint or declared attribute."""
        return self.majorised.miss(x).absolute

    def relative_violation(self, x: Array) -> float:
        """Largest violation against what the constraint's terms add up to."""
        return self.majorised.miss(x).relative

    def is_feasible(self, x: Array) -> bool:
        """True if every constraint is met, up to the tolerance relative to the sum of its terms."""
        return self.majorised.is_feasible(x)

    def is_finite(self, x: Array) -> bool:
        """True if every node of the user's problem is inside its domain, as cvxpy evaluates it."""
        return self.majorised.is_finite(x)

    def mismatch(self, x: Array) -> float:
        """How far F, carried on at infinite slopes, is from the user's objective."""
        return edges.mismatch(self.majorised, x)

    def falls_off(self, x: Array) -> bool:
        """True if x is at an edge of the domain towards which the objective falls to −∞."""
        return edges.falls_off(self.majorised, x)
