"""Tables, intervals and tests of fitted coefficients, and the robust R² of a regression."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc, ndtr, ndtri, stdtr, stdtrit
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from dcprog.estimators.base import feature_names, hardly_counting, samples_told
from dcprog.estimators.covariances import (
    SCALE_ERRORS,
    ScaleError,
    Slope,
    active_coefficients,
    jumps,
    loss_slope,
    sandwich,
)
from dcprog.estimators.parameters import DeclaredEstimator
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import warn
from dcprog.foundation.parameters import names_nearest
from dcprog.foundation.table import Table
from dcprog.foundation.tolerances import KNOWN_DIGITS, LEVEL
from dcprog.risk.risk import Risk

INTERCEPT = "intercept"
UNUSUAL = 0.5  # levels below it are those of statsmodels' alpha, more often than not


@dataclass(frozen=True)
class CoefficientTable:
    """Estimates and standard errors, with their quotients, p-values and intervals.

    Attributes
    ----------
    title : str
        The first lines of the table.
    names : list of str
    coef, errors : array of shape (k,)
    df : float, default inf
        The degrees of freedom of the t distribution; infinite for the normal.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.estimators.inference import CoefficientTable
    >>> CoefficientTable("a fit", ["x0"], np.array([2.0]), np.array([0.5]), df=17)
    a fit
              coef   std err         t     P>|t|    [0.025    0.975]
    x0           2       0.5         4   9.3e-04     0.945      3.05
    """

    title: str
    names: list[str]
    coef: Array
    errors: Array
    df: float = np.inf

    @property
    def z(self) -> Array:
        """The coefficients divided by their standard errors."""
        with np.errstate(all="ignore"):
            return self.coef / self.errors

    @property
    def p_values(self) -> Array:
        """The two-sided p-values for the hypothesis that a coefficient is 0."""
        size = -np.abs(self.z)
        return np.asarray(2 * (ndtr(size) if np.isinf(self.df) else stdtr(self.df, size)))

    def interval(self, level: float = LEVEL) -> Array:
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
        return interval_of(self.coef, self.errors, level, self.df)

    def _table(self) -> Table:
        kind = "z" if np.isinf(self.df) else "t"
        headings = ("coef", "std err", kind, f"P>|{kind}|", "[0.025", "0.975]")
        columns = [self.coef, self.errors, self.z, self.p_values, *self.interval().T]
        return Table(self.title, self.names, dict(zip(headings, columns, strict=True)))

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame; pandas must be installed."""
        return self._table().to_frame()

    def __repr__(self) -> str:
        return repr(self._table())

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()


def interval_of(centre: Array, errors: Array, level: float, df: float) -> Array:
    """The intervals centre ± quantile·errors of the t distribution, of shape (k, 2)."""
    if not 0 < level < 1:
        told = f", such as {level / 100:g}" if 1 < level < 100 else ""
        raise ValueError(f"level={level!r}: a number between 0 and 1 is needed{told}")
    if level < UNUSUAL:
        told = f"level={level:g}: the intervals hold with a probability of {level:.0%}"
        warn(f"{told}; if alpha={level:g} is meant, write level={1 - level:g}", UserWarning)
    share = (1 + level) / 2
    reach = float(ndtri(share) if np.isinf(df) else stdtrit(df, share)) * errors
    return np.column_stack([centre - reach, centre + reach])


@dataclass(frozen=True)
class WaldTest:
    """A Wald test that some coefficients are 0.

    Attributes
    ----------
    names : tuple of str
        The coefficients that are 0 under the hypothesis.
    statistic : float
        βᵀV⁻¹β with these coefficients β and their covariance V.
    df : int
        Their number q.
    p_value : float
        By the χ² distribution with q degrees of freedom.
    """

    names: tuple[str, ...]
    statistic: float
    df: int
    p_value: float


# ----------------------------------------------------------------------------------------------


