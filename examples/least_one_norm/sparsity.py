"""Why the least 1-norm SVM is sparse on Titanic, and nowhere else in the paper's table 2.

Titanic's samples have three features of few values: 150 of them are about 13 different points.
The dual depends on the sum of the coefficients at a point alone, and SMO, which begins with zeros
and moves two samples at a time, touches no more of them than that sum takes. Moved apart a little,
they all get a coefficient, and Heart's samples, each repeated, do not. It is no property of the
minimiser: that of least norm spreads a point's sum over all its samples.
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from examples.common.claims import Claim, own
from examples.least_one_norm.machines import MACHINES, descent
from examples.least_one_norm.tuning import gaussian

Array = np.ndarray
Samples = list[tuple[Array, Array]]
APART = 0.1  # standard deviations of a feature
TIMES = 5
HEART = (1.0, 3.0)  # C, σ for Heart
HEART_TEXT = "Heart becomes sparse where five samples in a row are the same"


def share(X: Array, y: Array, C: float, width: float, to_the_end: bool = False) -> float:
    """Samples with a coefficient where SMO stops, or at the library's minimiser; in %."""
    K = gaussian(euclidean_distances(X, squared=True), width)
    run = MACHINES["least 1-norm"] if to_the_end else lambda *of: descent("least 1-norm", *of)
    return 100 * float(np.mean(np.abs(run(K, y, C).a) > 1e-8 * C))


def moved(X: Array, y: Array, seed: int) -> tuple[Array, Array]:
    """Every sample moved a little, so that no two are the same."""
    return X + APART * np.random.default_rng(seed).standard_normal(X.shape), y


def repeated(X: Array, y: Array) -> tuple[Array, Array]:
    """As many samples, of which only every fifth is another one."""
    few = len(y) // TIMES
    return np.repeat(X[:few], TIMES, axis=0), np.repeat(y[:few], TIMES)


def titanic_claims(samples: Samples, C: float, width: float) -> list[Claim]:
    """That Titanic's samples are sparse because they repeat."""
    points = float(np.mean([len(np.unique(X, axis=0)) for X, _ in samples]))
    plain = [share(*part, C, width) for part in samples]
    apart = [share(*moved(*part, seed), C, width) for seed, part in enumerate(samples)]
    end = [share(*part, C, width, True) for part in samples]
    claims = [
        Claim(
            "Titanic is sparse because its samples repeat: moved apart, nine in ten have a "
            "coefficient",
            f"{np.mean(plain):.0f} % → {np.mean(apart):.0f} %, {points:.0f} different points",
            bool(np.mean(plain) < 60 and np.mean(apart) > 90),
            turns="samples that are not moved apart",
        ),
        Claim(
            "Titanic: the minimiser itself is not sparse, nine in ten have a coefficient",
            f"{np.mean(end):.0f} % of the samples have a coefficient at the library's",
            bool(np.mean(end) > 90),
            turns="90 % or less",
        ),
    ]
    return own(claims)


def heart_claim(samples: Samples) -> Claim:
    """That repeated samples make another set sparse."""
    plain = [share(*part, *HEART) for part in samples]
    again = [share(*repeated(*part), *HEART) for part in samples]
    return Claim(
        HEART_TEXT,
        f"{np.mean(plain):.0f} % → {np.mean(again):.0f} %",
        bool(np.mean(plain) > 95 and np.mean(again) < 80),
        ours=True,
        turns="samples that are not repeated",
    )
