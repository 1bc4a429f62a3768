"""One table of effort: how much a race tries."""

from __future__ import annotations

from dataclasses import dataclass


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
        Samples that an exchange tries on the other side of a cap; a swap tries twenty times as
        many choices.
    points : int
        Graduated paths of a batch; its other kinds of points are multiples.
    recombined : int
        Rounds in which a batch recombines its best points, at most, and in which the coordinate
        search pushes its own.
    shares : tuple of float
        Multiples of a concave penalty's slope at 0, in convex starts.
    halves, beside, random : int
        Starts of a cvxpy problem: convex starts of random halves of its terms, points beside the
        plain run's end, and random points; as many random choices of largest or least terms.
    local : int
        Random points of a cvxpy problem from which a smooth method runs; nine times as many where
        it is fast, until this many have ended equally low.
    work : float
        Of a cvxpy problem's branch and bound search without a lower point: iterations of its linear
        programs times their columns.
    heats : tuple of (int, int)
        Heats of a cvxpy problem's starts: how many take part in each, and their steps.
    """

    name: str
    finished: int
    rounds: int
    flips: int
    points: int
    recombined: int
    shares: tuple[float, ...]
    halves: int
    beside: int
    random: int
    local: int
    work: float
    heats: tuple[tuple[int, int], ...]


NAMES = ("low", "default", "high")

# A default race costs some three to seven plain runs, a high one about fourteen
# (benchmarks/bench_race.py).
EFFORTS = {
    "default": Effort(
        name="default",
        finished=1,
        rounds=2,
        flips=2,
        points=10,
        recombined=8,
        shares=(2.0, 1.4, 0.5, 0.25),
        halves=0,
        beside=1,
        random=6,
        local=4,
        work=3e5,
        heats=((10, 2), (4, 2), (2, 4)),
    ),
    "high": Effort(
        name="high",
        finished=6,
        rounds=30,
        flips=24,
        points=40,
        recombined=40,
        shares=(2.0, 1.4, 0.5, 0.25, 0.1, 0.05),
        halves=6,
        beside=6,
        random=6,
        local=20,
        work=1.2e6,
        heats=((21, 3), (8, 5), (6, 10)),
    ),
}
