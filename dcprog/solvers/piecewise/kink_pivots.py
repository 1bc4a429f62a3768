"""A primal active set method on sums of kinks with a diagonal quadratic function."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.solvers.piecewise.kink_basis import KinkBasis

__all__ = ["Index", "Kinks", "Pivots"]

Index = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]

STILL = 1e-11  # a step shorter than that, in the size of θ, is none
WRONG = 1e-9  # of the mean jump, by which a multiplier may be out of its bounds
FLAT = 1e-12  # of the fastest rate, that of a score that does not move
ROUNDING = 1e-13  # relative, of sums of slopes
STRAY = 1e-3  # of the fastest rate, that of a kink held: then a step is rounding
EVEN = 1e-10  # of the slope at the beginning of a way, what is no slope any more
APART = 1e-6  # of the mean size of the places
FRESH = 100  # pivots, after which rounding is cleared away
MOST_PIVOTS = 3  # times the kinks and coefficients
STANDING = 5  # times the coefficients: so many in a row that lead nowhere


@dataclass
class Kinks:
    r"""½ Σ_j h_j θ_j² + g·θ + Σ_i J_i (v_i − c_i)₊ with v = [Aθ; θ] at the owners of the kinks.

    Attributes
    ----------
    A : array of shape (n, q)
    owner : int array of shape (m,)
        The row of A of each kink; n + j for θ_j itself.
    place, jump : arrays of shape (m,)
        c and J ≥ 0.
    linear, h : arrays of shape (q,)
        g and h ≥ 0.
    """

    A: Array
    owner: Index
    place: Array
    jump: Array
    linear: Array
    h: Array

    def apart(self) -> Kinks:
        """Kinks at places moved a little, so that no two meet."""
        size = float(np.mean(np.abs(self.place))) or 1.0
        moves = np.random.default_rng(0).uniform(-APART, APART, self.place.size)
        return replace(self, place=self.place + size * moves)

    def scores(self, x: Array) -> Array:
        """[Ax; x] at the owners."""
        return np.concatenate([self.A @ x, x])[self.owner]

    def rows(self, which: Index) -> Array:
        """Rows of [A; I] that own these kinks."""
        owner, n = self.owner[which], len(self.A)
        rows = np.zeros((owner.size, self.A.shape[1]))
        of_loss = owner < n
        rows[of_loss] = self.A[owner[of_loss]]
        rows[~of_loss, owner[~of_loss] - n] = 1.0
        return rows

    def row(self, kink: int) -> Array:
        """The row of one kink."""
        owner = self.owner[kink]
        if owner < len(self.A):
            return self.A[owner]
        row = np.zeros(self.A.shape[1])
        row[owner - len(self.A)] = 1.0
        return row

    def pull(self, weights: Array) -> Array:
        """Σ_i weights_i × the row of kink i."""
        n = len(self.A)
        total = np.bincount(self.owner, weights, n + self.A.shape[1])
        return np.asarray(total[:n] @ self.A + total[n:])


class Pivots:
    """The kinks held at a point, and the point, as they move down.

    Parameters
    ----------
    kinks : Kinks
    x : array of shape (q,)
        θ.
    held : int array
        Kinks at which it lies, enough of them to leave no direction without curvature.
    deadline : Deadline

    Attributes
    ----------
    x, held
        As they are by now.
    taken : int
        Pivots.
    """

    def __init__(self, kinks: Kinks, x: Array, held: Index, deadline: Deadline) -> None:
        self.kinks, self.x, self.held, self.deadline = kinks, x, held, deadline
        self.taken = 0
        self._standing = 0
        self._bends = kinks.jump > 0
        self._longest = max(float(np.max(np.abs(kinks.A))), 1.0)
        self._wrong_by = WRONG * float(np.mean(kinks.jump))
        self._refresh(kinks.scores(x) > kinks.place)

    def run(self) -> bool:
        """To the minimum; False where many pivots in a row lead nowhere.

        Raises
        ------
        SubproblemError
            ``unbounded``, or ``failed`` where the time limit ends it.
        """
        fresh, most = True, MOST_PIVOTS * (self.kinks.place.size + self.x.size)
        while self._standing <= STANDING * self.x.size and self.taken < most:
            done = not self._pivot()
            if done and fresh:
                return True
            fresh = done or self.taken % FRESH == 0
            if fresh:
                self.deadline.check("pivoting")
                self._refresh(self._above)
        return False

    def go_on(self, kinks: Kinks) -> None:
        """Hold the same kinks at other places."""
        self.kinks, self._standing = kinks, 0
        self._refresh(self._above)

    def point(self) -> Array:
        """θ, with the coefficients that are held exactly at their places."""
        own = self.held[self.kinks.owner[self.held] >= len(self.kinks.A)]
        x = self.x.copy()
        x[self.kinks.owner[own] - len(self.kinks.A)] = self.kinks.place[own]
        return x

    def multipliers(self) -> Array:
        """The slope of each kink's part in its score: J above it, between 0 and J on it."""
        slopes = np.where(self._above, self.kinks.jump, 0.0)
        slopes[self.held] = np.clip(self._mu, 0.0, self.kinks.jump[self.held])
        return slopes

    def _refresh(self, above: Mask) -> None:
        """All that is carried along, anew; the point back on the kinks that are held."""
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
        """One step down; False at the minimum."""
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
        """True if a step leads down by more than rounding and holds the kinks that are held."""
        size = float(np.max(np.abs(step)))
        noise = ROUNDING * size * float(np.max(np.abs(self._slope)))
        if size <= self._least_step or float(self._slope @ step) >= -noise:
            return False
        off = np.max(np.abs(rate[self.held]), initial=0.0)
        return bool(off <= STRAY * np.max(np.abs(rate)))

    @property
    def _blur(self) -> float:
        """By how much rounding may move a score along the step to the minimum on the kinks."""
        size = self._basis.size * float(np.max(np.abs(self._slope)))
        return ROUNDING * self._longest * size

    @property
    def _least_step(self) -> float:
        return STILL * (1.0 + float(np.max(np.abs(self.x))))

    def _wrong(self) -> int | None:
        """The kink held that the function falls the fastest without."""
        mu, jump = self._mu, self.kinks.jump[self.held]
        off = np.maximum(-mu, mu - jump)
        wrong = np.flatnonzero(off > self._wrong_by)
        if not wrong.size:
            return None
        if self._standing:  # Bland's rule does not go in circles
            return int(wrong[np.argmin(self.held[wrong])])
        return int(np.argmax(off / self._basis.lengths()))

    def _move(self, direction: Array, rate: Array, dropped: int | None) -> None:
        """To the least value along a direction; the kink at which that lies is held."""
        rate[self._is_held] = 0.0
        if dropped is None:
            rate[np.abs(rate) <= self._blur] = 0.0
        farthest = 1.0 if dropped is None else np.inf
        length, crossed, turn = self._least(direction, rate, farthest)
        moved = length * float(np.max(np.abs(direction))) > self._least_step
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
        """A kink more, or one in the place of another."""
        if self._above[kink]:
            self._flip(kink)
        self._is_held[kink] = True
        self._v[kink] = self.kinks.place[kink]
        row = self.kinks.row(kink)
        if dropped is None:
            self._basis.hold(row)
            self.held = np.append(self.held, kink)
        else:
            self._basis.exchange(dropped, row - self.kinks.row(self.held[dropped]))
            self.held = self.held.copy()
            self.held[dropped] = kink

    def _cross(self, which: Index) -> None:
        """To the other side of kinks."""
        if which.size <= 1:
            for kink in which:
                self._flip(kink)
            return
        jump, above = self.kinks.jump[which], self._above[which]
        self._slope = self._slope + np.where(above, -jump, jump) @ self.kinks.rows(which)
        self._above[which] = ~above

    def _flip(self, kink: int) -> None:
        """To the other side of one kink."""
        jump, above = self.kinks.jump[kink], self._above[kink]
        self._slope = self._slope + (-jump if above else jump) * self.kinks.row(kink)
        self._above[kink] = not above

    def _least(
        self, direction: Array, rate: Array, farthest: float
    ) -> tuple[float, Index, int | None]:
        """How far down a direction leads, the kinks on the way, and that at which it turns."""
        kinks = self.kinks
        curvature = float(direction @ (kinks.h * direction))
        falls = float(self._slope @ direction)
        speed = np.abs(rate)
        moves = speed > FLAT * speed.max()
        meets = np.flatnonzero(moves & ((rate > 0) != self._above) & self._bends)
        when = np.maximum((kinks.place[meets] - self._v[meets]) / rate[meets], 0.0)
        if curvature > 0:  # kinks make a way shorter
            farthest = min(farthest, -falls / curvature)
            near = when <= farthest
            meets, when = meets[near], when[near]
        order = np.argsort(when)
        meets, when = meets[order], when[order]
        jumps = kinks.jump[meets] * speed[meets]
        rises = np.cumsum(jumps)
        behind = falls + curvature * when + rises  # the slope right behind each kink
        k = int(np.searchsorted(behind, -EVEN * abs(falls)))
        if k < meets.size and behind[k] - jumps[k] < 0:
            return float(when[k]), meets[:k], int(meets[k])
        falls += float(rises[k - 1]) if k else 0.0
        if curvature <= 0:
            raise SubproblemError("unbounded", "no loss and no penalty holds a direction")
        return min(-falls / curvature, farthest), meets[:k], None
