"""The protocol of starts: which problems one takes, and points to run from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np

from dcprog.engine.protocol import Surrogate
from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.problem.surrogate import ProblemSurrogate
from dcprog.risk_mm.surrogate import RiskSurrogate
from dcprog.starts.effort import EFFORTS, Effort


@dataclass(frozen=True, eq=False)
class Candidate:
    """A point from which a run may go all the way.

    Attributes
    ----------
    kind : str
        The name of the start or move that found it.
    x : array
    value : float
        F(x).
    """

    kind: str
    x: Array
    value: float


@dataclass
class Budget:
    """The means of a start: effort, random numbers, time, and points known so far.

    Attributes
    ----------
    effort : Effort
        The row of the table of effort; ``effort.name`` is ``"default"`` or ``"high"``.
    rng : numpy Generator
        The only source of random numbers.
    deadline : Deadline
        ``deadline.left`` is the seconds left, None without a limit.
    ended : list of array
        Points at which runs have ended, the plain run's first.
    found : list of Candidate
        Points of the starts before this one.
    proof : str
        The claim that is proved of the lowest point so far: by how much no feasible point is lower,
        and among which points. No other point is needed then. Empty if there is no proof.
    bound : float
        A proved bound from below of F, negated if it is maximised, at all feasible points.
    agreed : bool
        True if several local minima are equally low, or one is at a lower bound of F: a race of
        default effort adds none.
    """

    effort: Effort = EFFORTS["default"]
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    deadline: Deadline = field(default_factory=Deadline)
    ended: list[Array] = field(default_factory=list)
    found: list[Candidate] = field(default_factory=list)
    proof: str = ""
    bound: float = -np.inf
    agreed: bool = False


Taken = TypeVar("Taken", contravariant=True)  # the surrogates that a start or move takes


class Start(Protocol[Taken]):
    """A way to find points from which runs begin.

    Constructed without arguments, anew for every race.
    """

    def takes(self, surrogate: Surrogate) -> str | None:
        """The reason why the start has no points for a problem, None if it has.

        ``surrogate.declared`` is the user's :class:`dcprog.Risk` or cvxpy problem, the risk also of
        a cvxpy problem that is recognised as one.
        """

    def points(self, surrogate: Taken, budget: Budget) -> Iterable[Array | Candidate]:
        """Points to begin at.

        Arrays are improved by a few loose steps of the loop and compared after them; a
        :class:`Candidate` is compared as it is.
        """


class OfRisk:
    """A start or move of risks only."""

    def takes(self, surrogate: Surrogate) -> str | None:
        """Risks that the start does not refuse."""
        if not isinstance(surrogate, RiskSurrogate):
            return "it is no risk"
        return self.refusal(surrogate)

    def refusal(self, surrogate: RiskSurrogate) -> str | None:
        """The reason why it does not take a risk, None if it does; it takes all by default."""
        return None


class OfProblem:
    """A start or move of cvxpy problems only, with constraints or variables of their own."""

    def takes(self, surrogate: Surrogate) -> str | None:
        """Problems that the start does not refuse."""
        if not isinstance(surrogate, ProblemSurrogate):
            return (
                "it is solved as a dc.Risk; solver='cvxpy' keeps a cvxpy problem as it is written"
            )
        return self.refusal(surrogate)

    def refusal(self, surrogate: ProblemSurrogate) -> str | None:
        """The reason why it does not take a problem, None if it does; it takes all by default."""
        return None
