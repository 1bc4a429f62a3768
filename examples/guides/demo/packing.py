"""Circle packing: ten equal circles, as large as the unit square lets them be.

Written in cvxpy as it stands in a textbook, ‖cᵢ − cⱼ‖ ≥ 2r, and solved with one call. Beside it
SciPy's SLSQP from one random start, as a nonlinear solver is called. The best radius known is
Schlüter's (1979), proved optimal by de Groot, Peikert and Würtz (1990).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from scipy.optimize import minimize

import dcprog as dc
from examples.common.plots import BLACK, BLUE, ORANGE
from examples.common.tables import spread

Array = np.ndarray

CIRCLES = 10
BEST_KNOWN = 0.148204322565229
FIRST, SECOND = np.triu_indices(CIRCLES, 1)


def ours(seed: int) -> tuple[float, Array]:
    """Radius and centres."""
    centres, radius = cp.Variable((CIRCLES, 2)), cp.Variable()
    apart = cp.norm(centres[FIRST] - centres[SECOND], axis=1) >= 2 * radius
    problem = cp.Problem(cp.Maximize(radius), [apart, centres >= radius, centres <= 1 - radius])
    result = dc.solve(problem, random_state=seed)
    return result.value, result.variables[centres]


def slsqp(seed: int) -> float:
    """The radius at which SciPy's sequential quadratic programming ends, from a random start."""

    def apart(x: Array) -> Array:
        centres = x[:-1].reshape(CIRCLES, 2)
        return np.sum((centres[FIRST] - centres[SECOND]) ** 2, axis=1) - 4 * x[-1] ** 2

    def inside(x: Array) -> Array:
        return np.concatenate([x[:-1] - x[-1], 1 - x[-1] - x[:-1]])

    start = np.append(np.random.default_rng(seed).random(2 * CIRCLES), 0.1)
    constraints = [{"type": "ineq", "fun": rule} for rule in (apart, inside)]
    minimise: Any = minimize  # whose annotations know no list of constraints
    found = minimise(lambda x: -x[-1], start, method="SLSQP", constraints=constraints)
    return float(found.x[-1])


@dataclass(frozen=True)
class Packing:
    """Radii over the best known, one a seed, and a packing."""

    ours: Array
    slsqp: Array
    radius: float
    centres: Array

    def lines(self) -> list[str]:
        """Mean, standard error and worst."""
        return [f"  {'':<26}{'mean':>13}{'worst':>12}"] + [
            f"  {name:<26}{spread(100 * share):>13} %{100 * share.min():>9.1f} %"
            for name, share in (("SLSQP, a random start", self.slsqp), ("dcprog", self.ours))
        ]


def measure(seeds: int) -> Packing:
    """Both, a seed each; the packing is the first seed's."""
    found = [ours(seed) for seed in range(seeds)]
    radii = np.array([radius for radius, _ in found])
    others = np.array([slsqp(seed) for seed in range(seeds)])
    return Packing(radii / BEST_KNOWN, others / BEST_KNOWN, *found[0])


def draw(ax: Any, measured: Packing) -> None:
    """The circles in their square, and the radii beside."""
    from matplotlib.patches import Circle, Rectangle

    for centre in measured.centres:
        ax.add_patch(Circle(tuple(centre), measured.radius, fc=BLUE, alpha=0.45, ec=BLUE))
    ax.add_patch(Rectangle((0, 0), 1, 1, fill=False, ec=BLACK))
    ax.set(xlim=(-0.35, 1.35), ylim=(-0.22, 1.02), aspect="equal")
    ax.axis("off")
    ax.set_title("Ten circles, ‖cᵢ − cⱼ‖ ≥ 2r, as large as can be")
    for y, share, name, colour in (
        (-0.07, measured.slsqp, "SLSQP, a random start", ORANGE),
        (-0.16, measured.ours, "dcprog", BLUE),
    ):
        text = f"{name}: {share.mean():.2%} of the best known radius, at worst {share.min():.2%}"
        ax.text(0.5, y, text, ha="center", va="center", color=colour)
