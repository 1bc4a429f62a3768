"""A warm-started active set solver for small programs of losses with kinks."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import PRODUCTS, Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.foundation.tolerances import KNOWN_DIGITS, ROUNDING
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.solvers.protocol import ExactSolver, Solution, Takes

_LAST = np.array([-1.0])
FEW = 30  # numbers: of fewer Python finds the largest in less time than NumPy's two calls take


def _largest(values: Array) -> float:
    """The largest absolute value of an array that is not empty."""
    if values.ndim == 1 and values.size < FEW:
        return max(map(abs, values.tolist()))
    return float(np.abs(values).max())


class KinkBasis:
    r"""The inverse of  K = [[H, Bᵀ], [B, 0]]  with H = diag(h) ≥ 0 and one row of B per held kink.

    Holding, dropping and exchanging a kink are changes of rank two, of (q + k)² operations.

    Parameters
    ----------
    h : array of shape (q,)
    rows : array of shape (k, q)
        The rows B, for which K must be regular.

    Raises
    ------
    numpy.linalg.LinAlgError
        K is singular.

    Examples
    --------
    >>> import numpy as np
    >>> basis = KinkBasis(np.array([1.0, 0.0]), np.array([[1.0, 1.0]]))
    >>> basis.hold(np.array([1.0, -1.0]))
    >>> basis.drop(0)
    >>> step, multipliers = basis.step(np.array([2.0, 1.0]))  # on w = b, from the slope there
    >>> step.round(12).tolist(), multipliers.round(12).tolist()
    ([-3.0, -3.0], [1.0])
    """

    def __init__(self, h: Array, rows: Array) -> None:
        self._q, k = h.size, len(rows)
        K = np.zeros((h.size + k,) * 2)
        K[: h.size, : h.size] = np.diag(h)
        K[h.size :, : h.size] = rows
        K[: h.size, h.size :] = rows.T
        self._inverse: Array = np.asarray(np.linalg.inv(K), dtype=float)

    @property
    def size(self) -> float:
        """The largest absolute entry of the inverse, which amplifies rounding errors."""
        return _largest(self._inverse)

    def step(self, slope: Array) -> tuple[Array, Array]:
        """The minimiser d of ½d'Hd + slope·d with B d = 0, and the multipliers of the kinks."""
        found = self._inverse[:, : self._q] @ -slope
        return found[: self._q], found[self._q :]

    def to(self, changes: Array) -> Array:
        """The step of least H-norm that changes the scores of the held kinks by `changes`."""
        step: Array = self._inverse[: self._q, self._q :] @ changes
        return step

    def away(self, j: int) -> Array:
        """The direction in which the score of kink j grows at rate 1 and the others are fixed."""
        return self._inverse[: self._q, self._q + j].copy()

    def lengths(self) -> Array:
        """The lengths of all directions :meth:`away`."""
        away = self._inverse[: self._q, self._q :]
        lengths: Array = np.sqrt(np.einsum("ij,ij->j", away, away))
        return lengths

    def hold(self, row: Array) -> None:
        """Add a kink at the end."""
        size = len(self._inverse)
        image = self._inverse[:, : self._q] @ row
        image_and_one = np.concatenate([image, _LAST])
        corner = float(row @ image[: self._q])
        larger = np.zeros((size + 1,) * 2)
        larger[:size, :size] = self._inverse
        larger -= image_and_one[:, None] * (image_and_one / corner)
        self._inverse = larger

    def drop(self, j: int) -> None:
        """Remove kink j; later kinks move up by one."""
        column = self._inverse[:, self._q + j]
        inverse = self._inverse - column[:, None] * (column / column[self._q + j])
        keep = np.arange(len(column)) != self._q + j
        self._inverse = np.ascontiguousarray(inverse[keep][:, keep])

    def exchange(self, j: int, change: Array) -> None:
        """Change the row of kink j by `change`, also if dropping j would make K singular."""
        M, place = self._inverse, self._q + j
        one, other = M[:, place].copy(), M[:, : self._q] @ change
        own, across, corner = one[place], 1.0 + other[place], change @ other[: self._q]
        scale = own * corner - across * across
        left = (corner * one - across * other) / scale
        right = (own * other - across * one) / scale
        self._inverse = M - one[:, None] * left - other[:, None] * right


