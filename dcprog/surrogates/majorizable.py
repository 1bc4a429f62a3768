"""Whether a problem or an expression can be majorised."""

from __future__ import annotations

import cvxpy as cp

from dcprog.majorants.majorant import Majorant
from dcprog.surrogates.complex_problem import real_form
from dcprog.surrogates.problem import ProblemSurrogate

__all__ = ["is_majorizable"]


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
            form = real_form(problem)
            ProblemSurrogate(problem if form is None else form.problem)
        else:
            Majorant(problem)
    except ValueError:
        return False
    return True
