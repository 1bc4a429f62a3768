"""Expressions in place of those that cvxpy compiles to something else."""

from __future__ import annotations

from collections.abc import Callable

import cvxpy as cp
from cvxpy.atoms import Power
from cvxpy.atoms.sum_largest import sum_largest

from dcprog.majorants.signs import Box
from dcprog.majorants.tree import rebuilt

__all__ = ["rewritten", "signed"]

Rewrite = Callable[[cp.Expression, list[cp.Expression]], cp.Expression | None]


def rewritten(problem: cp.Problem) -> cp.Problem:
    """The problem with other expressions where cvxpy's own would not do.

    The sum in place of the sum of more entries than there are: cvxpy 1.9's linear program for
    ``sum_largest(x, k)`` has no minimum where k exceeds the number of entries. And powers of an
    argument of any sign (see :func:`signed`), unless cvxpy takes the problem as it is.

    Parameters
    ----------
    problem : cvxpy.Problem

    Returns
    -------
    cvxpy.Problem
        The same object where there is nothing to change.

    Examples
    --------
    >>> import cvxpy as cp
    >>> x = cp.Variable(2, value=[-1.0, 2.0])
    >>> print(rewritten(cp.Problem(cp.Minimize(cp.sum_largest(x, 3)))).objective.value)
    1.0
    """
    rewrites: list[Rewrite] = [_whole_sum]
    if not problem.is_dcp():
        rewrites.append(_signed_power(Box([c for c in problem.constraints if c.is_dcp()])))
    roots = [problem.objective.args[0], *(a for c in problem.constraints for a in c.args)]
    seen: dict[int, cp.Expression] = {}
    new = [_new(root, rewrites, seen) for root in roots]
    if all(one is other for one, other in zip(new, roots, strict=True)):
        return problem
    left = iter(new)
    objective = type(problem.objective)(next(left))
    constraints = [c.copy([next(left) for _ in c.args]) for c in problem.constraints]
    return cp.Problem(objective, constraints)


def signed(expression: cp.Expression, signs: Box | None = None) -> cp.Expression:
    """x³, x⁵, … for x of either sign, as halves: x₊³ − (−x)₊³; x⁶ as |x|⁶.

    cvxpy takes them for x ≥ 0 alone in a convex problem, and everywhere in a nonlinear one; so it
    is here, and an expression that is convex or concave stays as it is.

    Parameters
    ----------
    expression : cvxpy expression
    signs : Box, optional
        Of the variables: what is known to be nonnegative needs no halves.

    Returns
    -------
    cvxpy expression

    Examples
    --------
    >>> import cvxpy as cp
    >>> x = cp.Variable(value=-2.0)
    >>> float(signed(cp.square(cp.power(x, 3) - 1)).value), signed(cp.power(x, 3)).is_convex()
    (81.0, True)
    """
    if expression.is_dcp():
        return expression
    return _new(expression, [_signed_power(signs or Box())], {})


def _whole_sum(node: cp.Expression, args: list[cp.Expression]) -> cp.Expression | None:
    whole = isinstance(node, sum_largest) and node.axis is None and node.k >= node.args[0].size
    return cp.sum(args[0], keepdims=node.keepdims) if whole else None


def _signed_power(signs: Box) -> Rewrite:
    def rewrite(node: cp.Expression, args: list[cp.Expression]) -> cp.Expression | None:
        if not isinstance(node, Power) or node.p.parameters() or signs.is_nonneg(node.args[0]):
            return None
        p = float(node.p.value)
        if p <= 2 or p % 1 != 0:
            return None
        if p % 2 == 0:
            return cp.power(cp.abs(args[0]), p)
        return cp.power(cp.pos(args[0]), p) - cp.power(cp.neg(args[0]), p)

    return rewrite


def _new(
    node: cp.Expression, rewrites: list[Rewrite], seen: dict[int, cp.Expression]
) -> cp.Expression:
    if id(node) in seen:
        return seen[id(node)]
    args = [_new(arg, rewrites, seen) for arg in node.args]
    made = next((e for e in (rewrite(node, args) for rewrite in rewrites) if e is not None), None)
    if made is None:
        same = all(new is old for new, old in zip(args, node.args, strict=True))
        made = node if same else rebuilt(node, args)
    seen[id(node)] = made
    return made
