"""Regressors: of any residual loss and penalty, and the base of published linear ones."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import KW_ONLY, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from dcprog.estimators.base import ONE, Declaration, Doubt, Unit
from dcprog.estimators.covariances import (
    active_coefficients,
    curvature_matrix,
    jumps,
    loss_curvature,
    loss_slope,
    ridge_of,
)
from dcprog.estimators.high_breakdown import Criterion, SScale, robust_start
from dcprog.estimators.inference import LinearInference
from dcprog.estimators.loop import Callback, LoopEstimator, Solution
from dcprog.estimators.parameters import POSITIVE, one_of, parameter
from dcprog.estimators.robust import RobustEstimator
from dcprog.estimators.robust_scales import SEEN, mad
from dcprog.foundation.arrays import COPIED, Array, dense
from dcprog.foundation.sums import weighted_quantile
from dcprog.foundation.tolerances import FEW_COEFFICIENTS, ROUNDING
from dcprog.losses import Loss, square, tukey
from dcprog.losses.compositions import BIWEIGHT
from dcprog.penalties import Penalty, l2
from dcprog.risk.risk import Risk
from dcprog.rows.linear import residual_rows
from dcprog.rows.scores import Scores

SCALES = ("mad", "s")
# Residuals of an exact fit are rounding errors: the unit is at least this share of the targets'.
LEAST = 1e-3
# With fewer samples per coefficient, a subset's fit predicts the other samples poorly.
SAMPLES_A_COEFFICIENT = 3
# With fewer, half of the samples determine a fit. With 10% outliers the median test error of five
# draws was 2 to 8 times that under l2(d/4) below two, 0.7 to 3.3 times from two on (d = 20, 50).
FREE = 2


def residual_unit(
    X: Any,
    y: Array,
    weights: Array | None,
    *,
    fit_intercept: bool,
    moves: bool,
    scale: str = "mad",
) -> Unit:
    """The unit by the residuals of an S-estimate, robust to outliers and leverage points.

    The size is the scale that the S-estimate minimises, or the median of the absolute residuals
    over that of the standard normal, where as many of the smallest residuals as there are
    coefficients are left out. With fewer than three samples per coefficient, and for kernels, it is
    the latter of the targets themselves.

    Parameters
    ----------
    X : array, sparse matrix, matrix by blocks of shape (n, d), or None
        None for a kernel. Of more than 5000 samples a random subset is used.
    y : array of shape (n,)
    weights : array of shape (n,), optional
        The number of times each sample counts.
    fit_intercept : bool
    moves : bool
        Whether the targets may be shifted, because there is a free intercept.
    scale : {"mad", "s"}, default "mad"
        The median or the S-estimate's scale.

    Returns
    -------
    Unit

    Raises
    ------
    ValueError
        X holds NaN or infinity.
    """
    weights = np.ones(len(y)) if weights is None else weights
    middle = float(weighted_quantile(y[None], weights)[0]) if moves else 0.0
    least = LEAST * (mad(y - middle, weights) or float(np.abs(y - middle).max()))
    p = (0 if X is None else X.shape[1]) + fit_intercept
    known = min(len(y), SEEN)
    if X is None or known < SAMPLES_A_COEFFICIENT * p or known * p > COPIED:
        return Unit(mad(y - middle, weights) or least or 1.0, middle)
    seen: Any = slice(None)
    if len(y) > SEEN:
        seen = np.sort(np.random.default_rng(0).choice(len(y), SEEN, replace=False))
    some, share = dense(X[seen]), weights[seen]
    if not np.all(np.isfinite(some)):  # blocks have not been read before
        raise ValueError("X holds NaN or infinity; remove or impute those entries")
    count = max(float(share.sum()), known) if scale == "s" else known
    criterion = SScale(0.5 * (1 - p / count))
    start, residuals = robust_start(
        some, y[seen], criterion, fit_intercept=fit_intercept, weights=share
    )
    size = mad(residuals, share, p)
    if scale == "s":
        size = float(criterion.value(residuals[None], share)[0])
    return Unit(max(size, least) or 1.0, middle, start)


def unit_of(
    scale: str | float,
    X: Any,
    y: Array,
    weights: Array | None,
    *,
    fit_intercept: bool,
    moves: bool,
) -> Unit:
    """The unit of a `scale` given by name, as :func:`residual_unit`, or as a number."""
    if isinstance(scale, str):
        return residual_unit(X, y, weights, fit_intercept=fit_intercept, moves=moves, scale=scale)
    unit = residual_unit(None, y, weights, fit_intercept=fit_intercept, moves=moves)
    return replace(unit, size=float(scale))


# ----------------------------------------------------------------------------------------------

ROUNDS = 4  # Newton steps; each doubles the digits


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
    smooth = risk.base.is_smooth and risk.subtracted is None and not risk.transform.is_joint
    ridge_alone = risk.penalty.parts().ridge_alone is not None
    plain = risk.no_matrix is None and risk.scores.kernel is None and theta.size <= FEW_COEFFICIENTS
    if not (smooth and ridge_alone and plain):
        return theta
    risk = risk.remembering()
    shares = risk.shares
    slope, active = loss_slope(risk, theta), np.ones(theta.size, dtype=bool)
    if jumps(slope, risk.margins(theta)):
        return theta
    ridge = ridge_of(risk, active)

    def pull(theta: Array) -> Array:
        return risk.pull(shares * slope(risk.margins(theta))) + ridge @ theta

    value, g = risk(theta), pull(theta)
    for _ in range(ROUNDS):
        bend = shares * loss_curvature(slope, risk.margins(theta), shares, True)
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


# ----------------------------------------------------------------------------------------------


class Regressor(RegressorMixin, LinearInference, LoopEstimator):
    """A regressor with one score, whose residuals are measured in the unit of its declaration."""

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

    def _point(self, declared: Declaration, theta: Array) -> dict[str, Any]:
        point = super()._point(declared, theta)
        coefs = {name: np.ravel(point[name]) for name in point if name.endswith("coef_")}
        return point | coefs | {"intercept_": float(point["intercept_"][0])}

    def _learn(self, declared: Declaration) -> None:
        self.scale_ = self._unit = declared.unit.size
        super()._learn(declared)


def _start_of(declared: Declaration) -> list[Any]:
    """The fit that determined the unit, as a start of the run."""
    fit: Any = declared.unit.start
    return [declared.theta(fit[None, :-1], fit[-1:])]


def _learnt_by_heart(risk: Risk, advice: str) -> Iterator[Doubt]:
    """The warning for a risk without a penalty if half of its samples determine a fit."""
    n, p = risk.n_groups, risk.rows.shape[1]
    if n < FREE * p:
        yield (
            f"{n} samples for {p} coefficients: without a penalty outliers are learnt by heart; "
            f"{advice} dc.l2({risk.rows.X.shape[1] / 4:g}) of standardised features",
            UserWarning,
        )


# ----------------------------------------------------------------------------------------------

RIDGE = 1e-8  # determines coefficients that the samples leave free, and changes no others


class RobustRegressor(Regressor, RobustEstimator):
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
        :func:`~dcprog.losses.named_loss`. A trimmed loss requires equal weights.
    penalty : str or Penalty, optional
        By default ``l2(1e-8)``, which determines coefficients that the samples leave free, with a
        warning if there are fewer than two samples per coefficient; ``l2(1.0)`` for a kernel. Scale
        the columns to about the same size for large penalties.
    scale : {"mad", "s"}, float or None, default "mad"
        The scale σ̂. ``"mad"`` is the normalised median absolute residual of an S-estimate, which
        tolerates outliers among almost half of the samples, and ``"s"`` the scale that the
        S-estimate minimises, as R's ``lmrob`` has it; both are at least a thousandth of the
        normalised median absolute deviation of y. With fewer than three samples per coefficient,
        and for kernels, σ̂ is the latter itself. A number is σ̂ itself. None is 1 and leaves y
        unshifted: the losses' parameters are in the units of y.
    n_starts : int or "auto", default "auto"
        ``"auto"`` races many cheap starts, the S-estimate among them. 1 is the plain run from the
        convex problem with the base loss, without the S-estimate: leverage points may hold it (the
        star cluster CYG OB1: slope −0.436, by default 2.263). More add other starts to that run.
    covariance : {"lmrob", "sandwich"}, default "lmrob"
        The covariance of the coefficients. ``"lmrob"`` counts the error of σ̂ if σ̂ is a scale of an
        S-estimate of all samples, which are at most 5000, and ℓ' has no jumps: with ``scale="s"``
        as R's ``lmrob`` does. Otherwise, and with ``"sandwich"``, σ̂ is taken as fixed.

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
    scale: str | float | None = parameter(one_of(*SCALES), POSITIVE, None, default="mad")
    covariance: str = parameter(one_of("lmrob", "sandwich"), default="lmrob")

    def _declared(self, X: Any, y: Any, sample_weight: Any = None) -> Declaration:
        return self._declare(X, y, sample_weight, residual_rows)

    def _default_loss(self) -> Loss:
        return tukey(0.5 * square(), BIWEIGHT)

    def _default_penalty(self) -> Penalty:
        return l2(RIDGE) if self.kernel is None else super()._default_penalty()

    def _doubts(self, solution: Solution) -> Iterator[Doubt]:
        yield from super()._doubts(solution)
        if self.penalty is None and self.kernel is None:
            yield from _learnt_by_heart(self.spec_, "pass one, such as")

    def _in_unit(self, X: Any, y: Any, weights: Array | None) -> tuple[Any, Unit]:
        if self.scale is None:
            return y, ONE
        moves = self.fit_intercept and not self.penalize_intercept
        unit = unit_of(self.scale, X, y, weights, fit_intercept=self.fit_intercept, moves=moves)
        return unit.of(y), unit

    def _start(self, declared: Declaration) -> Any:
        """The start of the run: the scale's S-estimate for a nonconvex risk with auto starts."""
        start, risk = super()._start(declared), declared.risk
        is_convex = risk.has_convex_losses and risk.penalty.is_convex
        is_given = not (isinstance(start, str) and self.n_starts == "auto")
        if is_given or is_convex or declared.unit.start is None:
            return start
        return _start_of(declared)

    def _polished(self, risk: Risk, theta: Array) -> Array:
        return polished(risk, theta)

    def _learn(self, declared: Declaration) -> None:
        super()._learn(declared)
        known = isinstance(self.scale, str) and declared.unit.start is not None
        known = known and declared.risk.n_groups <= SEEN
        self._s_estimate = _start_of(declared)[0] if known else None

    def _spread(self) -> float:
        if self.scale is not None:
            return 1.0
        risk, theta, _ = self._estimating()
        linear = risk.scores.kernel is None
        p = int(active_coefficients(risk, theta).sum()) if linear else 0
        return mad(risk.margins(theta), risk.shares, p)

    def _rows(self, scores: Array, y: Any) -> Scores:
        return residual_rows(scores / self._unit, y / self._unit, False)


