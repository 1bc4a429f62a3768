"""Labels and targets from which rows are made, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array


def checked_targets(y: npt.ArrayLike, n: int) -> Array:
    """Finite targets of n samples, of shape (n, c)."""
    targets = np.asarray(y, dtype=float)
    targets = targets[:, None] if targets.ndim == 1 else targets
    if targets.ndim != 2 or len(targets) != n:
        raise ValueError(f"y has shape {np.shape(y)}: ({n},) is needed, as X has rows")
    if not np.all(np.isfinite(targets)):
        raise ValueError("y holds NaN or infinity")
    return targets


def binary_signs(y: npt.ArrayLike, classes: npt.ArrayLike | None) -> Array:
    """+1 for the second of two classes, −1 for the first, of shape (n, 1)."""
    known, index = class_index(y, classes)
    if known.size != 2:
        raise ValueError(f"y holds {known.size} class(es); binary margins need exactly two")
    return np.where(index == 1, 1.0, -1.0)[:, None]


def class_index(y: npt.ArrayLike, classes: npt.ArrayLike | None) -> tuple[Any, Any]:
    """The classes in order, and the index of each label among them."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y has shape {labels.shape}: one label a sample is needed")
    if classes is None:
        return np.unique(labels, return_inverse=True)
    known = np.asarray(classes)
    hits = labels[:, None] == known
    strange = labels[~hits.any(axis=1)]
    if strange.size:
        raise ValueError(
            f"y holds {strange[0]!r}, which is not one of the classes {known.tolist()}"
        )
    return known, np.argmax(hits, axis=1)


def several_classes(y: npt.ArrayLike, classes: npt.ArrayLike | None) -> tuple[Any, int]:
    """The index of each label among the classes, and their number, which is at least two."""
    known, index = class_index(y, classes)
    if known.size < 2:
        raise ValueError(f"y holds {known.size} class; at least two classes are needed")
    return index, int(known.size)
