"""How far a risk is drawn towards its convex base before it is let go, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dcprog.foundation.arrays import Array

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk

__all__ = ["schedule", "spread"]

# At the start about that share of the losses lies where φ is flat.
BEYOND = 0.1
# φ counts as flat where a per cent more of t adds less than that to φ(t), in per cent.
FLAT = 0.3
MOST = 64.0
# Where the losses say nothing: what is trimmed or subtracted comes in from an eighth on.
BLIND = 8.0
GRID = np.geomspace(1e-9, 1e9, 721)


def spread(risk: Risk, losses: Array) -> float:
    """The s of φ_s(t) = s·φ(t/s) for which about a tenth of the losses lies where φ_s is flat.

    Parameters
    ----------
    risk : Risk
    losses : array
        Aggregated base losses at a point, such as the convex start.

    Returns
    -------
    float
        1 where nothing can be graduated, as of powers, which are their own perspectives.
    """
    transform = risk.transform
    if transform.is_joint or (transform.is_linear and risk.subtracted is not None):
        return BLIND
    if transform.is_linear:
        return 1.0
    size = float(np.quantile(losses[np.isfinite(losses)], 1 - BEYOND)) if losses.size else 0.0
    if not 0 < size < np.inf or np.size(getattr(transform, "c", 0.0)) > 1:
        return 1.0
    t = size * GRID
    flat = transform.slope(t) * t < FLAT * (transform(t) - transform(np.zeros(())))
    if not np.any(flat):
        return 1.0
    return float(np.clip(1 / GRID[np.argmax(flat)], 1.0, MOST))


def schedule(s: float, levels: int) -> Array:
    """From s to 1 in equal ratios; 1 alone where s is."""
    return np.geomspace(s, 1.0, levels) if s > 1 else np.ones(1)
