"""Which coding of more than two classes is the default: accuracy of all four on eleven sets.

Three folds of standardised samples, λ = 1, with the true labels and with a fifth of the training
labels changed at random; the test labels are clean. Codings of all scores together are left out
where there are more than 1000 coefficients, the rows of ``auto`` tell what it takes there.

    python -m benchmarks multiclass ramp hinge capped_squared_hinge logistic
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import (
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_blobs,
    make_classification,
)
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dcprog as dc
from dcprog.estimators.classifier import MANY
from examples.common.data import flip, shared_set

CODINGS = ("crammer_singer", "weston_watkins", "angle", "ovr", "auto")
CHANGED = 0.2
LARGEST = 500  # samples


def waveform(n: int = 500) -> tuple[Any, Any]:
    """Breiman's: three classes, each a random mixture of two of three waves, and noise."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    waves = np.array([np.maximum(6 - np.abs(np.arange(1, 22) - c), 0) for c in (7, 15, 11)])
    first, second = np.array([[0, 1], [0, 2], [1, 2]])[y].T
    t = rng.random((n, 1))
    return t * waves[first] + (1 - t) * waves[second] + rng.standard_normal((n, 21)), y


def thirds() -> tuple[Any, Any]:
    """Diabetes, the target cut into three parts of equal size."""
    X, y = load_diabetes(return_X_y=True)
    return X, np.digitize(y, np.quantile(y, [1 / 3, 2 / 3]))


def sets() -> Iterator[tuple[str, Any, Any]]:
    """Name, samples and labels 0, 1, …."""
    yield "iris", *load_iris(return_X_y=True)
    yield "wine", *load_wine(return_X_y=True)
    yield "diabetes, thirds", *thirds()
    options = {"n_informative": 8, "n_classes": 5, "n_clusters_per_class": 1, "random_state": 0}
    yield "clusters", *make_classification(500, 12, **options)
    yield "blobs", *make_blobs(400, 6, centers=4, cluster_std=6.0, random_state=0)
    yield "waveform", *waveform()
    yield "digits", *load_digits(return_X_y=True)
    for name in ("srbct", "glioma", "tox_171", "mnist_5k"):
        found = shared_set(name)
        if found is not None:
            yield name, found[0], np.unique(found[1], return_inverse=True)[1]


def accuracies(loss: str, coding: str, X: Any, y: Any) -> tuple[float, float]:
    """Mean over the folds, with true and with changed labels."""
    classifier = dc.RobustClassifier(loss, "l2", multiclass=coding, n_starts=1)
    model = make_pipeline(StandardScaler(), classifier)
    changed = flip(y, CHANGED, np.random.default_rng(1))
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    clean, noisy = (
        float(np.mean([model.fit(X[i], z[i]).score(X[j], y[j]) for i, j in folds]))
        for z in (y, changed)
    )
    return clean, noisy


def main() -> None:
    """Print a table a loss."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("losses", nargs="*", default=["ramp"], help="names of losses of margins")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for loss in options.losses:
        print(f"\n| {loss} | n × d, k |", " | ".join(CODINGS), "|")
        print("|---|---|" + "---|" * len(CODINGS))
        for name, X, y in sets():
            keep = np.random.default_rng(0).permutation(len(y))[:LARGEST]
            X, y = X[keep], y[keep]
            k = int(y.max()) + 1
            cells = []
            for coding in CODINGS:
                together = coding not in ("ovr", "auto")
                if together and (k - 1) * (X.shape[1] + 1) > MANY:
                    cells.append("–")
                    continue
                clean, noisy = accuracies(loss, coding, X, y)
                cells.append(f"{100 * clean:.1f} / {100 * noisy:.1f}")
            print(
                f"| {name} | {X.shape[0]} × {X.shape[1]}, {k} |", " | ".join(cells), "|", flush=True
            )


if __name__ == "__main__":
    main()
