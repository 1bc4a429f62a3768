"""The surrogate of a cvxpy problem that is a risk."""

from __future__ import annotations

from dcprog.foundation.arrays import Array
from dcprog.reductions.recognised.recognise import Recognised
from dcprog.risk_mm.surrogate import RiskSurrogate

__all__ = ["RecognisedSurrogate"]


class RecognisedSurrogate(RiskSurrogate):
    """Majorant of a risk that is, up to a constant and the sign, a problem's objective.

    F is the risk, as everywhere below; what is told of to the user has the constant.

    Parameters
    ----------
    found : Recognised

    Attributes
    ----------
    points : Points
        Of the problem's variables.
    constant : float
        The user's objective without its sign is F plus this constant.
    """

    def __init__(self, found: Recognised) -> None:
        super().__init__(found.risk)
        self.points = found.points
        self.sign = found.sign
        self.constant = found.constant

    def objective(self, x: Array) -> float:
        """The user's objective, in the user's sign; the variables hold the point, for callbacks."""
        self.points.load(x)
        return self.sign * (super().objective(x) + self.constant)
