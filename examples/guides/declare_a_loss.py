"""Three losses that dcprog does not come with, each declared in a few lines, on breast cancer.

* arctan: the user's own concave function of the hinge, arctan((1 − u)₊). A sample that is far
  off costs little more than one that is off, and no sample is given up altogether;
* smooth ramp: a difference of two convex losses, (1 − u)₊² − ((−u)₊² + 2(−1 − u)₊). A parabola, a
  line, and from u = −1 down a constant: samples there are given up;
* trimmed: the log-likelihood of all training samples but the fifth that fits worst.

Breast cancer has 569 samples, 30 features (standardised) and 2 classes. Each loss is checked with
:func:`dcprog.check_loss` and fitted with :class:`dcprog.RobustClassifier`, to clean training labels
and to ones of which 20% were flipped at random; test labels stay clean. Its competitors are the
plain linear SVM and logistic regression. All have the same ridge penalty (λ/2)‖w‖², whose λ is
chosen for each of them by cross-validation inside the training part, flipped labels included.

Run ``python -m examples.guides.declare_a_loss --output folder`` for the tables and three plots.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import matplotlib
import numpy as np
from matplotlib.figure import Figure
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dcprog as dc
from dcprog import RobustClassifier
from dcprog.display import ConvergenceDisplay, LossDisplay, OutlierDisplay
from examples.common.data import flip
from examples.common.plots import BLACK, RED, STYLE
from examples.common.tables import spread

Array = np.ndarray

FLIPPED = 0.2
GIVEN_UP = 1e-6
LAMBDAS = (1.0, 10.0, 100.0)
INNER_FOLDS = 3

# ---- the losses ----------------------------------------------------------------------------------

arctan = dc.concave(value=np.arctan, slope=lambda t: 1 / (1 + t**2))
arctan_hinge = dc.compose(arctan, dc.hinge())

rise = dc.squared_hinge()
smooth_ramp = rise - (dc.squared_hinge(at=0.0) + 2 * dc.hinge(at=-1.0))

trimmed_likelihood = dc.trim(dc.logistic(), FLIPPED)

NEW: dict[str, dc.Loss] = {
    "arctan of hinge": arctan_hinge,
    "smooth ramp": smooth_ramp,
    "trimmed likelihood": trimmed_likelihood,
}

# ---- models --------------------------------------------------------------------------------------

Search = tuple[Any, dict[str, list[float]]]


def contenders() -> dict[str, Search]:
    """Estimators by name, each with what is searched for: λ, or C = 1/λ."""
    lambdas = {"robustclassifier__penalty__lam": list(LAMBDAS)}
    plain: dict[str, Search] = {
        "linear SVM": (RobustClassifier(dc.hinge(), dc.l2(1.0)), lambdas),
        "logistic regression": (
            LogisticRegression(max_iter=1000),
            {"logisticregression__C": [1 / lam for lam in LAMBDAS]},
        ),
    }
    return plain | {name: (RobustClassifier(f, dc.l2(1.0)), lambdas) for name, f in NEW.items()}


def fit(search: Search, X: Array, y: Array, seed: int) -> Any:
    """The pipeline with the λ that cross-validation takes, fitted to all samples."""
    folds = StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=seed)
    pipeline = make_pipeline(StandardScaler(), clone(search[0]))
    return GridSearchCV(pipeline, search[1], cv=folds).fit(X, y).best_estimator_


# ---- experiment ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What one fit did: accuracy on clean test labels, and which training samples it gave up."""

    accuracy: float
    given_up: int
    caught: int
    flipped: int
    trained: int
    unfinished: int


