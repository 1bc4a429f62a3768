"""Multiclass capped ℓp-norm support vector machine (Nie, Wang, Huang 2017)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, replace

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from dcprog.engine.certificate import criticality_gap
from dcprog.estimators import PaperClassifier
from dcprog.estimators.base import Declaration, Doubt
from dcprog.estimators.loop import Callback, Solution
from dcprog.estimators.parameters import COUNT, NONNEGATIVE, POSITIVE, between, one_of, parameter
from dcprog.losses import squared_hinge
from dcprog.models.capped_single_pass import SinglePassSolver
from dcprog.penalties import l2
from dcprog.risk.risk import Risk
from dcprog.rows.scores import Scores
from dcprog.solvers.registry import register_solver
from dcprog.transforms import Transform, cap_at, cap_largest, power_of

__all__ = ["CappedSVC"]

STALLED = 1e-3  # a gap, relative to the sum of J's terms, at which the single pass has stalled


class CappedSVC(PaperClassifier):
    r"""Linear classifier with a loss of at most ε per sample.

    .. math::
        J_\delta(W, b) = \sum_i \min\{(g_i + \delta)^{p/2}, \varepsilon\} + \gamma \|W\|_F^2,
        \qquad g_i = \|[1 - y_i \circ (W^\top x_i + b)]_+\|_2^2,

    with y_i ∈ {−1, +1}^c, +1 for the class of sample i. The intercepts b are not penalised. Two
    classes have one score (c = 1). The class of the largest score is predicted; for two classes the
    sign of the only score decides.

    A sample's loss is concave in g_i, so the majorant has one weight per sample,

    .. math::
        d_i = \tfrac{p}{2} (g_i + \delta)^{(p-2)/2} \text{ if } (g_i + \delta)^{p/2} \le
        \varepsilon, \text{ otherwise } 0,

    and the subproblem is a weighted squared hinge for each class,
    :math:`\sum_i d_i [1 - y_{ik} f_{ik}]_+^2 + \gamma \|w_k\|^2`.

    Parameters
    ----------
    p : float, default 2.0
        0 < p ≤ 2, the power of the norm of a sample's residual.
    eps : float, optional
        The cap ε > 0. By default the first five majorant updates set it such that at most the share
        `cap_fraction` of the samples, those of largest loss, is capped; then it is fixed.
    cap_fraction : float, default 0.1
        0 ≤ cap_fraction < 1, used with ``eps=None``: ε is the (⌊cap_fraction·n⌋ + 1)-th largest
        (g_i + δ)^{p/2}, or (cap_floor + δ)^{p/2} if that is more.
    cap_floor : float, default 5.0
        The least g at which the cap may be, used with ``eps=None``. 4 is the g of a class's samples
        if its score is −1 everywhere; with a cap up to 4 a class may be given up at no extra cost.
        With 0, as in the publication, ε = (1 + δ)^{p/2} if the sample that sets ε has g_i = 0.
    gamma : float, default 0.3
        γ > 0.
    delta : float, default 1e-8
        The smoothing δ ≥ 0, in the units of g. It must be positive if p < 2.
    algorithm : {"exact", "alternating"}, default "exact"
        ``"exact"`` solves every weighted problem to the end (algorithm 1). ``"alternating"`` makes
        one pass of closed forms for (W, b) and the slacks per reweighting (algorithm 2).
    solver : str, default "auto"
        The solver of the weighted problems of ``"exact"``: ``"newton"`` (finite Newton),
        ``"cvxpy"``, a cvxpy solver by name, or ``"auto"`` for the automatic choice.
    max_iter : int, default 500
        The most reweightings from each start.
    n_starts : int or "auto", default "auto"
        ``"auto"`` races many starts (of the exact algorithm); 1 is the plain run from the squared
        hinge. All runs minimise one function: with ``eps=None`` the first run sets ε for the
        others.

    Attributes
    ----------
    eps_ : float
        The cap ε.
    n_iter_ : int
        The number of reweightings of the run that gave the solution.
    objective_ : float
        J_δ at the solution.
    result_ : Result
        The run, with history and certificate; with ``eps=None`` the values of its first five steps
        are those under the cap as it stood. With ``"alternating"`` the history's gaps are those of
        the pass, and ``result_.gap`` is that of the exact subproblem.

    Notes
    -----
    Differences from the publication:

    - It has a column of W for each class, also for two classes. From opposite starts the columns
      stay opposite, :math:`w_1 = -w_2`, so that its (p, ε, γ) corresponds to one score with the cap
      ε·2^{−p/2} and γ·2^{1−p/2}. ``eps`` and ``gamma`` are those of the single score.
    - Its stationarity theorem needs every g_i off the cap's kink. A sample exactly at the cap keeps
      its weight here; a fixed point is then critical, not always a local minimum.
    - Its weights are infinite at g_i = 0, that is for every well classified sample, if p < 2; δ
      smooths them. J_δ never rises along a run, and J ≤ J_δ ≤ J + nδ^{p/2} for the unsmoothed J.
    - Its heuristic for ε caps all samples if at most the given share has a loss, as for well
      separated classes: W = 0 is then the minimiser. Hence ε = (1 + δ)^{p/2} in this case.
    - It caps a tenth of the samples however small their losses are, so that the middle one of three
      classes in a row may be given up: with p = 1, γ = 1 the accuracy on iris is 77%. Hence
      `cap_floor`, p = 2 and γ = 0.3, with 96%; with ``p=1, gamma=1, cap_floor=0`` the cap is as
      published.
    - Its closed forms divide by Σd. If all samples are capped, W = 0 and b is unchanged.
    - Its single pass (``"alternating"``) stalls for p < 2 and small δ, because a large weight holds
      a satisfied sample at its score; use δ ≈ 1e-4 … 1e-2 there, or ``"exact"``.

    References
    ----------
    Nie, Wang, Huang (2017), Multiclass capped ℓp-norm SVM for robust classifications, AAAI.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.models import CappedSVC
    >>> X = np.array([[0.0], [0.1], [0.2], [0.3], [0.7], [0.8], [0.9], [1.0], [2.0]])
    >>> y = ["low"] * 4 + ["high"] * 4 + ["low"]  # the last one is an outlier
    >>> model = CappedSVC(eps=1.0, gamma=0.01).fit(X, y)
    >>> model.predict([[0.15], [0.85], [2.0]])
    array(['low', 'high', 'high'], dtype='<U4')
    >>> model.result_.status
    'converged'
    """

    _takes_blocks = True

    p: float = parameter(between(0, 2, "right"), default=2.0)
    eps: float | None = parameter(None, POSITIVE, default=None)
    cap_fraction: float = parameter(between(0, 1, "left"), default=0.1)
    gamma: float = parameter(POSITIVE, default=0.3)
    delta: float = parameter(NONNEGATIVE, default=1e-8)
    algorithm: str = parameter(one_of("exact", "alternating"), default="exact")
    _: KW_ONLY
    cap_floor: float = parameter(NONNEGATIVE, default=5.0)
    max_iter: int = parameter(COUNT, default=500)

    def _declare(self, rows: Scores) -> Risk:
        return self._capped(rows, self.eps, self.delta)

    def _declare_fitted(self, rows: Scores) -> Risk:
        return self._capped(rows, self.eps_, self.delta)

    def _capped(self, rows: Scores, eps: float | None, delta: float) -> Risk:
        power = power_of(self.p / 2, delta)
        cap: Transform = cap_largest(self.cap_fraction, power, least=self.cap_floor)
        if eps is not None:
            cap = cap_at(eps, power)
        loss, penalty = squared_hinge(), l2(2 * self.gamma)
        return Risk(rows, loss, aggregate="sum", transform=cap, penalty=penalty)

    def _learn(self, declared: Declaration) -> None:
        super()._learn(declared)
        self.eps_ = float(declared.risk.transform.c)

    def _solution(self, declared: Declaration, callback: Callback) -> Solution:
        if self.algorithm == "exact":
            result = self._run(declared.risk, callback=callback)
            return Solution(result.spec or declared.risk, result)
        result = self._run(declared.risk, "convex", solver="alternating", callback=callback)
        spec, x = result.spec or declared.risk, np.asarray(result.x)
        gap = criticality_gap(spec.surrogate("newton"), x)
        message = f"the single pass ends where the exact subproblem has the gap {gap:.3g}"
        return Solution(spec, replace(result, gap=gap, message=message))

    def _doubts(self, solution: Solution) -> Iterator[Doubt]:
        yield from super()._doubts(solution)
        spec, result = solution.spec, solution.result
        stalled = STALLED * spec.magnitude(np.asarray(result.x))
        if self.algorithm == "alternating" and result.gap > stalled:
            yield f"{result.message}: take algorithm='exact' or a larger delta", ConvergenceWarning

    def _check_combinations(self) -> None:
        if self.delta == 0 and self.p < 2:
            told = "satisfied samples have infinite weights; give a positive delta, such as 1e-8"
            raise ValueError(f"delta=0 with p={self.p}: {told}")
        if self.algorithm == "alternating" and self.solver != "auto":
            told = "its pass is a closed form and takes no solver; leave solver='auto'"
            raise ValueError(f"solver={self.solver!r} with algorithm='alternating': {told}")

    def objective(self, X: npt.ArrayLike, y: npt.ArrayLike, *, delta: float | None = None) -> float:
        """The objective J_δ of the fitted coefficients and cap on the given data.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Labels among ``classes_``.
        delta : float, optional
            The smoothing, by default the model's own, with which the value on the training data is
            ``objective_``. 0 gives the J of the publication.

        Returns
        -------
        float
        """
        smoothed, theta = self._fitted_risk(X, y)
        risk = self._capped(smoothed.rows, self.eps_, self.delta if delta is None else delta)
        return risk.with_penalty(l2(0.0))(theta) + self._penalty_value


register_solver("alternating", SinglePassSolver)
