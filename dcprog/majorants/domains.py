"""A test of whether a user's own expression is defined at a point."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.expressions.leaf import Leaf

from dcprog.majorants.atoms.entry import plain
from dcprog.majorants.tree import Values, nodes

__all__ = ["finite_in_domain"]


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
