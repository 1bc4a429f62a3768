"""What the theory says of MM-estimates, on numbers.

* Constants (Yohai 1987, Rousseeuw and Yohai 1984): E ρ_1 = ½ at the normal for c = 1.548; the
  efficiency (E ψ')²/E ψ² is 95, 90 and 85% for c = 4.685, 3.883 and 3.444.
* Breakdown: with ⌊(n − p)/2⌋ outliers, however far, the fit stays; one more can carry it off.
* The scale solves Σ ρ_1(r_i/σ̂) = (n − p)/2, and no subset fit has a smaller one.
* From the S-estimate on the objective never rises; fits move as y → ay + Xv + c and X → XB + c do.
* Efficiency at samples of 4000, where the limit shows; sandwich errors against how the fits vary.

Run ``python -m examples.mm_regression.verify_theory``; ``--full`` takes more repeats, ``--output
folder`` leaves a plot of breakdown. The exit status is 1 if a claim comes out otherwise.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.stats import norm

from dcprog.losses import square, tukey
from dcprog.models import MMRegressor
from examples.common.claims import Claim, at_most, paired, print_claims, same, under
from examples.common.contamination import clean_regression, equivariance, movement
from examples.common.plots import parser_of
from examples.common.regression_plots import plot_breakdown

Array = np.ndarray
CHI = 1.547645
EFFICIENCIES = {4.685061: 0.95, 3.882662: 0.90, 3.443689: 0.85}
HALFWAY = 0.025  # between two levels
SAMPLE = 4000, 5  # samples, features
FAR = 1e4


def constant_claims() -> list[Claim]:
    rho = tukey(0.5 * square(), CHI)
    mean = quad(lambda u: float(rho(u)) / rho.bound * norm.pdf(u), -10, 10, points=[-CHI, CHI])[0]
    worst = max(abs(_limit(c) - share) for c, share in EFFICIENCIES.items())
    return [
        at_most("E ρ_1 = ½ at the normal", abs(mean - 0.5), 1e-6),
        at_most("efficiencies of c are 95, 90, 85%", worst, 1e-5),
    ]


def _limit(c: float) -> float:
    """The efficiency (E ψ')²/E ψ² of ψ(u) = u(1 − (u/c)²)² for |u| < c."""
    rho = tukey(0.5 * square(), c)
    ends: Any = {"points": [-c, c], "limit": 200}
    spread = quad(lambda u: float(rho.slope(u)) ** 2 * norm.pdf(u), -10, 10, **ends)[0]
    return float(_slope(c) ** 2 / spread)


def _slope(c: float) -> float:
    """E ψ' = E uψ at the normal."""
    rho = tukey(0.5 * square(), c)
    return float(
        quad(lambda u: u * float(rho.slope(u)) * norm.pdf(u), -10, 10, points=[-c, c], limit=200)[0]
    )


def breakdown_claims(n: int = 40, d: int = 2) -> list[Claim]:
    X, y = clean_regression(n, d, np.random.default_rng(0))
    most = (n - d - 1) // 2
    stands, falls = (movement(MMRegressor(), X, y, count, FAR) for count in (most, most + 1))
    return [
        Claim(
            f"{most} of {n} far outliers do not carry it off",
            f"coefficients and intercept move by {stands:.2f} in norm, p = {d + 1}",
            stands < 3,
            turns="by 3 or more",
        ),
        Claim(f"{most + 1} do", f"they move by {falls:.0e}", falls > 100, turns="by at most 100"),
    ]


def scale_claims() -> list[Claim]:
    rng = np.random.default_rng(1)
    X, y = clean_regression(80, 3, rng)
    y[:20] -= 30 * rng.random(20)
    model = MMRegressor().fit(X, y)
    rho = tukey(0.5 * square(), CHI)
    r = (y - X @ model.initial_coef_ - model.initial_intercept_) / model.scale_
    level = float(np.sum(rho(r)) / rho.bound / (80 - 4))
    start = np.append(model.initial_coef_, model.initial_intercept_) / model.scale_
    first, last = model.spec_(start), model.objective_
    rise = float(np.max(np.diff(model.result_.history.value), initial=0.0))
    return [
        at_most("σ̂ solves Σ ρ_1(r/σ̂) = (n − p)/2", abs(level - 0.5), 1e-9),
        Claim(
            "the M-step lowers the objective",
            f"{first:.3f} to {last:.3f}",
            last <= first,
            turns=f"higher by {first - last:.3f}",
        ),
        at_most("and never raises it on the way", rise, 1e-12),
        at_most("regression, scale and affine equivariance", equivariance(model, X, y, rng), 1e-6),
    ]


def normal_claims(repeats: int) -> list[Claim]:
    """Efficiencies, each nearer to its own level than to another's."""
    claims = []
    for c, share in EFFICIENCIES.items():
        excess = [
            excess_of(c, *clean_regression(*SAMPLE, np.random.default_rng(s)))
            for s in range(repeats)
        ]
        apart = paired(1 / (1 / share + np.array(excess)) - share)
        text = f"efficiency at c = {c} is nearer to {share:.0%} than to another level"
        claims.append(same(text, apart, HALFWAY, measured=f"{share + apart.mean:.3f}"))
    return claims


def excess_of(c: float, X: Array, y: Array) -> float:
    """What a fit's squared error has beyond its linear term's, over that of least squares.

    The linear term's own mean is known, so that only the small rest is left to chance.
    """
    rho = tukey(0.5 * square(), c)
    inverse = np.linalg.pinv(np.column_stack([X, np.ones(len(y))]))[:-1]
    linear = inverse @ rho.slope(y - X.sum(axis=1)) / _slope(c)
    error = MMRegressor(c=c).fit(X, y).coef_ - 1
    return float((error @ error - linear @ linear) / np.sum(inverse**2))


def error_claims(repeats: int) -> list[Claim]:
    coefs, errors = [], []
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((150, 2))
        y = X.sum(axis=1) + rng.standard_t(3, 150)
        model = MMRegressor().fit(X, y)
        coefs.append(model.coef_)
        errors.append(model.standard_errors_)
    ratio = float(np.mean(errors) / np.std(coefs, axis=0).mean())
    covered = np.abs(np.array(coefs) - 1) <= norm.ppf(0.975) * np.array(errors)
    share = float(np.mean(covered))
    return [
        at_most("standard errors are how the fits vary, errors t₃", abs(ratio - 1), 0.1),
        Claim(
            "95% intervals cover",
            f"{share:.1%}, asked are more than 90% and less than 98%",
            0.9 < share < 0.98,
            turns="90% or 98%",
        ),
    ]


def main(argv: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--full", action="store_true", help="more repeats")
    options = parser.parse_args(argv)
    repeats = 500 if options.full else 100
    claims = [
        *under("constants", constant_claims()),
        *under("breakdown", breakdown_claims()),
        *under("scale", scale_claims()),
        *under("efficiency", normal_claims(200 if options.full else 40)),
        *under("standard errors", error_claims(repeats)),
    ]
    if options.output is not None:
        plot_breakdown(options.output, "mm_breakdown", MMRegressor(), FAR)
    return int(print_claims(claims, "figure mm_breakdown.png") > 0)


if __name__ == "__main__":
    sys.exit(main())
