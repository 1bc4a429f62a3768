"""Table 5 of the rescaled hinge SVM paper on its three small sets whole, part of reproduce.py.

Australian, Pima and German, Gaussian kernel, the protocol of ``folds.py``: ``reproduce.py`` else
takes at most 500 samples of a set with this kernel. A printed accuracy comes out if the difference
is within 1.5 points by two joint standard errors; the paper's folds are taken to scatter like ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from examples.common.claims import Claim, Difference, same, under
from examples.rescaled_hinge.folds import ACCURACY, BY_CV, METHODS, cross_validated
from examples.rescaled_hinge.published import ACCURACY as PRINTED
from examples.rescaled_hinge.published import COLUMNS
from examples.rescaled_hinge.sets import Sets
from examples.rescaled_hinge.verdicts import AS_PRINTED, gain_claim

Array = np.ndarray
SMALL = ("australian", "pima", "german_numeric")
SHOWN = ("SVM", "WSVM 19", BY_CV)  # the ramp machine is another one
PAIRS = ((BY_CV, "SVM"), (BY_CV, "WSVM 19"))


def cell_claim(name: str, noise: int, method: str, accuracy: Array) -> Claim:
    """A printed cell against ours, of shape (folds,)."""
    printed = float(PRINTED["rbf", name, noise][COLUMNS.index(method)])
    error = float(accuracy.std(ddof=1)) * np.sqrt(2 / accuracy.size)
    apart = Difference(float(accuracy.mean()) - printed, error)
    text = f"Gaussian, {noise} %, {name}, whole: {method} as printed"
    shown = f"{accuracy.mean():.2f} for {printed:.2f}: {apart} points"
    claim = same(text, apart, AS_PRINTED, measured=shown)
    return replace(claim, expected=None if claim.holds is None else True)


def noise_claims(noise: int, accuracies: dict[str, Array]) -> list[Claim]:
    """The printed cells at a level of noise, and the gains over the three sets."""
    columns = {m: np.array([a[:, METHODS.index(m)] for a in accuracies.values()]) for m in SHOWN}
    claims = [
        cell_claim(name, noise, method, columns[method][j])
        for j, name in enumerate(accuracies)
        for method in SHOWN
        if ("rbf", name, noise) in PRINTED
    ]
    for better, worse in PAIRS:
        rows = [
            PRINTED["rbf", name, noise] for name in accuracies if ("rbf", name, noise) in PRINTED
        ]
        cells = [row[COLUMNS.index(better)] - row[COLUMNS.index(worse)] for row in rows]
        paper = f"{np.mean(cells):+.2f} over the same" if cells else "–"
        text = f"Gaussian, {noise} %, the small sets whole: {better} is more accurate than {worse}"
        claims.append(gain_claim(text, columns[better], columns[worse], paper))
    return under("table 5", claims)


def whole_set_claims(sets: Sets, folds: int, jobs: int, noises: Sequence[int]) -> list[Claim]:
    """The cells and gains of the three small sets, where all are at hand."""
    if any(name not in sets for name in SMALL):
        return []
    claims: list[Claim] = []
    for noise in noises:
        found = {}
        for name in SMALL:
            run = cross_validated(name, "rbf", *sets[name], noise / 100, folds, jobs)
            found[name] = np.array(list(run))[..., ACCURACY]
            shown = ", ".join(f"{m} {found[name][:, METHODS.index(m)].mean():.2f}" for m in SHOWN)
            print(f"Gaussian, {name}, whole, {noise} %: {shown}", flush=True)
        claims += noise_claims(noise, found)
    return claims
