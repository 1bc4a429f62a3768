"""The capped SVM on Wine, with clean and with flipped labels, against two linear baselines.

Wine has 178 samples, 13 features (scaled to [0, 1]) and 3 classes. The models:

* least squares: ridge regression on ±1 targets, penalty α;
* linear SVM: the usual hinge, one against one (LIBSVM), loss weight C;
* the multiclass capped ℓp-norm SVM (Nie, Wang, Huang 2017), :class:`dcprog.models.CappedSVC`,
  penalty γ, for p = 1 and p = 2: without a cap; with the default cap, set so that 10% of the
  samples are beyond it; and, where labels are flipped, with the cap told their true share.

Five-fold cross-validation measures the accuracy over the parameters 0.001, 0.01, …, 100, first
with clean labels, then with 20% of the training labels changed at random; test labels stay
clean. Then one fit is shown step by step: its objective, its criticality gap, its certificate.

Run ``python -m examples.guides.demo --output folder`` for tables and three plots; ``--help`` lists
more.
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
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, minmax_scale
from sklearn.svm import SVC

from dcprog.losses import hinge, squared_hinge
from dcprog.models import CappedSVC
from dcprog.transforms import cap_at, power_of
from examples.common.data import flip
from examples.common.plots import BLACK, BLUE, GREEN, ORANGE, RED, STYLE
from examples.common.tables import spread

Array = np.ndarray

FOLDS = 5
INNER_FOLDS = 3
FLIPPED = 0.2
GRID = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
NO_CAP = 1e9
CV_TOL = 1e-4  # predictions settle long before the default 1e-6 is reached


# ---- models --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Contender:
    """A model, the name of the parameter that is varied, and how its curve is drawn."""

    name: str
    estimator: Any
    parameter: str
    look: dict[str, Any]
    only_flipped: bool = False

    @property
    def power(self) -> float | None:
        """The p of a CappedSVC."""
        return getattr(self.estimator, "p", None)


def capped(**options: Any) -> CappedSVC:
    """The paper's model, from one start, with options of its own."""
    named: dict[str, Any] = {"p": 1.0, "cap_fraction": 0.1, "cap_floor": 0.0, "gamma": 1.0}
    return CappedSVC(**named | {"delta": 1e-8, "n_starts": 1} | options)


def contenders() -> list[Contender]:
    """Two baselines, and for each p the model without a cap, with the default and with the true."""
    ridge = {"color": BLACK, "marker": "s", "linestyle": "--"}
    svm = {"color": BLUE, "marker": "^", "linestyle": "--"}
    listed = [
        Contender("least squares", RidgeClassifier(), "alpha", ridge),
        Contender("linear SVM", SVC(kernel="linear"), "C", svm),
    ]
    for p in (1.0, 2.0):
        model, name = capped(p=p, tol=CV_TOL), f"CappedSVC p={p:.0f}"
        free, told = clone(model).set_params(eps=NO_CAP), clone(model)
        told.set_params(cap_fraction=FLIPPED)
        listed += [
            Contender(f"{name}, no cap", free, "gamma", {"color": GREEN, "marker": "v"}),
            Contender(f"{name}, cap 10%", model, "gamma", {"color": ORANGE, "marker": "D"}),
            Contender(f"{name}, told {FLIPPED:.0%}", told, "gamma", {"color": RED}, True),
        ]
    return listed


def given_up(model: CappedSVC) -> Array:
    """Which training samples ended with weight 0."""
    spec = model.spec_
    losses = spec.aggregates(spec.rows.pack(model.coef_, model.intercept_))
    return spec.transform.slope(losses) == 0


# ---- cross-validation ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Fold:
    """One split: clean data, the labels to train on, and which samples are in which part."""

    X: Array
    y: Array
    train: Array
    test: Array
    labels: Array
    seed: int


@dataclass(frozen=True)
class Outcome:
    """What a contender did on a fold, for every parameter."""

    accuracy: Array
    chosen: int  # the parameter an inner cross-validation on the training part takes
    capped: Array  # training samples with weight 0
    caught: Array  # those of them that had been flipped
    unfinished: int  # fits that stopped before they converged


