"""Activate zero coefficients by one-dimensional minimisation of F."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import numpy as np

from dcprog.engine.protocol import Surrogate
from dcprog.foundation.arrays import Array
from dcprog.foundation.tolerances import TOL
from dcprog.risk.risk import Risk
from dcprog.risk_mm.surrogate import RiskSurrogate
from dcprog.risk_mm.units import usual_coefficients
from dcprog.rows.scores import Scores
from dcprog.starts.protocol import Budget, OfRisk

MOST = 10  # coefficients that are moved, one after the other
TRIED = 2  # coefficients that are looked at for each
# Sizes at which a coefficient is tried, in what usually moves the margins by their unit.
SIZES = np.geomspace(1e-3, 3.0, 12)


class Activate(OfRisk):
    """A point with some zeros of x moved to where F is lower.

    Along one coefficient F is minimised as it is, with the penalty's barrier at 0, by trying sizes.
    Majorants, which are tangents of the penalty, never get over it.

    References
    ----------
    Breheny, Huang (2011), Coordinate descent algorithms for nonconvex penalized regression, Ann.
    Appl. Stat. 5, for one-dimensional minimisers as steps.
    """

    is_cheap: ClassVar[bool] = True

    def refusal(self, surrogate: RiskSurrogate) -> str | None:
        """Refuse convex penalties and kernels."""
        risk = surrogate.declared
        samples = isinstance(risk.rows, Scores) and risk.rows.kernel is None
        activates = samples and not risk.penalty.is_convex
        return None if activates else "its penalty is convex, or its rows a kernel's"

    def points(self, surrogate: Surrogate, x: Array, budget: Budget) -> Iterable[Array]:
        """The point, if F is lower there."""
        assert isinstance(surrogate, RiskSurrogate)
        with np.errstate(all="ignore"):
            point = _activated(surrogate.declared, x)
        return [] if point is None else [point]


def _activated(risk: Risk, x: Array) -> Array | None:
    usual = usual_coefficients(risk)
    value, moved = risk(x), None
    for _ in range(MOST):
        step = _lower_along_one(risk, x, value, usual)
        if step is None:
            break
        x, value = step
        moved = x
    return moved


def _lower_along_one(
    risk: Risk, x: Array, value: float, usual: Array
) -> tuple[Array, float] | None:
    """The lowest point along the coefficients at 0 whose slopes are steepest, if it is lower."""
    zeros = np.flatnonzero(risk.penalized & (x == 0))
    gradient = np.asarray(risk.rows.T @ risk.row_slopes(x)).ravel()
    steepness = (np.abs(gradient) * usual)[zeros]
    best, least = None, value - TOL * risk.magnitude(x)
    for j in zeros[np.argsort(-steepness, kind="stable")[:TRIED]]:
        unit = np.zeros(x.size)
        unit[j] = 1.0
        value_at = risk.along(x, unit)
        for size in -np.sign(gradient[j]) * usual[j] * SIZES:
            lower = value_at(size)
            if lower < least:
                best, least = (x + size * unit, lower), lower
    return best
