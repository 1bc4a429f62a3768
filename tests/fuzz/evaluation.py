"""A cvxpy problem as a landscape: what cvxpy's own ``.value`` says, and nothing of the library."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.sum import Sum
from cvxpy.atoms.affine.unary_operators import NegExpression
from cvxpy.expressions.leaf import Leaf

from tests.fuzz.landscape import Array, Landscape

__all__ = ["Evaluation", "dense", "is_convex", "number"]

NEAR = 1e-7
STEEP = {"log", "entr", "GeoMean", "GeoMeanApprox", "rel_entr", "kl_div"}
POWERS = {"Power", "PowerApprox"}
DOMAIN = 1e-6  # how far outside a domain, relatively, a point of a solver may lie
OUTSIDE = 1e300  # sizes beyond that are infinite


def dense(value: Any) -> Array:
    """A float array of what cvxpy returns."""
    value = value.toarray() if hasattr(value, "toarray") else value
    return np.asarray(value, dtype=float)


def number(expression: cp.Expression) -> Array:
    """The value, NaN where cvxpy has none or raises."""
    try:
        with np.errstate(all="ignore"):
            value = expression.value
            return np.full(expression.shape, np.nan) if value is None else dense(value)
    except (ValueError, ArithmeticError, np.linalg.LinAlgError, TypeError):
        return np.full(expression.shape, np.nan)


def terms(expression: cp.Expression) -> Array:
    """What the terms of an expression add up to in absolute value."""
    if 0 in expression.shape:
        return np.zeros(expression.shape)
    if isinstance(expression, AddExpression):
        parts = [terms(a) for a in expression.args]
        return np.asarray(sum(parts[1:], parts[0]))
    if isinstance(expression, NegExpression):
        return terms(expression.args[0])
    if isinstance(expression, Sum) and expression.is_scalar():
        return np.asarray(np.sum(terms(expression.args[0])))
    return np.abs(number(expression))


class Evaluation:
    """F, constraints and domain of a problem at flat points."""

    def __init__(
        self, problem: cp.Problem, unit: float, references: list[dict[int, Array]]
    ) -> None:
        self.problem = problem
        self.variables = problem.variables()
        self.sign = -1.0 if isinstance(problem.objective, cp.Maximize) else 1.0
        self.objective = problem.objective.args[0]
        roots = [self.objective, *(a for c in problem.constraints for a in c.args)]
        self.domain = [d for root in roots for d in _domain(root)]
        self.inequalities, self.equations = self._rows()
        self.typical = [1.0] * (len(self.inequalities) + len(self.equations))
        self.points = [self.pack(r) for r in references]
        if self.points:
            entries = (*self.inequalities, *self.equations)
            self.typical = [_median([self._size(e, p) for p in self.points]) for e in entries]
        curved = [e for e in self.inequalities if not e.is_convex()]
        self.curved = [*curved, *(s * e for e in self.equations for s in (1, -1))]
        self.landscape = Landscape(
            self.value,
            self.size,
            self.rows,
            np.full(self.n, unit),
            self.kinked,
            edge=self.edge,
        )

    @property
    def n(self) -> int:
        """The number of coordinates."""
        return sum(v.size for v in self.variables)

    def pack(self, arrays: Any) -> Array:
        """The flat point of arrays by variable id."""
        return np.concatenate(
            [dense(arrays[v.id]).flatten(order="F") for v in self.variables] or [np.zeros(0)]
        )

    def go(self, x: Array) -> None:
        """Put a flat point into the variables."""
        ends = np.cumsum([v.size for v in self.variables])
        for variable, piece in zip(self.variables, np.split(x, ends)[:-1], strict=True):
            variable.save_value(piece.reshape(variable.shape, order="F"))

    def value(self, x: Array) -> float:
        """F(x) of the minimisation, infinite outside the domain."""
        self.go(x)
        value = self.sign * float(np.sum(number(self.objective)))
        if np.isnan(value):
            return np.inf
        return np.inf if any(_outside(d) for d in self.domain) else value

    def size(self, x: Array) -> float:
        """What the objective's terms add up to, but never less than a thousandth of usual."""
        totals = [self._total(p) for p in self.points]
        usual = [total for total in totals if total > 0]  # outside the domain it is 0
        return max(self._total(x), 1e-3 * float(np.median(usual)) if usual else 0.0)

    def _total(self, x: Array) -> float:
        self.go(x)
        return float(np.nan_to_num(np.sum(terms(self.objective)), nan=0.0))

    def _size(self, expression: cp.Expression, x: Array) -> float:
        self.go(x)
        return float(np.max(np.nan_to_num(terms(expression)), initial=0.0))

    def _relative(self, expression: cp.Expression, typical: float) -> Array:
        value = number(expression).ravel()
        size = max(typical, float(np.max(np.nan_to_num(terms(expression)), initial=0.0)))
        return np.nan_to_num(value / max(size, 1e-300), nan=np.inf)

    def rows(self, x: Array) -> tuple[Array, Array]:
        """Entries of g ≤ 0 and of h = 0, relative to the sizes of their terms."""
        self.go(x)
        many = len(self.inequalities)
        parts = [
            self._relative(e, t)
            for e, t in zip((*self.inequalities, *self.equations), self.typical, strict=True)
        ]
        nothing = [np.zeros(0)]
        return np.concatenate(parts[:many] or nothing), np.concatenate(parts[many:] or nothing)

    def kinked(self, x: Array) -> Array:
        """Entries of the nonconvex constraints."""
        self.go(x)
        return np.concatenate([self._relative(e, 0.0) for e in self.curved] or [np.zeros(0)])

    def edge(self, x: Array) -> bool:
        """Is an argument of a root or a logarithm (nearly) 0, where the slope is infinite?"""
        self.go(x)
        return any(map(_at_edge, (self.objective, *self.curved)))

    def _rows(self) -> tuple[list[cp.Expression], list[cp.Expression]]:
        """Every constraint and attribute as expressions that are ≤ 0 or = 0."""
        less: list[cp.Expression] = []
        equal: list[cp.Expression] = []
        for c in self.problem.constraints:
            if isinstance(c, cp.constraints.Inequality):
                less.append(c.expr)
            elif isinstance(c, cp.constraints.Equality | cp.constraints.Zero):
                equal.append(c.expr if hasattr(c, "expr") else c.args[0])
            elif isinstance(c, cp.NonPos):
                less.append(c.args[0])
            elif isinstance(c, cp.NonNeg):
                less.append(-c.args[0])
            elif isinstance(c, cp.SOC):
                less.append(cp.norm(c.args[1], 2) - c.args[0])
            else:
                raise NotImplementedError(type(c).__name__)
        for v in self.variables:
            less += _attributes(v)
            if v.attributes["diag"]:
                equal.append(cp.vec(v - cp.diag(cp.diag(v)), order="F"))
            if v.attributes["symmetric"] or v.attributes["PSD"]:
                equal.append(cp.vec(v - v.T, order="F"))
        return less, equal


