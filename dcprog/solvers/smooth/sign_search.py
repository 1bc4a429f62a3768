"""Minimise a quadratic plus a weighted ℓ1 norm by a search for the signs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.foundation.tolerances import LAST_PLACES, ROUNDING
from dcprog.solvers.linalg.cholesky import Cholesky, unit_scale

SOLVES = 20  # most systems solved, in addition to one per entry

Mask = npt.NDArray[np.bool_]


class SignSearch:
    r"""Minimise  g·(x − x₀) + ½(x − x₀)ᵀH(x − x₀) + Σ_j l_j |x_j|  over x.

    The search keeps a set of active entries, outside of which x_j = 0, and their signs. A step goes
    to the minimum for these signs. If entries change sign on the way, it goes to the best of the
    points where one of them is 0, and entries that are 0 there leave the set. At a minimum for its
    signs, all entries with a slope beyond l_j enter, except those that the step would then move
    against their slope. Each step decreases the function, so that no set with its signs recurs and
    the search is finite. Zeros of x are exact.

    Parameters
    ----------
    H : array of shape (p, p)
        A positive semidefinite matrix. If it is singular, a minimiser close to x₀ is found.
    l : array of shape (p,)
        Weights of at least 0; entries with l_j = 0 are always active.

    References
    ----------
    Lee, Battle, Raina, Ng (2007), Efficient sparse coding algorithms, NIPS 19, whose search adds
    one entry at a time.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.solvers.smooth.sign_search import SignSearch
    >>> search = SignSearch(np.diag([1.0, 2.0]), np.array([1.0, 1.0]))
    >>> search.minimise(np.array([-3.0, 0.5]), np.zeros(2))
    array([2., 0.])
    """

    def __init__(self, H: Array, l: Array) -> None:  # noqa: E741
        self.H, self.l = H, l
        self.scale = unit_scale(H)

    def minimise(self, g: Array, start: Array, most: int | None = None) -> Array:
        """The minimiser.

        Parameters
        ----------
        g, start : arrays of shape (p,)
            The slope g and the point x₀.
        most : int, optional
            The most systems that are solved once x has moved; by default as many as the minimiser
            takes.

        Returns
        -------
        array of shape (p,)
            The minimiser, or the last point if rounding errors or `most` end the search earlier.
        """
        self.x, self.slope = start.copy(), g.copy()
        self.signs = np.where(self.l > 0, np.sign(start), 0.0)
        active = (self.l == 0) | (start != 0)
        fresh = np.zeros(active.size, dtype=bool)
        for solved in range(active.size + SOLVES):
            if most is not None and solved >= most and not np.array_equal(self.x, start):
                break
            if np.any(active) and not self._step(active, fresh):
                continue
            fresh = self._violated(active)
            if not np.any(fresh):
                break
            self.signs[fresh] = -np.sign(self.slope[fresh])
            active |= fresh
        return self.x

    def _violated(self, active: Mask) -> Mask:
        """Mask of the zero entries whose slope exceeds l_j by more than rounding."""
        noise = float(np.max(np.abs(self.x) / self.scale, initial=0.0)) / self.scale
        over = np.abs(self.slope) - self.l
        return ~active & (over > ROUNDING * (self.l + noise))

    def _step(self, active: Mask, fresh: Mask) -> bool:
        """Move towards the minimum for the signs; True if it is reached."""
        places = np.flatnonzero(active)
        d = self._direction(places)
        against = fresh[places] & (d * self.signs[places] <= 0)
        if np.any(against):
            if np.all(against[fresh[places]]):  # possible only by rounding
                active &= ~fresh
                fresh[:] = False
                return True
            active[places[against]] = fresh[places[against]] = False
            return False
        fresh[:] = False
        x, sparse = self.x[places], self.l[places] > 0
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            crossing = np.where(sparse & (x * d < 0), -x / d, np.inf)
        t = self._best(places, d, crossing) if np.any(crossing <= 1) else 1.0
        ends = x + t * d
        speck = sparse & (np.abs(ends) <= LAST_PLACES * np.abs(x))
        x = np.where((crossing == t) | speck, 0.0, ends)
        self.x[places] = x
        self.slope += t * (self.H[:, places] @ d)
        self.signs[places] = np.where(sparse, np.sign(x), 0.0)
        active[places] = ~sparse | (x != 0)
        return not np.any(crossing <= t)

    def _best(self, places: npt.NDArray[np.intp], d: Array, crossing: Array) -> float:
        """The best step length of those at which an entry is 0, and 1.

        If rounding errors hide the decrease it is the first of them, at which an entry leaves.
        """
        x, l = self.x[places], self.l[places]  # noqa: E741
        t = np.append(np.unique(crossing[crossing <= 1]), 1.0)
        bend = float(d @ self.H[np.ix_(places, places)] @ d)
        fall = t * float(self.slope[places] @ d) + t**2 / 2 * bend
        sizes = np.abs(x + t[:, None] * d) @ l - float(l @ np.abs(x))
        rises = fall + sizes
        best = int(np.argmin(rises))
        return float(t[best if rises[best] < 0 else 0])

    def _direction(self, places: npt.NDArray[np.intp]) -> Array:
        """The direction −H⁻¹(slope + l·signs) over the active entries."""
        factor = Cholesky(self.H[np.ix_(places, places)], self.scale[places])
        return factor.solve(-(self.slope + self.l * self.signs)[places])
