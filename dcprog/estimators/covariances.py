"""Derivatives of a risk on residuals or margins, and covariances of its minimiser."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri

from dcprog.estimators.robust_scales import CHI, mad
from dcprog.foundation.arrays import Array
from dcprog.foundation.weighted_gram import gram_with_constant
from dcprog.risk.risk import Risk
from dcprog.transforms import Transform, cap_at, trim_of

STEP = 1e-5  # step of difference quotients, relative to the residuals' scale
GRID = 2001  # points at which jumps are searched
FAR = 50.0  # jumps of the slopes are searched up to this many robust scales
# Hall and Sheather's bandwidth for the density at the median is n^(−1/3) times this.
WIDTH = 0.971
EQUAL = 1e-6  # error of a mean of ρ that a solved equation may have
WIDEST = 0.45  # of the bandwidth, which stays below ½ for few samples
Slope = Callable[[Array], Array]


def transform_of(risk: Risk, theta: Array) -> Transform:
    """The transform of the losses, with a cap at the largest kept loss in place of trimming."""
    transform: Transform = risk.transform
    if isinstance(transform, trim_of):
        kept = transform.slope(risk.aggregates(theta)) > 0
        return cap_at(float(np.max(risk.aggregates(theta)[kept])))
    return transform


def loss_slope(risk: Risk, theta: Array) -> Slope:
    """The derivative ℓ' as a function of residuals, with a cap in place of trimming."""
    transform = transform_of(risk, theta)

    def slope(u: Array) -> Array:
        values = transform.slope(risk.base(u)) * risk.base.slope(u)
        return values if risk.subtracted is None else values - risk.subtracted.slope(u)

    return slope


def loss_curvature(slope: Slope, u: Array, shares: Array, is_smooth: bool | None = None) -> Array:
    """ℓ'' at the residuals; if ℓ' jumps, a difference quotient over Hall–Sheather's bandwidth.

    Whether ℓ' is free of jumps is found out unless it is given.
    """
    is_smooth = not jumps(slope, u) if is_smooth is None else is_smooth
    level = 0.5 + min(WIDTH * shares.sum() ** (-1 / 3), WIDEST)
    h = (mad(u - np.median(u), shares) or 1.0) * (STEP if is_smooth else float(ndtri(level)))
    return (slope(u + h) - slope(u - h)) / (2 * h)


def jumps(slope: Slope, u: Array) -> bool:
    """True if ℓ' jumps: its largest difference on a grid does not shrink on a finer grid.

    The grid covers the residuals up to 50 robust scales: extreme outliers would make it too coarse
    for the other residuals.
    """
    far = float(np.max(np.abs(u), initial=0.0))
    far = min(far, FAR * mad(u)) or far or 1.0
    coarse, fine = (np.abs(np.diff(slope(np.linspace(-far, far, k * GRID)))) for k in (1, 16))
    return bool(fine.max() > 0.5 * coarse.max())


def curvature_matrix(rows: Any, d: Array, active: Array) -> Array:
    """The matrix Σ_i d_i a_i a_iᵀ on the active coefficients, with a weight d_i per sample."""
    width = rows.X.shape[1]
    part = rows.X[:, np.flatnonzero(active[:width])]
    return gram_with_constant(part, d, constant=bool(np.any(active[width:])))


def ridge_of(risk: Risk, active: Array) -> Array:
    """The Hessian of the penalty's ridge, a diagonal matrix on the active coefficients."""
    return np.diag(np.where(risk.penalized, risk.penalty.parts().ridge, 0.0)[active])


# ----------------------------------------------------------------------------------------------

NO_ERRORS = "standard errors are NaN: "
FLAT = (
    "the curvature of the objective, as estimated from the residuals, is not positive at these "
    "coefficients. A smoother loss, such as tukey, or a bootstrap can tell them"
)


@dataclass(frozen=True)
class SScaleEquation:
    r"""The equation of the scale σ of an S-estimate, Σ_i s_i (ρ(v_i) − ½) = 0, v_i = r_i/σ.

    ρ is Tukey's function scaled to [0, 1]. In finite samples the right side is −½ Σs·p/n, a
    correction for the p coefficients of the S-estimate.

    Attributes
    ----------
    v : array of shape (n,)
        The residuals of the S-estimate in units of its scale.
    """

    v: Array

    level: ClassVar[float] = 0.5

    def values(self) -> Array:
        """ρ(v)."""
        return 1 - self._left() ** 3

    def stretch(self) -> Array:
        """ρ'(v)·v, the derivative of ρ(v) when log σ falls."""
        return 6 * (self.v / CHI) ** 2 * self._left() ** 2

    def holds(self, shares: Array, level: float) -> bool:
        """True if the mean of ρ(v) is the level that the finite sample has."""
        mean = float(shares @ self.values()) / float(shares.sum())
        return abs(mean - level) < EQUAL

    def _left(self) -> Array:
        return 1 - np.minimum((self.v / CHI) ** 2, 1.0)


