"""A weighted lasso in a few of its coefficients, on their Gram matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.solvers import jit
from dcprog.solvers.linalg.column_gram import ColumnGram
from dcprog.solvers.smooth.sign_search import SignSearch
from dcprog.solvers.smooth.smooth_problem import SmoothPlace, SmoothProblem

__all__ = ["Index", "Profiled", "WorkingSet"]

Index = npt.NDArray[np.intp]

LOOPS = "dcprog.solvers.smooth.lasso_numba"
FEW = 50  # coefficients, that are worked on at least


@dataclass(frozen=True)
class WorkingSet:
    """½(x − x₀)'H(x − x₀) + slope·(x − x₀) + Σ l_j|x_j| in some entries x of θ.

    Attributes
    ----------
    entries : int array of shape (k,)
        Which those are.
    H : array of shape (k, k)
    means : array of shape (k,)
        By how much the free intercept falls with each.
    """

    entries: Index
    H: Array
    means: Array

    @cached_property
    def is_compiled(self) -> bool:
        """True if the epochs of coordinate descent are compiled."""
        return jit.is_compiled()

    def descended(
        self,
        x: Array,
        slope: Array,
        l: Array,  # noqa: E741
        enough: float,
        most: int,
    ) -> tuple[Array, Array]:
        """The entries and their slope after epochs, until one gains no more than `enough`.

        Without numba the minimiser.
        """
        if not self.is_compiled:
            return self.minimised(x, slope, l)
        x, slope = x.copy(), slope.copy()
        import_module(LOOPS).epochs(self.H, l, x, slope, enough, most)
        return x, slope

    def minimised(self, x: Array, slope: Array, l: Array) -> tuple[Array, Array]:  # noqa: E741
        """The minimiser, and the slope of the smooth part there."""
        new = SignSearch(self.H, l).minimise(slope, x)
        return new, slope + self.H @ (new - x)


@dataclass(frozen=True)
class Profiled:
    """Parabolas plus ℓ1 and ℓ2, the free intercept at its best.

    Attributes
    ----------
    smooth : SmoothProblem
    gram : ColumnGram
        For weights that are these curvatures, up to a factor.
    curvature : array of shape (n,)
        Of the parabolas in the scores.
    """

    smooth: SmoothProblem
    gram: ColumnGram
    curvature: Array

    def working(self, place: SmoothPlace, before: Index) -> Index:
        """The coefficients of `before`, those that are not 0, and some that ask most to move."""
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
        """True if the working set holds all coefficients that would move."""
        d = self.gram.width
        asking = np.abs(place.slope[:d]) > self.smooth.l1[:d]
        asking[some] = False
        return not np.any(asking)

    def slopes(self, place: SmoothPlace, part: WorkingSet, x: Array, slope: Array) -> Array:
        """Slopes of the place, with new ones in these entries and the best intercept."""
        slopes = place.slope.copy()
        slopes[part.entries] = slope - self.smooth.l2[part.entries] * x
        if self.gram.centred:
            slopes[-1] = 0.0
        return slopes

    def part(self, some: Index) -> WorkingSet:
        """The problem in these coefficients."""
        H = self.gram.block(some)
        H *= float(np.max(self.curvature))
        H[np.diag_indices_from(H)] += self.smooth.l2[some]
        return WorkingSet(some, H, self.gram.means(some))

    def given(self, place: SmoothPlace, part: WorkingSet) -> tuple[Array, Array]:
        """Their values and slopes at a place, for the best intercept there."""
        x = place.theta[part.entries]
        slope = place.slope[part.entries] + self.smooth.l2[part.entries] * x
        if self.gram.centred:
            slope -= part.means * place.slope[-1]
        return x, slope

    def margins(self, place: SmoothPlace, part: WorkingSet, theta: Array) -> Array:
        """Margins at θ, which differs from the place in these entries and the intercept."""
        step = theta - place.theta
        scores = self.gram.times(part.entries, step[part.entries])
        if self.gram.centred:
            scores += step[-1]
        signs = self.smooth.risk.scores.signs
        assert signs is not None
        return place.margins + signs[:, 0] * scores

    def moved(self, place: SmoothPlace, part: WorkingSet, x: Array) -> Array:
        """θ with these values of the coefficients, and the best intercept."""
        theta = place.theta.copy()
        theta[part.entries] = x
        if self.gram.centred:
            step = x - place.theta[part.entries]
            theta[-1] -= place.slope[-1] / float(np.sum(self.curvature)) + float(part.means @ step)
        return theta
