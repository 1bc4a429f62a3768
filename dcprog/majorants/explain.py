"""What the rules make of a problem, in words."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from dcprog.foundation.errors import NotMajorizable
from dcprog.majorants.rules import Frame, Piece, Weight, fresh_context
from dcprog.majorants.rules.refusals import check_expression
from dcprog.majorants.signs import Box
from dcprog.majorants.tree import short

__all__ = ["rules_of"]


def rules_of(problem: cp.Problem | cp.Expression) -> str:
    """The expression tree, node by node, with the rules; what :func:`dcprog.explain` prints."""
    if not isinstance(problem, cp.Problem):
        check_expression(problem, "a cvxpy problem or expression")
        return "\n".join(_describe(problem, Weight(1, np.ones(problem.shape))))
    maximise = isinstance(problem.objective, cp.Maximize)
    inner = problem.objective.args[0]
    lines = ["maximise, that is minimise the negative of" if maximise else "minimise"]
    objective = -inner if maximise else inner
    lines += _describe(objective, Weight(1, np.ones(objective.shape)), 1)
    for constraint in problem.constraints:
        lines.append(f"subject to {short(constraint)}")
        if constraint.is_dcp():
            lines.append("  [convex]  kept")
        elif isinstance(constraint, cp.constraints.Inequality | cp.constraints.Equality):
            sides = [constraint.expr]
            if isinstance(constraint, cp.constraints.Equality):
                lines.append("  equality: split in ≤ and ≥")
                sides.append(-constraint.expr)
            for side in sides:
                lines += _describe(side, Weight(1, np.ones(side.shape)), 1)
        else:
            lines.append("  no rule: a nonconvex cone constraint; its arguments must be affine")
    return "\n".join(lines)


def _describe(node: cp.Expression, weight: Weight, depth: int = 0) -> list[str]:
    try:
        frame = Frame(node, fresh_context(), entrywise=node.size != 1, gather=True, weight=weight)
    except NotMajorizable as error:
        return _describe_failure(node, error, depth)
    return _describe_piece(frame.piece, depth)


def _describe_piece(piece: Piece, depth: int) -> list[str]:
    line = f"{'  ' * depth}{short(piece.node)}  [{piece.node.curvature.lower()}]  {piece.rule}"
    lines = [line]
    for child in piece.children:
        lines += _describe_piece(child, depth + 1)
    return lines


def _describe_failure(node: cp.Expression, error: NotMajorizable, depth: int) -> list[str]:
    """The path down to the node without a rule; its neighbours as usual."""
    head = f"{'  ' * depth}{short(node)}  [{node.curvature.lower()}]"
    if error.expression == short(node):
        return [f"{head}  no rule: {error.reason}. Try: {error.rewrite}"]
    lines = [f"{head}  contains a node without a rule"]
    for arg in node.args:
        if not arg.is_constant():
            lines += _describe(arg, Weight(0), depth + 1)
    return lines
