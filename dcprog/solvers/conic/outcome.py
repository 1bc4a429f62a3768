"""Extract the point, the multipliers and the rays from each solver's raw answer.

Multipliers follow the order of the rows and the signs of
:class:`~dcprog.solvers.conic.standard_form.StandardForm`.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from dcprog.foundation.arrays import Array

__all__ = ["KNOWN", "dual_ray", "multipliers", "point", "primal_ray"]

KNOWN = frozenset({"CLARABEL", "ECOS", "HIGHS", "OSQP", "PIQP", "SCIPY", "SCS"})


def point(solver: str, raw: Any) -> Array | None:
    """The unknowns of a raw answer, whatever its status; None if there are none."""
    with suppress(Exception):
        match solver:
            case "CLARABEL" | "OSQP" | "PIQP":
                return _vector(raw.x)
            case "ECOS" | "SCS" | "SCIPY":
                return _vector(raw["x"])
            case "HIGHS":
                return _vector(raw["solution"].col_value)
    return None


def multipliers(solver: str, raw: Any) -> Array | None:
    """The multipliers of all rows in a raw answer; None if there are none."""
    with suppress(Exception):
        match solver:
            case "CLARABEL":
                return _vector(raw.z)
            case "OSQP":
                return _vector(raw.y)
            case "PIQP":
                return _vector(raw.y, raw.z_u if hasattr(raw, "z_u") else raw.z)
            case "ECOS":
                return _vector(raw["y"], raw["z"])
            case "SCS":
                return _vector(raw["y"])
            case "HIGHS":
                return -_vector(raw["solution"].row_dual)
            case "SCIPY":
                return -_vector(raw["eqlin"]["marginals"], raw["ineqlin"]["marginals"])
    return None


def dual_ray(solver: str, raw: Any) -> Array | None:
    """The dual ray of a raw answer, which may prove the program infeasible."""
    with suppress(Exception):
        match solver:
            case "OSQP":
                return _vector(raw.prim_inf_cert)
            case "HIGHS":
                return -_vector(raw["dual_ray"][2])
    return multipliers(solver, raw)


def primal_ray(solver: str, raw: Any) -> Array | None:
    """The primal ray of a raw answer, which may prove the program unbounded."""
    with suppress(Exception):
        if solver == "OSQP":
            return _vector(raw.dual_inf_cert)
    return point(solver, raw)


def _vector(*parts: Any) -> Array:
    vectors = [np.asarray(p, dtype=float).ravel() for p in parts if p is not None]
    return np.concatenate(vectors)
