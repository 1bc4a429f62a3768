"""The error for data on which no fit is possible."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcprog.foundation.columns import largest_sizes
from dcprog.risk.risk import Risk

__all__ = ["unusable"]


def unusable(risk: Risk, reason: str) -> ValueError:
    """The error for a fit that has found no point, not even θ = 0.

    Parameters
    ----------
    risk : Risk
    reason : str
        The message of the run.

    Returns
    -------
    ValueError
        It names the feature with the largest entry, or the targets' size if that is larger.
    """
    targets = 0.0 if risk.offset is None else float(np.max(np.abs(risk.offset)))
    place, largest = _largest(risk)
    what = f"feature {place} goes up to {largest:.3g}"
    if targets > largest:
        what = f"targets go up to {targets:.3g}"
    return ValueError(f"no point was found ({reason}): {what}; scale the data")


def _largest(risk: Risk) -> tuple[int, float]:
    """The feature with the largest entry in absolute value, and that absolute value."""
    X: Any = getattr(risk.rows, "X", np.zeros((1, 1)))
    sizes = largest_sizes(X)
    place = int(np.argmax(sizes))
    return place, float(sizes[place])
