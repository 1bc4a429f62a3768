"""Truncated conjugate gradients: a step of Newton's method where no matrix can be factored."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.tolerances import FORCING

# The iteration ends where a step lowers the model by less than FORCING of the mean so far: then
# a Newton step with new curvatures gains more than the rest of this one.
MOST = 200  # most iterations, each of two products with the samples


def truncated_minimiser(
    times: Callable[[Array], Array],
    diagonal: Array,
    right: Array,
    deadline: Deadline | None = None,
) -> Array:
    r"""A point δ with a low value of the model q(δ) = ½ δᵀHδ − rᵀδ, by conjugate gradients.

    With the preconditioner diag(H) it ends after k iterations where q(δ_k) − q(δ_{k−1}) is within
    the share `FORCING` of q(δ_k)/k. Every iterate lowers q below q(0) = 0, and has
    q(δ) = −½ rᵀδ; at the deadline it ends where it is.

    Parameters
    ----------
    times : callable
        δ ↦ Hδ for a positive definite H.
    diagonal : array of shape (d,)
        The diagonal of H.
    right : array of shape (d,)
        The vector r.
    deadline : Deadline, optional

    Returns
    -------
    array of shape (d,)

    References
    ----------
    Nash, Sofer (1990), Assessing a search direction within a truncated-Newton method, Oper. Res.
    Lett. 9. Hsia, Chiang, Lin (2018), Preconditioned conjugate gradient methods in truncated
    Newton frameworks for large-scale linear classification, ACML.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.solvers.linalg.conjugate_gradients import truncated_minimiser
    >>> H = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> truncated_minimiser(lambda x: H @ x, np.diag(H), np.array([3.0, 4.0])).round(6)
    array([1., 1.])
    """
    delta, r, fall = np.zeros_like(right), right.copy(), 0.0
    z = r / diagonal
    p, rho = z, float(r @ z)
    for k in range(1, MOST + 1):
        H_p = times(p)
        bend = float(p @ H_p)
        if not 0 < bend < np.inf or rho <= 0:
            break  # only rounding errors are left
        t = rho / bend
        delta += t * p
        r -= t * H_p
        gain = t * rho / 2
        fall += gain
        if k * gain <= FORCING * fall or (deadline is not None and deadline.left == 0):
            break
        z = r / diagonal
        rho, last = float(r @ z), rho
        p = z + (rho / last) * p
    return delta
