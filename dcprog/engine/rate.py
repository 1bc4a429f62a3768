"""The rate at which a run's values fell, read off its history."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from dcprog.engine.track import NOISE, History
from dcprog.foundation.arrays import Array
from dcprog.foundation.tolerances import LEVEL

# Decreases in a window: three parameters are fitted, and five must be left to judge them.
FEWEST = 8
CLEAR = 100 * NOISE  # a decrease of this multiple of F's scale is known to 1% or better
# A decrease above the root of the rounding is no limit of smaller and smaller ones.
MARKED = float(np.sqrt(np.finfo(float).eps))
EXACT = 1e-3  # log-decreases are never trusted beyond that: solvers leave errors of their own
# Curvatures κ of the fits: 0 is a linear rate, 1/(p + 1) the exponent p, negative ones are faster.
CURVATURES, SPACING = np.linspace(-0.5, 1.0, 301, retstep=True)
STRAIGHT = 0.1  # κ below which powers of t (p > 9) are not told from a linear rate
GROWTH = 3.0  # t grows by this factor over the last three quarters if they show a power of t


@dataclass(frozen=True)
class Rate:
    """The rate that a run shows.

    Attributes
    ----------
    kind : {"finite", "linear", "sublinear", "superlinear", "not shown"}
    value : float
        ``finite``: the number of steps after which nothing changed any more; ``linear``: the factor
        q of F(x_t) − F* ~ q^t; ``sublinear``: the exponent p of F(x_t) − F* ~ t^−p; else NaN.
    interval : (float, float)
        Of the factor or the exponent: 95% in every window that was looked at.
    decreases : int
        Decreases of F that the fit used.
    message : str
        The reason, in words.

    Examples
    --------
    >>> from dcprog import Rate
    >>> print(Rate("linear", 0.5, (0.49, 0.51), 20, "log-decreases lie on a line"))
    linear with factor 0.5 (0.49 to 0.51): log-decreases lie on a line, 20 decreases
    """

    kind: str
    value: float
    interval: tuple[float, float]
    decreases: int
    message: str

    def __str__(self) -> str:
        if self.kind == "finite":
            steps = "1 step" if self.value == 1 else f"{self.value:.0f} steps"
            return f"finite, after {steps}: {self.message}"
        if self.kind in ("linear", "sublinear"):
            word = "factor" if self.kind == "linear" else "exponent"
            low, high = self.interval
            shown = f"{self.kind} with {word} {self.value:.3g} ({low:.3g} to {high:.3g})"
        else:
            shown = self.kind
        count = "1 decrease" if self.decreases == 1 else f"{self.decreases} decreases"
        return f"{shown}: {self.message}, {count}"

    __repr__ = __str__


def rate_of(history: History, scale: float) -> Rate:
    """The rate of a run; see :meth:`dcprog.engine.result.Result.rate`.

    Parameters
    ----------
    history : History
    scale : float
        Of F, the unit of its rounding.

    Returns
    -------
    Rate
    """
    falls = _last_falls(history, scale)
    clear = falls[: _clear(falls, CLEAR * scale)]
    fitted = _fitted(clear)
    if fitted.kind == "not shown" and len(history) and history.unchanged[-1]:
        return _finite(history, scale) or fitted
    return fitted


def _last_falls(history: History, scale: float) -> Array:
    """Decreases −rise of F, after the last step at which F itself moved."""
    return -history.rise[history.settled_from(CLEAR * scale) + 1 :]


def _clear(falls: Array, least: float) -> int:
    """The number of falls before the first one that is not clear of rounding."""
    unclear = np.flatnonzero(~(falls > least))
    return int(unclear[0]) if unclear.size else len(falls)


def _finite(history: History, scale: float) -> Rate | None:
    """The step from which on the majorant stayed as it was, if F fell markedly until then."""
    changed = np.flatnonzero(~history.unchanged)
    steps = int(changed[-1]) + 1
    before = -history.rise[max(steps - 1, 1) : steps + 1]
    if len(history) > 2 and not np.max(before, initial=0.0) > MARKED * scale:
        return None
    if not np.max(-history.rise, initial=0.0) > MARKED * scale:
        steps = 0
    message = "the majorant at the end is the one that the point minimises"
    return Rate("finite", float(steps), (float(steps), float(steps)), steps, message)


# ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Window:
    """Fits to log-decreases of one window.

    Attributes
    ----------
    curvature : (float, float, float)
        κ: the lowest within 95%, the best, and the highest.
    slope : (float, float, float)
        Of the straight line: the ends of its 95% interval, and the best between them.
    growth : float
        The factor by which t + t₀ grows over the window at the best κ.
    """

    curvature: tuple[float, float, float]
    slope: tuple[float, float, float]
    growth: float


def _fitted(falls: Array) -> Rate:
    if len(falls) < FEWEST + 1:
        return _not_shown(falls, f"too few steps to say ({FEWEST + 1} clear decreases are needed)")
    lengths = dict.fromkeys([len(falls) - len(falls) // 4, max(len(falls) // 2, FEWEST)])
    windows = [_window(np.log(falls[-length:])) for length in lengths]
    low = min(window.curvature[0] for window in windows)
    high = max(window.curvature[2] for window in windows)
    if high < 0:
        message = "decreases shrink faster and faster"
        return Rate("superlinear", np.nan, (np.nan, np.nan), len(falls), message)
    if -STRAIGHT <= low <= 0 <= high <= STRAIGHT:
        q = [np.exp(np.array(window.slope)) for window in windows]
        ends = float(min(s[0] for s in q)), float(min(max(s[2] for s in q), 1.0))
        message = "log-decreases lie on a line"
        return Rate("linear", float(q[-1][1]), ends, len(falls), message)
    agree = max(w.curvature[0] for w in windows) <= min(w.curvature[2] for w in windows)
    if low > 0 and agree and windows[0].growth >= GROWTH:
        p = 1 / np.array([high, windows[0].curvature[1], low]) - 1
        message = "decreases follow a power of t"
        ends = max(float(p[0]), 0.0), float(p[2])
        return Rate("sublinear", max(float(p[1]), 0.0), ends, len(falls), message)
    return _not_shown(falls, "the steps do not tell a linear rate from a power of t")


def _not_shown(falls: Array, message: str) -> Rate:
    return Rate("not shown", np.nan, (np.nan, np.nan), len(falls), message)


def _window(logs: Array) -> _Window:
    t, free = np.arange(len(logs), dtype=float), len(logs) - 3
    fits = [_curve(logs - logs[0], t, kappa) for kappa in CURVATURES]
    squares = np.array([fit[0] for fit in fits])
    best = int(np.argmin(squares))
    unit = max(squares[best] / free, EXACT**2)
    inside = CURVATURES[squares - squares[best] <= unit * student.ppf(0.5 * (1 + LEVEL), free) ** 2]
    return _Window(
        (float(inside[0]) - SPACING, float(CURVATURES[best]), float(inside[-1]) + SPACING),
        _line(logs, t),
        fits[best][1],
    )


def _curve(logs: Array, t: Array, kappa: float) -> tuple[float, float]:
    """Σ squares of log d + log(A + Bt)/κ, and (A + Bt) at the end over that at the start.

    A and B minimise the relative errors of A + Bt against d^−κ.
    """
    if kappa == 0:
        line = np.polyfit(t, logs, 1)
        return float(np.sum((logs - np.polyval(line, t)) ** 2)), 1.0
    weights = np.exp(kappa * logs)
    columns = weights[:, None] * np.column_stack([np.ones_like(t), t])
    a, b = np.linalg.lstsq(columns, np.ones_like(t), rcond=None)[0]
    curve = a + b * t
    if not np.all(curve > 0):
        return np.inf, 1.0
    return float(np.sum((logs + np.log(curve) / kappa) ** 2)), float(curve[-1] / curve[0])


def _line(logs: Array, t: Array) -> tuple[float, float, float]:
    """The slope of the straight line through the log-decreases, with its 95% interval."""
    slope, level = np.polyfit(t, logs, 1)
    free = len(t) - 2
    error = max(float(np.sum((logs - level - slope * t) ** 2)) / free, EXACT**2)
    half = student.ppf(0.5 * (1 + LEVEL), free) * np.sqrt(error / np.sum((t - t.mean()) ** 2))
    return float(slope - half), float(slope), float(slope + half)