# ----------------------------------------------------------------------------------------------

Index = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]

STILL = 1e-11  # a step shorter than this, relative to 1 + the size of θ, counts as none
STRAY = 1e-3  # a step that moves held kinks at more than this share of the fastest rate is rounding
EVEN = 1e-10  # a slope below this share of the initial one counts as 0
APART = 1e-6  # size of the perturbation, relative to the mean size of the places
FRESH = 100  # pivots between recomputations that remove rounding errors
MOST_PIVOTS = 3  # most pivots, times the number of kinks and coefficients
STANDING = 5  # most pivots in a row without progress, times the number of coefficients


@dataclass
class Kinks:
    r"""The function ½ Σ_j h_j θ_j² + g·θ + Σ_i J_i (v_i − c_i)₊, v = Aθ at the kinks' owners.

    Attributes
    ----------
    A : array of shape (n + q, q)
        The rows of the samples, and below them the identity, whose rows are those of θ itself.
    owner : int array of shape (m,)
        The row of A of each kink. Of as many kinks as rows it counts from 0 on.
    place, jump : arrays of shape (m,)
        The places c and the jumps J ≥ 0.
    linear, h : arrays of shape (q,)
        The linear term g and the curvatures h ≥ 0.
    """

    A: Array
    owner: Index
    place: Array
    jump: Array
    linear: Array
    h: Array

    def apart(self) -> Kinks:
        """The function with slightly perturbed places, so that no two kinks meet."""
        size = float(np.mean(np.abs(self.place))) or 1.0
        moves = np.random.default_rng(0).uniform(-APART, APART, self.place.size)
        return replace(self, place=self.place + size * moves)

    def scores(self, x: Array) -> Array:
        """The scores Ax at the owners of the kinks."""
        values: Array = self.A @ x
        return values if self.owner.size == values.size else values[self.owner]

    def rows(self, which: Index | int) -> Array:
        """The rows of A that own some kinks, or one."""
        rows: Array = self.A[self.owner[which]]
        return rows

    def pull(self, weights: Array) -> Array:
        """The sum of the kinks' rows times their weights."""
        return np.asarray(np.bincount(self.owner, weights, len(self.A)) @ self.A)


