"""The batch: many points of a risk of few coefficients, improved by smoothed Newton steps."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dcprog.engine.protocol import Surrogate
from dcprog.foundation.arrays import Array
from dcprog.risk.risk import Risk
from dcprog.risk_mm.many_points import ManyPoints, Points
from dcprog.risk_mm.smoothed_newton import settled
from dcprog.risk_mm.surrogate import RiskSurrogate
from dcprog.starts.effort import Effort, Fits
from dcprog.starts.graduated_paths import graduated_paths
from dcprog.starts.protocol import Budget, Candidate
from dcprog.starts.subsets import concentrated, labels_of, subset_fits

__all__ = ["FEW", "Batch", "is_dear"]


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
