"""A regressor over any residual loss and any penalty."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin, _fit_context

from dcprog.engine.result import Result
from dcprog.estimators.base import RobustEstimator
from dcprog.estimators.declaration import Declaration
from dcprog.estimators.declared_estimator import parameter
from dcprog.estimators.inference import LinearInference
from dcprog.estimators.parameter_constraints import POSITIVE, one_of
from dcprog.estimators.residual_unit import ONE, Unit, residual_unit
from dcprog.estimators.risk_derivatives import (
    curvature_matrix,
    jumps,
    loss_slope,
    ridge_of,
    smooth_curvature,
)
from dcprog.foundation.arrays import Array
from dcprog.losses import Loss, square, tukey
from dcprog.penalties import Penalty, l2
from dcprog.risk.risk import Risk
from dcprog.rows.linear import residual_rows
from dcprog.rows.scores import Scores

__all__ = ["RobustRegressor", "polished"]

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
    >>> from dcprog.estimators.regressor import polished
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
    smooth = risk.base.is_smooth and risk.subtracted is None and not risk.transform.is_joint
    ridge = risk.penalty.parts().ridge_alone is not None
    plain = risk.no_matrix is None and risk.scores.kernel is None
    return bool(smooth and ridge and plain and risk.rows.shape[1] <= MOST_COEFFICIENTS)


# ----------------------------------------------------------------------------------------------

BIWEIGHT = 4.685  # 95% as efficient as least squares at the normal
RIDGE = 1e-8  # determines coefficients that the samples leave free, and changes no others


class RobustRegressor(RegressorMixin, LinearInference, RobustEstimator):
    r"""Regressor for any residual loss ℓ and any penalty.

    It minimises

    .. math::
        \sum_i s_i\, \ell(u_i) + \text{penalty}(w), \qquad u_i = y_i - (w^\top x_i + b),

    a sum, with the weight s_i of a sample (1 by default). The intercept b is not penalised by
    default. The fit is robust if ℓ is a concave function of a convex loss, such as
    ``cap(absolute(), 1.0)``: a sample of large loss then weighs less, or nothing.

    Residuals are measured in units of their scale σ̂: the objective has u_i/σ̂ and w/σ̂ in place of
    u_i and w. The losses' parameters then have their textbook values (4.685 for Tukey's biweight),
    and y → ay + c changes the units of the fit and nothing else (a < 0 mirrors a loss that is not
    symmetric). Without a penalty the fitted values do not change under X → XB.

    Parameters
    ----------
    loss : str or Loss, optional
        ℓ, a function of the residual; by default ``tukey(0.5 * square(), 4.685)``, the biweight,
        with 95% of the efficiency of least squares for normal errors; a name is one of
        :func:`dcprog.losses.names.named_loss`. A trimmed loss requires equal weights.
    penalty : str or Penalty, optional
        By default ``l2(1e-8)``, which determines coefficients that the samples leave free, and
        ``l2(1.0)`` for a kernel. Scale the columns to about the same size for large penalties.
    scale : {"mad"}, float or None, default "mad"
        The scale σ̂. ``"mad"`` is the normalised median absolute residual of an S-estimate, which
        tolerates outliers among almost half of the samples; it is at least a thousandth of the
        normalised median absolute deviation of y. With fewer than three samples per coefficient,
        and for kernels, it is the latter itself. A number is σ̂ itself. None is 1 and leaves y
        unshifted: the losses' parameters are in the units of y.

    Attributes
    ----------
    scale_ : float
        σ̂; θ of ``spec_`` is (w, b − m)/σ̂, with m the median of y if the intercept is free, else 0.
    objective_ : float
        The objective at the solution, with the training weights.
    coef_ : array of shape (d,)
        Not set with a kernel other than ``"linear"``.
    intercept_ : float
    dual_coef_ : array of shape (n,)
        The coefficients a, with a kernel.
    outlier_weight_ : array of shape (n,)
        Weight of each training sample's base loss in the majorant at the solution: 1 for a sample
        that counts as in the convex problem, 0 for one that the loss gave up, or whose weight is
        0. It is the slope of ℓ over that of its base, relative to the one at loss 0.

    See Also
    --------
    RobustClassifier : The analogous estimator for losses of margins.

    Notes
    -----
    scikit-learn's callbacks (``set_callbacks``) see every step, and one that asks to stop ends the
    run. For nonconvex objectives with ``n_starts="auto"`` the run starts from the S-estimate, if
    there is one. If the objective does not determine the intercept, for example because the loss
    has given up all samples that would, an intercept close to that of the start is chosen.

    References
    ----------
    Huber (1964), Robust estimation of a location parameter, Ann. Math. Stat. 35. Wang (2024),
    Unified robust estimation, Aust. N. Z. J. Stat. 66.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.estimators import RobustRegressor
    >>> from dcprog.losses import cap, square
    >>> from dcprog.penalties import l2
    >>> X = np.arange(6.0)[:, None]
    >>> y = np.array([1.0, 3.0, 5.0, 7.0, 9.0, 30.0])  # 1 + 2x, and an outlier
    >>> model = RobustRegressor(cap(square(), 4.0), l2(0.0)).fit(X, y)
    >>> np.round(model.predict([[10.0]]), 4)
    array([21.])
    >>> model.outlier_weight_
    array([1., 1., 1., 1., 1., 0.])
    """

    _of_residuals = True

    _: KW_ONLY
    scale: str | float | None = parameter(one_of("mad"), POSITIVE, None, default="mad")

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> RobustRegressor:
        """Minimise the objective.

        Parameters
        ----------
        X : array, sparse matrix, memory-mapped or dask array of shape (n, d)
            The kernel matrix, (n, n), with ``kernel="precomputed"``.
        y : array of shape (n,)
            Targets.
        sample_weight : array of shape (n,), optional
            s_i ≥ 0, not all 0. A sample of weight 0 is left out, a whole number repeats it.

        Returns
        -------
        RobustRegressor
            Itself.

        Raises
        ------
        ValueError
            Parameters are out of range, the data are not finite, the solver does not accept the
            problem, or the numbers are so large that no point was found.
        """
        X, y = self._validated(X, y)
        declared = self._declared(X, y, self._sample_weight(sample_weight, X))
        self._minimise(declared, self._start(declared), X, y, sample_weight)
        return self

    def predict(self, X: npt.ArrayLike) -> Array:
        """The predictions f(x) = w·x + b, or the kernel expansion's.

        Parameters
        ----------
        X : array, sparse matrix, memory-mapped or dask array of shape (n, d)

        Returns
        -------
        array of shape (n,)
        """
        return self._scores(self._check_fitted(X)).ravel()

    def _checks(self) -> dict[str, Any]:
        return super()._checks() | {"y_numeric": True}

    def _declared(self, X: Any, y: Any, weights: Array | None) -> Declaration:
        return self._declare(X, y, weights, residual_rows)

    def _default_loss(self) -> Loss:
        return tukey(0.5 * square(), BIWEIGHT)

    def _default_penalty(self) -> Penalty:
        return l2(RIDGE) if self.kernel is None else super()._default_penalty()

    def _in_unit(self, X: Any, y: Any, weights: Array | None) -> tuple[Any, Unit]:
        if self.scale is None:
            return y, ONE
        moves = self.fit_intercept and not self.penalize_intercept
        known = None if self.scale != "mad" else X
        unit = residual_unit(known, y, weights, fit_intercept=self.fit_intercept, moves=moves)
        if self.scale != "mad":
            unit = replace(unit, size=float(self.scale))
        return unit.of(y), unit

    def _start(self, declared: Declaration) -> Any:
        """The start of the run: the scale's S-estimate for a nonconvex risk with auto starts."""
        start, risk, fit = super()._start(declared), declared.risk, declared.unit.start
        is_convex = risk.has_convex_losses and risk.penalty.is_convex
        plain = not (isinstance(start, str) and self.n_starts == "auto")
        if plain or is_convex or fit is None:
            return start
        d = declared.risk.rows.X.shape[1]
        return [declared.theta(fit[None, :d], fit[d:])]

    def _polished(self, risk: Risk, theta: Array) -> Array:
        return polished(risk, theta)

    def _repeats(self) -> float:
        return 1.0 if self.normalize == "sum" else self._total

    def _keep(self, declared: Declaration, result: Result) -> None:
        self.scale_ = declared.unit.size
        weights = declared.samples.weights
        self._total = float(declared.risk.n_groups if weights is None else weights.sum())
        super()._keep(declared, result)

    def _rows(self, X: Any, y: Any, fit_intercept: bool) -> Scores:
        return residual_rows(X / self.scale_, y / self.scale_, fit_intercept)

    def _shaped(self, coef: Array, intercept: Array) -> tuple[Array, float]:
        return np.ravel(coef), float(intercept[0])