class CoefficientInference(DeclaredEstimator):
    """An estimator with one linear score, whose coefficients come with standard errors.

    Attributes
    ----------
    covariance_ : array of shape (d + 1, d + 1)
        The covariance of ``coef_`` and the intercept by the sandwich formula
        (:func:`~dcprog.estimators.covariances.sandwich`), which counts the error of the residuals'
        scale with ``covariance="lmrob"``. It is NaN for coefficients that a penalty
        has set to 0 and, with a warning, for all if the objective's estimated curvature is not
        positive; 0 for an intercept that is not fitted. A weight s_i counts as s_i samples.
        Computed on access.
    standard_errors_ : array of shape (d,)
        The standard errors of ``coef_``, the roots of the diagonal of ``covariance_``.
    intercept_standard_error_ : float
        The standard error of ``intercept_``, 0 if it is not fitted.
    """

    _repeats = 1.0  # the number of samples that a weight of 1 in the risk represents

    # ---- methods of a subclass -------------------------------------------------------------------

    def _estimating(self) -> tuple[Risk, Array, float]:
        """The risk that the coefficients minimise, θ, and the unit of θ."""
        return self.spec_, self.result_.x, 1.0

    def _scale_error(self) -> ScaleError | None:
        """The error of the unit of the residuals; None if the unit is taken as fixed."""
        return None

    def _degrees_of_freedom(self) -> float:
        """The degrees of freedom of the t distribution; infinite for the normal."""
        return np.inf

    def _title(self) -> str:
        """The first lines of the summary."""
        return type(self).__name__

    # ---- errors ----------------------------------------------------------------------------------

    @property
    def covariance_(self) -> Array:
        """The covariance of the coefficients and the intercept, by the sandwich formula."""
        check_is_fitted(self)
        risk, theta, unit = self._estimating()
        if risk.scores.kernel is not None:
            raise AttributeError("a kernel machine has no coefficients that errors could be of")
        covariance = sandwich(risk, theta, self._repeats, self._scale_error())
        d = risk.rows.X.shape[1]
        padded = np.zeros((d + 1, d + 1))
        padded[: len(covariance), : len(covariance)] = unit**2 * covariance
        return padded

    @property
    def standard_errors_(self) -> Array:
        """The standard errors of the coefficients, by the sandwich formula."""
        return self._errors()[:-1]

    @property
    def intercept_standard_error_(self) -> float:
        """The standard error of the intercept, by the sandwich formula."""
        return float(self._errors()[-1])

    def _errors(self) -> Array:
        """The standard errors of the coefficients and the intercept."""
        with np.errstate(invalid="ignore"):  # NaN where rounding of dependent columns is below 0
            return np.sqrt(np.diag(self.covariance_))

    def summary(self) -> Any:
        """Coefficients, standard errors, their quotients, p-values and intervals.

        The intercept, if there is one, is last. Quotients and intervals are those of the t
        distribution for regressors, with as many degrees of freedom as samples are more than
        coefficients, and of the normal for classifiers.

        Returns
        -------
        CoefficientTable
            It prints as text; ``to_frame()`` returns a DataFrame.

        Raises
        ------
        AttributeError
            The estimator is a kernel machine.
        """
        names, df = self._coefficient_names(), self._degrees_of_freedom()
        k = len(names) - (not self.fit_intercept)
        coef, errors = self._coefficients()[:k], self._errors()[:k]
        return CoefficientTable(self._title(), names[:k], coef, errors, df)

    @names_nearest
    def conf_int(self, level: float = LEVEL) -> Array:
        """The confidence intervals of the coefficients, the intercept last.

        Parameters
        ----------
        level : float, default 0.95
            0 < level < 1.

        Returns
        -------
        array of shape (d + 1, 2)
        """
        df = self._degrees_of_freedom()
        return interval_of(self._coefficients(), self._errors(), level, df)

    def wald_test(self, restricted: Any) -> WaldTest:
        """The Wald test of a restricted model, in which some coefficients are 0.

        Parameters
        ----------
        restricted : estimator, str, int, or sequence of str or int
            A model fitted to some of the columns of this one's DataFrame; or the coefficients that
            are 0 under the hypothesis, by name (``"intercept"`` is one) or place. Of a fit by a
            formula a term, such as ``"C(site)"``, stands for all of its coefficients.

        Returns
        -------
        WaldTest
            NaN where ``covariance_`` is.

        Raises
        ------
        ValueError
            The models are not nested, their columns have no names, a name or place is unknown, or
            it is that of an intercept that is not fitted.
        """
        check_is_fitted(self)
        names = self._coefficient_names()
        places = _places(names, _zeros(self, restricted))
        if not self.fit_intercept and len(names) - 1 in places:
            raise ValueError("the intercept is not fitted: fit_intercept=False sets it to 0")
        beta = self._coefficients()[places]
        statistic = float(beta @ np.linalg.solve(self.covariance_[np.ix_(places, places)], beta))
        told = tuple(names[place] for place in places)
        return WaldTest(told, statistic, len(places), float(chdtrc(len(places), statistic)))

    def _coefficients(self) -> Array:
        return np.append(np.ravel(self.coef_), self.intercept_)

    def _coefficient_names(self) -> list[str]:
        return [*feature_names(self, np.size(self.coef_)), INTERCEPT]


