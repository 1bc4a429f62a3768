"""Epochs of coordinate descent on a small weighted lasso, compiled by numba at the first call."""

from __future__ import annotations

from typing import Any

from dcprog.solvers.jit import compiled

__all__ = ["epochs"]


def _epochs(H: Any, l: Any, x: Any, slope: Any, enough: float, most: int) -> Any:  # noqa: E741
    """Descend on ½x'Hx + … + Σ l_j|x_j| by coordinates and return the number of epochs.

    x and the slope of the smooth part are updated in place. The descent ends after `most` epochs,
    or when Σ_j H_jj·step_j² in an epoch is at most `enough`.
    """
    for epoch in range(most):
        fall = 0.0
        for j in range(x.size):
            curvature = H[j, j]
            if curvature <= 0.0:
                continue
            pull = curvature * x[j] - slope[j]
            size = abs(pull) - l[j]
            new = 0.0
            if size > 0.0:
                new = size / curvature if pull > 0.0 else -size / curvature
            step = new - x[j]
            if step != 0.0:
                x[j] = new
                fall += curvature * step * step
                for k in range(x.size):
                    slope[k] += step * H[j, k]
        if fall <= enough:
            return epoch + 1
    return most


epochs = compiled(_epochs)
