"""Leverage in classification: records of breast cancer in which a decimal point has slipped.

Two features, worst radius and worst texture; in 5% of the training records, benign ones, the radius
is ten times what it was. A convex loss pays for them in full and gives the radius up; a capped one
gives the records up. Test records are as they were.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler
from sklearn.svm import SVC

import dcprog as dc
from examples.common.plots import BLACK, BLUE, GREEN, ORANGE, RED
from examples.common.tables import as_arrays, spread

Array = np.ndarray

SLIPPED = 0.05
BENIGN = 1
OURS = "dcprog, capped hinge"
MODELS: dict[str, Any] = {
    "linear SVM": SVC(kernel="linear"),
    "logistic regression": LogisticRegression(),
    OURS: dc.RobustClassifier(),
}
COLOURS = dict(zip(MODELS, (ORANGE, RED, BLUE), strict=True))


@dataclass(frozen=True)
class Records:
    """Training records with slips, and clean test records."""

    X: Array
    y: Array
    slipped: Array
    X_test: Array
    y_test: Array


def records(seed: int) -> Records:
    """One split, one draw of slips."""
    data = load_breast_cancer()
    columns = [list(data.feature_names).index(f"worst {name}") for name in ("radius", "texture")]
    X, X_test, y, y_test = train_test_split(
        data.data[:, columns], data.target, test_size=0.3, stratify=data.target, random_state=seed
    )
    benign = np.flatnonzero(y == BENIGN)
    bad = np.random.default_rng(seed).choice(benign, round(SLIPPED * y.size), replace=False)
    X = X.copy()
    X[bad, 0] *= 10
    return Records(X, y, np.isin(np.arange(y.size), bad), X_test, y_test)


def fitted(name: str, X: Array, y: Array) -> Any:
    """A model in units of the middle half of the records, which slips do not move."""
    return make_pipeline(RobustScaler(), clone(MODELS[name])).fit(X, y)


@dataclass(frozen=True)
class Classification:
    """Accuracies by model, one a seed, and how many of the slipped records ours gave up."""

    accuracy: dict[str, Array]
    found: float

    def lines(self) -> list[str]:
        """Mean and standard error."""
        rows = [f"  {name:<26}{spread(100 * a):>14} %" for name, a in self.accuracy.items()]
        return [*rows, f"  of the slipped records it gave up {self.found:.0%}"]


def measure(seeds: int) -> Classification:
    """All models on all splits, and the SVM on records without slips."""
    names = [*MODELS, "linear SVM, no slips"]
    accuracy: dict[str, list[float]] = {name: [] for name in names}
    found = []
    for seed in range(seeds):
        r = records(seed)
        models = {name: fitted(name, r.X, r.y) for name in MODELS}
        models[names[-1]] = fitted("linear SVM", r.X[~r.slipped], r.y[~r.slipped])
        for name, model in models.items():
            accuracy[name].append(model.score(r.X_test, r.y_test))
        found.append(np.mean(models[OURS][-1].outlier_weight_[r.slipped] == 0))
    return Classification(as_arrays(accuracy), float(np.mean(found)))


def draw(ax: Any, measured: Classification) -> None:
    """The first split's training records and the models' lines; slips are off to the right."""
    r = records(0)
    for label, colour, marker in ((BENIGN, GREEN, "o"), (1 - BENIGN, BLACK, "^")):
        here = (r.y == label) & ~r.slipped
        name = "benign" if label == BENIGN else "malignant"
        ax.plot(*r.X[here].T, marker, ms=4, mew=0, color=colour, alpha=0.45, label=name)
    right = 40.0
    ax.plot(np.full(r.slipped.sum(), right - 0.6), r.X[r.slipped, 1], ">", color=GREEN, ms=6, mew=0)
    given_up = None
    radius, texture = np.meshgrid(np.linspace(6, right, 200), np.linspace(10, 52, 200))
    grid = np.column_stack([radius.ravel(), texture.ravel()])
    for name in MODELS:
        model = fitted(name, r.X, r.y)
        score = model.decision_function(grid).reshape(radius.shape)
        ax.contour(radius, texture, score, levels=[0], colors=COLOURS[name], linewidths=2.5)
        percent = 100 * measured.accuracy[name].mean()
        ax.plot([], [], color=COLOURS[name], lw=2.5, label=f"{name}: {percent:.0f}% right")
        if name == OURS:
            given_up = (model[-1].outlier_weight_ == 0) & r.slipped
    where = np.minimum(r.X[given_up, 0], right - 0.6), r.X[given_up, 1]
    ax.plot(*where, "x", color=RED, ms=8, mew=1.5, label="slipped, given up by ours")
    ax.set(
        xlim=(6, right),
        ylim=(10, 52),
        xlabel="worst radius (▸: ten times too large, off the scale)",
        ylabel="worst texture",
        title="Breast cancer, 5% of the records with a slipped decimal point",
    )
    ax.legend(loc="upper right", fontsize=8.5, frameon=True, framealpha=0.9, edgecolor="none")
