"""A tolerance and a time limit as the options of each solver."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["options"]

MOST_STEPS = 500  # most steps of an interior point method
# Most steps of SCS. Ten times as many rarely help, so they are allowed only for tight tolerances.
FIRST_ORDER_STEPS, PATIENT_STEPS = 20_000, 200_000
LOOSE = 1e-7


def options(
    solver: str, tolerance: float, time_limit: float | None, pace: float | None
) -> dict[str, Any]:
    """The options of a solver for a tolerance and a time limit.

    Parameters
    ----------
    solver : str
    tolerance : float
        The relative and the absolute tolerance.
    time_limit : float, optional
        Seconds. PIQP and ECOS have no time limit; their number of steps is limited instead.
    pace : float, optional
        Seconds per step in the last call.
    """
    tol = max(tolerance, 1e-12)
    seconds = {} if time_limit is None else {"time_limit": max(time_limit, 1e-3)}
    steps = MOST_STEPS
    if time_limit is not None and pace:
        steps = int(np.clip(time_limit / pace, 1, MOST_STEPS))
    match solver:
        case "CLARABEL":
            return {"tol_gap_abs": tol, "tol_gap_rel": tol, "tol_feas": tol, **seconds}
        case "PIQP":
            return {
                "eps_abs": tol,
                "eps_rel": tol,
                "eps_duality_gap_abs": tol,
                "eps_duality_gap_rel": tol,
                "max_iter": steps,
            }
        case "OSQP":
            # without this option only the first of a series of solves is polished
            return {
                "eps_abs": tol,
                "eps_rel": tol,
                "max_iter": 200_000,
                "polishing": True,
                **seconds,
            }
        case "ECOS":
            return {"abstol": tol, "reltol": tol, "feastol": tol, "max_iters": steps}
        case "HIGHS":
            feasibility = float(np.clip(tol, 1e-10, 1e-7))
            return {
                "primal_feasibility_tolerance": feasibility,
                "dual_feasibility_tolerance": feasibility,
                "qp_iteration_limit": 20_000,  # its active set method may cycle
                **seconds,
            }
        case "SCS":
            limit = {} if time_limit is None else {"time_limit_secs": max(time_limit, 1e-3)}
            most = FIRST_ORDER_STEPS if tol > LOOSE else PATIENT_STEPS
            return {"eps_abs": tol, "eps_rel": tol, "max_iters": most, **limit}
        case "SCIPY" if seconds:
            return {"scipy_options": seconds}
        case _:
            return {}
