"""How good is the point that a solve returns? Local optima, a certificate, and a lower bound.

A ramp loss on samples in the plane, some of them leverage outliers, has many local optima. Plain
runs from starts of several kinds show them and where they come from; the race, which is the
default, is one solve; its certificate says what is known of the point itself, and
:func:`dcprog.lower_bound` how low any point can be. With six features and flipped labels the bound
takes longer: one sees it rise to meet the best point.

Run ``python -m examples.guides.how_good_is_it --output folder`` for two tables and three plots.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

import dcprog as dc
from examples.common.plots import BLACK, BLUE, GREEN, ORANGE, RED, STYLE

Array = np.ndarray

RIDGE = 0.1
OUTLIERS = 8
FLIPPED = 0.15
COLOURS = {"convex": RED, "graduated": ORANGE, "half": BLUE, "random": "0.6"}
# Two ends are one local optimum if their values are as near as that share.
SAME = 1e-4
Ends = dict[str, list[tuple[float, Any]]]
Progress = list[tuple[float, float, float]]

# ---- the problem ---------------------------------------------------------------------------------


def samples(n: int, p: int, seed: int) -> tuple[Array, Array]:
    """Two overlapping classes; eight samples of the second lie far inside the first."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    X = rng.standard_normal((n, p))
    X[:, 0] += 0.8 * y
    X[:OUTLIERS] = rng.normal(4.0, 1.0, (OUTLIERS, p))
    y[:OUTLIERS] = -1
    return X, y


def flipped(n: int, p: int, seed: int) -> tuple[Array, Array]:
    """Two classes with a margin; every seventh label or so is wrong."""
    rng = np.random.default_rng(seed)
    X, w = rng.standard_normal((n, p)), rng.standard_normal(p)
    y = np.where(X @ w > 0, 1, -1)
    return X, np.where(rng.random(n) < FLIPPED, -y, y)


def ramp(X: Array, y: Array) -> dc.Risk:
    """Σ min((1 − y xᵀw)₊, 1) + (λ/2)‖w‖²."""
    rows = dc.binary_margins(X, y, fit_intercept=False)
    return dc.Risk.from_loss(rows, dc.cap(dc.hinge(), 1.0), dc.l2(RIDGE))


def hinge(X: Array, y: Array) -> dc.Risk:
    """The plain SVM on some of the samples, its ridge by their share of all."""
    rows = dc.binary_margins(X, y, fit_intercept=False)
    return dc.Risk.from_loss(rows, dc.hinge(), dc.l2(RIDGE / 2))


# ---- where plain runs end ------------------------------------------------------------------------


def plain_runs(X: Array, y: Array, count: int) -> Ends:
    """Values and points at which plain runs end, by the kind of their start."""
    risk = ramp(X, y)
    ends: Ends = {kind: [] for kind in COLOURS}
    for kind in ("convex", "graduated"):
        result = dc.solve(risk, start=kind, n_starts=1)
        ends[kind].append((result.value, result.x))
    rng = np.random.default_rng(0)
    for i in range(count):
        result = dc.solve(risk, start="random", n_starts=1, random_state=i)
        ends["random"].append((result.value, result.x))
        half = rng.permutation(y.size)[::2]
        start: Any = dc.solve(hinge(X[half], y[half])).x
        result = dc.solve(risk, start=start, n_starts=1)
        ends["half"].append((result.value, result.x))
    return ends


def print_ends(ends: Ends, race: dc.Result) -> None:
    """How many runs of each kind there are, how often they are at the best value, and how far."""
    best = min(race.value, *(value for runs in ends.values() for value, _ in runs))
    print(f"{'start':<12}{'runs':>6}{'at the best':>13}{'median':>10}{'worst':>10}   optima")
    for kind, runs in ends.items():
        values = np.array([value for value, _ in runs])
        at_best = np.mean(values <= best * (1 + SAME))
        distinct = 1 + np.count_nonzero(np.diff(np.sort(values)) > SAME * best)
        print(
            f"{kind:<12}{values.size:>6}{at_best:>12.0%}{np.median(values):>11.3f}"
            f"{values.max():>10.3f}   {distinct}"
        )
    print(
        f"{'race':<12}{len(race.starts):>6}{float(race.value <= best * (1 + SAME)):>12.0%}", end=""
    )
    print(f"{race.value:>11.3f}")


# ---- plots ---------------------------------------------------------------------------------------


