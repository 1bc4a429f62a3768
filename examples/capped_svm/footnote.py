"""Footnote 1 of the capped SVM paper: p = ε = 1 minimises the training error.

min([1 − z]₊, 1) ≥ 1{z ≤ 0}, so that without a penalty, γ = 0, the infimum over the scale of (w, b)
is the least number of errors. With γ > 0 the minimiser may be w = 0, however many errors it makes.
Six samples in one dimension show both; their J is minimised over all (w, b), not descended on.
"""

from __future__ import annotations

import warnings

import numpy as np

import dcprog as dc
from dcprog.models import CappedSVC
from examples.common.claims import Claim, at_most, own

Array = np.ndarray
X = np.array([-1.0, -0.9, 0.1, 0.2, 0.3, 1.0])
Y = np.array([-1.0, -1.0, 1.0, -1.0, 1.0, 1.0])
SLOPES = np.linspace(-30, 30, 6001)  # 0 among them


def ramp(z: Array) -> Array:
    """min([1 − z]₊, 1), the loss of p = ε = 1."""
    return np.minimum(np.maximum(1 - z, 0), 1)


def minimiser(gamma: float) -> tuple[float, float, float]:
    """w, b and J = Σ ramp + γw². Given w, J is piecewise linear in b with its kinks at z = 0, 1."""
    best = (0.0, 0.0, np.inf)
    for w in SLOPES:
        kinks = np.concatenate([-w * X, Y - w * X])
        values = ramp(Y * (w * X + kinks[:, None])).sum(axis=1) + gamma * w**2
        k = int(np.argmin(values))
        if values[k] < best[2] - 1e-12:
            best = float(w), float(kinks[k]), float(values[k])
    return best


def errors(w: float, b: float) -> int:
    """Training errors; a sample on the boundary is one."""
    return int(np.sum(Y * (w * X + b) <= 0))


def least_errors() -> int:
    """Of any line: by a threshold between two samples, or beyond all, in either direction."""
    between = np.concatenate([[X[0] - 1], (X[1:] + X[:-1]) / 2, [X[-1] + 1]])
    return min(errors(sign, -sign * cut) for sign in (-1.0, 1.0) for cut in between)


def footnote_claims() -> list[Claim]:
    """As printed it is refuted; without a penalty it holds."""
    least = least_errors()
    w, b, value = minimiser(1.0)
    free = minimiser(1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dc.TrivialSolutionWarning)  # w = 0 is the minimiser
        model = CappedSVC(p=1.0, eps=1.0, gamma=1.0, delta=1e-8, n_starts="auto")
        found = model.fit(X[:, None], Y).objective_
    z = np.linspace(-3, 3, 6001)
    return [
        Claim(
            "footnote 1: p = ε = 1 minimises the training error (as printed), γ = 1",
            f"{errors(w, b)} errors at the minimiser w = {w:g}, {least} possible",
            errors(w, b) == least,
            expected=False,
            turns=f"{errors(w, b) - least} errors less",
        ),
        Claim(
            "footnote 1: it does without a penalty, γ → 0",
            f"γ = 1e-6: {errors(*free[:2])} error, J = {free[2]:.5f}",
            errors(*free[:2]) == least and abs(free[2] - least) < 1e-4,
            corrected=True,
            turns="an error more, or J off by 1e-4",
        ),
        at_most("1{z ≤ 0} ≤ min([1 − z]₊, 1): exceeded by", np.max((z <= 0) - ramp(z)), 0.0),
        *own([at_most("the library finds that minimum, γ = 1: off by", abs(found - value), 1e-3)]),
    ]
