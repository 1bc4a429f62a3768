"""Theorems that hold for a problem, checked against a run."""

from __future__ import annotations

import numpy as np

from dcprog.engine.certificate import Certificate
from dcprog.engine.rate import CLEAR, Rate
from dcprog.engine.theorems import Check, Theorems
from dcprog.engine.track import History
from dcprog.foundation.tolerances import FORCING, INNER

Seen = tuple[bool | None, str]


def checks_of(
    theorems: Theorems,
    history: History,
    rate: Rate,
    certificate: Certificate,
    unit: tuple[float, float],
) -> tuple[Check, ...]:
    """What a run shows of each theorem that holds.

    Parameters
    ----------
    theorems : Theorems
        For the problem.
    history : History
    rate : Rate
    certificate : Certificate
        With the claims about the point.
    unit : (float, float)
        The scale of F, and the tolerance relative to it.

    Returns
    -------
    tuple of Check
    """
    rise, gap = certificate.descent, certificate.gap
    seen: dict[str, Seen] = {
        "descent": (rise.holds, f"largest rise {rise.measured:.3g}"),
        "strong decrease": _decrease(theorems, history, *unit),
        "critical limits": (gap.holds or None, f"criticality gap {gap.measured:.3g}"),
        "finite convergence": _finite(history),
        "convergence with a rate": (rate.kind != "not shown" or None, str(rate)),
        "d-stationary limits": _stationary(certificate),
    }
    return tuple(Check(t, *seen[t.name]) for t in theorems if t.holds)


def _decrease(theorems: Theorems, history: History, scale: float, tol: float) -> Seen:
    """The number of steps s with F(x) − F(x + s) ≥ (μ/2)‖s‖², up to the error of inexact steps.

    If x + s minimises M to ε, and x* exactly, ‖x + s − x*‖² ≤ 2ε/μ; so (μ/2)‖s‖² may exceed the
    decrease by 2√(ε·(μ/2)‖s‖²) + ε.
    """
    if not theorems.whole:
        return None, "it bounds steps in the penalised entries, the history has those in all"
    first = history.settled_from(CLEAR * scale)
    falls = -history.rise[first + 1 :]
    least = theorems.modulus / 2 * history.step[first + 1 :] ** 2
    before = np.maximum(-history.rise[first : len(history) - 1], 0.0)
    error = np.maximum(INNER * tol * scale, FORCING * before) + CLEAR * scale
    held = int(np.count_nonzero(falls >= least - 2 * np.sqrt(error * least) - error))
    words = f"at {held} of {len(falls)} steps"
    if held == len(falls):
        return True, words
    return None, f"{words}; escapes and accelerated steps are not the theorem's"


def _finite(history: History) -> Seen:
    if len(history) and history.unchanged[-1]:
        return True, "the run ended with a majorant that did not change"
    return None, "the run ended before the majorant repeated"


def _stationary(certificate: Certificate) -> Seen:
    known = certificate.d_stationary
    if known is False and certificate.residual is not None and certificate.residual.holds:
        return False, "a direction leads down"
    return known or None, "every choice of slopes was looked at" if known else "not established"