class Pivots:
    """A primal active set method: a point and the kinks that are held there.

    Parameters
    ----------
    kinks : Kinks
    x : array of shape (q,)
        The start θ.
    held : int array
        Kinks at which θ lies, enough of them that no direction is left without curvature.
    deadline : Deadline

    Attributes
    ----------
    x, held
        The current point and the held kinks.
    taken : int
        The number of pivots.
    """

    def __init__(self, kinks: Kinks, x: Array, held: Index, deadline: Deadline) -> None:
        self.kinks, self.x, self.held, self.deadline = kinks, x, held, deadline
        self.taken = 0
        self._standing = 0
        self._bends = kinks.jump > 0
        self._longest = _largest(kinks.A)
        self._wrong_by = KNOWN_DIGITS * float(np.mean(kinks.jump))
        self._refresh(kinks.scores(x) > kinks.place)

    def run(self) -> bool:
        """Pivot to the minimum; False after too many pivots, in all or without progress.

        Raises
        ------
        SubproblemError
            ``unbounded``, or ``failed`` at the time limit.
        """
        fresh, most = True, MOST_PIVOTS * (self.kinks.place.size + self.x.size)
        while self._standing <= STANDING * self.x.size and self.taken < most:
            done = not self._pivot()
            if done and fresh:
                return True
            fresh = done or self.taken % FRESH == 0
            if fresh:
                self.deadline.check("pivoting", self.point())
                self._refresh(self._above)
        return False

    def go_on(self, kinks: Kinks) -> None:
        """Continue with the same held kinks for a function with other places."""
        self.kinks, self._standing = kinks, 0
        self._refresh(self._above)

    def point(self) -> Array:
        """The point θ, with held coefficients exactly at their places."""
        x, n = self.x.copy(), len(self.kinks.A) - self.x.size
        own = self.held[self.kinks.owner[self.held] >= n]
        x[self.kinks.owner[own] - n] = self.kinks.place[own]
        return x

    def multipliers(self) -> Array:
        """The slope of each kink's term: J above the kink, between 0 and J at a held kink."""
        slopes = np.where(self._above, self.kinks.jump, 0.0)
        slopes[self.held] = np.clip(self._mu, 0.0, self.kinks.jump[self.held])
        return slopes

    def _refresh(self, above: Mask) -> None:
        """Recompute all updated quantities, and project the point onto the held kinks."""
        kinks, held = self.kinks, self.held
        self._above = above
        above[held] = False
        self._is_held = np.zeros(above.size, dtype=bool)
        self._is_held[held] = True
        self._basis = KinkBasis(kinks.h, kinks.rows(held))
        self.x = self.x + self._basis.to(kinks.place[held] - kinks.scores(self.x)[held])
        self._v = kinks.scores(self.x)
        self._slope = kinks.h * self.x + kinks.linear + kinks.pull(kinks.jump * above)

    def _pivot(self) -> bool:
        """Take one descent step; False at the minimum."""
        step, self._mu = self._basis.step(self._slope)
        rate = self.kinks.scores(step)
        if self._descends(step, rate):
            self._move(step, rate, None)
            return True
        j = self._wrong()
        if j is None:
            return False
        up = self._mu[j] > 0
        direction = self._basis.away(j)
        kink = self.held[j]
        self._is_held[kink] = False
        if up:
            self._flip(kink)
        direction = direction if up else -direction
        self._move(direction, self.kinks.scores(direction), j)
        return True

    def _descends(self, step: Array, rate: Array) -> bool:
        """True if a step decreases the function by more than rounding errors."""
        size = _largest(step)
        noise = ROUNDING * size * _largest(self._slope)
        if size <= self._least_step or float(self._slope @ step) >= -noise:
            return False
        return self.held.size == 0 or _largest(rate[self.held]) <= STRAY * _largest(rate)

    @property
    def _blur(self) -> float:
        """The rounding error of a score along the step to the minimum on the held kinks."""
        size = self._basis.size * _largest(self._slope)
        return ROUNDING * self._longest * size

    @property
    def _least_step(self) -> float:
        return STILL * (1.0 + _largest(self.x))

    def _wrong(self) -> int | None:
        """The held kink to drop for the steepest descent; None if all multipliers are right."""
        mu, jump = self._mu, self.kinks.jump[self.held]
        off = np.maximum(-mu, mu - jump)
        wrong = (off > self._wrong_by).nonzero()[0]
        if not wrong.size:
            return None
        if self._standing:  # Bland's rule prevents cycling
            return int(wrong[np.argmin(self.held[wrong])])
        return int(np.argmax(off / self._basis.lengths()))

    def _move(self, direction: Array, rate: Array, dropped: int | None) -> None:
        """Move to the minimum along a direction, and hold the kink at which it lies."""
        rate[self._is_held] = 0.0
        if dropped is None:
            rate[np.abs(rate) <= self._blur] = 0.0
        farthest = 1.0 if dropped is None else np.inf
        length, crossed, turn = self._least(direction, rate, farthest)
        moved = length * _largest(direction) > self._least_step
        self._standing = 0 if moved else self._standing + 1
        self.x = self.x + length * direction
        self._v += length * rate
        self._slope = self._slope + length * self.kinks.h * direction
        self._cross(crossed)
        self.taken += 1
        if turn is not None:
            self._hold(turn, dropped)
        elif dropped is not None:
            self._basis.drop(dropped)
            self.held = np.delete(self.held, dropped)

    def _hold(self, kink: int, dropped: int | None) -> None:
        """Hold one more kink, or one in place of the dropped kink."""
        if self._above[kink]:
            self._flip(kink)
        self._is_held[kink] = True
        self._v[kink] = self.kinks.place[kink]
        row = self.kinks.rows(kink)
        if dropped is None:
            self._basis.hold(row)
            self.held = np.concatenate([self.held, [kink]])
        else:
            self._basis.exchange(dropped, row - self.kinks.rows(self.held[dropped]))
            self.held = self.held.copy()
            self.held[dropped] = kink

    def _cross(self, which: Index) -> None:
        """Update the slope for crossing the given kinks."""
        if which.size <= 1:
            for kink in which:
                self._flip(kink)
            return
        jump, above = self.kinks.jump[which], self._above[which]
        self._slope = self._slope + np.where(above, -jump, jump) @ self.kinks.rows(which)
        self._above[which] = ~above

    def _flip(self, kink: int) -> None:
        """Update the slope for crossing one kink."""
        jump, above = self.kinks.jump[kink], self._above[kink]
        self._slope = self._slope + (-jump if above else jump) * self.kinks.rows(kink)
        self._above[kink] = not above

    def _least(
        self, direction: Array, rate: Array, farthest: float
    ) -> tuple[float, Index, int | None]:
        """The step length to the minimum, the crossed kinks, and the kink there or None."""
        kinks = self.kinks
        curvature = float(direction @ (kinks.h * direction))
        falls = float(self._slope @ direction)
        speed = np.abs(rate)
        moves = speed > ROUNDING * speed.max()
        meets = (moves & ((rate > 0) != self._above) & self._bends).nonzero()[0]
        when = np.maximum((kinks.place[meets] - self._v[meets]) / rate[meets], 0.0)
        if curvature > 0:  # kinks can only shorten the step
            farthest = min(farthest, -falls / curvature)
            near = when <= farthest
            meets, when = meets[near], when[near]
        order = when.argsort()
        meets, when = meets[order], when[order]
        jumps = kinks.jump[meets] * speed[meets]
        rises = jumps.cumsum()
        behind = falls + curvature * when + rises  # the slope just beyond each kink
        k = int(behind.searchsorted(-EVEN * abs(falls)))
        if k < meets.size and behind[k] - jumps[k] < 0:
            return float(when[k]), meets[:k], int(meets[k])
        falls += float(rises[k - 1]) if k else 0.0
        if curvature <= 0:
            raise SubproblemError("unbounded", "no loss and no penalty holds a direction")
        return min(-falls / curvature, farthest), meets[:k], None


