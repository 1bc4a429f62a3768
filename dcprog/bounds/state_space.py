"""A capped risk as a function of its samples' states: kept, given up, or not decided."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from dcprog.bounds.boxed_risk import BoxedRisk
from dcprog.bounds.minorant import Minorant, View, bounded, lines_of_shares, row_weights
from dcprog.bounds.risk_space import RiskSpace
from dcprog.bounds.search import Boxes, Found, Incumbent
from dcprog.foundation.arrays import Array
from dcprog.foundation.tolerances import KNOWN_DIGITS, ROUNDING, TIGHT, TO_BOUNDARY
from dcprog.risk.risk import Risk
from dcprog.transforms import Transform, cap_at
from dcprog.transforms.transform import chain_of

# Steps of the interior point method, at most; a poorer solution gives a poorer bound.
HINGE_STEPS = 25
# Share of the diagonal added to it, so that a singular system has a solution.
REGULAR = 1e-13


def hinge_sums(
    rows: Array, shift: Array, weights: Array, tilt: Array, ridge: Array, lo: Array, hi: Array
) -> tuple[Array, Array]:
    r"""Minimise Σ_i weight_i (row_i·θ + shift_i)₊ + tilt·θ + ½ Σ ridge_j θ_j² on each box.

    Mehrotra's interior point method, with one p × p system per step and box.

    Parameters
    ----------
    rows : array of shape (m, p)
    shift : array of shape (m,)
    weights : array of shape (boxes, m)
        At least 0.
    tilt, lo, hi : arrays of shape (boxes, p)
    ridge : array of shape (p,)

    Returns
    -------
    theta : array of shape (boxes, p)
    shares : array of shape (boxes, m)
        The multiplier of each hinge over its weight, between 0 and 1: (r)₊ ≥ share·r.

    References
    ----------
    Mehrotra (1992), On the implementation of a primal-dual interior point method, SIAM J. Optim. 2.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.bounds.state_space import hinge_sums
    >>> one = np.ones((1, 1))
    >>> theta, shares = hinge_sums(-one, one[0], one, 0 * one, one[0], -3 * one, 3 * one)
    >>> theta.round(3), shares.round(3)  # (1 − θ)₊ + ½θ²
    (array([[1.]]), array([[1.]]))
    """
    middle, reach = 0.5 * (lo + hi), 0.5 * (hi - lo)
    A = rows * reach[:, None, :]
    d = middle @ rows.T + shift
    size = np.abs(A).sum(axis=2) + np.abs(d)
    size = np.where(size > 0, size, 1.0)
    A, d = A / size[:, :, None], d / size
    slope = (tilt + ridge * middle) * reach
    curve = ridge * reach**2
    heavy = weights * size
    unit = np.maximum(heavy.max(axis=1, initial=0.0), np.abs(slope).max(axis=1, initial=0.0))
    unit = np.maximum(unit, curve.max(axis=1, initial=0.0))[:, None]
    unit = np.where(unit > 0, unit, 1.0)
    w = np.maximum(heavy / unit, ROUNDING)  # shares of hinges without weight are defined, too
    ξ, shares = _solved(A, d, w, slope / unit, curve / unit)
    return np.clip(middle + reach * ξ, lo, hi), shares


def _solved(A: Array, d: Array, w: Array, slope: Array, curve: Array) -> tuple[Array, Array]:
    """The minimiser over |ξ| ≤ 1 and the shares, for data scaled to about 1."""
    boxes, _, p = A.shape
    ξ = np.zeros((boxes, p))
    e = np.maximum(d, 0.0) + 0.5
    state = [ξ, e, e - d, 0.5 * w, 0.5 * w, *(np.full((boxes, p), 0.5) for _ in range(2))]
    live = np.arange(boxes)
    for _ in range(HINGE_STEPS):
        now = [part[live] for part in state]
        found, mu = _step(A[live], d[live], w[live], slope[live], curve[live], now)
        fine = np.all([np.all(np.isfinite(part), axis=1) for part in found], axis=0)
        live = live[fine]
        for part, new in zip(state, found, strict=True):
            part[live] = new[fine]
        live = live[mu[fine] > TIGHT]
        if not live.size:
            break
    return state[0], np.clip(state[3] / w, 0.0, 1.0)


def _step(
    A: Array, d: Array, w: Array, slope: Array, curve: Array, state: list[Array]
) -> tuple[list[Array], Array]:
    """Predictor and corrector: hinges e = s + Aξ + d with multipliers α of s and β of e."""
    ξ, e, s, α, β, low, high = state
    up, down = 1 + ξ, 1 - ξ
    missed = e - s - np.einsum("bmp,bp->bm", A, ξ) - d
    dual = curve * ξ + slope + np.einsum("bmp,bm->bp", A, α) - low + high
    D = 1 / (s / α + e / β)
    H = np.swapaxes(A * D[:, :, None], 1, 2) @ A
    diagonal = np.arange(ξ.shape[1])
    H[:, diagonal, diagonal] += curve + low / up + high / down
    H[:, diagonal, diagonal] *= 1 + REGULAR
    inverse = np.linalg.inv(H)
    pairs = _pairs(state)

    def direction(products: list[Array]) -> list[Array]:
        pa, pb, pl, ph = products
        inner = D * (pa / α - pb / β - missed)
        right = -dual - np.einsum("bmp,bm->bp", A, inner) + pl / up - ph / down
        dξ = np.einsum("bpr,br->bp", inverse, right)
        dα = D * np.einsum("bmp,bp->bm", A, dξ) + inner
        de = (pb + e * dα) / β
        ds = de - np.einsum("bmp,bp->bm", A, dξ) + missed
        return [dξ, de, ds, dα, -dα, (pl - low * dξ) / up, (ph + high * dξ) / down]

    def lengths(step: list[Array]) -> tuple[Array, Array]:
        dξ, de, ds, dα, dβ, dl, dh = step
        primal = np.minimum.reduce([_room(e, de), _room(s, ds), _room(up, dξ), _room(down, -dξ)])
        duals = np.minimum.reduce([_room(α, dα), _room(β, dβ), _room(low, dl), _room(high, dh)])
        return primal, duals

    with np.errstate(all="ignore"):
        count = 2 * (d.shape[1] + ξ.shape[1])
        mu = sum((x * y).sum(axis=1, keepdims=True) for x, y in pairs) / count
        first = direction([-x * y for x, y in pairs])
        a, b = lengths(first)
        dξ, de, ds, dα, dβ, dl, dh = first
        moves = [(dα, ds), (dβ, de), (dl, dξ), (dh, -dξ)]
        after = sum(
            ((x + b * dx) * (y + a * dy)).sum(axis=1, keepdims=True)
            for (x, y), (dx, dy) in zip(pairs, moves, strict=True)
        )
        aim = (after / count / mu) ** 3 * mu
        second = direction(
            [aim - x * y - dx * dy for (x, y), (dx, dy) in zip(pairs, moves, strict=True)]
        )
        a, b = (TO_BOUNDARY * length for length in lengths(second))
        sides = [a, a, a, b, b, b, b]
        moved = [x + t * dx for x, t, dx in zip(state, sides, second, strict=True)]
        done = sum((x * y).sum(axis=1) for x, y in _pairs(moved)) / count
    return moved, done


def _pairs(state: list[Array]) -> list[tuple[Array, Array]]:
    ξ, e, s, α, β, low, high = state
    return [(α, s), (β, e), (low, 1 + ξ), (high, 1 - ξ)]


def _room(x: Array, dx: Array) -> Array:
    """The length of the step dx, at most 1, at which an entry of x becomes 0."""
    ratio = np.where(dx < 0, -x / dx, np.inf)
    return np.minimum(ratio.min(axis=1, keepdims=True, initial=1.0), 1.0)


# ----------------------------------------------------------------------------------------------
# the space


Flags = npt.NDArray[np.bool_]

# Factor of θ's effects, so that θ is cut only if no sample is left to decide.
LAST = 1e-6
# With fewer entries of θ only boxes of θ are searched, with more only the samples' states.
FEW_ENTRIES, MANY_ENTRIES = 5, 12


def risk_spaces(risk: Risk, box: tuple[Array, Array] | None = None) -> list[RiskSpace]:
    """The spaces to search: boxes of θ with few entries, samples' states with many, or both.

    Parameters
    ----------
    risk : Risk
    box : pair of arrays, optional
        Only points inside are searched.

    Returns
    -------
    list of RiskSpace

    Raises
    ------
    NotBoundable
        A part of the risk has no minorant.
    """
    space = RiskSpace(risk, box)
    p = space.parts.size
    if p < FEW_ENTRIES or not StateSpace.takes(space.parts):
        return [space]
    states = StateSpace(risk, box)
    return [states, space] if p <= MANY_ENTRIES else [states]


def _corner(transform: Transform) -> tuple[float, Array] | None:
    """The (a, c) with φ(t) = min(at, c); None for any other φ."""
    if isinstance(transform, cap_at) and transform.inner is None:
        return 1.0, np.asarray(transform.c, dtype=float)
    if isinstance(transform, chain_of) and transform.outer.is_linear:
        inner = _corner(transform.inner)
        a = float(transform.outer.steepest)
        return None if inner is None else (a * inner[0], a * inner[1])
    return None


class StateSpace(RiskSpace):
    """A risk with one coordinate per sample after θ: 0 if it is kept, 1 if it is given up.

    A sample with the loss min(at, c) costs at if it is kept and c if it is given up; an undecided
    sample is bounded by the chord. Of a trimmed sum k samples are given up and cost nothing.
    Halving a sample's interval [0, 1] decides it. The space suits few samples in many coefficients.

    References
    ----------
    Agulló (2001), New algorithms for computing the least trimmed squares regression estimator,
    Comput. Statist. Data Anal. 36.

    Parameters
    ----------
    risk : Risk
    box : pair of arrays, optional
        Only points inside are searched.
    """

    def __init__(self, risk: Risk, box: tuple[Array, Array] | None = None) -> None:
        super().__init__(risk, box)
        transform = self.parts.transform
        found = _corner(transform)
        self.rate: float = float(transform.steepest) if found is None else found[0]
        self.cap: Array = np.asarray(np.inf) if found is None else found[1]

    @staticmethod
    def takes(parts: BoxedRisk) -> bool:
        """True for a capped or trimmed smooth loss, and for a capped piecewise linear one.

        Nothing may be subtracted, no maximum taken, and the penalty must be separable.
        """
        pieces = parts.base.pieces
        straight = pieces is not None and not any(pieces.quadratic)
        smooth = parts.base.is_smooth
        if parts.subtracted is not None or parts.aggregate == "max" or parts.penalty.rest:
            return False
        if parts.dropped:
            return smooth and parts.transform.is_linear
        return (smooth or straight) and _corner(parts.transform) is not None

    @property
    def entries(self) -> int:
        """The number of coordinates of a box: those of θ, and one per sample."""
        return self.parts.size + self.parts.n_groups

    def root(self, best: Incumbent) -> Boxes:
        """The root box of θ, with all samples undecided."""
        first = super().root(best)
        free = np.ones((1, self.parts.n_groups))
        return Boxes(
            np.hstack([first.lo, 0 * free]),
            np.hstack([first.hi, free]),
            first.lower,
            np.hstack([first.z, 0.5 * free]),
            np.hstack([LAST * first.effect, free]),
        )

    def improved(self, z: Array, seconds: float) -> Incumbent:
        """The incumbent at θ, or a better one that the outer loop finds in so many seconds."""
        return super().improved(z[: self.parts.size], seconds)

    def value(self, z: Array) -> float:
        """The risk at the θ of z."""
        return super().value(z[: self.parts.size])

    def region(self, x: Array) -> tuple[Array, Array]:
        """Bounds of θ and of its samples' states: [0, 1] where both states cost the same."""
        low, high = super().region(x)
        kept, given = (side[0] for side in self._states(self._inward(x)[None]))
        return np.append(low, np.where(kept, 0.0, 1.0)), np.append(high, given)

    def _states(self, z: Array) -> tuple[Flags, Flags]:
        """Masks of the samples that may be kept, and given up, without changing the risk at z."""
        cost = self.rate * self._losses(z)
        if not self.parts.dropped:
            slack = KNOWN_DIGITS * (np.abs(cost) + self.cap)
            return cost <= self.cap + slack, cost >= self.cap - slack
        ranked = np.sort(cost, axis=1)
        place = self.parts.n_groups - self.parts.dropped
        most, least = ranked[:, place - 1 : place], ranked[:, place : place + 1]
        slack = KNOWN_DIGITS * (np.abs(most) + np.abs(least))
        return cost <= most + slack, cost >= least - slack

    def _losses(self, z: Array) -> Array:
        """The losses of the samples at the points z, one point per line."""
        parts = self.parts
        return parts.combined(parts.weights * parts.base(parts.margins(z)))

    def bound(self, boxes: Boxes, target: float) -> Found:
        """Bounds by a convex problem: losses of kept samples, chords of undecided ones."""
        p = self.parts.size
        given, kept = boxes.lo[:, p:] > 0, boxes.hi[:, p:] < 1
        minorant = Minorant.on(self.parts, boxes.lo[:, :p], boxes.hi[:, :p])
        excess = np.zeros(len(boxes))
        if self.parts.dropped:
            given, kept, excess = self._counted(given, kept)
            minorant.states = kept, given
        else:
            self._set_chords(minorant, given, kept)
        if self.parts.base.is_smooth:
            found = bounded(minorant, boxes.z[:, :p], target)
        else:
            found = self._exactly(minorant)
        decide = self._gains(minorant, found.z) * ~(given | kept)
        return Found(
            found.lower + excess,
            np.hstack([found.z, np.full(given.shape, 0.5)]),
            self._trimmed(found.z) if self.parts.dropped else found.value,
            np.hstack([LAST * found.effect, decide]),
        )

    def _set_chords(self, minorant: Minorant, given: Flags, kept: Flags) -> None:
        """Replace the chord by at for a sample that is kept, by c for one given up."""
        chords = minorant.chords
        level = np.where(kept, self.rate * chords.low, chords.at_low)
        slope = np.where(kept, self.rate, np.where(given, 0.0, chords.slope))
        level = np.where(given, self.cap, level)
        minorant.chords = replace(chords, at_low=level, slope=slope)
        minorant.sizes = minorant.chords.sizes() @ self.parts.sample_weight

    def _counted(self, given: Flags, kept: Flags) -> tuple[Flags, Flags, Array]:
        """States that follow from the number of trimmed samples; ∞ if too many have one state."""
        k, n = self.parts.dropped, self.parts.n_groups
        gone, stay = given.sum(axis=1), kept.sum(axis=1)
        excess = np.where((gone > k) | (stay > n - k), np.inf, 0.0)
        full, rest = (gone == k)[:, None], (stay == n - k)[:, None]
        return given | (rest & ~kept), kept | (full & ~given), excess

    def _gains(self, minorant: Minorant, z: Array) -> Array:
        """An estimate of how far a decision on each sample raises the bound at z."""
        parts, chords = self.parts, minorant.chords
        losses = self._losses(z)
        if parts.dropped:
            return self.rate * losses * parts.sample_weight
        line = chords.at_low + chords.slope * (losses - chords.low)
        gains = np.maximum(self.rate * losses - line, 0.0) * np.maximum(self.cap - line, 0.0)
        undecided = chords.low * self.rate < self.cap
        return np.where(undecided, np.sqrt(gains) * parts.sample_weight, 0.0)

    def _trimmed(self, z: Array) -> Array:
        """The trimmed risk at the points z, one point per line."""
        parts = self.parts
        kept = np.sort(self.rate * self._losses(z), axis=1)[:, : parts.n_groups - parts.dropped]
        return kept.sum(axis=1) * parts.sample_weight[0] + parts.penalty.value(z)

    def _exactly(self, minorant: Minorant) -> Found:
        """Bounds for piecewise linear losses, by the multipliers of an interior point method."""
        risk, chords, penalty = self.parts, minorant.chords, minorant.penalty
        pieces = risk.base.pieces
        assert pieces is not None
        rows = row_weights(risk, chords.slope * risk.sample_weight, minorant.low)
        turns = np.diff(pieces.linear)
        corners = 2 * np.eye(risk.size)[risk.penalty.held]  # 2(w)₊ − w = |w|
        held = penalty.weight[:, risk.penalty.held]
        matrix = np.vstack([*([risk.matrix] * turns.size), corners])
        shift = np.concatenate(
            [*(risk.offset - knot for knot in pieces.knots), np.zeros(len(corners))]
        )
        weights = np.hstack([*(turn * rows for turn in turns), held])
        tilt = (
            pieces.linear[0] * rows @ risk.matrix
            + risk.linear
            - np.where(risk.penalty.held, penalty.weight, 0.0)
        )
        z, shares = hinge_sums(matrix, shift, weights, tilt, penalty.q, minorant.lo, minorant.hi)
        own = np.split(shares[:, : turns.size * rows.shape[1]], turns.size, axis=1)
        view = self._seen(minorant, z, own)
        value, effect = minorant.truth(view)
        return Found(view.lower, z, value, effect)

    def _seen(self, minorant: Minorant, z: Array, shares: list[Array]) -> View:
        pieces = self.parts.base.pieces
        assert pieces is not None
        u = self.parts.margins(z)
        base = self.parts.base(u)
        slope, value = lines_of_shares(pieces, u, shares)
        return minorant.seen(z, u, base, (slope, value, np.zeros(slope.shape)))
