"""The theory of the Padé smooth support vector machine, checked by measurement.

Shen and Peng (iJOE 9, 2013) smooth the hinge t₊ of the slack t = 1 − y(w·x + b) by

    P(t, η) = t/2 + (1/2η)·(1 + 10z + 5z²)/(5 + 10z + z²),  z = η²t²,  for |t| ≤ 1/η,  else t₊,

printed with 11 in place of the 10 of the denominator, and minimise ½(‖w‖² + b²) + C·ΣP(t_i, η) by
Newton's method with Armijo's rule. The script checks, in exact rational arithmetic where it can,

* what P is: the Padé table it comes from, its gap to the hinge, its joins, its convexity, with 10
  and with 11; and that the library computes it to the last digits at any sharpness η;
* that P is nearer to the hinge than the integral of the sigmoid at every t;
* that the minimisers tend to θ*, that of the support vector machine with a penalised bias, and how
  sharp this library's bounds on ‖θ_η − θ*‖² are: with gap = P − t₊ and strong convexity on both
  sides CΣ(gap(tᵢ*) − gap(tᵢ)) ≤ 0.1·C·m/η; from the fit alone and the dual point αᵢ = C·P'(tᵢ)
  CΣ(tᵢ₊ − tᵢP'(tᵢ)). The paper's theorem 3.4, (22)–(24), is on P alone;
* that Newton's method goes down at every step by Armijo's rule, and may cycle without it;
* that the outlier filter leaves out what it says, and fits the rest once (outlier_filter.py).

Statements of the paper that do not hold are in the table too, and fail as expected; the exit status
is 1 if any claim comes out otherwise.

Run ``python -m examples.smooth_svm.verify_pade --output folder`` for three plots; ``--full`` takes
more data.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, product
from math import comb
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
from sklearn.datasets import load_breast_cancer, make_blobs
from sklearn.preprocessing import StandardScaler

import dcprog as dc
from dcprog.losses import ConvexLoss, pade_hinge, sigmoid_hinge
from dcprog.models import SmoothSVC
from dcprog.solvers.linalg.line_search import armijo
from dcprog.solvers.linalg.ridge import Ridge
from dcprog.solvers.smooth.newton import NewtonScore, Place, Weighted
from examples.common.claims import Claim, at_most, own, print_claims, under
from examples.common.theorems import theorem_claims
from examples.smooth_svm.outlier_filter import filter_claims
from examples.smooth_svm.pade_table import table_claims

Array = np.ndarray
ETAS = (1.0, 10.0, 100.0, 1e3, 1e4)
COEFFICIENT = 10  # of z in the denominator, 11 as printed


# ---- the smoothing, in rational numbers ----------------------------------------------------------


def pade(t: Fraction, eta: Fraction, coefficient: int = COEFFICIENT) -> Fraction:
    """P(t, η), with another middle coefficient of the denominator if wanted."""
    if abs(t) * eta > 1:
        return max(t, Fraction(0))
    z = (eta * t) ** 2
    return t / 2 + (1 + 10 * z + 5 * z**2) / (5 + coefficient * z + z**2) / (2 * eta)


def gap(t: Fraction, eta: Fraction) -> Fraction:
    """(1 − η|t|)⁵/(2η(5 + 10z + z²))."""
    z = (eta * t) ** 2
    return (1 - eta * abs(t)) ** 5 / (2 * eta * (5 + 10 * z + z**2))


def derivative(order: int, t: Fraction, eta: Fraction, side: int) -> Fraction:
    """A one-sided difference quotient of P·η at t, with a step of 1e-6/η and no rounding."""
    h = side * Fraction(1, 10**6) / eta
    terms = ((-1) ** (order - k) * comb(order, k) * pade(t + k * h, eta) for k in range(order + 1))
    return sum(terms, Fraction(0)) / h**order / eta ** (order - 1)


def smoothing_claims(points: int) -> list[Claim]:
    etas = [Fraction(1, 3), Fraction(1), Fraction(10), Fraction(10**6)]
    inside = [Fraction(k, points) for k in range(-points, points + 1)]
    gaps = {eta: [pade(x / eta, eta) - max(x / eta, Fraction(0)) for x in inside] for eta in etas}
    same = all(gaps[eta] == [gap(x / eta, eta) for x in inside] for eta in etas)
    high = float(max(max(gaps[eta]) * eta for eta in etas))
    low = float(min(map(min, gaps.values())))
    falling = all(g == g[::-1] and g[points:] == sorted(set(g))[::-1] for g in gaps.values())
    values = [pade(2 * x, Fraction(1)) for x in inside]
    bend = min(a - 2 * b + c for a, b, c in zip(values, values[1:], values[2:], strict=False))
    eta = Fraction(10)
    beyond = float(pade(2 / eta, eta) - 2 / eta)
    sides = [[float(derivative(k, 1 / eta, eta, s)) for s in (-1, 1)] for k in range(1, 6)]
    jumps = [abs(left - right) for left, right in sides]  # P(−t) = P(t) − t: the same at −1/η
    first = ", ".join(f"{jump:.0e}" for jump in jumps[:2])
    four = ", ".join(f"{jump:.0e}" for jump in jumps[:4])
    curved = float(derivative(2, 1 / eta, eta, -1) * eta)
    printed = [float(pade(x / eta, eta, 11) * eta - max(x, Fraction(0))) for x in inside]
    jump, below = f"jumps by {-printed[-1]:.4f}/η", sum(g < 0 for g in printed)
    ours = [
        Claim(
            "P − t₊ = (1 − η|t|)⁵/(2η(5 + 10z + z²)), exactly",
            f"{len(inside)} points",
            same,
            turns="11 for 10",
        ),
        Claim(
            "joins: P is four times differentiable, not five times",
            f"jumps of P′ to P⁗ {four} (tolerance 1e-3), of the fifth {jumps[4]:.3g}·η⁴",
            max(jumps[:4]) < 1e-3 and jumps[4] > 3,
            turns="a term (1 − η|t|)³",
        ),
        Claim(
            "P is convex", f"least bend {float(bend):g}", bend >= 0, turns="10·t·gap(t) added to P"
        ),
        Claim(
            "the gap is even, and falls as |t| grows",
            f"{len(etas)} values of η",
            falling,
            turns="t²/100 added to P",
        ),
    ]
    theirs = [
        Claim("P − t₊ ≤ 0.1/η", f"largest {high:g}/η", high == 0.1, turns="another value at t = 0"),
        Claim("P ≥ t₊", f"least gap {low:g}", low >= 0, corrected=True, turns="0.9·P"),
        Claim(
            "P > t₊ for every t (as printed)",
            f"{beyond:g} at t = 2/η",
            beyond > 0,
            False,
            turns="t²/100 added to P",
        ),
        Claim(
            "joins: P''(1/η) = 1 (as printed)",
            f"{curved:.0e}",
            abs(curved - 1) < 0.1,
            False,
            turns="a term (1 − η|t|)²/2",
        ),
        Claim(
            "joins: P''(±1/η) = 0, so that P is of second order",
            f"{curved:.0e}; jumps of P′ and P″ {first} (tolerance 1e-3)",
            max(abs(curved), *jumps[:2]) < 1e-3,
            corrected=True,
            turns="a term (1 − η|t|)²",
        ),
        Claim(
            "with 11 for 10 P is continuous (as printed)",
            jump,
            printed[-1] == 0,
            False,
            turns="10 for 11",
        ),
        Claim(
            "with 11 for 10 P ≥ t₊ (as printed)",
            f"not at {below} points",
            below == 0,
            False,
            turns="10 for 11",
        ),
    ]
    return [
        *under("theorem 3.4", [*theirs, *own(ours)]),
        *under("equations (6)–(17)", series_claims()),
    ]


def accuracy_claim(points: int) -> Claim:
    """P − t₊ ≤ ρ − t₊ at every t, ρ the integral of the sigmoid, at the same η; also at less."""
    x = np.linspace(0, 1, points, endpoint=False)  # η|t|; P − t₊ = 0 beyond, and both are even
    sigmoid = smoothed_gap(x, 1.0, "sigmoid")
    share = float(np.max(smoothed_gap(x, 1.0, "pade") / sigmoid))
    factors = np.arange(1.0, 8.0, 0.01)
    least = max((factor for factor in factors if _below(factor, points)), default=1.0)
    return Claim(
        "P is more accurate than the integral of the sigmoid, at every t",
        f"gap at most {share:.1%} of its gap",
        share < 1,
        item="accuracy",
        turns=f"an η of the sigmoid more than {least:.2f} times that of P",
    )


def _below(factor: float, points: int) -> bool:
    """Whether P at η = 1 is nearer to the hinge than the sigmoid's integral at η = factor."""
    x = np.linspace(0, 1, points, endpoint=False)
    return bool(np.all(smoothed_gap(x, 1.0, "pade") < smoothed_gap(x, factor, "sigmoid")))


