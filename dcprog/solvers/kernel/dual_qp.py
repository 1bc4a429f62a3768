"""The dual of a kernel machine as a quadratic program through cvxpy."""

from __future__ import annotations

from typing import ClassVar

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from dcprog.foundation.arrays import Array
from dcprog.risk.weighted import WeightedRisk
from dcprog.solvers.conic.compiled import CompiledProblem
from dcprog.solvers.cost import COSTS
from dcprog.solvers.kernel.smo import SmoSolver
from dcprog.solvers.kernel.smo_dual import Dual, warm

__all__ = ["DualQpSolver"]

NEAR = 1e-6
ACCURACY = 1e-9


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

    cost = COSTS["dual_qp"]
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