def _zeros(model: Any, restricted: Any) -> list[Any]:
    """The coefficients of a model that are 0 in the restricted one, by name or place."""
    if not hasattr(restricted, "fit"):
        several = isinstance(restricted, Iterable) and not isinstance(restricted, str)
        listed = list(restricted) if several else [restricted]
        design = getattr(model, "design_", None)
        return listed if design is None else [c for one in listed for c in design.columns_of(one)]
    check_is_fitted(restricted)
    if not all(hasattr(one, "feature_names_in_") for one in (model, restricted)):
        raise ValueError(
            "columns without names cannot be compared: fit both models to DataFrames, or give the "
            "coefficients that are 0 by their places"
        )
    more, fewer = map(_named_coefficients, (model, restricted))
    extra = [name for name in fewer if name not in more]
    if extra:
        raise ValueError(f"the models are not nested: only the restricted one has {extra}")
    return [name for name in more if name not in fewer]


def _named_coefficients(model: Any) -> list[str]:
    """The names of the coefficients that are fitted, the intercept's last."""
    return [*map(str, model.feature_names_in_), *([INTERCEPT] if model.fit_intercept else [])]


def _places(names: list[str], zeros: Sequence[Any]) -> list[int]:
    """The places of coefficients that are given by name or place."""
    numbered = {place - shift: place for place in range(len(names)) for shift in (0, len(names))}
    known = numbered | {name: place for place, name in reversed([*enumerate(names)])}
    unknown = [one for one in zeros if isinstance(one, bool | np.bool_) or one not in known]
    if unknown:
        last = len(names) - 1
        raise ValueError(f"there are no coefficients {unknown}: choose from {names} or 0 to {last}")
    places = [known[one] for one in zeros]
    if not places:
        raise ValueError("a test needs coefficients that are 0: the restricted model has them all")
    if len(set(places)) < len(places):
        raise ValueError(f"a test needs coefficients that differ, not {zeros}")
    return places


# ----------------------------------------------------------------------------------------------

# A grid of the standard normal, on which expectations are sums; 0 is between two points.
NORMAL = np.linspace(-8, 8, 16_000)
DENSITY = np.exp(-0.5 * NORMAL**2)
MOST_WEIGHT = 10.0  # times the weight a hundredth of a scale away: ψ(u)/u is not bounded at 0


