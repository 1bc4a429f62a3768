"""The surrogate of a cvxpy problem that is a risk."""

from __future__ import annotations

from dataclasses import replace

from dcprog.foundation.arrays import Array
from dcprog.reductions.recognised.recognise import Recognised
from dcprog.risk_mm.surrogate import RiskSurrogate

__all__ = ["RecognisedSurrogate"]


class RecognisedSurrogate(RiskSurrogate):
    """Majorant of a risk that is, up to a constant and the sign, a problem's objective.

    F is the risk; the objective that the user is told adds the constant and the sign.

    Parameters
    ----------
    found : Recognised

    Attributes
    ----------
    points : Points
        Of the problem's variables.
    """

    def __init__(self, found: Recognised) -> None:
        super().__init__(found.risk)
        self.points = found.points
        self.facts = replace(self.facts, sign=found.sign, constant=found.constant)

    def objective(self, x: Array) -> float:
        """The user's objective, in the user's sign; the variables hold the point, for callbacks."""
        self.points.load(x)
        return self.facts.sign * (super().objective(x) + self.facts.constant)
