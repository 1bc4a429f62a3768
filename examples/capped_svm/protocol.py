"""The cross-validation of table 2 of the capped SVM paper, and the methods it compares.

Every feature is scaled to [0, 1], five folds, each method at the parameter of 0.001, 0.01, …, 100
that is best on those same folds: optimistic, for every method. Nested cross-validation, where each
fold's parameter is chosen inside its training part, can be asked for.

Where there are more features than training samples, the linear methods get the samples in the
coordinates of their own principal axes, as many as samples: penalties that are sums of squares and
free intercepts see no difference.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

import dcprog as dc
from dcprog.models import CappedSVC
from examples.common.data import flip, shared_set
from examples.common.parts import kept
from examples.common.plots import BLACK, BLUE, GREEN, ORANGE, RED

Array = np.ndarray
Fold = tuple[Array, Array, Array]  # training samples, test samples, labels to train on
Grid = tuple[float, ...]  # values of a method's parameter

FOLDS, INNER_FOLDS = 5, 3
GRID = tuple(10.0**k for k in range(-3, 3))
SETS = {"Wine": None, "ALLAML": "allaml", "Prostate-GE": "prostate_ge"}


@dataclass(frozen=True)
class Method:
    """An estimator, the parameter that is varied, and the paper's accuracy on the sets at hand."""

    estimator: Any
    parameter: str | None
    paper: dict[str, float]
    colour: str = BLACK


def capped(p: float, algorithm: str = "exact") -> CappedSVC:
    """The paper's model: its heuristic for ε, one start, none of the library's later defaults.

    Predictions settle long before the default tolerance is reached.
    """
    return CappedSVC(
        p=p,
        eps=None,
        cap_fraction=0.1,
        cap_floor=0.0,
        gamma=1.0,
        delta=1e-8,
        algorithm=algorithm,
        tol=1e-4,
        n_starts=1,
    )


OURS = {"Wine": 99.44, "ALLAML": 97.14, "Prostate-GE": 93.18}
METHODS = {
    "1-nearest neighbour": Method(
        KNeighborsClassifier(1), None, {"Wine": 95.49, "ALLAML": 87.32, "Prostate-GE": 79.36}
    ),
    "linear SVM": Method(
        SVC(kernel="linear"), "C", {"Wine": 98.33, "ALLAML": 97.13, "Prostate-GE": 91.27}, BLUE
    ),
    "least squares": Method(
        RidgeClassifier(), "alpha", {"Wine": 97.75, "ALLAML": 75.89, "Prostate-GE": 93.09}, GREEN
    ),
    "capped, p = 1": Method(capped(1.0), "gamma", OURS, ORANGE),
    "capped, p = 2": Method(capped(2.0), "gamma", OURS, RED),
    "capped, p = 1, single pass": Method(capped(1.0, "alternating"), "gamma", OURS),
}


def folds_of(y: Array, share: float, repeat: int) -> list[Fold]:
    """Five folds; the same ones whatever the share of changed labels."""
    splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=repeat)
    splits = splitter.split(np.zeros(len(y)), y)
    return [
        (train, test, flip(y[train], share, np.random.default_rng([repeat, k])))
        for k, (train, test) in enumerate(splits)
    ]


def pipeline(method: Method, n: int, d: int) -> Pipeline:
    """From raw features to the method, on n training samples."""
    features = [MinMaxScaler()] if method.parameter is None else axes_of(n, d)
    return make_pipeline(*features, clone(method.estimator))


def axes_of(n: int, d: int) -> list[Any]:
    """Features of [0, 1], in the coordinates of their principal axes if there are more than n."""
    return [MinMaxScaler(), *([PCA(n, svd_solver="full")] if d > n else [])]


def evaluate(method: Method, X: Array, y: Array, fold: Fold, grid: Grid, nested: bool) -> Array:
    """Test accuracy at every parameter, and last that at the one chosen in the training part.

    The last one is NaN where it is not asked for.
    """
    train, test, labels = fold
    model = pipeline(method, train.size, X.shape[1])
    if method.parameter is None:
        return np.full(2, model.fit(X[train], labels).score(X[test], y[test]))
    name = f"{model.steps[-1][0]}__{method.parameter}"
    least = train.size - -(-train.size // INNER_FOLDS)  # samples of an inner fold
    inside = pipeline(method, least, X.shape[1])
    with warnings.catch_warnings():
        for category in (ConvergenceWarning, dc.TrivialSolutionWarning):
            warnings.simplefilter("ignore", category)
        fits = [clone(model).set_params(**{name: v}).fit(X[train], labels) for v in grid]
        scores = np.array([fit.score(X[test], y[test]) for fit in fits])
        if not nested:
            return np.append(scores, np.nan)
        inner = StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=0)
        search = GridSearchCV(inside, {name: list(grid)}, cv=inner, refit=False)
        search.fit(X[train], labels)
    return np.append(scores, scores[int(search.best_index_)])


@dataclass(frozen=True)
class Score:
    """Percent: at every parameter of the grid, (repeats, parameters), and nested, (repeats,).

    The nested ones are NaN where they were not asked for.
    """

    grid: Array
    nested: Array
    parameters: Grid = GRID

    @property
    def best(self) -> Array:
        """At the parameter that is best on the test folds, of shape (repeats,)."""
        return self.grid[:, int(np.argmax(self.grid.mean(axis=0)))]


def cross_validate(
    title: str,
    X: Array,
    y: Array,
    share: float,
    *,
    grid: Grid,
    repeats: int,
    jobs: int,
    nested: bool,
) -> dict[str, Score]:
    """All methods on the same folds; what is done is kept."""
    folds = [fold for repeat in range(repeats) for fold in folds_of(y, share, repeat)]
    calls = [
        joblib.delayed(known)(f"{title}-{share:g}-{k}", name, X, y, fold, grid, nested)
        for name in METHODS
        for k, fold in enumerate(folds)
    ]
    with joblib.parallel_config("loky", inner_max_num_threads=1):
        outcomes = joblib.Parallel(n_jobs=jobs)(calls)
    scores = {}
    for k, name in enumerate(METHODS):
        part = 100 * np.array(outcomes[k * len(folds) : (k + 1) * len(folds)])
        means = part.reshape(repeats, FOLDS, -1).mean(axis=1)
        scores[name] = Score(means[:, :-1], means[:, -1], grid)
    return scores


def known(part: str, name: str, X: Array, y: Array, fold: Fold, grid: Grid, nested: bool) -> Array:
    """A fold of a method, kept between runs."""
    depends = (Path(__file__), X, y, *fold, f"{grid}, {nested}")
    label = f"capped_svm-{part}-{name}".replace(" ", "_")
    return kept(label, lambda: evaluate(METHODS[name], X, y, fold, grid, nested), *depends)


def load(wanted: Sequence[str], folder: Path) -> dict[str, tuple[Array, Array]]:
    """The data sets at hand, with labels 0, 1, …."""
    loaded = {}
    for name in wanted:
        file = SETS[name]
        found = load_wine(return_X_y=True) if file is None else shared_set(file, folder)
        if found is not None:
            loaded[name] = found[0], np.unique(found[1], return_inverse=True)[1]
    return loaded
