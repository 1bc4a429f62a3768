"""Exceptions and warnings of the library, each with the type a caller would expect to catch."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dcprog.foundation.arrays import Array

# Packages between the user's line and a warning: this library and those through which it is called.
BETWEEN = {"dcprog", "sklearn", "joblib", "cvxpy", "contextlib"}


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line of the user's code from which the library was called."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


class NotMajorizable(ValueError):
    """No rule derives a convex majorant for a sub-expression.

    Parameters
    ----------
    expression : str
        The offending sub-expression, as cvxpy prints it.
    reason : str
        Why no rule applies.
    rewrite : str
        A formulation to try instead.

    Examples
    --------
    >>> import cvxpy as cp, dcprog as dc
    >>> dc.is_majorizable(cp.Problem(cp.Minimize(cp.ceil(cp.Variable()))))
    False
    """

    def __init__(self, expression: str, reason: str, rewrite: str) -> None:
        self.expression = expression
        self.reason = reason
        self.rewrite = rewrite
        super().__init__(expression, reason, rewrite)

    def __str__(self) -> str:
        return f"no convex majorant for `{self.expression}`: {self.reason}. Try: {self.rewrite}"


class NotBoundable(NotMajorizable):
    """No rule bounds a sub-expression from below, or the points that matter are not bounded.

    Parameters
    ----------
    expression : str
        The offending part of the problem.
    reason : str
        Why no rule applies.
    rewrite : str
        What to try instead.

    Examples
    --------
    >>> from dcprog import NotBoundable
    >>> print(NotBoundable("f(x)", "it has no rule", "g(x)"))
    no lower bound for `f(x)`: it has no rule. Try: g(x)
    """

    def __str__(self) -> str:
        return f"no lower bound for `{self.expression}`: {self.reason}. Try: {self.rewrite}"


class WrongBound(RuntimeError):
    """A lower bound lies above the value of a known point: an error of the library.

    No bound is reported then. Please report the problem: none of its bounds is to be trusted.

    Parameters
    ----------
    point : array
        x, of the user's variables.
    value : float
        F(x).
    claim : float
        The number that was claimed to be a lower bound of F.
    box : pair of arrays, optional
        Lower and upper corner of the box that the claim was made for, in the coordinates that were
        searched: those of a risk with an intercept are of its centred columns. None where it was
        made for all points.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog import WrongBound
    >>> print(WrongBound(np.array([1.0]), 2.0, 2.5, (np.zeros(1), np.ones(1))))
    2.5 was said to bound the problem on the box from [0.] to [1.], and at [1.] its value is 2.0...
    """

    def __init__(
        self, point: Array, value: float, claim: float, box: tuple[Array, Array] | None = None
    ) -> None:
        self.point = point
        self.value = value
        self.claim = claim
        self.box = box
        super().__init__(point, value, claim, box)

    def __str__(self) -> str:
        where = "" if self.box is None else f" on the box from {self.box[0]} to {self.box[1]}"
        return (
            f"{self.claim!r} was said to bound the problem{where}, and at {self.point} its value "
            f"is {self.value!r}. This is an error of dcprog: please report it with the problem, "
            "and trust none of its bounds"
        )


class SubproblemError(RuntimeError):
    """A convex subproblem was not solved.

    Parameters
    ----------
    status : str
        ``"infeasible"``, ``"unbounded"`` or ``"failed"``.
    message : str
        The solver's message.
    proved : bool, default False
        Whether a certificate of "infeasible" or "unbounded" was checked.
    point : array, optional
        The best point that was reached, for a status of "failed". It is taken as a step if it
        lowers the objective and its majorant and no solver gets further.
    dual : array, optional
        Multipliers at that point, from which its duality gap follows.

    Examples
    --------
    >>> from dcprog import SubproblemError
    >>> print(SubproblemError("failed", "no solver took it"))
    failed: no solver took it
    """

    def __init__(
        self, status: str, message: str, proved: bool = False, point: Any = None, dual: Any = None
    ) -> None:
        self.status = status
        self.message = message
        self.proved = proved
        self.point = point
        self.dual = dual
        super().__init__(status, message)

    def __str__(self) -> str:
        return f"{self.status}: {self.message}"


class OutOfTime(SubproblemError):
    """A convex subproblem was not solved because the time limit ended its solver.

    Parameters
    ----------
    message : str
    point, dual : arrays, optional
        As of a :class:`SubproblemError`.
    """

    def __init__(self, message: str, point: Any = None, dual: Any = None) -> None:
        super().__init__("failed", message, point=point, dual=dual)


class DataLost(KeyboardInterrupt):
    """Data that were read block by block cannot be read any more, as those of a closed cluster.

    It ends a solve as Ctrl-C does, and no handler of errors takes it for a solver's failure: the
    best point is kept, with the status ``interrupted``.

    Attributes
    ----------
    point : array or None
        Of a solver that it ended before the loop's first step, the point reached.
    """

    point: Any = None


@contextmanager
def lost_before_a_point() -> Iterator[None]:
    """Raise a RuntimeError in place of a DataLost that nothing has caught: there is no point."""
    try:
        yield
    except DataLost as lost:
        raise RuntimeError(f"{lost}, and no point had been reached") from lost


class UnfitSolver(ValueError):
    """The solver named by the caller cannot solve a convex subproblem of this kind."""


class UnfitStart(ValueError):
    """The function to minimise has no slope at the point that a run should start from."""


class FisherConsistencyWarning(UserWarning):
    """With the loss's parameters a minimiser need not find the most probable class.

    More data do not help: a minimiser of the expected loss over all functions can prefer a
    less probable class, or have it tie with the most probable one. The message says whether other
    minimisers, for the same class probabilities, are right, or none is. Silenced like every
    category, ``warnings.simplefilter("ignore", FisherConsistencyWarning)``.

    Examples
    --------
    >>> import warnings
    >>> from dcprog import FisherConsistencyWarning
    >>> warnings.simplefilter("ignore", FisherConsistencyWarning)
    """


class TrivialSolutionWarning(UserWarning):
    """A critical point says little about the data.

    All coefficients are 0, all samples are predicted as of one class, or more than a quarter of
    them is given up. A lower point may exist: ``effort="high"`` or more `n_starts` look for it.
    In a search over penalties, where large ones have such solutions, every fit warns unless the
    category is silenced: ``warnings.simplefilter("ignore", dc.TrivialSolutionWarning)``.

    Examples
    --------
    >>> import warnings, numpy as np, dcprog as dc
    >>> X, y = np.arange(10.0)[:, None], np.arange(10) > 4
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = dc.RobustClassifier("ramp", dc.l2(1e6)).fit(X, y)
    >>> any(issubclass(one.category, dc.TrivialSolutionWarning) for one in caught)
    True
    """
