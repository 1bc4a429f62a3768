"""A declared risk, and what its solution says of the samples and intercepts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcprog.estimators.kernels import Kernel
from dcprog.estimators.samples import Samples
from dcprog.foundation.arrays import EDGE, Array
from dcprog.losses import Loss
from dcprog.penalties import Penalty
from dcprog.risk.risk import Risk
from dcprog.rows.scores import Scores

__all__ = ["Declaration", "nearest", "outlier_weights", "risk_of"]

FLAT = 1e-13


@dataclass(frozen=True)
class Declaration:
    """A risk and what leads from its θ to fitted attributes.

    Attributes
    ----------
    loss : Loss
    risk : Risk
    kernel : Kernel or None
    samples : Samples
        What the risk is made of.
    """

    loss: Loss
    risk: Risk
    kernel: Kernel | None
    samples: Samples

    def point(self, theta: Array) -> tuple[str, Array, Array]:
        """Name, coefficients (c, d) or those of the kernel (c, n), and intercepts (c,) at θ."""
        rows = self.risk.rows
        coef, intercept = rows.unpack(theta)
        if self.kernel is None:
            return "coef_", coef, intercept
        assert self.samples.place is not None
        dual = np.zeros((len(coef), len(self.samples.place)))
        dual[:, self.samples.first] = rows.dual_coef(theta)
        return "dual_coef_", dual, intercept

    def theta(self, coef: Array, intercept: Array) -> Array | None:
        """The θ of what :meth:`point` returns, None if the shapes are those of other data."""
        rows = self.risk.rows
        place = self.samples.place
        size = rows.X.shape[1] if self.kernel is None or place is None else len(place)
        if coef.shape != (rows.n_scores, size):
            return None
        if self.kernel is not None:
            coef = rows.coordinates(coef[:, self.samples.first])
        return rows.pack(coef, intercept)


def risk_of(
    rows: Scores,
    loss: Loss,
    penalty: Penalty,
    weights: Array | None,
    penalized: Array | None = None,
) -> Risk:
    """Σ_i s_i Σ_k loss(u_ik) + penalty with a weight s_i a sample.

    A trimmed loss drops samples: it compares their sums over k. Row by row it would drop, of many
    classes one against the rest, every positive row.
    """
    if loss.is_joint and rows.X.shape[0] < rows.shape[0]:
        return Risk(
            rows,
            loss.base,
            aggregate="sum",
            transform=loss.transform,
            penalty=penalty,
            penalized=penalized,
            sample_weight=weights,
            subtracted=loss.subtracted,
        )
    weights = None if weights is None else rows.spread(weights)
    return Risk.from_loss(rows, loss, penalty, weights, penalized=penalized)


def outlier_weights(declared: Declaration, theta: Array) -> Array:
    """Slope of the loss over that of its base, sample by sample; the least over a sample's rows."""
    risk = declared.risk.remembering()
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
    least = weight.reshape(risk.rows.X.shape[0], -1).min(axis=1)
    return declared.samples.spread(least)


def _largest(losses: Array) -> float:
    return float(np.max(losses, where=np.isfinite(losses), initial=0.0))


def nearest(risk: Risk, x: Array, start: Array) -> Array:
    """Of the free intercepts that are as good as those of θ = x, about the nearest to the start's.

    Where all samples that would hold an intercept are given up, an interior point solver carries
    it off to millions.
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
