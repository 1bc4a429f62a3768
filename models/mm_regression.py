"""MM-estimates (Yohai 1987), with a high breakdown point and high efficiency."""

from __future__ import annotations

from dataclasses import KW_ONLY

import numpy as np

from dcprog.estimators import COUNT, POSITIVE, PaperRegressor, one_of, parameter
from dcprog.estimators.base import Declaration
from dcprog.estimators.high_breakdown import Criterion
from dcprog.estimators.robust_scales import mad
from dcprog.foundation.arrays import Array
from dcprog.losses import square, tukey
from dcprog.penalties import l2
from dcprog.risk.risk import Risk
from dcprog.rows.scores import Scores

__all__ = ["MMRegressor"]

# A scale below this share of the targets' size counts as 0. Rounded residuals, 1e-15 of y,
# are 1e-9 in its units, and their losses, 1e-18, within the tolerance of the sum.
EXACT = 1e-6


class MMRegressor(PaperRegressor):
    r"""Linear regression by a redescending M-estimate that starts from an S-estimate.

    1. The S-estimate minimises the scale σ̂ of its residuals, defined by
       :math:`\frac{1}{n - p} \sum_i \rho_1(r_i/\hat\sigma) = \tfrac12`. Its breakdown point is
       about one half.
    2. With σ̂ fixed, the M-estimate is a local minimum near the S-estimate of

    .. math::
        \sum_i \rho_c\!\left(\frac{y_i - (w^\top x_i + b)}{\hat\sigma}\right), \qquad
        \rho_c(u) = \frac{c^2}{6} \left(1 - \left(1 - \min(u/c, 1)^2\right)^3\right).

    ρ_1 is Tukey's function with c = 1.548, scaled to [0, 1], which makes σ̂ consistent at the
    normal; with c = 4.685 the M-estimate has 95% of the efficiency of least squares there. The sum
    never rises along the run from the S-estimate, so the estimate keeps its breakdown point.

    Parameters
    ----------
    c : float, default 4.685061
        The size of residuals, in units of σ̂, from which on a sample has weight 0: 3.443689 for an
        efficiency of 85%, 3.882662 for 90%.
    tol : float, default 1e-12
        Stop when the criticality gap and the decrease are at most tol times the sum of the sizes of
        the objective's terms.
    max_iter : int, default 500
        The most reweightings.
    covariance : {"lmrob", "sandwich"}, default "lmrob"
        The covariance of the coefficients: of the joint equations of coefficients, scale and
        S-estimate, as R's ``lmrob`` has it, or the sandwich at a fixed scale.
    n_starts : int or "auto", default 1
        1 is the publication's start, the S-estimate; ``"auto"`` also tries other starts for lower
        minima.

    Attributes
    ----------
    initial_coef_ : array of shape (d,)
    initial_intercept_ : float
        The S-estimate.
    scale_ : float
        The scale σ̂.
    outlier_weight_ : array of shape (n,)
        The weight (1 − min(u/c, 1)²)² of each training sample.
    spec_ : Risk
        The sum as a function of θ = (w, b)/σ̂.

    Notes
    -----
    Tuning constants, corrections, results and standard errors are those of R's ``lmrob``. If more
    than half of the samples are fitted exactly, σ̂ is 1e-6 of the targets' size, and all others have
    weight 0.

    ``RobustRegressor(scale="s")`` minimises the same sum, begins at the same S-estimate, looks for
    lower minima too, and takes weights of samples and penalties.

    References
    ----------
    Yohai (1987), High breakdown-point and high efficiency robust estimates for regression, Ann.
    Stat. 15. Salibian-Barrera, Yohai (2006), A fast algorithm for S-regression estimates, J.
    Comput. Graph. Stat. 15. Croux, Dhaene, Hoorelbeke (2003), Robust standard errors for
    robust estimators, KU Leuven.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.models import MMRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 2))
    >>> y = X @ [1.0, 2.0] + 0.1 * rng.normal(size=50)
    >>> X[:15], y[:15] = 10.0, -20.0  # leverage, on one line with nothing
    >>> model = MMRegressor().fit(X, y)
    >>> model.coef_.round(1), int(np.sum(model.outlier_weight_ == 0))
    (array([1., 2.]), 15)
    """

    c: float = parameter(POSITIVE, default=4.685061)
    _: KW_ONLY
    covariance: str = parameter(one_of("lmrob", "sandwich"), default="lmrob")
    tol: float = parameter(POSITIVE, default=1e-12)
    max_iter: int = parameter(COUNT, default=500)
    n_starts: int | str = parameter(COUNT, one_of("auto"), default=1)

    def _declare(self, rows: Scores) -> Risk:
        return Risk.from_loss(rows, tukey(0.5 * square(), self.c), l2(0.0))

    def _size(self, criterion: Criterion, residuals: Array, y: Array) -> float:
        scale = float(criterion.value(residuals[None], np.ones(len(y)))[0])
        return max(scale, EXACT * (mad(y - np.median(y)) or np.abs(y).max())) or 1.0

    def _learn(self, declared: Declaration) -> None:
        super()._learn(declared)
        assert declared.unit.start is not None  # the S-estimate
        self._s_estimate = declared.theta(declared.unit.start[None, :-1], declared.unit.start[-1:])
        *coef, self.initial_intercept_ = declared.unit.start
        self.initial_coef_ = np.array(coef)
