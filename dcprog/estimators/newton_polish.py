"""Newton steps that polish the end of a run on a smooth risk."""

from __future__ import annotations

import numpy as np

from dcprog.estimators.risk_derivatives import (
    curvature_matrix,
    jumps,
    loss_slope,
    ridge_of,
    smooth_curvature,
)
from dcprog.foundation.arrays import Array
from dcprog.risk.risk import Risk

__all__ = ["polished"]

ROUNDS = 4
MOST_COEFFICIENTS = 200
ROUNDING = 1e-14


def polished(risk: Risk, theta: Array) -> Array:
    """Newton steps from θ to a stationary point of a smooth risk; θ itself if none helps.

    If a run has solved the objective to a tolerance, its point is known only to the root of that
    tolerance. Newton steps are taken as long as the gradient shrinks and the risk does not rise.

    Parameters
    ----------
    risk : Risk
        A risk on residuals of one score. If it has kinks, jumps of the slope or a penalty other
        than a ridge, θ is returned unchanged.
    theta : array of shape (p,)

    Returns
    -------
    array of shape (p,)

    Examples
    --------
    >>> import numpy as np
    >>> import dcprog as dc
    >>> from dcprog.estimators.newton_polish import polished
    >>> rows = dc.residual_rows(np.ones((3, 1)), [0.0, 1.0, 2.0], False)
    >>> risk = dc.Risk.from_loss(rows, dc.welsch(dc.square(), 2.0), dc.l2(0.0))
    >>> polished(risk, np.array([1.001]))
    array([1.])
    """
    if not _takes(risk):
        return theta
    risk, s = risk.remembering(), risk.sample_weight
    shares = np.ones(risk.n_groups) if s is None else s
    slope, active = loss_slope(risk, theta), np.ones(theta.size, dtype=bool)
    if jumps(slope, risk.margins(theta)):
        return theta
    ridge = ridge_of(risk, active)

    def pull(theta: Array) -> Array:
        return risk.rows.T @ (shares * slope(risk.margins(theta))) + ridge @ theta

    value, g = risk(theta), pull(theta)
    for _ in range(ROUNDS):
        bend = shares * smooth_curvature(slope, risk.margins(theta), shares)
        H = curvature_matrix(risk.rows, bend, active) + ridge
        try:
            np.linalg.cholesky(H)
        except np.linalg.LinAlgError:
            break
        moved = theta - np.linalg.solve(H, g)
        lower, left = risk(moved), pull(moved)
        if not (lower <= value * (1 + ROUNDING) and np.linalg.norm(left) < np.linalg.norm(g)):
            break
        theta, value, g = moved, lower, left
    return theta


def _takes(risk: Risk) -> bool:
    form = risk.penalty.as_l1_l2(int(risk.penalized.sum()))
    smooth = risk.base.is_smooth and risk.subtracted is None and not risk.transform.is_joint
    ridge = form is not None and not np.any(form[0])
    plain = risk.no_matrix is None and risk.scores.kernel is None
    return bool(smooth and ridge and plain and risk.rows.shape[1] <= MOST_COEFFICIENTS)
