"""Least trimmed squares (Rousseeuw 1984), by FAST-LTS (Rousseeuw, Van Driessen 2006)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from scipy.stats import norm

from dcprog.estimators import POSITIVE, PaperRegressor, between, parameter
from dcprog.estimators.base import Declaration
from dcprog.estimators.covariances import Slope
from dcprog.estimators.high_breakdown import Criterion, TrimmedSquares
from dcprog.foundation.arrays import Array, dense
from dcprog.losses import square, trim
from dcprog.penalties import l2
from dcprog.risk.risk import Risk
from dcprog.rows.scores import Scores

__all__ = ["LeastTrimmedSquares"]


class LeastTrimmedSquares(PaperRegressor):
    r"""Linear regression by least trimmed squares, with one reweighted least squares step.

    .. math::
        \min_{w, b} \sum_{i=1}^{h} r_{(i)}^2, \qquad
        r_{(1)}^2 \le \dots \le r_{(n)}^2, \quad r_i = y_i - (w^\top x_i + b).

    With h = ⌊(n + p + 1)/2⌋, p the number of coefficients, the breakdown point is the largest that
    a regression equivariant fit can have, (⌊(n − p)/2⌋ + 1)/n. The majorant at a point keeps the h
    samples with the smallest residuals there, so that one step of the loop is FAST-LTS's
    concentration step.

    The raw scale is :math:`s_0 = c_h (1 + 5/(n - p)) \sqrt{\sum_{i \le h} r_{(i)}^2 / h}`, with
    :math:`c_h^{-2} = 1 - 2(n/h)\, q\, \varphi(q)` and :math:`q = \Phi^{-1}((1 + h/n)/2)`, which
    makes it consistent at the normal. A least squares fit to the kept samples, the h of the sum and
    those with :math:`|r_i| \le 2.5\, s_0`, then gives the final estimate, which is far more
    efficient.

    Parameters
    ----------
    support_fraction : float, optional
        h/n, from ½ to 1; by default that of the largest breakdown point.
    reweight : bool, default True
        Whether to take the reweighted least squares step.
    cutoff : float, default 2.5
        The cutoff of |r_i|/s_0, the 2.5 above.

    Attributes
    ----------
    coef_, intercept_
        The final estimate.
    raw_coef_ : array of shape (d,)
    raw_intercept_ : float
        The least trimmed squares estimate, with the trimmed sum ``objective_``.
    support_ : bool array of shape (n,)
        The h samples of the trimmed sum.
    raw_scale_ : float
        The raw scale s_0.
    scale_ : float
        The residual scale of the kept samples, with their number minus p degrees of freedom; s_0
        without the step.
    outlier_weight_ : array of shape (n,)
        1 for a kept sample, 0 for an outlier.
    spec_ : Risk
        The trimmed sum as a function of θ = (w, b).

    Notes
    -----
    The factor 1 + 5/(n − p) is that of Rousseeuw and Leroy for least median of squares; other
    programs have their own tables. Standard errors are those of least squares on the kept samples
    and ignore their selection, so they are somewhat too small.

    References
    ----------
    Rousseeuw (1984), Least median of squares regression, JASA 79. Rousseeuw, Leroy (1987), Robust
    regression and outlier detection. Rousseeuw, Van Driessen (2006), Computing LTS regression for
    large data sets, Data Min. Knowl. Discov. 12.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.models import LeastTrimmedSquares
    >>> X = np.arange(10.0)[:, None]
    >>> y = 1 + 2 * X.ravel() + np.tile([0.1, -0.1], 5)
    >>> y[6:] = -50.0  # four of ten are outliers
    >>> model = LeastTrimmedSquares().fit(X, y)
    >>> model.coef_.round(2), np.flatnonzero(model.outlier_weight_ == 0)
    (array([1.98]), array([6, 7, 8, 9]))
    """

    support_fraction: float | None = parameter(between(0.5, 1), None, default=None)
    _: KW_ONLY
    reweight: bool = parameter("boolean", default=True)
    cutoff: float = parameter(POSITIVE, default=2.5)

    def _declare(self, rows: Scores) -> Risk:
        n, p = rows.shape
        return Risk.from_loss(rows, trim(square(), (n - self._kept(n, p)) / n), l2(0.0))

    def _criterion(self, n: int, p: int) -> Criterion:
        return TrimmedSquares(self._kept(n, p) / n)

    def _learn(self, declared: Declaration) -> None:
        spec, raw = declared.risk, self.result_.x
        assert raw is not None
        n, p = spec.rows.shape
        self.raw_coef_, self.raw_intercept_ = self.coef_, self.intercept_
        self.support_ = spec.transform.slope(spec.aggregates(raw)) > 0
        residuals = spec.margins(raw)[self.support_]
        factor = _consistency(self._kept(n, p) / n) * (1 + 5 / max(n - p, 1))
        self.raw_scale_ = factor * float(np.sqrt(np.mean(residuals**2)))
        self._reach = max(self.cutoff * self.raw_scale_, float(np.max(np.abs(residuals))))
        super()._learn(declared)
        self.scale_ = self.raw_scale_
        if self.reweight:
            self._reweight(spec, self.outlier_weight_ > 0)

    def _weights(self, risk: Risk, theta: Array) -> Array:
        return (np.abs(risk.margins(theta)) <= self._reach).astype(float)

    def _reweight(self, spec: Risk, kept: Any) -> None:
        """Fit least squares to the kept samples, and set the coefficients and the scale."""
        assert spec.offset is not None  # residuals have one
        A, y = dense(spec.matrix())[kept], spec.offset[kept]
        theta = np.linalg.lstsq(A, -y, rcond=None)[0]
        self.__dict__.update(self._point(Declaration(spec), theta))
        free = max(len(y) - A.shape[1], 1)
        self.scale_ = float(np.sqrt(np.sum((A @ theta + y) ** 2) / free))

    def _estimating(self) -> tuple[Risk, Any, float]:
        theta = np.append(self.coef_, self.intercept_) if self.fit_intercept else self.coef_
        rows = self.spec_.rows
        return Risk.from_loss(rows, square(), l2(0.0), self.outlier_weight_), theta, 1.0

    def _psi(self, risk: Risk, theta: Array) -> Slope:
        return lambda u: np.where(np.abs(u) <= self._reach, u, 0.0)

    def _kept(self, n: int, p: int) -> int:
        """The number h of squares in the trimmed sum."""
        if self.support_fraction is None:
            return min(n, (n + p + 1) // 2)
        return max(1, round(self.support_fraction * n))


def _consistency(share: float) -> float:
    """The factor c_h that makes the trimmed root mean square consistent at the normal."""
    if share >= 1:
        return 1.0
    q = norm.ppf((1 + share) / 2)
    return float((1 - 2 / share * q * norm.pdf(q)) ** -0.5)
