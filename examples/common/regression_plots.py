"""A robust regression beside least squares: breakdown, and the stars of CYG OB1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression

from examples.common.contamination import clean_regression, movement
from examples.common.plots import BLUE, RED, plotted
from examples.common.regression_sets import regression_set

__all__ = ["plot_breakdown", "plot_stars"]


def plot_breakdown(
    folder: Path, name: str, robust: Any, size: float, n: int = 30, d: int = 2
) -> None:
    """How far outliers of a size carry the fit, against their number."""
    X, y = clean_regression(n, d, np.random.default_rng(0))
    counts = np.arange(1, n // 2 + 4)
    with plotted(folder, name) as axes:
        for model, colour in _beside_least_squares(robust):
            moved = [movement(model, X, y, int(count), size) for count in counts]
            axes.semilogy(counts, moved, "o-", color=colour, label=type(model).__name__)
        axes.set(xlabel=f"outliers among {n} samples", ylabel="movement of the coefficients")
        axes.legend()


def plot_stars(folder: Path, name: str, robust: Any) -> None:
    """The stars of CYG OB1, and two lines through them."""
    X, y = regression_set("starsCYG")
    with plotted(folder, name) as axes:
        giants = X[:, 0] < 3.6  # of low temperature
        axes.plot(X[~giants], y[~giants], "o", color="0.5")
        axes.plot(X[giants], y[giants], "o", color="0.5", mfc="none", ms=9, label="four giants")
        ends = np.array([[X.min()], [X.max()]])
        for model, colour in _beside_least_squares(robust):
            line = model.fit(X, y).predict(ends)
            axes.plot(ends, line, color=colour, label=type(model).__name__)
        axes.set(xlabel="log temperature", ylabel="log light", ylim=(3.5, 6.5))
        axes.legend()


def _beside_least_squares(robust: Any) -> list[tuple[Any, str]]:
    return [(robust, BLUE), (LinearRegression(), RED)]
