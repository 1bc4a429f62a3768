"""The batch: many points of a risk of few coefficients, improved by smoothed Newton steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dcprog.engine.protocol import Surrogate
from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.risk.risk import Risk
from dcprog.risk_mm.loose_starts import schedule
from dcprog.risk_mm.many_points import ManyPoints, Points
from dcprog.risk_mm.smoothed_newton import ridge_fits, settled, step
from dcprog.risk_mm.surrogate import RiskSurrogate
from dcprog.starts.effort import Effort, Fits
from dcprog.starts.protocol import Budget, Candidate

__all__ = ["FEW", "Batch", "concentrated", "graduated_paths", "is_dear", "labels_of", "subset_fits"]

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk


Index = npt.NDArray[np.intp]

# Samples of a subset, times as many as it takes to determine a score; shares of the subsets; and
# the ridge of the fit, relative to the columns' size.
KINDS = (
    ((1.0, 1.2), 0.2, 1e-6),
    ((1.0, 1.2), 0.2, 1e-2),
    ((1.5, 2.2), 0.25, 1e-2),
    ((2.0, 6.0), 0.2, 1e-1),
    ((6.0, 15.0), 0.15, 1e-2),
)
# Residuals are fitted exactly by as many samples as there are coefficients: as few as can be hold
# no outlier most often. They need no stretching, so that there may be twice as many.
RESIDUAL_KINDS = (((1.0, 1.0), 1.4, 1e-6), ((1.0, 1.2), 0.4, 1e-3), ((2.0, 6.0), 0.2, 1e-1))
# As large as these may be those of the half of the samples that lie nearest the middle: leverage
# that is far away is not among them, however many coefficients there are.
CENTRAL = ((2.0, 15.0), 0.1, 1e-2)
# How far margins that are fitted to 1 are stretched: a hinge wants its samples beyond 1.
STRETCHES = (1.0, 2.0, 4.0)


def subset_fits(
    many: ManyPoints, labels: Index | None, count: int, rng: np.random.Generator
) -> Array:
    """Least-squares fits of random subsets of the samples, with samples of all labels in each.

    Parameters
    ----------
    many : ManyPoints
    labels : int array of shape (n_groups,), optional
        0, 1, …; None where all samples are alike.
    count : int
        Subsets.
    rng : numpy Generator

    Returns
    -------
    array of shape (K, p)
        In the units of `many`.

    References
    ----------
    Rousseeuw, Van Driessen (2006), Computing LTS regression for large data sets, Data Mining and
    Knowledge Discovery 12.
    """
    n, p = many.n_groups, many.A.shape[1]
    least = -(-p // many.risk.scores.n_scores)
    fits = []
    kinds = KINDS if many.offset is None else RESIDUAL_KINDS
    for factors, share, ridge in kinds:
        size = int(min(n, rng.uniform(*factors) * least))
        chosen = _with_all(_chosen(n, size, int(share * count), rng), labels, rng)
        fits.append(_fitted(many, chosen, ridge))
    factors, share, ridge = CENTRAL
    central = _central(many)
    size = int(min(central.size, rng.uniform(*factors) * least))
    chosen = central[_chosen(central.size, size, int(np.ceil(share * count)), rng)]
    return np.concatenate([*fits, _fitted(many, chosen, ridge)])


def _fitted(many: ManyPoints, chosen: Index, ridge: float) -> Array:
    rows = chosen[:, :, None] * many.m + np.arange(many.m)
    return ridge_fits(many, rows.reshape(len(chosen), -1), ridge)


def _central(many: ManyPoints) -> Index:
    """The half of the samples that lie nearest the middle, coordinate by coordinate."""
    n, sizes = many.n_groups, np.abs(many.A)
    usual = np.median(sizes, axis=0)
    far = np.sum((sizes / np.where(usual > 0, usual, 1.0)) ** 2, axis=1)
    return np.argsort(far.reshape(n, -1).max(axis=1))[: -(-n // 2)]


def concentrated(many: ManyPoints, fits: Array, widths: tuple[float, ...], kept: int) -> Array:
    """The best fits after a few steps from each of them, as some of the samples see them.

    A fit of few samples is a poor one even where they are all good: only when it has drawn in
    others like them does it show.
    """
    stretches = STRETCHES if many.offset is None else (1.0,)
    points = many.at(np.concatenate([stretch * fits for stretch in stretches]), "subset")
    values = points.values.reshape(len(stretches), -1)
    best = np.argmin(values, axis=0) * len(fits) + np.arange(len(fits))
    points = points[best]
    return settled(many, points, widths).lowest(kept).theta


def _chosen(n: int, size: int, count: int, rng: np.random.Generator) -> Index:
    """Random subsets; of many samples a few may be chosen twice."""
    if n <= 20 * size:
        return np.argsort(rng.random((count, n)), axis=1)[:, :size]
    return rng.integers(n, size=(count, size))


def _with_all(chosen: Index, labels: Index | None, rng: np.random.Generator) -> Index:
    """The subsets with their first samples replaced by one of each label."""
    if labels is None or 2 * (labels.max() + 1) > chosen.shape[1]:
        return chosen
    for label in range(labels.max() + 1):
        chosen[:, label] = rng.choice(np.flatnonzero(labels == label), size=len(chosen))
    return chosen


def labels_of(risk: Risk, groups: Index | None) -> Index | None:
    """The classes of the samples, or of some, as their rows show them; None for a single one."""
    rows = risk.scores
    codes = getattr(rows, "y", None) if rows.signs is None else rows.signs
    if codes is None or len(codes) != risk.n_groups:
        return None
    codes = np.asarray(codes) if groups is None else np.asarray(codes)[groups]
    labels = np.unique(codes, axis=0, return_inverse=True)[1].ravel()
    return labels if labels.max() > 0 else None


# ----------------------------------------------------------------------------------------------


# Steps on the nearly convex risk; then levels of s, with so many steps on each.
CONVEX, BEGINNING, LEVELS, STEPS_A_LEVEL = 3, 3.0, 10, 2
# Widths of the smoothing in units of the margins until s is 1. Then all fall to the first, and
# those of the best points, one in so many, to the second, in so many steps.
SPREADS = (0.7, 1.0, 1.4)
NARROW, KEPT, NARROWER, NARROWING = 0.1, 4, 0.01, 8
# Samples have weights e^a, e exponential, with powers a up to that.
UNEVEN = 0.5


def graduated_paths(
    many: ManyPoints, fits: Array, count: int, rng: np.random.Generator, deadline: Deadline
) -> Points:
    r"""Where paths end that follow minima of φ_s, s falling from nearly convex to 1.

    Losses are smoothed by so much that steps go over the rims of narrow wells. Samples are
    weighted at random first and alike in the end, so that each path ends elsewhere.

    Parameters
    ----------
    many : ManyPoints
    fits : array of shape (m, p)
        In the units of `many`: where paths begin.
    count : int
        Paths that begin at the minima of the convex risk.
    rng : numpy Generator
    deadline : Deadline

    Returns
    -------
    Points
        The best of them.

    References
    ----------
    Blake, Zisserman (1987), Visual Reconstruction: graduated non-convexity.
    """
    risk, total = many.risk, count + len(fits)
    powers = np.append(np.linspace(0, UNEVEN, count), np.linspace(0, UNEVEN, len(fits)))
    weights = rng.exponential(size=(total, many.n_groups)) ** powers[:, None]
    width = np.resize(SPREADS, total)[:, None]

    def followed(points: Points, s: float, even: float, steps: int) -> Points:
        part = slice(len(points.values))
        graded = many.of(risk.graduated(s)).weighted(weights[part] ** (1 - even))
        for _ in range(0 if deadline.left == 0 else steps):
            points = step(graded, points, width[part], smoothly=True)
        return points

    everything = np.arange(len(many.A))[None]
    ridge = np.repeat(ridge_fits(many, everything, 1e-3), count, axis=0)
    points = followed(many.at(ridge, "graduated"), 1e6, 0.0, CONVEX)
    if len(fits):
        points = points.joined(many.at(fits, "subset"))
    for k, s in enumerate(schedule(BEGINNING, LEVELS), 1):
        points = followed(points, float(s), k / LEVELS, STEPS_A_LEVEL)
    points = _narrowed(many, points, width, NARROW, deadline)
    return _narrowed(many, points.lowest(-(-total // KEPT)), NARROW, NARROWER, deadline)


def _narrowed(
    many: ManyPoints, points: Points, begin: float | Array, end: float, deadline: Deadline
) -> Points:
    """The points after steps with less and less smoothing, with their values under `many`."""
    shares = np.arange(1, NARROWING + 1) / NARROWING
    widths = (begin * (end / begin) ** share for share in shares if deadline.left != 0)
    return settled(many, points, widths, smoothly=True)


# ----------------------------------------------------------------------------------------------


# From so many samples on a run is dear and optima that matter are few: with the default effort
# little is drafted, finished with some of the samples, and run from only if it is lower by a share
# of the value.
DEAR, WIDER, WORTH = 100_000, 20_000, 1e-3
OF_MANY = Fits(40, 8, 2, (0, 0))
# Fits of as many residuals as there are coefficients are exact: fewer paths are needed.
FEWER, MORE = 4, 2.5
# Widths of the smoothing in units of the margins: for fits of subsets, and for children, of which
# the best are kept after each series.
FIRST, SMOOTH_FIRST = (0.4, 0.3), (0.2, 0.1)
WIDTHS = ((0.2, 0.15, 0.1), (0.08, 0.06, 0.04, 0.03))
SMOOTH_WIDTHS = ((0.05, 0.05), (0.02, 0.02, 0.02))
FINE, SMOOTH_FINE = (0.02, 0.015, 0.01, 0.007, 0.005), (0.01,)
WHOLE = tuple(np.geomspace(0.4, 0.01, 14).tolist())
UNGRADUATED = 6  # fits of subsets
# A round for so many samples is enough: of few samples there are few optima.
ENOUGH = 30
USUAL = 2000  # samples; of more of them there are fewer paths and rounds
# Of the best points so many are the parents of the next round, and so many are its children:
# between and a little beyond two parents, or around one; of the children so many are settled.
PARENTS, BETWEEN, AROUND, SETTLED = 10, 16, 8, (8, 3)
BEYOND, NOISE, KICK = 1.5, 0.05, 0.1  # noise relative to the size of a coefficient
# Shares of the fits of subsets are ranked by the losses of so many samples each, or five times as
# many as there are coefficients; of more coefficients than a few there are fewer.
JUDGES, JURIES = 150, 4
FEW = 20
NEAR = "near"  # points that runs have ended at: they have children, and are no candidates
# A transform is steep at 0 whose tangent there is so many times higher at a usual loss.
STEEP = 100.0
# Of more samples than half as many again so many are drawn, or twenty times as many as there are
# coefficients; the best points then see all of them, if their matrix is not too large.
SAMPLE = 3000
MOST_NUMBERS = 2**23
FINISHED = 2
# Two points closer than that, relative to their size, are one.
SAME = 1e-2


class Batch:
    """The best of many points after a few smoothed Newton steps, best first, no two alike.

    Small subsets are fitted, paths of graduated risks are followed from there and from the convex
    risk, and the best points have children between two of them. None is near a point that a run
    has ended at.
    """

    def takes(self, surrogate: Surrogate) -> str | None:
        """Risks of few coefficients whose samples fit into one matrix."""
        many = isinstance(surrogate, RiskSurrogate) and ManyPoints.takes(surrogate.declared)
        return None if many else "it is no risk of few coefficients"

    def points(self, surrogate: Surrogate, budget: Budget) -> Iterable[Candidate]:
        """Candidates, the lowest first."""
        assert isinstance(surrogate, RiskSurrogate)
        with np.errstate(all="ignore"):
            return _Search(surrogate.declared, budget).run(budget.ended)


def is_dear(risk: Risk, effort: Effort) -> bool:
    """True if there are so many samples that only far better points are worth a run."""
    return effort.name == "default" and risk.n_groups >= DEAR


def _is_smooth(risk: Risk) -> bool:
    """True if runs are cheap: the base is smooth and the transform not steep at 0."""
    size = np.median(risk.aggregates(np.zeros(risk.rows.shape[1])))
    transform = risk.transform
    rise = transform(np.asarray(size)) - transform(np.zeros(()))
    return bool(risk.base.is_smooth and transform.steepest * size <= STEEP * np.max(rise))


class _Search:
    def __init__(self, risk: Risk, budget: Budget) -> None:
        self.risk, self.rng, self.deadline = risk, budget.rng, budget.deadline
        rng, effort = budget.rng, budget.effort
        smooth = _is_smooth(risk)
        self.dear = is_dear(risk, effort)
        self.effort = OF_MANY if self.dear else effort.smooth if smooth else effort.fits
        self.first = SMOOTH_FIRST if smooth else FIRST
        self.widths = SMOOTH_WIDTHS if smooth else WIDTHS
        self.fine = SMOOTH_FINE if smooth else FINE
        self.groups, most = None, max(SAMPLE, 20 * risk.rows.shape[1])
        if risk.n_groups > 1.5 * most:
            self.groups = rng.choice(risk.n_groups, most, replace=False)
        self.many = ManyPoints(risk, self.groups)

    def run(self, near: list[Array]) -> list[Candidate]:
        many, points = self.many, self._first()
        if near:
            points = points.joined(many.at(np.vstack([many.given(x) for x in near]), NEAR))
        for _ in range(self._rounds()):
            points = points.joined(self._next(points.lowest(PARENTS).theta)).lowest(2 * PARENTS)
        least = min((self.risk(x) for x in near), default=np.inf)
        return self._finished(self._distinct(points.lowest(len(points.values))), least)

    def _first(self) -> Points:
        """Fits of subsets as they are, which leverage leaves alone, and graduated ones."""
        fits = self._fits()
        subsets = self._settled(self.many.at(fits, "subset"), self.first).lowest(UNGRADUATED)
        for widths in self.widths:
            subsets = self._settled(subsets, widths)
        begins = fits if self.many.offset is None else fits[:0]
        paths = graduated_paths(self.many, begins, self._paths(), self.rng, self.deadline)
        return subsets.joined(paths)

    @property
    def _ease(self) -> float:
        """1, and less where many samples make steps dear."""
        return min(1.0, USUAL / self.many.n_groups)

    def _paths(self) -> int:
        """More where coefficients are many and subsets tell less of them, fewer of many samples."""
        many, paths = self.many, self.effort.paths
        if many.offset is not None:
            return paths // FEWER
        more = np.clip(many.A.shape[1] / FEW, 1.0, MORE)
        return int(np.ceil(paths * more * self._ease))

    def _rounds(self) -> int:
        """Few where there are few optima, and where a step is dear."""
        n, p = self.many.n_groups, self.many.A.shape[1]
        least, most = self.effort.rounds
        rounds = min(most, least + n // ENOUGH)
        return int(rounds * min(1.0, FEW / p) * self._ease)

    def _fits(self) -> Array:
        """The best fits of subsets, as some of the samples see them.

        A share of the fits is judged by some, the next by others: where there are more outliers
        among the judges than the loss bears, no good fit of theirs seems good.
        """
        many, effort = self.many, self.effort
        n, p = many.n_groups, many.A.shape[1]
        count = max(effort.subsets * FEW // max(p, FEW), FEW)
        fits = subset_fits(many, labels_of(self.risk, self.groups), count, self.rng)
        kept, most = int(np.ceil(effort.fits * self._ease)), max(JUDGES, 5 * p)
        if n <= most:
            return concentrated(many, fits, self.first, kept)
        juries = (many.some(self.rng.choice(n, most, replace=False)) for _ in range(JURIES))
        judged = [
            concentrated(judges, fits[k::JURIES], self.first, -(-kept // JURIES))
            for k, judges in enumerate(juries)
        ]
        return np.concatenate(judged)

    def _next(self, parents: Array) -> Points:
        """The best children of some points, settled."""
        children = self.many.at(self._children(parents), "recombined")
        for widths, count in zip(self.widths, SETTLED, strict=True):
            children = self._settled(children.lowest(count), widths)
        return children

    def _children(self, parents: Array) -> Array:
        rng, shape = self.rng, (BETWEEN, parents.shape[1])
        one, other = rng.integers(len(parents), size=(2, BETWEEN))
        way = BEYOND * rng.random((BETWEEN, 1))
        size = np.sqrt(np.mean(parents**2, axis=1, keepdims=True))
        noise = NOISE * size[one] * rng.standard_normal(shape)
        between = parents[one] + way * (parents[other] - parents[one]) + noise
        near = rng.integers(min(2, len(parents)), size=AROUND)
        around = parents[near] + KICK * size[near] * rng.standard_normal((AROUND, shape[1]))
        return np.concatenate([between, around])

    def _settled(self, points: Points, widths: tuple[float, ...]) -> Points:
        return settled(self.many, points, () if self.deadline.left == 0 else widths)

    def _distinct(self, points: Points) -> Points:
        """Candidates near no earlier one and near no point where a run has ended."""
        chosen: list[int] = []
        for i, theta in enumerate(points.theta):
            size = SAME * np.linalg.norm(theta)
            if all(np.linalg.norm(theta - points.theta[j]) > size for j in chosen):
                chosen.append(i)
        return points[np.array([i for i in chosen if points.kinds[i] != NEAR], dtype=int)]

    def _finished(self, points: Points, least: float) -> list[Candidate]:
        """The best ones after steps with all samples and little smoothing.

        Of many samples none that is not below what runs have reached: runs are dear there.
        """
        best, rest = points.lowest(FINISHED), points[FINISHED:]
        many = self._wider()
        if many is None:
            many, best = self.many, self._settled(best, self.fine)
        else:
            best, rest = best[:1], rest[:0]
            theta = many.given(self.many.taken(best.theta))
            best = many.at(theta, "").named(best.kinds)
            best = settled(many, best, () if self.deadline.left == 0 else WHOLE, smoothly=True)
        found = [*self._candidates(best, many), *self._candidates(rest, self.many)]
        if self.groups is not None:
            most = least - (WORTH * abs(least) if self.dear else 0.0)
            found = [one for one in found if one.value < most]
        return sorted(found, key=lambda one: one.value)

    def _wider(self) -> ManyPoints | None:
        """More of the samples than were drawn: all, if their matrix is not too large."""
        if self.groups is None:
            return None
        if self.dear:
            return ManyPoints(self.risk, self.rng.choice(self.risk.n_groups, WIDER, replace=False))
        whole = self.risk.rows.shape[0] * self.many.A.shape[1] <= MOST_NUMBERS
        return ManyPoints(self.risk) if whole else None

    def _candidates(self, points: Points, many: ManyPoints) -> list[Candidate]:
        x = many.taken(points.theta)
        values = points.values
        if many.n_groups < self.risk.n_groups:
            values = np.array([self.risk(theta) for theta in x])
        return [
            Candidate(str(k), t, float(v)) for k, t, v in zip(points.kinds, x, values, strict=True)
        ]