def series_claims() -> list[Claim]:
    """|x| = (1/η)[(1 + v)/2 − Σ_{n≥2} (2n − 3)!!/(2n)!!·(1 − v)ⁿ], v = η²x²."""

    def partial(x: float, terms: int) -> float:
        y, total, factor = 1 - x * x, 0.0, 0.5  # factor = (2n − 3)!!/(2n)!! at n = 1
        for n in range(2, terms + 1):
            factor *= (2 * n - 3) / (2 * n)
            total += factor * y**n
        return (1 + x * x) / 2 - total

    near = max(abs(partial(x, 4000) - abs(x)) for x in np.linspace(-1.41, 1.41, 95))
    far = partial(1.6, 200)
    return [
        Claim(
            "its series converges to |x| for |ηx| ≤ √2",
            f"off by {near:.0e}",
            near < 0.01,
            corrected=True,
            turns="a factor (2n − 1)!! for (2n − 3)!!",
        ),
        Claim(
            "and for every x (as printed)",
            f"{far:.0e} at ηx = 1.6",
            abs(far - 1.6) < 1,
            False,
            turns="|ηx| ≤ √2",
        ),
    ]


def library_claims(points: int) -> list[Claim]:
    """Against the exact P, from η = 1e-300 to 1e300."""
    worst = 0.0
    for eta in (1e-300, 1e-8, 1.0, 10.0, 1e8, 1e300):
        t = np.linspace(-1.5, 1.5, points) / eta
        for place, value in zip(t, pade_hinge(eta, at=0.0)(-t), strict=True):
            miss = Fraction(float(value)) - pade(Fraction(place), Fraction(eta))
            worst = max(worst, abs(float(miss)) * eta)
    text, shown = "library: P for η from 1e-300 to 1e300", f"off by {worst:.0e}/η"
    return own([Claim(text, shown, worst < 1e-14, turns="11 for 10 in the library")])


