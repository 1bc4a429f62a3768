"""Facts about a risk and its majorants that theorems on convergence need."""

from __future__ import annotations

import numpy as np

from dcprog.engine.theorems import Fact, Hypotheses
from dcprog.foundation.arrays import COPIED, Array
from dcprog.foundation.regularity import UNKNOWN, Regularity
from dcprog.foundation.tolerances import RANK, ROUNDING
from dcprog.penalties import Penalty
from dcprog.penalties.kernel import kernel_norm
from dcprog.risk.risk import Risk

LARGEST = 1000  # columns of a matrix whose eigenvalues are computed, in a second


def hypotheses_of_risk(risk: Risk) -> Hypotheses:
    """The facts that the declaration of a risk shows.

    Parameters
    ----------
    risk : Risk

    Returns
    -------
    Hypotheses
    """
    strong, modulus, whole = _strong(risk)
    return Hypotheses(
        above=Fact(True, "every concave function is replaced by a tangent" + _moving(risk)),
        strong=strong,
        modulus=modulus,
        whole=whole,
        continuous=Fact(True, "F is continuous everywhere, and tangents have finite slopes"),
        polyhedral=_polyhedral(risk),
        smooth=_smooth(risk),
        bounded=_bounded(risk, strong.shown and whole),
        subanalytic=_subanalytic(risk),
    )


def _moving(risk: Risk) -> str:
    """A remark on F where it is not the same function at every step."""
    if risk.transform.rounds:
        return f" (after the first {risk.transform.rounds} tightenings, which set the cap)"
    if _is_steep(risk):
        return " (of F carried on along tangents where a slope at 0 is infinite)"
    return ""


def _is_steep(risk: Risk) -> bool:
    """True if a slope at 0 is infinite."""
    with np.errstate(all="ignore"):
        extended = risk.extended()
    return extended.transform is not risk.transform or extended.penalty is not risk.penalty


# ---- replaced functions --------------------------------------------------------------------------


def _replaced(risk: Risk) -> list[tuple[str, Regularity]]:
    """The functions that tangents replace, with their facts: what is linear is not among them."""
    found: list[tuple[str, Regularity]] = []
    if not risk.transform.is_linear:
        found.append((repr(risk.transform), risk.transform.regularity))
    if risk.subtracted is not None:
        found.append((f"-{risk.subtracted!r}", risk.subtracted.regularity))
    for penalty in risk.penalty.parts().concave:
        found.append((repr(penalty), getattr(penalty, "regularity", UNKNOWN)))
    if not risk.penalty.is_convex and not risk.penalty.parts().concave:
        found.append((repr(risk.penalty), UNKNOWN))
    return found


def _each(risk: Risk, fact: str, yes: str, no: str) -> Fact:
    replaced = _replaced(risk)
    if not replaced:
        return Fact(True, "F is convex and its own majorant")
    without = [name for name, known in replaced if not getattr(known, fact)]
    names = ", ".join(without or [name for name, _ in replaced])
    return Fact(not without, f"{names}: {no if without else yes}")


def _polyhedral(risk: Risk) -> Fact:
    no = "not shown to be piecewise linear"
    return _each(risk, "is_piecewise_linear", "piecewise linear with finitely many pieces", no)


def _smooth(risk: Risk) -> Fact:
    no = "not known to have a finite Lipschitz slope"
    return _each(risk, "is_smooth", "finite Lipschitz slopes, no kink", no)


def _subanalytic(risk: Risk) -> Fact:
    unknown = [name for name, known in _replaced(risk) if not known.is_subanalytic]
    if not risk.base.regularity.is_subanalytic:
        unknown.append(repr(risk.base))
    others = risk.penalty.parts().others
    unknown += [repr(other) for other in others if not isinstance(other, kernel_norm)]
    if unknown:
        return Fact(False, f"{', '.join(unknown)}: not shown to be subanalytic")
    return Fact(True, "losses, transform and penalty are subanalytic over bounded sets")


# ---- curvature and level sets --------------------------------------------------------------------


