"""Figure 2 of the rescaled hinge SVM paper: three of the positive samples have the other label.

The remotest three turn the plain SVM's line away from Bayes'; three at random hardly do.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from examples.common.claims import Claim, Difference, greater
from examples.common.plots import BLUE, GREEN, ORANGE, RED
from examples.common.tables import spread
from examples.rescaled_hinge.machines import fit
from examples.rescaled_hinge.published import ANGLES

Array = np.ndarray
SPREAD = np.array([[0.13, 0.06], [0.06, 0.26]])
NORMAL = np.linalg.solve(SPREAD, [2.0, 0.0])  # of Bayes' line
FLIPS = {True: "the three remotest flipped", False: "three at random flipped"}
MACHINES = {  # at C = 1
    "SVM": "SVM",
    "rescaled": "η = 2",
    "rescaled, centre": "η = 2, centre",
    "WSVM 17": "WSVM 17",
    "WSVM 18": "WSVM 18",
    "WSVM 19": "WSVM 19",
    "ramp": "ramp",
    "C-loss": "C-loss",
}


def toy(seed: int, far: bool, n: int = 60) -> tuple[Array, Array]:
    """A Gaussian pair in which three positive samples have the other label."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) < n // 2, 1.0, -1.0)
    X = rng.multivariate_normal([0, 0], SPREAD, n) + np.outer(y, [1, 0])
    chosen = np.argsort(-X[: n // 2, 1])[:3] if far else rng.choice(n // 2, 3, replace=False)
    y[chosen] = -1
    return X, y


def line(machine: str, X: Array, y: Array) -> tuple[Array, float]:
    """Normal and offset of a machine's line."""
    fitted = fit(MACHINES[machine], "linear", X, y, 1.0)
    return fitted.a, fitted.b


def angle(w: Array) -> float:
    """To the normal of Bayes' line, in degrees."""
    cosine = w @ NORMAL / np.linalg.norm(w) / np.linalg.norm(NORMAL)
    return float(np.degrees(np.arccos(np.clip(cosine, -1, 1))))


def angles(draws: int, far: bool) -> dict[str, Array]:
    """Each machine's angle in every draw."""
    samples = [toy(seed, far) for seed in range(draws)]
    return {
        machine: np.array([angle(line(machine, X, y)[0]) for X, y in samples])
        for machine in MACHINES
    }


def angle_table(found: dict[bool, dict[str, Array]]) -> None:
    """Beside what an earlier recomputation gave; the paper prints no angle."""
    print(f"\n{'figure 2: angle to Bayes in degrees':<38}{'remote flips':<26}random flips")
    print(f"{'':<38}{'ours':<16}{'earlier':<10}{'ours':<16}earlier")
    for machine in MACHINES:
        earlier = ANGLES.get(machine, ("–", "–"))
        cells = "".join(
            f"{spread(found[far][machine]):<16}{text:<10}"
            for far, text in zip((True, False), earlier, strict=True)
        )
        print(f"{machine:<38}{cells}".rstrip())


def angle_claim(found: dict[str, Array], far: bool) -> Claim:
    """The rescaled hinge is nearer to Bayes than each machine of the paper's figure."""
    others = [name for name in ANGLES if name != "rescaled"]
    rival = min(others, key=lambda name: float(found[name].mean()))
    text = f"figure 2, {FLIPS[far]}: rescaled is nearest to Bayes"
    nearer = mean_of(found[rival] - found["rescaled"])
    way = "nearer to" if nearer.mean > 0 else "farther from"
    shown = f"{abs(nearer.mean):.2f} ± {nearer.error:.2f}° {way} Bayes' line than {rival}"
    measured = f"{shown}, the best of the others"
    return replace(greater(text, nearer, 0, far), measured=measured)


def mean_of(values: Array) -> Difference:
    """The mean over draws."""
    return Difference(float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size)))


def start_claim(found: dict[str, Array], far: bool) -> Claim:
    """Weights by class centre as start (section 4.3) bring the line nearer to Bayes'."""
    text = f"figure 2, {FLIPS[far]}: nearer to Bayes from class-centre weights"
    nearer = mean_of(found["rescaled"] - found["rescaled, centre"])
    claim = greater(text, nearer, 0, measured=f"{nearer}°")
    return replace(claim, expected=None if claim.holds is None else True)


def draw_toy(path: Path) -> None:
    """Figure 2: the lines with remote and with random mislabelled samples."""
    figure = Figure(figsize=(10, 5), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    looks = {"SVM": (RED, "--"), "rescaled": (GREEN, "-"), "WSVM 19": ("k", ":")}
    ends = np.array([-1.7, 1.7])
    for ax, far in zip(axes, FLIPS, strict=True):
        X, y = toy(0, far)
        for label, colour in ((1.0, BLUE), (-1.0, ORANGE)):
            ax.plot(
                *X[y == label].T,
                "o",
                color=colour,
                alpha=0.6,
                label=f"label {label:+.0f}".replace("-", "−"),
            )
        ax.plot(*X[:30][y[:30] < 0].T, "ks", mfc="none", ms=11, label="flipped")
        for machine, (colour, style) in looks.items():
            w, b = line(machine, X, y)
            ax.plot(-(b + w[1] * ends) / w[0], ends, style, color=colour, label=machine)
        ax.plot(-NORMAL[1] * ends / NORMAL[0], ends, "-", color="0.6", label="Bayes")
        ax.set(xlim=(-2.2, 2.2), ylim=tuple(ends), xlabel="$x_1$", title=FLIPS[far])
    axes[0].set_ylabel("$x_2$")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=7)
    figure.savefig(path)
