"""Six readings of how ε is set, on ALLAML; a part of reproduce.py, not run by itself.

"During the first five iterations ε is set so that a tenth of the samples is capped" leaves a range
between two losses, or more: each reading is cross-validated as table 2 is, for p = 1 and p = 2.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import joblib
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

import dcprog as dc
from dcprog.losses import squared_hinge
from dcprog.penalties import l2
from dcprog.risk.risk import Risk
from dcprog.rows.linear import class_margins
from dcprog.transforms import Transform, cap_at, cap_largest, power_of
from dcprog.transforms.caps import share_of
from examples.capped_svm.protocol import FOLDS, METHODS, Fold, Grid, axes_of, folds_of
from examples.common.claims import Claim, Difference, same
from examples.common.parts import kept

Array = np.ndarray
SHARE, DELTA = 0.1, 1e-8
POWERS = (1.0, 2.0)
MARGIN = 1.5  # points


class cap_by(cap_largest):
    """A cap that is set as :class:`cap_largest` sets it, by another number of the losses.

    Parameters
    ----------
    rule : callable
        The cap, from the losses of the share that is capped, in decreasing order.
    """

    def __init__(self, fraction: float, inner: Transform, rule: Callable[[Array], float]) -> None:
        super().__init__(fraction, inner)
        self.rule = rule

    def fixed(self, t: Array) -> cap_at:
        largest = np.sort(t, axis=None)[::-1][: max(share_of(self.fraction, t.size), 1)]
        inner = self.inner
        assert inner is not None
        cap = float(self.rule(inner(largest)))
        return cap_at(cap if cap > inner(0.0) else float(inner(self.otherwise)), inner)


def mean(losses: Array) -> float:
    return float(np.mean(losses))


def middle(losses: Array) -> float:
    return float(np.median(losses))


def least(losses: Array) -> float:
    return float(losses[-1])


READINGS: dict[str, Callable[[Transform], Transform]] = {
    "ε the largest loss outside the tenth": lambda power: cap_largest(SHARE, power),
    "ε the least loss of the tenth": lambda power: cap_by(SHARE, power, least),
    "ε the median of the tenth": lambda power: cap_by(SHARE, power, middle),
    "ε the mean of the tenth": lambda power: cap_by(SHARE, power, mean),
    "ε = 1": lambda power: cap_at(1.0, power),
    "no cap": lambda power: power,
}


def evaluate(X: Array, y: Array, fold: Fold, grid: Grid) -> Array:
    """Test accuracy of a fold, of shape (readings, powers, parameters)."""
    train, test, labels = fold
    scale = make_pipeline(*axes_of(train.size, X.shape[1])).fit(X[train])
    near, far = scale.transform(X[train]), scale.transform(X[test])
    found = np.empty((len(READINGS), len(POWERS), len(grid)))
    for i, rule in enumerate(READINGS.values()):
        for j, p in enumerate(POWERS):
            for k, gamma in enumerate(grid):
                scores = fitted(near, labels, rule(power_of(p / 2, DELTA)), gamma)
                found[i, j, k] = np.mean(scores(far) == y[test])
    return found


def fitted(X: Array, y: Array, transform: Transform, gamma: float) -> Callable[[Array], Array]:
    """The predicted classes of algorithm 1 from the squared hinge, one score for two classes."""
    rows = class_margins(X, y)
    risk = Risk(rows, squared_hinge(), aggregate="sum", transform=transform, penalty=l2(2 * gamma))
    with warnings.catch_warnings():
        for category in (ConvergenceWarning, dc.TrivialSolutionWarning):
            warnings.simplefilter("ignore", category)
        result = dc.solve(risk, start="convex", tol=1e-4, n_starts=1, escape=False)
    W, b = rows.unpack(np.asarray(result.x))
    return lambda points: np.argmax(points @ W.T + b, axis=1)


def known(X: Array, y: Array, fold: Fold, grid: Grid, label: str) -> Array:
    """A fold, kept between runs."""
    depends = (Path(__file__), X, y, *fold, f"{grid}")
    return kept(f"capped_svm-readings-{label}", lambda: evaluate(X, y, fold, grid), *depends)


def reading_claims(
    name: str, X: Array, y: Array, grid: Grid, shuffles: int, jobs: int
) -> list[Claim]:
    """Each reading against the printed accuracy, at its best p and γ."""
    folds = [(r, fold) for r in range(shuffles) for fold in folds_of(y, 0.0, r)]
    calls = [
        joblib.delayed(known)(X, y, fold, grid, f"{name}-{r}-{k % FOLDS}")
        for k, (r, fold) in enumerate(folds)
    ]
    with joblib.parallel_config("loky", inner_max_num_threads=1):
        scores = 100 * np.array(joblib.Parallel(n_jobs=jobs)(calls))
    by_shuffle = scores.reshape(shuffles, FOLDS, *scores.shape[1:]).mean(axis=1)
    printed = METHODS["capped, p = 1"].paper[name]
    return [
        reading_claim(
            f"{name}, {reading}: the capped SVM as printed", values, grid, printed, len(y)
        )
        for reading, values in zip(READINGS, np.moveaxis(by_shuffle, 1, 0), strict=True)
    ]


def reading_claim(text: str, values: Array, grid: Grid, printed: float, n: int) -> Claim:
    """Of shape (shuffles, powers, parameters), at the cell of the largest mean."""
    means = values.mean(axis=0)
    j, k = np.unravel_index(int(np.argmax(means)), means.shape)
    best = values[:, j, k]
    deviation = max(float(best.std(ddof=1)), 100 / n)
    apart = Difference(float(best.mean()) - printed, deviation * np.sqrt(1 + 1 / best.size))
    shown = (
        f"{best.mean():.1f} ± {deviation:.1f} over {best.size} shuffles, p = {POWERS[j]:g}, "
        f"γ = {grid[k]:g}; one of {len(READINGS)} readings tried"
    )
    return replace(same(text, [apart], MARGIN, None, shown), item="table 2")
