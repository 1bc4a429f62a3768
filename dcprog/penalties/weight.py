"""The weight λ of a penalty: one of its parameters, or a factor of the whole."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from dcprog.penalties.penalty import Penalty

NAMES = ("lam", "l1")  # parameters that are weights, before the factor of a multiple
FACTOR = "factor"


@dataclass(frozen=True)
class PenaltyWeight:
    """A family of penalties, one for each value of a weight λ.

    Attributes
    ----------
    penalty : Penalty
        Any member of the family.
    name : str or None
        The parameter λ, as for ``set_params``; None if λ is a factor of `penalty`.

    Examples
    --------
    >>> from dcprog.penalties import l1, l2, mcp
    >>> from dcprog.penalties.weight import PenaltyWeight
    >>> PenaltyWeight.of(l2(0.1) + mcp(1.0)).at(5.0)
    penalty_sum(first=l2(lam=0.1), second=mcp(lam=5.0))
    """

    penalty: Penalty
    name: str | None

    @classmethod
    def of(cls, penalty: Penalty, name: str | None = None) -> PenaltyWeight:
        """The family by the parameter of the given name, or by the penalty's usual weight.

        The usual weight is the first of ``lam``, ``l1``, and the factor of a multiple that
        determines the slope at 0, with those of the penalty itself before those of its parts. If
        none does, it is a factor of the whole for a penalty with a kink at 0, and otherwise the
        first of these names.

        Raises
        ------
        ValueError
            The penalty has no parameter of this name.
        """
        known = penalty.get_params(deep=True)
        if name is not None:
            if name not in known:
                raise ValueError(f"parameter={name!r}: {penalty!r} has {', '.join(known)}")
            return cls(penalty, name)
        usual = [key for key in known if _last(key) in (*NAMES, FACTOR)]
        families = [cls(penalty, key) for key in sorted(usual, key=_rank)]
        steeper = (f for f in families if _steepness(f.at(2.0)) > _steepness(f.at(1.0)))
        whole = cls(penalty, None)
        if _steepness(penalty) > 0 or not families:
            return next(steeper, whole)
        return next(steeper, families[0])

    def at(self, value: float) -> Penalty:
        """The penalty whose weight is the given value."""
        if self.name is None:
            return self.penalty.in_units(1.0, value)
        found: Penalty = deepcopy(self.penalty).set_params(**{self.name: value})
        return found


def _last(key: str) -> str:
    return key.split("__")[-1]


def _rank(key: str) -> tuple[bool, int]:
    """Factors after other weights, those of parts after those of the penalty itself."""
    return _last(key) == FACTOR, key.count("__")


def _steepness(penalty: Penalty) -> float:
    """The sum of the known slopes at 0 of the parts; of a slope that is infinite, that near 0."""
    parts = penalty.parts()
    steep = float(np.max(parts.l1)) + sum(float(group.lam) for group in parts.groups)
    return steep + sum(float(np.max(part.weights(np.zeros(1)))) for part in parts.concave)