# ----------------------------------------------------------------------------------------------


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

    takes = Takes("piecewise linear", rows="one score", numbers=PRODUCTS)

    def __init__(self, risk: Risk) -> None:
        n, q = risk.rows.shape
        self.risk, pieces = risk, risk.base.pieces
        assert pieces is not None
        self._A = np.vstack([risk.scores.dense_rows(np.arange(n)), np.eye(q)])
        self._first = pieces.linear[0]
        self._jumps = np.diff(pieces.linear)
        offset = np.zeros(n) if risk.offset is None else risk.offset
        self._places = (np.asarray(pieces.knots)[:, None] - offset).ravel()
        rows = np.tile(np.arange(n), len(pieces.knots))
        self._owner = np.concatenate([rows, n + np.arange(q)])
        self._last: tuple[Array, Index] | None = None

    def minimiser(
        self, problem: WeightedRisk, start: Array, tolerance: float, deadline: Deadline
    ) -> Solution:
        """The minimiser, with the multipliers of its rows."""
        l1, l2 = problem.penalty_weights
        weights, n = problem.row_weights, self.risk.rows.shape[0]
        slope = self._first * weights
        kinks = Kinks(
            self._A,
            self._owner,
            np.concatenate([self._places, np.where(l1 > 0, 0.0, start)]),
            np.concatenate([np.outer(self._jumps, weights).ravel(), 2 * l1]),
            problem.linear + slope @ self._A[:n] - l1,
            l2,
        )
        theta, held = self._start(kinks, start, l1)
        pivots = Pivots(kinks, theta, held, deadline)
        if not pivots.run():  # many kinks meet at the point: perturb them
            pivots.go_on(kinks.apart())
            pivots.run()
            pivots.go_on(kinks)
            if not pivots.run():
                many = f"no minimum after {pivots.taken} pivots"
                raise SubproblemError("failed", many, point=pivots.point())
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
