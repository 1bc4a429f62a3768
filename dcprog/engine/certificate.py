"""Claims about a point that a solve returned, each with its number and its tolerance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dcprog.engine.protocol import Surrogate, centre
from dcprog.engine.stationarity import Stationarity
from dcprog.engine.theorems import Check, Theorems
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError, UnfitSolver
from dcprog.foundation.tolerances import KNOWN_DIGITS


@dataclass(frozen=True)
class Claim:
    """A measured number that must not exceed its tolerance.

    Attributes
    ----------
    name : str
    measured, tolerance : float

    Examples
    --------
    >>> from dcprog import Claim
    >>> Claim("gap", measured=1e-9, tolerance=1e-6).holds
    True
    """

    name: str
    measured: float
    tolerance: float

    @property
    def holds(self) -> bool:
        """True if the number is within its tolerance."""
        return bool(self.measured <= self.tolerance)


@dataclass(frozen=True)
class Examination:
    """Numbers computed from the problem at a point, independent of any run.

    Attributes
    ----------
    gap : float
        Criticality gap; NaN where no solver measures it.
    scale : float
        The sum of the absolute values of the terms of F.
    violation : float
        Relative.
    stationarity : Stationarity
    theorems : Theorems or None
        Those on the loop's convergence, for the problem as it is declared.
    """

    gap: float
    scale: float
    violation: float
    stationarity: Stationarity
    theorems: Theorems | None = None


class Examiner(Protocol):
    """A problem that can be asked about a point."""

    @property
    def problem(self) -> Any:
        """The problem as the user passed it."""

    def __call__(self, x: Array, time_limit: float | None = None) -> Examination:
        """The examination of x."""


@dataclass(frozen=True)
class Certificate:
    """The claims of one result.

    Attributes
    ----------
    descent : Claim
        Largest rise of the minimised function over a step of the run.
    gap : Claim
        Criticality gap: majorant at the point minus its minimum. Zero exactly at a critical
        point.
    violation : Claim
        Largest constraint violation, relative to the sum of the constraint's terms.
    residual : Claim or None
        Stationarity error, not a residual of the data: a step of that length leads to a point at
        which the majorant has a subgradient of that length, in units of the coordinates and
        relative to the scale of F. None where it is not known: for a penalty of unknown form, under
        nonconvex equations, and where the result has lost its problem.
    slope : Claim or None
        The steepest descent of F found at the point, relative likewise: along minus the shortest
        subgradient of the majorant there, and of those that take the other slopes at ties.
    complete : bool
        True if every choice of slopes at ties was looked at.
    bound : object or None
        The answer of :func:`dcprog.lower_bound`, on request: no point is below ``bound.value``, and
        ``bound.gap`` bounds the distance of the value from the optimum, as a share of the scale.
    theorems : tuple of Check
        The theorems of :func:`dcprog.which_theorem` that hold for the problem, against the run.
        They do not count in ``holds``.

    Examples
    --------
    >>> import cvxpy as cp, dcprog as dc
    >>> x = cp.Variable(nonneg=True)
    >>> result = dc.solve(cp.Problem(cp.Minimize(cp.square(x - 2) + cp.sqrt(x))))
    >>> certificate = result.certificate()
    >>> all(claim.holds for claim in certificate.claims)
    True
    """

    descent: Claim
    gap: Claim
    violation: Claim
    residual: Claim | None = None
    slope: Claim | None = None
    complete: bool = False
    bound: Any = None
    theorems: tuple[Check, ...] = ()

    @property
    def claims(self) -> tuple[Claim, ...]:
        """All claims."""
        claims = (self.descent, self.gap, self.violation, self.residual, self.slope)
        return tuple(claim for claim in claims if claim is not None)

    @property
    def d_stationary(self) -> bool | None:
        """True if the majorant of every choice at ties is minimised at x: no direction leads down.

        False where one was found that does (see ``slope``), None where not every choice was
        looked at, or the point is not known to be critical.
        """
        if self.slope is None or self.residual is None:
            return None
        if not self.slope.holds:
            return False
        return True if self.complete and self.residual.holds else None

    @property
    def holds(self) -> bool:
        """True if all claims hold."""
        return all(claim.holds for claim in self.claims)

    def __str__(self) -> str:
        lines = [f"{'claim':<20}{'measured':>12}{'tolerance':>12}  holds"]
        for claim in self.claims:
            answer = "yes" if claim.holds else "no"
            lines.append(
                f"{claim.name:<20}{claim.measured:>12.3g}{claim.tolerance:>12.3g}  {answer}"
            )
        lines += ["", *map(str, self.theorems)] if self.theorems else []
        return "\n".join(lines if self.bound is None else [*lines, "", str(self.bound)])

    __repr__ = __str__


def criticality_gap(surrogate: Surrogate, x: Array, time_limit: float | None = None) -> float:
    """M(x; x) − min M(·; x), measured by one solve; afterwards the majorant is centred at x.

    Parameters
    ----------
    surrogate : Surrogate
    x : array
    time_limit : float, optional
        Seconds for each solver.

    Returns
    -------
    float
        At least 0, and 0 exactly where x is critical. NaN where no solver tells, or where F has a
        price of violations, which only a run finds.
    """
    centre(surrogate, x)
    if surrogate.domain.mode == "penalty":
        return np.nan
    for solver in surrogate.solvers:
        try:
            best = surrogate.minimise(x, KNOWN_DIGITS, solver, time_limit)
        except (SubproblemError, UnfitSolver):
            continue
        return max(0.0, surrogate.value(x) - surrogate.majorant_value(best))
    return np.nan