# ---- the minimiser -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Limit:
    """Some data, C, and the solution θ* of the support vector machine with a penalised bias."""

    X: Array
    y: Array
    C: float
    theta: Array
    value: float


def limits(full: bool) -> list[Limit]:
    cases: list[tuple[Array, Array]] = []
    for seed in range(5 if full else 2):
        rng = np.random.default_rng(seed)
        for m, d in ((60, 3), (40, 80)) + (((400, 20),) if full else ()):
            y = np.where(np.arange(m) % 2, 1.0, -1.0)
            X = rng.standard_normal((m, d)) + y[:, None] * (np.arange(d) == 0)
            cases.append((X, y))
    X, labels = load_breast_cancer(return_X_y=True)
    cases.append((StandardScaler().fit_transform(X), np.where(labels == 1, 1.0, -1.0)))
    return [Limit(X, y, C, *exact_svm(X, y, C)) for (X, y), C in product(cases, (0.1, 1.0, 10.0))]


def exact_svm(X: Array, y: Array, C: float) -> tuple[Array, float]:
    """θ* and its value, by an interior point method."""
    A = y[:, None] * np.c_[X, np.ones(len(y))]
    theta = cp.Variable(A.shape[1])
    objective = cp.Minimize(cp.sum_squares(theta) / 2 + C * cp.sum(cp.pos(1 - A @ theta)))
    cp.Problem(objective).solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11
    )
    end = np.asarray(theta.value)
    return end, float(end @ end / 2 + C * np.sum(np.maximum(1 - A @ end, 0)))


