"""The sandwich: how coefficients of least Σ loss(u_i) vary from sample to sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtri

from dcprog.estimators.robust_scales import mad
from dcprog.foundation.arrays import Array, dense
from dcprog.foundation.blocked_matrix import BlockedMatrix
from dcprog.risk.risk import Risk
from dcprog.transforms import Transform, cap_at, trim_of

__all__ = ["sandwich"]

STEP = 1e-5  # of the residuals' scale: the slopes of smooth losses
GRID = 2001
# Hall and Sheather's bandwidth of the density at the median, n^(−1/3) times that.
WIDTH = 0.971
WIDEST = 0.45
Slope = Callable[[Array], Array]


def sandwich(risk: Risk, theta: Array) -> Array:
    r"""The covariance H⁻¹ M H⁻¹ of a minimiser of Σ s_i ℓ(u_i) + penalty, u = Aθ + offset.

    .. math::
        M = \tfrac{n}{n-p} \sum_i s_i\, \ell'(u_i)^2\, a_i a_i^\top, \qquad
        H = \sum_i s_i\, \ell''(u_i)\, a_i a_i^\top + \Lambda,

    with Λ the curvature of the penalty's ridge, n = Σs and p coefficients. A sample of weight s
    counts as s of them. Where ℓ' jumps, ℓ'' is a quotient over Hall and Sheather's bandwidth, which
    estimates the residuals' density at the jumps. A trimmed loss is capped at its largest kept.

    Parameters
    ----------
    risk : Risk
        On the residuals or margins of one score.
    theta : array of shape (p,)

    Returns
    -------
    array of shape (p, p)
        NaN for penalised coefficients that are 0, and all over where H is not positive definite.

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
    slope = _slope(risk, theta)
    active = (theta != 0) | ~risk.penalized
    n, p = float(shares.sum()), int(active.sum())
    curved = _gram(risk.rows, shares * _curvature(slope, u, shares), active) + _ridge(risk, active)
    spread = _gram(risk.rows, shares * slope(u) ** 2, active) * (n / max(n - p, 1.0))
    covariance = np.full((theta.size, theta.size), np.nan)
    if n > p and np.all(np.linalg.eigvalsh(curved) > 0):
        half = np.linalg.solve(curved, spread)
        covariance[np.ix_(active, active)] = np.linalg.solve(curved, half.T)
    return covariance


def _slope(risk: Risk, theta: Array) -> Slope:
    """ℓ', as a function of each residual by itself."""
    transform: Transform = risk.transform
    if isinstance(transform, trim_of):
        kept = transform.slope(risk.aggregates(theta)) > 0
        transform = cap_at(float(np.max(risk.aggregates(theta)[kept])))

    def slope(u: Array) -> Array:
        values = transform.slope(risk.base(u)) * risk.base.slope(u)
        return values if risk.subtracted is None else values - risk.subtracted.slope(u)

    return slope


def _curvature(slope: Slope, u: Array, shares: Array) -> Array:
    """ℓ'' of the residuals, over a bandwidth where ℓ' jumps."""
    size = mad(u - np.median(u), shares) or 1.0
    h = STEP * size
    if _jumps(slope, float(np.abs(u).max()) + size):
        h = size * float(ndtri(0.5 + min(WIDTH * shares.sum() ** (-1 / 3), WIDEST)))
    return (slope(u + h) - slope(u - h)) / (2 * h)


def _jumps(slope: Slope, far: float) -> bool:
    """Does ℓ' jump? Then the largest difference on a grid does not shrink as the grid does."""
    coarse, fine = (np.abs(np.diff(slope(np.linspace(-far, far, k * GRID)))) for k in (1, 16))
    return bool(fine.max() > 0.5 * coarse.max())


def _gram(rows: Any, d: Array, active: Array) -> Array:
    """Σ_i d_i a_i a_iᵀ of the active coefficients."""
    X, width = rows.X, rows.X.shape[1]
    chosen = np.flatnonzero(active[:width])
    if isinstance(X, BlockedMatrix):
        G = X[:, chosen].total(_block_gram, d)
    else:
        part = X[:, chosen]
        scaled = part.multiply(d[:, None]) if hasattr(part, "multiply") else d[:, None] * part
        G = np.empty((chosen.size + 1, chosen.size + 1))
        G[:-1, :-1] = dense(part.T @ scaled)
        G[:-1, -1] = G[-1, :-1] = part.T @ d
        G[-1, -1] = d.sum()
    return G if active.size > width else G[:-1, :-1]


def _block_gram(X: Array, d: Array) -> Array:
    A = np.column_stack([X, np.ones(len(X))])
    return A.T @ (d[:, None] * A)


def _ridge(risk: Risk, active: Array) -> Array:
    form = risk.penalty.as_l1_l2(int(risk.penalized.sum()))
    ridge = np.zeros(active.size)
    if form is not None:
        ridge[risk.penalized] = form[1]
    return np.diag(ridge[active])
