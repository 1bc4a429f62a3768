"""Theorem 1 (descent), a part of verify_convergence.py, not run by itself.

Both inequalities of its proof at every step, and what follows from them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from examples.capped_svm.model import Array, Model
from examples.capped_svm.runs import ROUNDING, Run
from examples.common.claims import Claim, at_most


@dataclass(frozen=True)
class Descent:
    """The worst over a run's steps, each relative to 1 + J; above 0 means violated."""

    supergradient: float  # h(g⁺) − h(g) − d(g⁺ − g), the largest over the samples
    optimality: float  # F(x⁺) + ⟨d, g(x⁺)⟩ − F(x) − ⟨d, g(x)⟩
    rise: float  # J_δ(x⁺) − J_δ(x)
    shortfall: float  # γ‖W⁺ − W‖² − (J_δ(x) − J_δ(x⁺))
    sandwich: float  # how far J_δ lies outside [J, J + nδ^{p/2}]


STATEMENTS = {
    "supergradient": "h(g⁺) ≤ h(g) + d(g⁺ − g)",
    "optimality": "F(x⁺) + ⟨d,g(x⁺)⟩ ≤ F(x) + ⟨d,g(x)⟩",
    "rise": "J_δ never rises",
    "shortfall": "J_δ falls by ≥ γ‖W⁺ − W‖²",
    "sandwich": "J ≤ J_δ ≤ J + nδ^(p/2)",
}

OURS = ("shortfall", "sandwich")


def measure_descent(run: Run) -> Descent:
    """The worst step of a run."""
    model = run.model
    steps = [step(model, x, new) for x, new in pairwise(run.points)]
    supergradient, optimality, rise, shortfall = np.max(steps, axis=0) if steps else np.zeros(4)
    limit = len(model.X) * model.delta ** (model.p / 2)
    excess = run.values - [model.unsmoothed.value(point) for point in run.points]
    outside = np.maximum(-excess, excess - limit) / (1 + run.values)
    return Descent(supergradient, optimality, rise, shortfall, float(np.max(outside)))


def step(model: Model, x: Array, new: Array) -> list[float]:
    """The first four of ``Descent`` for one step."""
    g, g_new = model.g(x), model.g(new)
    d, value = model.weights(g), model.value(x)
    fall = value - model.value(new)
    moved = float(np.sum((model.split(new)[0] - model.split(x)[0]) ** 2))
    measured = [
        float(np.max(model.h(g_new) - model.h(g) - d * (g_new - g))),
        model.weighted(d, new) - model.weighted(d, x),
        -fall,
        model.gamma * moved - fall,
    ]
    return [number / (1 + value) for number in measured]


def descent_claims(name: str, found: list[Descent]) -> list[Claim]:
    """Every statement about its worst run."""
    claims = {
        field: at_most(f"{name}: {text}", max(0.0, *(getattr(d, field) for d in found)), ROUNDING)
        for field, text in STATEMENTS.items()
    }
    return [replace(claim, ours=field in OURS) for field, claim in claims.items()]


def equality_claim() -> Claim:
    """All samples capped: every b minimises the weighted problem, so equal values prove nothing."""
    model = Model(np.zeros((2, 1)), np.array([0, 1]), 2.0, 0.25, 1.0, 0.0)
    one, other = np.array([0.0, -0.4]), np.array([0.0, 0.4])
    weights = [float(np.sum(model.weights(model.g(x)))) for x in (one, other)]
    equal = model.value(one) == model.value(other) and weights == [0.0, 0.0]
    return Claim(
        "J(x⁺) = J(x) only at a fixed point (as printed)",
        "two minimisers of one weighted problem, J equal, b = ∓0.4",
        not equal,
        expected=False,
        turns="two values of J that differ",
    )
