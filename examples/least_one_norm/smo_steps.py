"""Every step of the least 1-norm SVM's SMO, held against the formulas of López and Dorronsoro."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dcprog.models import LeastOneNormSVC
from dcprog.solvers.kernel import smo
from examples.common.claims import Claim, at_most, own
from examples.least_one_norm.machines import coefficients, descent

__all__ = ["Steps", "published", "smo_claims", "smo_steps"]

Array = np.ndarray
Problem = tuple[Array, Array, float]  # y, K and C


@dataclass(frozen=True)
class Steps:
    """What each step of the library's SMO did.

    Attributes
    ----------
    gain, apart, Z : arrays of shape (steps,)
        Decrease of the dual, Δ = q_U − q_L, and ‖Z‖² = ‖φ_U − φ_L‖².
    free : bool array of shape (steps,)
        Was Δ/‖Z‖² within the bounds?
    promised : array of shape (steps,)
        λ'Δ − ½λ'²‖Z‖², with λ' = min(Δ/‖Z‖², C − a_L, C + a_U).
    off : array of shape (steps,)
        How far the move was from +λ' at L and −λ' at U, relative to C.
    less : array of shape (steps,)
        By how much Δ falls short of that of the most violating pair.
    """

    gain: Array
    apart: Array
    Z: Array
    free: Array
    promised: Array
    off: Array
    less: Array


def smo_steps(K: Array, y: Array, C: float) -> Steps:
    """Every step of the first-order loop until Δ ≤ 1e-3, one call each."""
    n, rows = len(y), np.arange(len(y))
    found: list[tuple[float, ...]] = []
    v, g, lo, hi = np.zeros(n), -y.copy(), np.full(n, -C), np.full(n, C)
    while len(found) < 5000:
        q, before = K @ v - y, v.copy()
        most = np.max(q, where=v > lo, initial=-np.inf) - np.min(q, where=v < hi, initial=np.inf)
        if most <= 1e-3:
            break
        smo.descend(K, rows, y, lo, hi, v, g, True, False, 0.0, 1)
        move = v - before
        L, U = np.argmax(move), np.argmin(move)
        apart, Z = q[U] - q[L], K[U, U] + K[L, L] - 2 * K[U, L]
        step = min(apart / Z, C - before[L], C + before[U])
        gain, promised = -(q @ move + move @ K @ move / 2), step * apart - step**2 * Z / 2
        move[L], move[U] = move[L] - step, move[U] + step
        off, free = np.max(np.abs(move)) / C, step == apart / Z
        found.append((gain, apart, Z, free, promised, off, most - apart))
    gain, apart, Z, free, promised, off, less = np.array(found).T
    return Steps(gain, apart, Z, free.astype(bool), promised, off, less)


def published(K: Array, y: Array, C: float, steps: int) -> Array:
    """The coefficients a after so many steps of the paper's loop from 0, in NumPy alone."""
    a = np.zeros(len(y))
    for _ in range(steps):
        q = K @ a - y
        U = int(np.argmax(np.where(a > -C, q, -np.inf)))
        L = int(np.argmin(np.where(a < C, q, np.inf)))
        step = (q[U] - q[L]) / (K[U, U] + K[L, L] - 2 * K[U, L])
        step = min(step, C - a[L], C + a[U])
        a[L], a[U] = a[L] + step, a[U] - step
    return a


def named_claim(problems: Sequence[Problem]) -> Claim:
    """The library's solver by the name "smo": a after as many steps as it counts.

    Where K is singular a is not unique, and rounding decides what a long run ends at: left out.
    """
    worst, steps = 0.0, 0
    for y, K, C in problems:
        if np.linalg.matrix_rank(K) < len(y):
            continue
        model = LeastOneNormSVC(C=C, kernel="precomputed", solver="smo").fit(K, y)
        apart = coefficients(model, len(y)) - published(K, y, C, model.n_iter_)
        worst, steps = max(worst, float(np.max(np.abs(apart))) / C), steps + model.n_iter_
    text = 'LeastOneNormSVC(solver="smo") takes the paper\'s steps: a apart, relative to C'
    claim = at_most(text, worst, 1e-3)
    turns = "pairs of the second order, which are fewer"
    return replace(claim, measured=f"{claim.measured} after {steps} steps", turns=turns)


def smo_claims(problems: Sequence[Problem]) -> list[Claim]:
    """The steps, and their decrease; its factor ½ is illegible in print."""
    runs = [smo_steps(K, y, C) for y, K, C in problems]
    off, less = (max(float(np.max(getattr(run, key))) for run in runs) for key in ("off", "less"))
    free, total = sum(int(run.free.sum()) for run in runs), sum(run.gain.size for run in runs)
    share = np.concatenate([(run.gain * run.Z / run.apart**2)[run.free] for run in runs])
    ends = [(run.gain / run.promised - 1)[~run.free] for run in runs]
    clipped = float(np.max(np.abs(np.concatenate(ends))))
    least = min(float(np.min(run.gain)) for run in runs)
    half = float(np.max(np.abs(2 * share - 1)))
    return [
        at_most(f"SMO moves the most violating pair ({total} steps): short by", less, 1e-9),
        at_most("and by λ', relative to C: off by", off, 1e-9),
        at_most(f"a free step ({free}) gains Δ²/(2‖Z‖²), relative", half, 1e-6),
        at_most(f"one at a bound ({total - free}) λ'Δ − ½λ'²‖Z‖², relative", clipped, 1e-6),
        Claim("every step lowers the dual", f"by {least:.1e} or more", least > 0, turns="a rise"),
        *own([stop_claim(problems), named_claim(problems)]),
    ]


def stop_claim(problems: Sequence[Problem]) -> Claim:
    """Every term of the duality gap is (C ∓ a_i)·|r_i| ≤ 2C·Δ/2 with b in the middle."""
    worst = 0.0
    for y, K, C in problems:
        end = descent("least 1-norm", K, y, C)
        Ka = K @ end.a
        gap = end.a @ Ka - y @ end.a + C * np.sum(np.abs(y - Ka - end.b))
        worst = max(worst, float(gap) / (len(y) * C * 1e-3))
    text, turns = "where SMO stops, gap ≤ n·C·Δ", f"a bound {1 / worst:.1f} times smaller"
    return Claim(text, f"{worst:.0%} of it at most", worst <= 1, turns=turns)
