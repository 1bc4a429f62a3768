"""How the least 1-norm SVM paper chooses C and σ: cross-validation over the whole data set.

Each point of C = 10^[0, 2], σ = 10^[0, 4] is judged by ten times ten folds of all samples, those
that later serve as test samples among them. The steps of the exponents are not printed; here they
are a half, and a whole one for σ beyond 100.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import StratifiedKFold

from examples.common.parts import kept
from examples.least_one_norm import machines
from examples.least_one_norm.machines import COMPARED, Machine

Array = np.ndarray
COSTS = 10.0 ** np.array([0.0, 0.5, 1.0, 1.5, 2.0])
WIDTHS = 10.0 ** np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0])
GRID = list(product(COSTS, WIDTHS))
FOLDS = 10


def gaussian(squared: Array, width: float) -> Array:
    return np.exp(-squared / (2 * width**2))


def test_error(machine: Machine, K: Array, y: Array) -> float:
    """Errors in percent on test samples, of which K has the rows."""
    return 100 * float(np.mean(np.where(K @ machine.a + machine.b > 0, 1, -1) != y))


def distinct(X: Array, y: Array, train: Array) -> tuple[Array, Array | None]:
    """The different ones of some samples, and how often each is there; None if most are once.

    A sample that is there k times is one with k times the C, in each of the machines: Titanic's
    1980 samples are less than 32.
    """
    rows = np.column_stack([X[train], y[train]])
    _, first, counts = np.unique(rows, axis=0, return_index=True, return_counts=True)
    if 2 * first.size > train.size:
        return train, None
    return train[first], counts.astype(float)


def fold_errors(name: str, X: Array, y: Array, repeat: int) -> Array:
    """Errors of a machine at the grid's pairs, (pairs, folds), in one shuffle of the samples."""
    squared = euclidean_distances(X, squared=True)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=repeat)
    errors = []
    for train, test in folds.split(X, y):
        train, counts = distinct(X, y, train)
        inside, across = squared[np.ix_(train, train)], squared[np.ix_(test, train)]
        row = {}
        for width in WIDTHS:
            K, beyond = gaussian(inside, width), gaussian(across, width)
            for C in COSTS:
                machine = COMPARED[name](K, y[train], C if counts is None else C * counts)
                row[C, width] = test_error(machine, beyond, y[test])
        errors.append([row[pair] for pair in GRID])
    return np.array(errors).T


def cross_validated(title: str, name: str, X: Array, y: Array, repeats: int) -> Array:
    """The same over several shuffles, (pairs, folds · repeats); what is done is kept."""
    depends = (Path(__file__), Path(machines.__file__), X, y)
    parts = []
    for repeat in range(repeats):
        part = f"least_one_norm-{title}-{name.replace(' ', '_')}-{repeat}"
        parts.append(kept(part, partial(fold_errors, name, X, y, repeat), *depends))
    return np.hstack(parts)


def equally_good(errors: Array) -> tuple[int, Array]:
    """The pair of the least error (the least C, then the least σ), and which are as good.

    As good is a pair whose mean error is above by no more than a standard error of the difference,
    which is √(1/J + 1/9) times the deviation over the J folds: they share training samples
    (Nadeau and Bengio 2003, Inference for the generalization error, Machine Learning 52).
    """
    best = int(np.argmin(errors.mean(axis=1).round(9)))
    above = errors - errors[best]
    spread = above.std(axis=1, ddof=1) * np.sqrt(1 / errors.shape[1] + 1 / (FOLDS - 1))
    return best, above.mean(axis=1) <= spread
