"""A description, in words, of how a problem is solved."""

from __future__ import annotations

import itertools
import re

import cvxpy as cp
import numpy as np

from dcprog.foundation.errors import NotMajorizable
from dcprog.majorants.affine import Box
from dcprog.majorants.majorant import Majorant
from dcprog.majorants.rewrites import Rewriting
from dcprog.majorants.rules import Frame, Piece, Weight, fresh_context
from dcprog.majorants.rules.frame import check_expression
from dcprog.majorants.rules.products import exact_form
from dcprog.majorants.tree import nodes, short
from dcprog.problem.surrogate import ProblemSurrogate
from dcprog.reductions.chain import chain


def is_majorizable(problem: cp.Problem | cp.Expression) -> bool:
    """True if ``solve`` can handle the problem (or ``majorize`` the expression).

    Parameters
    ----------
    problem : cvxpy Problem or Expression

    Returns
    -------
    bool

    Raises
    ------
    TypeError
        Neither of them.

    Examples
    --------
    >>> import cvxpy as cp, dcprog as dc
    >>> x = cp.Variable(2)
    >>> dc.is_majorizable(cp.Problem(cp.Minimize(cp.sum(cp.sqrt(cp.abs(x))))))
    True
    >>> dc.is_majorizable(x[0] / x[1])
    False
    """
    try:
        if isinstance(problem, cp.Problem):
            ProblemSurrogate(chain(problem).problem)
        else:
            Majorant(problem)
    except ValueError:
        return False
    return True


# ----------------------------------------------------------------------------------------------

NUMBER = re.compile(r"(?<![\w.])\d[\w.]*(?:[+-]\d+)?")  # not the 1 of var1


def rules_of(problem: cp.Problem | cp.Expression) -> str:
    """The expression tree with the rule of each node, the text of :func:`dcprog.explain`."""
    if not isinstance(problem, cp.Problem):
        check_expression(problem, "a cvxpy problem or expression (of a Risk: dc.explain_choice)")
        rewriting = Rewriting()
        explained = _Explained(Box(), rewriting)
        explained.describe(rewriting.of(problem), 0)
        return _together([explained])
    signs = Box(problem.constraints)
    rewriting = Rewriting(signs)
    new = rewriting.of_problem(problem)
    objective = _Explained(signs, rewriting)
    maximise = isinstance(problem.objective, cp.Maximize)
    inner = new.objective.args[0]
    objective.lines.append("maximise, that is minimise the negative of" if maximise else "minimise")
    objective.describe(-inner if maximise else inner, 1)
    parts = [objective]
    for asked, constraint in zip(problem.constraints, new.constraints, strict=True):
        parts.append(_Explained(signs, rewriting))
        parts[-1].constrain(constraint, short(asked))
    return _together(parts)


def _together(parts: list[_Explained]) -> str:
    """All refusals, then all lines; parts that differ in their numbers only are written once."""
    alike: dict[str, list[_Explained]] = {}
    for part in parts:
        alike.setdefault(NUMBER.sub("#", "\n".join(part.lines)), []).append(part)
    refused = itertools.chain.from_iterable(first.refused for first, *_ in alike.values())
    lines = []
    for first, *others in alike.values():
        lines += first.lines
        lines += [f"  and {len(others)} more that differ in their numbers only"] if others else []
    return "\n".join([*refused, *lines])


