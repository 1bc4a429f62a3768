"""Figure 1 of the least 1-norm SVM paper: how far the lines of two machines turn.

Two Gaussians of 20 samples; then one label of each class is switched.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from examples.common.claims import Claim, Difference, greater, own
from examples.common.plots import BLUE, ORANGE
from examples.least_one_norm.machines import MACHINES

__all__ = ["draw", "rotation_claims", "rotations"]

Array = np.ndarray
Line = tuple[Array, float]


def toy(seed: int) -> tuple[Array, Array, Array]:
    """Samples, their labels, and the labels with one of each class switched."""
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.standard_normal((20, 2)), rng.normal([5, 2], size=(20, 2))])
    y = np.repeat([1.0, -1.0], 20)
    switched = y.copy()
    switched[[rng.integers(20), 20 + rng.integers(20)]] *= -1
    return X, y, switched


def lines(X: Array, y: Array, switched: Array) -> dict[str, tuple[Line, Line]]:
    """w and b of both machines before and after, linear kernel, C = 1."""
    K, found = X @ X.T, {}
    for name, fit in MACHINES.items():
        before, after = fit(K, y, 1.0), fit(K, switched, 1.0)
        found[name] = (before.a @ X, before.b), (after.a @ X, after.b)
    return found


def rotation(pair: tuple[Line, Line]) -> float:
    """The angle between two lines, in degrees."""
    (v, _), (w, _) = pair
    cosine = v @ w / np.linalg.norm(v) / np.linalg.norm(w)
    return float(np.degrees(np.arccos(np.clip(cosine, -1, 1))))


def rotations(draws: int) -> dict[str, Array]:
    """The rotations of both machines, of every draw."""
    turned = [lines(*toy(seed)) for seed in range(draws)]
    return {name: np.array([rotation(found[name]) for found in turned]) for name in MACHINES}


def rotation_claims(angles: dict[str, Array]) -> list[Claim]:
    """That the LS-SVM's line turns more; the paper draws one pair of lines, and no number."""
    theirs, ours = angles["LS-SVM"], angles["least 1-norm"]
    more, means = float(np.mean(ours < theirs)), (theirs.mean(), ours.mean())
    shown = f"{means[0]:.1f}° against {means[1]:.1f}°, more in {more:.0%} of {ours.size} draws"
    twice = greater("figure 1: and twice as far", _mean(theirs - 2 * ours), 0, measured=shown)
    expected = None if twice.holds is None else True  # few draws do not tell
    return [
        greater("figure 1: the LS-SVM line turns more", _mean(theirs - ours), 0, measured=shown),
        *own([replace(twice, expected=expected)]),
    ]


def _mean(values: Array) -> Difference:
    return Difference(float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size)))


def draw(folder: Path, angles: dict[str, Array]) -> Path:
    """The draw of median LS-SVM rotation, and the rotations of all."""
    figure = Figure(figsize=(13, 4.3), layout="constrained")
    *panels, right = figure.subplots(1, 3)
    turns = angles["LS-SVM"]
    X, y, switched = toy(int(np.argsort(turns)[turns.size // 2]))
    for ax, (name, pair) in zip(panels, lines(X, y, switched).items(), strict=True):
        _panel(ax, X, y, switched, pair)
        ax.set(title=f"{name}: turns by {rotation(pair):.1f}°", xlabel="x₁")
    panels[0].set(ylabel="x₂")
    panels[1].legend(fontsize=9, loc="upper left")
    for (name, values), colour in zip(angles.items(), (ORANGE, BLUE), strict=True):
        shares = np.arange(values.size + 1) / values.size
        ends = np.append(np.sort(values), max(map(np.max, angles.values())))
        right.step(ends, np.append(shares[1:], 1.0), color=colour, where="post", label=name)
    right.set(xlabel="rotation (degrees)", ylabel="share of draws", ylim=(0, 1.02))
    right.set(title=f"rotation in {turns.size} draws")
    right.legend(loc="lower right")
    path = folder / "figure_1.png"
    figure.savefig(path)
    return path


def _panel(ax: Axes, X: Array, y: Array, switched: Array, pair: tuple[Line, Line]) -> None:
    ends = np.array([X[:, 1].min() - 1, X[:, 1].max() + 1])
    for label, colour, shown in ((1.0, BLUE, "positive"), (-1.0, ORANGE, "negative")):
        ax.plot(*X[switched == label].T, "o", color=colour, alpha=0.7, label=shown)
    ax.plot(*X[switched != y].T, "ks", mfc="none", ms=11, label="switched")
    for (w, b), style, when in zip(pair, ("k--", "k-"), ("before", "after"), strict=True):
        ax.plot(-(b + w[1] * ends) / w[0], ends, style, label=when)
    ax.set(xlim=(-5, 8), ylim=tuple(ends))
