"""Least 1-norm support vector machine (López, Dorronsoro)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from dcprog.engine.result import Result
from dcprog.estimators.kernel_machine import KernelMachine, Machine
from dcprog.estimators.kernels import KERNELS
from dcprog.estimators.parameters import POSITIVE, WIDTH, one_of, parameter
from dcprog.foundation.arrays import Array
from dcprog.losses import Loss, absolute
from dcprog.risk.risk import Risk
from dcprog.solvers.conic.compiled import installed_solvers
from dcprog.solving.driver import solve

__all__ = ["LeastOneNormSVC", "Optimality"]

# Solvers for kernel expansions (DUAL), which must give dual coefficients, and for features.
DUAL = {"auto": "smo", "smo": "smo_first_order", "libsvm": "libsvm", "qp": "dual_qp"}
PRIMAL = DUAL | {"auto": "auto", "qp": "cvxpy"}


@dataclass(frozen=True)
class Optimality:
    """Violations of the optimality conditions by coefficients a = αy of a two-class problem.

    Attributes
    ----------
    stationarity : float
        The largest violation of: yf = 1 for −C < α < C, yf ≤ 1 for α = C, yf ≥ 1 for α = −C.
    balance : float
        The absolute value |Σ α_i y_i|.
    box : float
        The largest excess of |α_i| over C.
    gap : float
        The primal minus the dual value.
    intercepts : (float, float)
        The interval of optimal b: [max_{a<C} r, min_{a>−C} r], r = y − Ka. If some −C < α < C, it
        is a point up to the solver's accuracy, and its ends may be swapped.
    """

    stationarity: float
    balance: float
    box: float
    gap: float
    intercepts: tuple[float, float]


class LeastOneNormSVC(KernelMachine):
    r"""Kernel classifier that penalises the distance of a margin from 1, on either side.

    .. math:: \min_{w, b} \tfrac12 \|w\|^2 + C \sum_i |1 - y_i f(x_i)|, \qquad
        f = \langle w, \phi(x) \rangle + b,

    with y_i ∈ {−1, +1} and b not penalised. As |1 − yf| = |y − f|, this is ε-insensitive regression
    on the labels with ε = 0. The dual is

    .. math::
        \min_\alpha \tfrac12 \sum_{ij} \alpha_i \alpha_j y_i y_j k_{ij} - \sum_i \alpha_i,
        \qquad \sum_i \alpha_i y_i = 0, \quad -C \le \alpha_i \le C.

    A sample's coefficient is bounded, unlike that of a least squares machine. The problem is
    convex: one solve gives its minimiser.

    Parameters
    ----------
    C : float, default 1.0
        C > 0.
    kernel : {"rbf", "linear", "poly", "precomputed"} or callable, default "rbf"
        A callable maps X and the training samples to a kernel matrix.
    gamma : {"scale", "auto"} or float, default "scale"
        γ of exp(−γ‖x − z‖²), the publication's 1/(2σ²), and of (γ⟨x, z⟩ + coef0)^degree.
    solver : {"auto", "smo", "libsvm", "qp"} or a cvxpy solver by name, default "auto"
        ``"auto"`` is SMO with second-order pairs, a working set and final Newton steps. ``"smo"``
        is the publication's SMO, which chooses the most violating pair; `n_iter_` counts its pairs.
        ``"libsvm"`` is LIBSVM's regression with ε = 0, and ``"qp"`` the dual as a quadratic program
        through cvxpy; SMO completes both to the tolerance. Without a kernel matrix ``"auto"``
        solves the primal problem in w: with an approximation, and with ``"linear"`` if the matrix
        exceeds its limit or there are at least five times as many samples as features. ``"smo"``
        and ``"libsvm"`` always use the matrix; so does ``"qp"``, except with an approximation,
        whose primal problem it solves by cvxpy. A solver of cvxpy's, such as ``"ECOS"``, solves
        the primal problem, in the coefficients of the expansion if there is a kernel matrix.
    approximation : {"nystroem"}, optional
        Replace the kernel matrix by the features of scikit-learn's ``Nystroem``; with ``"auto"`` or
        ``"qp"``.
    tol : float, default 1e-6
        The tolerance of the objective, relative to 1 + its value; the solvers' duality gap
        certifies a hundredth of it.

    Attributes
    ----------
    support_ : int array of shape (s,)
        The samples with a nonzero coefficient, which are most of them.
    dual_coef_ : array of shape (m, s)
        The coefficients α_i y_i ∈ [−C, C] of the m two-class problems, w = Σ α_i y_i φ(x_i); not
        set if cvxpy solved the primal problem.
    intercept_ : array of shape (m,)
        The intercepts; if all |α_i| = C, the middle of the interval of optimal b.
    objective_ : float
        The objective, summed over the two-class problems.
    results_ : tuple of Result
        The runs; ``result_`` is the first.
    n_iter_ : int
        The number of pairs that SMO moved, the largest over the problems. Without a kernel matrix
        the primal solver's steps; 1 for a solver that does not count them.

    Warns
    -----
    ConvergenceWarning
        The solver failed.

    Notes
    -----
    The publication's conclusion omits the bias: α_i = −C follows from y_i f(x_i) > 1. Its SMO stops
    at a violation of 1e-3 of the optimality conditions, this class at a duality gap. |α_i| ≤ C
    bounds the coefficient of a sample, not its influence: with the linear kernel it contributes
    α_i y_i x_i, however far x_i is.

    References
    ----------
    López, Dorronsoro, Least 1-norm SVMs: a new SVM variant between standard and LS-SVMs, ESANN.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.models import LeastOneNormSVC
    >>> X = np.array([[0.0], [0.1], [0.2], [0.8], [0.9], [1.0]])
    >>> y = [0, 0, 0, 1, 1, 1]
    >>> model = LeastOneNormSVC(C=2.0, kernel="linear").fit(X, y)
    >>> model.predict([[0.3], [0.7]])
    array([0, 1])
    >>> bool(np.all(np.abs(model.dual_coef_) <= 2))
    True
    """

    C: float = parameter(POSITIVE, default=1.0)
    kernel: str | Callable[[Any, Any], Array] = parameter(one_of(*KERNELS), callable, default="rbf")
    gamma: str | float = parameter(*WIDTH, default="scale")
    solver: str = parameter(one_of(*DUAL, *installed_solvers()), default="auto")
    _: KW_ONLY
    tol: float = parameter(POSITIVE, default=1e-6)

    def _loss(self) -> Loss:
        return absolute(at=1.0)

    def _minimise(self, machine: Machine, risk: Risk, X: Any) -> tuple[Result, int]:
        options: dict[str, Any] = {"tol": self.tol, "verbose": bool(self.verbose)}
        known = DUAL if machine.rows.kernel is not None else PRIMAL
        result = solve(risk, solver=known.get(self.solver, self.solver), **options)
        if self.solver == "auto" and result.status != "converged":
            result = min(result, solve(risk, solver=known["qp"], **options), key=_rank)
        counted = self.solver in DUAL and self.solver != "qp"
        steps = result.solver_steps if counted else 1
        return result, steps

    def optimality(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Optimality:
        """The violations of the optimality conditions by the fitted function on its training data.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The training samples.
        y : array of shape (n,)
            The training labels, of two classes.

        Returns
        -------
        Optimality

        Raises
        ------
        ValueError
            There are more than two classes, or no dual coefficients.
        """
        check_is_fitted(self)
        if len(self.classes_) != 2 or not hasattr(self, "dual_coef_"):
            raise ValueError("the conditions are those of two classes with dual coefficients")
        signs = np.where(np.asarray(y) == self.classes_[1], 1.0, -1.0)
        f = self.decision_function(X)
        a = np.zeros(signs.size)
        a[self.support_] = self.dual_coef_[0]
        return optimality(a, f - self.intercept_[0], signs, float(self.intercept_[0]), self.C)


def optimality(a: Array, Ka: Array, signs: Array, b: float, C: float) -> Optimality:
    """The violations of the optimality conditions by coefficients a = αy and an intercept.

    Parameters
    ----------
    a, Ka, signs : arrays of shape (n,)
    b, C : float

    Returns
    -------
    Optimality
    """
    r = signs - Ka
    low, high = a <= -C * (1 - 1e-12), a >= C * (1 - 1e-12)
    short = np.where(low, r - b, np.where(high, b - r, np.abs(r - b)))
    upper = float(np.min(r, where=~low, initial=np.inf))
    lower = float(np.max(r, where=~high, initial=-np.inf))
    norm = float(a @ Ka)
    primal = norm / 2 + C * float(np.sum(np.abs(r - b)))
    return Optimality(
        stationarity=max(0.0, float(np.max(short))),
        balance=abs(float(np.sum(a))),
        box=max(0.0, float(np.max(np.abs(a))) - C),
        gap=primal + norm / 2 - float(signs @ a),
        intercepts=(lower, upper),
    )


def _rank(result: Result) -> tuple[bool, float]:
    """A sort key: converged results first, then lower values."""
    return result.status != "converged", np.inf if result.x is None else result.value
