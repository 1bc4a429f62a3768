"""Cholesky factors of matrices that rounding may have left indefinite."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError

__all__ = ["Cholesky", "unit_scale"]

# Always a little: it keeps the parts of a solution finite that nothing determines, and the
# refinements take out what it changes elsewhere.
JITTER = (1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4)
REFINEMENTS = 2
NOTHING = 1e-30  # of the largest diagonal entry: a smaller one counts as that
FLOOR = 1e-200


class Cholesky:
    r"""Solve Sx = r for a symmetric S, positive semidefinite but for rounding.

    In the units z_j = S_jj^{−1/2} the diagonal is 1, and with Z = diag(z)

    .. math:: Z S Z + ε I = L L^\top

    for the least of a few ε that lets it be factored. Steps x ← x + Z(LLᵀ)⁻¹Z(r − Sx) take out
    again what ε and rounding changed.

    Parameters
    ----------
    S : array of shape (p, p)
        In C order; it is overwritten.
    scale : array of shape (p,), optional
        z; by default :func:`unit_scale` of S.

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
        """S⁻¹ right.

        Parameters
        ----------
        right : array of shape (p,) or (p, k)
        refinements : int, default 2
            0 where the caller refines with a matrix of its own.

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
    """S_jj^{−1/2}, bounded where S_jj vanishes beside the largest."""
    diagonal = np.diagonal(S)
    largest = max(float(diagonal.max(initial=0.0)), FLOOR)
    return np.asarray(1 / np.sqrt(np.maximum(diagonal, NOTHING * largest)))


def _factor(S: Array) -> Array:
    """L of a matrix whose diagonal is 1, in the lower triangle; the upper one holds anything."""
    for jitter in JITTER:
        system = S.T.copy(order="F")  # LAPACK's own order: of a symmetric matrix nothing moves
        system.flat[:: len(S) + 1] += jitter
        lower, failed = dpotrf(system, lower=1, overwrite_a=1, clean=0)
        if not failed and lower[-1, -1] > 0:  # LAPACK carries NaN through to there
            return np.asarray(lower)
    raise SubproblemError("failed", "the normal equations are not positive definite")
