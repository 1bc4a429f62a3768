"""The examples' data: sets that lie beside the project, labels changed at random."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

Array = np.ndarray

# Where the data sets that do not come with scikit-learn lie, beside the project.
SHARED_DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


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
