"""Risks whose losses are maxima of affine functions of a sample's scores."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.losses import Pieces
from dcprog.solvers.linalg.coefficients import coefficient_units

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk

__all__ = ["Index", "Polyhedral", "polyhedral_refusal"]

Index = npt.NDArray[np.intp]

MOST_DIRECTIONS = 100
DIGITS = 9  # digits by which directions are grouped before the exact comparison
ROUNDING = 1e-15


def polyhedral_refusal(risk: Risk) -> str | None:
    """The reason why a risk's subproblems are not programs of this form, None if they are."""
    pieces = risk.base.pieces
    if pieces is None or any(pieces.quadratic):
        return f"its base is {risk.base!r}, not piecewise linear"
    if risk.no_matrix is not None:
        return "its rows are a general LinearOperator"
    if risk.aggregate == "max" and not np.array_equal(risk.scores.groups, risk.groups):
        return "its maxima are not over the rows of a sample"
    if not risk.penalty.parts().is_elastic:
        return f"its penalty is {risk.penalty!r}, not made of l1 and l2"
    return None


class Polyhedral:
    r"""The losses Σ_g cost_g max_p (code_gp · f_{i(g)} + const_gp), with the scores f_i = B x̃_i.

    A local function g is a row (or, with the aggregate ``"max"``, a sample); its P lines are the
    pieces of the base. B has the shape (c, d̃), and x̃ ends with a constant if there are intercepts.
    The rows code_gp ⊗ x̃ are never formed.

    Parameters
    ----------
    risk : Risk
        A risk for which :func:`polyhedral_refusal` is None.

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
    """

    directions: tuple[Array, Index, Array] | None

    def __init__(self, risk: Risk) -> None:
        self.risk = risk
        scores, pieces = risk.scores, risk.base.pieces
        assert pieces is not None
        mixing = scores.mixing()
        self.X: Any = scores.augmented()
        self.n, m, self.c = mixing.shape
        self.d = self.X.shape[1]
        self.order = scores.places()
        offset = np.zeros((self.n, m)) if risk.offset is None else risk.offset.reshape(self.n, m)
        self.directions = None
        if risk.aggregate == "max":
            weight = np.ones(self.n * m) if risk.weights is None else risk.weights
            parts = _maxima(pieces, mixing, offset, weight.reshape(self.n, m))
            self.sample = np.arange(self.n)
        else:
            rows = mixing.reshape(-1, self.c)
            parts = _pieces(pieces, rows[:, None], offset.ravel())
            self.sample = np.repeat(np.arange(self.n), m)
            self.directions = _directions(rows, parts[2])
        self.code, self.const, self.rate = map(np.ascontiguousarray, parts)
        self.units = np.tile(coefficient_units(self.X, self.const), self.c)

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
        part.order = self.order.reshape(self.c, self.d)[:, features].ravel()
        return part

    def costs(self, weights: Array) -> Array:
        """The cost of each local function for given weights of the groups."""
        return weights if self.risk.aggregate == "max" else self.risk.row_weights(weights)

    def theta(self, x: Array) -> Array:
        """The vector θ from the entries of B."""
        theta = np.empty(x.size)
        theta[self.order] = x
        return theta

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

    def spread(self, scores: Array) -> Array:
        """The products code_gp · f_{i(g)}, of shape (G, P)."""
        return np.einsum("gpc,gc->gp", self.code, scores[self.sample])

    def lines(self, x: Array) -> Array:
        """The values of all lines, of shape (G, P)."""
        return self.spread(self.scores(x)) + self.const

    def pull(self, duals: Array) -> Array:
        """The sum Σ duals_gp code_gp ⊗ x̃_{i(g)}, the transpose of the linear part of lines."""
        return self.back(np.einsum("gp,gpc->gc", duals, self.code))

    def back(self, codes: Array) -> Array:
        """The sum Σ_g codes_g ⊗ x̃_{i(g)} for vectors codes of shape (G, c)."""
        gathered = self.gather(codes)
        return np.asarray(self.X.T @ gathered).T.ravel()

    def gather(self, values: Array) -> Array:
        """The sums over the local functions of each sample, of shape (n, …)."""
        if self.sample.size == self.n:
            return values
        return values.reshape(self.n, -1, *values.shape[1:]).sum(axis=1)


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
    if np.any(off > ROUNDING * np.abs(length)[:, None]):
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
