"""The published ways to the dual of the least 1-norm machine: SMO, LIBSVM, a quadratic program."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from sklearn.svm import SVC, SVR

from dcprog.foundation.arrays import Array
from dcprog.losses import absolute, epsilon_insensitive, hinge
from dcprog.solvers.conic.compiled import CompiledProblem
from dcprog.solvers.kernel.smo import Dual, SmoSolver, warm
from dcprog.solvers.protocol import refuse

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk
    from dcprog.risk.weighted import WeightedRisk

__all__ = ["DualQpSolver", "FirstOrderSmoSolver", "LibsvmSolver"]

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

    on_request: ClassVar[str | None] = (
        "smo starts from the last solution and is faster from the second step on"
    )

    @staticmethod
    def refusal(risk: Risk) -> str | None:
        """The reason why LIBSVM cannot solve a risk, None if it can."""
        reason = SmoSolver.refusal(risk)
        if reason is not None:
            return reason
        if risk.subtracted is not None:
            return "it subtracts a loss, whose tilts LIBSVM does not take"
        base = risk.base
        margins = isinstance(base, hinge) and base.at == 1 and risk.offset is None
        if not (margins or isinstance(base, absolute | epsilon_insensitive)):
            return f"its base is {base!r}, not hinge(1) of margins, absolute or epsilon_insensitive"
        return None

    def _start(self, dual: Dual, problem: WeightedRisk, start: Array) -> Array:
        """LIBSVM's solution, with each sample's coefficient split among its kinks."""
        refuse("libsvm", tilts=problem.tilts)
        weight = problem.row_weights / self.lam
        kept, target = np.flatnonzero(weight), self._targets()
        classes = np.unique(target[kept]).size
        c = np.zeros(len(target))
        if kept.size and (classes > 1 or not isinstance(self.risk.base, hinge)):
            options = {"kernel": "precomputed", "tol": TOLERANCE, "cache_size": CACHE_MB}
            if isinstance(self.risk.base, hinge):
                machine = SVC(C=1.0, **options)
            else:
                machine = SVR(C=1.0, epsilon=getattr(self.risk.base, "eps", 0.0), **options)
            K = self.rows.kernel[np.ix_(kept, kept)] if kept.size < len(c) else self.rows.kernel
            machine.fit(K, target[kept], sample_weight=weight[kept])
            c[kept[machine.support_]] = machine.dual_coef_[0]
        return warm(dual, self._shared(dual, c))

    def _shared(self, dual: Dual, c: Array) -> Array:
        """Split the coefficients c into variables within their bounds, first kinks first."""
        v = np.zeros((len(self.knots), len(c)))
        for part, lo, hi in zip(v, dual.lo.reshape(v.shape), dual.hi.reshape(v.shape), strict=True):
            part[:] = np.clip(c, lo, hi)
            c = c - part
        return v.ravel()

    def _targets(self) -> Array:
        """The labels for a hinge, otherwise the targets of the residuals."""
        signs = self.rows.signs[:, 0]
        if isinstance(self.risk.base, hinge):
            return signs
        at = getattr(self.risk.base, "at", 0.0)
        return signs * (at if self.risk.offset is None else at - self.risk.offset)


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
