"""Data and fits of the simulation, a part of reproduce_simulation.py, not run by itself."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import joblib
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import PredefinedSplit

import dcprog as dc
from dcprog.models import AngleSVC, AngleSVCCV
from examples.angle_svm.tables import METHODS
from examples.common.parts import kept

Array = np.ndarray
SD = 0.4


def simulate(n: int, p: int, outliers: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """n samples of three classes, a share of them around (3, 0)."""
    y = rng.integers(0, 3, n)
    angle = 2 * np.pi * y / 3
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + SD * rng.standard_normal((n, 2))
    moved = rng.permutation(n)[: round(outliers * n)]
    X[moved] = np.array([3.0, 0.0]) + SD * rng.standard_normal((len(moved), 2))
    return np.column_stack([X, rng.uniform(-1, 1, (n, p - 2))]), y


def bayes_error(n: int = 1_000_000) -> float:
    """Error in % of the nearest class mean, which is Bayes' rule without outliers."""
    X, y = simulate(n, 2, 0.0, np.random.default_rng(0))
    angle = 2 * np.pi * np.arange(3) / 3
    scores = X @ np.array([np.cos(angle), np.sin(angle)])
    return 100 * float(np.mean(np.argmax(scores, axis=1) != y))


# ---- one cell of a table -------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """One method on one replicate."""

    p: int
    outliers: float
    method: str
    penalty: str
    replicate: int


@dataclass(frozen=True)
class Outcome:
    """What came of it."""

    task: Task
    error: float  # in %
    n_selected: int
    n_predictors: int  # of them, the two that tell the classes apart
    seconds: float  # of CPU time


@dataclass(frozen=True)
class Protocol:
    """Sizes, grids and options that all tasks share."""

    n_train: int
    n_tune: int
    n_test: int
    lams: Array
    lams1: Array
    lams2: Array
    gamma: float
    tol: float
    starts: str
    seed: int

    def data(self, task: Task) -> list[tuple[Array, Array]]:
        """Training, tuning and test part, the same for all methods."""
        key = [self.seed, task.p, round(1000 * task.outliers), task.replicate]
        rng = np.random.default_rng(key)
        return [
            simulate(self.n_train, task.p, task.outliers, rng),
            simulate(self.n_tune, task.p, task.outliers, rng),
            simulate(self.n_test, task.p, 0.0, rng),
        ]

    def model(self, task: Task) -> AngleSVC:
        form, truncation = METHODS[task.method]
        return AngleSVC(
            form,
            truncation,
            self.gamma,
            penalty=task.penalty,
            fit_intercept=False,
            tol=self.tol,
            n_starts=1,
        )


def run(task: Task, protocol: Protocol) -> Outcome:
    """Train on the training part for all λ, choose on the tuning part, judge on the test part."""
    (X, y), (X_tune, y_tune), (X_test, y_test) = protocol.data(task)
    held = np.repeat([-1, 0], [len(y), len(y_tune)])
    elastic = task.penalty == "elasticnet"
    search = AngleSVCCV(
        protocol.model(task),
        protocol.lams1 if elastic else protocol.lams,
        protocol.lams2 if elastic else None,
        cv=PredefinedSplit(held),
        starts=protocol.starts,
        refit=False,
    )
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dc.FisherConsistencyWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(np.vstack([X, X_tune]), np.concatenate([y, y_tune]))
    seconds = time.process_time() - begun
    selected = np.any(search.best_estimator_.coef_ != 0, axis=0)
    return Outcome(
        task,
        error=100 * (1 - search.score(X_test, y_test)),
        n_selected=int(np.sum(selected)),
        n_predictors=int(np.sum(selected[:2])),
        seconds=seconds,
    )


def known(task: Task, protocol: Protocol) -> Outcome:
    """What came of a task, kept between runs."""

    def compute() -> Array:
        found = run(task, protocol)
        return np.array([found.error, found.n_selected, found.n_predictors, found.seconds])

    part = f"angle_svm-{task.p}-{task.outliers:g}-{task.method}-{task.penalty}-{task.replicate}"
    depends = (Path(__file__), repr(task), repr(protocol))
    error, selected, predictors, seconds = kept(part.replace(" ", "_"), compute, *depends)
    return Outcome(task, float(error), int(selected), int(predictors), float(seconds))


def run_all(tasks: Sequence[Task], protocol: Protocol, n_jobs: int) -> list[Outcome]:
    """All cells, the slow ones first."""
    order = sorted(tasks, key=lambda task: (task.penalty != "elasticnet", -task.p))
    pool = joblib.Parallel(n_jobs, return_as="generator_unordered")
    outcomes = []
    for outcome in pool(joblib.delayed(known)(task, protocol) for task in order):
        outcomes.append(outcome)
        if sys.stderr.isatty():
            print(f"\r{len(outcomes)} of {len(order)}", end="", file=sys.stderr, flush=True)
    return outcomes