def evaluate(contender: Contender, fold: Fold, grid: Sequence[float]) -> Outcome:
    """Fit all parameters on the training part; score them on the test part."""
    X, y = fold.X[fold.train], fold.labels
    flipped = y != fold.y[fold.train]
    pipeline = make_pipeline(MinMaxScaler(), clone(contender.estimator))
    name = f"{pipeline.steps[-1][0]}__{contender.parameter}"
    accuracy, capped, caught = (np.zeros(len(grid)) for _ in range(3))
    with warnings.catch_warnings(record=True) as caught_warnings:
        warnings.simplefilter("always", ConvergenceWarning)
        for k, value in enumerate(grid):
            fitted = clone(pipeline).set_params(**{name: value}).fit(X, y)
            accuracy[k] = fitted.score(fold.X[fold.test], fold.y[fold.test])
            if contender.power is not None:
                ignored = given_up(fitted[-1])
                capped[k], caught[k] = ignored.sum(), (ignored & flipped).sum()
        inner = StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=fold.seed)
        search = GridSearchCV(pipeline, {name: list(grid)}, cv=inner, refit=False).fit(X, y)
    unfinished = sum(issubclass(w.category, ConvergenceWarning) for w in caught_warnings)
    return Outcome(accuracy, int(search.best_index_), capped, caught, unfinished)


def make_folds(X: Array, y: Array, share: float, repeats: int, seed: int) -> list[Fold]:
    """Every split of every repeat; the same seed splits the same way whatever the share."""
    folds = []
    for repeat in range(repeats):
        splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=seed + repeat)
        for k, (train, test) in enumerate(splitter.split(X, y)):
            labels = flip(y[train], share, np.random.default_rng([seed, repeat, k]))
            folds.append(Fold(X, y, train, test, labels, seed + repeat))
    return folds


@dataclass(frozen=True)
class Score:
    """The outcomes of a contender over all repeats."""

    outcomes: list[Outcome]

    @property
    def accuracy(self) -> Array:
        """Percent, of shape (repeats, parameters): the mean over the folds of a repeat."""
        table = np.array([outcome.accuracy for outcome in self.outcomes])
        return 100 * table.reshape(-1, FOLDS, table.shape[1]).mean(axis=1)

    @property
    def best(self) -> int:
        """The parameter with the best mean accuracy on the test folds."""
        return int(np.argmax(self.accuracy.mean(axis=0)))

    @property
    def nested(self) -> Array:
        """Percent, of shape (repeats,), with every fold's parameter chosen inside it."""
        taken = np.array([outcome.accuracy[outcome.chosen] for outcome in self.outcomes])
        return 100 * taken.reshape(-1, FOLDS).mean(axis=1)

    @property
    def flags(self) -> tuple[int, int]:
        """Samples given up, and the flipped ones among them, at the parameters chosen inside."""
        pairs = [(o.capped[o.chosen], o.caught[o.chosen]) for o in self.outcomes]
        capped, caught = np.sum(pairs, axis=0)
        return int(capped), int(caught)


Scores = dict[str, Score]


def cross_validate(
    listed: list[Contender], folds: list[Fold], grid: Sequence[float], jobs: int
) -> Scores:
    """All contenders on all folds, a process a core and a thread a process."""
    tasks = [joblib.delayed(evaluate)(c, fold, grid) for c in listed for fold in folds]
    with joblib.parallel_config("loky", inner_max_num_threads=1):
        outcomes = joblib.Parallel(n_jobs=jobs)(tasks)
    n = len(folds)
    return {c.name: Score(outcomes[k * n : (k + 1) * n]) for k, c in enumerate(listed)}


# ---- tables --------------------------------------------------------------------------------------


def cells(scores: Scores, name: str, grid: Sequence[float]) -> str:
    """Of one condition: the best parameter's accuracy, the parameter, the nested accuracy."""
    if name not in scores:
        return f"{'–':>12}{'':<8}{'–':>12}"
    score = scores[name]
    best = spread(score.accuracy[:, score.best])
    return f"{best:>12}{f' ({grid[score.best]:g})':<8}{spread(score.nested):>12}"


def print_accuracy(clean: Scores, noisy: Scores, grid: Sequence[float]) -> None:
    """Both protocols, both conditions."""
    svm = noisy["linear SVM"].nested
    print(f"\nAccuracy on the test folds in %, {svm.size} × {FOLDS} folds")
    print(f"{'':<24}{'clean training labels':^32}{f'{FLIPPED:.0%} of them flipped':^32}")
    half = f"{'best':>12}{' (at)':<8}{'nested':>12}"
    print(f"{'':<24}{half}{half}{'less SVM':>12}")
    for name in noisy:
        difference = "" if name == "linear SVM" else spread(noisy[name].nested - svm, "+")
        print(f"{name:<24}{cells(clean, name, grid)}{cells(noisy, name, grid)}{difference:>12}")
    print(
        "  best:     at the parameter (α, C or γ) that is best on these test folds, as in the\n"
        "            paper; this is optimistic, for every model\n"
        "  nested:   every fold's parameter chosen by cross-validation inside its training part,\n"
        "            flipped labels included; the honest figure\n"
        "  less SVM: nested, less the linear SVM's on the same folds and flips\n"
        "  ±:        standard error over repeats: over splits and flips, not over other wines"
    )


