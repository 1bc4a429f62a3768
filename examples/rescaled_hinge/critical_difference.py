"""Friedman's test, Nemenyi's critical difference, and the diagram that shows them (Demšar 2006).

Several methods, each scored on several data sets, are ranked within each set; the mean ranks are
what is compared. Demšar (2006), Statistical comparisons of classifiers over multiple data sets,
Journal of Machine Learning Research 7, 1-30.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from scipy.stats import rankdata, studentized_range

from examples.common.claims import Claim
from examples.common.plots import BLUE, RED

Array = np.ndarray
LEVEL = 0.05
FEW = 10  # Demšar asks for more sets than this before a Friedman test is relied on


@dataclass(frozen=True)
class Ranking:
    """Mean ranks of the methods over N sets (1 is the best), and what they allow to conclude."""

    means: Array
    cases: int
    statistic: float  # Friedman's χ²
    p: float
    width: float  # Nemenyi's critical difference

    def __str__(self) -> str:
        test = f"Friedman χ² = {self.statistic:.1f}, p = {self.p:.2g} by permutation"
        width = f"critical difference {self.width:.2f}"
        return f"N = {self.cases} sets, {test}, {width}: {self.verdict()}"

    def verdict(self) -> str:
        """In words: which pairs differ, and whether there were sets enough to see it."""
        k, n = len(self.means), self.cases
        if self.width >= k - 1:
            return f"N = {n} allows no conclusion: no two of {k} mean ranks can differ by so much"
        apart = sum(b - a > self.width for a in self.means for b in self.means)
        if apart:
            return f"{apart} pairs differ"
        if self.p < LEVEL:
            return "the methods differ, but no two of them by enough to be named"
        few = f"; N = {n} is too small for any conclusion" if n <= FEW else ""
        return f"no two methods differ{few}"


def nemenyi_claim(title: str, found: Ranking, better: int, worse: int) -> Claim:
    """Has one method a significantly better mean rank than another, by Nemenyi's test?"""
    ahead = float(found.means[worse] - found.means[better])
    holds = True if ahead > found.width else (False if ahead < -found.width else None)
    text = f"{title}: η by CV is significantly better than the SVM (Nemenyi)"
    shown = f"{ahead:+.2f} mean ranks ahead; {found}".replace("-", "−")
    room = abs(found.width - ahead)
    turns = f"{room:.2f} ranks {'less' if holds else 'more'}"
    return Claim(
        text, shown, holds, None if holds is None else True, "Friedman's test", turns=turns
    )


def critical_difference(methods: int, cases: int, level: float = LEVEL) -> float:
    """Nemenyi's q·√(k(k + 1)/(6N)), q the studentised range over √2 for k methods, N sets."""
    q = studentized_range.ppf(1 - level, methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(methods * (methods + 1) / (6 * cases)))


def friedman_statistic(means: Array, cases: int) -> Array:
    """Friedman's χ² = 12N/(k(k + 1))·(Σ_j R_j² − k(k + 1)²/4) of mean ranks (…, k)."""
    k = means.shape[-1]
    return 12 * cases / (k * (k + 1)) * (np.sum(means**2, axis=-1) - k * (k + 1) ** 2 / 4)


def ranking(scores: Array, draws: int = 20_000) -> Ranking:
    """Ranks over scores (sets, methods), the more the better.

    Friedman's p is by permutation of the ranks within each set, since χ² and F are poor
    approximations for few sets; it is not less than 1/(draws + 1).
    """
    ranks = np.array([rankdata(-row) for row in scores])
    cases, k = ranks.shape
    statistic = float(friedman_statistic(ranks.mean(axis=0), cases))
    rng = np.random.default_rng(0)
    shuffled = rng.permuted(np.broadcast_to(ranks, (draws, cases, k)), axis=2).mean(axis=1)
    as_large = np.sum(friedman_statistic(shuffled, cases) >= statistic - 1e-9)
    return Ranking(
        ranks.mean(axis=0),
        cases,
        statistic,
        float((1 + as_large) / (1 + draws)),
        critical_difference(k, cases),
    )


# ---- the diagram ---------------------------------------------------------------------------------


def cliques(sorted_means: Array, width: float) -> list[tuple[int, int]]:
    """First and last of every longest run of sorted means within the critical difference."""
    runs: list[tuple[int, int]] = []
    for first, value in enumerate(sorted_means):
        last = int(np.searchsorted(sorted_means, value + width, side="right")) - 1
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return runs


def draw(ax: Axes, found: Ranking, names: Sequence[str], title: str) -> None:
    """Critical-difference diagram: methods joined by a bar do not differ at 5 %.

    From the axis of mean ranks a stem goes down to a level of its own and then sideways to the
    label: the better half to the left, the best on top, the others to the right, the worst on top.
    A level ends outside all the stems that pass it, so that no line meets a label whatever the
    ranks are.
    """
    k = len(names)
    order = np.argsort(found.means, kind="stable")
    means = found.means[order]
    runs = cliques(means, found.width)
    top = 0.5 + 0.4 * len(runs)  # levels below the bars
    for i, (mean, method) in enumerate(zip(means, order, strict=True)):
        left = i < (k + 1) // 2
        level = -top - 0.62 * (i if left else k - 1 - i)
        edge = 0.8 if left else k + 0.2
        ax.plot([mean, mean, edge], [0, level, level], color="0.25", lw=0.9)
        beside = edge + (-0.08 if left else 0.08)
        label = f"{names[method]}  {mean:.2f}" if left else f"{mean:.2f}  {names[method]}"
        ax.text(beside, level, label, ha="right" if left else "left", va="center", fontsize=9)
    for j, (first, last) in enumerate(runs):
        height = -0.4 * (j + 1)
        ax.plot([means[first] - 0.05, means[last] + 0.05], [height] * 2, color=RED, lw=3.5)
    _draw_scale(ax, k, found.width)
    ax.set(xlim=(-0.9, k + 1.9), ylim=(-top - 0.62 * ((k - 1) // 2) - 0.6, 1.9))
    ax.set_title(title, fontsize=11)
    ax.axis("off")


def _draw_scale(ax: Axes, k: int, width: float) -> None:
    """The axis of ranks, and above it the critical difference as a length."""
    ax.plot([1, k], [0, 0], color="k", lw=1.2)
    for rank in range(1, k + 1):
        ax.plot([rank, rank], [0, 0.15], color="k", lw=1.2)
        ax.text(rank, 0.25, str(rank), ha="center", va="bottom", fontsize=9)
    end = min(1 + width, k)
    longer = ", longer than the axis" if 1 + width > k else ""
    ax.plot([1, end], [1.2, 1.2], color=BLUE, lw=2, marker="|", ms=8)
    text = f"critical difference {width:.2f}{longer}"
    if width < k / 2:  # too short to carry its text
        ax.text(end + 0.2, 1.2, text, ha="left", va="center", fontsize=9)
    else:
        ax.text((1 + end) / 2, 1.35, text, ha="center", va="bottom", fontsize=9)
