"""The multiclass capped ℓp SVM (Nie, Wang, Huang 2017) on Wine, 30% of the training labels changed.

178 samples, 13 features, three classes; each model's parameter is chosen by cross-validation inside
the training part, changed labels included; test labels are clean. The capped model is told that 30%
are to be given up; without a cap it is the same model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from dcprog.models import CappedSVC
from examples.common.data import flip
from examples.common.tables import as_arrays, spread

Array = np.ndarray

CHANGED = 0.3
NO_CAP = 1e9
CAPPED = CappedSVC(p=1.0, cap_fraction=CHANGED, cap_floor=0.0, tol=1e-4, n_starts=1)
MODELS: dict[str, tuple[Any, dict[str, list[float]]]] = {
    "linear SVM": (SVC(kernel="linear"), {"svc__C": [0.1, 1.0, 10.0]}),
    "CappedSVC without cap": (
        clone(CAPPED).set_params(eps=NO_CAP),
        {"cappedsvc__gamma": [0.1, 1.0]},
    ),
    "CappedSVC": (CAPPED, {"cappedsvc__gamma": [0.1, 1.0]}),
}


@dataclass(frozen=True)
class Wine:
    """Accuracies by model, one a seed, and the difference to the first."""

    accuracy: dict[str, Array]

    def lines(self) -> list[str]:
        """Mean and standard error."""
        svm = next(iter(self.accuracy.values()))
        rows = [f"  {'':<24}{'accuracy':>14}{'less the SVM’s':>20}"]
        for name, values in self.accuracy.items():
            less = "" if values is svm else f"{spread(100 * (values - svm), '+'):>18}"
            rows.append(f"  {name:<24}{spread(100 * values):>14} %{less}")
        return rows


def measure(seeds: int) -> Wine:
    """All models on all splits."""
    accuracy: dict[str, list[float]] = {name: [] for name in MODELS}
    X, y = load_wine(return_X_y=True)
    for seed in range(seeds):
        split = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
        X_train, X_test, y_train, y_test = split
        labels = flip(y_train, CHANGED, np.random.default_rng(seed))
        for name, (model, grid) in MODELS.items():
            search = GridSearchCV(make_pipeline(MinMaxScaler(), clone(model)), grid, cv=3)
            accuracy[name].append(search.fit(X_train, labels).score(X_test, y_test))
    return Wine(as_arrays(accuracy))