@dataclass(frozen=True)
class Fitted:
    """A minimiser θ_η beside θ*: what the bounds are made of."""

    distance: float  # ‖θ_η − θ*‖²
    rise: float  # min F_η − min F
    gap: float  # C·Σ of the smoothing's gap at θ_η
    gap_limit: float  # and at θ*
    dual: float  # C·Σ(t₊ − t·P'(t)) at θ_η
    room: float  # C·m·max gap
    gradient: float  # of F_η by the formula, not the library's
    scale: float


def smoothed_gap(t: Array, eta: float, smoothing: str) -> Array:
    """ρ(t) − t₊."""
    x = np.abs(eta * t)
    if smoothing == "sigmoid":
        return np.log1p(np.exp(-x)) / eta
    return np.maximum(1 - x, 0) ** 5 / (5 + 10 * x**2 + x**4) / (2 * eta)


def smoothed_slope(t: Array, eta: float, smoothing: str) -> Array:
    """ρ'(t)."""
    x = np.clip(eta * t, -700, 700)
    if smoothing == "sigmoid":
        return 1 / (1 + np.exp(-x))
    x = np.clip(x, -1, 1)
    z, z_slope = x**2, 2 * x
    top, low = 1 + 10 * z + 5 * z**2, 5 + COEFFICIENT * z + z**2
    top_slope, low_slope = 10 + 10 * z, COEFFICIENT + 2 * z
    return 0.5 + z_slope * (top_slope * low - top * low_slope) / (2 * low**2)


def measure(limit: Limit, eta: float, smoothing: str) -> Fitted:
    A = limit.y[:, None] * np.c_[limit.X, np.ones(len(limit.y))]
    model = SmoothSVC(limit.C, eta, smoothing).fit(limit.X, limit.y)
    theta = np.asarray(model.result_.x)
    t, t_limit = 1 - A @ theta, 1 - A @ limit.theta
    slope, C = smoothed_slope(t, eta, smoothing), limit.C
    return Fitted(
        distance=float(np.sum((theta - limit.theta) ** 2)),
        rise=float(model.objective_ - limit.value),
        gap=C * float(np.sum(smoothed_gap(t, eta, smoothing))),
        gap_limit=C * float(np.sum(smoothed_gap(t_limit, eta, smoothing))),
        dual=C * float(np.sum(np.maximum(t, 0) - t * slope)),
        room=C * len(t) * {"pade": 0.1, "sigmoid": float(np.log(2))}[smoothing] / eta,
        gradient=float(np.linalg.norm(theta - C * A.T @ slope)) / (1 + C * len(t)),
        scale=1 + limit.value,
    )


