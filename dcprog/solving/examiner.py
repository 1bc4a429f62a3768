"""The numbers and theorems behind certificates, computed from the problem and not from a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from dcprog.engine.certificate import Examination, criticality_gap
from dcprog.engine.theorems import Hypotheses, Theorems, theorems_of
from dcprog.foundation.arrays import Array
from dcprog.foundation.kept_values import values_kept
from dcprog.problem.hypotheses import hypotheses_of_problem
from dcprog.problem.surrogate import ProblemSurrogate
from dcprog.reductions.chain import chain
from dcprog.risk_mm.hypotheses import hypotheses_of_risk
from dcprog.risk_mm.surrogate import RiskSurrogate
from dcprog.solving.task import task_of


@dataclass(frozen=True, eq=False)
class ProblemExaminer:
    """The numbers that certificates of a problem need.

    Attributes
    ----------
    problem : Risk, cvxpy.Problem or spec
        As the user passed it.
    ended : Risk or None
        The risk that the run ended with where it adapts: a cap that was set by the losses.
    solver : str or None
        That the run was asked to take.
    """

    problem: Any
    ended: Any = None
    solver: str | None = None

    @np.errstate(all="ignore")
    def __call__(self, x: Array, time_limit: float | None = None) -> Examination:
        """Gap, scale, violation, stationarity at x and theorems; variables keep their values."""
        with values_kept(_variables(self.problem)):
            task = task_of(self.problem if self.ended is None else self.ended, self.solver)
            surrogate = task.surrogate()
            gap = criticality_gap(surrogate, x, time_limit)
            violation, scale = surrogate.domain.relative_violation(x), surrogate.scale(x)
            seen = surrogate.nearby.stationarity(x, time_limit)
            task.keep()
            return Examination(gap, scale, violation, seen, theorems_of_surrogate(surrogate))


# ----------------------------------------------------------------------------------------------


def theorems_of_surrogate(surrogate: Any) -> Theorems:
    """The theorems for the function that a surrogate majorises."""
    if isinstance(surrogate, RiskSurrogate):
        return theorems_of(hypotheses_of_risk(surrogate.declared))
    if isinstance(surrogate, ProblemSurrogate):
        return theorems_of(hypotheses_of_problem(surrogate))
    return theorems_of(Hypotheses())


def which_theorem(problem: Any) -> Theorems:
    """The convergence theorems whose hypotheses hold for a problem, as it is declared.

    Hypotheses are read off the declaration: functions that are piecewise linear or smooth, ridges,
    bounds, signs. What the declaration does not show is "not shown", which refutes nothing. The
    theorems are about exact steps, x_{t+1} = argmin M(·; x_t), without escapes and accelerations.

    Parameters
    ----------
    problem : cvxpy.Problem or Risk
        Of an estimator of ``dcprog.models``, ``model.spec(X, y)``.

    Returns
    -------
    Theorems
        By name: ``descent``, ``strong decrease``, ``critical limits``, ``finite convergence``,
        ``convergence with a rate`` and ``d-stationary limits``; each with its conclusion, its
        source, whether it holds, and the hypotheses that are shown or missing.

    Raises
    ------
    TypeError
        `problem` is neither.
    ValueError
        No rule applies somewhere (:class:`~dcprog.NotMajorizable`), or the problem has integer
        variables.

    References
    ----------
    Attouch and Bolte (2009), Math. Program. 116. Attouch, Bolte and Svaiter (2013), Math. Program.
    137. Bolte, Daniilidis and Lewis (2007), SIAM J. Optim. 17. Hunter and Lange (2004), Amer.
    Statist. 58. Nie, Wang and Huang (2017), AAAI. Pang, Razaviyayn and Alvarado (2017), Math. Oper.
    Res. 42. Pham Dinh and Le Thi (1997), Acta Math. Vietnamica 22. Razaviyayn, Hong and Luo (2013),
    SIAM J. Optim. 23.

    Examples
    --------
    >>> import numpy as np, dcprog as dc
    >>> rows = np.array([[1.0], [2.0], [-9.0]])
    >>> theorems = dc.which_theorem(dc.Risk(rows, dc.hinge(), transform=dc.cap_at(1.0)))
    >>> theorems.holding
    ('descent', 'strong decrease', 'critical limits', 'finite convergence')
    >>> theorems["d-stationary limits"].because
    'cap_at(c=1.0): not known to have a finite Lipschitz slope'
    """
    linked = chain(problem)
    if linked.has_whole_numbers:
        raise ValueError("the problem has integer variables: the loop solves only for the others")
    with values_kept(_variables(linked.problem)):
        return theorems_of_surrogate(task_of(linked.problem).surrogate())


def _variables(problem: Any) -> list[cp.Variable]:
    return problem.variables() if isinstance(problem, cp.Problem) else []
