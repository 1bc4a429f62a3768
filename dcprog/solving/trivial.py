"""Warnings of trivial solutions: points that are critical and say nothing of the data."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.foundation.tolerances import KNOWN_DIGITS
from dcprog.risk.risk import Risk
from dcprog.risk_mm.units import margin_unit, usual_coefficients
from dcprog.rows.scores import Scores

# Coefficients count as 0 below this share of the change that moves the margins by their unit.
NOTHING = 1e-3
# A sample is given up where one per cent more of its loss adds less than FLAT per cent to φ.
FLAT = 1e-2
# A larger share of samples given up is more than outliers.
MANY = 0.25
ADVICE = (
    "try effort='high' or a larger n_starts, another cap or scale of the loss, a smaller penalty"
)


@np.errstate(all="ignore")
def triviality(risk: Risk, x: Array) -> str | None:
    """A message if a solution of a nonconvex risk is trivial, with what to try; else None.

    All coefficients are 0 though residuals are left, all samples are predicted as of one class, or
    more than a quarter of those with a positive weight is given up (beyond what a trimmed loss is
    told to drop).
    """
    if risk.has_convex_losses and risk.penalty.is_convex:
        return None
    risk, found = risk.remembering(), []
    if _is_zero(risk, x) and not _is_exact(risk, x):
        found.append("all coefficients are 0")
    elif _is_of_one_class(risk, x):
        found.append("all samples are predicted as of one class")
    given_up = sum(np.count_nonzero(_given_up(part, x)) for _, part in risk.parts(x))
    share = given_up / max(int(np.count_nonzero(risk.shares)), 1)
    if share - _declared_share(risk) > MANY:
        found.append(f"{share:.0%} of the samples are given up, their losses count no more")
    return f"{' and '.join(found)}: {ADVICE}" if found else None


def _is_zero(risk: Risk, x: Array) -> bool:
    held = risk.penalized
    sizes = np.abs(x[held]) / usual_coefficients(risk)[held]
    return bool(sizes.size > 0 and np.all(sizes <= NOTHING))


def _is_exact(risk: Risk, x: Array) -> bool:
    """True if all residuals are 0: y is a constant, and so are its predictions."""
    if risk.base.is_joint:
        return False
    unit = KNOWN_DIGITS * margin_unit(risk)
    zero, *near = risk.base(np.array([0.0, unit, -unit]))
    return bool(zero == 0 and max(np.max(p.aggregates(x)) for _, p in risk.parts(x)) <= max(near))


def _is_of_one_class(risk: Risk, x: Array) -> bool:
    rows = risk.rows
    if not isinstance(rows, Scores) or rows.signs is None or rows.signs.shape[1] > 1:
        return False
    signs = rows.signs.ravel()
    if not np.ptp(signs) > 0:
        return False
    parts = risk.parts(x)
    total = sum(float(np.sum(np.sign(signs[at] * part.margins(x)))) for at, part in parts)
    return abs(total) == signs.size


def _given_up(risk: Risk, x: Array) -> npt.NDArray[np.bool_]:
    """Mask of the groups of positive weight whose loss is flat, and no less than at score 0.

    A loss that is flat at large margins has not given up those samples: they are right.
    """
    losses = risk.aggregates(x)
    rise = risk.transform(losses) - risk.transform(np.zeros(losses.shape))
    flat = (losses > 0) & (risk.transform.slope(losses) * losses < FLAT * rise)
    if risk.transform.is_joint:
        flat = (losses > 0) & (risk.transform.slope(losses) == 0)
    flat &= risk.shares > 0
    tilts = risk.tilts(x)
    if tilts is None or risk.subtracted is None:
        return flat
    u, zero = risk.margins(x), np.zeros(1)
    pull = np.abs(risk.row_weights(risk.slopes(x)) * risk.base.slope(u))
    level = (pull > 0) & (np.abs(pull - np.abs(tilts)) < FLAT * pull)
    undecided = risk.base(zero) - risk.subtracted(zero)
    level &= risk.base(u) - risk.subtracted(u) >= (1 - KNOWN_DIGITS) * undecided
    return flat | (np.bincount(risk.groups, level) > 0)


def _declared_share(risk: Risk) -> float:
    """The share of samples given up by declaration, by trimming or a cap set by a share."""
    return float(getattr(risk.transform, "fraction", 0.0))
