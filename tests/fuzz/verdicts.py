"""Is a verdict right? Values, constraints, histories and directional differences, recomputed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import linprog

from tests.fuzz.landscape import Array, Landscape
from tests.fuzz.report import DOCUMENTED, Report

__all__ = [
    "Descent",
    "check_point",
    "check_status",
    "find_descent",
    "resolved",
    "slope_along",
    "worth",
]

FEASIBLE = 1e-5  # the largest violation at "converged", relative to the constraint's terms
VALUE = 1e-7  # how far the reported value may be from the recomputed one, relative to the terms
STEPS = (1e-3, 1e-4, 1e-5, 1e-7, 1e-9)  # the least tell a slope from the wall of a narrow well
WIDER = (1e-1, 3e-2, 1e-2)
ACTIVE = 1e-4
EVIDENCE = 30.0  # a descent counts from so many tolerances on …
STEEP = 10.0  # … and where its slope is so many roots of the tolerance
RANDOM = 16
MOST_COORDINATES = 40
RESOLVED = 0.1  # where F vanishes, solvers resolve tol times a share of what it varies by
SAMPLES, DRAWS = 5, 100  # so many points of the domain, of so many drawn at most
STILL = 1e-9  # a violation that no step may add to
LOST = 1e-3  # by so much of the terms the best value seen may not be better


class Descent:
    """A direction in which F falls at first order, and what kind of point that makes x."""

    def __init__(self, kind: str, slope: float, back: float, drop: float, direction: Array) -> None:
        self.kind = kind
        self.direction = direction
        self.slope = slope
        self.back = back
        self.drop = drop

    def __str__(self) -> str:
        return (
            f"slope {self.slope:.2e} (backwards {self.back:.2e}), drop {self.drop:.2e}, "
            "relative to the terms of F"
        )


def worth(land: Landscape, x: Array, start: Array | None = None) -> float:
    """What F's terms add up to: the number that tolerances are relative to."""
    here = land.size(x)
    first = 0.0 if start is None else land.size(start)
    first = first if np.isfinite(first) else 0.0
    return max(here if np.isfinite(here) else 0.0, 1e-3 * first, np.finfo(float).tiny)


def check_status(report: Report, result: Any) -> None:
    """The status is documented, the arrays fit one another, and no step rose."""
    report.outcome = result.status
    if result.status not in DOCUMENTED:
        report.fail("undocumented status", result.status)
    history = result.history
    lengths = {len(getattr(history, n)) for n in ("value", "gap", "step", "time", "rise")}
    if len(lengths) != 1:
        report.fail("a torn history", str(lengths))
    if result.x is not None and not np.all(np.isfinite(result.x)):
        report.fail("a point that is not finite", result.status)
    if result.x is None and result.status in ("converged", "max_iter"):
        report.fail("no point", result.status)


def check_point(
    report: Report, land: Landscape, result: Any, tol: float, rng: np.random.Generator, sign: float
) -> Descent | None:
    """The point is worth what the result says, and what "converged" promises holds.

    Returns what makes it wrong, if something does.
    """
    x = result.x
    if x is None or not np.all(np.isfinite(x)):
        return None
    value, scale = land.value(x), worth(land, x)
    reported = sign * result.value
    if result.status == "converged" and not np.isfinite(value):
        report.fail("converged outside the domain", f"F = {value}")
        return None
    noise, least = _noise(land, x, rng), 0.0
    if np.isfinite(value) and result.status != "unbounded":
        # |u|^0.2 of a residual of a last digit is 5e-4: sums in another order give another value
        if not abs(reported - value) <= VALUE * scale + 2 * noise:
            report.fail("a wrong value", f"{reported} for {value}, terms {scale:.3g}")
    # beside an infinite slope every last digit counts
    if land.descended is not None or (land.edge is not None and land.edge(x)):
        least = resolved(land, x, rng)
    check_history(report, result, scale, tol, sign, noise, least)
    if result.status == "converged":
        missed = land.miss(x)
        if not missed <= FEASIBLE:
            report.fail("converged outside the constraints", f"by {missed:.2e}")
            return None
        descent = find_descent(land, x, tol, rng)
        if descent is not None and descent.kind == "wrong converged":
            report.fail("wrong converged", str(descent))
            return descent
        if descent is not None:
            report.remarks.append(descent.kind)
    return None


