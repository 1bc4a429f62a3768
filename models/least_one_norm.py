"""Least 1-norm support vector machine (López, Dorronsoro), and the published ways to its dual."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import cvxpy as cp
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.svm import SVC, SVR
from sklearn.utils.validation import check_is_fitted

from dcprog.engine.result import Result
from dcprog.estimators.kernel_machine import KernelMachine, Machine
from dcprog.estimators.kernels import KERNELS
from dcprog.estimators.parameters import POSITIVE, WIDTH, one_of, parameter
from dcprog.foundation.arrays import Array
from dcprog.losses import Loss, absolute, epsilon_insensitive, hinge
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.solvers.conic.compiled import CompiledProblem, installed_solvers
from dcprog.solvers.kernel.smo import Dual, SmoSolver, warm
from dcprog.solvers.protocol import refuse
from dcprog.solvers.registry import register_solver

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
        known = DUAL if machine.rows.kernel is not None else PRIMAL
        result = self._run(risk, known.get(self.solver, self.solver))
        if self.solver == "auto" and result.status != "converged":
            other = self._run(risk, known["qp"])
            result = min(result, other, key=lambda run: (run.status != "converged", run.value))
        counts_steps = self.solver in DUAL and self.solver != "qp"
        return result, result.solver_steps if counts_steps else 1

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


# ---- solvers of the dual -------------------------------------------------------------------------

CACHE_MB = 500
TOLERANCE = 1e-4
NEAR = 1e-6
ACCURACY = 1e-9


class FirstOrderSmoSolver(SmoSolver):
    """SMO that always chooses the most violating pair among all variables, as first published.

    References
    ----------
    Keerthi, Shevade, Bhattacharyya, Murthy (2001), Improvements to Platt's SMO algorithm for SVM
    classifier design, Neural Computation 13.
    """

    on_request: ClassVar[str | None] = "it takes more and dearer steps than smo"

    selection: ClassVar[str] = "first"
    max_iter: ClassVar[int | None] = 100_000_000


class LibsvmSolver(SmoSolver):
    r"""Minimise Σ_i d_i base(u_i) + (λ/2)‖f‖² by LIBSVM, over f and a free intercept.

    LIBSVM's stopping rule bounds the violation of its optimality conditions, not the objective, and
    its kernel has single precision: on half of our problems its duality gap stalls above the
    tolerance. Its solution is therefore the start of :class:`SmoSolver`, which measures the gap in
    double precision and continues if it is too large.

    Parameters
    ----------
    risk : Risk
        ``hinge(1)`` of the margins of a kernel machine, or ``absolute`` or ``epsilon_insensitive``
        of its margins or residuals, with a free intercept and nothing subtracted. A margin's
        distance |at − y f| from a point is the residual |y·at − f|.

    References
    ----------
    Chang, Lin (2011), LIBSVM: a library for support vector machines, ACM TIST 2.
    """

    on_request: ClassVar[str | None] = "smo goes on from its last solution, and is faster then"

    @staticmethod
    def refusal(risk: Risk) -> str | None:
        """The reason why LIBSVM cannot solve a risk, None if it can."""
        base = risk.base
        if risk.subtracted is not None:
            return "it subtracts a loss, whose tilts LIBSVM does not take"
        if isinstance(base, absolute | epsilon_insensitive):
            return SmoSolver.refusal(risk)
        if isinstance(base, hinge) and base.at == 1 and risk.offset is None:
            return SmoSolver.refusal(risk)
        return f"its base is {base!r}, not hinge(1) of margins, absolute or epsilon_insensitive"

    def _start(self, dual: Dual, problem: WeightedRisk, start: Array) -> Array:
        """LIBSVM's solution, with each sample's coefficient split among its kinks."""
        refuse("libsvm", tilts=problem.tilts)
        weight, is_hinge = problem.row_weights / self.lam, isinstance(self.risk.base, hinge)
        # the label for a hinge, otherwise the target of the residual
        target = dual.q.reshape(len(self.knots), -1).mean(axis=0)
        kept, c = np.flatnonzero(weight), np.zeros(len(target))
        if kept.size and (not is_hinge or np.unique(target[kept]).size > 1):
            options = {"C": 1.0, "kernel": "precomputed", "tol": TOLERANCE, "cache_size": CACHE_MB}
            machine = SVC(**options) if is_hinge else SVR(epsilon=np.ptp(self.knots) / 2, **options)
            K = self.rows.kernel[np.ix_(kept, kept)] if kept.size < len(c) else self.rows.kernel
            machine.fit(K, target[kept], sample_weight=weight[kept])
            c[kept[machine.support_]] = machine.dual_coef_[0]
        return warm(dual, dual.split(c))


class DualQpSolver(SmoSolver):
    r"""Solve min ½ cᵀKc − q·v over lo ≤ v ≤ hi, Σv = 0, by a general quadratic program solver.

    It is an independent way to the dual solution: a primal solved by cvxpy gives some coefficients
    of the same f, not multipliers. SMO starts from the program's solution and completes it to the
    tolerance, with the same certificate.

    Parameters
    ----------
    risk : Risk
        As for :class:`~dcprog.solvers.kernel.smo.SmoSolver`.
    """

    on_request: ClassVar[str | None] = "a general solver is slower than smo on the same dual"

    def _start(self, dual: Dual, problem: WeightedRisk, start: Array) -> Array:
        """The program's solution, with entries close to a bound set to the bound."""
        n, m = len(self.rows.kernel), dual.q.size
        if not np.any(dual.hi > dual.lo):
            return super()._start(dual, problem, start)
        size = float(np.max(dual.hi - dual.lo))  # scales unknowns to 1
        v = cp.Variable(m)
        c = sp.csr_array((np.ones(m), (dual.sample, np.arange(m))), shape=(n, m)) @ v
        form = size / 2 * cp.quad_form(c, cp.psd_wrap(self.rows.kernel))
        bounds = [cp.sum(v) == 0, v >= dual.lo / size, v <= dual.hi / size]
        program = CompiledProblem(cp.Problem(cp.Minimize(form - dual.q @ v), bounds), "CLARABEL")
        program.minimise(ACCURACY)
        found, near = size * np.asarray(v.value, dtype=float), NEAR * (dual.hi - dual.lo)
        found = np.where(found <= dual.lo + near, dual.lo, found)
        return warm(dual, np.where(found >= dual.hi - near, dual.hi, found))


register_solver("dual_qp", DualQpSolver)
register_solver("libsvm", LibsvmSolver)
register_solver("smo_first_order", FirstOrderSmoSolver)