def rate_claims(found: list[Limit]) -> tuple[list[Claim], dict[str, Array]]:
    """Both smoothings against their bounds; the distances over C·m, for the plot."""
    claims, curves = [], {}
    ten = ETAS.index(10.0)
    for smoothing, constant in (("pade", "0.1"), ("sigmoid", "ln 2")):
        grid = [[measure(limit, eta, smoothing) for eta in ETAS] for limit in found]
        every = [fitted for row in grid for fitted in row]
        at_ten = [row[ten] for row in grid]
        out = max(max(f.gap - f.rise, f.rise - f.gap_limit) / f.scale for f in every)
        tight = float(np.median([f.gap / f.gap_limit for f in at_ten]))
        gradient = max(f.gradient for f in every)

        def used(name: str, less: str = "", of: list[Fitted] = every) -> float:
            """The largest share of a bound; 1e-8 is what θ* is known to."""
            bounds = [getattr(f, name) - (getattr(f, less) if less else 0) for f in of]
            return max(
                max(0.0, f.distance - 1e-8) / max(b, 1e-12) for f, b in zip(of, bounds, strict=True)
            )

        one = used("room")
        sums, dual = used("gap_limit", "gap"), used("dual")
        shares = [
            used("room", of=at_ten),
            used("gap_limit", "gap", at_ten),
            used("dual", "", at_ten),
        ]
        claims += [
            at_most(
                f"{smoothing}: the library's θ_η minimises F_η as written here", gradient, 1e-7
            ),
            Claim(
                f"{smoothing}: ‖θ_η − θ*‖² ≤ {constant}·C·m/η, a bound far from attained",
                f"{one:.1%} of it at most",
                one <= 1,
                turns=f"a constant {1 / one:.0f} times smaller",
            ),
            Claim(
                f"{smoothing}: ‖θ_η − θ*‖² ≤ CΣ(gap(tᵢ*) − gap(tᵢ))",
                f"{sums:.0%} of it at most; at η = 10 {shares[1]:.0%} (of C·m/η: {shares[0]:.1%})",
                sums <= 1,
                turns=f"gaps {1 / sums:.1f} times smaller",
            ),
            Claim(
                f"{smoothing}: ‖θ_η − θ*‖² ≤ CΣ(tᵢ₊ − tᵢρ'(tᵢ)), from the fit alone",
                f"{dual:.0%} of it at most; at η = 10 {shares[2]:.0%}",
                dual <= 1,
                turns=f"a bound {1 / dual:.1f} times smaller",
            ),
            Claim(
                f"{smoothing}: CΣgap(tᵢ) ≤ min F_η − min F ≤ CΣgap(tᵢ*)",
                f"outside by {max(0.0, out):.0e}; the two within {1 - tight:.0%}, median at η = 10",
                out < 1e-8,
                turns="outside by more than 1e-8",
            ),
        ]
        curves[smoothing] = np.array([[f.distance for f in row] for row in grid])
    end = float(np.max(curves["pade"][:, -1]))
    shown = f"‖θ_η − θ*‖² ≤ {end:.0e} at η = 1e4"
    claims.append(Claim("pade: θ_η → θ*", shown, end < 1e-4, turns="more than 1e-4"))
    typical = np.median(curves["pade"], axis=0)
    falls = float(np.log10(typical[1] / typical[3])) / 2
    text, shown = "pade: faster than the bound", f"as η^−{falls:.1f}, median"
    claims.append(Claim(text, shown, falls > 1, turns="as η^−1 or slower"))
    sizes = np.array([limit.C * len(limit.y) for limit in found])[:, None]
    return own(under("minimisers", claims)), {
        name: distance / sizes for name, distance in curves.items()
    }


def objective_claims() -> list[Claim]:
    """Equations (1)–(5): what the library minimises, written out."""
    rng = np.random.default_rng(3)
    X, C, eta = rng.standard_normal((30, 2)), 0.7, 3.0
    y = np.where(np.arange(30) % 2, 1.0, -1.0)
    worst = 0.0
    for smoothing, norm in product(("pade", "sigmoid"), (1, 2)):
        spec = SmoothSVC(C, eta, smoothing, slack_norm=norm).spec(X, y)
        for theta in rng.standard_normal((20, 3)):
            t = 1 - y * (X @ theta[:2] + theta[2])
            rho = np.maximum(t, 0) + smoothed_gap(t, eta, smoothing)
            ours = theta @ theta / 2 + C / norm * np.sum(rho**norm)
            worst = max(worst, abs(spec(theta) - ours) / ours)
    text = (
        "½(‖w‖² + b²) + C/p·Σρ(tᵢ, η)^p, p = 1, 2, Padé and sigmoid, is what the library minimises"
    )
    return [at_most(text, worst, 1e-12, "equations (1)–(5)")]


# ---- Newton's method -----------------------------------------------------------------------------


