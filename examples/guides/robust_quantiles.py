"""Quantile regression that leverage cannot turn: trimmed, capped and redescending pinball losses.

Quantile regression bears any error of y, but a sample far off in x pulls with all its lever: a few
of them turn every quantile line. Bounded pinball losses give such samples up, through the same
estimator:

* ``trim(pinball(tau), share)`` leaves out the share of the samples that cost most;
* ``cap(pinball(tau), c)`` stops at c, in units of the residuals' scale σ̂ (``scale="mad"``);
* ``welsch(pinball(tau), sigma)`` and ``tukey`` redescend.

A bound has a price: what lies far above the 90% line belongs to it. c has to be beyond where good
samples lie, so that only outliers reach it: 3 is a residual of 3.3 σ̂ above the 90% line and of 30 σ̂
below, for the pinball loss of a residual is τ or 1 − τ times its size.

The guide draws y = 1 + 2x + (½ + ¼x)·e, whose quantiles are lines that fan out, moves 10% of the
samples far out in x and y, and compares the lines at τ = 0.1, 0.5 and 0.9 with the true ones, and
the shares of good samples below them with τ. Standard errors come with the fit.

Run ``python -m examples.guides.robust_quantiles --output folder`` for a plot of the lines too.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import norm

import dcprog as dc
from examples.common.claims import Claim, print_claims
from examples.common.plots import BLUE, RED, parser_of, plotted

Array = np.ndarray
LEVELS = (0.1, 0.5, 0.9)
Make = Callable[[float], dc.Loss]
LOSSES: dict[str, Make] = {
    "pinball, plain": dc.pinball,
    "trimmed, 10%": lambda tau: dc.trim(dc.pinball(tau), 0.1),
    "capped at 3": lambda tau: dc.cap(dc.pinball(tau), 3.0),
    "Welsch's, σ = 1.5": lambda tau: dc.welsch(dc.pinball(tau), 1.5),
    "Tukey's, σ = 4": lambda tau: dc.tukey(dc.pinball(tau), 4.0),
}


def drawn(n: int = 400, share: float = 0.1, seed: int = 0) -> tuple[Array, Array, Array]:
    """x, y, and which samples are good."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 4, n)
    y = 1 + 2 * x + (0.5 + 0.25 * x) * rng.standard_normal(n)
    bad = int(share * n)
    x[:bad] = rng.uniform(15, 20, bad)
    y[:bad] = rng.uniform(-30, -20, bad)
    return x[:, None], y, np.arange(n) >= bad


def true_line(tau: float) -> Array:
    """Slope and intercept of the quantile."""
    q = float(norm.ppf(tau))
    return np.array([2 + 0.25 * q, 1 + 0.5 * q])


def fitted(make: Make, tau: float, seed: int = 0) -> tuple[dc.RobustRegressor, float, float]:
    """The fit, how far its line is from the true one over the good samples, its share below."""
    x, y, good = drawn(seed=seed)
    model = dc.RobustRegressor(make(tau), dc.l2(0.0)).fit(x, y)
    slope, intercept = true_line(tau)
    line = model.predict(x[good])
    off = float(np.mean(np.abs(line - slope * x[good].ravel() - intercept)))
    return model, off, float(np.mean(y[good] <= line))


def plot(folder: Path) -> None:
    """Samples, and lines of the plain and the capped loss."""
    x, y, _ = drawn()
    with plotted(folder, "robust_quantiles") as axes:
        axes.plot(x, y, ".", color="0.6")
        ends = np.array([[0.0], [20.0]])
        for name, colour in (("pinball, plain", RED), ("capped at 3", BLUE)):
            for tau in LEVELS:
                line = fitted(LOSSES[name], tau)[0].predict(ends)
                axes.plot(ends, line, color=colour, label=name if tau == 0.5 else None)
        axes.set(xlabel="x", ylabel="y")
        axes.legend()


def main(argv: Sequence[str] | None = None) -> int:
    options = parser_of(__doc__).parse_args(argv)
    print("Quantile lines under 10% of leverage: distance from the true line, share below\n")
    print(f"{'loss':<20}" + "".join(f"{f'τ = {tau:g}':>16}" for tau in LEVELS))
    offs, shares = {}, {}
    for name, make in LOSSES.items():
        found = [fitted(make, tau) for tau in LEVELS]
        offs[name] = [off for _, off, _ in found]
        shares[name] = [abs(share - tau) for tau, (*_, share) in zip(LEVELS, found, strict=True)]
        print(f"{name:<20}" + "".join(f"{off:>9.2f}{below:>7.0%}" for _, off, below in found))
    print("\nThe 90% line with a cap, and its standard errors:")
    print(fitted(LOSSES["capped at 3"], 0.9)[0].summary())
    plain, *robust = offs
    worst = max(max(offs[name]) for name in robust)
    missed = max(max(shares[name]) for name in robust)
    claims = [
        Claim("leverage turns plain lines", f"{min(offs[plain]):.1f} off", min(offs[plain]) > 1),
        Claim("bounded losses keep them", f"at most {worst:.2f} off", worst < 0.5),
        Claim("and their shares of good samples", f"within {missed:.0%}", missed < 0.1),
    ]
    if options.output is not None:
        plot(options.output)
    return int(print_claims(claims) > 0)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.exit(main())
