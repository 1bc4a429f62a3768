"""A warm-started active set solver for small programs of losses with kinks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.risk.weighted import WeightedRisk
from dcprog.solvers.cost import COSTS
from dcprog.solvers.piecewise.kink_pivots import Index, Kinks, Pivots
from dcprog.solvers.piecewise.polyhedral import polyhedral_refusal
from dcprog.solvers.protocol import ExactSolver, Solution

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk

__all__ = ["PivotingSolver"]

MOST_NUMBERS = 2**22  # most numbers in the matrix of all rows


class PivotingSolver(ExactSolver):
    r"""Minimise Σ_i d_i base(u_i) + t·u + Σ_j l_j|θ_j| + ½ Σ_j h_j θ_j²,  base piecewise linear.

    A set of kinks is held, u_i = knot or θ_j = 0. A step leads to the minimum on this set; it
    passes kinks as long as the function falls, and the kink at which the function starts to rise is
    added to the set. At the minimum a kink whose multiplier is out of its bounds is dropped, the
    one with the steepest descent. The next subproblem starts with the kinks of the last one and
    needs few pivots. θ_j without a ridge are held from the start, so that a linear program moves
    from vertex to vertex. Coefficients held at 0 are exactly 0.

    Parameters
    ----------
    risk : Risk
        A piecewise linear base with one score per sample, and a penalty of ``l1`` and ``l2``.

    References
    ----------
    Bartels, Conn, Sinclair (1978), Minimization techniques for piecewise differentiable functions:
    the l1 solution to an overdetermined linear system, SIAM J. Numer. Anal. 15. Nocedal, Wright
    (2006), Numerical Optimization, §16.5.
    """

    cost = COSTS["pivoting"]

    def __init__(self, risk: Risk) -> None:
        n, q = risk.rows.shape
        self.risk, pieces = risk, risk.base.pieces
        assert pieces is not None
        self._A = risk.scores.dense_rows(np.arange(n))
        self._first = pieces.linear[0]
        self._jumps = np.diff(pieces.linear)
        offset = np.zeros(n) if risk.offset is None else risk.offset
        self._places = (np.asarray(pieces.knots)[:, None] - offset).ravel()
        rows = np.tile(np.arange(n), len(pieces.knots))
        self._owner = np.concatenate([rows, n + np.arange(q)])
        self._last: tuple[Array, Index] | None = None

    @staticmethod
    def refusal(risk: Risk) -> str | None:
        """The reason why the method cannot solve a risk, None if it can."""
        reason = polyhedral_refusal(risk)
        if reason is not None:
            return reason
        if risk.aggregate == "max":
            return "its groups take the maximum"
        if risk.scores.n_scores > 1:
            return "its samples have several scores, at which too many kinks meet"
        if risk.rows.shape[0] * risk.rows.shape[1] > MOST_NUMBERS:
            return "its matrix takes too much memory"
        return None

    def minimise(
        self,
        problem: WeightedRisk,
        start: Array,
        tolerance: float,
        time_limit: float | None = None,
    ) -> Solution:
        """The minimiser, with the multipliers of its rows."""
        l1, l2 = problem.penalty_weights
        weights, n = problem.row_weights, len(self._A)
        slope = self._first * weights
        kinks = Kinks(
            self._A,
            self._owner,
            np.concatenate([self._places, np.where(l1 > 0, 0.0, start)]),
            np.concatenate([np.outer(self._jumps, weights).ravel(), 2 * l1]),
            problem.linear + slope @ self._A - l1,
            l2,
        )
        theta, held = self._start(kinks, start, l1)
        pivots = Pivots(kinks, theta, held, Deadline(time_limit))
        if not pivots.run():  # many kinks meet at the point: perturb them
            pivots.go_on(kinks.apart())
            pivots.run()
            pivots.go_on(kinks)
            if not pivots.run():
                raise SubproblemError("failed", f"no minimum after {pivots.taken} pivots")
        theta = pivots.point()
        self._last = theta, pivots.held
        bends = pivots.multipliers()[: self._places.size]
        slopes = slope + bends.reshape(-1, n).sum(axis=0)
        return Solution(theta, -slopes, problem.value(theta), pivots.taken)

    def _start(self, kinks: Kinks, start: Array, l1: Array) -> tuple[Array, Index]:
        """The start and its held kinks: the last ones if `start` is the last solution."""
        n_losses = self._places.size
        own = n_losses + np.arange(start.size)
        if self._last is not None and np.array_equal(self._last[0], start):
            return self._last
        flat = kinks.h <= 0
        x = np.where(flat & (l1 > 0), 0.0, start)
        return x, own[flat | ((l1 > 0) & (x == 0))]
