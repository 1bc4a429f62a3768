"""Risks whose losses are maxima of affine functions of a sample's scores, and their solvers."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.foundation.sums import mean_sizes
from dcprog.foundation.tolerances import LAST_PLACES, RADIUS, USUAL
from dcprog.losses import Pieces
from dcprog.risk.duality import largest_units
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.solvers.linalg.kronecker import Curvature
from dcprog.solvers.protocol import ExactSolver, Solution

Index = npt.NDArray[np.intp]

MOST_DIRECTIONS = 100  # with more, rows share too little for the sums to be worth it
DIGITS = 9  # digits by which directions are grouped before the exact comparison


class LocalLines(Protocol):
    """The lines of G local functions with P pieces each, as functions of scores (n, c)."""

    def values(self, scores: Array) -> Array:
        """The values code_gp · f_{i(g)}, of shape (G, P)."""

    def adjoint(self, duals: Array) -> Array:
        """The sums Σ duals_gp code_gp over the lines of each sample, of shape (n, c)."""

    def curvature(self, W: Array) -> Curvature:
        """The sums Σ_gp W_gp δ_gp δ_gpᵀ of each sample, δ deviations from g's weighted mean."""


def row_sums(values: Array) -> Array:
    """The row sums of an array (G, P), by a product, as NumPy sums short rows slowly."""
    return values @ np.ones(values.shape[1])


class _AnyLines:
    """Lines whose codes have no common directions."""

    def __init__(self, code: Array, sample: Index, n: int) -> None:
        self.code, self.sample, self.n = code, sample, n

    def values(self, scores: Array) -> Array:
        values: Array = np.einsum("gpc,gc->gp", self.code, scores[self.sample])
        return values

    def adjoint(self, duals: Array) -> Array:
        return self._gather(np.einsum("gp,gpc->gc", duals, self.code))

    def curvature(self, W: Array) -> Curvature:
        mean = np.einsum("gp,gpc->gc", W, self.code) / row_sums(W)[:, None]
        deviation = self.code - mean[:, None]
        return Curvature(self._gather(np.einsum("gp,gpa,gpb->gab", W, deviation, deviation)))

    def _gather(self, values: Array) -> Array:
        if np.array_equal(self.sample, np.arange(self.n)):
            return values
        flat = values.reshape(len(values), -1)
        sums: list[Array] = [
            np.bincount(self.sample, column, self.n).astype(float) for column in flat.T
        ]
        return np.stack(sums, axis=1).reshape(self.n, *values.shape[1:])


class _RatedLines:
    """Lines with codes rate_gp·v_k, where each local function has one of few vectors v_k.

    The scores v_k · f_i are computed once per sample and vector; all else is scalar arithmetic.
    """

    def __init__(self, vectors: Array, places: Index, rate: Array, n: int) -> None:
        self.vectors, self.places, self.rate, self.n = vectors, places, rate, n

    def values(self, scores: Array) -> Array:
        along = (scores @ self.vectors.T).ravel()
        return self.rate * along[self.places, None]

    def adjoint(self, duals: Array) -> Array:
        return self._gather(row_sums(duals * self.rate)) @ self.vectors

    def curvature(self, W: Array) -> Curvature:
        total = row_sums(W)
        mean = row_sums(W * self.rate) / total
        spread = row_sums(W * (self.rate - mean[:, None]) ** 2)
        return Curvature.of(self._gather(spread), self.vectors)

    def _gather(self, values: Array) -> Array:
        k = len(self.vectors)
        return np.bincount(self.places, values, self.n * k).astype(float).reshape(self.n, k)


