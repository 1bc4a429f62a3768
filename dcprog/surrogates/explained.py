"""A description, in words, of how a problem is solved."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from dcprog.majorants.explain import rules_of
from dcprog.surrogates.recognised.recognise import recognised

__all__ = ["explain"]


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
    said = rules_of(problem)
    found = recognised(problem) if isinstance(problem, cp.Problem) else None
    if found is None:
        return said
    with np.printoptions(threshold=2, edgeitems=1):  # a cap for each sample is one line too
        return f'solved as {found.risk!r}; by these rules with solver="cvxpy":\n{said}'
