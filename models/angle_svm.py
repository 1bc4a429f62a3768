"""Robust angle-based multicategory support vector machines (Zhang, Pham, Fu, Liu 2018)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from dcprog.engine.result import Result
from dcprog.estimators import NONNEGATIVE, POSITIVE, PaperClassifier, between, one_of, parameter
from dcprog.estimators.base import Declaration, Doubt
from dcprog.estimators.kernels import Kernel, KernelOption
from dcprog.estimators.loop import Solution
from dcprog.estimators.parameters import WIDTH
from dcprog.estimators.robust import risk_of
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import FisherConsistencyWarning
from dcprog.losses import Loss, cap, hinge
from dcprog.models.angle_consistency import inconsistency
from dcprog.penalties import Penalty, elastic_net, l1, l2
from dcprog.risk.risk import Risk
from dcprog.rows.angle import angle_differences, angle_margins

__all__ = ["AngleSVC"]


class AngleSVC(KernelOption, PaperClassifier):
    r"""Classifier of k classes by k − 1 functions, with truncated hinges as losses.

    Class j is the vertex W_j of a regular simplex. The sample x has the scores
    :math:`u_j = \langle W_j, f(x) \rangle`, which sum to 0, and the class of the largest score is
    predicted. With :math:`H_a(u) = [a - u]_+`, :math:`G_a(u) = [a + u]_+`, β = (β_1, …, β_{k−1})
    and :math:`f_q(x) = x^\top \beta_q`, the objective is

    .. math::
        \sum_i \phi(u(x_i), y_i) + \lambda_1 \|\beta\|_1 + \tfrac{\lambda_2}{2} \|\beta\|_2^2,

    a sum over the samples and not a mean. Loss 1, ``form=1``, is

    .. math::
        \phi_1 = \gamma [H_{k-1}(u_y) - H_{(k-1)s}(u_y)]
            + (1 - \gamma) \sum_{j \ne y} [G_1(u_j) - G_s(u_j)],

    and loss 2, ``form=2``, with the margin :math:`m = \min_{j \ne y} (u_y - u_j)`, is

    .. math:: \phi_2 = H_1(m) - H_s(m).

    With truncation at s ≤ 0 the loss of a sample is at most (k−1)(1−s) for loss 1 and 1−s for loss
    2.

    A truncated hinge is a capped one, H_1 − H_s = min{H_1, 1 − s}, and has two majorants at a
    point: the hinge with weight 0 for margins below s and 1 otherwise, or the hinge plus the
    tangent of −H_s, as in the publication's difference-of-convex algorithm. The first is tighter.

    Parameters
    ----------
    form : {1, 2}, default 2
        Loss 1 (RSVM1) or 2 (RSVM2). Loss 1 cannot separate a class that lies between two others: on
        standardised iris its accuracy is 0.69, that of loss 2 is 0.97.
    truncation : "auto", float or None, default "auto"
        s ≤ 0; ``"auto"`` is −1/(k−1), as recommended. None gives the convex loss: the reinforced
        hinge of angle-based machines, or the pairwise hinge.
    gamma : float, default 0.5
        0 ≤ γ ≤ 1, the weight of the own class in loss 1. Every minimiser of the expected loss is
        right (Fisher consistency) for γ ≤ :func:`~dcprog.models.fisher_gamma`, which is 1/k with
        the default truncation. At the default 1/2, the value of the literature, some minimiser is
        right, but others may not be. For loss 2, which has no γ, every minimiser is right if
        −1/(k−1) ≤ s ≤ 0. With two classes both losses are consistent.
    penalty : {"l2", "l1", "elasticnet"}, default "l2"
        ``"l2"`` sets λ2 = `lam`, ``"l1"`` λ1 = `lam`, and ``"elasticnet"`` both by `lam1`, `lam2`.
    lam : float, default 1.0
        λ > 0.
    lam1, lam2 : float, optional
        λ1, λ2 ≥ 0 of ``"elasticnet"``, not both 0; `lam` by default.
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable, optional
        :math:`f_q(x) = \sum_j a_{qj} k(x, x_j)` with the penalty λ2/2·Σ_q a_qᵀKa_q; `penalty` must
        be ``"l2"``. A callable maps two sets of samples to their kernel matrix. By default f is
        linear.
    kernel_gamma : {"scale", "auto"} or float, default "scale"
        γ of ``"rbf"``, exp(−γ‖x − z‖²), and ``"poly"``, (γ⟨x, z⟩ + coef0)^degree: 1/(d·variance of
        X), 1/d, or a number.
    fit_intercept : bool, default True
        Append a constant feature 1, penalised like the others. The publication has no intercept.
    majorant : {"cap", "dc"}, default "cap"
        The majorant with weights, or with the tangents of the publication. The objective is equal;
        the runs may end at different critical points.
    n_starts : int or "auto", default "auto"
        ``"auto"`` races many starts; 1 is the plain run from the convex problem without truncation.

    Attributes
    ----------
    coef_ : array of shape (k − 1, d)
        The coefficients β_q as rows. Not set with a kernel other than ``"linear"``.
    dual_coef_ : array of shape (k − 1, n)
        The coefficients a, with a kernel.
    simplex_ : array of shape (k, k − 1)
        The vertices W_j.
    truncation_ : float or None
        The truncation s.

    Warns
    -----
    FisherConsistencyWarning
        Not every minimiser of the expected loss is right; the message says whether some minimiser
        is. This is so with ``form=1`` and γ = 1/2 for three or more classes, unless the truncation
        is None or at most −(k−1); choose γ = 1/k, or loss 2.

    See Also
    --------
    AngleSVCCV : Choose the penalty by cross-validation.
    angle_path : The solutions for many penalties.

    Notes
    -----
    The order of the classes determines the vertex of each class. Another order is a rotation of the
    simplex: with ``"l2"``, and with a kernel, it does not change the objective or the scores of
    each class. ‖β‖₁ is not invariant under rotations: with ``"l1"`` and ``"elasticnet"`` it matters
    which class comes first (the order of the others does not, and with k = 4 no order matters).

    Differences from the publication: its H of loss 1 has H_s where H_{(k−1)s} is meant; its
    experiments print s = 1/(k−1) for −1/(k−1); its range of Fisher consistency for loss 1 is too
    large in either reading (:func:`~dcprog.models.is_fisher_consistent`).

    References
    ----------
    Zhang, Pham, Fu, Liu (2018), Robust multicategory support vector machines using difference
    convex algorithm, Math. Program. 169, 277–305.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.models import AngleSVC
    >>> X = np.array([[1, 0], [2, 0], [1, 1], [0, 2], [-1, 1], [0, 1], [-1, -1], [-1, -2], [3, -1]])
    >>> y = ["east"] * 3 + ["north"] * 3 + ["south"] * 2 + ["north"]  # the last one is an outlier
    >>> model = AngleSVC(1, gamma=1 / 3, lam=0.01).fit(X, y)
    >>> int(np.sum(model.predict(X) != y)), model.predict(X[-1:])
    (1, array(['east'], dtype='<U5'))
    >>> convex = AngleSVC(1, gamma=1 / 3, lam=0.01, truncation=None).fit(X, y)
    >>> int(np.sum(convex.predict(X) != y))
    2
    >>> bool(np.isclose(model.objective(X, y), model.objective_))
    True
    """

    form: int = parameter(one_of(1, 2), default=2)
    truncation: str | float | None = parameter(
        one_of("auto"), between(None, 0, "right"), None, default="auto"
    )
    gamma: float = parameter(between(0, 1), default=0.5)
    penalty: str = parameter(one_of("l2", "l1", "elasticnet"), default="l2")
    lam: float = parameter(POSITIVE, default=1.0)
    lam1: float | None = parameter(None, NONNEGATIVE, default=None)
    lam2: float | None = parameter(None, NONNEGATIVE, default=None)
    _: KW_ONLY
    kernel_gamma: str | float = parameter(*WIDTH, default="scale")
    fit_intercept: bool = parameter("boolean", default=True)
    majorant: str = parameter(one_of("cap", "dc"), default="cap")

    def _declare(self, rows: Any) -> Risk:
        """The risk: hinges at 1 of the rows of either loss, capped or truncated at s."""
        s = self._truncation(rows.n_scores + 1)
        loss: Loss = hinge()
        if s is not None:
            loss = cap(loss, 1 - s) if self.majorant == "cap" else loss - hinge(s)
        penalty, penalized = self.declared_penalty(), np.ones(rows.shape[1])
        if self.form == 2:
            return risk_of(rows, loss, penalty, None, penalized, "max")
        weights = np.where(rows.own, self.gamma * rows.n_scores, 1 - self.gamma)
        return Risk.from_loss(rows, loss, penalty, weights, penalized=penalized)

    def _margins(self, k: int) -> Callable[..., Any]:
        return angle_margins if self.form == 1 else angle_differences

    def _kernel_at(self, X: Any) -> Kernel | None:
        return self._kernel_of(X, self.kernel_gamma, slice(None), None)

    def _truncation(self, k: int) -> float | None:
        if isinstance(self.truncation, str):
            return -1 / (k - 1)
        return None if self.truncation is None else float(self.truncation)

    def _check_combinations(self) -> None:
        self.declared_penalty()
        if self.kernel is not None and self.penalty != "l2":
            raise self._refuse_kernel(self.penalty, "penalty='l2'")

    def declared_penalty(self) -> Penalty:
        """The penalty λ1‖β‖₁ + (λ2/2)‖β‖² of the parameters."""
        both = (self.lam1, self.lam2)
        if self.penalty != "elasticnet":
            if both != (None, None):
                told = f"lam1={self.lam1}, lam2={self.lam2} with penalty={self.penalty!r}"
                raise ValueError(f"{told}: they are of 'elasticnet'; give lam")
            return l2(self.lam) if self.penalty == "l2" else l1(self.lam)
        lam1, lam2 = (self.lam if lam is None else lam for lam in both)
        if lam1 == lam2 == 0:
            raise ValueError("lam1=0 and lam2=0: nothing is penalised; one must be positive")
        return elastic_net(lam1, lam2)

    def minimise(self, spec: Risk, start: Any = "convex") -> Result:
        """Minimise a risk from :meth:`spec` with the estimator's options.

        Parameters
        ----------
        spec : Risk
        start : str, array or Result, default "convex"
            As in :func:`dcprog.solve`.

        Returns
        -------
        Result
            With an ℓ1 penalty its point has exact zeros.

        Raises
        ------
        ValueError
            No point was found, because the numbers are too large.
        """
        return self._run_refined(spec, start)

    def _learn(self, declared: Declaration) -> None:
        super()._learn(declared)
        self.truncation_ = self._truncation(len(self.classes_))

    def _doubts(self, solution: Solution) -> Iterator[Doubt]:
        yield from self.inconsistency(solution.spec.rows.n_scores + 1)
        yield from super()._doubts(solution)

    def inconsistency(self, k: int) -> list[Doubt]:
        """The warning that the loss is not Fisher consistent for k classes, if it is not."""
        reason = inconsistency(self.form, k, self._truncation(k), self.gamma)
        return [] if reason is None else [(reason, FisherConsistencyWarning)]

    def _class_scores(self, scores: Array) -> Array:
        """The scores u_j = ⟨W_j, f(x)⟩; for two classes the second, which is minus the first."""
        u = scores @ self.simplex_.T
        return u[:, 1:] if len(self.classes_) == 2 else u
