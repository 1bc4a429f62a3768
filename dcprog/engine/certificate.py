"""Claims about a point that a solve returned, each with its number and its tolerance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dcprog.engine.protocol import Surrogate
from dcprog.engine.stationarity import Stationarity
from dcprog.foundation.arrays import Array

__all__ = [
    "Certificate",
    "Claim",
    "Examination",
    "Examiner",
    "certify",
    "criticality_gap",
]


FEASIBLE = 1e-5  # the largest violation, relative to what a constraint's terms add up to
# A step of length s after which a convex function still falls at the rate s lowers it by s²/2 or
# more: a gap within tol allows a residual of that many roots of tol.
ROOTS = float(np.sqrt(2))


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
    """Numbers that the problem itself gives at a point, whatever a run has said.

    Attributes
    ----------
    gap : float
        Criticality gap; NaN where no solver measures it.
    scale : float
        What the terms of F add up to.
    violation : float
        Relative.
    stationarity : Stationarity
    """

    gap: float
    scale: float
    violation: float
    stationarity: Stationarity


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
        Largest constraint violation, relative to what the constraint's terms add up to.
    residual : Claim or None
        Stationarity residual: a step of that length leads to a point at which the majorant has a
        subgradient of that length, in units of the coordinates and relative to the scale of F.
        None where it is not known: for a penalty of unknown form, under nonconvex equations, and
        where the result has lost its problem.
    slope : Claim or None
        The steepest descent of F found at the point, relative likewise: along minus the shortest
        subgradient of the majorant there, and of those that take the other slopes at ties.
    complete : bool
        Was every choice of slopes at ties looked at?
    bound : object or None
        What :func:`dcprog.lower_bound` says, on request: no point is below ``bound.value``, and
        ``bound.gap`` is how far the value may be from the optimum, as a share of the scale.

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
        return "\n".join(lines if self.bound is None else [*lines, "", str(self.bound)])

    __repr__ = __str__


def criticality_gap(surrogate: Surrogate, x: Array, tolerance: float = 1e-9) -> float:
    """M(x; x) − min M(·; x), measured by one solve.

    Parameters
    ----------
    surrogate : Surrogate
    x : array
    tolerance : float, default 1e-9
        Of the solve.

    Returns
    -------
    float
        At least 0, and 0 exactly where x is critical.

    Raises
    ------
    SubproblemError
        The majorant was not minimised.
    """
    surrogate.begin(x)
    surrogate.tighten(x)
    best = surrogate.minimise(x, tolerance, surrogate.solvers[0])
    return max(0.0, surrogate.value(x) - surrogate.majorant_value(best))


def certify(
    rises: Array,
    gap: float,
    violation: float,
    scale: float,
    tol: float,
    *,
    seen: Stationarity | None = None,
    bound: Any = None,
) -> Certificate:
    """The certificate of a run's rises and of what is known of its last point.

    Parameters
    ----------
    rises : array
    gap : float
    violation : float
        Relative.
    scale : float
        Of the minimised function.
    tol : float
        Relative to it.
    seen : Stationarity, optional
    bound : object, optional
    """
    residual = slope = None
    if seen is not None and not np.isnan(seen.residual):
        least = ROOTS * np.sqrt(tol)
        residual = Claim("residual", seen.residual, least)
        slope = Claim("descent found", max(-seen.slope, 0.0), least)
    return Certificate(
        descent=Claim("largest rise", float(np.max(rises, initial=0.0)), tol * scale),
        gap=Claim("criticality gap", gap, tol * scale),
        violation=Claim("violation", violation, FEASIBLE),
        residual=residual,
        slope=slope,
        complete=seen is not None and seen.complete,
        bound=bound,
    )
