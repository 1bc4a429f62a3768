"""Sparse regression: ten of 400 coefficients are not 0, from 100 samples with related columns.

The Lasso shrinks what it keeps, and to shrink less it keeps too much. The minimax concave penalty
(MCP) does neither. Both choose λ by cross-validation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LassoCV

import dcprog as dc
from examples.common.plots import BLACK, BLUE, ORANGE
from examples.common.tables import as_arrays

Array = np.ndarray

SAMPLES, FEATURES, PRESENT, RELATED = 100, 400, 10, 0.7
CONCAVITY = 3.0
SHARES = np.geomspace(0.1, 0.8, 6)  # of the least λ at which all coefficients are 0
LASSO, OURS = "Lasso", "dcprog, MCP"


def drawn(seed: int) -> tuple[Array, Array, Array]:
    """X, y and the coefficients; neighbouring columns correlate by 0.7."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((SAMPLES, FEATURES))
    for j in range(1, FEATURES):
        X[:, j] = RELATED * X[:, j - 1] + np.sqrt(1 - RELATED**2) * X[:, j]
    truth = np.zeros(FEATURES)
    places = rng.choice(FEATURES, PRESENT, replace=False)
    truth[places] = rng.choice([-1, 1], PRESENT) * rng.uniform(1.0, 1.5, PRESENT)
    return X, X @ truth + rng.standard_normal(SAMPLES), truth


def lasso(X: Array, y: Array) -> Array:
    """scikit-learn's."""
    return np.asarray(LassoCV(cv=5).fit(X, y).coef_)


def mcp(X: Array, y: Array) -> Array:
    """Ours: ‖y − Xw‖²/(2n) + Σ mcp(wⱼ)."""
    model = dc.RobustRegressor(
        0.5 * dc.square(), dc.mcp(1.0, CONCAVITY), scale=None, normalize="mean"
    )
    lambdas = SHARES * dc.lambda_max(model.spec(X, y))
    return np.asarray(dc.RobustRegressorCV(model, lambdas, cv=5).fit(X, y).coef_)


FITS = {LASSO: lasso, OURS: mcp}


@dataclass(frozen=True)
class Sparsity:
    """Of every seed: how many of the ten were found, how many others, and how much is missing."""

    found: dict[str, Array]
    false: dict[str, Array]
    shrunk: dict[str, Array]
    first: dict[str, Array]  # the first seed's coefficients

    def lines(self) -> list[str]:
        """Means."""
        head = f"  {'':<20}{'found of 10':>12}{'not there':>12}{'shrunk by':>12}"
        return [head] + [
            f"  {name:<20}{self.found[name].mean():>12.1f}{self.false[name].mean():>12.1f}"
            f"{100 * self.shrunk[name].mean():>10.1f} %"
            for name in FITS
        ]


def measure(seeds: int) -> Sparsity:
    """Both fits of all draws."""
    found: dict[str, list[float]] = {name: [] for name in FITS}
    false: dict[str, list[float]] = {name: [] for name in FITS}
    shrunk: dict[str, list[float]] = {name: [] for name in FITS}
    first: dict[str, Array] = {}
    for seed in range(seeds):
        X, y, truth = drawn(seed)
        there = truth != 0
        for name, fit in FITS.items():
            coef = fit(X, y)
            first.setdefault(name, coef)
            found[name].append(np.sum(coef[there] != 0))
            false[name].append(np.sum(coef[~there] != 0))
            shrunk[name].append(1 - np.mean(coef[there] / truth[there]))
    return Sparsity(as_arrays(found), as_arrays(false), as_arrays(shrunk), first)


def draw(ax: Any, measured: Sparsity) -> None:
    """The first draw's coefficients, as they are and as they were found."""
    truth = drawn(0)[2]
    there = np.flatnonzero(truth)
    ax.axhline(0, color="0.7", lw=1)
    ax.vlines(there, 0, truth[there], color=BLACK, lw=1)
    ax.plot(there, truth[there], "o", mfc="none", mec=BLACK, ms=10, label="the truth")
    for name, colour, marker in ((LASSO, ORANGE, "s"), (OURS, BLUE, "o")):
        kept = np.flatnonzero(measured.first[name])
        label = (
            f"{name}: {measured.false[name].mean():.0f} that are not there, "
            f"shrunk by {max(measured.shrunk[name].mean(), 0):.0%}"
        )
        ax.plot(kept, measured.first[name][kept], marker, color=colour, ms=5, mew=0, label=label)
    ax.set(
        xlabel="coefficient", ylabel="its value", title="Ten of 400 coefficients, from 100 samples"
    )
    ax.set_ylim(top=2.9)
    ax.legend(loc="upper left", fontsize=8.5)
