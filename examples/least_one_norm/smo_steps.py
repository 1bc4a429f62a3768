"""Every step of the least 1-norm SVM's SMO, held against the formulas of López and Dorronsoro."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dcprog.solvers.kernel import smo
from examples.common.claims import Claim, at_most
from examples.least_one_norm.machines import descent

__all__ = ["Steps", "smo_claims", "smo_steps"]

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


def smo_claims(problems: Sequence[Problem]) -> list[Claim]:
    """The steps, and their decrease with and without the factor ½ that is illegible in print."""
    runs = [smo_steps(K, y, C) for y, K, C in problems]
    off, less = (max(float(np.max(getattr(run, key))) for run in runs) for key in ("off", "less"))
    free, total = sum(int(run.free.sum()) for run in runs), sum(run.gain.size for run in runs)
    share = np.concatenate([(run.gain * run.Z / run.apart**2)[run.free] for run in runs])
    ends = [(run.gain / run.promised - 1)[~run.free] for run in runs]
    clipped = float(np.max(np.abs(np.concatenate(ends))))
    least = min(float(np.min(run.gain)) for run in runs)
    half, whole = float(np.max(np.abs(2 * share - 1))), float(np.max(np.abs(share - 1)))
    return [
        at_most(f"SMO moves the most violating pair ({total} steps): short by", less, 1e-9),
        at_most("and by λ', relative to C: off by", off, 1e-9),
        at_most(f"a free step ({free}) gains Δ²/(2‖Z‖²), relative", half, 1e-6),
        Claim("a free step gains Δ²/‖Z‖²", f"{np.median(share):.3f} of it", whole < 0.01, False),
        at_most(f"one at a bound ({total - free}) λ'Δ − ½λ'²‖Z‖², relative", clipped, 1e-6),
        Claim("every step lowers the dual", f"by {least:.1e} or more", least > 0),
        stop_claim(problems),
    ]


def stop_claim(problems: Sequence[Problem]) -> Claim:
    """Every term of the duality gap is (C ∓ a_i)·|r_i| ≤ 2C·Δ/2 with b in the middle."""
    worst = 0.0
    for y, K, C in problems:
        end = descent("least 1-norm", K, y, C)
        Ka = K @ end.a
        gap = end.a @ Ka - y @ end.a + C * np.sum(np.abs(y - Ka - end.b))
        worst = max(worst, float(gap) / (len(y) * C * 1e-3))
    return Claim("where SMO stops, gap ≤ n·C·Δ", f"{worst:.0%} of it at most", worst <= 1)
