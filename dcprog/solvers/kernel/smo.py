"""Sequential minimal optimisation for kernel machines with piecewise linear losses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.penalties import kernel_norm
from dcprog.solvers.kernel.smo_descent import DualPoint, minimise_dual
from dcprog.solvers.kernel.smo_dual import Dual, warm
from dcprog.solvers.protocol import ExactSolver, Solution, refuse

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk
    from dcprog.risk.weighted import WeightedRisk

__all__ = ["SmoSolver", "kernel_ridge"]


def kernel_ridge(risk: Risk) -> float | None:
    """The λ of a kernel machine with a free intercept and penalty (λ/2)aᵀKa, otherwise None."""
    if not _is_machine(risk) or risk.scores.n_scores != 1:
        return None
    rows, penalty = risk.scores, risk.penalty
    if not rows.fit_intercept or not np.array_equal(risk.penalized, rows.penalized):
        return None
    if rows.gram is not None:
        same = isinstance(penalty, kernel_norm) and penalty.gram.K is rows.kernel
        return float(penalty.lam) if same and penalty.lam > 0 else None
    return penalty.parts().ridge_alone or None


def _is_machine(risk: Risk) -> bool:
    """True if the rows are margins or residuals of a kernel machine."""
    if risk.no_matrix is not None:
        return False
    return risk.scores.kernel is not None and risk.scores.signs is not None


class SmoSolver(ExactSolver):
    r"""Minimise Σ_i d_i base(u_i) + t_i u_i + (λ/2)‖f‖² over f in the kernel's space and a free b.

    A piecewise linear base of slope β₀ on its far left, with jumps δ_j at the kinks κ_j, has the
    dual

    .. math::
        \min \tfrac12 c^\top K c - q \cdot v, \quad \textstyle\sum v = 0, \quad
        c_i = -s_i (d_i β_0 + t_i)/λ + \sum_j v_{ij},

    with v_ij between 0 and −s_i d_i δ_j/λ and q_ij = s_i (κ_j − o_i), for margins or residuals
    u = s f + o: one variable per kink, so n for the hinge and the absolute value, 2n for the
    ε-insensitive loss. Pairs of variables are minimised until the violation is small, then Newton's
    method on the variables between their bounds finishes. The next subproblem, whose weights have
    changed the bounds, starts from the last solution.

    Parameters
    ----------
    risk : Risk
        A piecewise linear base of :func:`~dcprog.rows.kernel_expansion.expansion_margins`,
        :func:`~dcprog.rows.kernel.kernel_margins` or their residuals with a free intercept.

    References
    ----------
    Fan, Chen, Lin (2005), Working set selection using second order information for training
    support vector machines, JMLR 6.
    """

    selection: ClassVar[str] = "second"
    max_iter: ClassVar[int | None] = None

    def __init__(self, risk: Risk) -> None:
        self.risk = risk
        self.rows: Any = risk.rows
        lam, pieces = kernel_ridge(risk), risk.base.pieces
        assert lam is not None
        assert pieces is not None
        self.lam = lam
        self.first = pieces.linear[0]
        self.jumps = np.diff(pieces.linear)
        self.knots = np.array(pieces.knots)
        self._last: tuple[Dual, DualPoint] | None = None

    @staticmethod
    def refusal(risk: Risk) -> str | None:
        """The reason why SMO cannot solve a risk, None if it can."""
        pieces = risk.base.pieces
        if not _is_machine(risk):
            return "its rows are not those of a kernel machine"
        if pieces is None or any(pieces.quadratic) or not pieces.knots:
            return f"its base is {risk.base!r}, not piecewise linear with a kink"
        if not risk.scores.fit_intercept or np.all(risk.penalized):
            return "it has no free intercept"
        if kernel_ridge(risk) is None:
            return f"its penalty is {risk.penalty!r}, not the kernel's norm"
        if not np.array_equal(risk.groups, np.arange(len(risk.groups))):
            return "its groups have several rows"
        return None

    def minimise(
        self,
        problem: WeightedRisk,
        start: Array,
        tolerance: float,
        time_limit: float | None = None,
    ) -> Solution:
        """The minimiser, certified by its duality gap."""
        refuse("smo", shrinkage=problem.shrinkage)
        dual = self._dual(problem)
        gram = self.rows.gram
        point = minimise_dual(
            self.rows.kernel,
            dual,
            self._start(dual, problem, start),
            tol=tolerance,
            selection=self.selection,
            max_iter=self.max_iter,
            deadline=Deadline(time_limit),
            product=None if gram is None else gram.times,
            after=None if self._last is None else self._last[1],
        )
        self._last = dual, point
        coef = self.rows.coordinates(point.c[None, :])
        theta = self.rows.pack(coef, np.array([point.intercept]))
        multipliers = self.lam * point.c * self.rows.signs[:, 0] + problem.row_tilts
        return Solution(theta, multipliers, problem.value(theta), point.n_iter)

    def _start(self, dual: Dual, problem: WeightedRisk, start: Array) -> Array:
        """The last solution moved into the new bounds; for the first run θ's coefficients or 0."""
        if self._last is not None:
            return warm(dual, self._last[1].v, self._last[0])
        if self.rows.gram is not None and dual.q.size == len(self.rows.kernel):
            return warm(dual, self.rows.unpack(start)[0][0])
        return warm(dual, np.zeros(dual.q.size))

    def _dual(self, problem: WeightedRisk) -> Dual:
        """The dual of a subproblem; the first v includes the shift of c by the leftmost slope."""
        signs, n = self.rows.signs[:, 0], len(self.rows.kernel)
        offset = np.zeros(n) if self.risk.offset is None else self.risk.offset
        weight, tilt = problem.row_weights / self.lam, problem.row_tilts / self.lam
        at_zero = self.lam * float(weight @ self.risk.base(offset) + tilt @ offset)
        ends = -np.multiply.outer(self.jumps, signs * weight)
        lo, hi = np.minimum(ends, 0.0), np.maximum(ends, 0.0)
        shift = -signs * (weight * self.first + tilt)
        lo[0] += shift
        hi[0] += shift
        q = signs * (self.knots[:, None] - offset)
        sample = np.tile(np.arange(n), len(self.knots))
        return Dual(sample, q.ravel(), lo.ravel(), hi.ravel(), self.lam).above(at_zero)