def print_flags(clean: Scores, noisy: Scores, flipped: int, trained: int) -> None:
    """How many samples the capped models gave up, and whether they were the flipped ones."""
    print("\nTraining samples given up (weight 0 in the end), parameters nested")
    print(f"{'':<24}{'clean labels':>14}{'flipped':>10}{'precision':>12}{'recall':>9}")
    for name in noisy:
        if not name.startswith("CappedSVC") or name.endswith("no cap"):
            continue
        capped, caught = noisy[name].flags
        quiet = f"{clean[name].flags[0] / trained:.1%}" if name in clean else "–"
        right = f"{caught / capped:.1%}" if capped else "–"
        share, found = capped / trained, caught / flipped
        print(f"{name:<24}{quiet:>14}{share:>10.1%}{right:>12}{found:>9.1%}")
    print(
        "  precision: how many of those given up had been flipped; recall: how many of the\n"
        f"  flipped were given up. A cap for 10% can find little more than half of {FLIPPED:.0%}."
    )


def print_descent(model: CappedSVC, y: Array, labels: Array) -> None:
    """A fit, step by step."""
    history = model.result_.history
    print(
        f"\nOne fit: CappedSVC on all {y.size} samples, {np.sum(labels != y)} labels flipped, "
        f"p={model.p:g}, γ={model.gamma:g}, cap ε={model.eps_:.4g}"
    )
    print(f"{'step':>6}{'objective':>16}{'criticality gap':>18}{'distance':>11}")
    last = len(history) - 1
    for k in sorted({*range(min(6, last)), *range(5, last, 5), last}):
        value, gap, moved = history.value[k], history.gap[k], history.step[k]
        print(f"{k:>6}{value:>16.8f}{gap:>18.2e}{moved:>11.1e}")
    print(f"{model.result_.status}: {model.result_.message}\n")
    print(model.result_.certificate())
    ignored = given_up(model)
    print(
        f"\nIt gave up {ignored.sum()} samples, {np.sum(ignored & (labels != y))} of them flipped."
    )


# ---- plots ---------------------------------------------------------------------------------------


def draw_losses(path: Path) -> None:
    """Losses over the margin, and the majorants the loop minimises in place of a capped one."""
    base, cap = squared_hinge(), 1.0
    first, second = (cap_at(cap, power_of(p / 2, 1e-8)) for p in (1, 2))
    u = np.linspace(-1.5, 2.0, 701)
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    left.plot(u, hinge()(u), "--", color=BLUE, label="hinge")
    left.plot(u, base(u), "--", color=BLACK, label="squared hinge")
    left.plot(u, second(base(u)), color=ORANGE, linewidth=5, alpha=0.6, label="capped, p = 2")
    left.plot(u, first(base(u)), color=RED, linewidth=2, label="capped, p = 1")
    left.set(title="losses, cap ε = 1", xlabel="margin y·f(x)", ylabel="loss of a sample")
    right.plot(u, first(base(u)), color=RED, linewidth=2, label="capped, p = 1")
    for centre, line, colour in ((0.4, "-.", BLUE), (-0.8, ":", BLACK)):
        touch, slope = base(centre), first.slope(base(centre))
        majorant = first(touch) + slope * (base(u) - touch)
        label = f"majorant at {centre:g}: weight {slope:.2f}".replace("-", "−")
        right.plot(u, majorant, line, color=colour, linewidth=2, label=label)
        right.plot(centre, first(touch), "o", color=colour, markersize=8)
    right.set(title="a majorant is a weighted squared hinge", xlabel="margin y·f(x)")
    for ax in (left, right):
        ax.set(ylim=(-0.08, 3.2), xlim=(-1.5, 2.0))
        ax.legend(loc="upper right")
    figure.savefig(path)


def draw_convergence(model: CappedSVC, path: Path) -> None:
    """Objective, what it still falls, and the criticality gap, step by step."""
    history, tolerance = model.result_.history, model.tol * model.result_.value
    steps = np.arange(len(history))
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(steps, history.value, "o-", color=BLUE, markersize=4)
    left.set(title="the objective never rises", xlabel="outer step", ylabel="objective J")
    left.set_ylim(bottom=history.value[-1] - 0.05 * np.ptp(history.value))
    fall = history.value[:-1] - history.value[-1]
    right.semilogy(steps[:-1], fall, "s--", color=BLUE, markersize=4, label="J − its last value")
    right.semilogy(steps, history.gap, "o-", color=RED, markersize=4, label="criticality gap")
    right.axhline(tolerance, color=BLACK, linestyle=":", label="stop: tol·J")
    right.set(title="the gap is the least the next step gains", xlabel="outer step")
    right.set_ylabel("in units of the objective")
    right.legend(loc="upper right")
    figure.savefig(path)