def robust_r_squared(
    psi: Slope, u: Array, y: Array, shares: Array, spread: float, is_centred: bool
) -> float:
    r"""The robust coefficient of determination of Renaud and Victoria-Feser.

    With the weights :math:`w_i = s_i \psi(u_i)/u_i` of the residuals u and the weighted mean of y,

    .. math::
        R^2 = \frac{T - L}{T + (a - 1) L}, \quad T = \sum_i w_i (y_i - \bar y_w)^2, \quad
        L = \sum_i w_i u_i^2, \quad a = \frac{E\, \psi(\sigma z)/z}{E\, \psi(\sigma z)\, z},

    with standard normal z; a makes L consistent for normal residuals, whose large ones weigh less.

    Parameters
    ----------
    psi : callable
        The derivative ψ of the loss.
    u, y : array of shape (n,)
        Residuals and targets.
    shares : array of shape (n,)
        The weights s of the samples.
    spread : float
        σ, the scale of the residuals.
    is_centred : bool
        Whether there is an intercept; otherwise 0 is in place of the mean of y.

    Returns
    -------
    float
        At most 1; NaN if the loss bounds no weights ψ(u)/u, or y does not vary.

    References
    ----------
    Renaud, Victoria-Feser (2010), A robust coefficient of determination for regression, J. Stat.
    Plan. Inference 140.
    """

    def weight(u: Array) -> Array:
        u = np.where(np.abs(u) > KNOWN_DIGITS * spread, u, KNOWN_DIGITS * spread)
        return psi(u) / u

    close, away = np.abs(weight(np.array([KNOWN_DIGITS, 1e-2]) * spread))
    if close > MOST_WEIGHT * away:
        return np.nan
    usual = DENSITY * weight(spread * NORMAL)
    a = float(usual.sum() / (usual @ NORMAL**2))
    w = shares * weight(u)
    y = y - (float(w @ y / w.sum()) if is_centred else 0.0)
    left, total = float(w @ u**2), float(w @ y**2)
    return (total - left) / (total + (a - 1) * left) if total > 0 else np.nan


NO_POINT: Array | None = None


