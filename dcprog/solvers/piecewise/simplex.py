"""Linear programs by HiGHS's simplex method, warm-started from the last basis."""

from __future__ import annotations

from typing import Any

import highspy
import numpy as np
import scipy.sparse as sp

from dcprog.foundation.arrays import COPIED, Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.foundation.tolerances import TIGHT
from dcprog.risk.risk import Risk
from dcprog.solvers.piecewise.polyhedral import PolyhedralSolver, Subproblem
from dcprog.solvers.protocol import Takes
from dcprog.solvers.warm_starts import WarmStarts

MOST_STEPS = 20  # most steps, times the rows and columns, as HiGHS may cycle at ties
RATE = 1e6  # entries of X a second, to build the model and presolve it, which no clock interrupts
CHOOSE, PRIMAL = 0, 4  # HiGHS's codes of simplex strategies
UNBOUNDED = (
    highspy.HighsModelStatus.kUnbounded,
    highspy.HighsModelStatus.kUnboundedOrInfeasible,
)


class SimplexSolver(PolyhedralSolver):
    r"""min Σ_g cost_g ξ_g + (l + b)·x⁺ + (l − b)·x⁻  s.t.  ξ_g ≥ line_gp(x⁺ − x⁻),  x⁺, x⁻ ≥ 0.

    Lines of slope 0 are bounds of ξ. Weights, tilts and shrinkage appear only in the costs, so that
    the basis of one subproblem is feasible for the next, and the primal simplex method continues
    from it. A penalised coefficient that is not in the basis is exactly 0. The duality gap is
    certified.

    Parameters
    ----------
    risk : Risk
        A piecewise linear base, alone or with the maximum over a sample's rows, and an ``l1`` or
        concave penalty, or none.

    References
    ----------
    Huangfu, Hall (2018), Parallelizing the dual revised simplex method, Math. Program. Comput. 10.
    """

    name = "simplex"
    takes = Takes("piecewise linear", groups="samples", penalty="linear", numbers=2 * COPIED)

    def __init__(self, risk: Risk) -> None:
        super().__init__(risk)
        self.memory = WarmStarts(risk.rows, (self.name, self.design.key))
        self._split = np.flatnonzero(risk.penalized[self.design.order])
        self._slanted = np.any(self.design.code != 0, axis=2)

    def candidate(
        self, problem: Subproblem, start: Array, tolerance: float, deadline: Deadline
    ) -> tuple[Array, Array]:
        """An optimal vertex and its multipliers."""
        X = self.design.X
        entries = X.nnz if hasattr(X, "nnz") else X.size
        deadline.check("the simplex method", ahead=entries / RATE)
        kept = self.memory.take()
        highs = kept or self._model()
        x, duals = self._vertex(highs, PRIMAL if kept else CHOOSE, problem, deadline.left)
        self.memory.put(highs)
        value = problem.value(x)
        if value - problem.bound(x, duals) > tolerance * (1 + abs(value)):
            raise SubproblemError("failed", "simplex: the duality gap is above the tolerance")
        return x, duals

    def _vertex(
        self, highs: Any, strategy: int, problem: Subproblem, time_limit: float | None
    ) -> tuple[Array, Array]:
        """HiGHS's minimiser and the multipliers of the lines."""
        split = self._split
        plus, minus = problem.l1 + problem.linear, (problem.l1 - problem.linear)[split]
        cost = np.concatenate([plus, minus, problem.cost])
        places = np.arange(cost.size, dtype=np.int32)
        highs.changeColsCost(cost.size, places, cost)
        limit = np.inf if time_limit is None else highs.getRunTime() + time_limit
        highs.setOptionValue("time_limit", limit)
        highs.setOptionValue("simplex_strategy", strategy)
        highs.run()
        status = highs.getModelStatus()
        if status in UNBOUNDED:
            raise SubproblemError("unbounded", f"simplex: {highs.modelStatusToString(status)}")
        if status != highspy.HighsModelStatus.kOptimal:
            raise SubproblemError("failed", f"simplex: {highs.modelStatusToString(status)}")
        solution = highs.getSolution()
        values = np.asarray(solution.col_value)
        x = values[: plus.size].copy()
        x[split] -= values[plus.size : plus.size + split.size]
        duals = np.zeros(problem.design.const.shape)
        duals[self._slanted] = np.maximum(np.asarray(solution.row_dual), 0.0)
        rest = np.maximum(problem.cost - duals.sum(axis=1), 0.0)
        flat = ~self._slanted
        duals += rest[:, None] * flat / np.maximum(flat.sum(axis=1), 1)[:, None]
        return x, problem.feasible(duals)

    def _model(self) -> Any:
        """The HiGHS model of the program, without its costs."""
        design, split = self.design, self._split
        local, line = np.nonzero(self._slanted)
        code, rows = design.code[local, line], design.X[design.sample[local]]
        parts: Any = [sp.diags_array(weight) @ sp.csr_array(rows) for weight in code.T]
        slopes = sp.csc_array(sp.hstack(parts))
        chosen = sp.csc_array(
            (np.ones(local.size), (np.arange(local.size), local)),
            shape=(local.size, len(design.code)),
        )
        blocks: Any = [-slopes, slopes[:, split], chosen]
        A: Any = sp.csc_array(sp.hstack(blocks, format="csc"))
        ground = np.where(self._slanted, -np.inf, design.const).max(axis=1)
        p, infinity = slopes.shape[1], highspy.kHighsInf
        lower = np.concatenate([np.full(p, -infinity), np.zeros(split.size), ground])
        lower[split] = 0.0
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = A.shape[1], A.shape[0]
        lp.col_cost_ = np.zeros(A.shape[1])
        lp.col_lower_ = np.where(np.isinf(lower), -infinity, lower)
        lp.col_upper_ = np.full(A.shape[1], infinity)
        lp.row_lower_ = design.const[local, line]
        lp.row_upper_ = np.full(A.shape[0], infinity)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_ = A.indptr
        lp.a_matrix_.index_ = A.indices
        lp.a_matrix_.value_ = A.data
        highs = highspy.Highs()
        highs.setOptionValue("output_flag", False)
        highs.setOptionValue("parallel", "off")
        highs.setOptionValue("primal_feasibility_tolerance", TIGHT)
        highs.setOptionValue("dual_feasibility_tolerance", TIGHT)  # HiGHS's least
        highs.setOptionValue("simplex_iteration_limit", MOST_STEPS * sum(A.shape))
        if highs.passModel(lp) == highspy.HighsStatus.kError:
            raise SubproblemError("failed", "simplex: HiGHS refused the model")
        return highs
