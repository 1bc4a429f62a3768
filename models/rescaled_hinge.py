"""Support vector machine with the rescaled hinge loss (Xu, Cao, Hu, Príncipe 2017)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, replace
from typing import Any

import numpy as np

from dcprog.engine.result import Result
from dcprog.estimators.base import weights_of_samples
from dcprog.estimators.classifier import squared_distances
from dcprog.estimators.kernel_machine import KernelMachine, Machine
from dcprog.estimators.kernels import KERNELS
from dcprog.estimators.parameters import COUNT, POSITIVE, WIDTH, one_of, parameter
from dcprog.foundation.arrays import Array
from dcprog.losses import Loss, hinge, rescale
from dcprog.risk.risk import Risk

__all__ = ["RescaledHingeSVC", "class_centre_weights"]


class RescaledHingeSVC(KernelMachine):
    r"""Kernel classifier with a bounded loss per sample, the rescaled hinge.

    .. math::
        R_1(w, b) = \tfrac12 \|w\|^2 + C \sum_i l(y_i f(x_i)), \qquad
        l(z) = \beta (1 - e^{-\eta [1 - z]_+}), \quad \beta = 1 / (1 - e^{-\eta}),

    with f = ⟨w, φ(x)⟩ + b, y_i ∈ {−1, +1}, b not penalised. l(0) = 1 and l < β; for η → 0 l tends
    to the hinge. The half-quadratic algorithm of the publication alternates a weighted support
    vector machine with the costs :math:`C_i = C \beta \eta (-v_i)` and the weights

    .. math:: -v_i = e^{-\eta [1 - y_i f(x_i)]_+}.

    The C_i are the slopes of the concave function of the hinge, so this is dcprog's outer loop on
    R_1, started from the machine for the initial weights. R_1 never rises.

    Parameters
    ----------
    C : float, default 1.0
        C > 0.
    eta : float, default 0.5
        η > 0. The publication uses 0.5 without outliers and 2 with outliers.
    kernel : {"rbf", "linear", "poly", "precomputed"} or callable, default "rbf"
        A callable maps X and the training samples to a kernel matrix.
    gamma : {"scale", "auto"} or float, default "scale"
        γ of exp(−γ‖x − z‖²) and of (γ⟨x, z⟩ + coef0)^degree: 1/(d·variance of X), 1/d (the
        publication's), or a number.
    initial_weights : {"ones", "class_center"}, default "ones"
        The weights −v_i of the first machine: 1 for all samples, which gives a plain machine with
        the cost Cβη, or 2/(1 + e^{θ‖x_i − x̄‖}), x̄ the mean of the sample's class (in the kernel's
        space with ``"precomputed"``).
    theta : float, default 1.0
        θ > 0 of ``"class_center"``. The publication gives no value.
    max_iter : int, default 10
        The most weighted machines, the publication's S.
    solver : str, default "auto"
        The solver of the weighted machines: ``"smo"`` (``"auto"``), ``"smo_first_order"``,
        ``"libsvm"``, ``"cvxpy"`` or a cvxpy solver by name. Without a kernel matrix the primal
        problem in w is solved, by an automatic choice such as ``"multipliers"`` (``"auto"``) or by
        cvxpy: with an approximation, and with ``"linear"`` if the matrix exceeds its limit or there
        are at least five times as many samples as features. ``"smo"``, ``"smo_first_order"`` and
        ``"libsvm"`` always use the matrix.
    tol : float, default 1e-8
        Stop before `max_iter` when the criticality gap and the decrease are at most tol times the
        sum of the sizes of R_1's terms.

    Attributes
    ----------
    support_ : int array of shape (s,)
        The samples with a nonzero coefficient; if the coefficients are not known, the samples on or
        inside their margin.
    dual_coef_ : array of shape (m, s)
        The coefficients α_i y_i of the m two-class problems, w = Σ α_i y_i φ(x_i). If a cvxpy
        solver was requested or was the fallback, they are those of some such expansion with a
        kernel matrix, and not set without one.
    weights_ : array of shape (m, n)
        The final weights e^{−η[1 − yf]_+} of each problem's samples, NaN for other samples.
    outlier_weight_ : array of shape (n,)
        The least weight of each sample: 1 for a sample beyond its margins, near 0 for an outlier.
    objective_ : float
        R_1 at the solution, summed over the problems.
    results_ : tuple of Result
        The runs, with history and certificate; ``result_`` is the first.
    n_iter_ : int
        The number of weighted machines fitted, the largest over the problems.

    Warns
    -----
    ConvergenceWarning
        A subproblem solver failed. There is no warning at `max_iter`: ten rounds are the
        publication's algorithm, and ``result_.status`` and ``result_.gap`` show their progress.

    Notes
    -----
    Differences from the publication:

    - Its table 3 prints the bound β = 1.02 for η = 3; it is 1.05 (1.02 belongs to η = 4).
    - R_1 decreases from the first fitted machine on; convergence of the iterates is not proved.
      A fixed point is stationary in Clarke's sense.
    - At most ten rounds are taken: a round that gains less than `tol` is the last. The weighted
      machines are solved to tol/100; rounds that have not converged yet can magnify that error in
      R_1 a hundredfold and more, hence the default, smaller than that of other estimators.
    - b minimises the weighted machine, and is the middle of an interval of minimisers, instead of
      the mean over the samples with 0 < α_i < C_i, which it equals if there are such samples.

    References
    ----------
    Xu, Cao, Hu, Príncipe (2017), Robust support vector machines based on the rescaled hinge loss
    function, Pattern Recognition 63, 139-148, equations (6)-(15).

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.models import RescaledHingeSVC
    >>> X = np.array([[0.0], [0.1], [0.2], [0.8], [0.9], [1.0], [2.0]])
    >>> y = ["low"] * 3 + ["high"] * 3 + ["low"]  # the last one is an outlier
    >>> model = RescaledHingeSVC(C=10.0, eta=2.0, kernel="linear").fit(X, y)
    >>> model.predict([[0.1], [0.9], [2.0]])
    array(['low', 'high', 'high'], dtype='<U4')
    >>> bool(model.outlier_weight_[-1] < 0.01)
    True
    """

    C: float = parameter(POSITIVE, default=1.0)
    eta: float = parameter(POSITIVE, default=0.5)
    kernel: str | Callable[[Any, Any], Array] = parameter(one_of(*KERNELS), callable, default="rbf")
    gamma: str | float = parameter(*WIDTH, default="scale")
    _: KW_ONLY
    initial_weights: str = parameter(one_of("ones", "class_center"), default="ones")
    theta: float = parameter(POSITIVE, default=1.0)
    max_iter: int = parameter(COUNT, default=10)
    solver: str = parameter(str, default="auto")
    tol: float = parameter(POSITIVE, default=1e-8)

    def _loss(self) -> Loss:
        return rescale(hinge(), self.eta)

    def _minimise(self, machine: Machine, risk: Risk, X: Any) -> tuple[Result, int]:
        weights = risk.transform.steepest * self._first_weights(X, machine.signs)
        first = self._run(self._declare(machine, hinge(), weights), self.solver)
        result = self._run(risk, self.solver, start=first.x, max_iter=self.max_iter - 1)
        if result.n_iter == 0:  # the solution is that of the first machine
            result = replace(result, dual=first.dual)
        return result, 1 + result.n_iter

    def _first_weights(self, X: Any, signs: Array) -> Array:
        if self.initial_weights == "ones":
            return np.ones(signs.size)
        return class_centre_weights(X, signs, self.theta, self.kernel == "precomputed")

    def _learn(self, machines: list[Machine], points: list[Array]) -> None:
        n = 1 + max(int(machine.samples.max()) for machine in machines)
        self.weights_ = np.full((len(machines), n), np.nan)
        for row, machine, theta in zip(self.weights_, machines, points, strict=True):
            row[machine.samples] = weights_of_samples(self._declare(machine, self._loss()), theta)
        self.outlier_weight_ = np.nanmin(self.weights_, axis=0)


def class_centre_weights(X: Any, signs: Array, theta: float, is_kernel: bool = False) -> Array:
    r"""The initial weights 2/(1 + e^{θ‖x_i − x̄‖}), with x̄ the mean of the sample's class.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        The kernel matrix, (n, n), if `is_kernel`; distances are then those of the kernel's space.
    signs : array of shape (n,)
        The labels of the two classes.
    theta : float
        θ > 0.
    is_kernel : bool, default False

    Returns
    -------
    array of shape (n,)
        Weights in (0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.models.rescaled_hinge import class_centre_weights
    >>> class_centre_weights(np.array([[0.0], [0.0], [3.0]]), np.array([-1, -1, 1]), 1.0)
    array([1., 1., 1.])
    """
    squared = np.zeros(signs.size)
    for sign in np.unique(signs):
        own = np.flatnonzero(signs == sign)
        if is_kernel:
            K = X[np.ix_(own, own)]
            squared[own] = np.diag(K) - 2 * K.mean(axis=1) + K.mean()
        else:
            squared[own] = squared_distances(X[own], np.ravel(X[own].mean(axis=0)))
    distance = np.sqrt(np.maximum(squared, 0))
    return 2 / (1 + np.exp(np.minimum(theta * distance, 700.0)))
