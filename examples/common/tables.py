"""What the examples' tables show of values over repeats and over steps."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

Array = np.ndarray
Key = TypeVar("Key")


def as_arrays(table: dict[Key, list[float]]) -> dict[Key, Array]:
    """A row of values a model, one a repeat."""
    return {name: np.array(values) for name, values in table.items()}


def spread(values: Array, sign: str = "") -> str:
    """Mean ± standard error over repeats."""
    mean = round(float(values.mean()), 1) + 0.0  # no −0.0
    return f"{mean:{sign}.1f} ± {values.std(ddof=1) / np.sqrt(values.size):.1f}".replace("-", "−")


def steps_until(values: Array, within: float) -> int:
    """Steps until an objective is this close to where it ends, relative to 1 + |J|."""
    return int(np.argmax(values - values[-1] <= within * (1 + abs(values[-1]))))
