"""``Bound``: a lower bound, the best point known, and the boxes left to search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import cvxpy as cp
import numpy as np

from dcprog.bounds.boxes import Boxes
from dcprog.factorable.search import GlobalSearch
from dcprog.foundation.arrays import Array

__all__ = ["Bound"]


@dataclass(frozen=True, repr=False, eq=False)
class Bound:
    """Outcome of :func:`dcprog.lower_bound`.

    Attributes
    ----------
    value : float
        The lower bound of F, for a maximisation an upper one. Infinite if no point meets the
        constraints, minus infinite if nothing is known (signs swapped for a maximisation).
    gap : float
        |F(x) − value| over `scale`: a share, without units.
    status : str
        ``proved`` (the gap is as small as was asked for), ``infeasible`` (no point meets the
        constraints), ``time_limit``, ``interrupted``, ``stopped`` (by the callback) or, of a cvxpy
        problem, ``inaccurate`` (SCIP's tree has ended, and its best point violates a constraint by
        more than a millionth of its terms).
    nodes : int
        The number of boxes bounded, or of nodes of SCIP's trees, including the runs that this one
        resumed.
    x : array or None
        The best point known: θ, or the variables' values as one vector.
    variables : mapping of cvxpy Variable to array
        The best point known of a cvxpy problem; empty for a risk.
    objective : float
        F(x).
    scale : float
        The scale of the gap: the sum of the absolute values of F's terms at x, or a minimum that
        keeps it above rounding errors.
    time : float
        Seconds.
    open : Boxes, GlobalSearch or None
        The open boxes, or the search of a cvxpy problem, which is not pickled: for a run that
        resumes this one.
    floor : float
        A lower bound for the boxes that are not open.
    asked : float
        The gap that was asked for.
    box : pair of arrays or None
        The box on which F was bounded; None if everywhere.
    marks : array or None
        Values that identify a risk when its bound is resumed.

    Examples
    --------
    >>> import numpy as np, dcprog as dc
    >>> rows = dc.residual_rows(np.ones((5, 1)), [0.0, 0.1, 0.2, 9.0, 9.5], fit_intercept=False)
    >>> risk = dc.Risk.from_loss(rows, dc.cap(dc.square(), 1.0))
    >>> bound = dc.lower_bound(risk)
    >>> bound.status, bound.value <= bound.objective, bound.x.shape
    ('proved', True, (1,))
    """

    value: float
    gap: float
    status: str
    nodes: int
    x: Array | None
    objective: float
    scale: float
    time: float
    open: Boxes | GlobalSearch | None = None
    floor: float = np.inf
    asked: float = 0.0
    box: tuple[Array, Array] | None = None
    marks: Array | None = None
    variables: Mapping[cp.Variable, Array] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | ({} if isinstance(self.open, Boxes) else {"open": None})

    def __repr__(self) -> str:
        left = len(self.open) if isinstance(self.open, Boxes) else 0
        kind = "nodes" if isinstance(self.open, GlobalSearch) else "boxes"
        return "\n".join(
            [
                f"Bound: {self.status} after {self.nodes} {kind} ({self.time:.2g} s)",
                f"  value      {self.value:.10g}",
                f"  objective  {self.objective:.10g}",
                f"  gap        {self.gap:.3g}",
                *([f"  open boxes {left}"] if left else []),
            ]
        )