def draw_accuracy(
    listed: list[Contender], both: tuple[Scores, Scores], grid: Sequence[float], path: Path
) -> None:
    """Accuracy by parameter: a row for each p, clean labels left, flipped ones right."""
    figure = Figure(figsize=(11, 8.4), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True, sharey=True)
    titles = ("clean training labels", f"{FLIPPED:.0%} of the training labels flipped")
    for row, p in zip(axes, (1.0, 2.0), strict=True):
        for ax, scores, title in zip(row, both, titles, strict=True):
            for c in listed:
                if c.name in scores and c.power in (None, p):
                    draw_curve(ax, grid, scores[c.name].accuracy, c)
            ax.set(title=f"CappedSVC with p = {p:.0f}, {title}", xscale="log", ylim=(84, 100.5))
        row[0].set_ylabel("accuracy on the test folds (%)")
    for ax in axes[-1]:
        ax.set_xlabel("parameter: γ (CappedSVC), α (least squares), C (SVM)")
    handles, labels = axes[0, 1].get_legend_handles_labels()
    labels = [label.replace(" p=1,", ":") for label in labels]
    figure.legend(handles, labels, loc="outside lower center", ncols=5)
    figure.suptitle("Wine: mean and standard error over repeats (below 84%: off the scale)")
    figure.savefig(path)


def draw_curve(ax: Any, grid: Sequence[float], accuracy: Array, contender: Contender) -> None:
    mean = accuracy.mean(axis=0)
    error = accuracy.std(axis=0, ddof=1) / np.sqrt(len(accuracy))
    look = {"marker": "o", "markersize": 5} | contender.look
    ax.plot(grid, mean, label=contender.name, **look)
    ax.fill_between(grid, mean - error, mean + error, color=look["color"], alpha=0.2, linewidth=0)


# ---- all of it -----------------------------------------------------------------------------------


def fit_once(X: Array, labels: Array) -> CappedSVC:
    """All samples, the heuristic's cap; then again under that cap, so that all steps descend."""
    X = minmax_scale(X)
    cap = capped(cap_fraction=FLIPPED).fit(X, labels).eps_
    return capped(eps=cap).fit(X, labels)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="for the plots")
    parser.add_argument("--repeats", type=int, default=4, help="of the cross-validation, 2 or more")
    parser.add_argument("--random-state", type=int, default=0, help="seed of splits and flips")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--grid", type=float, nargs="+", default=GRID, help="parameters")
    options = parser.parse_args(arguments)
    if options.repeats < 2:
        parser.error("--repeats must be 2 or more: one repeat has no standard error")
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    """Cross-validate, print the tables, draw the plots."""
    options = parse(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    begun, listed, grid = time.perf_counter(), contenders(), sorted(options.grid)
    X, y = load_wine(return_X_y=True)
    runs: list[Scores] = []
    for share, name in ((0.0, "clean labels"), (FLIPPED, "flipped labels")):
        folds = make_folds(X, y, share, options.repeats, options.random_state)
        taking_part = [c for c in listed if share or not c.only_flipped]
        print(f"cross-validating, {name} … ", end="", flush=True)
        runs.append(cross_validate(taking_part, folds, grid, options.jobs))
        print(f"{time.perf_counter() - begun:.0f} s", flush=True)
    clean, noisy = runs
    print_accuracy(clean, noisy, grid)
    trained = sum(fold.train.size for fold in folds)
    changed = sum(int(np.sum(fold.labels != y[fold.train])) for fold in folds)
    print_flags(clean, noisy, changed, trained)
    unfinished = sum(o.unfinished for run in runs for s in run.values() for o in s.outcomes)
    if unfinished:
        print(f"{unfinished} fits stopped before they converged.")
    labels = flip(y, FLIPPED, np.random.default_rng(options.random_state))
    model = fit_once(X, labels)
    print_descent(model, y, labels)
    paths = [options.output / f"{name}.png" for name in ("losses", "convergence", "accuracy")]
    with matplotlib.rc_context(STYLE):
        draw_losses(paths[0])
        draw_convergence(model, paths[1])
        draw_accuracy(listed, (clean, noisy), grid, paths[2])
    print("\nPlots:", *paths, sep="\n  ")


if __name__ == "__main__":
    main()
