"""High-breakdown linear regression by random subsets: S-estimates and least trimmed squares."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from dcprog.estimators.robust_scales import m_scale, tukey_weights
from dcprog.foundation.arrays import BLOCK, Array, blocks
from dcprog.foundation.sums import WeightedGrams, weighted_quantile
from dcprog.foundation.tolerances import MOST_STEPS, ROUNDING

LEAST_SUBSETS, MOST_SUBSETS = 500, 2000  # as usual; more cost more than they find
BAD, SURE = 0.3, 0.99  # share of bad samples; probability that some subset has none of them
EXPLORED = 400  # most samples that rank the subsets' fits; at most SEEN refine the best
FINALISTS, BRIEF = 8, 3  # fits refined on all samples, and their first steps
MOST_COEFFICIENTS = 50  # with more no subset is clean: only the least squares fit is improved


class Criterion(Protocol):
    """A function of residuals R, (K, n), that a fit minimises, and its reweighting of samples."""

    def roughly(self) -> Criterion:
        """A cheaper approximation for a first ranking of fits."""

    def value(self, R: Array, weights: Array) -> Array:
        """The criterion of each row of residuals, of shape (K,)."""

    def reweighted(self, R: Array, weights: Array, value: Array | None = None) -> Array:
        """Weights, (K, n), whose least squares fits have a lower criterion than this value."""


@dataclass(frozen=True)
class SScale:
    """The M-scale σ: Σ_i s_i ρ(r_i/σ) = level·Σ_i s_i, with Tukey's ρ scaled to [0, 1].

    References
    ----------
    Rousseeuw, Yohai (1984), Robust regression by means of S-estimators, Lecture Notes in
    Statistics 26.
    """

    level: float = 0.5
    tolerance: float = ROUNDING

    def roughly(self) -> SScale:
        """The M-scale to a relative tolerance of 0.1."""
        return SScale(self.level, 0.1)

    def value(self, R: Array, weights: Array) -> Array:
        """σ of each row, 0 where a share of 1 − level is fitted exactly."""
        return m_scale(R, weights, self.level, self.tolerance)

    def reweighted(self, R: Array, weights: Array, value: Array | None = None) -> Array:
        """The samples' weights times Tukey's weights at each row's scale."""
        return weights * tukey_weights(R, self.value(R, weights) if value is None else value)


@dataclass(frozen=True)
class TrimmedSquares:
    """The sum of the smallest squared residuals, of a share of the samples.

    References
    ----------
    Rousseeuw (1984), Least median of squares regression, JASA 79.
    """

    share: float

    def roughly(self) -> TrimmedSquares:
        """The criterion itself, which is cheap already."""
        return self

    def value(self, R: Array, weights: Array) -> Array:
        """The trimmed sum of squares of each row; the weights are not used."""
        h = self._count(R)
        return np.sum(np.partition(R**2, h - 1, axis=1)[:, :h], axis=1)

    def reweighted(self, R: Array, weights: Array, value: Array | None = None) -> Array:
        """Weight 1 for the smallest squares, 0 for the others: a concentration step."""
        kept, h = np.zeros_like(R), self._count(R)
        np.put_along_axis(kept, np.argpartition(R**2, h - 1, axis=1)[:, :h], 1.0, axis=1)
        return kept

    def _count(self, R: Array) -> int:
        return max(1, round(self.share * R.shape[1]))