def newton_path(limit: Limit, base: ConvexLoss, search: Any, steps: int = 300) -> list[Place]:
    """The places Newton's method visits from θ = 0 until ‖∇F‖ ≤ 1e-8·(1 + C·m)."""
    X, m = np.c_[limit.X, np.ones(len(limit.y))], len(limit.y)
    losses, zero = Weighted(base, np.full(m, limit.C)), np.zeros(m)
    score = NewtonScore(Ridge(X, 1.0, False), losses, limit.y, zero, zero, search=search)
    places = []
    for place in islice(score.path(np.zeros(X.shape[1]), 0.0), steps):
        places.append(place)
        if np.linalg.norm(slope(limit, base, place.w)) <= 1e-8 * (1 + limit.C * m):
            break
    return places


def slope(limit: Limit, base: ConvexLoss, theta: Array) -> Array:
    """∇F at θ, with b the last of its coefficients."""
    A = limit.y[:, None] * np.c_[limit.X, np.ones(len(limit.y))]
    return theta + limit.C * A.T @ base.slope(A @ theta)


def newton_claims(found: list[Limit]) -> tuple[list[Claim], dict[str, list[Place]]]:
    small = [limit for limit in found if limit.C == 1.0]
    steps, rises, lengths, starts, cycles, ends = 0, [], [], [], 0, []
    drawn: dict[str, list[Place]] = {}
    for limit, eta in product(small, ETAS[1:]):
        base = pade_hinge(eta)
        places = newton_path(limit, base, armijo)
        values = [place.value for place in places]
        rises.append(float(np.max(np.diff(values))) / values[0])
        steps += len(places) - 1
        if len(limit.y) == 60:
            lengths.append(len(places) - 1)
        zero = np.zeros(limit.theta.size)
        starts.append(float(np.max(np.abs(places[0].step + slope(limit, base, zero)))))
        full = newton_path(limit, base, lambda line: 1.0)
        cycles += len(full) == 300
        ends.append(float(np.sqrt(places[-1].promise / places[-2].promise)))
        if limit is small[0] and eta == 100:
            drawn = {"Armijo": places, "full steps": full}
    many, off = float(np.median(lengths)), max(starts)
    shown = f"{many:g} ({min(lengths)} to {max(lengths)})"
    spread, last = max(map(start_spread, small)), float(np.median(ends))
    fewest = min(lengths)
    theirs = [
        Claim(
            "Newton: F falls at every step by Armijo's rule",
            f"in all {steps} of them",
            max(rises) < 1e-14,
            turns="steps of length 1 whatever F says",
        ),
        Claim(
            "Newton: quadratic in the end, the last step far the shortest",
            f"×{last:.0e}, median",
            last < 1e-2,
            turns="×1e-2 or more",
        ),
        Claim(
            "the minimiser does not depend on the start",
            f"{spread:.0e} apart",
            spread < 1e-7,
            turns="more than 1e-7",
        ),
    ]
    ours = [
        Claim(
            "Newton: 10 to 45 steps, m = 60, C = 1, median",
            shown,
            10 <= many <= 45,
            turns=f"{many - 9:g} fewer or {46 - many:g} more",
        ),
        Claim("Newton: begins with −∇F if η > 1", f"off by {off:.0e}", off < 1e-12, turns="2·∇F"),
        Claim(
            "Newton: full steps need not converge",
            f"not in {cycles} of {len(ends)} runs; by Armijo's rule all, in {fewest} steps or more",
            cycles > 0,
            turns="all of them converge",
        ),
    ]
    return [*theirs, *own(ours)], drawn


def smooth_runs() -> list[dc.Result]:
    """Of both smoothings, convex and with a tenth of the samples trimmed."""
    X, y = make_blobs(80, centers=2, cluster_std=4.0, random_state=0)
    models = [SmoothSVC(smoothing=smoothing) for smoothing in ("pade", "sigmoid")]
    models.append(SmoothSVC(outlier_ratio=0.1, filtering="trimmed", n_starts=1))
    return [model.fit(X, y).result_ for model in models]