def _noise(land: Landscape, x: Array, rng: np.random.Generator) -> float:
    """What a few roundings of x do to F: much, where F has infinite slopes."""
    eps, here = 4 * np.finfo(float).eps, land.value(x)
    if not np.isfinite(here):
        return 0.0
    there = [land.value(x * (1 + eps * rng.choice([-1, 0, 1], x.size))) for _ in range(SAMPLES)]
    changes = np.abs(np.array(there) - here)
    return float(np.max(changes, where=np.isfinite(changes), initial=0.0))


def check_history(
    report: Report,
    result: Any,
    scale: float,
    tol: float,
    sign: float,
    noise: float,
    least: float = 0.0,
) -> None:
    """No step of the run rose, and the point is the best feasible one that it saw.

    Rises count against F's terms, or the size that solvers resolve tol of, if that is larger. That
    much may be lost as well beside an infinite slope, as the point is moved inside the domain.
    """
    history = result.history
    rise = np.asarray(history.rise)
    values = sign * np.asarray(history.value)
    usable = np.isfinite(values) & (np.asarray(history.violation) <= STILL)
    scale = max(scale, float(np.max(np.abs(values[usable]), initial=0.0)))
    if result.mode == "penalty" and np.isfinite(result.scale):
        scale = max(scale, result.scale)  # that of F and its price, where F itself may be 0
    # where constraints are missed, the rise is that of their price, which may be any number of F's
    priced = np.asarray(history.violation) > STILL
    judged = np.isfinite(rise) & ~(priced | np.roll(priced, 1))
    largest = float(np.max(rise[judged], initial=0.0))
    if largest > 10 * tol * max(scale, least):
        report.fail("a rise", f"{largest:.3e}, terms {scale:.3g}")
    lost = sign * result.value - float(np.min(values[usable], initial=np.inf))
    if np.isfinite(lost) and lost > LOST * scale + max(noise, 10 * tol * least):
        report.fail("a lost point", f"by {lost:.3e}, terms {scale:.3g}")


def find_descent(land: Landscape, x: Array, tol: float, rng: np.random.Generator) -> Descent | None:
    """The worst direction in which F falls at first order beyond tolerance, if there is one."""
    scale, here = worth(land, x), land.level(x)
    steps = land.steps(x)
    least = STEEP * np.sqrt(tol)
    allowed = max(land.miss(x), STILL)
    least_drop = EVIDENCE * tol * max(scale, resolved(land, x, rng))
    worst: Descent | None = None
    for direction in _directions(land, x, steps, rng):
        slope = slope_along(land, x, direction, least, allowed)
        if not slope < -least:
            continue
        drop = _drop(land, x, steps, direction, allowed, here)
        if drop <= least_drop:
            continue
        back = (land.level(x - STEPS[-1] * steps * direction) - here) / (STEPS[-1] * scale)
        kind = _kind(land, x, STEPS[-1] * steps * direction, slope, back, least)
        if worst is None or (kind == "wrong converged") > (worst.kind == "wrong converged"):
            worst = Descent(kind, slope, back, drop / scale, direction)
        if kind == "wrong converged":
            break
    return worst


def slope_along(
    land: Landscape, x: Array, direction: Array, least: float, allowed: float = STILL
) -> float:
    """The least steep slope over some steps, relative to the terms of F; ends at a flat one."""
    scale, here, steps = worth(land, x), land.level(x), land.steps(x)
    slope = -np.inf
    for h in STEPS[1:]:
        y = _restored(land, x + h * steps * direction, steps, allowed)
        slope = max(slope, np.inf if y is None else (land.level(y) - here) / (h * scale))
        if not slope < -least:
            break
    return slope


def resolved(land: Landscape, x: Array, rng: np.random.Generator) -> float:
    """The size that solvers resolve tol of: a share of what F varies by over its units."""
    here, changes = land.level(x), []
    for _ in range(DRAWS):
        there = land.level(x + land.units * rng.normal(size=x.size))
        changes += [abs(there - here)] if np.isfinite(there - here) else []
        if len(changes) == SAMPLES:
            break
    return RESOLVED * float(np.median(changes)) if changes else 0.0


