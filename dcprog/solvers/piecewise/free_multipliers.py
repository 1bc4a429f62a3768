"""Conjugate gradients on the multipliers between their bounds, between coordinate epochs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.losses import Pieces
from dcprog.solvers.smooth.screening import ScoreProblem

__all__ = ["free_step"]

STEPS = 100
SMALL = 1e-3  # the iteration ends at this share of the first residual

Mask = npt.NDArray[np.bool_]


def free_step(
    X: Any,
    lam: float,
    problem: ScoreProblem,
    pieces: Pieces,
    alpha: Array,
    u: Array,
    left: float | None,
) -> Array | None:
    r"""The multipliers α after a joint step of those strictly between their bounds.

    With z_i the point where the pieces have slope α_i/d_i, and z_i' = 1/(2a d_i) on a parabola, 0
    at a knot, the step δ makes u_i(δ) = z_i + z_i' δ_i for all free multipliers:

        (S X Xᵀ S + λ diag(z')) δ = λ (u − z + βs),   s·δ = −left,

    where β is the change of a free intercept. The step ends where a multiplier reaches a bound.

    Parameters
    ----------
    X : array or CSR array of shape (n, d)
    lam : float
    problem : ScoreProblem
    pieces : Pieces
    alpha, u : arrays of shape (n,)
        The multipliers and their margins.
    left : float or None
        The sum Σ_i s_i (α_i + t_i); None without a free intercept.

    Returns
    -------
    array of shape (n,) or None
        None if all multipliers are at their bounds.
    """
    place, rate, low, high = pieces.inverse(alpha, problem.weight)
    free = np.flatnonzero((low < alpha) & (alpha < high))
    if free.size == 0:
        return None
    rows, s = X[free], problem.sign[free]
    unit = s / np.linalg.norm(s)

    def times(v: Array) -> Array:
        return np.asarray(s * (rows @ (rows.T @ (s * v)))) + lam * rate[free] * v

    def level(v: Array) -> Array:
        return v if left is None else v - (unit @ v) * unit

    step = np.zeros(free.size) if left is None else -left / np.linalg.norm(s) * unit
    r = level(lam * (u[free] - place[free]) - times(step))
    way, size = r, float(r @ r)
    enough = SMALL**2 * size
    for _ in range(STEPS):
        if not size > enough:
            break
        image = level(times(way))
        bend = float(way @ image)
        if not bend > 0:
            break
        step = step + size / bend * way
        r = r - size / bend * image
        size, before = float(r @ r), size
        way = r + size / before * way
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(step > 0, high[free] - alpha[free], low[free] - alpha[free]) / step
    found = alpha.copy()
    found[free] += min(1.0, float(np.min(room[step != 0], initial=1.0))) * step
    return np.clip(found, low, high)