def sandwich(
    risk: Risk, theta: Array, repeats: float = 1.0, scale: SScaleEquation | None = None
) -> Array:
    r"""The sandwich covariance of a minimiser of Σ s_i ℓ(u_i) + penalty, u = Aθ + offset.

    At a fixed unit of u it is H⁻¹ M H⁻¹ with

    .. math::
        M = \tfrac{n}{n-p} \sum_i s_i\, \ell'(u_i)^2\, a_i a_i^\top, \qquad
        H = \sum_i s_i\, \ell''(u_i)\, a_i a_i^\top + \Lambda,

    with Λ the Hessian of the penalty's ridge, n = Σs and p coefficients. A sample of weight s
    counts as s samples. If ℓ' jumps, ℓ'' is a difference quotient over Hall and Sheather's
    bandwidth, which estimates the residuals' density at the jumps. A trimmed loss is replaced by a
    loss capped at the largest value it keeps.

    If the unit of u is the scale of an S-estimate, its error is part of θ's. The sandwich of the
    joint system of equations for θ, the scale and the S-estimate is

    .. math::
        H^{-1} M H^{-1} - a c^\top - c a^\top + \sum_i s_i (\rho(v_i)^2 - \tfrac14)\, a a^\top,
        \quad
        c = H^{-1} \sum_i s_i\, \ell'(u_i) \rho(v_i)\, a_i, \quad
        a = \frac{H^{-1} \bigl(\sum_i s_i\, \ell''(u_i) u_i\, a_i + \Lambda\theta\bigr)}
                  {\sum_i s_i\, \rho'(v_i) v_i},

    with M without its factor n/(n − p). The S-estimate itself drops out, because its own equation
    is Σ s_i ρ'(v_i) a_i = 0. For symmetric errors a tends to 0.

    Parameters
    ----------
    risk : Risk
        A risk on the residuals or margins of one score.
    theta : array of shape (p,)
    repeats : float, default 1.0
        The number of samples that a weight of 1 represents.
    scale : SScaleEquation, optional
        The equation of the unit of u; by default the unit is fixed.

    Returns
    -------
    array of shape (p, p)
        NaN for penalised coefficients that are 0, and everywhere if the warning is raised.

    Warns
    -----
    RuntimeWarning
        H is not positive definite, or there are no more samples than coefficients.

    Notes
    -----
    In small samples the joint form may fail to be positive semidefinite, as Σ s_i ρ(v_i) is less
    than n/2. Then ρ² − ¼ is replaced by the squared deviations of ρ from its mean, with which it
    always is.

    References
    ----------
    Huber (1967), The behavior of maximum likelihood estimates under nonstandard conditions, Proc.
    5th Berkeley Symp. Hall, Sheather (1988), On the distribution of a studentized quantile, JRSS B
    50. Powell (1991), in: Nonparametric and semiparametric methods in econometrics. Croux, Dhaene,
    Hoorelbeke (2003), Robust standard errors for robust estimators, KU Leuven.

    Examples
    --------
    >>> import numpy as np
    >>> import dcprog as dc
    >>> from dcprog.estimators.covariances import sandwich
    >>> y = np.array([1.0, 2.0, 3.0, 6.0])
    >>> rows = dc.residual_rows(np.ones((4, 1)), y, False)
    >>> sandwich(dc.Risk.from_loss(rows, dc.square(), dc.l2(0.0)), np.array([3.0]))
    array([[1.16666667]])
    """
    u, shares = risk.margins(theta), shares_of(risk)
    slope = loss_slope(risk, theta)
    active = active_coefficients(risk, theta)
    n, p = repeats * float(shares.sum()), int(active.sum())
    curvature = loss_curvature(slope, u, repeats * shares)
    ridge = ridge_of(risk, active)
    curved = curvature_matrix(risk.rows, shares * curvature, active) + ridge
    covariance = np.full((theta.size, theta.size), np.nan)
    if n <= p:
        warnings.warn(NO_ERRORS + f"{n:g} samples for {p} coefficients", RuntimeWarning, 2)
        return covariance
    if np.any(np.linalg.eigvalsh(curved) <= 0):
        warnings.warn(NO_ERRORS + FLAT, RuntimeWarning, 2)
        return covariance
    force = slope(u)
    half = np.linalg.solve(curved, curvature_matrix(risk.rows, shares * force**2, active))
    fixed = np.linalg.solve(curved, half.T)

    def pulled(values: Array) -> Array:
        return np.asarray(risk.rows.T @ (shares * values))[active]

    if scale is None:
        fixed *= n / (n - p)
    else:
        rho = scale.values()
        drift = pulled(curvature * u) + ridge @ theta[active]
        a: Any = np.linalg.solve(curved, drift) / float(shares @ scale.stretch())
        c: Any = np.linalg.solve(curved, pulled(force * rho))
        fixed = _with_scale(fixed, a, c, rho, shares)
    covariance[np.ix_(active, active)] = fixed / repeats
    return covariance


def _with_scale(fixed: Array, a: Array, c: Array, rho: Array, shares: Array) -> Array:
    """The joint covariance: with E ρ = ½ if that is positive semidefinite, else with ρ's mean."""
    joint = fixed - np.outer(a, c) - np.outer(c, a)
    n, total = float(shares.sum()), float(shares @ rho)
    square = float(shares @ rho**2)
    usual = joint + (square - n * SScaleEquation.level**2) * np.outer(a, a)
    unit = np.sqrt(np.diag(fixed))
    if np.all(np.linalg.eigvalsh(usual / np.outer(unit, unit)) > 0):
        return usual
    return joint + (square - total**2 / n) * np.outer(a, a)


def shares_of(risk: Risk) -> Array:
    """The weights of the samples, ones by default."""
    return np.ones(risk.n_groups) if risk.sample_weight is None else risk.sample_weight


def active_coefficients(risk: Risk, theta: Array) -> Any:
    """True for the coefficients that a penalty has not set to 0."""
    return (theta != 0) | ~risk.penalized