# ----------------------------------------------------------------------------------------------


class PaperRegressor(Regressor):
    """A linear regressor that minimises the objective of its publication from a robust start.

    A subclass declares its parameters, each by
    :func:`~dcprog.estimators.parameters.parameter`, and the risk of residuals by :meth:`_declare`.
    It may override the criterion of the high-breakdown start (:meth:`_criterion`, the S-estimate's
    by default), the unit of the residuals (:meth:`_size`, that of y by default) and the attributes
    learnt in a fit (:meth:`_learn`).

    Parameters
    ----------
    fit_intercept : bool, default True
        Whether there is an intercept b.

    Attributes
    ----------
    coef_ : array of shape (d,)
    intercept_ : float
    scale_ : float
        σ̂, the residuals' scale.
    outlier_weight_ : array of shape (n,)
        The weight of each training sample at the solution, from 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> import dcprog as dc
    >>> from dcprog.estimators import POSITIVE, parameter
    >>> class CappedSquares(dc.models.PaperRegressor):
    ...     cap: float = parameter(POSITIVE, default=1.0)
    ...     def _declare(self, rows):
    ...         return dc.Risk.from_loss(rows, dc.cap(dc.square(), self.cap), dc.l2(0.0))
    >>> X = np.arange(10.0)[:, None]
    >>> y = 1 + 2 * X.ravel()
    >>> y[6:] = -50.0  # four of ten are outliers
    >>> CappedSquares(cap=4.0).fit(X, y).coef_.round(2)
    array([2.])
    """

    _: KW_ONLY
    fit_intercept: bool = parameter("boolean", default=True)

    @abstractmethod
    def _declare(self, rows: Scores) -> Risk:
        """The objective of the publication on residuals in their unit."""

    def _criterion(self, n: int, p: int) -> Criterion:
        """The criterion of the start for n samples and p coefficients."""
        return SScale(0.5 * max(1 - p / n, 1 / n))

    def _size(self, criterion: Criterion, residuals: Array, y: Array) -> float:
        """The unit of the residuals, given those of the start."""
        return 1.0

    def _checks(self) -> dict[str, Any]:
        return super()._checks() | {"accept_sparse": False}

    def _declared(self, X: Any, y: Any, sample_weight: Any = None) -> Declaration:
        criterion = self._criterion(len(y), X.shape[1] + self.fit_intercept)
        start, residuals = robust_start(X, y, criterion, fit_intercept=self.fit_intercept)
        unit = Unit(self._size(criterion, residuals, y), 0.0, start)
        rows = residual_rows(X, y / unit.size, self.fit_intercept)
        return Declaration(self._declare(rows), unit=unit)

    def _solution(self, declared: Declaration, callback: Callback) -> Solution:
        start = _start_of(declared)
        return Solution(declared.risk, self._run(declared.risk, start, callback=callback))

    def _doubts(self, solution: Solution) -> Iterator[Doubt]:
        yield from super()._doubts(solution)
        if self.spec_.penalty.parts().ridge_alone == 0:
            yield from _learnt_by_heart(self.spec_, "dc.RobustRegressor takes one, such as")

    def _trivial(self, solution: Solution) -> str | None:
        return None  # samples are given up by intention

    def _fitted_risk(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Risk, Array]:
        check_is_fitted(self)
        X, y = self._validated(X, y, reset=False)
        theta: Any = self.result_.x
        return self._declare(residual_rows(X, y / self._unit, self.fit_intercept)), theta
