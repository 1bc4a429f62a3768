"""Accuracy under label noise: Wine, breast cancer and digits, 0, 15 and 30% flipped.

Five losses on the same splits and flips, more than two classes coded both ways; λ is chosen by
cross-validation inside the training part, flipped labels included; the test labels are clean.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dcprog as dc

DATA = {"wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}
CODINGS = {"wine": ("angle", "ovr"), "breast cancer": ("angle",), "digits": ("ovr", "angle")}
LOSSES = {
    "hinge": dc.hinge(),
    "capped": dc.cap(dc.hinge(), 1.0),
    "truncated": dc.truncate(dc.hinge(), 0.0),
    "rescaled": dc.rescale(dc.hinge(), 1.0),
    "trimmed": dc.trim(dc.hinge(), 0.2),
}
GRID = [1.0, 10.0, 100.0]


def flipped(y: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Labels of which a share is changed to another class."""
    noisy, classes = y.copy(), np.unique(y)
    for i in rng.permutation(len(y))[: round(share * len(y))]:
        noisy[i] = rng.choice(classes[classes != y[i]])
    return noisy


def accuracy(name: str, coding: str, loss: str, share: float, seed: int, most: int) -> float:
    """Test accuracy of one loss on one split."""
    X, y = DATA[name](return_X_y=True)
    rng = np.random.default_rng(seed)
    keep = rng.permutation(len(y))[:most]
    X, y = X[keep], y[keep]
    train, test = next(StratifiedShuffleSplit(1, test_size=0.3, random_state=seed).split(X, y))
    classifier = dc.RobustClassifier(
        LOSSES[loss], dc.l2(1.0), multiclass=coding, tol=1e-4, n_starts=1
    )
    model = make_pipeline(StandardScaler(), classifier)
    grid = {"robustclassifier__penalty__lam": GRID}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search = GridSearchCV(model, grid, cv=3).fit(X[train], flipped(y[train], share, rng))
    return float(search.score(X[test], y[test]))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--most", type=int, default=600, help="samples kept of each data set")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    options = parser.parse_args()
    print(f"{'data':<21}{'flipped':>8}" + "".join(f"{loss:>16}" for loss in LOSSES))
    for name in options.data:
        for coding in CODINGS[name]:
            for share in (0.0, 0.15, 0.3):
                print_row(name, coding, share, options)


def print_row(name: str, coding: str, share: float, options: argparse.Namespace) -> None:
    """Mean and standard error of every loss."""
    calls = [
        delayed(accuracy)(name, coding, loss, share, seed, options.most)
        for loss in LOSSES
        for seed in range(options.seeds)
    ]
    scores = np.reshape(Parallel(n_jobs=options.jobs)(calls), (len(LOSSES), -1)) * 100
    errors = scores.std(axis=1, ddof=1) / np.sqrt(options.seeds)
    cells = zip(scores.mean(axis=1), errors, strict=True)
    row = "".join(f"{mean:>9.1f} ± {error:>4.1f}" for mean, error in cells)
    label = f"{name} ({coding})" if len(CODINGS[name]) > 1 else name
    print(f"{label:<21}{share:>8.0%}{row}", flush=True)


if __name__ == "__main__":
    main()
