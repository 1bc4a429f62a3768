"""The two plots of verify_convergence.py, not run by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from examples.capped_svm.degenerate import Kink
from examples.capped_svm.passes import STALLED, Judged, select
from examples.capped_svm.runs import POWERS


def draw_descent(rows: list[Judged], path: Path) -> None:
    """J_δ minus the lowest value found, for the exact steps and the single pass, of one seed."""
    figure = Figure(figsize=(9, 6.5), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True, sharey=True)
    for ax, p in zip(axes.flat, POWERS, strict=True):
        draw_runs(ax, rows, p)
        ax.set(title=f"p = {p:g}", ylim=(1e-9, 100))
    for ax in axes[1]:
        ax.set_xlabel("points visited")
    for ax in axes[:, 0]:
        ax.set_ylabel("J_δ − lowest J_δ found, δ = 1e-8")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.suptitle("exact steps and the single pass: n = 40, d = 4, c = 3, γ = 0.5, ε = 1")
    figure.savefig(path, dpi=120)


def draw_runs(ax: Any, rows: list[Judged], p: float) -> None:
    """The first seed's runs for one p."""
    styles = {"exact": "C0-", STALLED: "C3-", "single, δ=0.001": "C1--"}
    runs = {label: select(rows, p, label)[0].run for label in styles}
    judge = runs["exact"].model  # one function for all three lines
    lines = {label: np.array([judge.value(x) for x in run.points]) for label, run in runs.items()}
    lowest = min(values.min() for values in lines.values())
    for label, values in lines.items():
        above = np.maximum(values - lowest, 1e-9)
        above = above[: int(np.argmin(above)) + 1]  # the lowest run ends on the frame
        ax.loglog(np.arange(1, len(above) + 1), above, styles[label], label=label)


def draw_kink(path: Path, gamma: float = 0.5) -> None:
    """J with its majorant at the kink of the cap."""
    kink, w = Kink(gamma), np.linspace(-0.3, 1.25, 800)
    figure = Figure(figsize=(6, 4.2), layout="constrained")
    ax = figure.subplots()
    ax.plot(w, kink.value(w), "C0-", lw=2.5, label="J(w) = min([1 − w]₊², ε) + γw²")
    ax.plot(w, kink.majorant(w), "C3--", label="its majorant at w*, with d = 1")
    at = (kink.point, kink.value(kink.point))
    ax.plot(*at, "ko")
    text = "w* minimises the majorant,\nbut J falls to the left"
    ax.annotate(text, at, (0.66, 0.08), arrowprops={"arrowstyle": "->"})
    ax.plot(0, kink.value(0.0), "k^")
    ax.annotate("J(0) = ε < J(w*)", (0, kink.value(0.0)), (-0.16, 0.03))
    case = f"x = y = 1, p = 2, γ = {gamma:g}, ε = {kink.eps:.3f}"
    ax.set(xlabel="w", ylim=(0, 1.2), title=f"one sample at the cap: {case}")
    ax.legend(loc="upper right")
    figure.savefig(path, dpi=120)
