"""Leverage in regression: the stars of CYG OB1, of which four are giants; and drawn regressions.

The giants are far off in temperature, so that they draw a line to themselves whatever is paid for
their residuals, if it is convex. RANSAC finds them or does not, as its seed has it. The drawn
regressions have 100 samples and five features; ten samples are moved far off. (With 20 moved like
that, a plane through them can cost less than the right one: :class:`dcprog.models.MMRegressor`.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import HuberRegressor, LinearRegression, RANSACRegressor

import dcprog as dc
from examples.common.contamination import clean_regression, contaminated
from examples.common.plots import BLACK, BLUE, GREEN, ORANGE, RED
from examples.common.regression_sets import regression_set
from examples.common.tables import as_arrays, spread

Array = np.ndarray

SAMPLES, FEATURES, MOVED, FAR = 100, 5, 10, 10.0
OURS = "dcprog, biweight"
MODELS: dict[str, Any] = {
    "least squares": LinearRegression(),
    "Huber": HuberRegressor(max_iter=1000),
    "RANSAC": RANSACRegressor(),
    OURS: dc.RobustRegressor(),
}
COLOURS = dict(zip(MODELS, (BLACK, ORANGE, GREEN, BLUE), strict=True))


def fitted(name: str, X: Array, y: Array, seed: int) -> Any:
    """A model, or the linear one inside RANSAC."""
    model = clone(MODELS[name])
    if "random_state" in model.get_params():
        model.set_params(random_state=seed)
    model.fit(X, y)
    return getattr(model, "estimator_", model)


@dataclass(frozen=True)
class Regression:
    """Slopes of the stars' lines and errors of the drawn regressions by model, one a seed."""

    slopes: dict[str, Array]
    errors: dict[str, Array]

    def lines(self) -> list[str]:
        """Mean and spread of the slopes, mean and standard error of the errors."""
        return [f"  {'':<20}{'slope of the stars':>20}{'error of the coefficients':>28}"] + [
            f"  {name:<20}{slopes.mean():>11.2f} ± {slopes.std():4.2f}"
            f"{spread(100 * self.errors[name]):>26} %"
            for name, slopes in self.slopes.items()
        ]


def measure(seeds: int) -> Regression:
    """All models on the stars and on drawn regressions, a seed each."""
    stars = regression_set("starsCYG")
    slopes: dict[str, list[float]] = {name: [] for name in MODELS}
    errors: dict[str, list[float]] = {name: [] for name in MODELS}
    truth = np.ones(FEATURES)
    for seed in range(seeds):
        clean = clean_regression(SAMPLES, FEATURES, np.random.default_rng(seed))
        _, drawn, _ = contaminated(*clean, MOVED, FAR)
        for name in MODELS:
            slopes[name].append(float(fitted(name, *stars, seed).coef_[0]))
            error = np.linalg.norm(fitted(name, *drawn, seed).coef_ - truth)
            errors[name].append(float(error / np.linalg.norm(truth)))
    return Regression(as_arrays(slopes), as_arrays(errors))


def draw(ax: Any, measured: Regression) -> None:
    """The stars and the models' lines, RANSAC's for every seed."""
    X, y = regression_set("starsCYG")
    ends = np.array([[X.min() - 0.1], [X.max() + 0.1]])
    ax.plot(X, y, "o", color="0.45", ms=5, mew=0)
    for name, colour in COLOURS.items():
        seeds = range(len(measured.slopes[name]) if name == "RANSAC" else 1)
        thin = {"lw": 1, "alpha": 0.5} if name == "RANSAC" else {"lw": 2.5}
        for seed in seeds:
            ax.plot(ends, fitted(name, X, y, seed).predict(ends), color=colour, **thin)
        label = f"{name}, {len(seeds)} seeds" if name == "RANSAC" else name
        ax.plot([], [], color=colour, lw=2, label=label)
    given_up = fitted(OURS, X, y, 0).outlier_weight_ == 0
    ax.plot(X[given_up], y[given_up], "x", color=RED, ms=10, mew=2, label="given up by ours")
    ax.set(
        xlim=ends.ravel(),
        ylim=(3.6, 6.6),
        xlabel="logarithm of the temperature",
        ylabel="logarithm of the light",
        title="Stars of CYG OB1: four giants among 47",
    )
    ax.invert_xaxis()  # as astronomers draw it
    ax.legend(loc="lower right", fontsize=8.5)
