"""Lower bounds of a risk's minimum on boxes, many at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dcprog.bounds.boxed_risk import BoxedRisk
from dcprog.bounds.minorant import Minorant, View
from dcprog.bounds.search import Found
from dcprog.foundation.arrays import Array

__all__ = ["bound_boxes", "bounded", "contract"]

# Newton steps on the minorant of a box, at most.
STEPS = 6
# Kinks are smoothed over the share ROUNDED of a row's range, multiplied by SHARPER in each step.
ROUNDED, SHARPER = 0.8, 0.6
# A share of the gradient over the box's size is added to the curvature: steps end at its edge.
DAMPING = 0.1
# |w_j| is smoothed over this share of the box's side.
BENT = 0.05
# Computed edges of boxes are moved outward by this share of their size.
ROUNDING = 1e-12


def bound_boxes(risk: BoxedRisk, lo: Array, hi: Array, z: Array, target: float) -> Found:
    """Lower bounds of a risk's minimum on boxes.

    On a box each loss has an interval; the concave φ lies above its chord there, which is a convex
    function of θ. Newton's method, with smoothed kinks, minimises the sum; at each of its points
    lines below the losses add up to one plane below the sum, and the minimum of that plane and the
    penalty over the box is a bound, exact whatever Newton's method found.

    Parameters
    ----------
    risk : BoxedRisk
    lo, hi : arrays of shape (boxes, p)
    z : array of shape (boxes, p)
        Starting points of Newton's method, one per box.
    target : float
        A box is finished once its bound reaches the target, or once a value of its minorant is
        below it.

    Returns
    -------
    Found
    """
    return bounded(Minorant.on(risk, lo, hi), z, target, STEPS, SHARPER)


def bounded(minorant: Minorant, z: Array, target: float, steps: int, sharper: float) -> Found:
    """Lower bounds on boxes from given minorants, as those of :func:`bound_boxes`.

    `steps` is the largest number of Newton steps; each multiplies the width over which kinks are
    smoothed by `sharper`.
    """
    lo, hi = minorant.lo, minorant.hi
    n = lo.shape[0]
    z = np.clip(z, lo, hi)
    found = Found(np.full(n, -np.inf), z, np.zeros(n), np.zeros(z.shape), lo.copy(), hi.copy())
    live = np.arange(n)
    best, best_z = np.full(n, np.inf), z.copy()
    share = ROUNDED
    for left in reversed(range(steps)):
        part = minorant if live.size == n else minorant.take(live)
        view = part.view(found.z[live], share)
        found.lower[live] = np.fmax(found.lower[live], view.lower)
        found.value[live], found.effect[live] = part.truth(view)
        contract(part, view, target, found, live)
        worse = view.value > best[live]
        best[live] = np.where(worse, best[live], view.value)
        best_z[live] = np.where(worse[:, None], best_z[live], view.z)
        undecided = (found.lower[live] < target) & (view.value >= target)
        if not left or not np.any(undecided):
            break  # found.z are the points of found.value
        halfway = 0.5 * (view.z + best_z[live])
        ahead = np.where(worse[:, None], halfway, _newton(part, view))
        found.z[live[undecided]] = ahead[undecided]
        live = live[undecided]
        share *= sharper
    return found


def _newton(minorant: Minorant, view: View) -> Array:
    """The next points: a damped Newton step in the coordinates that are not held at an edge."""
    z, lo, hi = view.z, minorant.lo, minorant.hi
    hessian = minorant.hessian(view)
    sides = hi - lo
    slope, bend = minorant.penalty.bends(z, BENT * sides)
    slope = slope + view.plane
    damp = np.divide(DAMPING * np.abs(slope), sides, out=np.zeros(z.shape), where=sides > 0)
    diagonal = np.arange(z.shape[1])
    hessian[:, diagonal, diagonal] += bend + damp
    stuck = ((z <= lo) & (slope > 0)) | ((z >= hi) & (slope < 0)) | (sides <= 0)
    stuck |= hessian[:, diagonal, diagonal] <= 0
    hessian = np.where(stuck[:, :, None] | stuck[:, None, :], 0.0, hessian)
    own = hessian[:, diagonal, diagonal]
    hessian[:, diagonal, diagonal] = np.where(stuck, 1.0, own * (1 + 1e-9))
    step = np.linalg.solve(hessian, np.where(stuck, 0.0, slope)[:, :, None])[:, :, 0]
    return np.clip(z - step, lo, hi)


def contract(
    minorant: Minorant, view: View, target: float, found: Found, live: npt.NDArray[np.intp]
) -> None:
    """Shrink the boxes to where the plane and the penalty allow values below the target."""
    room = (target - view.lower)[:, None] + view.parts
    least, most = minorant.penalty.reach(view.plane, room, view.z)
    slack = ROUNDING * (np.abs(minorant.lo) + np.abs(minorant.hi))
    found.lo[live] = np.maximum(found.lo[live], least - slack)
    found.hi[live] = np.minimum(found.hi[live], most + slack)