def is_convex(problem: cp.Problem) -> bool:
    """Is it, with x³, x⁵, … on both sides of 0, which cvxpy takes for x ≥ 0 alone?"""
    roots = [problem.objective.args[0], *(a for c in problem.constraints for a in c.args)]
    return bool(problem.is_dcp()) and not any(map(_has_odd_power, roots))


def _has_odd_power(node: cp.Expression) -> bool:
    odd = _is_whole_power(node) and float(node.p.value) % 2 == 1 and not node.args[0].is_nonneg()
    return odd or any(map(_has_odd_power, node.args))


def _is_whole_power(node: cp.Expression) -> bool:
    named = type(node).__name__ in POWERS
    return named and float(node.p.value) > 1 and float(node.p.value) % 1 == 0


def _domain(node: cp.Expression) -> list[cp.Constraint]:
    """The domains of the atoms; x³, x⁵, x⁶, … and xexp(x) have values on both sides of 0."""
    everywhere = isinstance(node, Leaf | cp.xexp) or _is_whole_power(node)
    own = [] if everywhere else node._domain()
    return [*own, *(d for arg in node.args for d in _domain(arg))]


def _median(sizes: list[float]) -> float:
    """Of those that are inside a domain, and not 0 where that happens to be the value."""
    inside = [size for size in sizes if 0 < size < OUTSIDE]
    return float(np.median(inside)) if inside else 1.0


def _at_edge(node: cp.Expression) -> bool:
    name = type(node).__name__
    steep = name in STEEP or (name in POWERS and 0 < float(node.p.value) < 1)
    if steep and np.min(number(node.args[0]), initial=np.inf) <= NEAR:
        return True
    return any(_at_edge(arg) for arg in node.args)


def _attributes(v: cp.Variable) -> list[cp.Expression]:
    kept = v.attributes
    less: list[cp.Expression] = []
    if kept["nonneg"] or kept["pos"]:
        less.append(-v)
    if kept["nonpos"] or kept["neg"]:
        less.append(1 * v)
    if kept["bounds"] is not None:
        low, high = v.bounds
        less += [low - v, v - high]
    if kept["PSD"]:
        less.append(-cp.lambda_min((v + v.T) / 2))
    return less


def _outside(constraint: cp.Constraint) -> bool:
    sizes = [float(np.max(np.abs(np.nan_to_num(number(a))), initial=0.0)) for a in constraint.args]
    try:
        with np.errstate(all="ignore"):
            missed = float(np.max(constraint.violation(), initial=0.0))
    except (ValueError, np.linalg.LinAlgError, TypeError):
        return True
    return not missed <= DOMAIN * max(1.0, *sizes)
