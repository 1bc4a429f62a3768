"""Cholesky factors of matrices that may be slightly indefinite by rounding."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError
from dcprog.foundation.tolerances import LOOSE, SQUARABLE, SUMMED

MOST_UNKNOWNS = 3000  # of a dense system that is factored once a step: half a second

# A small jitter is always added: it keeps undetermined parts of a solution finite, and the
# refinements remove its effect on the other parts.
JITTER = np.geomspace(SUMMED, LOOSE, 6)
REFINEMENTS = 2
NOTHING = 1e-30  # diagonal entries are at least this share of the largest one


class Cholesky:
    r"""Solve Sx = r for a symmetric S that is positive semidefinite up to rounding.

    In the units z_j = S_jj^{−1/2} the diagonal is 1, and with Z = diag(z)

    .. math:: Z S Z + ε I = L L^\top

    for the least of a few ε for which the factorisation succeeds. Refinement steps
    x ← x + Z(LLᵀ)⁻¹Z(r − Sx) remove the errors by ε and rounding.

    Parameters
    ----------
    S : array of shape (p, p)
        A matrix in C order; it is overwritten.
    scale : array of shape (p,), optional
        The units z; by default :func:`unit_scale` of S.

    Raises
    ------
    SubproblemError
        ``"failed"``: S is indefinite beyond rounding, or not finite.

    References
    ----------
    Higham (2002), Accuracy and Stability of Numerical Algorithms, chapters 10 and 12.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.solvers.linalg.cholesky import Cholesky
    >>> Cholesky(np.diag([4.0, 1e-8])).solve(np.array([1.0, 1.0])).round(6)
    array([2.5e-01, 1.0e+08])
    """

    def __init__(self, S: Array, scale: Array | None = None) -> None:
        self.scale = unit_scale(S) if scale is None else scale
        S *= self.scale
        S *= self.scale[:, None]
        self._S, self._lower = S, _factor(S)

    def solve(self, right: Array, refinements: int = REFINEMENTS) -> Array:
        """The solution S⁻¹ right.

        Parameters
        ----------
        right : array of shape (p,) or (p, k)
        refinements : int, default 2
            The number of refinement steps; 0 if the caller refines with its own matrix.

        Returns
        -------
        array of the same shape
        """
        scale = self.scale if right.ndim == 1 else self.scale[:, None]
        right = scale * right
        x: Array = dpotrs(self._lower, right, lower=1)[0]
        for _ in range(refinements):
            x += dpotrs(self._lower, right - self._S @ x, lower=1)[0]
        return scale * x


def unit_scale(S: Array) -> Array:
    """The units S_jj^{−1/2}, bounded where S_jj is negligible beside the largest."""
    diagonal = np.diagonal(S)
    largest = max(float(diagonal.max(initial=0.0)), 1 / SQUARABLE)
    return np.asarray(1 / np.sqrt(np.maximum(diagonal, NOTHING * largest)))


def _factor(S: Array) -> Array:
    """The factor L of a matrix with unit diagonal, in the lower triangle of the result."""
    for jitter in JITTER:
        system = S.T.copy(order="F")  # LAPACK's order; S is symmetric, so this is a plain copy
        system.flat[:: len(S) + 1] += jitter
        lower, failed = dpotrf(system, lower=1, overwrite_a=1, clean=0)
        if not failed and lower[-1, -1] > 0:  # NaN propagates to this entry
            return np.asarray(lower)
    raise SubproblemError("failed", "the normal equations are not positive definite")
