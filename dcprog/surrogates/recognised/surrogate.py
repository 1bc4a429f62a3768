"""The surrogate of a cvxpy problem that is a risk."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dcprog.engine.racing import Draft
from dcprog.foundation.arrays import Array
from dcprog.surrogates.recognised.recognise import Recognised
from dcprog.surrogates.risk import RiskSurrogate

__all__ = ["RecognisedSurrogate"]


class RecognisedSurrogate(RiskSurrogate):
    """Majorant of a risk and a constant, which are a problem's objective in the user's sign.

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
        self.sign = found.sign
        self._constant = found.constant

    def value(self, x: Array) -> float:
        """F(x), with the constant."""
        return super().value(x) + self._constant

    def majorant_value(self, x: Array) -> float:
        """M(x; centre), with the constant."""
        return super().majorant_value(x) + self._constant

    def bound(self) -> float:
        """A lower bound of min M(·; centre), with the constant."""
        return super().bound() + self._constant

    def objective(self, x: Array) -> float:
        """The user's objective, in the user's sign; the variables hold the point, for callbacks."""
        self.points.load(x)
        return self.sign * (super().objective(x) + self._constant)

    def drafts(
        self,
        near: list[Array],
        effort: str,
        rng: np.random.Generator,
        time_limit: float | None = None,
    ) -> list[Draft]:
        """Points to run from, their values with the constant."""
        found = super().drafts(near, effort, rng, time_limit)
        return [replace(draft, value=draft.value + self._constant) for draft in found]