class _Explained:
    """Lines of text, one per node of the user's, and the refusals of nodes without a rule."""

    def __init__(self, signs: Box, rewriting: Rewriting) -> None:
        self._signs = signs
        self._rewriting = rewriting
        self.refused: list[str] = []
        self.lines: list[str] = []

    def constrain(self, constraint: cp.Constraint, asked: str) -> None:
        """Add the lines of a constraint; of an equality only one of its two inequalities."""
        self.lines.append(f"subject to {asked}")
        if constraint.is_dcp():
            self.lines.append(f"  [convex]  kept{self._notes(*constraint.args)}")
        elif isinstance(constraint, cp.constraints.Equality):
            self.lines.append("  equality: split in ≤ and ≥")
            side = constraint.expr
            self.describe(-side if side.is_convex() else side, 1)
        elif isinstance(constraint, cp.constraints.Inequality):
            form = exact_form(constraint.expr, self._signs)
            if form is not None:
                self.lines.append(f"  that is {short(form.expression)} <= 0")
            self.describe(constraint.expr if form is None else form.expression, 1)
        else:
            rule = "a nonconvex cone constraint; its arguments must be affine"
            self.lines.append(f"  no rule: {rule}")
            self.refused.append(f"no rule for `{asked}`: {rule}")

    def describe(self, node: cp.Expression, depth: int, sign: int = 1) -> None:
        """Add the lines of the tree below a node."""
        weight = Weight.constant(np.full(node.shape, float(sign))) if sign else Weight(0)
        context = fresh_context(self._signs)
        try:
            frame = Frame(node, context, entrywise=node.size != 1, gather=True, weight=weight)
        except NotMajorizable as error:
            self._refuse(node, error, depth)
        else:
            self._tell(frame.piece, depth, {id(own) for own in nodes(node)})

    def _tell(self, piece: Piece, depth: int, waiting: set[int]) -> None:
        """Add one line per node of the user's; nodes that rules have written get none."""
        if id(piece.node) in waiting:
            waiting.discard(id(piece.node))
            notes = self._notes(piece.node, deep=not piece.children)
            self.lines.append(f"{'  ' * depth}{self._head(piece.node)}  {piece.rule}{notes}")
            depth += 1
        for child in piece.children:
            self._tell(child, depth, waiting)

    def _head(self, node: cp.Expression) -> str:
        """The node as the user wrote it, and the curvature that the rules see."""
        original = self._rewriting.originals.get(id(node), node)
        return f"{short(original)}  [{node.curvature.lower()}]"

    def _notes(self, *roots: cp.Expression, deep: bool = True) -> str:
        """Notes on rewritten nodes: on all below the roots, or on the roots only if not `deep`."""
        known, originals = self._rewriting.notes, self._rewriting.originals
        below = itertools.chain.from_iterable(map(nodes, roots)) if deep else roots
        noted = dict.fromkeys(id(node) for node in below if id(node) in known)
        return "".join(f"; {short(originals[key])} is {known[key]}" for key in noted)

    def _refuse(self, node: cp.Expression, error: NotMajorizable, depth: int) -> None:
        """Add the path down to the node without a rule, and describe its neighbours as usual."""
        head = f"{'  ' * depth}{self._head(node)}"
        live = [arg for arg in node.args if not arg.is_constant()]
        if error.expression == short(node) or not live:
            self.refused.append(f"no rule for `{error.expression}`: {error.reason}.")
            self.refused.append(f"  Try: {error.rewrite}")
            self.lines.append(f"{head}  no rule, see above")
            return
        self.lines.append(f"{head}  contains a node without a rule")
        for arg in live:
            self.describe(arg, depth + 1, 0)


# ----------------------------------------------------------------------------------------------


def explain(problem: cp.Problem | cp.Expression) -> str:
    """The expression tree, node by node, with the rule that majorises each node.

    Parameters
    ----------
    problem : cvxpy Problem or Expression

    Returns
    -------
    str
        One line a node: curvature, text, and the rule, or why none applies and what to write. Of a
        problem that is solved as a :class:`~dcprog.Risk` the first line says so.

    Raises
    ------
    TypeError
        Neither a problem nor an expression.

    Examples
    --------
    >>> import cvxpy as cp, dcprog as dc
    >>> x = cp.Variable(name="x")
    >>> print(dc.explain(cp.minimum(cp.square(x), 1)))
    minimum(power(x, 2.0), 1.0)  [quasiconvex]  concave atom: tangent
      power(x, 2.0)  [convex]  convex: kept, times a slope
    """
    links = chain(problem).links() if isinstance(problem, cp.Problem) else []
    return "\n".join([*links, rules_of(problem)])
