"""Logistic regression that wrong labels cannot turn: trimmed, capped and redescending losses.

A label that is wrong far from the boundary costs log(1 + e^{−u}) ≈ |u|: with leverage, as much as
all the others together. Three losses bound what it can cost, through the same estimator:

* ``trim(logistic(), share)`` leaves out the share of the samples that cost most;
* ``cap(logistic(), c)`` stops at c: c = log(1 + e^s) ignores labels that are wrong by more than s;
* ``tukey(logistic(), sigma)`` and ``welsch(logistic(), sigma)`` redescend: the larger the loss, the
  less a sample weighs, until it weighs nothing. Their σ²/2 is the loss from which on it is so.

The guide takes breast cancer data, turns 10% of the labels round and makes leverage of half of them
(samples moved out along their own direction), and asks of every loss: how near are coefficients to
those of the clean data, how many labels does the fit get right that were right before, and which
samples did it give up? Then it says how to read ``outlier_weight_``, and how to choose c without
clean labels: by the share that is given up, which should stay when c moves a little.

Run ``python -m examples.guides.robust_logistic --output folder`` for a plot of the losses too.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import dcprog as dc
from examples.common.claims import Claim, print_claims
from examples.common.data import flip
from examples.common.plots import parser_of, plotted

Array = np.ndarray
LEVERAGE = 4.0
PENALTY = 3.0
LOSSES: dict[str, dc.Loss] = {
    "logistic, plain": dc.logistic(),
    "trimmed, 10%": dc.trim(dc.logistic(), 0.1),
    "capped at log(1 + e²)": dc.cap(dc.logistic(), float(np.log1p(np.exp(2.0)))),
    "Tukey's, σ = 3": dc.tukey(dc.logistic(), 3.0),
    "Welsch's, σ = 1.5": dc.welsch(dc.logistic(), 1.5),
}


@dataclass(frozen=True)
class Outcome:
    """Of a fit to the dirty data, read on the clean ones."""

    accuracy: float
    cosine: float  # with the coefficients of a plain fit to the clean data
    caught: float  # share of the wrong labels of weight below one half
    lost: float  # share of the right ones, likewise


def dirty_data(seed: int = 0) -> tuple[Array, Array, Array, Array]:
    """Features, labels as they are, features with leverage, labels with 10% of them turned."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    rng = np.random.default_rng(seed)
    wrong = flip(y, 0.1, rng)
    moved = np.flatnonzero(wrong != y)
    far = X.copy()
    far[moved[::2]] *= LEVERAGE
    return X, y, far, wrong


def outcome(loss: dc.Loss, seed: int = 0) -> Outcome:
    X, y, far, wrong = dirty_data(seed)
    clean = dc.RobustClassifier(dc.logistic(), dc.l2(PENALTY)).fit(X, y)
    model = dc.RobustClassifier(loss, dc.l2(PENALTY)).fit(far, wrong)
    w, v = model.coef_.ravel(), clean.coef_.ravel()
    given_up = model.outlier_weight_ < 0.5
    return Outcome(
        accuracy=float(model.score(X, y)),
        cosine=float(w @ v / np.linalg.norm(w) / np.linalg.norm(v)),
        caught=float(np.mean(given_up[wrong != y])),
        lost=float(np.mean(given_up[wrong == y])),
    )


def caps(levels: Sequence[float]) -> list[float]:
    """The share that is given up against the margin −s beyond which a label is ignored."""
    _, _, far, wrong = dirty_data()
    shares = []
    for s in levels:
        loss = dc.cap(dc.logistic(), float(np.log1p(np.exp(s))))
        model = dc.RobustClassifier(loss, dc.l2(PENALTY)).fit(far, wrong)
        shares.append(float(np.mean(model.outlier_weight_ < 0.5)))
    return shares


def plot(folder: Path) -> None:
    """The losses against the margin."""
    u = np.linspace(-8, 4, 500)
    with plotted(folder, "robust_logistic") as axes:
        for name, loss in LOSSES.items():
            if not loss.is_joint:
                axes.plot(u, loss(u), label=name)
        axes.set(xlabel="margin", ylabel="loss")
        axes.legend()


def main(argv: Sequence[str] | None = None) -> int:
    options = parser_of(__doc__).parse_args(argv)
    print("Breast cancer, 10% of the labels turned, half of those at four times their distance\n")
    print(f"{'loss':<24}{'right':>7}{'cosine':>8}{'caught':>8}{'lost':>7}")
    found = {name: outcome(loss) for name, loss in LOSSES.items()}
    for name, one in found.items():
        print(f"{name:<24}{one.accuracy:>7.1%}{one.cosine:>8.2f}{one.caught:>8.0%}{one.lost:>7.1%}")
    levels = (1.0, 1.5, 2.0, 2.5, 3.0)
    shares = caps(levels)
    print("\nA cap without clean labels: the share given up hardly moves where s is right")
    print("  s        " + "".join(f"{s:>7g}" for s in levels))
    print("  given up " + "".join(f"{share:>7.1%}" for share in shares))
    plain, *robust = found.values()
    worst = min(one.accuracy for one in robust)
    claims = [
        Claim("wrong labels turn the plain fit", f"{plain.accuracy:.1%}", plain.accuracy < 0.95),
        Claim("every robust loss gets 95% right", f"{worst:.1%} or more", worst >= 0.95),
        Claim(
            "and points where the clean fit does, more than the plain one",
            f"{min(one.cosine for one in robust):.2f} against {plain.cosine:.2f}",
            min(one.cosine for one in robust) > plain.cosine,
        ),
        Claim(
            "most wrong labels are caught",
            f"{min(one.caught for one in robust):.0%} or more",
            min(one.caught for one in robust) > 0.7,
        ),
        Claim(
            "few right ones are lost",
            f"{max(one.lost for one in robust):.1%} or less",
            max(one.lost for one in robust) < 0.05,
        ),
    ]
    if options.output is not None:
        plot(options.output)
    return int(print_claims(claims) > 0)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.exit(main())
