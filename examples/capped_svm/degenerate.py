"""Where the theory fails as printed, a part of verify_convergence.py, not run by itself.

The kink of the cap, infinite weights without smoothing, and all samples capped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import dcprog as dc
from dcprog.losses import squared_hinge
from dcprog.penalties import l2
from dcprog.risk.risk import Risk
from dcprog.rows.linear import Margins
from dcprog.transforms import cap_at
from examples.capped_svm.model import Model, published_step
from examples.capped_svm.runs import Run, blobs
from examples.common.claims import Claim, at_most


@dataclass(frozen=True)
class Kink:
    """One sample x = y = 1 without intercept, p = 2, at the cap: J(w) = min([1 − w]₊², ε) + γw²."""

    gamma: float

    @property
    def point(self) -> float:
        """w* = 1/(1 + γ)."""
        return 1 / (1 + self.gamma)

    @property
    def eps(self) -> float:
        """(γ/(1 + γ))², rounded so that the sample is exactly at ε."""
        return (1 - self.point) ** 2

    def value(self, w: Any) -> Any:
        """J."""
        return np.minimum(np.maximum(1 - w, 0) ** 2, self.eps) + self.gamma * w**2

    def majorant(self, w: Any) -> Any:
        """The majorant at w* for d = 1, the left slope of h at the cap."""
        return np.maximum(1 - w, 0) ** 2 + self.gamma * w**2

    def slope(self, direction: int, h: float = 1e-7) -> float:
        """One-sided slope of J at w*."""
        return (self.value(self.point + direction * h) - self.value(self.point)) / h

    def solve(self, start: float) -> tuple[float, dc.Result]:
        """Where the library ends."""
        rows = Margins(np.ones((1, 1)), np.ones((1, 1)), fit_intercept=False)
        risk = Risk(rows, squared_hinge(), transform=cap_at(self.eps), penalty=l2(2 * self.gamma))
        result = dc.solve(risk, start=np.array([start]), escape=False)
        return float(np.asarray(result.x)[0]), result


def kink_claims() -> list[Claim]:
    """w* is a fixed point and not stationary."""
    kinks = [Kink(gamma) for gamma in (0.25, 0.5, 1.0, 2.0)]
    stays = [kink.solve(kink.point) for kink in kinks]
    drift = max(abs(end - kink.point) for kink, (end, _) in zip(kinks, stays, strict=True))
    gap = max(result.gap for _, result in stays)
    miss = max(abs(k.slope(-1) + 2 * k.gamma / (1 + k.gamma)) for k in kinks)
    half = Kink(0.5)
    left, below = half.solve(half.point - 1e-6)
    return [
        Claim(
            "kink: w* = 1/(1 + γ) is a fixed point",
            f"moved {drift:.0e}, gap {gap:.0e}",
            drift <= 1e-12 and gap <= 1e-12,
            turns="a move or a gap of more than 1e-12",
        ),
        at_most("kink: slope to the left is −2γ/(1 + γ)", miss, 1e-6),
        Claim(
            "kink: a fixed point is stationary (as printed)",
            "one sample x = y = 1, p = 2, γ = ½, ε = (γ/(1 + γ))² = 1/9: at w* = ⅔ the slope to "
            f"the left is {half.slope(-1):.3f}, J(0) = {half.value(0.0):.3f} < J(w*) = "
            f"{half.value(half.point):.3f}",
            half.slope(-1) >= -1e-6,
            expected=False,
            turns=f"a slope higher by {-half.slope(-1):.3f}",
        ),
        Claim(
            "kink: started at w* − 1e-6 it finds w = 0",
            f"w = {left:.1e}, J = {below.value:.3f}",
            abs(left) <= 1e-9,
            ours=True,
            turns="an end more than 1e-9 from 0",
        ),
    ]


def infinite_weight_claims(runs: list[Run]) -> list[Claim]:
    """Without δ, samples beyond all their margins have infinite weights if p < 2."""
    starts = [(run.model.unsmoothed, run.points[0]) for run in runs if run.model.p < 2]
    shares = [np.mean(np.isinf(model.weights(model.g(x)))) for model, x in starts]
    infinite = sum(share > 0 for share in shares)
    broken = sum(not np.all(np.isfinite(published_step(model, x))) for model, x in starts)
    refused = sum(is_refused(model) for model, _ in starts[:3])
    return [
        Claim(
            "without δ all weights are finite, p < 2 (as printed)",
            f"infinite in {infinite} of {len(shares)} first fits, for {np.mean(shares):.0%} of the "
            f"samples; then NaN in {broken}",
            infinite == 0,
            expected=False,
            turns="no infinite weight in any fit",
        ),
        Claim(
            "the library refuses δ = 0 with p < 2",
            f"{refused} of 3",
            refused == 3,
            ours=True,
            turns="one that is taken",
        ),
    ]


def is_refused(model: Model) -> bool:
    """Whether the library declines the model."""
    try:
        model.spec()
    except ValueError:
        return True
    return False


def all_capped_claims() -> list[Claim]:
    """From a start that fits nobody, with a tiny cap."""
    X, y = blobs(60, 4, 3, 0.2, 0)
    model = Model(X, y, 2.0, 1e-12, 0.1, 0.0)
    start = np.random.default_rng(0).normal(0, 0.01, 15)
    W, b = model.split(np.asarray(dc.solve(model.spec(), start=start, escape=False).x))
    size, kept = float(np.linalg.norm(W)), np.array_equal(b, model.split(start)[1])
    finite = bool(np.all(np.isfinite(published_step(model, start))))
    return [
        Claim(
            "all samples capped: W = 0 and b is kept",
            f"‖W‖ = {size:.0e}, b {'kept' if kept else 'moved'}",
            size <= 1e-10 and kept,
            ours=True,
            turns="‖W‖ above 1e-10, or another b",
        ),
        Claim(
            "there the closed form is finite (as printed)",
            "finite" if finite else "0/0 = NaN",
            finite,
            expected=False,
            turns="a finite quotient",
        ),
    ]
