"""The batch: many points of a risk of few coefficients, improved by smoothed Newton steps."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dcprog.foundation.arrays import COPIED, Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.tolerances import ONE_PLACE
from dcprog.risk.risk import Risk
from dcprog.risk_mm.averaged import TALL
from dcprog.risk_mm.surrogate import RiskSurrogate
from dcprog.starts.effort import Effort
from dcprog.starts.many_points import Index, ManyPoints, Points
from dcprog.starts.protocol import Budget, Candidate, OfRisk

# Above FEW coefficients there are fewer points: subsets tell less of them, and steps cost more.
FEW = 20
# If there are more than 1.5 × SAMPLE samples, SAMPLE of them are drawn, but at least FEW for each
# coefficient; the best point is then improved on as many as make a matrix of MOST_NUMBERS numbers.
SAMPLE, MOST_NUMBERS = 3000, COPIED // 2
# Samples of a subset, times as many as determine a score: the smallest subsets most often hold no
# outlier, fits of larger ones are better. Fits have a ridge, relative to the columns' size.
SIZES, RIDGE = (1, 2, 4, 8), 1e-2
# Fits of margins to 1 are stretched: a hinge wants its samples beyond 1.
STRETCHES = (1, 2, 4)
# Subsets, and the best fits of them that go on, for each of the effort's points.
SUBSETS, FITS = 32, 4
# Numbers in the matrices of all points of a step: with fewer, NumPy's calls take all the time, so
# that a small matrix has up to four times the points.
CHEAP = 4000
# With more than MANY samples, subsets are drawn from MANY of them and paths take SLOWLY levels:
# 1000 × 50 ramps end by 0.1 to 0.6% lower if a third of the labels is wrong or classes overlap,
# 0.1% higher with a tenth.
MANY = 500
# φ_s(t) = s·φ(t/s) is nearly convex at s = CONVEX; then s falls from BEGINNING to 1 in LEVELS
# steps, SLOWLY of them for many samples. Samples have random weights e^a, a exponential, with
# powers up to UNEVEN at first.
CONVEX, BEGINNING, LEVELS, SLOWLY, UNEVEN = 1e6, 3, 10, 30, 0.5
# Widths of the smoothing in units of the margins: on paths, for fits of subsets, for children, and
# at the end; steps to the end of a path and of other points, and the share of points left there.
PATH, FIT, CHILD, FINEST = 1.0, 0.4, 0.2, 0.01
PATH_STEPS, STEPS, LEFT = 16, 10, 0.25
# The PARENTS best points have CHILDREN, on lines through two of them, up to BEYOND times as far as
# the second, with noise relative to the size of a coefficient; the lowest SETTLED are improved.
PARENTS, CHILDREN, SETTLED = 10, 24, 8
BEYOND, NOISE = 1.5, 0.05
# Recombination ends after PATIENCE rounds without a lower point, or if all parents are nearer to
# the best one than the share ONE of its size, so that children would lie there too.
PATIENCE, ONE = 5, 1e-3
# From TALL samples on a run takes so long that the default effort begins one only at a point that
# is lower by this share of F.
WORTH = 1e-3


class Batch(OfRisk):
    """The best of many points after a few smoothed Newton steps, best first, all of them apart.

    Small subsets are fitted, paths of graduated risks are followed from there and from the convex
    risk, and the best points have children between two of them. None is near a point that a run
    has ended at.
    """

    def refusal(self, surrogate: RiskSurrogate) -> str | None:
        """Refuse many coefficients, and samples that do not fit into one matrix."""
        many = ManyPoints.takes(surrogate.declared)
        return None if many else "it is no risk of few coefficients"

    def points(self, surrogate: RiskSurrogate, budget: Budget) -> Iterable[Candidate]:
        """Candidates, the lowest first."""
        risk, rng = surrogate.declared, budget.rng
        with np.errstate(all="ignore"):
            most = max(SAMPLE, FEW * risk.rows.shape[1])
            if risk.n_groups <= 1.5 * most:
                many = ManyPoints(risk)
                points = _searched(many, budget)
                pairs = zip(many.taken(points.theta), points.values, strict=True)
                return [Candidate("batch", x, float(value)) for x, value in pairs]
            few = ManyPoints(risk, rng.choice(risk.n_groups, most, replace=False))
            return _with_more_samples(few, _searched(few, budget), budget)


def is_dear(risk: Risk, effort: Effort) -> bool:
    """True if there are so many samples that only far better points are worth a run."""
    return effort.name == "default" and risk.n_groups >= TALL


def _searched(many: ManyPoints, budget: Budget) -> Points:
    """The distinct points of a search, the lowest first."""
    effort, rng, deadline = budget.effort, budget.rng, budget.deadline
    ease = min(1.0, FEW / many.A.shape[1])
    # exact fits of residuals are near their minima: fewer points are enough, no path begins there
    exact = many.offset is not None
    most = max(effort.points, min(4 * effort.points, CHEAP // many.A.size))
    count = most // 2 if exact else most
    fits = _subset_fits(many, max(int(SUBSETS * count * ease), FEW), rng).lowest(FITS * count)
    paths = graduated_paths(many, fits[:0] if exact else fits, count, rng, deadline)
    points = paths.joined(_settled(many, fits.lowest(count), FIT, STEPS, deadline))
    ended = np.vstack([fits.theta[:0], *(many.given(x) for x in budget.ended)])
    if len(ended):
        points = points.joined(many.at(ended))
    points = points.lowest(2 * PARENTS)
    idle = 0
    for _ in range(int(effort.recombined * ease)):
        lowest, parents = points.values[0], points[:PARENTS].theta
        far = np.linalg.norm(parents - parents[0], axis=1)
        if np.all(far <= ONE * np.linalg.norm(parents[0])):
            break
        children = many.at(_children(parents, rng)).lowest(SETTLED)
        children = _settled(many, children, CHILD, STEPS, deadline)
        points = points.joined(children).lowest(2 * PARENTS)
        idle = 0 if points.values[0] < lowest else idle + 1
        if idle == PATIENCE:
            break
    return _distinct(points, ended)


def _subset_fits(many: ManyPoints, count: int, rng: np.random.Generator) -> Points:
    """Fits of random subsets; of many samples the lower half of those of MANY of them.

    References
    ----------
    Rousseeuw, Van Driessen (2006), Computing LTS regression for large data sets, Data Mining and
    Knowledge Discovery 12: nested extensions.
    """
    if many.n_groups <= MANY:
        return _fits(many, count, rng)
    groups = np.arange(many.n_groups) if many.groups is None else many.groups
    few = ManyPoints(many.risk, rng.choice(groups, MANY, replace=False))
    fits = _fits(few, count, rng).lowest(count // 2)
    return many.at(many.given(few.taken(fits.theta)))


def _fits(many: ManyPoints, count: int, rng: np.random.Generator) -> Points:
    """Least-squares fits of random subsets, stretched as it is best, after two steps.

    A fit of few samples is a poor one even where they are all good: only when it has drawn in
    others like them does it show. Half of the subsets are of the half of the samples that lie
    nearest the middle: leverage that is far away is not among them.
    """
    least = -(-many.A.shape[1] // many.risk.scores.n_scores)
    each = -(-count // (2 * len(SIZES)))
    fits = []
    for pool in (np.arange(many.n_groups), _central(many)):
        for size in SIZES:
            chosen = pool[_chosen(pool.size, min(pool.size, size * least), each, rng)]
            rows = chosen[:, :, None] * many.m + np.arange(many.m)
            fits.append(many.ridge_fits(rows.reshape(each, -1), RIDGE))
    theta = np.concatenate(fits)
    points = many.at(theta)
    for stretch in STRETCHES[1:] if many.offset is None else ():
        points = points.lower(many.at(stretch * theta))
    for _ in range(2):
        points = many.step(points, FIT)
    return points


def _chosen(n: int, size: int, count: int, rng: np.random.Generator) -> Index:
    """Random subsets; of many samples a few may be chosen twice."""
    if n <= FEW * size:
        return np.argsort(rng.random((count, n)), axis=1)[:, :size]
    return rng.integers(n, size=(count, size))


def _central(many: ManyPoints) -> Index:
    """The half of the samples that lie nearest the middle, coordinate by coordinate."""
    n, sizes = many.n_groups, np.abs(many.A)
    usual = np.median(sizes, axis=0)
    far = np.sum((sizes / np.where(usual > 0, usual, 1.0)) ** 2, axis=1)
    return np.argsort(far.reshape(n, -1).max(axis=1))[: -(-n // 2)]


def graduated_paths(
    many: ManyPoints, fits: Points, count: int, rng: np.random.Generator, deadline: Deadline
) -> Points:
    r"""The best ends of paths that follow minima of φ_s, s falling from nearly convex to 1.

    Losses are smoothed by so much that steps go over the rims of narrow wells. Samples are
    weighted at random first and alike in the end, so that each path ends elsewhere. Slow paths
    are fewer and fewer: those that are lowest without these weights go on.

    Parameters
    ----------
    many : ManyPoints
    fits : Points
        Where paths begin.
    count : int
        Paths that begin at the minima of the convex risk.
    rng : numpy Generator
    deadline : Deadline

    Returns
    -------
    Points

    References
    ----------
    Blake, Zisserman (1987), Visual Reconstruction: graduated non-convexity.
    """
    powers = np.append(np.linspace(0, UNEVEN, count), np.linspace(0, UNEVEN, len(fits)))
    weights = rng.exponential(size=(powers.size, many.n_groups)) ** powers[:, None]
    everything = np.arange(len(many.A))[None]
    points = many.at(np.repeat(many.ridge_fits(everything, RIDGE), count, axis=0))
    convex = many.of(many.risk.graduated(CONVEX), weights[:count])
    for _ in range(2):
        points = convex.step(points, PATH, smoothly=True)
    points = points.joined(fits)
    levels, left = (LEVELS, 1.0) if many.n_groups <= MANY else (SLOWLY, LEFT)
    for share, s in zip(
        np.arange(1, levels + 1) / levels, np.geomspace(BEGINNING, 1, levels), strict=True
    ):
        if deadline.left == 0:
            break
        graded = many.risk.graduated(float(s))
        points = many.of(graded, weights ** (1 - share)).step(points, PATH, smoothly=True)
        if left < 1:
            values = many.of(graded).values(points.theta, points.margins, PATH * many.margin)
            kept = np.argsort(values, kind="stable")[: int(np.ceil(powers.size * left**share))]
            points, weights = points[kept], weights[kept]
    points = _settled(many, points, PATH, PATH_STEPS, deadline, smoothly=True)
    return many.at(points.theta)


def _settled(
    many: ManyPoints,
    points: Points,
    width: float,
    steps: int,
    deadline: Deadline,
    *,
    smoothly: bool = False,
) -> Points:
    """The best points after steps with less and less smoothing."""
    count = len(points)
    for share in np.arange(1, steps + 1) / steps:
        if deadline.left == 0:
            break
        points = many.step(points, width * (FINEST / width) ** share, smoothly=smoothly)
        points = points.lowest(int(np.ceil(count * LEFT**share)))
    return points


def _children(parents: Array, rng: np.random.Generator) -> Array:
    """Points between two parents, or beyond one of them."""
    one, other = rng.integers(len(parents), size=(2, CHILDREN))
    way = BEYOND * rng.random((CHILDREN, 1))
    size = np.sqrt(np.mean(parents[one] ** 2, axis=1, keepdims=True))
    noise = NOISE * size * rng.standard_normal((CHILDREN, parents.shape[1]))
    return np.asarray(parents[one] + way * (parents[other] - parents[one]) + noise)


def _distinct(points: Points, ended: Array) -> Points:
    """Points near no earlier one and near no point where a run has ended."""
    known, chosen = list(ended), list[int]()
    for i, theta in enumerate(points.theta):
        if all(np.linalg.norm(theta - x) > ONE_PLACE * np.linalg.norm(theta) for x in known):
            known.append(theta)
            chosen.append(i)
    return points[np.array(chosen, dtype=int)]


def _with_more_samples(few: ManyPoints, points: Points, budget: Budget) -> list[Candidate]:
    """The best point after steps with more samples, if it is below the ends of runs."""
    if len(points) == 0:
        return []
    risk, most = few.risk, MOST_NUMBERS // (few.m * few.A.shape[1])
    drawn = None if risk.n_groups <= most else budget.rng.choice(risk.n_groups, most, replace=False)
    more = ManyPoints(risk, drawn)
    begun = more.at(more.given(few.taken(points[:1].theta)))
    (x,) = more.taken(_settled(more, begun, FIT, STEPS, budget.deadline, smoothly=True).theta)
    value, least = risk(x), min((risk(end) for end in budget.ended), default=np.inf)
    least -= WORTH * abs(least) if is_dear(risk, budget.effort) else 0.0
    return [Candidate("batch", x, value)] if value < least else []
