"""Theorem 2 (a fixed point is stationary), part of verify_convergence.py, not run by itself.

Gradient and criticality residual where the runs end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import cvxpy as cp
import numpy as np

from examples.capped_svm.gap import clarabel
from examples.capped_svm.model import Array, Model
from examples.capped_svm.runs import GAP, ROUNDING, Run, descend
from examples.common.claims import Claim, at_most

# What a claim may miss by.
RESIDUAL = 1e-3
GRADIENT = 5e-3  # relative to its terms; of the order √(gap · weights), which reach 1e5
TIE = 1e-9  # relative distance to ε below which a sample counts as at the cap
WIDTH = 100.0  # a residual below WIDTH·√δ counts as zero: smoothing rounds the kink that far


@dataclass(frozen=True)
class Stationarity:
    """What is measured where a run ends."""

    gradient: float  # ‖∇J_δ‖ relative to the norms of its terms
    residual: float  # of the unsmoothed J
    at_start: float  # the same residual where the run started
    kinks: int  # samples with r_i = 0 that enter it
    to_cap: float  # relative distance of the nearest sample to the cap
    below: float  # J_δ at the limit minus its least value nearby, relative


def measure_stationarity(run: Run) -> Stationarity:
    """Measure the end of a run."""
    model, x = run.model, run.points[-1]
    residual, kinks = criticality_residual(model, x)
    return Stationarity(
        gradient=gradient_norm(model, x),
        residual=residual,
        at_start=criticality_residual(model, run.points[0])[0],
        kinks=kinks,
        to_cap=float(np.min(np.abs(model.uncapped(model.g(x)) - model.eps))) / model.eps,
        below=deepest_nearby(model, x),
    )


def gradient_norm(model: Model, x: Array) -> float:
    """‖∇J_δ‖ over the sum of its terms' norms; the gradient exists where no sample is at the cap.

    Relative, because the weights of samples close to their margin go up to (p/2)δ^{p/2−1}.
    """
    terms = model.weights(model.g(x))[:, None, None] * model.g_slope(x)
    slope = model.ridge_slope(x)
    size = np.linalg.norm(slope) + np.sum(np.linalg.norm(terms, axis=(1, 2)))
    return float(np.linalg.norm(terms.sum(axis=0) + slope) / (1 + size))


def criticality_residual(model: Model, x: Array) -> tuple[float, int]:
    """Least norm of a generalised gradient of the unsmoothed J, and the samples with r_i = 0.

    A sample at the cap may take any share τ of its gradient. One with r_i = 0 adds, for p ≤ 1,
    −(y_i∘v)(x_i, 1)ᵀ with v ≥ 0 on the classes whose margin is 1, and ‖v‖ ≤ 1 if p = 1. A
    smoothed point meets both only up to a tolerance, WIDTH·√δ and TIE.
    """
    fixed, at_cap, active = gradient_parts(model, x)
    kinks = np.flatnonzero(active.any(axis=1))
    if kinks.size + len(at_cap) == 0:
        return float(np.linalg.norm(fixed)), 0
    terms, constraints = [], []
    if kinks.size:
        v = cp.Variable((kinks.size, fixed.shape[0]), nonneg=True)
        terms.append(-cp.multiply(model.signs[kinks], v).T @ model.extended[kinks])
        constraints += [v[~active[kinks]] == 0] if np.any(~active[kinks]) else []
        constraints += [cp.norm(v, 2, axis=1) <= 1] if model.p == 1 else []
    for gradient in at_cap:
        share = cp.Variable(nonneg=True)
        terms.append(share * gradient)
        constraints.append(share <= 1)
    objective = cp.norm(cp.vec(fixed + sum(terms), order="C"))
    return clarabel(cp.Problem(cp.Minimize(objective), constraints)), kinks.size


def gradient_parts(model: Model, x: Array) -> tuple[Array, Array, Array]:
    """The part of J's gradient without a choice, the gradients of the samples at the cap, and
    which classes have margin 1, of the samples with r_i = 0 and p ≤ 1.
    """
    g, width = model.g(x), WIDTH * np.sqrt(model.delta)
    loss = model.unsmoothed.uncapped(g)
    tie = np.abs(loss - model.eps) <= TIE * model.eps
    kink = (g <= width**2) & (model.p <= 1) & ~tie
    smooth = (loss < model.eps) & (g > 0) & ~tie & ~kink
    slope = np.zeros(g.size)
    slope[smooth | tie] = model.p / 2 * g[smooth | tie] ** (model.p / 2 - 1)
    gradients = slope[:, None, None] * model.g_slope(x)
    active = kink[:, None] & (np.abs(1 - model.margins(x)) <= width)
    return gradients[smooth].sum(axis=0) + model.ridge_slope(x), gradients[tie], active


def deepest_nearby(model: Model, x: Array, directions: int = 100) -> float:
    """(J_δ(x) − min J_δ over random points nearby)/(1 + J_δ), above 0 if x is no local minimum.

    Nearby: within 1e-3, and so close that no sample gets over the cap.
    """
    g, reach = model.g(x), np.linalg.norm(model.extended, axis=1)
    limit = model.eps ** (2 / model.p) - model.delta  # the g of a sample at the cap
    to_cap = np.abs(np.sqrt(max(limit, 0.0)) - np.sqrt(g)) / reach
    rng = np.random.default_rng(0)
    around = rng.standard_normal((directions, x.size))
    around /= np.linalg.norm(around, axis=1, keepdims=True)
    around *= min(1e-3, float(np.min(to_cap))) * rng.random((directions, 1))
    value = model.value(x)
    return (value - min(model.value(x + move) for move in around)) / (1 + value)


# ---- claims --------------------------------------------------------------------------------------


def stationarity_claims(runs: list[Run], ends: list[Stationarity]) -> list[Claim]:
    """Theorem 2 where every sample is off the cap, as it is at the ends of these runs."""
    pairs = list(zip(runs, ends, strict=True))
    moved = [end.at_start for run, end in pairs if run.values[0] - run.values[-1] > GAP]
    residuals = [end.residual for run, end in pairs if run.model.p != 1.5]
    convex = [end.below for run, end in pairs if run.model.p >= 1]
    nearest, gradient = min(end.to_cap for end in ends), max(end.gradient for end in ends)
    return [
        Claim(
            "theorem 2: every run ends off the cap",
            f"nearest {nearest:.1e} of ε",
            nearest > TIE,
            ours=True,
            turns=f"an end within {TIE:.0e} of ε",
        ),
        at_most("theorem 2: ∇J_δ = 0 there, relative to its terms", gradient, GRADIENT),
        at_most("theorem 2: criticality residual of J = 0, p ≠ 1.5", max(residuals), RESIDUAL),
        vanishing_smoothing_claim([run.model for run in runs if run.model.p == 1.5]),
        Claim(
            "theorem 2: it is not 0 where a run starts",
            f"least {min(moved):.1e}",
            min(moved) > RESIDUAL,
            ours=True,
            turns=f"a start at {RESIDUAL:.0e}",
        ),
        at_most("theorem 2: the limit is a local minimum if p ≥ 1", max(0.0, *convex), ROUNDING),
    ]


def vanishing_smoothing_claim(models: list[Model]) -> Claim:
    """For 1 < p < 2 smoothing moves the slope of J by δ^{(p−1)/2} a sample close to r_i = 0."""
    worst = {}
    for delta in (1e-8, 1e-12, 1e-16):
        runs = [descend("", replace(model, delta=delta), "exact") for model in models]
        worst[delta] = max(criticality_residual(run.model, run.points[-1])[0] for run in runs)
    return Claim(
        "theorem 2: the same for p = 1.5 as δ → 0",
        ", ".join(f"{end:.0e} (δ={delta:g})" for delta, end in worst.items()),
        worst[1e-16] <= RESIDUAL,
        turns=f"more than {RESIDUAL:.0e} at δ = 1e-16",
    )
