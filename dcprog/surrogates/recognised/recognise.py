"""From a cvxpy problem to the risk that it is, if it is one."""

from __future__ import annotations

from dataclasses import dataclass

import cvxpy as cp
import numpy as np

from dcprog.majorants.points import Points
from dcprog.risk.risk import Risk
from dcprog.solvers.registry import REFERENCE, choose
from dcprog.surrogates.recognised.agreement import agreed_constant
from dcprog.surrogates.recognised.assembly import risk_of
from dcprog.surrogates.recognised.unrecognised import Unrecognised

__all__ = ["Recognised", "recognised"]


@dataclass(frozen=True)
class Recognised:
    """A problem's objective, as sign·(risk + constant).

    Attributes
    ----------
    risk : Risk
        Of θ, all entries of all variables.
    points : Points
        θ and the variables.
    sign : float
        −1 for a maximisation.
    constant : float
    """

    risk: Risk
    points: Points
    sign: float
    constant: float


@np.errstate(all="ignore")
def recognised(problem: cp.Problem) -> Recognised | None:
    """The risk that a nonconvex problem without constraints is; None if it is none.

    The risk is built by rules, and then compared with the problem at random points: where they
    are not one function, there is no risk. Nor is there where none but cvxpy's solvers take it.

    Parameters
    ----------
    problem : cvxpy.Problem
        Parameters count with their present values; variables keep theirs.

    Returns
    -------
    Recognised or None

    Examples
    --------
    >>> import cvxpy as cp, numpy as np
    >>> X, y, w, b = np.eye(3), np.array([1.0, -1.0, 1.0]), cp.Variable(3), cp.Variable()
    >>> ramp = cp.sum(cp.minimum(cp.pos(1 - cp.multiply(y, X @ w + b)), 1))
    >>> found = recognised(cp.Problem(cp.Minimize(2 + ramp + 0.5 * cp.sum_squares(w))))
    >>> found.risk, found.constant
    (Risk(3 rows, 4 coefficients: cap(c=1.0, loss=hinge()) + l2()), 2.0)
    """
    if not _is_plain(problem):
        return None
    sign = -1.0 if isinstance(problem.objective, cp.Maximize) else 1.0
    objective = problem.objective.args[0]
    try:
        risk, points = risk_of(objective, sign, Points(problem.variables()))
        constant = agreed_constant(objective, sign, risk, points)
        solvers = choose(risk)
    except (Unrecognised, ValueError, ArithmeticError, RecursionError):
        return None
    return Recognised(risk, points, sign, constant) if solvers[0] != REFERENCE else None


def _is_plain(problem: cp.Problem) -> bool:
    """True for a nonconvex problem of real variables and known data, and nothing else."""
    variables = problem.variables()
    if problem.constraints or not variables or any(_is_declared(v) for v in variables):
        return False
    known = all(parameter.value is not None for parameter in problem.parameters())
    return known and not problem.is_dcp()


def _is_declared(variable: cp.Variable) -> bool:
    """True if a variable is declared to be more than real."""
    return any(value is not None and value is not False for value in variable.attributes.values())
