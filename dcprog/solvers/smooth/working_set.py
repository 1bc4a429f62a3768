"""A weighted lasso restricted to a working set of coefficients, on their Gram matrix."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.solvers.linalg.column_gram import ColumnGram
from dcprog.solvers.smooth.sign_search import SignSearch
from dcprog.solvers.smooth.smooth_problem import SmoothPlace, SmoothProblem

__all__ = ["Index", "Profiled", "WorkingSet"]

Index = npt.NDArray[np.intp]

LOOPS = "dcprog.solvers.smooth.lasso_loops"
FEW = 50  # least room for new coefficients in a working set


@dataclass(frozen=True)
class WorkingSet:
    """The problem ½(x − x₀)'H(x − x₀) + slope·(x − x₀) + Σ l_j|x_j| in some entries x of θ.

    Attributes
    ----------
    entries : int array of shape (k,)
        The indices of x in θ.
    H : array of shape (k, k)
    means : array of shape (k,)
        The decrease of the optimal intercept per unit of each entry.
    """

    entries: Index
    H: Array
    means: Array

    def descended(
        self,
        x: Array,
        slope: Array,
        l: Array,  # noqa: E741
        enough: float,
        most: int,
    ) -> tuple[Array, Array]:
        """The entries and their slope after epochs, until one gains at most `enough`."""
        x, slope = x.copy(), slope.copy()
        import_module(LOOPS).epochs(self.H, l, x, slope, enough, most)
        return x, slope

    def minimised(self, x: Array, slope: Array, l: Array) -> tuple[Array, Array]:  # noqa: E741
        """The minimiser, and the slope of the smooth part there."""
        new = SignSearch(self.H, l).minimise(slope, x)
        return new, slope + self.H @ (new - x)


@dataclass(frozen=True)
class Profiled:
    """Parabolas plus ℓ1 and ℓ2 with the free intercept eliminated.

    Attributes
    ----------
    smooth : SmoothProblem
    gram : ColumnGram
        The Gram matrix for the curvatures as weights, up to a factor.
    curvature : array of shape (n,)
        The curvatures of the parabolas in the scores.
    """

    smooth: SmoothProblem
    gram: ColumnGram
    curvature: Array

    def working(self, place: SmoothPlace, before: Index) -> Index:
        """The working set: `before`, the nonzero coefficients, and the most violated zeros."""
        d = self.gram.width
        w, l = place.theta[:d], self.smooth.l1[:d]  # noqa: E741
        chosen = w != 0
        chosen[before] = True
        over = np.where(chosen, 0.0, np.abs(place.slope[:d]) - l)
        asking = np.flatnonzero(over > 0)
        room = max(FEW, int(np.count_nonzero(w)))
        if asking.size > room:
            asking = asking[np.argpartition(-over[asking], room)[:room]]
        chosen[asking] = True
        return np.flatnonzero(chosen)

    def covers(self, place: SmoothPlace, some: Index) -> bool:
        """True if no coefficient outside `some` has a slope beyond its ℓ1 weight."""
        d = self.gram.width
        asking = np.abs(place.slope[:d]) > self.smooth.l1[:d]
        asking[some] = False
        return not np.any(asking)

    def slopes(self, place: SmoothPlace, part: WorkingSet, x: Array, slope: Array) -> Array:
        """The slopes of the place, updated in the entries of the part and the intercept."""
        slopes = place.slope.copy()
        slopes[part.entries] = slope - self.smooth.l2[part.entries] * x
        if self.gram.centred:
            slopes[-1] = 0.0
        return slopes

    def part(self, some: Index) -> WorkingSet:
        """The problem restricted to the given coefficients."""
        H = self.gram.block(some)
        H *= float(np.max(self.curvature))
        H[np.diag_indices_from(H)] += self.smooth.l2[some]
        return WorkingSet(some, H, self.gram.means(some))

    def given(self, place: SmoothPlace, part: WorkingSet) -> tuple[Array, Array]:
        """The entries and their slopes at a place, for the optimal intercept."""
        x = place.theta[part.entries]
        slope = place.slope[part.entries] + self.smooth.l2[part.entries] * x
        if self.gram.centred:
            slope -= part.means * place.slope[-1]
        return x, slope

    def margins(self, place: SmoothPlace, part: WorkingSet, theta: Array) -> Array:
        """The margins at θ, which differs from the place only in the part and the intercept."""
        step = theta - place.theta
        scores = self.gram.times(part.entries, step[part.entries])
        if self.gram.centred:
            scores += step[-1]
        signs = self.smooth.risk.scores.signs
        assert signs is not None
        return place.margins + signs[:, 0] * scores

    def moved(self, place: SmoothPlace, part: WorkingSet, x: Array) -> Array:
        """The vector θ with the entries set to x and the optimal intercept."""
        theta = place.theta.copy()
        theta[part.entries] = x
        if self.gram.centred:
            step = x - place.theta[part.entries]
            theta[-1] -= place.slope[-1] / float(np.sum(self.curvature)) + float(part.means @ step)
        return theta
