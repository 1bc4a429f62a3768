"""Finite Newton for weighted squared hinges with a ridge penalty and free intercepts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dcprog.errors import SubproblemError
from dcprog.losses import squared_hinge
from dcprog.penalties import l2
from dcprog.rows import Margins
from dcprog.solvers.protocol import Solution
from dcprog.solvers.ridge import Ridge
from dcprog.tree import Array

if TYPE_CHECKING:
    from dcprog.risk import Risk

__all__ = ["NewtonSolver", "squared_hinge_refusal"]

# Nearly hard margins take about a step a sample. A step to the end of a tiny piece may fall by
# less than rounding: only STALLS of them in a row mean that there is no more to gain.
MAX_STEPS = 2000
STALLS = 10
PRECISION = 1e-15


def squared_hinge_refusal(risk: Risk) -> str | None:
    """Why a solver for squared hinges of margins with a ridge cannot take a risk, if so."""
    if not isinstance(risk.rows, Margins):
        return "its rows are not margins built by class_margins or binary_margins"
    if not isinstance(risk.base, squared_hinge):
        return f"its base is {risk.base!r}, not squared_hinge"
    if risk.aggregate == "max":
        return "its groups take the maximum"
    if not (isinstance(risk.penalty, l2) and risk.penalty.lam > 0):
        return f"its penalty is {risk.penalty!r}, not l2 with a positive lam"
    if not np.array_equal(risk.penalized, risk.rows.penalized):
        return "it does not penalise exactly the coefficients without the intercepts"
    return None


class NewtonSolver:
    r"""For every score k:  min Σ_i d_{ik} [a − u_{ik}]₊² + t_k·u_k + (λ/2)‖w_k‖².

    The function is convex and piecewise quadratic. Each step solves the quadratic of the current
    piece (the samples inside their margin) exactly and moves to the exact minimum along that
    direction, which ends after finitely many pieces.

    Parameters
    ----------
    risk : Risk
        Squared hinges of :class:`~dcprog.rows.Margins`, none or sums of them a group, with an
        ``l2`` penalty on the coefficients.

    References
    ----------
    Mangasarian (2002), A finite Newton method for classification, Optim. Methods Softw. 17.
    Keerthi, DeCoste (2005), A modified finite Newton method for fast solution of large scale
    linear SVMs, JMLR 6.
    """

    def __init__(self, risk: Risk) -> None:
        self.risk = risk
        self.rows: Margins = risk.rows
        self.ridge = Ridge(self.rows.X, risk.penalty.lam, self.rows.fit_intercept)

    @staticmethod
    def refusal(risk: Risk) -> str | None:
        """Why finite Newton cannot take a risk, None if it can."""
        return squared_hinge_refusal(risk)

    def minimise(
        self,
        weights: Array,
        tilts: Array | None,
        start: Array,
        tolerance: float,
        time_limit: float | None = None,
    ) -> Solution:
        """The minimiser, as exactly as the arithmetic allows; `tolerance` decides on failure."""
        shape = self.rows.signs.shape
        spread = self.risk.row_weights(weights)
        tilt = np.zeros(shape) if tilts is None else tilts.reshape(shape)
        coef, intercept = (part.copy() for part in self.rows.unpack(start))
        for k, weight in enumerate(spread.reshape(shape).T):
            score = _Score(self.ridge, self.risk.base.at, self.rows.signs[:, k], weight, tilt[:, k])
            coef[k], intercept[k] = score.minimise(coef[k], float(intercept[k]), tolerance)
        theta = self.rows.pack(coef, intercept)
        dual = -spread * self.risk.base.slope(self.rows @ theta)
        return Solution(theta, dual, self.value(theta, weights, tilts, theta))

    def value(self, theta: Array, weights: Array, tilts: Array | None, centre: Array) -> float:
        """The weighted risk itself."""
        return self.risk.weighted(theta, weights, tilts)


@dataclass(frozen=True)
class _Score:
    """Σ_i d_i [a − s_i(x_i·w + b)]₊² + Σ_i t_i s_i(x_i·w + b) + (λ/2)‖w‖²."""

    ridge: Ridge
    at: float
    sign: Array
    weight: Array
    tilt: Array

    def minimise(self, w: Array, b: float, tolerance: float) -> tuple[Array, float]:
        X, lam = self.ridge.X, self.ridge.lam
        lowest, stalled = np.inf, 0
        for _ in range(MAX_STEPS):
            margin = self.sign * (X @ w + b)
            inside = np.maximum(self.at - margin, 0.0)
            loss, penalty = float(self.weight @ inside**2), lam / 2 * float(w @ w)
            value = loss + penalty + float(self.tilt @ margin)
            pull = self.sign * (self.tilt - 2 * self.weight * inside)
            g = X.T @ pull + lam * w
            h = float(np.sum(pull)) if self.ridge.fit_intercept else 0.0
            step, shift = self._step(g, h, np.flatnonzero(self.weight * inside))
            promise = -(float(g @ step) + h * shift) / 2  # decrease if the piece did not end
            stalled = 0 if value < lowest else stalled + 1
            lowest = min(lowest, value)
            if promise <= PRECISION * (loss + penalty) or stalled == STALLS:
                break
            t = self._length(margin, self.sign * (X @ step + shift), w, step)
            w, b = w + t * step, b + t * shift
        if promise > tolerance * (1 + abs(value)):
            raise SubproblemError("failed", f"finite Newton stopped {promise:.3g} short")
        return w, b

    def _step(self, g: Array, h: float, active: npt.NDArray[np.intp]) -> tuple[Array, float]:
        if active.size == 0:  # no curvature holds the intercept: where it slopes, go until one does
            level = abs(h) <= 1e-14 * float(np.sum(np.abs(self.tilt)))
            return (-g / self.ridge.lam, 0.0) if level else (np.zeros_like(g), -h)
        step, shift = self.ridge.step(g, np.asarray(h), self.weight[active], active)
        return step, float(shift)

    def _length(self, margin: Array, change: Array, w: Array, step: Array) -> float:
        """The exact minimum along a direction."""
        lam, along, square = self.ridge.lam, float(w @ step), float(step @ step)
        tilt = float(self.tilt @ change)

        def slope(t: float) -> float:
            inside = np.maximum(self.at - margin - t * change, 0.0)
            return tilt - 2 * float((self.weight * inside) @ change) + lam * (along + t * square)

        if abs(slope(1.0)) <= 1e-12 * abs(slope(0.0)):
            return 1.0
        with np.errstate(divide="ignore", invalid="ignore"):
            breaks = (self.at - margin) / change
        return _root(slope, breaks[(breaks > 0) & np.isfinite(breaks) & (self.weight > 0)])


def _root(slope: Callable[[float], float], breaks: Array) -> float:
    """Root of an increasing, piecewise linear function that is negative at 0."""
    knots = np.concatenate([[0.0], np.sort(breaks)])
    low, high = 0, knots.size  # negative up to knots[low], not from knots[high] on
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if slope(knots[middle]) < 0 else (low, middle)
    left = knots[low]
    right = knots[high] if high < knots.size else 2 * left + 1
    at_left, at_right = slope(left), slope(right)
    if not at_right > at_left:
        raise SubproblemError("unbounded", "the function falls for ever along a direction")
    return left - at_left * (right - left) / (at_right - at_left)