def evaluate(search: Search, share: float, seed: int) -> Outcome:
    """One split, one draw of flips, one search; the same ones for each contender."""
    X, y = load_breast_cancer(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    labels = flip(y, share, np.random.default_rng(seed))
    swapped = labels != y
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model = fit(search, X, labels, seed)
    out = getattr(model[-1], "outlier_weight_", np.ones(y.size)) <= GIVEN_UP
    unfinished = sum(issubclass(w.category, ConvergenceWarning) for w in caught)
    return Outcome(
        model.score(X_test, y_test),
        int(out.sum()),
        int((out & swapped).sum()),
        int(swapped.sum()),
        y.size,
        unfinished,
    )


Runs = dict[str, list[Outcome]]


def experiment(searches: dict[str, Search], share: float, seeds: int, jobs: int) -> Runs:
    """All contenders on all seeds, a process a core and a thread a process."""
    tasks = [
        joblib.delayed(evaluate)(search, share, seed)
        for search in searches.values()
        for seed in range(seeds)
    ]
    with joblib.parallel_config("loky", inner_max_num_threads=1):
        outcomes = joblib.Parallel(n_jobs=jobs)(tasks)
    return {name: outcomes[k * seeds : (k + 1) * seeds] for k, name in enumerate(searches)}


# ---- tables --------------------------------------------------------------------------------------


def accuracies(outcomes: list[Outcome]) -> Array:
    return np.array([100 * outcome.accuracy for outcome in outcomes])


def print_accuracy(clean: Runs, noisy: Runs) -> None:
    seeds = len(clean["linear SVM"])
    print(f"\nAccuracy on clean test labels in %, {seeds} random splits (70% to train)")
    print(f"{'':<22}{'clean training labels':^26}{f'{FLIPPED:.0%} of them flipped':^26}")
    print(f"{'':<22}" + 2 * f"{'accuracy':>13}{'less SVM':>13}")
    for name in clean:
        cells = ""
        for runs in (clean, noisy):
            ours, svm = accuracies(runs[name]), accuracies(runs["linear SVM"])
            less = "" if name == "linear SVM" else spread(ours - svm, "+")
            cells += f"{spread(ours):>13}{less:>13}"
        print(f"{name:<22}{cells}")
    print(
        "  less SVM: on the same split and flips, less the linear SVM\n"
        "  ±:        standard error over splits and flips; the splits share their samples, so the\n"
        "            error over other patients is larger"
    )


def print_flags(clean: Runs, noisy: Runs) -> None:
    print("\nTraining samples given up (final weight 0)")
    print(f"{'':<22}{'clean labels':>13}{'flipped':>10}{'precision':>12}{'recall':>9}")
    for name in NEW:
        quiet, out, caught, flipped, trained = (
            sum(getattr(outcome, part) for outcome in runs[name])
            for runs, part in (
                (clean, "given_up"),
                (noisy, "given_up"),
                (noisy, "caught"),
                (noisy, "flipped"),
                (noisy, "trained"),
            )
        )
        right = f"{caught / out:.1%}" if out else "–"
        print(
            f"{name:<22}{quiet / trained:>13.1%}{out / trained:>10.1%}{right:>12}"
            f"{caught / flipped:>9.1%}"
        )
    print(
        "  precision: how many of those given up had been flipped; recall: how many of the\n"
        "  flipped were given up. The trimmed loss is told their share, the others are not."
    )


# ---- plots ---------------------------------------------------------------------------------------


def draw_losses(model: Any, X: Array, labels: Array, path: Path) -> None:
    """Each loss, its base, and the majorants that the loop minimises in its place.

    A trimmed loss is a function of all samples at once: it is shown where `model` was fitted.
    """
    figure = Figure(figsize=(14, 5.6), layout="constrained")
    first, second, third = figure.subplots(1, 3)
    LossDisplay.from_loss(arctan_hinge, [0.5, -1.5], name="arctan of hinge", ax=first)
    LossDisplay.from_loss(smooth_ramp, [-0.5, -1.5], name="smooth ramp", ax=second)
    u = np.where(labels == 1, 1, -1) * model.decision_function(X)
    low, high = np.floor(u.min()), np.ceil(u.max())
    whole = trimmed_likelihood.loss
    LossDisplay.from_loss(whole, low=low, high=high, name="not trimmed", show_base=False, ax=third)
    losses = trimmed_likelihood(u)
    kept = losses > 0
    third.plot(u[kept], losses[kept], ".", color=BLACK, label="kept")
    third.plot(u[~kept], losses[~kept], "x", color=RED, label="left out: costs nothing")
    titles = ("arctan of hinge", "smooth ramp", "trimmed likelihood of the training samples")
    for ax, title in zip((first, second, third), titles, strict=True):
        ax.set(title=title, xlabel="margin y·f(x)", ylabel="loss of a sample")
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2)
    figure.savefig(path)


def draw_outliers(models: dict[str, Any], swapped: Array, path: Path) -> None:
    """Final weights of the training samples, with halos around those whose label was flipped."""
    figure = Figure(figsize=(14, 4.8), layout="constrained")
    for ax, (name, model) in zip(figure.subplots(1, 3), models.items(), strict=True):
        options: dict[str, Any] = {"threshold": GIVEN_UP, "highlight": swapped}
        display = OutlierDisplay.from_estimator(model[-1], ax=ax, **options)
        display.lines_[2].set_label(f"label flipped ({swapped.sum()})")
        ax.set(title=name, ylim=(-0.05, 1.05))
        ax.legend(loc="lower right")
    figure.savefig(path)


def draw_convergence(models: dict[str, Any], path: Path) -> None:
    """Objective and criticality gap, step by step."""
    figure = Figure(figsize=(14, 4.8), layout="constrained")
    for ax, (name, model) in zip(figure.subplots(1, 3), models.items(), strict=True):
        ConvergenceDisplay.from_result(model[-1].result_, ax=ax)
        ax.set_title(name)
    figure.savefig(path)


# ---- all of it -----------------------------------------------------------------------------------


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--output", type=Path, default=Path("loss_output"), help="for the plots")
    parser.add_argument("--seeds", type=int, default=10, help="random splits, 2 or more")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    options = parser.parse_args(arguments)
    if options.seeds < 2:
        parser.error("--seeds must be 2 or more: one split has no standard error")
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    """Check the losses, compare the models, print the tables, draw the plots."""
    options = parse(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    begun, searches = time.perf_counter(), contenders()
    for name, loss in NEW.items():
        dc.check_loss(loss)
        print(f"{name:<20}passes every check; bound {loss.bound:.3g}")
    clean, noisy = (
        experiment(searches, share, options.seeds, options.jobs) for share in (0.0, FLIPPED)
    )
    print_accuracy(clean, noisy)
    print_flags(clean, noisy)
    unfinished = sum(o.unfinished for runs in (clean, noisy) for s in runs.values() for o in s)
    if unfinished:
        print(f"{unfinished} fits stopped before they converged.")
    X, y = load_breast_cancer(return_X_y=True)
    labels = flip(y, FLIPPED, np.random.default_rng(0))
    swapped = labels != y
    models = {name: fit(searches[name], X, labels, seed=0) for name in NEW}
    paths = [options.output / f"{name}.png" for name in ("losses", "outliers", "convergence")]
    with matplotlib.rc_context(STYLE):
        draw_losses(models["trimmed likelihood"], X, labels, paths[0])
        draw_outliers(models, swapped, paths[1])
        draw_convergence(models, paths[2])
    print(f"\nPlots, after {time.perf_counter() - begun:.0f} s:", *paths, sep="\n  ")


if __name__ == "__main__":
    main()
