"""Sequential quadratic programs on a box, for functions that take many points at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize

from tests.fuzz.landscape import Array

__all__ = ["descended"]

DIFFERENCE = 1e-6  # of the box, for slopes
OPTIONS: dict[str, Any] = {"jac": True, "method": "SLSQP"}


def descended(
    rows: Callable[[Array], tuple[Array, Array]],
    sizes: Array,
    equal: Any,
    lo: Array,
    hi: Array,
    start: Array,
    margin: float = 0.0,
    steps: int = 50,
) -> Array:
    """Where a search for min F(x), g(x) ≤ −margin or = 0 where `equal`, lo ≤ x ≤ hi, ends.

    `rows` gives F and g at many points, `sizes` is what F and each of g is divided by. Coordinates
    with lo = hi stay where they are at the start, which may be elsewhere.
    """
    free = np.flatnonzero(hi > lo)
    if not free.size:
        return start
    width = (hi - lo)[free]
    seen: list[Any] = [None, None]

    def point(z: Array) -> Array:
        x = start.copy()
        x[free] = np.minimum(lo[free] + width * np.clip(z, 0, 1), hi[free])
        return x

    def levels(z: Array) -> tuple[Array, Array]:
        """F and g at z, and their slopes."""
        if seen[0] is None or not np.array_equal(z, seen[0]):
            ahead = np.where(z > 0.5, -DIFFERENCE, DIFFERENCE)
            values, found = rows(np.array([point(z), *(point(z + d) for d in np.diag(ahead))]))
            found = np.nan_to_num(np.concatenate([values[:, None], found], axis=1) / sizes)
            seen[:] = z.copy(), (found[0], (found[1:] - found[0]) / ahead[:, None])
        known: tuple[Array, Array] = seen[1]
        return known

    def objective(z: Array) -> Any:
        return levels(z)[0][0], levels(z)[1][:, 0].copy()  # scipy writes into it

    def constraint(kind: str, places: Any, room: float) -> dict[str, Any]:
        return {
            "type": kind,
            "fun": lambda z: -levels(z)[0][places] - room,
            "jac": lambda z: -levels(z)[1][:, places].T,
        }

    inequalities, equations = 1 + np.flatnonzero(~equal), 1 + np.flatnonzero(equal)
    kinds: Any = [constraint("ineq", inequalities, margin)] if inequalities.size else []
    kinds += [constraint("eq", equations, 0.0)] if equations.size else []
    answer: Any = minimize(
        objective,
        (start[free] - lo[free]) / width,
        bounds=[(0, 1)] * free.size,
        constraints=kinds,
        options={"maxiter": steps, "ftol": 1e-12},
        **OPTIONS,
    )
    return point(answer.x) if np.all(np.isfinite(answer.x)) else start
