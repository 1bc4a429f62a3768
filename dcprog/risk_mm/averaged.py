"""Newton's method for a risk of so many samples that their kinks and jumps average out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.sums import median
from dcprog.foundation.tolerances import FEW_COEFFICIENTS
from dcprog.risk.risk import Risk
from dcprog.risk_mm.units import Units
from dcprog.rows.scores import Scores
from dcprog.solvers.linalg.kronecker import RowHessian

# A tall risk has at least TALL samples, and OF_EACH for each coefficient: a step of the loop takes
# seconds then, and a window of the margins holds enough samples to tell how the slope changes.
TALL, OF_EACH = 100_000, 500
# With more samples, the curvature is that of every k-th sample, of at least MOST in all: these are
# copied, and an average needs as many.
MOST = 2**17
# Halves of the windows' widths, times n^(-1/5) spreads of the margins, as of a density estimate.
WIDTHS = (0.5, 0.1, 0.02)
STEPS, SHARES = 5, (0.5, 0.2)  # steps for each width; shares to try of a step that leads no lower
# Newton's steps end at one that lowers F by less than this share of its terms.
LEAST = 1e-7
# Eigenvalues of the scaled Hessian are taken without their sign, and at least as large as this.
FLATTEST = 1e-3


def is_tall(risk: Risk) -> bool:
    """True for many samples of few coefficients, each with losses of its own."""
    rows = risk.rows
    return (
        isinstance(rows, Scores)
        and rows.kernel is None
        and risk._is_entrywise
        and rows.shape[1] <= FEW_COEFFICIENTS
        and rows.X.shape[0] >= max(TALL, OF_EACH * rows.shape[1])
    )


def averages(risk: Risk) -> bool:
    """True for tall risks that are not convex, of finite slopes and with a ridge alone."""
    slopes = np.isfinite(risk.transform.steepest)
    ridge = risk.penalty.parts().ridge_alone is not None
    return is_tall(risk) and not risk.has_convex_losses and slopes and ridge


def settled(risk: Risk, units: Units, x: Array, deadline: Deadline) -> Array:
    r"""The point to which Newton's steps lead from x; x itself if none is lower.

    A loss f(u_i) = φ(base(u_i)) − sub(u_i) has the curvature
    (f(u_i + h) − 2f(u_i) + f(u_i − h))/h², which counts every kink and jump of the slope within h
    of a sample: their number is smooth in θ. A step of the majorant leaves out those of φ, and
    takes many times as many steps where samples crowd at a cap. Every step lowers F itself.

    Parameters
    ----------
    risk : Risk
        One that :func:`averages` says yes to.
    units : Units
        Of the risk; the Hessian is formed for its natural rows.
    x : array of shape (p,)
    deadline : Deadline

    Returns
    -------
    array of shape (p,)
    """
    model, value = _Model(risk, units), risk(x)
    least = LEAST * risk.magnitude(x)
    for width in WIDTHS[:1] if _is_smooth(risk) else WIDTHS:
        for _ in range(STEPS):
            if deadline.left == 0:
                return x
            way, promise = model.step(x, width)
            if promise < least:
                return x
            t, lower = _lowest(risk.along(x, way), value)
            if not lower < value - least:
                break
            x, value = x + t * way, lower
    return x


def _is_smooth(risk: Risk) -> bool:
    """True if no loss has a kink or a jump, of which narrower windows would tell more."""
    losses = [risk.base] if risk.subtracted is None else [risk.base, risk.subtracted]
    return risk.transform.regularity.is_smooth and all(loss.is_smooth for loss in losses)


def _lowest(along: Callable[[float], float], value: float) -> tuple[float, float]:
    """The full step if it is lower than the value, otherwise the lowest of the shares."""
    full = along(1.0)
    if full < value:
        return 1.0, full
    return min(((t, along(t)) for t in SHARES), key=lambda pair: pair[1])


class _Model:
    """The quadratic model of a risk: its slope, and its averaged curvature at some samples."""

    def __init__(self, risk: Risk, units: Units) -> None:
        self.risk, self.units = risk, units
        self.few, natural, n = risk, units.natural, risk.scores.X.shape[0]
        self.seen: slice = slice(0, n, max(1, n // MOST))
        if self.seen.step > 1:
            places = np.arange(n)[self.seen]
            self.few, natural = risk.of_samples(places), natural.of_samples(places)
        self.hessian = RowHessian(natural)

    def step(self, x: Array, width: float) -> tuple[Array, float]:
        """Newton's step in the risk's own units and the fall of the model on it.

        All eigenvalues are taken as positive.
        """
        risk, units = self.risk, self.units
        ridge = np.where(risk.penalized, risk.penalty.parts().ridge, 0.0)
        H = self.hessian.hessian(self.curvature(x, width), np.arange(x.size)) * units.margin**2
        H[np.diag_indices_from(H)] += ridge * units.coefficient**2
        slope = units.margin * units.natural.pull(risk.row_slopes(x))
        slope += ridge * x * units.coefficient
        diagonal = np.sqrt(np.abs(np.diag(H)))
        size = np.where(diagonal > 0, diagonal, 1.0)
        values, vectors = np.linalg.eigh(H / np.outer(size, size))
        bend = np.maximum(np.abs(values), FLATTEST)
        pull = vectors.T @ (slope / size)
        promise = float(pull @ (pull / bend)) / 2
        return units.own(-(vectors @ (pull / bend)) / size), promise

    def curvature(self, x: Array, width: float) -> Array:
        """The second differences of the losses over a window around the margins that are seen."""
        few, n = self.few, self.risk.scores.X.shape[0]
        u = self.risk.margins(x).reshape(n, -1)[self.seen].ravel()
        spread = median(np.abs(u - median(u))) or 1.0
        h, bend = width * spread * u.size ** (-1 / 5), np.empty(u.size)

        def moved(by: float) -> Iterator[tuple[slice, Risk]]:
            return few._parts(x, lambda rows: u[rows] + by)

        for (rows, below), (_, here), (_, above) in zip(moved(-h), moved(0), moved(h), strict=True):
            change = below.loss_values(x) - 2 * here.loss_values(x) + above.loss_values(x)
            bend[rows] = np.where(np.isfinite(change), change / h**2, 0.0)
        return bend
