"""Time of a fit against the number of samples, features and classes, beside a peer's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.svm import LinearSVC

import dcprog as dc
from benchmarks.bench_race import data
from benchmarks.bench_reweighting import classes, leverage_free, reweighted
from benchmarks.runner import timed
from dcprog.models import AngleSVC

__all__ = ["draw"]

Curves = dict[str, list[float]]

SAMPLES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000)
FEATURES = (10, 30, 100, 300, 1000)
CLASSES = (3, 4, 6, 8, 10)
OURS, PEERS = "-o", "--s"


def ramp(n: int, p: int, n_starts: int | str) -> Callable[[], Any]:
    """A ramp fit: a run, or the whole race."""
    X, y = data(n, p)
    risk = dc.Risk.from_loss(dc.binary_margins(X, y), dc.cap(dc.hinge(), 1.0), dc.l2(1.0))
    start = "auto" if n_starts == "auto" else "convex"
    return lambda: dc.solve(risk, start=start, n_starts=n_starts)


def hinge(n: int, p: int) -> Callable[[], Any]:
    """One convex fit by LIBLINEAR."""
    X, y = data(n, p)
    return lambda: LinearSVC(loss="hinge", C=1.0).fit(X, y)


def tukey(n: int, p: int, by_hand: bool) -> Callable[[], Any]:
    """Tukey's biweight, ours or by plain reweighting.

    Of u², not ½u²: twice the textbooks' with the constant 4.685/√2 = 3.31.
    """
    X, y = leverage_free(n, p)
    loss = dc.tukey(dc.square(), 4.685)
    if by_hand:
        return lambda: reweighted(X, y, loss.transform)
    risk = dc.Risk.from_loss(dc.residual_rows(X, y), loss, dc.l2(1.0))
    return lambda: dc.solve(risk, start="convex", n_starts=1)


def angle(k: int) -> Callable[[], Any]:
    """An angle-based fit of k classes."""
    X, y = classes(3000, 20, k, 2.0)
    return lambda: AngleSVC(1, n_starts=1).fit(X, y)


def curves(sizes: tuple[int, ...], makers: dict[str, Callable[[int], Callable[[], Any]]]) -> Curves:
    """CPU seconds of each at each size."""
    for make in makers.values():
        make(sizes[0])()  # compiles
    return {name: [timed(make(size))[1] for size in sizes] for name, make in makers.items()}


def draw(folder: Path, full: bool) -> list[Path]:
    """Measure and draw; where Matplotlib is not installed, nothing."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return []
    folder.mkdir(exist_ok=True)
    few = slice(None if full else -1)
    samples, features = SAMPLES[few], FEATURES[few]
    plots = {
        "time_n": ("samples, 20 features", samples, curves(samples, _of_samples())),
        "time_p": ("features, 2000 samples", features, curves(features, _of_features())),
        "time_k": ("classes, 3000 × 20", CLASSES, curves(CLASSES, {"angle loss, one run": angle})),
    }
    paths = []
    for name, (label, sizes, found) in plots.items():
        figure = Figure(figsize=(6.4, 4.2), layout="constrained")
        axes = figure.add_subplot()
        for curve, seconds in found.items():
            peer = "LIBLINEAR" in curve or "NumPy" in curve
            axes.loglog(sizes, seconds, PEERS if peer else OURS, label=curve, markersize=4)
        _proportional(axes, sizes, found)
        axes.set(xlabel=label, ylabel="CPU seconds", xticks=sizes, xticklabels=map(str, sizes))
        axes.minorticks_off()
        axes.legend(frameon=False, fontsize="small")
        axes.spines[["top", "right"]].set_visible(False)
        paths.append(folder / f"{name}.png")
        figure.savefig(paths[-1], dpi=130)
    return paths


def _of_samples() -> dict[str, Callable[[int], Callable[[], Any]]]:
    return {
        "ramp, whole race": lambda n: ramp(n, 20, "auto"),
        "ramp, one run": lambda n: ramp(n, 20, 1),
        "hinge, LIBLINEAR": lambda n: hinge(n, 20),
        "Tukey, one run": lambda n: tukey(n, 20, False),
        "Tukey, plain NumPy": lambda n: tukey(n, 20, True),
    }


def _of_features() -> dict[str, Callable[[int], Callable[[], Any]]]:
    return {
        "ramp, one run": lambda p: ramp(2000, p, 1),
        "hinge, LIBLINEAR": lambda p: hinge(2000, p),
        "Tukey, one run": lambda p: tukey(2000, p, False),
        "Tukey, plain NumPy": lambda p: tukey(2000, p, True),
    }


def _proportional(axes: Any, sizes: tuple[int, ...], found: Curves) -> None:
    """A thin line of time in proportion to the size."""
    lowest = min(min(seconds) for seconds in found.values())
    way = np.array(sizes) / sizes[0]
    axes.loglog(sizes, lowest * way, ":", color="0.6", linewidth=1, label="in proportion")
