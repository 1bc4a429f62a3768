"""One table of effort: how many points a race looks at."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EFFORTS", "NAMES", "Effort", "Fits"]


@dataclass(frozen=True)
class Fits:
    """How many points a batch of smoothed Newton steps looks at.

    Attributes
    ----------
    subsets : int
        Small subsets of the samples that are fitted.
    fits : int
        The best of these fits, from which graduated paths begin.
    paths : int
        Graduated paths that begin at the convex risk.
    rounds : (int, int)
        Rounds in which the best points are recombined, at least and at most.
    """

    subsets: int
    fits: int
    paths: int
    rounds: tuple[int, int]


@dataclass(frozen=True)
class Effort:
    """How much a race tries.

    Attributes
    ----------
    name : str
    finished : int
        Candidates from which a run goes all the way.
    rounds : int
        Runs from points that moves have found, one after the other.
    flips : int
        Samples that an exchange tries on the other side of a cap.
    fits, smooth : Fits
        For losses with kinks, and for smooth losses, whose runs are cheap.
    pushes : int
        Rounds of the coordinate search.
    lighter : tuple of float
        Shares of a concave penalty's slope at 0.
    halves, beside, random : int
        Starts of a cvxpy problem: convex starts of random halves of its terms, points beside the
        plain run's end, and random points.
    local : int
        Random points of a cvxpy problem from which a quasi-Newton method runs.
    work : float
        Of a cvxpy problem's branch and bound search: iterations of its linear programs times their
        columns.
    heats : tuple of (int, int)
        Heats of a cvxpy problem's starts: how many take part in each, and their steps.
    """

    name: str
    finished: int
    rounds: int
    flips: int
    fits: Fits
    smooth: Fits
    pushes: int
    lighter: tuple[float, ...]
    halves: int
    beside: int
    random: int
    local: int
    work: float
    heats: tuple[tuple[int, int], ...]


NAMES = ("low", "default", "high")

# A default race costs some three to five plain runs, a high one about ten: benchmarks/bench_race.py
EFFORTS = {
    "default": Effort(
        name="default",
        finished=1,
        rounds=2,
        flips=2,
        fits=Fits(160, 20, 8, (2, 10)),
        smooth=Fits(80, 16, 8, (2, 3)),
        pushes=7,
        lighter=(0.5, 0.25),
        halves=0,
        beside=1,
        random=6,
        local=4,
        work=3e5,
        heats=((9, 2), (4, 2), (2, 4)),
    ),
    "high": Effort(
        name="high",
        finished=6,
        rounds=30,
        flips=24,
        fits=Fits(500, 60, 40, (15, 40)),
        smooth=Fits(500, 40, 40, (15, 40)),
        pushes=40,
        lighter=(0.5, 0.25, 0.1, 0.05),
        halves=6,
        beside=6,
        random=6,
        local=20,
        work=6e6,
        heats=((20, 3), (8, 5), (6, 10)),
    ),
}
