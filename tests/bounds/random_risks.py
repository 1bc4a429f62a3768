"""Risks of every kind the library has, and of a user's own parts, on random data and boxes."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import numpy.typing as npt

import dcprog as dc
from dcprog.foundation.arrays import dense
from dcprog.losses import convex_sum, squared
from dcprog.losses.loss import stretched

__all__ = [
    "AGGREGATES",
    "BASES",
    "PENALTIES",
    "SUBTRACTED",
    "TRANSFORMS",
    "exponential",
    "kinked",
    "points",
    "random_boxes",
    "random_risk",
    "tilted",
]

Array = npt.NDArray[np.float64]
NOTHING = "nothing"


class exponential(dc.ConvexLoss):
    """e^{−u}, a user's own: it overflows far out, and has no pieces."""

    is_smooth = True

    def __call__(self, u: npt.ArrayLike) -> Array:
        with np.errstate(over="ignore"):
            return np.exp(-np.asarray(u, dtype=float))

    def slope(self, u: npt.ArrayLike) -> Array:
        return -self(u)

    def curvature(self, u: npt.ArrayLike) -> Array:
        return self(u)


class kinked(dc.ConvexLoss):
    """max(u, −u/3) + √(1 + u²) − 1, a user's own: neither smooth nor of pieces."""

    def __call__(self, u: npt.ArrayLike) -> Array:
        u = np.asarray(u, dtype=float)
        return np.maximum(u, -u / 3) + u * (u / (1 + np.hypot(1, u)))

    def slope(self, u: npt.ArrayLike) -> Array:
        u = np.asarray(u, dtype=float)
        kink = np.where(u > 0, 1.0, np.where(u < 0, -1 / 3, 0.0))
        return kink + u / np.hypot(1, u)


class largest(dc.Penalty):
    """max |w_j|, a user's own."""

    def __call__(self, w: Array) -> float:
        return float(np.max(np.abs(w), initial=0.0))

    def slope(self, w: Array) -> Array:
        first = np.cumsum(np.abs(w) == self(w)) == 1
        return np.sign(w) * (first & (np.abs(w) == self(w)))

    def expression(self, w: cp.Expression) -> cp.Expression:
        return cp.norm_inf(w)


class tilted(dc.Penalty):
    """Σ w + ½‖w‖², a user's own: it is negative somewhere, and least away from 0."""

    def __call__(self, w: Array) -> float:
        return float(np.sum(w) + 0.5 * w @ w)

    def slope(self, w: Array) -> Array:
        return 1.0 + w

    def expression(self, w: cp.Expression) -> cp.Expression:
        return cp.sum(w) + 0.5 * cp.sum_squares(w)


BASES: dict[str, dc.ConvexLoss] = {
    "hinge": dc.hinge(),
    "hinge at 0": dc.hinge(0.0),
    "squared hinge": dc.squared_hinge(),
    "logistic": dc.logistic(),
    "sigmoid hinge": dc.sigmoid_hinge(5.0),
    "Padé hinge": dc.pade_hinge(3.0),
    "absolute": dc.absolute(),
    "absolute at 1": dc.absolute(1.0),
    "square": dc.square(),
    "Huber": dc.huber(0.7),
    "pinball": dc.pinball(0.3),
    "ε-insensitive": dc.epsilon_insensitive(0.5),
    "sum": convex_sum((dc.absolute(), dc.square(1.0)), (1.0, 0.3)),
    "sum of lines": convex_sum((dc.hinge(), dc.absolute(-1.0)), (2.0, 0.5)),
    "squared sigmoid": squared(dc.sigmoid_hinge(2.0)),
    "stretched": stretched(dc.hinge(), 3.0),
    "a user's smooth one": exponential(),
    "a user's kinked one": kinked(),
}
TRANSFORMS: dict[str, dc.Transform | None] = {
    "identity": None,
    "cap": dc.cap_at(0.8),
    "cap at 0": dc.cap_at(0.0),
    "cap of a root": dc.cap_at(1.0, dc.power_of(0.5)),
    "root": dc.power_of(0.5),
    "shifted root": dc.power_of(0.3, 0.01),
    "logarithm": dc.log_of(0.5),
    "rescaled": dc.rescale_by(2.0),
    "Huber's": dc.huberize_by(1.0),
    "Andrews'": dc.andrews_by(0.5),
    "Tukey's": dc.tukey_by(1.5),
    "Welsch's": dc.welsch_by(0.7),
    "log ratio": dc.log_ratio_by(2.0),
    "rational": dc.rational_by(0.5, 0.1),
    "erf": dc.erf_by(1.0, 0.01),
    "trimmed": dc.trim_of(0.3),
    "a user's own": dc.concave(lambda t: t / (1 + t), lambda t: 1 / (1 + t) ** 2),
    "a user's kinked one": dc.concave(
        lambda t: np.minimum(t, 0.5 + 0.25 * t), lambda t: np.where(3 * t <= 2, 1.0, 0.25)
    ),
}
SUBTRACTED: dict[str, dc.ConvexLoss | None] = {
    NOTHING: None,
    "hinge": dc.hinge(-0.5),
    "ε-insensitive": dc.epsilon_insensitive(1.0),
    "Huber": dc.huber(2.0),
    "half a hinge": convex_sum((dc.hinge(),), (0.5,)),
}
PENALTIES: dict[str, dc.Penalty] = {
    "none": dc.l2(0.0),
    "l1": dc.l1(0.4),
    "l2": dc.l2(0.4),
    "tiny l2": dc.l2(1e-14),
    "elastic net": dc.elastic_net(0.4, 0.1),
    "capped l1": dc.capped_l1(0.4, 0.5),
    "scad": dc.scad(0.4),
    "mcp in units": (2.0 * dc.mcp(0.3)).in_units(3.0),
    "log-sum": dc.log_sum(0.4, 0.2),
    "root": dc.lp(0.4, 0.5) + dc.l2(0.1),
    "a user's": largest() + dc.l1(0.1),
    "a user's tilt": tilted(),
}
AGGREGATES = (None, "sum", "max")