def _strong(risk: Risk) -> tuple[Fact, float, bool]:
    """The strong convexity of every majorant, its modulus, and whether it is in all of θ."""
    least = _least_curvature(risk)
    if least > 0:
        why = f"the losses' curvature and the ridge add up to {least:.3g} or more in any direction"
        return Fact(True, why), least, True
    ridge = _ridge(risk)
    if not ridge > 0:
        why = "no ridge in the penalty, and no curvature of the losses that every majorant keeps"
        return Fact(False, why), 0.0, False
    whole = bool(np.all(risk.penalized))
    missing = "" if whole else " on the penalised coefficients; the others have none"
    return Fact(True, f"the penalty's curvature {ridge:.3g}{missing}"), ridge, whole


def _ridge(risk: Risk) -> float:
    """The least curvature of the ridge and of norms in kernels."""
    parts = risk.penalty.parts()
    return parts.ridge + sum(_curvature_of(penalty) for penalty in parts.others)


def _curvature_of(penalty: Penalty) -> float:
    """λ times the least eigenvalue of K, for a norm in a kernel."""
    if not isinstance(penalty, kernel_norm) or len(penalty.gram.K) > LARGEST:
        return 0.0
    values = np.linalg.eigvalsh(penalty.gram.K)
    return float(penalty.lam * values[0]) if values[0] > RANK * values[-1] else 0.0


def _least_curvature(risk: Risk) -> float:
    """The least eigenvalue of Σ s_g v_r b_r a_r a_rᵀ + ridge, 0 where it is not computed.

    b_r is the least curvature of the base loss; the losses must stand in every majorant as they
    are.
    """
    pieces, (n, p) = risk.base.pieces, risk.rows.shape
    kept = risk.transform.is_linear and risk.aggregate != "max"
    if not kept or pieces is None or not min(pieces.quadratic) > 0 or n * p > COPIED or p > LARGEST:
        return 0.0
    slope = float(np.min(risk.transform.slope(np.ones(risk.n_groups))))
    weights = 2 * min(pieces.quadratic) * slope * _row_weights(risk)
    rows = np.asarray(risk.rows @ np.eye(p))
    gram = rows.T @ (weights[:, None] * rows)
    gram[np.diag_indices(p)] += risk.penalty.parts().ridge * risk.penalized
    values = np.linalg.eigvalsh(gram)
    return float(values[0] * (1 - ROUNDING)) if values[0] > RANK * values[-1] else 0.0


def _row_weights(risk: Risk) -> Array:
    """s_g v_r for every row."""
    return risk.row_weights(risk.shares)


def _bounded(risk: Risk, curved: bool) -> Fact:
    """The sets F ≤ c are bounded where losses are bounded from below and the penalty grows."""
    if curved and not _replaced(risk):
        return Fact(True, "F is strongly convex")
    if not np.isfinite(_least_loss(risk)):
        return Fact(False, "the losses are not shown to be bounded from below")
    if curved and risk.subtracted is None and risk.transform.is_linear:
        return Fact(True, "the losses are strongly convex, and the penalty is not negative")
    if not _grows(risk):
        return Fact(False, "the penalty is not shown to grow in every direction")
    if not np.all(risk.penalized):
        return Fact(False, "some coefficients (an intercept) are not penalised")
    return Fact(True, "the losses are bounded from below, and the penalty grows in any direction")


def _least_loss(risk: Risk) -> float:
    """A lower bound of a loss."""
    if risk.subtracted is not None:
        return -np.inf if risk.loss is None else risk.loss.lower
    if risk.base.lower >= 0:  # transforms do not fall
        return float(np.min(risk.transform(np.zeros(risk.n_groups))))
    return risk.base.lower if risk.transform.is_linear else -np.inf


def _grows(risk: Risk) -> bool:
    """True if the penalty tends to infinity with the penalised coefficients."""
    parts = risk.penalty.parts()
    lengths = not parts.others and bool(np.size(parts.l1) and np.min(parts.l1) > 0)
    return _ridge(risk) > 0 or lengths  # others are convex, and fall linearly at most
