"""Graduation's majorants, lower bounds against enumeration, and what raced starts withstand.

* **Graduation.** For φ concave with φ(0) = 0 the perspective φ_s(t) = s·φ(t/s) rises with s:
  F_s ≥ F_r ≥ F_1 = F for s ≥ r ≥ 1, F_s tends to the risk of slope φ'(0), and each stage's
  majorant, weights φ'(t₀/s), is above F_s, hence above F, and touches F_s.
* **Bounds.** A bound never exceeds the optimum that enumeration finds, and is as near as it says.
* **Breakdown.** How large a share of far outliers the default, which races small subsets, graduated
  and other starts, withstands, beside the plain run from the convex start: regression with capped
  squares and a ramp loss, both with leverage outliers that agree among themselves.

Run ``python -m examples.library.verify_points --output folder`` for a plot of the breakdown;
``--full`` takes more cases. The exit status is 1 if a claim comes out otherwise.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import dcprog as dc
from examples.common.claims import Claim, at_most, own, print_claims, under
from examples.common.plots import BLUE, RED, parser_of, plotted
from examples.library.enumeration import KINDS

Array = np.ndarray
ROUNDING = 1e-9
GAP = 1e-3
SHARES = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.45, 0.5, 0.55])
STAGES = (1.0, 1.4, 2.0, 4.0, 16.0)


# ---- graduation ----------------------------------------------------------------------------------


def risks(rng: np.random.Generator) -> dict[str, dc.Risk]:
    """A risk for every kind of concave transform."""
    X, y = rng.normal(size=(30, 3)), rng.choice([-1.0, 1.0], 30)
    rows, residuals = dc.binary_margins(X, y), dc.residual_rows(X, 3 * y)
    losses = {
        "cap": (rows, dc.cap(dc.hinge(), 1.0)),
        "cap of squares": (residuals, dc.cap(dc.square(), 2.0)),
        "rescaled": (rows, dc.rescale(dc.hinge(), 1.5)),
        "log": (residuals, dc.log(dc.square(), 2.0)),
        "Tukey": (residuals, dc.tukey(dc.square(), 3.0)),
    }
    return {
        name: dc.Risk.from_loss(rows_, loss, dc.l2(0.1)) for name, (rows_, loss) in losses.items()
    }


def graduation_claims(
    points: int, slope: Callable[[dc.Risk, Array], Array] | None = None
) -> list[Claim]:
    rng = np.random.default_rng(0)
    weigh = slope or (lambda risk, t: risk.transform.slope(t))
    order, below, apart, limit = 0.0, 0.0, 0.0, 0.0
    found = risks(rng)
    for risk in found.values():
        stages = [risk.graduated(s) for s in STAGES]
        for _ in range(points):
            here, x = (rng.normal(size=4) * rng.choice([0.3, 1.0, 5.0]) for _ in "12")
            values = [stage(x) for stage in stages]
            order = max(order, max(-np.diff(values)) / (1 + abs(values[0])))
            apart = max(apart, abs(values[0] - risk(x)) / (1 + abs(values[0])))
            for stage in stages:
                t0, t = stage.aggregates(here), stage.aggregates(x)
                tangent = weigh(stage, t0) * (t - t0)
                M = (
                    stage(here)
                    + float(np.sum(tangent))
                    + 0.05 * float(np.sum(x[:3] ** 2) - np.sum(here[:3] ** 2))
                )
                below = max(below, (stage(x) - M) / (1 + abs(M)))
            t = risk.aggregates(x)
            line = float(np.sum(risk.transform.slope(np.zeros_like(t)) * t))
            nearly = risk.graduated(1e7)(x) - 0.05 * float(np.sum(x[:3] ** 2))
            limit = max(limit, abs(nearly - line) / (1 + abs(line)))
    n = len(found) * points
    return under(
        "graduation",
        [
            Claim(
                "F_s ≥ F_r ≥ F for s ≥ r ≥ 1",
                f"{n} points, {len(found)} losses; out of order by {max(0.0, order):.0e}",
                order <= ROUNDING,
                turns=f"out of order by more than {ROUNDING:.0e}",
            ),
            at_most("F_1 = F", apart, ROUNDING),
            Claim(
                "each stage's majorant is above F_s, hence above F",
                f"{n} points, s = {', '.join(f'{s:g}' for s in STAGES)}; below by "
                f"{max(0.0, below):.0e}",
                below <= ROUNDING,
                turns=f"below by more than {ROUNDING:.0e}",
            ),
            at_most("F_s tends to the risk of slope φ'(0): s = 1e7", limit, 1e-4),
        ],
    )


# ---- bounds --------------------------------------------------------------------------------------


def bound_claims(count: int, raised: float = 0.0) -> list[Claim]:
    """Against enumeration; ``raised`` lifts every bound by a share of the scale, for tests."""
    above, short, proved, missed = -np.inf, -np.inf, 0, 0
    for case in range(count):
        rng = np.random.default_rng(case)
        risk, least = KINDS[case % len(KINDS)](rng)
        bound = dc.lower_bound(risk, time_limit=60, gap=GAP)
        value = bound.value + raised * bound.scale
        proved += bound.status == "proved"
        above = max(above, (value - least) / bound.scale)
        short = max(short, (least - value) / bound.scale)
        result = dc.solve(risk, random_state=case)
        missed += bool(result.value > least + GAP * bound.scale)
    return under(
        "bounds",
        [
            Claim(
                "no bound exceeds the optimum found by enumeration",
                f"{count} problems, n ≤ 12; above by {max(0.0, above):.0e} of the scale",
                above <= ROUNDING,
                turns=f"above by more than {ROUNDING:.0e}",
            ),
            Claim(
                "and all are within the gap asked for",
                f"{proved} of {count} proved, short by {short:.1e} (asked {GAP:g})",
                proved == count and short <= GAP * 1.01,
                turns="one that is not proved",
            ),
            Claim(
                "the default solve ends at the optimum in nine of ten",
                f"{count - missed} of {count}",
                missed <= count / 10,
                turns="more than one in ten elsewhere",
            ),
        ],
    )


# ---- breakdown -----------------------------------------------------------------------------------


def regression(share: float, seed: int, n: int = 60) -> tuple[dc.Risk, Array]:
    """A plane through n samples, a share of them far away, on a plane of their own."""
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n, 2)), np.array([2.0, -1.0])
    y = X @ w + 0.1 * rng.normal(size=n)
    far = slice(0, round(share * n))
    X[far] = 20 + rng.normal(size=X[far].shape)
    y[far] = X[far] @ [-1.0, -2.0] + 0.1 * rng.normal(size=y[far].shape)
    loss = dc.cap(dc.square(), 0.25)
    return dc.Risk.from_loss(dc.residual_rows(X, y, False), loss, dc.l2(1e-3)), w


def classification(share: float, seed: int, n: int = 60) -> tuple[dc.Risk, Array]:
    """Two classes with a margin, a share of the samples far on the other side."""
    rng = np.random.default_rng(seed)
    w = np.array([1.0, 1.0]) / np.sqrt(2)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = 0.5 * rng.normal(size=(n, 2)) + 1.5 * y[:, None] * w
    far = slice(0, round(share * n))
    X[far] = -15 * y[far, None] * w + rng.normal(size=X[far].shape)
    loss = dc.cap(dc.hinge(), 1.0)
    return dc.Risk.from_loss(dc.binary_margins(X, y, fit_intercept=False), loss, dc.l2(0.1)), w


Make = Callable[[float, int], tuple[dc.Risk, Array]]
Curves = dict[str, tuple[Array, Array]]
# What the minimiser itself withstands: of a ramp loss less, as the outliers lie farther apart.
LEAST = {"capped squares": 0.45, "ramp": 0.3}


def stands(make: Make, share: float, seed: int) -> tuple[bool, bool, bool]:
    """Are plain and raced directions nearer to the truth than 30°? Is a run from it no lower?"""
    risk, w = make(share, seed)
    plain = dc.solve(risk, start="convex", n_starts=1, escape=False)
    raced = dc.solve(risk, random_state=seed)
    told = dc.solve(risk, start=w, n_starts=1)

    def near(x: Array) -> bool:
        size = np.linalg.norm(x) * np.linalg.norm(w)
        return bool(np.any(x != 0) and x @ w > np.cos(np.pi / 6) * size)

    best = raced.value <= told.value + 1e-6 * (1 + abs(told.value))
    return near(np.asarray(plain.x)), near(np.asarray(raced.x)), bool(best)


def breakdown_claims(repeats: int) -> tuple[list[Claim], Curves]:
    claims, curves = [], {}
    for name, make in (("capped squares", regression), ("ramp", classification)):
        found = np.array([[stands(make, s, seed) for seed in range(repeats)] for s in SHARES])
        plain, raced, best = found.mean(axis=1).T
        curves[name] = plain, raced
        first, second, least = _breakdown(plain), _breakdown(raced), LEAST[name]
        claims += [
            Claim(
                f"{name}: the raced starts withstand {least:.0%} of far outliers",
                f"9 of 10 right up to {second:.0%}, {repeats} draws of n = 60 a share",
                second >= least,
                turns=f"fewer than 9 of 10 right at {least:.0%}",
            ),
            Claim(
                f"{name}: the convex start alone does not withstand 10%",
                f"9 of 10 right up to {first:.0%}",
                first < 0.1,
                turns="9 of 10 right at 10%",
            ),
            Claim(
                f"{name}: beyond half nothing does",
                f"{raced[-1]:.0%} right at {SHARES[-1]:.0%}",
                bool(raced[-1] <= 0.1),
                turns="more than 10% right",
            ),
            Claim(
                f"{name}: where the fit is wrong, the loss is to blame: started at the true fit "
                "the run ends no lower",
                f"{np.mean(best):.0%} of {best.size * repeats} draws",
                bool(np.mean(best) >= 0.98),
                turns="more than 2% of the draws",
            ),
        ]
    return under("breakdown of raced starts", claims), curves


def _breakdown(right: Array) -> float:
    """The largest share up to which nine of ten are right."""
    ok = np.cumprod(right >= 0.9).astype(bool)
    return float(SHARES[ok][-1]) if ok.any() else 0.0


def draw(folder: Path, curves: Curves) -> None:
    with plotted(folder, "breakdown") as axes:
        for (name, (plain, raced)), line in zip(curves.items(), ("-", "--"), strict=True):
            axes.plot(SHARES, raced, line, color=BLUE, label=f"{name}, raced starts")
            axes.plot(SHARES, plain, line, color=RED, label=f"{name}, convex start")
        axes.set(xlabel="share of far outliers", ylabel="share of fits that are right")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, draw; 0 if every claim came out as expected."""
    parser = parser_of(__doc__)
    parser.add_argument("--full", action="store_true", help="more cases")
    options = parser.parse_args(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        breakdown, curves = breakdown_claims(30 if options.full else 10)
        claims = [
            *graduation_claims(500 if options.full else 60),
            *bound_claims(300 if options.full else 45),
            *breakdown,
        ]
    wrong = print_claims(own(claims), "seeds 0–299; figure breakdown.png")
    if options.output is not None:
        draw(options.output, curves)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
