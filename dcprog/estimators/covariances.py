"""Derivatives of a risk on residuals or margins, and covariances of its minimiser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from dcprog.estimators.robust_scales import CHI, NORMAL_MAD, ROUNDING, m_scale, mad
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import warn
from dcprog.foundation.sums import gram_with_constant
from dcprog.foundation.tolerances import DIFFERENCE, RANK, TOL
from dcprog.risk.risk import Risk
from dcprog.transforms import Transform, cap_at, trim_of, tukey_by

GRID = 2001  # points at which jumps are searched
FAR = 50.0  # jumps of the slopes are searched up to this many robust scales
# Hall and Sheather's bandwidth for the density at the median is n^(−1/3) times this.
WIDTH = 0.971
HALF = 0.5  # the level of the scales' equations
RHO = tukey_by(CHI)  # Tukey's ρ of the S-scale, of v²/2
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


def spread_of(u: Array, shares: Array) -> float:
    """The scale of the residuals around their median, 1 if it is 0."""
    return mad(u - np.median(u), shares) or 1.0


def loss_force(slope: Slope, u: Array, shares: Array) -> Array:
    """ℓ' at the residuals, where those of interpolated samples are 0 and not a solver's rounding.

    At the kink of an absolute or pinball loss their sign would decide.
    """
    return slope(np.where(np.abs(u) > DIFFERENCE * spread_of(u, shares), u, 0.0))


def loss_curvature(slope: Slope, u: Array, shares: Array, is_smooth: bool | None = None) -> Array:
    """ℓ'' at the residuals; if ℓ' jumps, a difference quotient over Hall–Sheather's bandwidth.

    Whether ℓ' is free of jumps is found out unless it is given.
    """
    is_smooth = not jumps(slope, u) if is_smooth is None else is_smooth
    level = 0.5 + min(WIDTH * shares.sum() ** (-1 / 3), WIDEST)
    h = spread_of(u, shares) * (DIFFERENCE if is_smooth else float(ndtri(level)))
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
    "coefficients. A smoother loss, such as tukey or, of classes, dc.welsch(dc.logistic(), 2.0), "
    "or a bootstrap can tell them"
)
DEPENDENT = (
    "the columns of the features are linearly dependent, or constant beside an intercept. Drop "
    "some, or set a penalty"
)


@dataclass(frozen=True)
class ScaleError:
    """The error of the logarithm of a scale, to first order Σ_i s_i h_i.

    It is what :func:`sandwich` needs to know of a scale that is estimated with the coefficients.

    Attributes
    ----------
    influence : array of shape (n,)
        The influence h of each sample, with Σ_i s_i h_i = 0.
    variance : float
        An estimate of Σ_i s_i h_i².
    is_corrected : bool, default True
        Whether covariances with the scale have the factor n/(n − p).
    """

    influence: Array
    variance: float
    is_corrected: bool = True


def s_scale_error(risk: Risk, start: Array, repeats: float = 1.0) -> ScaleError | None:
    r"""The error of the scale of an S-estimate, the unit of the residuals v.

    With Tukey's ρ scaled to [0, 1], the scale solves :math:`\sum_i s_i (\rho(v_i) - \frac12) = 0`
    but for the correction of finite samples, and

    .. math::
        h_i = \frac{\rho(v_i) - \bar\rho}{\sum_i s_i\, \rho'(v_i) v_i}.

    The S-estimate itself drops out, as its own equation is Σ s_i ρ'(v_i) a_i = 0. The variance has
    E ρ² − ¼ in the place of the squared deviations of ρ, and covariances no factor n/(n − p), as
    R's ``lmrob``.

    Parameters
    ----------
    risk : Risk
        A risk on residuals in units of their scale.
    start : array of shape (p,)
        The S-estimate, as θ of the risk.
    repeats : float, default 1.0
        The number of samples that a weight of 1 represents.

    Returns
    -------
    ScaleError or None
        None if the unit is another scale, as where most residuals are 0.
    """
    v, shares = risk.margins(start), risk.shares
    total = float(shares.sum())
    n = max(repeats * total, len(v))
    found = _s_influence(v, shares)
    mean = float(shares @ _rho(v)) / total
    if found is None or abs(mean - HALF * max(1 - start.size / n, 1 / n)) > TOL:
        return None
    h, stretch = found
    excess = total * (mean**2 - HALF**2) / stretch**2
    return ScaleError(h, float(shares @ h**2) + excess, is_corrected=False)


def mad_error(risk: Risk, start: Array, repeats: float = 1.0) -> ScaleError | None:
    r"""The error of the median absolute residual u of an S-estimate, the unit of the residuals.

    With the normal's median absolute value q and the density of u at ±q by difference quotients d
    of χ(u) = 1(|u| > q), as for jumps of slopes,

    .. math::
        h_i = \frac{\chi(u_i) - \bar\chi + \sum_j s_j d_j\, a_j^\top \beta_i}{\sum_j s_j d_j u_j},

    with the influence :math:`\beta_i` of a sample on the S-estimate, which
    :func:`s_scale_error` and the equation Σ s_i ρ'(v_i) a_i = 0 determine. For symmetric errors it
    drops out.

    Parameters
    ----------
    risk, start, repeats
        As for :func:`s_scale_error`.

    Returns
    -------
    ScaleError or None
        None if the unit is another scale, or the S-estimate is no regular minimum.
    """
    u, shares, rows = risk.margins(start), risk.shares, risk.rows
    n = len(u)
    level = HALF * (1 - start.size / n)
    outside = (np.abs(u) > NORMAL_MAD).astype(float)
    mean = float(shares @ outside / shares.sum())
    scale = float(m_scale(u[None], shares, level)[0]) if level > 0 else 0.0
    if abs(mean - level) > 1 / n + shares.max() / shares.sum() or scale <= 0:
        return None
    v = u / scale
    left = 1 - np.minimum((v / CHI) ** 2, 1.0)
    psi, bend = v * left**2, left * (5 * left - 4)
    curved = curvature_matrix(rows, shares * bend, np.ones(start.size, dtype=bool))
    found = _s_influence(v, shares)
    d = loss_curvature(lambda u: (np.abs(u) > NORMAL_MAD).astype(float), u, repeats * shares, False)
    stretch = float(shares @ (d * u))
    z = _least_solution(curved, np.asarray(rows.T @ (shares * d)))
    if found is None or stretch <= 0 or z is None:
        return None
    drift = np.asarray(rows.T @ (shares * bend * v))
    moved = -scale * (psi * np.asarray(rows @ z).ravel() - float(z @ drift) * found[0])
    h = (outside - mean + moved) / stretch
    h -= shares @ h / shares.sum()
    return ScaleError(h, float(shares @ h**2))


def _least_eigenvalue(H: Array) -> float:
    """The least eigenvalue of H in units of its diagonal."""
    unit = _unit(H)
    return float(np.min(np.linalg.eigvalsh(H / np.outer(unit, unit)), initial=np.inf))


def _unit(H: Array) -> Array:
    """The roots of the diagonal, 1 where it is not positive."""
    unit = np.sqrt(np.maximum(np.diag(H), 0.0))
    return np.where(unit > 0, unit, 1.0)


def _least_solution(H: Array, pull: Array) -> Array | None:
    """The solution z of Hz = pull in the range of H; None if H has a negative eigenvalue."""
    unit = _unit(H)
    sizes, ways = np.linalg.eigh(H / np.outer(unit, unit))
    if sizes[0] < -RANK:
        return None
    ways, sizes = ways[:, sizes > RANK], sizes[sizes > RANK]
    return np.asarray(ways @ (ways.T @ (pull / unit) / sizes) / unit)


def _root(M: Array) -> Array:
    """R with RRᵀ = M for a positive semidefinite M, whose eigenvalues at rounding count as 0."""
    unit = _unit(M)
    sizes, ways = np.linalg.eigh(M / np.outer(unit, unit))
    kept = sizes > RANK
    return np.asarray(unit[:, None] * ways[:, kept] * np.sqrt(sizes[kept]))


def _rho(v: Array) -> Array:
    """Tukey's ρ of the S-scale, from 0 to 1."""
    return RHO(v**2 / 2) / RHO.limit


def _s_influence(v: Array, shares: Array) -> tuple[Array, float] | None:
    """The influence on the logarithm of the S-scale and Σ s ρ'(v)v; None if that is 0."""
    stretch = float(shares @ (RHO.slope(v**2 / 2) * v**2)) / RHO.limit
    rho = _rho(v)
    return ((rho - shares @ rho / shares.sum()) / stretch, stretch) if stretch > 0 else None


SCALE_ERRORS = {"s": s_scale_error, "mad": mad_error}


def sandwich(
    risk: Risk, theta: Array, repeats: float = 1.0, scale: ScaleError | None = None
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

    If the unit of u is a scale σ with an error Σ_i s_i h_i of its logarithm, the sandwich of the
    joint system of the equations of θ and σ is

    .. math::
        H^{-1} M H^{-1} - b k^\top - k b^\top + m\, b b^\top, \quad
        b = H^{-1} \Bigl(\sum_i s_i\, \ell''(u_i) u_i\, a_i + \Lambda\theta\Bigr), \quad
        k = H^{-1} \sum_i s_i\, \ell'(u_i) h_i\, a_i,

    with m = Σ s_i h_i², the factor n/(n − p) before the whole where the scale's error asks for it,
    and M without it. For symmetric errors b tends to 0.

    Parameters
    ----------
    risk : Risk
        A risk on the residuals or margins of one score.
    theta : array of shape (p,)
    repeats : float, default 1.0
        The number of samples that a weight of 1 represents.
    scale : ScaleError, optional
        The error of the unit of u; by default the unit is fixed.

    Returns
    -------
    array of shape (p, p)
        NaN for penalised coefficients that are 0, and everywhere if the warning is raised.

    Warns
    -----
    RuntimeWarning
        H is not positive definite, columns are linearly dependent, or there are no more samples
        than coefficients.

    Notes
    -----
    The variance m of an S-scale may be below Σ s_i h_i² in small samples. Where the result is not
    positive semidefinite, Σ s_i h_i² is in its place, with which it always is.

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
    u, shares = risk.margins(theta), risk.shares
    slope = loss_slope(risk, theta)
    active = active_coefficients(risk, theta)
    n, p = repeats * float(shares.sum()), int(active.sum())
    curvature = loss_curvature(slope, u, repeats * shares)
    ridge = ridge_of(risk, active)
    curved = curvature_matrix(risk.rows, shares * curvature, active) + ridge
    covariance = np.full((theta.size, theta.size), np.nan)
    if n <= p:
        warn(NO_ERRORS + f"{n:g} samples for {p} coefficients", RuntimeWarning)
        return covariance
    least = _least_eigenvalue(curved)
    if least <= ROUNDING:
        warn(NO_ERRORS + (FLAT if least < -ROUNDING else DEPENDENT), RuntimeWarning)
        return covariance
    force = loss_force(slope, u, repeats * shares)
    half = np.linalg.solve(curved, _root(curvature_matrix(risk.rows, shares * force**2, active)))
    fixed = half @ half.T

    def pulled(values: Array) -> Array:
        return risk.pull(shares * values)[active]

    if scale is not None:
        b: Any = np.linalg.solve(curved, pulled(curvature * u) + ridge @ theta[active])
        k: Any = np.linalg.solve(curved, pulled(force * scale.influence))
        fixed = _with_scale(fixed - np.outer(b, k) - np.outer(k, b), b, scale, shares)
    factor = n / (n - p) if scale is None or scale.is_corrected else 1.0
    covariance[np.ix_(active, active)] = factor / repeats * fixed
    return covariance


def _with_scale(partial: Array, b: Array, scale: ScaleError, shares: Array) -> Array:
    """The joint covariance with the scale's variance, or with Σ s h² if that is not definite."""
    usual = partial + scale.variance * np.outer(b, b)
    definite = partial + float(shares @ scale.influence**2) * np.outer(b, b)
    return usual if _least_eigenvalue(usual) > 0 else definite


def active_coefficients(risk: Risk, theta: Array) -> Any:
    """True for the coefficients that a penalty has not set to 0."""
    return (theta != 0) | ~risk.penalized