def high_breakdown_fit(
    A: Array, y: Array, criterion: Criterion, weights: Array | None = None, seed: int = 0
) -> Array:
    """Coefficients that minimise the criterion approximately, by fits of random subsets.

    Random subsets of p samples are fitted exactly, and each fit is improved by a few reweighted
    least squares steps; the best few are improved until they converge. Every step is equivariant
    under y → ay + Ab and A → AB, and so is the fit.

    Parameters
    ----------
    A : array of shape (n, p)
        The features, with a column of ones for an intercept.
    y : array of shape (n,)
    criterion : Criterion
    weights : array of shape (n,), optional
        The number of times each sample counts.
    seed : int, default 0

    Returns
    -------
    array of shape (p,)

    References
    ----------
    Rousseeuw, Van Driessen (2006), Computing LTS regression for large data sets, Data Min. Knowl.
    Discov. 12. Salibian-Barrera, Yohai (2006), A fast algorithm for S-regression estimates, J.
    Comput. Graph. Stat. 15.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.estimators.high_breakdown import SScale, high_breakdown_fit
    >>> x = np.arange(10.0)
    >>> y = np.where(x > 5, -20 * x, 1 + 2 * x)  # 40% on another line
    >>> high_breakdown_fit(np.column_stack([x, np.ones(10)]), y, SScale()).round(6)
    array([2., 1.])
    """
    rng = np.random.default_rng(seed)
    weights = np.ones(len(y)) if weights is None else weights
    unit = np.median(np.abs(A), axis=0)
    unit = np.where(unit > 0, unit, np.sqrt(np.mean(A**2, axis=0)))
    unit = np.where(unit > 0, unit, 1.0)
    problem = _Problem(A / unit, y, weights, criterion)
    explored = rng.choice(len(y), EXPLORED, replace=False) if len(y) > EXPLORED else slice(None)
    trial = problem.roughly_of(explored)
    fits = trial.subset_fits(rng)
    lots = (fits[lot] for lot in blocks(len(fits), max(1, BLOCK // len(trial.y))))
    ends = [trial.lowest(trial.improved(trial.improved(lot)), FINALISTS) for lot in lots]
    fits = trial.lowest(np.concatenate(ends), FINALISTS)
    for _ in range(BRIEF):
        fits = problem.improved(fits)
    return problem.settled(problem.lowest(fits, 2)) / unit


def robust_start(
    X: Array,
    y: Array,
    criterion: Criterion,
    *,
    fit_intercept: bool,
    weights: Array | None = None,
) -> tuple[Array, Array]:
    """The coefficients and intercept, (d + 1,), of a high-breakdown fit, and its residuals.

    With an intercept all columns and y are centred at their medians, against rounding errors.
    """
    if not fit_intercept:
        fit = high_breakdown_fit(X, y, criterion, weights)
        return np.append(fit, 0.0), y - X @ fit
    weights = np.ones(len(y)) if weights is None else weights
    shift, middle = np.median(X, axis=0), float(weighted_quantile(y[None], weights)[0])
    A = np.column_stack([X - shift, np.ones(len(y))])
    fit = high_breakdown_fit(A, y - middle, criterion, weights)
    start = np.append(fit[:-1], fit[-1] - fit[:-1] @ shift + middle)
    return start, y - middle - A @ fit


@dataclass(frozen=True)
class _Problem:
    A: Array
    y: Array
    weights: Array
    criterion: Criterion

    def roughly_of(self, rows: Any) -> _Problem:
        """The problem of the given samples, with the cheaper criterion."""
        criterion = self.criterion.roughly()
        return _Problem(self.A[rows], self.y[rows], self.weights[rows], criterion)

    def subset_fits(self, rng: np.random.Generator) -> Array:
        """The least squares fit of all samples, then exact fits of random subsets of p samples."""
        n, p = self.A.shape
        zero = np.zeros((1, p))
        everything = self._moved(zero, self.y[None], self.weights[None])
        if p > MOST_COEFFICIENTS or n <= p:
            return everything
        clean = (1 - BAD) ** p
        count = int(np.clip(np.log(1 - SURE) / np.log1p(-clean), LEAST_SUBSETS, MOST_SUBSETS))
        # The p largest of log weights plus Gumbel noise are draws without replacement.
        with np.errstate(divide="ignore"):
            keys = np.log(self.weights) + rng.gumbel(size=(count, n))
        chosen = np.argpartition(keys, n - p, axis=1)[:, n - p :]
        picked = self.A[chosen]
        pulls = np.einsum("kmp,km->kp", picked, self.y[chosen])
        fits = _regular_solve(np.swapaxes(picked, 1, 2) @ picked, pulls)
        return np.concatenate([everything, fits])

    def improved(self, fits: Array, value: Array | None = None) -> Array:
        """One reweighted least squares step from each fit, whose criterion may be known."""
        R = self._residuals(fits)
        return self._moved(fits, R, self.criterion.reweighted(R, self.weights, value))

    def lowest(self, fits: Array, count: int) -> Array:
        return fits[np.argsort(self._values(fits), kind="stable")[:count]]

    def settled(self, fits: Array) -> Array:
        """The best of the fits after reweighted steps, extrapolated, until they converge."""
        value: Array | None = None
        for _ in range(MOST_STEPS):
            one = self.improved(fits, value)
            step = (one - fits) @ self.A.T
            if np.abs(step).max() <= ROUNDING * np.abs(self.y).max():
                return self.lowest(one, 1)[0]
            two = self.improved(one)
            fits, value = self._extrapolated(fits, one, two)
        return self.lowest(fits, 1)[0]

    def _extrapolated(self, fits: Array, one: Array, two: Array) -> tuple[Array, Array]:
        """Squared extrapolation of two steps where it is lower, otherwise their end; the criterion.

        Varadhan, Roland (2008), Simple and globally convergent methods for accelerating the
        convergence of any EM algorithm, Scand. J. Stat. 35, scheme S3; lengths are those of the
        fitted values, so that it is equivariant.
        """
        step, bend = one - fits, two - 2 * one + fits
        length, curve = (np.linalg.norm(d @ self.A.T, axis=1, keepdims=True) for d in (step, bend))
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(curve > 0, np.maximum(length / curve, 1.0), 1.0)
        far = fits + 2 * t * step + t**2 * bend
        ends = np.stack([far, two])
        value = self._values(np.concatenate(ends)).reshape(2, -1)
        lower = (np.where(value[0] < value[1], 0, 1), np.arange(len(fits)))
        return ends[lower], value[lower]

    def _values(self, fits: Array) -> Array:
        return self.criterion.value(self._residuals(fits), self.weights)

    def _residuals(self, fits: Array) -> Array:
        return self.y - fits @ self.A.T

    @cached_property
    def _grams(self) -> WeightedGrams:
        return WeightedGrams(self.A)

    def _moved(self, fits: Array, R: Array, weights: Array) -> Array:
        """Weighted least squares fits, as steps from the given fits to limit rounding errors."""
        return fits + _regular_solve(self._grams(weights), (weights * R) @ self.A)


def _regular_solve(G: Array, pulls: Array) -> Array:
    """Solve many systems with a tiny ridge; steps in undetermined directions stay about 0."""
    p = G.shape[1]
    diagonal = np.einsum("kjj->kj", G)
    largest = diagonal.max(axis=1, keepdims=True, initial=0.0)
    least = ROUNDING * np.maximum(diagonal, ROUNDING * largest)
    ridge = np.where(least > 0, least, 1.0)
    steps: Any = np.linalg.solve(G + ridge[:, :, None] * np.eye(p), pulls[:, :, None])
    return steps[:, :, 0]
