"""A user's problem as the solve sees it: Parameters at their values, bad data refused."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from dcprog.tree import short

__all__ = ["check_data", "freeze"]


def freeze(problem: cp.Problem) -> cp.Problem:
    """The problem with every Parameter replaced by its value; the variables stay the user's.

    Slopes multiply a user's Parameters, and parameter × parameter is not DPP; during one solve
    they are constants anyway.

    Raises
    ------
    ValueError
        A Parameter has no value.
    """
    if not problem.parameters():
        return problem
    for parameter in problem.parameters():
        if parameter.value is None:
            raise ValueError(f"Parameter {parameter.name()!r} has no value: set its .value first")
    objective = problem.objective
    constraints = [c.copy([_frozen(a) for a in c.args]) for c in problem.constraints]
    return cp.Problem(type(objective)(_frozen(objective.args[0])), constraints)


def _frozen(node: cp.Expression) -> cp.Expression:
    if isinstance(node, cp.Parameter):
        return cp.Constant(node.value)
    if not node.args or not node.parameters():
        return node
    args = [_frozen(arg) for arg in node.args]
    data = node.get_data() or []
    if not any(_moves(datum) for datum in data):
        return node.copy(args)
    # a power's exponent and huber's M are no arguments
    return type(node)(*args, *(_frozen(d).value if _moves(d) else d for d in data))


def _moves(datum: Any) -> bool:
    return isinstance(datum, cp.Expression) and bool(datum.parameters())


def check_data(problem: cp.Problem) -> None:
    """Refuse what no step could handle.

    Raises
    ------
    ValueError
        A variable is integer, boolean or complex or restricted to a finite set, or a constant
        holds NaN or infinity.
    """
    for constraint in problem.constraints:
        if isinstance(constraint, cp.FiniteSet):
            raise ValueError(
                f"{short(constraint, 40)} restricts a variable to finitely many values: dcprog "
                "solves continuous problems; use bounds, or a mixed-integer solver"
            )
    for variable in problem.variables():
        if variable.attributes["integer"] or variable.attributes["boolean"]:
            raise ValueError(
                f"variable {variable.name()!r} is integer or boolean: dcprog solves continuous "
                "problems; relax it to bounds, or use a mixed-integer solver"
            )
        if variable.is_complex():
            raise ValueError(
                f"variable {variable.name()!r} is complex: write the real and the imaginary part "
                "as two variables"
            )
    for constant in [*problem.constants(), *problem.parameters()]:
        value: Any = constant.value
        entries = value.tocoo().data if hasattr(value, "tocoo") else value
        if entries is not None and not np.all(np.isfinite(np.asarray(entries))):
            raise ValueError(
                f"the data {short(constant, 40)} of shape {constant.shape} contains NaN or "
                "infinity: clean it before it enters the problem"
            )
