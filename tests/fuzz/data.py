"""Data as users have them: few samples, wide, constant, huge, tiny, sparse, read-only, …"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from tests.fuzz.landscape import Array

__all__ = ["Data", "random_data"]

# Where a ValueError is an answer: nothing can be made of such numbers.
HOSTILE = {"huge", "no weight"}
KINDS = (
    "plain plain plain one sample,wide,constant column,duplicated columns,equal rows,huge,tiny,"
    "mixed units,far from 0,float32,object,sparse,read-only,fortran,whole numbers,zero,lists"
)
WEIGHTS = ["none"] * 5 + ["random", "some zero", "spread", "equal", "no weight"]


@dataclass
class Data:
    """X and y as they are handed over, and the same as float arrays for the checks."""

    X: Any
    y: Any
    weights: Any
    dense: Array
    targets: Array  # labels as ±1, or the targets
    units: float  # of a margin or a residual
    kind: str
    kind_of_u: str  # margin or residual
    hostile: bool


def random_data(rng: np.random.Generator, margin: bool) -> Data:
    """Data for a classifier of two classes, or for a regression."""
    kinds = [k for part in KINDS.split(",") for k in _split(part)]
    kind = kinds[int(rng.integers(len(kinds)))]
    n, d = int(rng.integers(4, 31)), int(rng.integers(1, 7))
    if kind == "one sample":
        n = 1 if not margin else 2
    if kind == "wide":
        n, d = int(rng.integers(3, 9)), int(rng.integers(9, 16))
    X: Array = rng.normal(size=(n, d))
    signs = rng.choice([-1.0, 1.0], n)
    signs[:2] = [1.0, -1.0][: min(n, 2)]
    X = np.asarray(np.round(X + (signs[:, None] if margin else 0.0), 3), dtype=float)
    X = _marked(rng, X, kind)
    if margin:
        targets, units = signs, 1.0
    else:
        units = float(rng.choice([1.0, 1.0, 1.0, 1e-9, 1e-3, 1e3, 1e8]))
        scale = np.max(np.abs(X), initial=0.0) or 1.0
        targets = units * (X / scale @ rng.normal(size=X.shape[1]) + 0.3 * rng.normal(size=n))
        if rng.uniform() < 0.1:
            targets = np.full(n, units)
    outliers = rng.permutation(n)[: n // 6]
    if margin and n > 2:
        targets = targets.copy()
        outliers = outliers[outliers > 1]
        targets[outliers] *= -1
    elif not margin:
        targets[outliers] += 20 * units
    chosen = str(rng.choice(WEIGHTS))
    weights = _weights(rng, n, chosen)
    y: Any = targets
    if margin and rng.uniform() < 0.5:
        y = np.where(targets > 0, "yes", "no")
    handed = _handed(rng, X, kind)
    hostile = kind in HOSTILE or chosen in HOSTILE
    if weights is not None:  # no weight is left, or none of a class
        hostile |= np.unique(targets[weights > 0]).size < (2 if margin else 1)
    u = "margin" if margin else "residual"
    return Data(handed, y, weights, X, targets, units, kind, u, hostile)


def _split(part: str) -> list[str]:
    return ["plain"] * 3 + ["one sample"] if part.startswith("plain") else [part]


def _marked(rng: np.random.Generator, X: Array, kind: str) -> Array:
    """The values that the kind asks for."""
    match kind:
        case "constant column":
            X[:, 0] = 2.0
        case "duplicated columns":
            X = np.hstack([X, X[:, :1]])
        case "equal rows":
            X[1:] = X[0]
        case "huge":
            X = X * 1e150
        case "tiny":
            X = X * 1e-310
        case "mixed units":
            X = X * 10.0 ** rng.integers(-6, 7, X.shape[1])
        case "far from 0":
            X = X + 1e5
        case "float32":
            X = X.astype(np.float32).astype(float)
        case "sparse":
            X[rng.uniform(size=X.shape) < 0.6] = 0.0
        case "whole numbers":
            X = np.round(X * 3)
        case "zero":
            X = X * 0
    return X


def _handed(rng: np.random.Generator, X: Array, kind: str) -> Any:
    """The object that the kind asks for, with the same values."""
    match kind:
        case "float32":
            return X.astype(np.float32)
        case "object":
            return X.astype(object)
        case "sparse":
            row, column = np.indices(X.shape).reshape(2, -1)  # every entry is stored, zeros too
            made = sp.csr_array((X.ravel(), (row, column)), shape=X.shape)
            return made if rng.uniform() < 0.7 else made.tocsc()
        case "read-only":
            frozen = X.copy()
            frozen.flags.writeable = False
            return frozen
        case "fortran":
            return np.asfortranarray(X)
        case "whole numbers":
            return X.astype(int)
        case "lists":
            return X.tolist()
    return X


def _weights(rng: np.random.Generator, n: int, kind: str) -> Any:
    match kind:
        case "random":
            return rng.uniform(0.1, 2, n)
        case "some zero":
            return np.where(rng.uniform(size=n) < 0.3, 0.0, 1.0)
        case "spread":
            return 10.0 ** rng.integers(-8, 9, n)
        case "equal":
            return np.full(n, 3.0)
        case "no weight":
            return np.zeros(n)
    return None
