"""The protocol of the rescaled hinge SVM paper's tables 4–6.

Ten folds; of each training part 30 %, drawn at random, are the validation set that chooses C (and
η, and s of the ramp). A share of the labels is flipped in the training and in the validation set
separately; test labels stay clean. The machine with the chosen parameters is then fitted to both
sets together; how accurate the one fitted to the 70 % alone is, which is the other reading of the
protocol, is kept beside it.

The column "η by CV" takes, of the five η so chosen, the one with the best score (the least η if
several), "ramp path" likewise one of the stations of the path from the SVM on. Neither needs a fit
of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import joblib
import numpy as np
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler

from examples.common.parts import kept
from examples.rescaled_hinge import machines
from examples.rescaled_hinge.machines import CENTRED, ETAS, RAMPS, RESCALED, Fitted, fit

Array = np.ndarray
COSTS = (0.1, 1.0, 10.0)
BY_CV, PATH = "η by CV", "ramp path"
SINGLE = ("SVM", "WSVM 19", *RAMPS, *RESCALED, CENTRED, "C-loss")
CHOICES = {BY_CV: RESCALED, PATH: ("SVM", *RAMPS)}
METHODS = (*SINGLE, *CHOICES)
# What a fold keeps of a method, in % (the last one not).
ACCURACY, SUPPORT, ON_PART, CHOSEN = range(4)


def columns(kind: str, X: Array, Z: Array) -> Array:
    """What f is linear in: the samples X, or exp(−‖x − z‖²/d)."""
    if kind == "linear":
        return X
    squared = np.sum(X**2, 1)[:, None] + np.sum(Z**2, 1) - 2 * X @ Z.T
    return np.exp(-np.maximum(squared, 0) / X.shape[1])


def flipped(y: Array, share: float, seed: int | list[int]) -> Array:
    """The labels ±1 with a share of them changed; a larger share changes those of a smaller too."""
    order = np.random.default_rng(seed).permutation(y.size)
    labels = y.copy()
    labels[order[: round(share * y.size)]] *= -1
    return labels


def fit_all(kind: str, A: Array, y: Array, C: float) -> dict[str, Fitted]:
    """Every machine for one C."""
    plain = fit("SVM", kind, A, y, C)
    others = {method: fit(method, kind, A, y, C, plain) for method in SINGLE if method != "SVM"}
    return {"SVM": plain, **others}


def one_fold(
    kind: str, X: Array, y: Array, train: Array, test: Array, share: float, seed: int
) -> Array:
    """What a fold keeps of every method, of shape (methods, 4)."""
    part, rest = train_test_split(train, test_size=0.3, random_state=seed)
    own, judging = flipped(y[part], share, [seed, 0]), flipped(y[rest], share, [seed, 1])
    scaler = StandardScaler().fit(X[train])
    P, R, T = (scaler.transform(X[where]) for where in (part, rest, test))
    inside, across, beyond = (columns(kind, Z, P) for Z in (P, R, T))
    fits = [fit_all(kind, inside, own, C) for C in COSTS]
    score = {m: np.array([f[m].accuracy(across, judging) for f in fits]) for m in SINGLE}
    best = {method: int(np.argmax(values)) for method, values in score.items()}

    Z, labels = np.vstack([P, R]), np.concatenate([own, judging])
    A, outside = columns(kind, Z, Z), columns(kind, T, Z)
    plain = {C: fit("SVM", kind, A, labels, C) for C in {COSTS[k] for k in best.values()}}
    found = {}
    for method, k in best.items():
        C = COSTS[k]
        machine = plain[C] if method == "SVM" else fit(method, kind, A, labels, C, plain[C])
        on_part = fits[k][method].accuracy(beyond, y[test])
        found[method] = [machine.accuracy(outside, y[test]), machine.support, on_part, C]
    for method, among in CHOICES.items():
        which = max(among, key=lambda one: float(score[one].max()))
        value = ETAS[RESCALED.index(which)] if method == BY_CV else RAMPS.get(which, np.inf)
        found[method] = [*found[which][:CHOSEN], value]
    return np.array([found[method] for method in METHODS])


def known_fold(
    name: str, kind: str, X: Array, y: Array, split: tuple[Array, Array], share: float, seed: int
) -> Array:
    """The same, kept between runs."""
    depends = (Path(__file__), Path(machines.__file__), X, y, *split, f"{COSTS} {share}")
    return kept(
        f"rescaled_hinge-{kind}-{name}-{share:g}-{seed}",
        lambda: one_fold(kind, X, y, *split, share, seed),
        *depends,
    )


def cross_validated(
    name: str, kind: str, X: Array, y: Array, share: float, folds: int, jobs: int
) -> Iterator[Array]:
    """What the folds keep, one after the other."""
    splitter = StratifiedKFold(folds, shuffle=True, random_state=0)
    tasks = [
        joblib.delayed(known_fold)(name, kind, X, y, split, share, seed)
        for seed, split in enumerate(splitter.split(X, y))
    ]
    with joblib.parallel_config("loky", inner_max_num_threads=1):
        yield from joblib.Parallel(n_jobs=jobs, return_as="generator")(tasks)


def mean_gain(better: Array, worse: Array) -> tuple[float, float]:
    """Mean difference of two methods over (sets, folds), and its standard error.

    The folds are paired: both methods have the same training part, flips and test part. The folds
    of a set share training data, so that a set gives one mean, whose variance is not s²/F but
    s²(1/F + 1/(F − 1)), s² the variance over its F folds (Nadeau and Bengio 2003, Inference for
    the generalization error, Machine Learning 52, 239-281, with their ratio of test to training
    size). The sets are independent. The error is that of a mean over these sets; it says nothing
    of others.
    """
    differences = np.asarray(better - worse)
    sets, folds = differences.shape
    per_set = differences.var(axis=1, ddof=1) * (1 / folds + 1 / (folds - 1))
    return float(differences.mean()), float(np.sqrt(per_set.sum()) / sets)