def start_spread(limit: Limit) -> float:
    """How far apart the ends of runs from far apart starts are."""
    spec = SmoothSVC(limit.C).spec(limit.X, limit.y)
    rng = np.random.default_rng(0)
    ends = [
        np.asarray(dc.solve(spec, start=size * rng.standard_normal(limit.theta.size)).x)
        for size in (1.0, 1e2, 1e4)
    ]
    return float(max(np.max(np.abs(end - ends[0])) for end in ends))


# ---- output --------------------------------------------------------------------------------------


def draw(folder: Path, curves: dict[str, Array], paths: dict[str, list[Place]]) -> None:
    """P and its neighbours; the distance to θ*; Newton's values with and without Armijo's rule."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    x = np.linspace(-1.5, 1.5, 601)
    lines = {
        "hinge": np.maximum(x, 0),
        "sigmoid": sigmoid_hinge(1.0, at=0.0)(-x),
        "Padé": pade_hinge(1.0, at=0.0)(-x),
        "Padé, as printed (11)": [float(pade(Fraction(v), Fraction(1), 11)) for v in x],
    }
    for (name, values), style in zip(lines.items(), ("k-", "C1-", "C0-", "C3--"), strict=True):
        left.plot(x, values, style, label=name)
        if name.startswith("Padé"):
            right.plot(x, values - np.maximum(x, 0), style)
    left.set(xlabel="ηt", ylabel="η·smoothed hinge", xlim=(-1.5, 1.5))
    right.set(xlabel="ηt", ylabel="η·(smoothed hinge − t₊)", ylim=(-0.04, 0.11))
    right.axhline(0, color="k", lw=0.8)
    left.legend()
    figure.savefig(folder / "pade.png", dpi=120)

    figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    for (name, distance), colour in zip(curves.items(), ("C0", "C1"), strict=True):
        ax.loglog(ETAS, np.maximum(distance.T, 1e-18), colour + "-", lw=0.5, alpha=0.5)
        title = {"pade": "Padé"}.get(name, name)
        ax.loglog(ETAS, np.median(distance, axis=0), colour + "o-", lw=2, label=f"{title}, median")
        bound, shown = {"pade": (0.1, "0.1/η"), "sigmoid": (np.log(2), "ln 2/η")}[name]
        ax.loglog(ETAS, bound / np.array(ETAS), colour + "--", label=f"{title}, bound {shown}")
    ax.set(xlabel="η", ylabel=r"$\|\theta_\eta - \theta^*\|^2/(C\,m)$")
    ax.legend()
    figure.savefig(folder / "rate.png", dpi=120)

    figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    lowest = min(place.value for place in paths["Armijo"])
    for (name, places), style in zip(paths.items(), ("C0o-", "C3.-"), strict=True):
        above = np.maximum([place.value - lowest for place in places[:60]], 1e-14)
        ax.semilogy(above, style, ms=4, label=name)
    ax.set(xlabel="Newton step", ylabel="F − min F", title="m = 60, d = 3, C = 1, η = 100")
    ax.legend()
    figure.savefig(folder / "newton.png", dpi=120)
    plt.close("all")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, draw; 0 if every claim came out as expected."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="more data and points")
    parser.add_argument("--output", type=Path, help="folder for the plots")
    options = parser.parse_args(arguments)
    begun = time.perf_counter()
    found = limits(options.full)
    rates, curves = rate_claims(found)
    newton, paths = newton_claims(found)
    exact = 2000 if options.full else 200
    claims = [
        *objective_claims(),
        *table_claims(),
        *smoothing_claims(exact),
        *under("theorem 3.4", library_claims(exact)),
        accuracy_claim(exact),
        *rates,
        *under("Newton–Armijo", newton),
        *under("Newton–Armijo", theorem_claims(smooth_runs())),
        *filter_claims(20 if options.full else 5),
    ]
    wrong = print_claims(claims, "seeds 0–4; figures pade.png, rate.png, newton.png")
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
        draw(options.output, curves, paths)
        print(f"\nplots: pade.png, rate.png and newton.png in {options.output}")
    print(f"{time.perf_counter() - begun:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
