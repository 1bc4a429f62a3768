"""Problems and runs that verify_convergence.py looks at; not run by itself."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import minmax_scale

import dcprog as dc
from dcprog.models import CappedSVC
from examples.capped_svm.model import Array, Model

POWERS = (0.5, 1.0, 1.5, 2.0)
DELTA = 1e-8
PASSES = 2000

# What a claim may miss by; values and inequalities are relative to 1 + |J|.
ROUNDING = 1e-12
GAP = 1e-6


# ---- problems ------------------------------------------------------------------------------------


def blobs(n: int, d: int, c: int, noise: float, seed: int) -> tuple[Array, Array]:
    """Gaussian classes; a share of the labels is drawn anew."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % c
    X = rng.standard_normal((n, d)) + 2 * np.eye(c, d)[y]
    return X, redraw(y, noise, rng)


def redraw(y: Array, share: float, rng: np.random.Generator) -> Array:
    """Each label is drawn anew, from all classes, with this probability."""
    y, drawn = y.copy(), rng.random(y.size) < share
    y[drawn] = rng.integers(0, y.max() + 1, drawn.sum())
    return y


def real_data(full: bool) -> dict[str, tuple[Array, Array]]:
    """Sets that come with scikit-learn, every feature scaled to [0, 1]."""
    wine, labels = load_wine(return_X_y=True)
    sets = {
        "Wine": (wine, labels),
        "Wine, 30% labels redrawn": (wine, redraw(labels, 0.3, np.random.default_rng(0))),
        "breast cancer": load_breast_cancer(return_X_y=True),
    }
    if full:
        sets["digits 0-4"] = load_digits(n_class=5, return_X_y=True)
    return {name: (minmax_scale(X), y) for name, (X, y) in sets.items()}


def random_data(seeds: int) -> Iterable[tuple[str, tuple[Array, Array]]]:
    """Gaussian classes of three shapes."""
    for seed in range(seeds):
        yield "random, 3 classes", blobs(60, 4, 3, 0.2, seed)
        yield "random, 2 classes", blobs(60, 4, 2, 0.2, seed)
        yield "random, d > n", blobs(20, 40, 3, 0.2, seed)


def problems(full: bool, quick: bool = False) -> Iterable[tuple[str, Model]]:
    """Every problem, quick those on random data: ε by the 10 % heuristic on real data, else 1."""
    sets = {} if quick else real_data(full)
    seeds = 20 if full else (1 if quick else 5)
    for p in POWERS:
        for gamma in (0.01, 0.1, 1.0) if full else (0.1,):
            for name, (X, y) in sets.items():
                yield name, Model(X, y, p, heuristic_cap(X, y, p, gamma), gamma, DELTA)
            for name, (X, y) in random_data(seeds):
                ridge = 50 * gamma if X.shape[1] > len(X) else gamma  # else all samples are fitted
                yield name, Model(X, y, p, 1.0, ridge, DELTA)


def heuristic_cap(X: Array, y: Array, p: float, gamma: float) -> float:
    """ε by the estimator's heuristic."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return (
            CappedSVC(p=p, cap_fraction=0.1, cap_floor=0.0, gamma=gamma, delta=DELTA, n_starts=1)
            .fit(X, y)
            .eps_
        )


# ---- runs ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """The points an algorithm went through, and what the library says of them."""

    data: str
    model: Model
    points: list[Array]
    result: dc.Result

    @cached_property
    def values(self) -> Array:
        """J_δ along the run."""
        return np.array([self.model.value(point) for point in self.points])


def descend(data: str, model: Model, algorithm: str, max_iter: int = PASSES) -> Run:
    """Run the library and keep every point; ``"exact"`` or ``"single pass"``."""
    points: list[Array] = []
    result = dc.solve(
        model.spec(),
        start="convex",
        solver="alternating" if algorithm == "single pass" else "newton",
        tol=1e-12,
        max_iter=max_iter,
        callback=lambda progress: points.append(progress.x),
        escape=False,
    )
    return Run(data, model, points, result)
