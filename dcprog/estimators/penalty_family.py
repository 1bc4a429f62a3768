"""A family of risks that differ in one parameter λ of the penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from dcprog.estimators.named_parts import loss_of, penalty_of
from dcprog.foundation.arrays import Array
from dcprog.losses import Loss, square
from dcprog.penalties import Penalty, l1
from dcprog.risk.risk import Risk
from dcprog.risk_mm.usual_sizes import starts_finite
from dcprog.rows.linear import residual_rows

__all__ = ["USUAL", "Kinks", "PenaltyFamily"]

USUAL = ("lam", "l1")  # names of a penalty's weight


@dataclass(frozen=True)
class Kinks:
    """The slopes of a penalty at 0, in the coefficients or in the norms of groups.

    Attributes
    ----------
    slopes : array
        One slope per coefficient, or per group if there are groups.
    groups : list of int arrays or None
        The coefficients of each group.
    """

    slopes: Array
    groups: list[npt.NDArray[np.intp]] | None


@dataclass(frozen=True)
class PenaltyFamily:
    """A risk whose penalty has a parameter λ.

    Attributes
    ----------
    risk : Risk
        The risk at any one value of λ.
    parameter : str
        The name of λ, as for ``set_params``.
    """

    risk: Risk
    parameter: str

    @classmethod
    def of(
        cls,
        X: Any,
        y: npt.ArrayLike | None,
        loss: Loss | str | None,
        penalty: Penalty | str | None,
        fit_intercept: bool,
        sample_weight: npt.ArrayLike | None,
        parameter: str | None,
    ) -> PenaltyFamily:
        """The family of a risk, or of a risk on the residuals of X and y."""
        if hasattr(X, "spec"):
            raise TypeError(f"X={X!r}: pass the risk that it minimises, estimator.spec(X, y)")
        if isinstance(X, Risk):
            if y is not None or loss is not None or sample_weight is not None:
                raise ValueError("a Risk has its own y, loss and sample_weight: pass none")
            risk = X if penalty is None else X.with_penalty(penalty_of(penalty))
        else:
            if y is None:
                raise ValueError("y is missing; without it pass a Risk")
            rows = residual_rows(X, y, fit_intercept)
            loss = square() if loss is None else loss_of(loss)
            penalty = l1() if penalty is None else penalty_of(penalty)
            risk = Risk.from_loss(rows, loss, penalty, sample_weight)
        return cls(risk, _parameter(risk) if parameter is None else _checked(risk, parameter))

    def at(self, value: float) -> Risk:
        """The risk at the given value of λ."""
        penalty = clone(self.risk.penalty).set_params(**{self.parameter: value})
        return self.risk.with_penalty(penalty)

    def kinks(self, value: float) -> Kinks:
        """The slopes of the penalty at 0 for a value of λ; they may be infinite.

        Raises
        ------
        ValueError
            The slopes at 0 are not known, or there are kinks of both coefficients and groups.
        """
        risk = self.at(value)
        size = int(risk.penalized.sum())
        parts = risk.penalty.parts()
        if parts.others or len(parts.groups) > 1:
            raise ValueError(f"penalty={risk.penalty!r}: its slopes at 0 are not known")
        slopes = np.zeros(size) + parts.l1
        if not risk.penalty.is_convex:
            steep = risk.penalty.weights(np.zeros(size))
            slopes = slopes + (steep if starts_finite(risk) else np.where(steep > 0, np.inf, 0.0))
        if not parts.groups:
            return Kinks(slopes, None)
        if np.any(slopes):
            raise ValueError(f"penalty={risk.penalty!r} has kinks of coefficients and of groups")
        members = parts.groups[0].members(size)
        return Kinks(np.full(len(members), float(parts.groups[0].lam)), members)


def _checked(risk: Risk, parameter: str) -> str:
    known = risk.penalty.get_params(deep=True)
    if parameter not in known:
        raise ValueError(f"parameter={parameter!r}: {risk.penalty!r} has {', '.join(known)}")
    return parameter


def _parameter(risk: Risk) -> str:
    """The name of the weight of the penalty's first part with a kink at 0."""
    names = [n for n in risk.penalty.get_params(deep=True) if n.split("__")[-1] in USUAL]
    for name in sorted(names, key=lambda n: n.count("__")):
        family = PenaltyFamily(risk, name)
        if np.any(family.kinks(1.0).slopes > family.kinks(0.0).slopes):
            return name
    raise ValueError(
        f"penalty={risk.penalty!r} has no kink at 0, or no parameter lam: name the parameter, and "
        "the values for a path"
    )