class Polyhedral:
    r"""The losses Σ_g cost_g max_p (code_gp · f_{i(g)} + const_gp), with the scores f_i = B x̃_i.

    A local function g is a row (or, with the aggregate ``"max"``, a sample); its P lines are the
    pieces of the base. B has the shape (c, d̃), and x̃ ends with a constant if there are intercepts.
    The rows code_gp ⊗ x̃ are never formed. Columns of x̃ of an unusual size are divided by a power of
    two, so that a residual of rounding errors is small for each of them, and the entries of B are
    the coefficients of these columns.

    Parameters
    ----------
    risk : Risk
        A piecewise linear base, alone or with the maximum over a sample's rows.

    Attributes
    ----------
    X : array or sparse matrix of shape (n, d̃)
    code : array of shape (G, P, c)
    const : array of shape (G, P)
    sample : int array of shape (G,)
        The sample i(g) of each local function.
    rate : array of shape (G, P)
        The slope of each line in the margin of its row.
    directions : tuple of arrays (K, c), (G,), (G, P), or None
        The vectors v, k(g) and r_gp if code_gp = r_gp v_k(g) with few vectors v.
    units : array of shape (p,)
        Typical sizes of the coefficients.
    order : int array of shape (p,)
        The indices in θ of the entries of B.
    column : array of shape (p,)
        The divisor of the column of each entry of B.
    """

    directions: tuple[Array, Index, Array] | None

    def __init__(self, risk: Risk) -> None:
        self.risk = risk
        scores, pieces = risk.scores, risk.base.pieces
        assert pieces is not None
        mixing = scores.mixing()
        self.n, m, self.c = mixing.shape
        self.X, column = _in_usual_size(scores.augmented())
        self.d = self.X.shape[1]
        self.column = np.tile(column, self.c)
        self.order = scores.places()
        offset = np.zeros((self.n, m)) if risk.offset is None else risk.offset.reshape(self.n, m)
        self.directions = None
        if risk.aggregate == "max":
            parts = _maxima(pieces, mixing, offset, risk.factors.reshape(self.n, m))
            self.sample = np.arange(self.n)
        else:
            rows = mixing.reshape(-1, self.c)
            parts = _pieces(pieces, rows[:, None], offset.ravel())
            self.sample = np.repeat(np.arange(self.n), m)
            self.directions = _directions(rows, parts[2])
        self.code, self.const, self.rate = map(np.ascontiguousarray, parts)
        self._all = self.local(np.arange(len(self.code)))
        self.units = self.entries(largest_units(risk))

    @property
    def key(self) -> int:
        """A hash of the local functions, the order of θ and the penalised entries."""
        arrays = self.code, self.const, self.order, self.risk.penalized
        return hash(tuple(np.ascontiguousarray(array).tobytes() for array in arrays))

    def restricted(self, features: Index) -> Polyhedral:
        """The losses restricted to the given columns of X."""
        part = copy(self)
        part.X = self.X[:, features]
        part.d = features.size
        part.units = np.tile(self.units[features], self.c)
        part.column = np.tile(self.column[features], self.c)
        part.order = self.order.reshape(self.c, self.d)[:, features].ravel()
        return part

    def costs(self, weights: Array) -> Array:
        """The cost of each local function for given weights of the groups."""
        return weights if self.risk.aggregate == "max" else self.risk.row_weights(weights)

    def theta(self, x: Array) -> Array:
        """The vector θ from the entries of B."""
        theta = np.empty(x.size)
        theta[self.order] = x / self.column
        return theta

    def entries(self, theta: Array) -> Array:
        """The entries of B from the vector θ."""
        return theta[self.order] * self.column

    def slopes(self, duals: Array) -> Array:
        """The slopes of the losses in the margins, (n_rows,), for multipliers (G, P)."""
        slopes = duals * self.rate
        if self.risk.aggregate != "max":
            return slopes.sum(axis=1)
        n_rows = self.risk.rows.shape[0]
        m = n_rows // self.n
        slanted = slopes[:, : slopes.shape[1] // m * m]
        return slanted.reshape(n_rows, -1).sum(axis=1)

    def scores(self, x: Array) -> Array:
        """The scores f_i, of shape (n, c)."""
        return np.asarray(self.X @ x.reshape(self.c, self.d).T)

    def local(self, live: Index) -> LocalLines:
        """The lines of the local functions `live`."""
        if self.directions is None:
            return _AnyLines(self.code[live], self.sample[live], self.n)
        vectors, which, rate = self.directions
        places = self.sample[live] * len(vectors) + which[live]
        return _RatedLines(vectors, places, rate[live], self.n)

    def lines(self, x: Array) -> Array:
        """The values of all lines, of shape (G, P)."""
        return self._all.values(self.scores(x)) + self.const

    def pull(self, duals: Array) -> Array:
        """The sum Σ duals_gp code_gp ⊗ x̃_{i(g)}, the transpose of the linear part of lines."""
        return np.asarray(self.X.T @ self._all.adjoint(duals)).T.ravel()


def _in_usual_size(X: Any) -> tuple[Any, Array]:
    """X and the divisors of its columns, powers of two, and 1 within USUAL of 1."""
    sizes = mean_sizes(X)
    unusual = (sizes > USUAL) | ((sizes > 0) & (sizes < 1 / USUAL))
    if not np.any(unusual):
        return X, np.ones(sizes.size)
    column = np.exp2(np.floor(np.log2(np.where(unusual, sizes, 1.0))))
    return X * (1 / column) if isinstance(X, np.ndarray) else X @ sp.diags_array(1 / column), column


def _pieces(pieces: Pieces, codes: Array, offset: Array) -> tuple[Array, Array, Array]:
    """Every piece of the base on every row: codes (G, P, c), constants and rates (G, P)."""
    slope, const = np.asarray(pieces.linear), np.asarray(pieces.constant)
    rate = np.broadcast_to(slope, (offset.size, slope.size))
    return slope[:, None] * codes, slope * offset[:, None] + const, rate


def _directions(rows: Array, rate: Array) -> tuple[Array, Index, Array] | None:
    """Vectors of which the rows are multiples, their indices and the rates; None if too many."""
    mark = rows @ np.random.default_rng(0).standard_normal(rows.shape[1])
    length = np.linalg.norm(rows, axis=1) * np.where(mark < 0, -1.0, 1.0)
    length = np.where(length != 0, length, 1.0)
    _, first, which = np.unique(
        np.round(mark / length, DIGITS), return_index=True, return_inverse=True
    )
    vectors, factor = rows[first], length / length[first][which]
    if first.size > MOST_DIRECTIONS:
        return None
    off = np.abs(rows - factor[:, None] * vectors[which])
    if np.any(off > LAST_PLACES * np.abs(length)[:, None]):
        return None
    return vectors, which.astype(np.intp), factor[:, None] * rate


def _maxima(
    pieces: Pieces, mixing: Array, offset: Array, weight: Array
) -> tuple[Array, Array, Array]:
    """The lines of all rows of a sample; lines of slope 0 are merged into one at the end."""
    n, _, c = mixing.shape
    slope, const = np.asarray(pieces.linear), np.asarray(pieces.constant)
    slanted, flat = slope != 0, slope == 0
    rate = weight[:, :, None] * slope[slanted]
    code = (rate[:, :, :, None] * mixing[:, :, None]).reshape(n, -1, c)
    level = (rate * offset[:, :, None] + weight[:, :, None] * const[slanted]).reshape(n, -1)
    rate = rate.reshape(n, -1)
    if not np.any(flat):
        return code, level, rate
    ground = np.max(weight * const[flat].max(), axis=1)
    return (
        np.concatenate([code, np.zeros((n, 1, c))], axis=1),
        np.column_stack([level, ground]),
        np.column_stack([rate, np.zeros(n)]),
    )


@dataclass
class Subproblem:
    """The sum Σ_g cost_g max_p line_gp(x) + linear·x + Σ_j l1_j |x_j| + ½ Σ_j l2_j x_j² + const.

    Attributes
    ----------
    design : Polyhedral
    cost : array of shape (G,)
    linear, l1, l2 : arrays of shape (p,)
        Vectors in the order of the entries of B.
    constant : float
    """

    design: Polyhedral
    cost: Array
    linear: Array
    l1: Array
    l2: Array
    constant: float = 0.0
    live: Index = field(init=False)

    def __post_init__(self) -> None:
        self.live = np.flatnonzero(self.cost > 0)

    @classmethod
    def of(cls, design: Polyhedral, problem: WeightedRisk) -> Subproblem:
        """The subproblem of a weighted risk."""
        offset, order, column = problem.risk.offset, design.order, design.column
        l1, l2 = problem.penalty_weights
        return cls(
            design,
            design.costs(problem.weights),
            problem.linear[order] / column,
            l1[order] / column,
            l2[order] / column**2,
            0.0 if offset is None else float(problem.row_tilts @ offset),
        )

    def restricted(self, features: Index) -> Subproblem:
        """The subproblem restricted to the given columns of X, with all other x_j = 0."""
        design = self.design
        linear, l1, l2 = (
            part.reshape(design.c, design.d)[:, features].ravel()
            for part in (self.linear, self.l1, self.l2)
        )
        return Subproblem(design.restricted(features), self.cost, linear, l1, l2, self.constant)

    def value(self, x: Array, lines: Array | None = None) -> float:
        """The value of the function at x."""
        lines = self.design.lines(x) if lines is None else lines
        losses = float(self.cost @ lines.max(axis=1))
        penalty = float(self.l1 @ np.abs(x)) + 0.5 * float((self.l2 * x) @ x)
        return losses + float(self.linear @ x) + penalty + self.constant

    def slope(self, duals: Array) -> Array:
        """The gradient of the losses and the linear term for multipliers (G, P) of the lines."""
        return self.linear + self.design.pull(duals)

    def bound(self, x: Array, duals: Array) -> float:
        """The dual value for multipliers duals ≥ 0 with Σ_p duals_gp = cost_g: a lower bound.

        Entries with l2_j = 0 are assumed to lie in an ℓ1 ball, ten times as large as their own norm
        at x plus a typical size of coefficients. Without it any error in their stationarity,
        however small, would make the dual value −∞.
        """
        over = np.maximum(np.abs(self.slope(duals)) - self.l1, 0.0)
        held = self.l2 > 0
        conjugate = 0.5 * float(np.sum(over[held] ** 2 / self.l2[held]))
        if not np.all(held):
            size = float(np.sum(np.abs(x[~held]))) + float(np.max(self.design.units[~held]))
            conjugate += RADIUS * size * float(np.max(over[~held]))
        return float(np.sum(duals * self.design.const)) + self.constant - conjugate

    def feasible(self, duals: Array) -> Array:
        """The multipliers clipped at 0 and scaled to the sum cost_g for each local function."""
        duals = np.maximum(duals, 0.0)
        total = duals.sum(axis=1)
        lost = total <= 0
        duals[lost] = 1.0
        total[lost] = duals.shape[1]
        return duals * (self.cost / total)[:, None]


class PolyhedralSolver(ExactSolver):
    """The base class of solvers of a :class:`Subproblem`.

    A subclass sets `name` and `takes`, and defines :meth:`candidate`.
    """

    name: ClassVar[str]

    def __init__(self, risk: Risk) -> None:
        self.risk = risk
        self.design = Polyhedral(risk)

    @abstractmethod
    def candidate(
        self, problem: Subproblem, start: Array, tolerance: float, deadline: Deadline
    ) -> tuple[Array, Array]:
        """The minimiser x and the multipliers of the lines (G, P)."""

    def minimiser(
        self, problem: WeightedRisk, start: Array, tolerance: float, deadline: Deadline
    ) -> Solution:
        """The minimiser, certified by its duality gap."""
        program, start = Subproblem.of(self.design, problem), self.design.entries(start)
        try:
            x, duals = self.candidate(program, start, tolerance, deadline)
        except SubproblemError as error:
            if error.point is not None:
                error.point = self.design.theta(error.point)
            raise
        theta = self.design.theta(x)
        return Solution(theta, -self.design.slopes(duals), problem.value(theta))
