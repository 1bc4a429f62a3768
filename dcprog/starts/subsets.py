"""Fits of small random subsets: starts that outliers have not turned round."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.risk_mm.many_points import ManyPoints
from dcprog.risk_mm.smoothed_newton import ridge_fits, settled

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk

__all__ = ["concentrated", "labels_of", "subset_fits"]

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
