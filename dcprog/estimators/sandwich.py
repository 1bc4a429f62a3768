"""The sandwich estimate of the covariance of coefficients that minimise Σ loss(u_i)."""

from __future__ import annotations

import warnings

import numpy as np

from dcprog.estimators.risk_derivatives import (
    curvature_matrix,
    loss_curvature,
    loss_slope,
    ridge_of,
)
from dcprog.foundation.arrays import Array
from dcprog.risk.risk import Risk

__all__ = ["sandwich"]

NO_ERRORS = "standard errors are NaN: "
FLAT = (
    "the curvature of the objective, as estimated from the residuals, is not positive at these "
    "coefficients. A smoother loss, such as tukey, or a bootstrap can tell them"
)


def sandwich(risk: Risk, theta: Array, repeats: float = 1.0) -> Array:
    r"""The sandwich covariance H⁻¹ M H⁻¹ of a minimiser of Σ s_i ℓ(u_i) + penalty, u = Aθ + offset.

    .. math::
        M = \tfrac{n}{n-p} \sum_i s_i\, \ell'(u_i)^2\, a_i a_i^\top, \qquad
        H = \sum_i s_i\, \ell''(u_i)\, a_i a_i^\top + \Lambda,

    with Λ the Hessian of the penalty's ridge, n = Σs and p coefficients. A sample of weight s
    counts as s samples. If ℓ' jumps, ℓ'' is a difference quotient over Hall and Sheather's
    bandwidth, which estimates the residuals' density at the jumps. A trimmed loss is replaced by a
    loss capped at the largest value it keeps.

    Parameters
    ----------
    risk : Risk
        A risk on the residuals or margins of one score.
    theta : array of shape (p,)
    repeats : float, default 1.0
        The number of samples that a weight of 1 represents.

    Returns
    -------
    array of shape (p, p)
        NaN for penalised coefficients that are 0, and everywhere if the warning is raised.

    Warns
    -----
    RuntimeWarning
        H is not positive definite, or there are no more samples than coefficients.

    References
    ----------
    Huber (1967), The behavior of maximum likelihood estimates under nonstandard conditions, Proc.
    5th Berkeley Symp. Hall, Sheather (1988), On the distribution of a studentized quantile, JRSS B
    50. Powell (1991), in: Nonparametric and semiparametric methods in econometrics.

    Examples
    --------
    >>> import numpy as np
    >>> import dcprog as dc
    >>> from dcprog.estimators.sandwich import sandwich
    >>> y = np.array([1.0, 2.0, 3.0, 6.0])
    >>> rows = dc.residual_rows(np.ones((4, 1)), y, False)
    >>> sandwich(dc.Risk.from_loss(rows, dc.square(), dc.l2(0.0)), np.array([3.0]))
    array([[1.16666667]])
    """
    u = risk.margins(theta)
    shares = np.ones(u.size) if risk.sample_weight is None else risk.sample_weight
    slope = loss_slope(risk, theta)
    active = (theta != 0) | ~risk.penalized
    n, p = repeats * float(shares.sum()), int(active.sum())
    curvature = loss_curvature(slope, u, repeats * shares)
    curved = curvature_matrix(risk.rows, shares * curvature, active) + ridge_of(risk, active)
    spread = curvature_matrix(risk.rows, shares * slope(u) ** 2, active)
    spread *= n / max(n - p, 1.0) / repeats
    covariance = np.full((theta.size, theta.size), np.nan)
    if n <= p:
        warnings.warn(NO_ERRORS + f"{n:g} samples for {p} coefficients", RuntimeWarning, 2)
    elif np.any(np.linalg.eigvalsh(curved) <= 0):
        warnings.warn(NO_ERRORS + FLAT, RuntimeWarning, 2)
    else:
        half = np.linalg.solve(curved, spread)
        covariance[np.ix_(active, active)] = np.linalg.solve(curved, half.T)
    return covariance
