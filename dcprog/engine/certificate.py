"""What can be said of a point a solve returned: each claim with its number and its tolerance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcprog.engine.protocol import Surrogate
from dcprog.foundation.arrays import Array

__all__ = ["Certificate", "Claim", "certify", "criticality_gap"]


FEASIBLE = 1e-5  # the largest violation, relative to what a constraint's terms add up to


@dataclass(frozen=True)
class Claim:
    """A measured number that must not exceed its tolerance.

    Attributes
    ----------
    name : str
    measured, tolerance : float
    """

    name: str
    measured: float
    tolerance: float

    @property
    def holds(self) -> bool:
        """Is the number within its tolerance?"""
        return bool(self.measured <= self.tolerance)


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
    """

    descent: Claim
    gap: Claim
    violation: Claim

    @property
    def claims(self) -> tuple[Claim, ...]:
        """All claims."""
        return (self.descent, self.gap, self.violation)

    @property
    def holds(self) -> bool:
        """Do all claims hold?"""
        return all(claim.holds for claim in self.claims)

    def __str__(self) -> str:
        lines = [f"{'claim':<20}{'measured':>12}{'tolerance':>12}  holds"]
        for claim in self.claims:
            answer = "yes" if claim.holds else "no"
            lines.append(
                f"{claim.name:<20}{claim.measured:>12.3g}{claim.tolerance:>12.3g}  {answer}"
            )
        return "\n".join(lines)

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


def certify(rises: Array, gap: float, violation: float, tolerance: float) -> Certificate:
    """The certificate of a run's rises and of its last point's gap and relative violation."""
    return Certificate(
        descent=Claim("largest rise", float(np.max(rises, initial=0.0)), tolerance),
        gap=Claim("criticality gap", gap, tolerance),
        violation=Claim("violation", violation, FEASIBLE),
    )
