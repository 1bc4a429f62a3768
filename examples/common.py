"""What the examples share, not run by itself: data sets, flipped labels, claims, plots' style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

Array = np.ndarray

# Where the data sets that do not come with scikit-learn lie, beside the project.
SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"

# Okabe and Ito's palette, told apart under all common kinds of colour blindness.
BLACK, ORANGE, GREEN, BLUE, RED = "#000000", "#E69F00", "#009E73", "#0072B2", "#D55E00"
STYLE: dict[Any, Any] = {
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "0.9",
    "legend.frameon": False,
    "savefig.dpi": 130,
}


# ---- data ----------------------------------------------------------------------------------------


def shared_set(name: str, folder: Path = SHARED_DATA) -> tuple[Any, Array] | None:
    """Samples and labels of a set by name; None, saying so, where its file is not at hand."""
    path = folder / f"{name}.npz"
    if not path.exists():
        print(f"{name}: left out, there is no {path.name} in {folder}")
        return None
    with np.load(path, allow_pickle=False) as file:
        if "X" in file:
            return np.asarray(file["X"], dtype=float), file["y"]
        parts = (file["X_data"], file["X_indices"], file["X_indptr"])
        return sp.csr_array(parts, shape=tuple(file["X_shape"]), dtype=float), file["y"]


def flip(y: Array, share: float, rng: np.random.Generator) -> Array:
    """The labels 0, 1, … with a share of them, drawn at random, changed to another class."""
    where = rng.choice(y.size, round(share * y.size), replace=False)
    classes = int(y.max()) + 1
    changed = y.copy()
    changed[where] = (y[where] + rng.integers(1, classes, where.size)) % classes
    return changed


# ---- tables --------------------------------------------------------------------------------------


def spread(values: Array, sign: str = "") -> str:
    """Mean ± standard error over repeats."""
    mean = round(float(values.mean()), 1) + 0.0  # no −0.0
    return f"{mean:{sign}.1f} ± {values.std(ddof=1) / np.sqrt(values.size):.1f}".replace("-", "−")


def steps_until(values: Array, within: float) -> int:
    """Steps until an objective is this close to where it ends, relative to 1 + |J|."""
    return int(np.argmax(values - values[-1] <= within * (1 + abs(values[-1]))))


@dataclass(frozen=True)
class Claim:
    """A statement, the number that decides it, and whether it was expected to hold."""

    text: str
    measured: str
    holds: bool
    expected: bool = True


def at_most(text: str, number: float, tolerance: float) -> Claim:
    """A claim that a number is within a tolerance."""
    return Claim(text, f"{number:.1e} (tolerance {tolerance:.0e})", number <= tolerance)


def print_claims(claims: Sequence[Claim]) -> int:
    """Print the table of claims; the number of those that did not come out as expected."""
    width = max(66, *(len(claim.text) + 1 for claim in claims))
    print(f"\n{'claim':<{width}}{'holds':<7}measured")
    for claim in claims:
        verdict = "yes" if claim.holds else "no"
        note = "" if claim.holds == claim.expected else "   <-- not as expected"
        print(f"{claim.text:<{width}}{verdict:<7}{claim.measured}{note}")
    wrong = sum(claim.holds != claim.expected for claim in claims)
    print(f"\n{len(claims) - wrong} of {len(claims)} claims as expected")
    return wrong
