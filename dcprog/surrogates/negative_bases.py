"""Answers at which a power has a negative base, which cvxpy's own solve would keep at least 0."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.majorants.atoms.entry import SLACK
from dcprog.majorants.rewrites import is_narrowed
from dcprog.majorants.tree import Values, nodes, short
from dcprog.surrogates.problem import ProblemSurrogate

__all__ = ["negative_bases"]


def negative_bases(problem: cp.Problem, surrogate: ProblemSurrogate, x: Array | None) -> str | None:
    """A message about powers such as x³ whose base is negative at a point; None without any.

    Only where cvxpy takes the problem: its cones then ask for x ≥ 0. A base that is so near to 0
    that the power is rounding, beside the power of the argument's usual size, does not count.

    Parameters
    ----------
    problem : cvxpy.Problem
        Before any rewriting.
    surrogate : ProblemSurrogate
        Of the same problem.
    x : array, optional
        A flat point.

    Returns
    -------
    str or None
    """
    roots = [problem.objective.args[0], *(a for c in problem.constraints for a in c.args)]
    below = {id(node): node for root in roots for node in reversed(nodes(root))}
    powers = {k: n for k, n in below.items() if is_narrowed(n) and not n.is_constant()}
    if x is None or not powers or not problem.is_dcp():
        return None
    surrogate.points.load(surrogate.units(x))
    usual = Values()
    sizes = {key: usual.magnitude(node.args[0]) for key, node in powers.items()}
    surrogate.points.load(x)
    here = Values()
    found = [n for key, n in powers.items() if _is_negative(n, here.array(n.args[0]), sizes[key])]
    if not found:
        return None
    power, base = short(found[0]), short(found[0].args[0])
    others = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return (
        f"`{power}`{others} is taken on both sides of 0, and its argument is negative at the "
        f"answer, where cvxpy's own solve keeps it nonnegative: add `{base} >= 0` if that was meant"
    )


def _is_negative(power: cp.Expression, base: Array, size: Array) -> bool:
    """True if an entry of the base is so far below 0 that its power counts."""
    p = 1.0 if isinstance(power, cp.xexp) else float(power.p.value)
    with np.errstate(all="ignore"):
        share = np.maximum(-base, 0.0) / np.where(size > 0, size, 1.0)
        return bool(np.any(share**p > SLACK))
