"""Majorants, descent, criticality and d-stationarity, for every rule and for nested ones.

* **Majorants.** M(·; x₀) of each term lies above F, touches at x₀, and is convex: on random points
  x₀ and x, with cvxpy's own values of F and M.
* **Descent.** Along plain runs from random points F, evaluated anew at every point the run went
  through, never rises.
* **Criticality.** Where a run ends as converged, minimising the majorant there anew, by Clarabel,
  lowers it by nothing; at the starts it does.
* **d-stationarity.** Where the certificate says that no direction leads down, none of many random
  ones and coordinate ones does; where one does (the cap's kink w = 1/(1 + γ), a symmetric saddle),
  it says so.
* **Theorems.** Those that ``dc.which_theorem`` says hold for a problem are seen along its runs: the
  strong decrease at every step, by F and the points evaluated here; no certificate is contradicted.

Run ``python -m examples.library.verify_loop``; ``--full`` takes more points and starts. The exit
status is 1 if a claim comes out otherwise.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import cvxpy as cp
import numpy as np

import dcprog as dc
from examples.common.claims import Claim, at_most, own, print_claims, under
from examples.common.plots import parser_of
from examples.common.theorems import contradicted
from examples.library.problems import Case, D, cases

Array = np.ndarray
ROUNDING = 1e-8
INEXACT = 1e-6  # for steps solved to a hundredth of tol = 1e-8
Majorize = Callable[[cp.Expression], Any]


# ---- majorants -----------------------------------------------------------------------------------


def majorant_claims(
    found: Sequence[Case], centres: int, points: int, majorize: Majorize = dc.majorize
) -> list[Claim]:
    rng = np.random.default_rng(0)
    below, apart, bent, names = 0.0, 0.0, 0.0, []
    for case in found:
        case.x.value = rng.normal(size=D)
        majorant = majorize(case.F)
        worst = 0.0
        for _ in range(centres):
            centre = rng.normal(size=D) * rng.choice([0.3, 1.0, 5.0])
            case.x.value = centre
            majorant.tighten()

            def at(x: Array, case: Case = case, M: Any = majorant) -> tuple[float, float]:
                F = case.value(x)
                with np.errstate(invalid="ignore"):
                    value = float(np.asarray(M.expression.value).item())
                return F, np.inf if np.isnan(value) else value  # log of a negative number

            F, M = at(centre)
            apart = max(apart, abs(M - F) / (1 + abs(F)))
            for _ in range(points):
                x, other = (centre + rng.normal(size=D) * 10 ** rng.uniform(-2, 1) for _ in "12")
                (F, M), (_, N) = at(x), at(other)
                worst = max(worst, (F - min(M, 1e300)) / (1 + abs(F)))
                if max(M, N) < np.inf:
                    middle = at((x + other) / 2)[1]
                    bent = max(bent, (middle - (M + N) / 2) / (1 + abs(M) + abs(N)))
        below = max(below, worst)
        names += [case.name] if worst > ROUNDING else []
    n = len(found) * centres * points
    said = f"{len(found)} terms, {n} points"
    return under(
        "majorants",
        [
            Claim(
                "M(x; x₀) ≥ F(x)",
                f"{said}; below by {below:.0e}" + "".join(f"; {name}" for name in names),
                below <= ROUNDING,
                turns=f"below by more than {ROUNDING:.0e}",
            ),
            at_most("M(x₀; x₀) = F(x₀), relative", apart, ROUNDING),
            at_most("M is convex: above its chords by", max(bent, 0.0), ROUNDING),
        ],
    )


# ---- runs ----------------------------------------------------------------------------------------


def run(case: Case, start: Array) -> tuple[list[Array], dc.Result]:
    """A plain run, and the points it went through."""
    points = [start]
    case.x.value = start
    result = dc.solve(
        cp.Problem(cp.Minimize(case.F)),
        start="current",
        n_starts=1,
        escape=False,
        tol=1e-8,
        max_iter=500,
        callback=lambda progress: points.append(np.array(progress.x)),
    )
    return [*points, np.array(result.x)], result


def lowered(case: Case, point: Array) -> float:
    """By how much Clarabel lowers the majorant at a point, apart from the run, relative."""
    case.x.value = point
    majorant = dc.majorize(case.F)
    F = case.value(point)
    cp.Problem(cp.Minimize(majorant.expression)).solve(solver=cp.CLARABEL)
    return (F - float(np.asarray(majorant.expression.value).item())) / (1 + abs(F))


def run_claims(found: Sequence[Case], starts: int) -> list[Claim]:
    rng = np.random.default_rng(1)
    rises, ends, begins, steps, status = [], [], [], 0, []
    for case in found:
        for _ in range(starts):
            start = 2 * rng.normal(size=D)
            points, result = run(case, start)
            values = np.array([case.value(point) for point in points])
            rises.append(float(np.max(np.diff(values), initial=-np.inf)) / (1 + abs(values[-1])))
            steps += len(points) - 2
            status.append(result.status)
            if result.status == "converged":
                ends.append(abs(lowered(case, points[-1])))
                begins.append(lowered(case, start))
    return [
        Claim(
            "F never rises along a run",
            f"{len(rises)} runs, {steps} steps; largest rise {max(0.0, *rises):.0e}",
            max(rises) <= ROUNDING,
            item="descent",
            turns=f"a rise of more than {ROUNDING:.0e}",
        ),
        Claim(
            "runs end as converged",
            f"{status.count('converged')} of {len(status)}",
            status.count("converged") >= 0.95 * len(status),
            item="criticality",
            turns="more than one in twenty that do not",
        ),
        Claim(
            "there Clarabel does not lower the majorant",
            f"by {max(ends):.0e} at most in {len(ends)} runs; at starts {np.median(begins):.1g}",
            bool(max(ends) <= 1e-5 < np.median(begins)),
            item="criticality",
            turns="by more than 1e-5",
        ),
    ]


# ---- theorems ------------------------------------------------------------------------------------


def theorem_claims(found: Sequence[Case], starts: int, more: float = 1.0) -> list[Claim]:
    """The theorems that hold, along runs; `more` times the modulus must fail, for tests."""
    rng = np.random.default_rng(3)
    short, steps, against, held, ended = 0.0, 0, [], 0, []
    for case in found:
        theorems = dc.which_theorem(cp.Problem(cp.Minimize(case.F)))
        held += len(theorems.holding)
        for _ in range(starts):
            points, result = run(case, 2 * rng.normal(size=D))
            values = np.array([case.value(point) for point in points])
            least = more * theorems.modulus / 2 * np.sum(np.diff(points, axis=0) ** 2, axis=1)
            lost = np.max(least + np.diff(values), initial=0.0) / (1 + abs(values[-1]))
            short, steps = max(short, float(lost)), steps + len(least)
            against += [f"{case.name}: {name}" for name in contradicted(result)]
            if theorems["finite convergence"].holds:
                ended.append(abs(lowered(case, points[-1])))
    return [
        Claim(
            "F falls by (μ/2)‖step‖² or more",
            f"{steps} steps; short of it by {short:.0e}",
            short <= INEXACT,
            item="descent",
            turns=f"short of it by more than {INEXACT:.0e}",
        ),
        Claim(
            "a piecewise linear concave part: a run ends where the majorant is minimised",
            f"{len(ended)} runs, by {max(ended, default=np.inf):.0e} at most",
            max(ended, default=np.inf) <= 1e-6,
            item="criticality",
            turns="by more than 1e-6",
        ),
        Claim(
            "no certificate contradicts a theorem that holds",
            f"{held} theorems of {len(found)} problems" + "".join(f"; {name}" for name in against),
            not against,
            item="criticality",
            turns="one that contradicts",
        ),
    ]


# ---- d-stationarity ------------------------------------------------------------------------------


def steepest(F: Callable[[Array], float], x: Array, directions: int, rng: Any) -> float:
    """The least one-sided slope found, over the scale of F."""
    found = [*np.eye(x.size), *-np.eye(x.size), *rng.normal(size=(directions, x.size))]
    h, here = 1e-6 * (1 + np.linalg.norm(x)), F(x)
    slopes = [(F(x + h * d / np.linalg.norm(d)) - here) / h for d in found]
    return float(min(slopes) / (1 + abs(here)))


def kink(gamma: float) -> tuple[dc.Risk, Array]:
    """min{[1 − w]₊², ε} + γw², ε = (γ/(1 + γ))²: w = 1/(1 + γ) is critical, and not stationary."""
    cap = (gamma / (1 + gamma)) ** 2
    loss = dc.cap(dc.squared_hinge(), cap)
    return dc.Risk.from_loss(np.ones((1, 1)), loss, dc.l2(2 * gamma)), np.array(
        [np.nextafter(1 / (1 + gamma), 1)]
    )


def stationarity_claims(risks: int, directions: int) -> list[Claim]:
    rng = np.random.default_rng(2)
    said, slopes, unknown = 0, [], 0
    for seed in range(risks):
        X = rng.normal(size=(40, 3))
        y = np.where(rng.random(40) < 0.85, np.sign(X @ [1.0, -1, 0.5]), -1)
        y[:2] = -1, 1
        loss = dc.cap(dc.hinge(), 1.0) if seed % 2 else dc.truncate(dc.hinge(), 0.0)
        risk = dc.Risk.from_loss(dc.binary_margins(X, y, fit_intercept=False), loss, dc.l2(0.5))
        result = dc.solve(risk, random_state=seed, tol=1e-9)
        found = result.certificate().d_stationary
        said += found is True
        unknown += found is None
        if found:
            slopes.append(steepest(risk, np.asarray(result.x), directions, rng))
    risk, w = kink(0.5)
    stuck = dc.solve(risk, start=w, n_starts=1, escape=False)
    certificate = stuck.certificate()
    slope = (risk(w - 1e-6) - risk(w)) / 1e-6
    free = dc.solve(risk, start=w, n_starts=1)
    x = cp.Variable(2)
    problem = cp.Problem(
        cp.Minimize(cp.sum_squares(x[:1]) - cp.sum_squares(x[1:])), [cp.abs(x) <= 1]
    )
    x.value = np.zeros(2)
    saddle = dc.solve(problem, start="current", n_starts=1)
    claims = [
        Claim(
            "where it is certified, no direction leads down",
            f"{said} of {risks} ends certified, {unknown} left open; least slope {min(slopes):.0e} "
            f"in {directions + 6} directions each",
            min(slopes) >= -1e-3 and said >= 0.8 * risks,
            turns="a slope below −1e-3, or more than a fifth left open",
        ),
        Claim(
            "the cap's kink w = 1/(1 + γ), γ = ½: critical, and the certificate finds the way down",
            f"gap {certificate.gap.measured:.0e}, slope {slope:.3f}, d-stationary: "
            f"{certificate.d_stationary}",
            certificate.gap.holds and certificate.d_stationary is False and slope < -0.6,
            turns="no direction found, or a gap",
        ),
        Claim(
            "a default run does not stop there",
            f"F = {free.value:.4f} < {risk(w):.4f}",
            free.value < risk(w) - 0.01,
            turns=f"F higher by {risk(w) - 0.01 - free.value:.2f}",
        ),
        Claim(
            "nor at the saddle of x₁² − x₂²",
            f"F = {saddle.value:.4f}",
            saddle.value < -0.99,
            turns="F above −0.99",
        ),
    ]
    return under("d-stationarity", claims)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 0 if every claim came out as expected."""
    parser = parser_of(__doc__)
    parser.add_argument("--full", action="store_true", help="more points and starts")
    options = parser.parse_args(arguments)
    found = cases()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        claims = [
            *majorant_claims(found, 40 if options.full else 10, 40 if options.full else 15),
            *run_claims(found, 20 if options.full else 4),
            *theorem_claims(found, 5 if options.full else 1),
            *stationarity_claims(100 if options.full else 20, 400),
        ]
    return int(print_claims(own(claims), "seeds 0–3") > 0)


if __name__ == "__main__":
    sys.exit(main())
