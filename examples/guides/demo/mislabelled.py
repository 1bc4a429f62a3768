"""Mislabelled samples found in real data: 10% of the labels are changed, and looked for.

Breast cancer, 569 samples of two classes; and the digits 3, 8 and 9, 537 images. A sample is called
mislabelled by a plain model if it predicts another class, and by ours if it has weight 0: the ramp
loss gives up what is on the wrong side of the boundary. Precision: the share of those called so
that are; recall: the share of the changed that are called so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale
from sklearn.svm import SVC

import dcprog as dc
from examples.common.data import flip
from examples.common.plots import GREEN, RED
from examples.common.tables import as_arrays

Array = np.ndarray

CHANGED = 0.1
SHOWN = (3, 8, 9)
OURS = "dcprog, capped hinge"
MODELS: dict[str, Any] = {
    "linear SVM": SVC(kernel="linear"),
    "logistic regression": LogisticRegression(max_iter=2000),
    OURS: dc.RobustClassifier("ramp"),
}


def cancer() -> tuple[Array, Array]:
    """Breast cancer, standardised."""
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), y


def digits() -> tuple[Array, Array]:
    """The images of 3, 8 and 9, their pixels between 0 and 1, as the classes 0, 1 and 2."""
    X, y = load_digits(return_X_y=True)
    here = np.isin(y, SHOWN)
    return X[here] / 16, np.searchsorted(SHOWN, y[here])


SETS = {"breast cancer": cancer, "digits 3, 8, 9": digits}


def called(name: str, X: Array, labels: Array) -> Array:
    """Which samples a model calls mislabelled."""
    model = clone(MODELS[name]).fit(X, labels)
    if name == OURS:
        return np.asarray(model.outlier_weight_ == 0)
    return np.asarray(model.predict(X) != labels)


@dataclass(frozen=True)
class Mislabelled:
    """Precision and recall by set and model, one a seed."""

    precision: dict[tuple[str, str], Array]
    recall: dict[tuple[str, str], Array]

    def lines(self) -> list[str]:
        """Means, a line a model."""
        rows = [f"  {'':<22}" + "".join(f"{name:^26}" for name in SETS)]
        rows.append(f"  {'':<22}" + f"{'precision':>13}{'recall':>10}   " * len(SETS))
        for name in MODELS:
            cells = (
                f"{self.precision[of, name].mean():>12.0%}{self.recall[of, name].mean():>10.0%}    "
                for of in SETS
            )
            rows.append(f"  {name:<22}" + "".join(cells))
        return rows


def measure(seeds: int) -> Mislabelled:
    """All models on both sets."""
    precision: dict[tuple[str, str], list[float]] = {(s, m): [] for s in SETS for m in MODELS}
    recall: dict[tuple[str, str], list[float]] = {key: [] for key in precision}
    for of, load in SETS.items():
        X, y = load()
        for seed in range(seeds):
            labels = flip(y, CHANGED, np.random.default_rng(seed))
            for name in MODELS:
                out = called(name, X, labels)
                both = np.sum(out & (labels != y))
                precision[of, name].append(both / max(out.sum(), 1))
                recall[of, name].append(both / np.sum(labels != y))
    return Mislabelled(as_arrays(precision), as_arrays(recall))


def draw(figure: Any) -> None:
    """The digits that ours called mislabelled, with the labels that they had been given."""
    X, y = digits()
    labels = flip(y, CHANGED, np.random.default_rng(0))
    out = np.flatnonzero(called(OURS, X, labels))
    missed = np.sum(labels != y) - np.sum(labels[out] != y[out])
    axes = figure.subplots(-(-out.size // 14), 14)
    for ax in axes.flat:
        ax.axis("off")
    for ax, i in zip(axes.flat, out, strict=False):
        ax.imshow(X[i].reshape(8, 8), cmap="gray_r")
        colour = GREEN if labels[i] != y[i] else RED
        ax.set_title(f"“{SHOWN[labels[i]]}”", color=colour, fontsize=13, pad=2)
    wrong = np.sum(labels[out] == y[out])
    figure.suptitle(
        f"Digits that were given up, under the label they came with: {out.size - wrong} were "
        f"mislabelled (green), {wrong} not (red); {missed} mislabelled not found"
    )
