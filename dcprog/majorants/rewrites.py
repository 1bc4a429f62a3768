"""Expressions in place of those that cvxpy compiles to something else."""

from __future__ import annotations

import cvxpy as cp
from cvxpy.atoms.sum_largest import sum_largest

from dcprog.majorants.tree import nodes, rebuilt

__all__ = ["rewritten"]


def rewritten(problem: cp.Problem) -> cp.Problem:
    """The problem with the sum in place of the sum of more entries than there are.

    cvxpy 1.9's linear program for ``sum_largest(x, k)`` has no minimum where k exceeds the number
    of entries; its value there is the sum.
    """
    roots = [problem.objective.args[0], *(a for c in problem.constraints for a in c.args)]
    if not any(_is_whole(node) for root in roots for node in nodes(root)):
        return problem
    seen: dict[int, cp.Expression] = {}
    objective = type(problem.objective)(_new(roots[0], seen))
    constraints = [c.copy([_new(arg, seen) for arg in c.args]) for c in problem.constraints]
    return cp.Problem(objective, constraints)


def _is_whole(node: cp.Expression) -> bool:
    return isinstance(node, sum_largest) and node.axis is None and node.k >= node.args[0].size


def _new(node: cp.Expression, seen: dict[int, cp.Expression]) -> cp.Expression:
    if id(node) not in seen:
        args = [_new(arg, seen) for arg in node.args]
        if _is_whole(node):
            seen[id(node)] = cp.sum(args[0], keepdims=node.keepdims)
        elif any(new is not old for new, old in zip(args, node.args, strict=True)):
            seen[id(node)] = rebuilt(node, args)
        else:
            seen[id(node)] = node
    return seen[id(node)]