class LinearInference(CoefficientInference):
    """A regressor whose coefficients come with standard errors.

    Attributes
    ----------
    standard_errors_ : array of shape (d,)
        The standard errors of ``coef_``, the roots of the diagonal of ``covariance_``.
    intercept_standard_error_ : float
        The standard error of ``intercept_``, 0 if it is not fitted.
    """

    covariance = "sandwich"  # a subclass may declare a parameter of that name
    _s_estimate = NO_POINT  # θ of the S-estimate whose residuals have the unit as scale

    def _estimating(self) -> tuple[Risk, Array, float]:
        return self.spec_, self.result_.x, self.scale_

    def _scale_error(self) -> ScaleError | None:
        if self.covariance != "lmrob" or self._s_estimate is None:
            return None
        risk, theta, _ = self._estimating()
        if jumps(loss_slope(risk, theta), risk.margins(theta)):
            return None
        error_of = SCALE_ERRORS[getattr(self, "scale", "s")]
        return error_of(risk, self._s_estimate, self._repeats)

    def _degrees_of_freedom(self) -> float:
        risk, theta, _ = self._estimating()
        n = self._repeats * float(risk.shares.sum())
        return max(n - float(active_coefficients(risk, theta).sum()), 0.0)

    def _spread(self) -> float:
        """The scale of the residuals in their unit."""
        return float(self.scale_ / self._estimating()[2])

    def _psi(self, risk: Risk, theta: Array) -> Slope:
        """The derivative of the loss as a function of residuals."""
        return loss_slope(risk, theta)

    # ---- intervals of predictions ----------------------------------------------------------------

    @names_nearest
    def predict_interval(
        self, X: npt.ArrayLike, level: float = LEVEL, *, kind: str = "prediction"
    ) -> Array:
        """Intervals for targets at the given features, or for their centre.

        They are f(x) ± t·√(V(x) + σ̂²), with the variance V(x) of f(x) by ``covariance_``, the scale
        σ̂ of the residuals and the quantile t of the t distribution. Targets are covered if the
        errors are normal but for outliers: an interval has the given share of the other targets.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        level : float, default 0.95
            0 < level < 1.
        kind : {"prediction", "confidence"}, default "prediction"
            ``"confidence"`` leaves out σ̂²: intervals for f(x) itself, the centre of the targets.

        Returns
        -------
        array of shape (n, 2)
            The lower and upper ends.

        Raises
        ------
        ValueError
            The level or the kind is not one of those, or the loss is not symmetric, so that f(x) is
            not the centre of the targets.
        AttributeError
            The estimator is a kernel machine.
        """
        kinds = ("prediction", "confidence")
        if kind not in kinds:
            raise ValueError(f"kind={kind!r}: choose one of {kinds}")
        samples: Any = self._check_fitted(X)
        risk, theta, unit = self._estimating()
        root = _root(self.covariance_)
        psi, u = self._psi(risk, theta), self._spread() * NORMAL
        if kind == "prediction" and not np.allclose(psi(u), -psi(-u), atol=KNOWN_DIGITS):
            raise ValueError(
                "the loss is not symmetric, so that predictions are not the centre of the targets: "
                'kind="confidence" tells the error of the predictions'
            )
        variance = np.sum(np.asarray(samples @ root[:-1] + root[-1]) ** 2, axis=1)
        noise = (unit * self._spread()) ** 2 if kind == "prediction" else 0.0
        errors = np.sqrt(variance + noise)
        return interval_of(self.predict(X), errors, level, self._degrees_of_freedom())

    # ---- robust R² -------------------------------------------------------------------------------

    def score_robust(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> float:
        """The robust R² of Renaud and Victoria-Feser, in which outliers weigh as in the loss.

        On the training data it is the R² of ``summary()``, as R's ``lmrob`` prints it. It is
        defined for losses whose ψ(u)/u is bounded
        (:func:`~dcprog.estimators.inference.robust_r_squared`).

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional

        Returns
        -------
        float

        Raises
        ------
        ValueError
            The loss has a kink at 0, as the absolute value, or the targets are all equal.
        """
        check_is_fitted(self)
        samples, targets = self._validated(X, y, reset=False)
        weights = _check_sample_weight(sample_weight, samples, ensure_non_negative=True)
        residuals = targets - self._scores(samples).ravel()
        found = self._r_squared(residuals, targets, weights)
        if np.isnan(found):
            raise ValueError(
                "the robust R² needs a loss without a kink at 0, such as tukey or huber: samples "
                "with residual 0 would have infinite weight; and targets that vary"
            )
        return found

    def _r_squared(self, residuals: Array, y: Array, shares: Array) -> float:
        """The robust R² of residuals and targets in their own units."""
        _, theta, unit = self._estimating()
        psi, u = self._psi(self.spec_, theta), residuals / unit
        return robust_r_squared(psi, u, y / unit, shares, self._spread(), self.fit_intercept)

    def _title(self) -> str:
        weight, spec, (_, theta, unit) = self.outlier_weight_, self.spec_, self._estimating()
        kind = "sandwich" if self._scale_error() is None else "lmrob"
        found = self._r_squared(unit * spec.margins(theta), unit * spec.offset, spec.shares)
        told = "" if np.isnan(found) else f", robust R² {found:.4g}"
        return (
            f"{type(self).__name__}, {samples_told(self)}, scale {self.scale_:.4g}, "
            f"{hardly_counting(weight)}, {self.result_.status}\n"
            f"{kind} covariance, t with {self._degrees_of_freedom():g} degrees of freedom{told}"
        )


def _root(covariance: Array) -> Array:
    """A matrix L with covariance = L Lᵀ, where coefficients that a penalty set to 0 are exact."""
    if np.all(np.isnan(np.diag(covariance)[:-1])):
        return covariance
    sizes, ways = np.linalg.eigh(np.nan_to_num(covariance))
    return np.asarray(ways * np.sqrt(np.maximum(sizes, 0.0)))
