"""Smooth support vector machines with a 1-norm loss (Shen, Peng 2013; Lee, Mangasarian 2001)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from math import ceil
from typing import Any

import numpy as np

from dcprog.estimators import POSITIVE, PaperClassifier, between, one_of, parameter
from dcprog.estimators.base import Declaration
from dcprog.estimators.loop import Callback, Solution
from dcprog.estimators.robust import risk_of
from dcprog.foundation.errors import DataLost
from dcprog.losses import pade_hinge, sigmoid_hinge, squared, trim
from dcprog.penalties import l2
from dcprog.risk.risk import Risk
from dcprog.rows.scores import Scores

__all__ = ["SmoothSVC"]

SMOOTHINGS = {"pade": pade_hinge, "sigmoid": sigmoid_hinge}
PERCENTILE = 90.0  # one-step filtering leaves out only samples with slacks from this percentile on


class SmoothSVC(PaperClassifier):
    r"""Linear classifier with a smoothed hinge and a penalised intercept.

    .. math::
        F(w, b) = \tfrac12 (\|w\|^2 + b^2) + C \sum_i \rho(t_i, \eta),
        \qquad t_i = 1 - y_i (w^\top x_i + b),

    with y_i ∈ {−1, +1} and ρ a smoothing of [t]_+ that lies above it: by at most 0.1/η for
    ``"pade"``, which is :math:`(1 + x)^5 / (2\eta(5 + 10x^2 + x^4))` with x = ηt inside the band
    |t| < 1/η and exactly [t]_+ outside, and by at most log(2)/η for ``"sigmoid"``, which is
    :math:`\log(1 + e^{\eta t}) / \eta`. With ``slack_norm=2`` the loss is
    :math:`\tfrac{C}{2} \sum_i \rho(t_i, \eta)^2`.

    F is strongly convex. Its unique minimiser θ_η tends to the support vector machine θ* with a
    penalised intercept: by strong convexity ‖θ_η − θ*‖² ≤ C·m·max(ρ − [t]_+), which is 0.1·C·m/η
    for Padé and m samples. A far smaller bound from the slacks t_i of the fit is
    ‖θ_η − θ*‖² ≤ C Σ_i ([t_i]_+ − t_i ρ'(t_i)), the duality gap at α_i = Cρ'(t_i). The publication
    bounds ρ − [t]_+, not the distance of the minimisers. Newton's method with Armijo's rule finds
    θ_η; for Padé ρ is curved in the band |t| < 1/η only.

    More than two classes are fitted one against the rest, each with its own F.

    Parameters
    ----------
    C : float, default 1.0
        C > 0.
    eta : float, default 10.0
        The sharpness η > 0.
    smoothing : {"pade", "sigmoid"}, default "pade"
        The smoothing ρ.
    slack_norm : {1, 2}, default 1
        The power of ρ in the loss.
    outlier_ratio : float, default 0.0
        0 ≤ ratio < 1. The K = ⌈ratio·m⌉ samples of largest loss are left out.
    filtering : {"one_step", "trimmed"}, default "one_step"
        ``"one_step"`` fits all samples, leaves out K of them, and fits the rest once. As published,
        only samples whose slack is not below the 90th percentile are left out, which matters if
        ratio > 0.1. ``"trimmed"`` minimises ½(‖w‖² + b²) plus the loss without its K largest terms,
        a difference of convex functions, to a critical point. The former is one step of the latter.
    solver : str, default "auto"
        ``"newton"``, with Armijo's rule (``"auto"``), or, for the sigmoid, ``"cvxpy"`` or a cvxpy
        solver by name.
    tol : float, default 1e-6
        Stop when the criticality gap and the decrease are at most tol·F. With ``outlier_ratio=0`` F
        is convex, and Newton's method converges to rounding accuracy.
    max_iter : int, default 100
        The most steps of the trimmed loss from each start.
    n_starts : int or "auto", default "auto"
        The starts of the trimmed loss: ``"auto"`` races many of them, 1 is the run from the plain
        fit. With ``outlier_ratio=0``, where F is convex, and with ``"one_step"`` one run is made
        whatever `n_starts` is.

    Attributes
    ----------
    outlier_ : bool array of shape (m,)
        The samples that the last fit left out.
    n_iter_ : int
        The number of steps after the plain fit, at least 1.
    objective_ : float
        The trimmed F at the solution; F itself if ``outlier_ratio=0``.
    result_ : Result
        The run, with history and certificate. After ``"one_step"`` its gap measures the distance of
        the point from criticality for the trimmed loss.
    spec_ : Risk
        The minimised function of θ = (w_1, …, w_c, b).

    Notes
    -----
    Differences from the publication:

    - It prints 11 for the 10 of the denominator; with 11 the loss jumps at |t| = 1/η.
    - It states ρ > [t]_+ everywhere and ρ''(1/η) = 1; but ρ = [t]_+ and ρ'' = 0 for |t| ≥ 1/η.
    - Its claim that the Padé smoothing withstands outliers that defeat the sigmoid does not hold if
      both are minimised to the end: all 1-norm losses have the breakdown point of the hinge. Use
      ``outlier_ratio`` against outliers: in one step if the plain fit has not broken down,
      otherwise with ``filtering="trimmed"`` and several `n_starts`.
    - For c > 2 classes a sample's loss is the sum over its c margins, and whole samples are left
      out. One step of the trimmed loss then orders them by Σρ, not by their slack, from which it
      differs by at most 0.1c/η (Padé).

    References
    ----------
    Shen, Peng (2013), A new smooth support vector machine with 1-norm penalty term, iJOE 9.
    Lee, Mangasarian (2001), SSVM: a smooth support vector machine, Comput. Optim. Appl. 20.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.models import SmoothSVC
    >>> X = np.array([[-2.0], [-1.5], [-1.0], [1.0], [1.5], [2.0], [-4.0]])
    >>> y = ["low", "low", "low", "high", "high", "high", "high"]  # the last one is an outlier
    >>> SmoothSVC().fit(X, y).coef_.round(2)
    array([[-0.58]])
    >>> model = SmoothSVC(outlier_ratio=1 / 7).fit(X, y)
    >>> model.coef_.round(2), np.flatnonzero(model.outlier_)
    (array([[-1.]]), array([6]))
    >>> model.predict([[-1.0], [1.0], [-4.0]])
    array(['low', 'high', 'low'], dtype='<U4')
    """

    _takes_blocks = True

    C: float = parameter(POSITIVE, default=1.0)
    eta: float = parameter(POSITIVE, default=10.0)
    smoothing: str = parameter(one_of(*SMOOTHINGS), default="pade")
    slack_norm: int = parameter(one_of(1, 2), default=1)
    outlier_ratio: float = parameter(between(0, 1, "left"), default=0.0)
    filtering: str = parameter(one_of("one_step", "trimmed"), default="one_step")

    def _declare(self, rows: Scores) -> Risk:
        """The risk without the K samples of largest loss, ignoring the 90th percentile rule."""
        m = rows.X.shape[0]
        dropped = ceil(self.outlier_ratio * m - 1e-9)  # safe against rounding: 0.07 of 100 is 7
        if dropped >= m:
            raise ValueError(f"outlier_ratio={self.outlier_ratio!r} leaves none of {m} samples")
        return self._trimmed(rows, dropped / m)

    def _declare_fitted(self, rows: Scores) -> Risk:
        return self._trimmed(rows, self.spec_.transform.fraction)

    def _trimmed(self, rows: Scores, fraction: float) -> Risk:
        smooth = SMOOTHINGS[self.smoothing](self.eta)
        loss = trim(smooth if self.slack_norm == 1 else squared(smooth), fraction)
        weights = np.full(rows.X.shape[0], self.C / self.slack_norm)
        return risk_of(rows, loss, l2(1.0), weights, penalized=np.ones(rows.shape[1]))

    def _solution(self, declared: Declaration, callback: Callback) -> Solution:
        spec = declared.risk
        if self.filtering == "trimmed" or not spec.transform.fraction:
            several = {} if spec.transform.fraction else {"n_starts": 1}  # all losses: convex
            result = self._run(spec, callback=callback, **several)
            self._leave_out(spec, result.x)
            return Solution(spec, result)
        plain = self._trimmed(spec.rows, 0.0)
        fitted = self._run(plain, n_starts=1, callback=callback)
        if fitted.status == "interrupted":
            self._leave_out(plain, fitted.x)
            return Solution(plain, fitted)
        start: Any = fitted.x
        try:
            margins = plain.margins(start).reshape(spec.rows.X.shape[0], -1)
        except DataLost as lost:
            self._leave_out(plain, start)
            return Solution(plain, replace(fitted, status="interrupted", message=str(lost)))
        slack = np.maximum(1 - margins, 0).sum(axis=1)
        large = float(np.mean(slack >= np.percentile(slack, PERCENTILE)))
        spec = self._trimmed(spec.rows, min(spec.transform.fraction, large))
        self._leave_out(spec, start)
        step = self._run(spec, start, max_iter=1, n_starts=1, escape=False, callback=callback)
        return Solution(spec, step, judged=fitted)

    def _leave_out(self, spec: Risk, theta: Any) -> None:
        """Keep which samples the trimmed loss leaves out at θ."""
        self.outlier_ = np.zeros(spec.rows.X.shape[0], dtype=bool)
        with suppress(DataLost):
            self.outlier_ = spec.transform.slope(spec.aggregates(theta)) == 0
