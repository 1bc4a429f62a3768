"""Linear fits that almost half of the samples cannot carry off, by random subsets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dcprog.estimators.robust_scales import m_scale, tukey_weights
from dcprog.foundation.arrays import Array

__all__ = ["Criterion", "SScale", "TrimmedSquares", "high_breakdown_fit"]

LEAST_SUBSETS, MOST_SUBSETS = 500, 2000
BAD, SURE = 0.3, 0.99  # as many subsets as find one without a bad sample that surely
EXPLORED, SEEN = 400, 5000  # samples that rank the subsets' fits, and that refine the best
FINALISTS, BRIEF, STEPS = 8, 3, 200
MOST_COEFFICIENTS = 50  # of more, no subset is clean: the least squares are improved alone
JITTER = 1e-12
SETTLED = 1e-13


class Criterion(Protocol):
    """A criterion of the residuals R, (K, n), and the samples' weights at its minimum."""

    def roughly(self) -> Criterion:
        """One as good to tell fits far apart, and cheaper."""

    def value(self, R: Array, weights: Array) -> Array:
        """The criterion of each row of residuals, of shape (K,)."""

    def reweighted(self, R: Array, weights: Array) -> Array:
        """Weights of the samples whose least squares have a lower criterion, (K, n)."""


@dataclass(frozen=True)
class SScale:
    """The M-scale σ: Σ_i s_i ρ(r_i/σ) = level·Σ_i s_i, with Tukey's ρ scaled to [0, 1].

    References
    ----------
    Rousseeuw, Yohai (1984), Robust regression by means of S-estimators, Lecture Notes in
    Statistics 26.
    """

    level: float = 0.5
    tolerance: float = SETTLED

    def roughly(self) -> SScale:
        """The criterion to a relative accuracy of a tenth."""
        return SScale(self.level, 0.1)

    def value(self, R: Array, weights: Array) -> Array:
        """σ of each row, 0 where a share of 1 − level is fitted exactly."""
        return m_scale(R, weights, self.level, self.tolerance)

    def reweighted(self, R: Array, weights: Array) -> Array:
        """Tukey's weights at the rows' scales."""
        return weights * tukey_weights(R, self.value(R, weights))


@dataclass(frozen=True)
class TrimmedSquares:
    """The sum of the squares of a share of the samples, those of the smallest.

    References
    ----------
    Rousseeuw (1984), Least median of squares regression, JASA 79.
    """

    share: float

    def roughly(self) -> TrimmedSquares:
        """Itself."""
        return self

    def value(self, R: Array, weights: Array) -> Array:
        """The sum of each row."""
        h = self._count(R)
        return np.sum(np.partition(R**2, h - 1, axis=1)[:, :h], axis=1)

    def reweighted(self, R: Array, weights: Array) -> Array:
        """1 for the smallest, 0 for the others: a concentration step."""
        kept, h = np.zeros_like(R), self._count(R)
        np.put_along_axis(kept, np.argpartition(R**2, h - 1, axis=1)[:, :h], 1.0, axis=1)
        return kept

    def _count(self, R: Array) -> int:
        return max(1, round(self.share * R.shape[1]))


def high_breakdown_fit(
    A: Array, y: Array, criterion: Criterion, weights: Array | None = None, seed: int = 0
) -> Array:
    """Coefficients of least criterion among those that random subsets of the samples lead to.

    Subsets of as many samples as there are coefficients are fitted, and a few reweighted least
    squares taken from each; those of the best few go on to the end. Every step commutes with
    y → ay + Ab and with A → AB: so does the fit.

    Parameters
    ----------
    A : array of shape (n, p)
        With a column of ones where there is an intercept.
    y : array of shape (n,)
    criterion : Criterion
    weights : array of shape (n,), optional
        How often each sample counts.
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
    trial = problem.roughly_of(_drawn(rng, len(y), EXPLORED))
    fits = trial.subset_fits(rng)
    for _ in range(2):
        fits = trial.improved(fits)
    fits = trial.lowest(fits, FINALISTS)
    for _ in range(BRIEF):
        fits = problem.improved(fits)
    return problem.settled(problem.lowest(fits, 2)) / unit


@dataclass(frozen=True)
class _Problem:
    A: Array
    y: Array
    weights: Array
    criterion: Criterion

    def roughly_of(self, rows: Any) -> _Problem:
        """The problem of some samples."""
        criterion = self.criterion.roughly()
        return _Problem(self.A[rows], self.y[rows], self.weights[rows], criterion)

    def subset_fits(self, rng: np.random.Generator) -> Array:
        """Exact fits of as many samples as there are coefficients; the least squares of all."""
        n, p = self.A.shape
        zero = np.zeros((1, p))
        everything = self._moved(zero, self.weights[None])
        if p > MOST_COEFFICIENTS or n <= p:
            return everything
        clean = (1 - BAD) ** p
        count = int(np.clip(np.log(1 - SURE) / np.log1p(-clean), LEAST_SUBSETS, MOST_SUBSETS))
        share = self.weights / self.weights.sum()
        chosen = np.array([rng.choice(n, p, replace=False, p=share) for _ in range(count)])
        picked = self.A[chosen]
        fits = _solved(np.swapaxes(picked, 1, 2) @ picked, picked, self.y[chosen])
        return np.concatenate([everything, fits])

    def improved(self, fits: Array) -> Array:
        """The least squares under the weights that the criterion gives at each fit."""
        return self._moved(fits, self.criterion.reweighted(self._residuals(fits), self.weights))

    def lowest(self, fits: Array, count: int) -> Array:
        value = self.criterion.value(self._residuals(fits), self.weights)
        return fits[np.argsort(value, kind="stable")[:count]]

    def settled(self, fits: Array) -> Array:
        """The best fit, from which no step goes anywhere."""
        for _ in range(STEPS):
            moved = self.improved(fits)
            gone = np.abs((moved - fits) @ self.A.T).max()
            fits = moved
            if gone <= SETTLED * np.abs(self.y).max():
                break
        return self.lowest(fits, 1)[0]

    def _residuals(self, fits: Array) -> Array:
        return self.y - fits @ self.A.T

    def _moved(self, fits: Array, weights: Array) -> Array:
        """Weighted least squares, as steps from the fits: rounding does not pile up."""
        R = self._residuals(fits)
        p = self.A.shape[1]
        pulls = (weights * R) @ self.A
        one, other = np.triu_indices(p)
        G = np.empty((len(fits), p, p))
        G[:, one, other] = weights @ (self.A[:, one] * self.A[:, other])
        G[:, other, one] = G[:, one, other]
        return fits + _regular_solve(G, pulls)


def _solved(G: Array, A: Array, y: Array) -> Array:
    return _regular_solve(G, np.einsum("kmp,km->kp", A, y))


def _regular_solve(G: Array, pulls: Array) -> Array:
    """Solutions of many systems; what no sample determines stays about 0."""
    p = G.shape[1]
    diagonal = np.einsum("kjj->kj", G)
    least = JITTER * np.maximum(diagonal, diagonal.max(axis=1, keepdims=True, initial=0.0) * JITTER)
    ridge = np.where(least > 0, least, 1.0)
    steps: Any = np.linalg.solve(G + ridge[:, :, None] * np.eye(p), pulls[:, :, None])
    return steps[:, :, 0]


def _drawn(rng: np.random.Generator, n: int, most: int) -> Any:
    return rng.choice(n, most, replace=False) if n > most else slice(None)
