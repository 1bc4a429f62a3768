"""The data sets of the rescaled hinge SVM paper's table 1, and what it says of them.

Australian, Pima, German, Spambase, Svmguide1 and Magic are read from files, Twonorm is generated,
and a5a is replaced by a random part of a9a of the same size; Musk and Protein are not at hand.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from examples.common.claims import Claim, left_out
from examples.common.data import shared_set

Array = np.ndarray
Sets = dict[str, tuple[Array, Array]]
# The paper's name, the file, n and d as printed.
SETS = {
    "australian": ("australian", 690, 14),
    "pima": ("pima", 768, 8),
    "german_numeric": ("german_numeric", 1000, 24),
    "svmguide1": ("svmguide1", 7089, 4),
    "magic": ("magic", 19020, 10),
    "spambase": ("spambase", 4601, 57),
    "twonorm": ("", 7400, 20),
    "a5a": ("adult_a9a_sample6414_seed0", 6414, 122),
}
MUSK = 5.49  # negative samples to a positive one, as printed, beside "balanced"


def twonorm(n: int) -> tuple[Array, Array]:
    """Gaussians at ±2/√20 in 20 dimensions; Bayes' rule is right in 97.72 %."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    return rng.standard_normal((n, 20)) + 2 / np.sqrt(20) * y[:, None], y


def load(folder: Path, names: list[str]) -> Sets:
    """The sets at hand among those named, all samples, labels ±1."""
    sets: Sets = {}
    for name in names:
        file, n, _ = SETS[name]
        data = shared_set(file, folder) if file else twonorm(n)
        if data is not None:
            X = data[0].toarray() if hasattr(data[0], "toarray") else data[0]
            sets[name] = X, np.where(data[1] == np.unique(data[1])[1], 1.0, -1.0)
    return sets


def part_of(sets: Sets, size: int) -> Sets:
    """At most so many random samples of each."""
    rng = np.random.default_rng(0)
    kept = {name: rng.permutation(len(y))[:size] for name, (_, y) in sets.items()}
    return {name: (X[kept[name]], y[kept[name]]) for name, (X, y) in sets.items()}


def table_1(sets: Sets) -> list[Claim]:
    """Sizes as printed; classes balanced, as the text says, or not."""
    claims = []
    balance = {name: float(np.mean(y > 0)) for name, (_, y) in sets.items()}
    for name, (file, n, d) in SETS.items():
        text = f"table 1, {name}: {n} samples, {d} features"
        if name not in sets:
            claims.append(left_out(text, f"{name} is not at hand", "table 1"))
            continue
        shape = sets[name][0].shape
        used = shape[0], int(np.count_nonzero(np.ptp(sets[name][0], axis=0)))
        right = (n, d) in (shape, used)
        stand_in = ", a stand-in from a9a" if name == "a5a" else ", generated" if not file else ""
        open_ = right and bool(stand_in)  # the number of samples is our choice
        holds, expected = (None, None) if open_ else (right, True)
        shown = f"{shape[0]} × {shape[1]}{stand_in}"
        turns = "another number of samples or of features"
        claims.append(Claim(text, shown, holds, expected, "table 1", turns=turns))
    far = [f"{name} {100 * share:.0f} %" for name, share in balance.items() if share < 0.4]
    odd = f"{', '.join(far) or 'none'}; the paper's own table has Musk at 1 : {MUSK}"
    text = "section 4: class distributions are balanced (40 to 60 % positive)"
    turns = "40 % positive samples in each of these"
    claims.append(Claim(text, f"not so: {odd}", not far, False, "table 1", turns=turns))
    return claims