def draw_landscape(risk: dc.Risk, ends: Ends, race: dc.Result, path: Path) -> None:
    """F over the two coefficients, and where runs end."""
    points = np.array([x for runs in ends.values() for _, x in runs])
    low, high = points.min(axis=0) - 0.5, points.max(axis=0) + 0.5
    axes = [np.linspace(a, b, 160) for a, b in zip(low, high, strict=True)]
    F = np.array([[risk(np.array([u, v])) for u in axes[0]] for v in axes[1]])
    figure = Figure(figsize=(8, 6), layout="constrained")
    ax = figure.subplots()
    levels = np.quantile(F, np.linspace(0, 1, 25))
    ax.contourf(*axes, F, levels=np.unique(levels), cmap="Greys_r", alpha=0.7)
    for kind, runs in reversed(ends.items()):
        x = np.array([x for _, x in runs])
        size = 30 if len(runs) > 1 else 60
        ax.scatter(x[:, 0], x[:, 1], s=size, c=COLOURS[kind], edgecolors="white", label=kind)
    assert race.x is not None
    ax.plot(*race.x, "*", ms=26, color=GREEN, mec=BLACK, zorder=1.5, label="race")
    ax.set(xlabel="first coefficient", ylabel="second coefficient")
    ax.set_title("Objective (light is high), and where runs end by kind of start")
    ax.grid(visible=False)
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
    figure.savefig(path)


def draw_basins(ends: Ends, race: dc.Result, path: Path) -> None:
    """Share of the runs of each kind that end at a value or below it."""
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    ax = figure.subplots()
    for kind, runs in ends.items():
        values = np.sort([value for value, _ in runs])
        if values.size == 1:
            ax.axvline(values[0], color=COLOURS[kind], ls="--", lw=2, label=kind)
        else:
            shares = np.arange(1, values.size + 1) / values.size
            ax.step(values, shares, where="post", color=COLOURS[kind], lw=2, label=kind)
    ax.axvline(race.value, color=GREEN, lw=6, alpha=0.6, zorder=1, label="race")
    ax.set(
        xlabel="value at the end of a run", ylabel="share of runs at it or below", ylim=(0, 1.02)
    )
    ax.set_title("Local optima, by kind of start")
    ax.legend(loc="lower right")
    figure.savefig(path)


def draw_bound(progress: Progress, path: Path) -> None:
    """The best value known and the lower bound over time."""
    seconds, lower, upper = np.array(progress).T
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    ax = figure.subplots()
    ax.fill_between(seconds, lower, upper, step="post", color=BLUE, alpha=0.15, lw=0)
    ax.step(seconds, upper, where="post", color=GREEN, lw=2, label="best point known")
    ax.step(seconds, lower, where="post", color=BLUE, lw=2, label="no point is below")
    ax.set(xlabel="seconds", ylabel="objective")
    ax.set_title("The lower bound closes in on the best point (six features)")
    ax.legend(loc="center right")
    figure.savefig(path)


# ---- all of it -----------------------------------------------------------------------------------


def bounded(risk: dc.Risk, seconds: float) -> tuple[dc.Bound, Progress]:
    """A lower bound, and how it came about: seconds, bound and best value."""
    progress: Progress = []

    def note(bound: dc.Bound) -> None:
        progress.append((bound.time, bound.value, bound.objective))

    bound = dc.lower_bound(risk, time_limit=seconds, callback=note)
    return bound, [*progress, (bound.time, bound.value, bound.objective)]


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--output", type=Path, default=Path("good_output"), help="for the plots")
    parser.add_argument("--runs", type=int, default=100, help="plain runs of a kind")
    parser.add_argument("--seconds", type=float, default=30.0, help="for the bound in six features")
    parser.add_argument("--samples", type=int, default=100, help="of the six features")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from many starts, race, certify, bound; print the tables, draw the plots."""
    options = parse(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    begun, (X, y) = time.perf_counter(), samples(80, 2, seed=3)
    risk = ramp(X, y)
    ends, race = plain_runs(X, y, options.runs), dc.solve(risk)
    print("Two features: plain runs by kind of start, and the race\n")
    print_ends(ends, race)
    print(f"\nWhat is known of the race's point\n\n{race.certificate()}\n\n{dc.lower_bound(race)}")
    bound, progress = bounded(ramp(*flipped(options.samples, 6, seed=0)), options.seconds)
    print(f"\nSix features\n\n{bound}")
    paths = [options.output / f"{name}.png" for name in ("landscape", "basins", "bound")]
    with matplotlib.rc_context(STYLE):
        draw_landscape(risk, ends, race, paths[0])
        draw_basins(ends, race, paths[1])
        draw_bound(progress, paths[2])
    print(f"\nPlots, after {time.perf_counter() - begun:.0f} s:", *paths, sep="\n  ")


if __name__ == "__main__":
    main()
