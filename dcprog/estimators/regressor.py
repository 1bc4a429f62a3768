"""A regressor over any residual loss and any penalty."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin, _fit_context

from dcprog.estimators.base import RobustEstimator
from dcprog.estimators.declaration import Declaration
from dcprog.foundation.arrays import Array
from dcprog.losses import Loss, absolute, cap
from dcprog.rows.linear import residual_rows
from dcprog.rows.scores import Scores

__all__ = ["RobustRegressor"]


class RobustRegressor(RegressorMixin, RobustEstimator):
    r"""Regressor by the residual loss ℓ and the penalty of one's choice: the minimiser of

    .. math::
        \sum_i s_i\, \ell(u_i) + \text{penalty}(w), \qquad u_i = y_i - (w^\top x_i + b),

    a sum, with the weight s_i of a sample (1 by default). The intercept b is free. Robust is what a
    concave function of a convex loss, as ``cap(absolute(), 1.0)``, makes of it: a sample of large
    loss weighs less, or nothing. The losses' parameters are in the units of y.

    Parameters
    ----------
    loss : Loss, optional
        ℓ, a function of the residual; ``cap(absolute(), 1.0)`` by default. A search over
        ``loss__c`` needs it given. A trimmed loss takes no weights that differ.

    Attributes
    ----------
    objective_ : float
        The objective at the solution, with the training weights.
    coef_ : array of shape (d,)
        None for kernels other than the linear one.
    intercept_ : float
    dual_coef_ : array of shape (n,)
        a, with a kernel.
    outlier_weight_ : array of shape (n,)
        Weight of each training sample's base loss in the majorant at the solution: 1 for a sample
        that counts as in the convex problem, 0 for one that the loss gave up, or whose weight is
        0. It is the slope of ℓ over that of its base.

    See Also
    --------
    RobustClassifier : The same for margins.

    Notes
    -----
    scikit-learn's callbacks (``set_callbacks``) see every step, and one that asks to stop ends the
    run. Where the objective leaves the intercepts undetermined, as when all samples that would
    hold them are given up, about those nearest to the start's are taken.

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
            Parameters out of their range, data that are not finite, a solver that cannot take the
            problem,
            numbers so large that no point was found.
        """
        X, y = self._validated(X, y)
        declared = self._declared(X, y, self._sample_weight(sample_weight, X))
        self._minimise(declared, self._start(declared), X, y, sample_weight)
        return self

    def predict(self, X: npt.ArrayLike) -> Array:
        """f(x) = w·x + b, or that of the kernel.

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
        return cap(absolute(), 1.0)

    def _rows(self, X: Any, y: Any, fit_intercept: bool) -> Scores:
        return residual_rows(X, y, fit_intercept)

    def _shaped(self, coef: Array, intercept: Array) -> tuple[Array, float]:
        return np.ravel(coef), float(intercept[0])
