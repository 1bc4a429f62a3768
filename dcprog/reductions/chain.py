"""The chain of reductions: the forms that a problem takes between the user and the loop.

1. Complex variables and data become real and imaginary parts (:mod:`dcprog.reductions.complex`).
2. A geometric program becomes a convex problem in logarithms (:mod:`dcprog.reductions.geometric`).
3. Integer and boolean variables are left to the global search, which holds them while the loop
   solves for the others.
4. A nonconvex problem without constraints that is a risk becomes that :class:`dcprog.Risk`
   (:mod:`dcprog.reductions.recognised`).
5. A problem whose start is far from 0 counts from there (:mod:`dcprog.reductions.recentred`),
   which a run decides at its start.

Every link has an inverse, through which starts go forward and points, values and multipliers back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import cvxpy as cp
import numpy as np

from dcprog.engine.result import Result
from dcprog.engine.track import Progress
from dcprog.majorants.user_problem import check_data, has_whole_entries
from dcprog.reductions.complex import real_form
from dcprog.reductions.geometric import geometric_form
from dcprog.reductions.recognised.recognise import Recognised, recognised

Callback = Callable[[Progress], object]

AUTOMATIC = (None, "auto")  # names of solvers under which risks are recognised


class Link(Protocol):
    """A problem in another form, with the ways there and back."""

    @property
    def said(self) -> str:
        """A sentence on the form."""

    @property
    def problem(self) -> cp.Problem:
        """The problem in that form."""

    def start(self, start: Any) -> Any:
        """A start in that form; names of starts stay."""

    def callback(self, told: Callback | None) -> Callback | None:
        """The user's callback, told of points of the problem before."""

    def back(self, result: Result, duals: Mapping[int, Any]) -> tuple[Result, Mapping[int, Any]]:
        """A result and multipliers in the variables and constraints of the problem before."""


# In their order: each gives the next form of a problem, or None.
LINKS: tuple[Callable[[Any], Link | None], ...] = (real_form, geometric_form)


@dataclass(frozen=True)
class Chain:
    """The links that are known before the first step.

    Attributes
    ----------
    problem : cvxpy.Problem or Spec
        At the end of the links.
    made : tuple of Link
    """

    problem: Any
    made: tuple[Link, ...] = ()

    @property
    def has_whole_numbers(self) -> bool:
        """True if a variable has integer or boolean entries."""
        is_written = isinstance(self.problem, cp.Problem)
        return is_written and any(map(has_whole_entries, self.problem.variables()))

    def start(self, start: Any) -> Any:
        """A start that the user gives, in the variables of the problem at the end of the links."""
        for link in self.made:
            start = link.start(start)
        return start

    def callback(self, told: Callback | None) -> Callback | None:
        """The user's callback, for runs on the problem."""
        for link in self.made:
            told = link.callback(told)
        return told

    def back(self, result: Result, duals: Mapping[int, Any]) -> tuple[Result, Mapping[int, Any]]:
        """A result and multipliers, in the user's variables and constraints."""
        for link in reversed(self.made):
            result, duals = link.back(result, duals)
        return result, duals

    def links(self) -> list[str]:
        """A sentence on each link."""
        said = [link.said for link in self.made]
        if self.has_whole_numbers:
            said.append("integer variables: the global search of SCIP, then the loop on the others")
            return said
        found = recognised_risk(self.problem, None)
        if found is not None:
            with np.printoptions(threshold=2, edgeitems=1):  # a cap a sample is one line too
                said.append(f'solved as {found.risk!r}; by these rules with solver="cvxpy":')
        return said


def chain(problem: Any) -> Chain:
    """The chain of a problem.

    Examples
    --------
    >>> import cvxpy as cp
    >>> z = cp.Variable(2, complex=True)
    >>> made = chain(cp.Problem(cp.Maximize(cp.square(cp.abs(z[0]))), [cp.norm(z) <= 1]))
    >>> made.links()
    ['complex numbers: solved in real and imaginary parts']
    """
    made: list[Link] = []
    for form in LINKS if isinstance(problem, cp.Problem) else ():
        link = form(problem)
        if link is not None:
            made.append(link)
            problem = link.problem
    return Chain(problem, tuple(made))


def recognised_risk(problem: Any, solver: str | None) -> Recognised | None:
    """The risk that a cvxpy problem in real variables is, unless a solver of cvxpy's is named.

    Raises
    ------
    ValueError
        The data hold NaN or infinity, or a variable takes whole numbers only.
    """
    if not isinstance(problem, cp.Problem) or solver not in AUTOMATIC:
        return None
    check_data(problem)
    return recognised(problem)
