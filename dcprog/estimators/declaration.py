"""A declared risk with its data, its outlier weights, and a choice of free intercepts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcprog.estimators.kernels import Kernel
from dcprog.estimators.residual_unit import ONE, Unit
from dcprog.estimators.samples import Samples
from dcprog.foundation.arrays import EDGE, Array
from dcprog.losses import Loss
from dcprog.penalties import Penalty
from dcprog.risk.risk import Risk
from dcprog.rows.scores import Scores

__all__ = ["Declaration", "nearest", "outlier_weights", "risk_of", "weights_of_samples"]

FLAT = 1e-13


@dataclass(frozen=True)
class Declaration:
    """A risk and the data that map its θ to fitted attributes.

    Attributes
    ----------
    loss : Loss
    risk : Risk
    kernel : Kernel or None
    samples : Samples
        The samples of the risk.
    unit : Unit
        The unit of its targets.
    """

    loss: Loss
    risk: Risk
    kernel: Kernel | None
    samples: Samples
    unit: Unit = ONE

    def point(self, theta: Array) -> tuple[str, Array, Array]:
        """The coefficients' attribute, its value (c, d) or (c, n), and the intercepts (c,) at θ."""
        rows = self.risk.rows
        coef, intercept = rows.unpack(theta)
        size = self.unit.size
        intercept = size * intercept + self.unit.middle
        if self.kernel is None:
            return "coef_", size * coef, intercept
        assert self.samples.place is not None
        dual = np.zeros((len(coef), len(self.samples.place)))
        dual[:, self.samples.first] = size * rows.dual_coef(theta)
        return "dual_coef_", dual, intercept

    def theta(self, coef: Array, intercept: Array) -> Array | None:
        """The inverse of :meth:`point`; None if the coefficients' shape does not fit the data."""
        rows = self.risk.rows
        place = self.samples.place
        size = rows.X.shape[1] if self.kernel is None or place is None else len(place)
        if coef.shape != (rows.n_scores, size):
            return None
        coef, intercept = coef / self.unit.size, self.unit.of(intercept)
        if self.kernel is not None:
            coef = rows.coordinates(coef[:, self.samples.first])
        return rows.pack(coef, intercept)


def risk_of(
    rows: Scores,
    loss: Loss,
    penalty: Penalty,
    weights: Array | None,
    penalized: Array | None = None,
    aggregate: str | None = None,
) -> Risk:
    """The risk Σ_i s_i Σ_k loss(u_ik) + penalty, with a weight s_i for each sample.

    With an aggregate of a sample's base losses the loss part is Σ_i s_i φ(agg_k base(u_ik)). A
    trimmed loss drops whole samples, by their sums over k. If it dropped single rows, then with
    many classes one against the rest it would drop every positive row.
    """
    if loss.is_joint and rows.X.shape[0] < rows.shape[0]:
        aggregate = aggregate or "sum"
    if aggregate is not None:
        return Risk(
            rows,
            loss.base,
            aggregate=aggregate,
            transform=loss.transform,
            penalty=penalty,
            penalized=penalized,
            sample_weight=weights,
            subtracted=loss.subtracted,
        )
    weights = None if weights is None else rows.spread(weights)
    return Risk.from_loss(rows, loss, penalty, weights, penalized=penalized)


def outlier_weights(declared: Declaration, theta: Array) -> Array:
    """The outlier weight of each training sample; see :func:`weights_of_samples`."""
    weight = weights_of_samples(declared.risk, theta)
    return declared.samples.spread(weight)


def weights_of_samples(risk: Risk, theta: Array) -> Array:
    """The slope of the loss over that of its base for each sample of a risk, of shape (n,).

    It is the least over a sample's rows, relative to the transform's steepest slope if that is
    finite.
    """
    risk = risk.remembering()
    largest = max(_largest(part.aggregates(theta)) for _, part in risk.parts(theta))
    transform = risk.extended(EDGE * (largest or 1.0)).transform
    weight = np.empty(risk.rows.shape[0])
    for rows, part in risk.parts(theta):
        u = part.margins(theta)
        weight[rows] = part.of_rows(transform.slope(part.aggregates(theta)))
        if risk.subtracted is not None:
            slope, tilt = risk.base.slope(u), -risk.subtracted.slope(u)
            moves = slope != 0
            weight[rows] += np.where(moves, tilt / np.where(moves, slope, 1.0), 0.0)
    full = risk.transform.steepest
    weight /= full if np.isfinite(full) and full > 0 else 1.0
    return np.asarray(weight.reshape(risk.rows.X.shape[0], -1).min(axis=1))


def _largest(losses: Array) -> float:
    return float(np.max(losses, where=np.isfinite(losses), initial=0.0))


def nearest(risk: Risk, x: Array, start: Array) -> Array:
    """Move the free intercepts of x towards the start's as far as the risk does not rise.

    If the loss has given up all samples that determine an intercept, an interior point solver may
    return an intercept of millions. The distance is halved while the risk stays the same.
    """
    base = np.where(risk.penalized, x, start)
    far = x - base
    value = risk(x)
    limit = value + FLAT * risk.magnitude(x)
    if not np.any(far) or risk(base + far / 2) > limit:
        return x
    if risk(base) <= limit:
        return base
    while np.any(far) and risk(base + far / 2) <= limit:
        far = far / 2
    return base + far
