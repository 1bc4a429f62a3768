"""What a run found: a line a family and method, a file of all attempts, a performance profile."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

CLOSE, NEAR = 1e-4, 1e-2
HEADER = (
    f"{'family':<28}{'method':<10}{'n':>4}{'≤1e-4':>7}{'≤1%':>6}{'mean':>9}{'worst':>9}"
    f"{'failed':>7}{'× plain':>9}"
)


@dataclass(frozen=True)
class Line:
    """One attempt at one instance: its excess is relative to the best known value."""

    family: str
    method: str
    seed: int
    value: float
    excess: float
    seconds: float
    times_plain: float
    why: str


def attempted(line: Line) -> str:
    """One attempt: its value, excess, CPU seconds and their ratio to the plain run's."""
    return (
        f"  seed {line.seed:<3}{line.method:<10}{line.value:>12.4f}{_share(line.excess):>9}"
        f"{line.seconds:>9.2f} s{line.times_plain:>8.1f}  {line.why}"
    )


def summary(lines: list[Line]) -> str:
    """Shares, mean and worst excess of the successes, failures, time over one plain run."""
    excess = np.array([line.excess for line in lines])
    reached = excess[np.isfinite(excess)]
    ratios = [line.times_plain for line in lines if np.isfinite(line.times_plain)]
    mean, worst = (reached.mean(), reached.max()) if reached.size else (np.nan, np.nan)
    ratio = f"{np.median(ratios):.1f}" if ratios else "–"
    return (
        f"{lines[0].family:<28}{lines[0].method:<10}{len(lines):>4}{np.mean(excess <= CLOSE):>7.0%}"
        f"{np.mean(excess <= NEAR):>6.0%}{_share(mean):>9}{_share(worst):>9}"
        f"{np.mean(~np.isfinite(excess)):>7.0%}{ratio:>9}"
    )


def _share(excess: float) -> str:
    """A percentage, a multiple where that is large, a dash where there is none."""
    if np.isnan(excess):
        return "–"
    return f"{excess:.2%}" if excess < 10 else f"{excess:.0f}×"


def overall(lines: list[Line]) -> list[str]:
    """A line a method, every family counting the same."""
    rows = []
    for method in dict.fromkeys(line.method for line in lines):
        own = [line for line in lines if line.method == method]
        families = _by_family(own)
        close, near = (
            np.mean([np.mean(excess <= limit) for excess in families]) for limit in (CLOSE, NEAR)
        )
        name = f"all ({len(families)} families)"
        rows.append(f"{name:<28}{method:<10}{len(own):>4}{close:>7.0%}{near:>6.0%}")
    return rows


def _by_family(lines: Iterable[Line]) -> list[np.ndarray]:
    families: dict[str, list[float]] = {}
    for line in lines:
        families.setdefault(line.family, []).append(line.excess)
    return [np.array(excess) for excess in families.values()]


def write_csv(lines: list[Line], path: Path) -> None:
    """One row an attempt."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(Line.__dataclass_fields__)
        writer.writerows([getattr(line, f) for f in Line.__dataclass_fields__] for line in lines)


def write_profile(lines: list[Line], path: Path) -> None:
    """The share of instances whose excess is at most x, families weighted alike."""
    import matplotlib.pyplot as plt

    limits = np.logspace(-6, 0, 200)
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for method in dict.fromkeys(line.method for line in lines):
        families = _by_family(line for line in lines if line.method == method)
        share = [np.mean([np.mean(e <= limit) for e in families]) for limit in limits]
        axes.step(limits, share, where="post", label=f"{method} ({len(families)} families)")
    axes.set(xscale="log", ylim=(0, 1.02), xlabel="excess over the best known value")
    axes.set_ylabel("share of instances")
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=150)
    plt.close(figure)
