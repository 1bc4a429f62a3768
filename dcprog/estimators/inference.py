"""Derivatives of a risk on residuals, and standard errors of a fitted linear function."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.utils.validation import check_is_fitted

from dcprog.estimators.base import feature_names
from dcprog.estimators.parameters import DeclaredEstimator
from dcprog.estimators.robust_scales import mad
from dcprog.foundation.arrays import Array
from dcprog.foundation.table import Table
from dcprog.foundation.weighted_gram import gram_with_constant
from dcprog.risk.risk import Risk
from dcprog.transforms import Transform, cap_at, trim_of

STEP = 1e-5  # step of difference quotients, relative to the residuals' scale
GRID = 2001  # points at which jumps are searched
FAR = 50.0  # jumps of the slopes are searched up to this many robust scales
# Hall and Sheather's bandwidth for the density at the median is n^(−1/3) times this.
WIDTH = 0.971
WIDEST = 0.45  # of the bandwidth, which stays below ½ for few samples
Slope = Callable[[Array], Array]


def loss_slope(risk: Risk, theta: Array) -> Slope:
    """The derivative ℓ' as a function of residuals, with a cap in place of trimming."""
    transform: Transform = risk.transform
    if isinstance(transform, trim_of):
        kept = transform.slope(risk.aggregates(theta)) > 0
        transform = cap_at(float(np.max(risk.aggregates(theta)[kept])))

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
    >>> from dcprog.estimators.inference import sandwich
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


# ----------------------------------------------------------------------------------------------

HEADINGS = ("coef", "std err", "z", "P>|z|", "[0.025", "0.975]")


@dataclass(frozen=True)
class CoefficientTable:
    """Estimates and standard errors, with z, p-values and intervals by the normal distribution.

    Attributes
    ----------
    title : str
        The first line of the table.
    names : list of str
    coef, errors : array of shape (k,)

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.estimators.inference import CoefficientTable
    >>> CoefficientTable("a fit", ["x0"], np.array([2.0]), np.array([0.5]))
    a fit
              coef   std err         z     P>|z|    [0.025    0.975]
    x0           2       0.5         4   6.3e-05      1.02      2.98
    """

    title: str
    names: list[str]
    coef: Array
    errors: Array

    @property
    def z(self) -> Array:
        """The coefficients divided by their standard errors."""
        with np.errstate(all="ignore"):
            return self.coef / self.errors

    @property
    def p_values(self) -> Array:
        """The two-sided p-values for the hypothesis that a coefficient is 0."""
        return 2 * ndtr(-np.abs(self.z))

    def interval(self, level: float = 0.95) -> Array:
        """The ends of the confidence intervals, of shape (k, 2).

        Parameters
        ----------
        level : float, default 0.95
            0 < level < 1.

        Raises
        ------
        ValueError
            The level is not between 0 and 1.
        """
        if not 0 < level < 1:
            raise ValueError(f"level={level!r}: a number between 0 and 1 is needed")
        reach = float(ndtri((1 + level) / 2)) * self.errors
        return np.column_stack([self.coef - reach, self.coef + reach])

    def _columns(self) -> list[Array]:
        return [self.coef, self.errors, self.z, self.p_values, *self.interval().T]

    def _table(self) -> Table:
        return Table(self.title, self.names, dict(zip(HEADINGS, self._columns(), strict=True)))

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame; pandas must be installed."""
        return self._table().to_frame()

    def __repr__(self) -> str:
        return repr(self._table())

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()


# ----------------------------------------------------------------------------------------------


class LinearInference(DeclaredEstimator):
    """A regressor whose coefficients come with standard errors.

    Attributes
    ----------
    covariance_ : array of shape (d + 1, d + 1)
        The covariance of ``coef_`` and the intercept by the sandwich formula at fixed σ̂
        (:func:`~dcprog.estimators.inference.sandwich`). It is NaN for coefficients that a penalty
        has set to 0 and, with a warning, for all if the objective's estimated curvature is not
        positive; 0 for an intercept that is not fitted. A weight s_i counts as s_i samples.
        Computed on access.
    standard_errors_ : array of shape (d,)
        The standard errors of ``coef_``, the roots of the diagonal of ``covariance_``.
    """

    def _estimating(self) -> tuple[Risk, Any, float]:
        """The risk that the coefficients minimise, θ, and the unit of θ."""
        fitted: Any = self
        return fitted.spec_, fitted.result_.x, fitted.scale_

    def _repeats(self) -> float:
        """The number of samples that a weight of 1 in the risk represents."""
        return 1.0

    @property
    def covariance_(self) -> Array:
        """The covariance of the coefficients and the intercept, by the sandwich at fixed σ̂."""
        check_is_fitted(self)
        risk, theta, unit = self._estimating()
        if risk.scores.kernel is not None:
            raise AttributeError("a kernel machine has no coefficients that errors could be of")
        covariance = unit**2 * sandwich(risk, theta, self._repeats())
        d = risk.rows.X.shape[1]
        padded = np.zeros((d + 1, d + 1))
        padded[: len(covariance), : len(covariance)] = covariance
        return padded

    @property
    def standard_errors_(self) -> Array:
        """The standard errors of the coefficients, by the sandwich at fixed σ̂."""
        return np.sqrt(np.diag(self.covariance_)[:-1])

    def summary(self) -> CoefficientTable:
        """Coefficients, standard errors, z, p-values and intervals, the intercept last.

        Returns
        -------
        CoefficientTable
            It prints as text; ``to_frame()`` returns a DataFrame.

        Raises
        ------
        AttributeError
            The estimator is a kernel machine.
        """
        errors = np.sqrt(np.diag(self.covariance_))
        fitted: Any = self
        names = feature_names(self, errors.size - 1)
        coef = np.append(fitted.coef_, fitted.intercept_)
        return CoefficientTable(self._title(), [*names, "intercept"], coef, errors)

    def _title(self) -> str:
        fitted: Any = self
        weight = fitted.outlier_weight_
        return (
            f"{type(self).__name__}, {weight.size} samples, scale {fitted.scale_:.4g}, "
            f"{int(np.sum(weight < 0.1))} of weight below 0.1, {fitted.result_.status}"
        )