def _kind(land: Landscape, x: Array, step: Array, slope: float, back: float, least: float) -> str:
    """Where F, or an active constraint, has a concave kink one choice of slope is critical."""
    here = land.kinked(x)
    if here.size:
        bend = land.kinked(x + step) + land.kinked(x - step) - 2 * here
        if np.any((here > -ACTIVE) & (bend < -0.1 * np.max(np.abs(step)))):
            return "not d-stationary"
    if not np.isfinite(back) or (land.edge is not None and land.edge(x)):
        return "at the edge of the domain"
    if back <= least and back + slope < 0.5 * slope:
        return "not d-stationary"  # both sides fall, or one does and the other is flat
    return "wrong converged"


def _drop(
    land: Landscape, x: Array, steps: Array, direction: Array, allowed: float, here: float
) -> float:
    drop = 0.0
    for h in (*STEPS, *WIDER):
        y = _restored(land, x + h * steps * direction, steps, allowed)
        if y is not None:
            drop = max(drop, here - land.level(y))
    return drop


def _directions(
    land: Landscape, x: Array, steps: Array, rng: np.random.Generator
) -> Iterator[Array]:
    """Coordinates, the steepest feasible direction, random ones; largest entry 1."""
    chosen = rng.permutation(x.size)[:MOST_COORDINATES]
    gradient = np.zeros(x.size)
    h = STEPS[-1]
    for i in chosen:
        e = np.zeros(x.size)
        e[i] = 1.0
        yield e
        yield -e
        ahead, behind = land.level(x + h * steps * e), land.level(x - h * steps * e)
        if np.isfinite(ahead) and np.isfinite(behind):
            gradient[i] = (ahead - behind) / (2 * h)
    if np.any(gradient):
        yield -gradient / np.max(np.abs(gradient))
        steepest = _steepest(land, x, steps, gradient)
        if steepest is not None:
            yield steepest
    for _ in range(RANDOM):
        d = rng.standard_normal(x.size)
        yield d / np.max(np.abs(d))


def _steepest(land: Landscape, x: Array, steps: Array, gradient: Array) -> Array | None:
    """The direction of steepest descent that the active constraints leave, by a linear program."""
    g, h = land.rows(x)
    if g.size + h.size == 0 or g.size + h.size > 400:
        return None
    active = g > -ACTIVE
    jacobian_g, jacobian_h = _jacobians(land, x, steps, active)
    if not (np.all(np.isfinite(jacobian_g)) and np.all(np.isfinite(jacobian_h))):
        return None
    size = np.max(np.abs(gradient))
    answer = linprog(
        gradient / size,
        A_ub=jacobian_g if jacobian_g.size else None,
        b_ub=np.zeros(len(jacobian_g)) if jacobian_g.size else None,
        A_eq=jacobian_h if jacobian_h.size else None,
        b_eq=np.zeros(len(jacobian_h)) if jacobian_h.size else None,
        bounds=(-1, 1),
    )
    if answer.x is None or np.max(np.abs(answer.x)) < 1e-3:
        return None
    return np.asarray(answer.x)


def _jacobians(land: Landscape, x: Array, steps: Array, active: Any) -> tuple[Array, Array]:
    h, of_g, of_h = 1e-6, [], []
    for i in range(x.size):
        e = np.zeros(x.size)
        e[i] = h * steps[i]
        (g1, h1), (g0, h0) = land.rows(x + e), land.rows(x - e)
        of_g.append((g1 - g0)[active] / (2 * h))
        of_h.append((h1 - h0) / (2 * h))
    return np.array(of_g).T, np.array(of_h).T


def _restored(land: Landscape, y: Array, steps: Array, allowed: float) -> Array | None:
    """A point near y that meets the constraints as well as the centre does, by Newton's method."""
    for _ in range(4):
        g, h = land.rows(y)
        if land.miss(y) <= allowed:
            return y
        missed = g > 0
        if not np.all(np.isfinite(h)) or np.any(np.isnan(g)) or g.size + h.size > 400:
            return None
        jacobian_g, jacobian_h = _jacobians(land, y, steps, missed)
        rows = np.vstack([jacobian_g.reshape(-1, y.size), jacobian_h.reshape(-1, y.size)])
        short = np.concatenate([g[missed] + 0.1 * allowed, h])
        if not (np.all(np.isfinite(rows)) and np.all(np.isfinite(short))):
            return None
        y = y - steps * np.linalg.lstsq(rows, short, rcond=1e-9)[0]
    return None