def random_risk(
    rng: np.random.Generator,
    base: str = "hinge",
    transform: str = "identity",
    subtracted: str = NOTHING,
    penalty: str = "l2",
    aggregate: str | None = None,
) -> dc.Risk:
    """The parts of these names on a few random rows, whose origin may lie far from 0."""
    m, p = int(rng.integers(1, 9)), int(rng.integers(1, 4))
    rows = 10.0 ** rng.integers(-2, 3) * rng.normal(size=(m, p)) * (rng.random((m, p)) < 0.8)
    far = rng.choice([0.0, 0.0, 1e7]) * rng.normal(size=p)
    weights = rng.uniform(0, 2, m) * (rng.random(m) < 0.9)
    sample_weight, groups = None, np.arange(m)
    if aggregate is not None:
        groups = np.unique(rng.integers(0, 1 + m // 2, m), return_inverse=True)[1]
    if transform != "trimmed" and rng.random() < 0.5:
        size = groups.max() + 1
        sample_weight = rng.uniform(0, 2, size) * (rng.random(size) < 0.9)
    return dc.Risk(
        rows,
        BASES[base],
        weights=weights if rng.random() < 0.5 else None,
        groups=groups,
        aggregate=aggregate,
        transform=TRANSFORMS[transform],
        penalty=PENALTIES[penalty],
        penalized=rng.random(p) < 0.7,
        sample_weight=sample_weight,
        subtracted=SUBTRACTED[subtracted],
        offset=rng.choice([0.0, 1.0, 100.0]) * rng.normal(size=m) + rows @ far,
    )


def random_boxes(rng: np.random.Generator, risk: dc.Risk, n: int) -> tuple[Array, Array]:
    """Boxes of many sizes, around a fit or not: flat, huge, at 0, with an edge at a row's kink."""
    matrix = dense(risk.matrix())
    m, p = matrix.shape
    offset = np.zeros(m) if risk.offset is None else risk.offset
    fit = np.linalg.lstsq(matrix, -offset, rcond=None)[0]
    middle = 10.0 ** rng.uniform(-3, 3, (n, 1)) * rng.normal(size=(n, p))
    middle = np.where(rng.random((n, 1)) < 0.5, middle, fit)
    sides = 10.0 ** rng.choice([-12, -6, -3, -1, 0, 0, 1, 3, 6, 12], (n, 1)) * rng.random((n, p))
    sides *= rng.random((n, p)) < 0.9
    lo = np.where(rng.random((n, p)) < 0.15, 0.0, middle - sides)
    hi = np.maximum(middle + sides, lo)
    knots = () if risk.base.pieces is None else risk.base.pieces.knots
    for k in range(n):
        i, j = int(rng.integers(m)), int(rng.integers(p))
        if knots and matrix[i, j] != 0 and rng.random() < 0.4:
            rest = matrix[i] @ lo[k] - matrix[i, j] * lo[k, j] + offset[i]
            lo[k, j] = (rng.choice(knots) - rest) / matrix[i, j]
            hi[k, j] = max(hi[k, j], lo[k, j])
    return lo, hi


def points(rng: np.random.Generator, lo: Array, hi: Array, n: int) -> Array:
    """Points of a box: two corners, what of it is nearest to 0, and others, some near an edge."""
    share = rng.random((n, lo.size)) ** rng.choice([1.0, 8.0], (n, 1))
    share = np.where(rng.random((n, lo.size)) < 0.2, np.round(share), share)
    share[: n // 2] = 1 - share[: n // 2]
    found = lo + share * (hi - lo)
    found[:3] = np.clip(0.0, lo, hi), lo, hi
    return np.clip(found, lo, hi)
