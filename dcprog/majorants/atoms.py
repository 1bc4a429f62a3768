"""The table of atoms: slopes, values and edges that the rules use in place of cvxpy's own.

A class that is not in the table has cvxpy's own slopes and values, no edge, and is not even.
``dc.register_atom`` adds an atom, or replaces an entry.

Ties. The subgradient is the one that *adds no linear term*: max(u, 0) has slope 0 at u = 0, and
min(u, c) keeps slope 1 at u = c. So a truncated hinge H₁ − H_s is still the full hinge at u = s,
and a sample exactly at its cap keeps its weight; with the other choice w = 0 is a trap. Between
several non-constant arguments the first one wins. Norms have slope 0 at 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms import (
    GeoMean,
    GeoMeanApprox,
    MatrixFrac,
    Pnorm,
    PnormApprox,
    Power,
    PowerApprox,
    QuadForm,
)
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression, multiply
from cvxpy.atoms.elementwise.hyperbolic import asinh, atanh, sinh, tanh
from cvxpy.atoms.elementwise.normcdf import normcdf
from cvxpy.atoms.elementwise.trig import cos, sin, tan
from scipy import special

from dcprog.foundation.arrays import Array, dense, unvec, vec
from dcprog.foundation.kept_values import values_kept
from dcprog.foundation.tolerances import FEASIBLE, ROUNDING


def spread(atom: Any, array: Array, ndim: int, shape: tuple[int, ...] | None = None) -> Array:
    """An axis atom's output broadcast against its argument (to its very shape if given)."""
    if atom.axis is None:
        array = array.reshape((1,) * ndim)
    elif not atom.keepdims:
        array = np.expand_dims(array, atom.axis)
    return array if shape is None else np.broadcast_to(array, shape)


def unbroadcast(array: Array, shape: tuple[int, ...]) -> Array:
    """The adjoint of broadcasting from `shape`: sums over the repeated entries."""
    extra = array.ndim - len(shape)
    repeated = tuple(extra + i for i, length in enumerate(shape) if length == 1)
    return array.sum(axis=(*range(extra), *repeated)).reshape(shape)


# ----------------------------------------------------------------------------------------------
# an entry


PullBack = Callable[[Any, Sequence[Array], Array, Array], list[Array]]
Evaluation = Callable[[Any, list[Any], float], Any]


class FaultyAtom(TypeError):
    """A function given to ``register_atom`` failed, or returned a value of the wrong kind."""


@dataclass(frozen=True)
class Edge:
    """The least value of an argument's entries, where the atom's slope is infinite.

    Parameters
    ----------
    at : float, default 0.0
    bottomless : bool, default False
        Whether the atom, or the negative of a convex one, falls to −∞ there.
    carried : bool, default True
        Whether values are extended beyond the edge along the tangent (see ``tree.extended``).
    """

    at: float = 0.0
    bottomless: bool = False
    carried: bool = True

    def depth(self, argument: Array) -> Array:
        """The distance of each entry from the edge, positive inside the domain."""
        return argument - self.at

    def inside(self, argument: Array, depth: float) -> Array:
        """The argument with its entries moved to at least `depth` inside the edge."""
        return np.maximum(argument, self.at + depth)


class SpectralEdge(Edge):
    """The least value of the eigenvalues of a symmetric matrix, where the slope is infinite."""

    def depth(self, argument: Array) -> Array:
        """The distance of each eigenvalue from the edge, positive inside the domain."""
        return np.asarray(np.linalg.eigvalsh((argument + argument.T) / 2), float) - self.at

    def inside(self, argument: Array, depth: float) -> Array:
        """The matrix, shifted until its eigenvalues are at least `depth` inside the edge."""
        lacking = max(0.0, depth - self.depth(argument)[0])
        return argument + lacking * np.eye(argument.shape[0])


def plain(atom: Any, args: Sequence[Any], slack: float = 0.0) -> Any:
    """The value that cvxpy gives, in the atom's shape."""
    value = atom.numeric(list(args))
    if np.shape(value) == atom.shape or sp.issparse(value):
        return value
    return np.asarray(value).reshape(atom.shape, order="F")  # upper_tri is (n, 1) but says (n,)


def within(array: Any, slack: float, at: float = 0.0) -> Array:
    """The array with entries up to `slack` below `at` (and −0) moved to `at`, lower ones NaN."""
    array = dense(array)
    return np.where(array > at, array, np.where(array >= at - slack, at, np.nan))


def cvxpy_slope(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    """Slopes from cvxpy's own ``_grad``; NaN where it gives None."""
    slopes = []
    for matrix, arg in zip(atom._grad(list(args)), args, strict=False):
        if matrix is None:
            slopes.append(np.full(arg.shape, np.nan))
        elif np.ndim(matrix) == 0:
            slopes.append(unvec(matrix * vec(adjoint), arg.shape))
        else:
            slopes.append(unvec(matrix @ vec(adjoint), arg.shape))
    constants = args[len(slopes) :]  # some atoms leave out the arguments that must be constant
    return [*slopes, *(np.zeros(a.shape) for a in constants)]


@dataclass(frozen=True)
class Bend:
    """A convex function h of an atom's argument, times a factor c ≥ 0.

    Parameters
    ----------
    function : function of a cvxpy expression
    derivative : function of an array
        h'.
    factor : float, or function of an array
        c, or c at the point where the majorant touches.
    """

    function: Callable[[cp.Expression], cp.Expression]
    derivative: Callable[[Array], Array]
    factor: float | Callable[[Array], Array]

    def scale(self, w: Array, x0: Array) -> Array:
        """The factor c·|w| of h at x₀."""
        return np.abs(w) * (self.factor(x0) if callable(self.factor) else self.factor)


def parabola(factor: float | Callable[[Array], Array]) -> Bend:
    """The square of the argument as a bend."""
    return Bend(cp.square, lambda x: 2 * x, factor)


def curved(slope: Callable[[Array], Array], most: float) -> Entry:
    """The entry of a smooth function with the derivative `slope` and |φ''| ≤ `most`."""
    bends = (parabola(most / 2),)
    return Entry(derivative(lambda atom, a: slope(a)), bends=(bends, bends))


@dataclass(frozen=True)
class Entry:
    """The rules' data of one atom class; by default cvxpy's own slope and value.

    Parameters
    ----------
    slope : function (atom, args, value, adjoint) -> list of arrays, or None
        (∂φ/∂a_i)ᵀ adjoint for each argument; None where no slope is known.
    evaluate : function (atom, args, slack) -> value
        NaN outside the domain, whose edge is `slack` wide.
    edge : Edge, function (atom) -> Edge or None, or None
        The edge of the domain at which the slope is infinite.
    even : bool, or function (atom, index) -> bool
        Whether the atom is convex and an increasing function of the argument's absolute value.
    from_zero : slice, optional
        The arguments whose domain has its edge at 0, so that a change of units only scales it.
    bends : pair of tuples of Bend, optional
        Convex functions Σ c·h such that Σ c·h − φ is convex, and those for Σ c·h + φ.
    equal : function (atom) -> cvxpy expression, optional
        An equal expression of other atoms.
    rule : function (node, weight, frame) -> Piece or None, optional
        A rule that is tried before those of the library.
    """

    slope: PullBack | None = cvxpy_slope
    evaluate: Evaluation = plain
    edge: Edge | Callable[[Any], Edge | None] | None = None
    even: bool | Callable[[Any, int], bool] = False
    from_zero: slice | None = None
    bends: tuple[tuple[Bend, ...], tuple[Bend, ...]] | None = None
    equal: Callable[[Any], cp.Expression] | None = None
    rule: Callable[[Any, Any, Any], Any] | None = None


# ----------------------------------------------------------------------------------------------
# atoms of arguments of either sign


class OddPower(Power):
    """x³, x⁵, x⁷, … on both sides of 0: increasing, neither convex nor concave."""

    def sign_from_args(self) -> tuple[bool, bool]:
        """The sign of the argument."""
        return self.args[0].is_nonneg(), self.args[0].is_nonpos()

    def is_atom_convex(self) -> bool:
        """False: the atom is not convex."""
        return False

    def is_atom_concave(self) -> bool:
        """False: the atom is not concave."""
        return False

    def _domain(self) -> list[cp.Constraint]:
        return []

    def name(self) -> str:
        """The name of the power that the atom replaces."""
        return f"Power({self.args[0].name()}, {self.p.value})"


class SignedXexp(cp.xexp):
    """x·eˣ on both sides of 0: decreasing up to −1, increasing beyond, convex from −2 on."""

    def is_atom_convex(self) -> bool:
        """False: the atom is not convex."""
        return False

    def is_incr(self, idx: int) -> bool:
        """False: the atom is not monotone."""
        return False

    def _domain(self) -> list[cp.Constraint]:
        return []

    def name(self) -> str:
        """The name of the atom that it replaces."""
        return f"xexp({self.args[0].name()})"


# ----------------------------------------------------------------------------------------------
# slopes and values, entry by entry


def derivative(slope: Callable[[Any, Array], Array]) -> PullBack:
    """The slope of an elementwise atom of one argument, from its derivative."""

    def rule(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
        return [adjoint * slope(atom, args[0]), *(np.zeros(a.shape) for a in args[1:])]

    return rule


def along_axis(slope: Callable[[Any, Array, Array], Array]) -> PullBack:
    """The slope of an axis atom, from its derivative at an argument and the value behind it."""

    def rule(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
        value, adjoint = (spread(atom, array, args[0].ndim) for array in (value, adjoint))
        return [adjoint * slope(atom, args[0], value)]

    return rule


def of_nonnegative(atom: Any, args: list[Any], slack: float) -> Any:
    """The value of an atom that is defined for nonnegative arguments only."""
    return plain(atom, [within(a, slack) for a in args])


# ----------------------------------------------------------------------------------------------
# powers


def power_derivative(atom: Any, a: Array) -> Array:
    """Derivative p·aᵖ⁻¹ of a power."""
    p = float(atom.p.value)
    a = a if _is_whole(p) else np.where(a >= 0, a, np.nan)
    return np.asarray(p * np.power(a, p - 1))


def power_value(atom: Any, args: list[Any], slack: float) -> Any:
    """Value of a power; NaN for negative a unless p is whole and positive (cvxpy extends 1/a)."""
    return (plain if _is_whole(float(atom.p.value)) else of_nonnegative)(atom, args, slack)


def _is_whole(p: float) -> bool:
    """True if the power is defined on both sides of 0 (p = 1, 2, 3, …)."""
    return p >= 1 and p % 1 == 0


# ----------------------------------------------------------------------------------------------
# others


def huber_derivative(atom: Any, a: Array) -> Array:
    """Derivative of the Huber function: 2a, clipped to [−2M, 2M]."""
    m = float(atom.M.value)
    return 2 * np.clip(a, -m, m)


def entr_value(atom: Any, args: list[Any], slack: float) -> Any:
    """Value −a·log a of the entropy; cvxpy's own is −∞ for NaN."""
    inside = within(args[0], slack)
    return np.where(np.isnan(inside), np.nan, plain(atom, [inside]))


def binary_slope(*slopes: Callable[[Array, Array], Array]) -> PullBack:
    """The slope of an elementwise atom of two arguments, from its two partial derivatives."""

    def rule(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
        parts = (adjoint * slope(*args) for slope in slopes)
        return [unbroadcast(part, a.shape) for part, a in zip(parts, args, strict=True)]

    return rule


def normal_density(a: Array) -> Array:
    """The density of the standard normal distribution."""
    return np.asarray(np.exp(-(a**2) / 2) / np.sqrt(2 * np.pi))


def odd_power_halves(atom: Any) -> cp.Expression:
    """x₊ᵖ − (−x)₊ᵖ."""
    x, p = atom.args[0], atom.p.value
    return cp.power(cp.pos(x), p) - cp.power(cp.neg(x), p)


# ----------------------------------------------------------------------------------------------
# the largest and the least


def winner_slope(constants_first: bool) -> PullBack:
    """The slope of ``maximum`` or ``minimum``: one attaining argument takes all of it.

    At ties that is a constant argument if `constants_first`, else a nonconstant one.
    """

    def rule(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
        ranked = sorted(
            range(len(args)), key=lambda i: (atom.args[i].is_constant() != constants_first, i)
        )
        free = np.ones(atom.shape, dtype=bool)
        slopes: list[Array] = [np.zeros(atom.shape)] * len(args)
        for i in ranked:
            wins = free & (np.broadcast_to(args[i], atom.shape) == value)
            free = free & ~wins
            slopes[i] = unbroadcast(np.where(wins, adjoint, 0.0), args[i].shape)
        return slopes

    return rule


def first_hits(hits: Array, atom: Any) -> Array:
    """1 at the first hit among the entries of each output of an axis atom, 0 at all others."""
    outputs = np.arange(atom.size).reshape(atom.shape, order="F")
    groups = vec(spread(atom, outputs, hits.ndim, hits.shape))
    winners = np.flatnonzero(vec(hits))
    _, first = np.unique(groups[winners], return_index=True)
    chosen = np.zeros(hits.size)
    chosen[winners[first]] = 1.0
    return unvec(chosen, hits.shape)


def sum_largest_derivative(atom: Any, a: Array, value: Array) -> Array:
    """Derivative of ``sum_largest``: 1 for the ⌊k⌋ largest entries, k − ⌊k⌋ for the next one."""
    axes = range(a.ndim) if atom.axis is None else np.atleast_1d(atom.axis)
    last = tuple(range(-len(axes), 0))
    moved = np.moveaxis(a, tuple(axes), last)
    rows = moved.reshape(*moved.shape[: moved.ndim - len(axes)], -1)
    share = np.clip(atom.k - np.arange(rows.shape[-1]), 0.0, 1.0)
    chosen = np.zeros(rows.shape)
    order = np.argsort(-rows, axis=-1, kind="stable")
    np.put_along_axis(chosen, order, np.broadcast_to(share, rows.shape), axis=-1)
    return np.moveaxis(chosen.reshape(moved.shape), last, tuple(axes))


def dotsort_slope(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    """Slope of ``dotsort``: the weights in the order of the entries.

    cvxpy's own takes rows for columns.
    """
    a, weights = args
    padded = np.zeros(max(a.size, weights.size))
    padded[: weights.size] = vec(weights)
    slope = np.zeros(a.size)
    slope[np.argsort(vec(a), kind="stable")] = np.sort(padded)[-a.size :]
    return [adjoint * unvec(slope, a.shape), np.zeros(weights.shape)]


def sorted_value(atom: Any, args: list[Any], slack: float) -> Any:
    """Value of an atom that sorts its entries; NaN if an entry is NaN, which a sort puts last."""
    if np.any(np.isnan(dense(args[0]))):
        return np.full(atom.shape, np.nan)
    return plain(atom, args)


# ----------------------------------------------------------------------------------------------
# norms and squares over a number


def norm_inf_value(atom: Any, args: list[Any], slack: float) -> Any:
    """Value of the ∞-norm; 0 for an array without entries."""
    return plain(atom, args) if args[0].size else np.zeros(atom.shape)


def pnorm_derivative(atom: Any, a: Array, norm: Array) -> Array:
    """Derivative sign(a)·(|a|/‖a‖)ᵖ⁻¹ of the p-norm."""
    p = float(atom.p)
    scaled = np.divide(np.abs(a), norm, out=np.zeros(a.shape), where=norm > 0)
    power = np.power(scaled, p - 1, out=np.zeros(a.shape), where=scaled > 0)
    return np.asarray(np.sign(a) * power)


def pnorm_value(atom: Any, args: list[Any], slack: float) -> Any:
    """Value (Σ|a|ᵖ)^(1/p) of the p-norm; for p < 1 of nonnegative entries only."""
    return (of_nonnegative if atom.p < 1 else plain)(atom, args, slack)


def quad_over_lin_slope(
    atom: Any, args: Sequence[Array], value: Array, adjoint: Array
) -> list[Array]:
    """Slopes 2x/y and −‖x‖²/y² of ‖x‖²/y."""
    x, y = args[0], float(args[1].reshape(()))
    y = y if y > 0 else np.nan
    w = spread(atom, adjoint, x.ndim)
    return [w * 2 * x / y, np.asarray(-np.sum(adjoint * value) / y).reshape(args[1].shape)]


def quad_over_lin_value(atom: Any, args: list[Any], slack: float) -> Any:
    """Value ‖x‖²/y, with 0²/0 = 0; a y at most `slack` below 0 counts as |y|."""
    x, y = np.asarray(args[0]), float(np.asarray(args[1]).item())
    y = abs(y) if y >= -slack else np.nan
    squares = plain(atom, [x, np.ones(np.shape(args[1]))])
    return np.where(squares == 0, 0.0 * y, squares / y) if y == 0 else squares / y


# ----------------------------------------------------------------------------------------------
# matrices and perspectives


def product_slope(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    """Slopes adjoint·Bᵀ and Aᵀ·adjoint of a matrix product AB."""
    a, b = args
    if {a.ndim, b.ndim} - {1, 2}:
        return cvxpy_slope(atom, args, value, adjoint)
    rows, columns = np.atleast_2d(a), b.reshape(len(b), -1)
    adjoint = adjoint.reshape(len(rows), columns.shape[1])
    return [(adjoint @ columns.T).reshape(a.shape), (rows.T @ adjoint).reshape(b.shape)]


def quad_form_slope(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    """Slope (P + Pᵀ)x of a quadratic form, whose matrix is constant."""
    x, matrix = args
    return [adjoint.item() * (matrix + matrix.T) @ x, np.zeros(matrix.shape)]


def log_det_slope(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    """Slope of log det A: the inverse of A."""
    inverse = np.linalg.inv((args[0] + args[0].T) / 2)
    return [np.asarray(adjoint.item() * inverse, dtype=float)]


def log_det_value(atom: Any, args: list[Any], slack: float) -> Any:
    """Value of log det A; −∞ at the edge of the cone."""
    eigenvalues, _ = _spectrum(args[0], slack)
    if np.min(eigenvalues) == 0:
        return np.sum(np.log(eigenvalues))
    return _semidefinite(atom, args, eigenvalues)


def tr_inv_value(atom: Any, args: list[Any], slack: float) -> Any:
    """Value of tr A⁻¹; ∞ at the edge of the cone."""
    eigenvalues, _ = _spectrum(args[0], slack)
    return np.inf if np.min(eigenvalues) == 0 else _semidefinite(atom, args, eigenvalues)


def matrix_frac_value(atom: Any, args: list[Any], slack: float) -> Any:
    """Value tr(XᵀP⁻¹X), at the edge finite if the columns of X are in the range of P."""
    x = dense(args[0]).reshape(args[0].shape[0], -1)
    eigenvalues, vectors = _spectrum(args[1], slack)
    if np.any(np.isnan(eigenvalues)) or np.min(eigenvalues) > 0:
        return _semidefinite(atom, args, eigenvalues)
    squares = np.sum((vectors.T @ x) ** 2, axis=1)
    squares[squares <= ROUNDING**2 * np.sum(squares)] = 0.0
    return np.sum(np.divide(squares, eigenvalues, out=np.zeros(x.shape[0]), where=squares > 0))


def von_neumann_entr_value(atom: Any, args: list[Any], slack: float) -> Any:
    """Value −Σ λ·log λ of the von Neumann entropy, with the eigenvalues λ."""
    eigenvalues, _ = _spectrum(args[0], slack)
    positive = eigenvalues[~(eigenvalues == 0)]
    return -np.sum(positive * np.log(positive))


def _spectrum(matrix: Any, slack: float) -> tuple[Array, Array]:
    """Eigenvalues and vectors; eigenvalues at rounding level count as 0, negative ones as NaN."""
    matrix = dense(matrix)
    eigenvalues, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    largest = float(np.max(np.abs(eigenvalues), initial=0.0))
    inside = np.where(np.abs(eigenvalues) <= ROUNDING * largest, 0.0, eigenvalues)
    return within(inside, min(slack, FEASIBLE * largest)), vectors


def _semidefinite(atom: Any, args: list[Any], eigenvalues: Array) -> Any:
    return np.nan if np.any(np.isnan(eigenvalues)) else plain(atom, args)


def perspective_value(atom: Any, args: list[Any], slack: float) -> Any:
    """Value s·f(x/s) of a perspective, at s = 0 its recession; f's variables keep their values."""
    s = float(within(args[0], slack).item())
    f = atom.f if s > 0 else atom.f_recession
    if f is None:  # a closed f has 0·f(0/0) = 0; elsewhere cvxpy needs the recession function
        return np.nan if any(np.any(a) for a in args[1:]) else 0.0 * s
    variables = atom.f.variables()
    with values_kept(variables):
        for variable, array in zip(variables, args[1:], strict=True):
            variable.save_value(np.asarray(array) / (s or 1.0))
        return (s or 1.0) * np.asarray(f.value, dtype=float)


# ----------------------------------------------------------------------------------------------
# the table


ALL, FIRST, SECOND = slice(None), slice(0, 1), slice(1, 2)
FALLS = Edge(bottomless=True)
NOT_CARRIED = Edge(carried=False)

_POWER = Entry(
    slope=derivative(power_derivative),
    evaluate=power_value,
    edge=lambda atom: Edge() if 0 < float(atom.p.value) < 1 else None,
    even=lambda atom, index: _is_whole(float(atom.p.value) / 2),
    from_zero=ALL,
)
_XEXP = derivative(lambda atom, a: (1 + a) * np.exp(a))
# For every c the curvature (x + 2)eˣ of x·eˣ is at most (eˣ⁻ᶜ + c + 1)eˣ, and −(x + 2)eˣ at most
# eᶜ − (c + 3)eˣ, with equality at x = c. So c is x₀, or −1 and −3 where the factor of eˣ would be
# negative.
_XEXP_BENDS = (
    (
        Bend(
            lambda x: cp.exp(2 * x),
            lambda x: 2 * np.exp(2 * x),
            lambda x0: np.exp(-np.maximum(x0, -1)) / 4,
        ),
        Bend(cp.exp, np.exp, lambda x0: np.maximum(x0, -1) + 1),
    ),
    (
        parabola(lambda x0: np.exp(np.minimum(x0, -3)) / 2),
        Bend(cp.exp, np.exp, lambda x0: -3 - np.minimum(x0, -3)),
    ),
)
# The largest curvature of asinh; that of tanh is twice as large.
_ASINH_BEND = 2 / 27**0.5
# tan x = 1/(π/2 − x) − 1/(π/2 + x) + r(x) with |r''| ≤ 2/π³.
_TAN_REST = parabola(np.pi**-3)
_TAN_BENDS = (
    (
        Bend(lambda x: cp.inv_pos(np.pi / 2 - x), lambda x: (np.pi / 2 - x) ** -2, 1.0),
        _TAN_REST,
    ),
    (
        Bend(lambda x: cp.inv_pos(np.pi / 2 + x), lambda x: -((np.pi / 2 + x) ** -2), 1.0),
        _TAN_REST,
    ),
)
_PNORM = Entry(
    slope=along_axis(pnorm_derivative),
    evaluate=pnorm_value,
    edge=lambda atom: Edge() if atom.p < 1 else None,
    even=True,
    from_zero=ALL,
)
_FIRST_EXTREME = along_axis(lambda atom, a, value: first_hits(a == value, atom))
_GEO_MEAN = Entry(evaluate=of_nonnegative, edge=Edge(), from_zero=ALL)

TABLE: dict[type, Entry] = {
    # entry by entry
    cp.abs: Entry(derivative(lambda atom, a: np.sign(a)), even=True),
    cp.entr: Entry(derivative(lambda atom, a: -np.log(a) - 1), entr_value, Edge(), from_zero=ALL),
    cp.exp: Entry(derivative(lambda atom, a: np.exp(a))),
    cp.huber: Entry(derivative(huber_derivative), even=True),
    cp.kl_div: Entry(
        binary_slope(lambda x, y: np.log(x / y), lambda x, y: 1 - x / y),
        of_nonnegative,
        NOT_CARRIED,
        from_zero=ALL,
        equal=lambda atom: cp.rel_entr(*atom.args) - atom.args[0] + atom.args[1],
    ),
    cp.log: Entry(derivative(lambda atom, a: 1 / a), of_nonnegative, FALLS, from_zero=ALL),
    cp.log1p: Entry(derivative(lambda atom, a: 1 / (1 + a)), edge=Edge(-1.0, bottomless=True)),
    cp.logistic: Entry(derivative(lambda atom, a: special.expit(a))),
    cp.maximum: Entry(winner_slope(constants_first=True)),
    cp.minimum: Entry(winner_slope(constants_first=False)),
    Power: _POWER,
    PowerApprox: _POWER,
    OddPower: replace(_POWER, equal=odd_power_halves),
    cp.rel_entr: Entry(
        binary_slope(lambda x, y: np.log(x / y) + 1, lambda x, y: -x / y),
        of_nonnegative,
        NOT_CARRIED,
        from_zero=ALL,
    ),
    cp.xexp: Entry(_XEXP),
    SignedXexp: Entry(_XEXP, bends=_XEXP_BENDS),
    # smooth, neither convex nor concave
    sin: curved(np.cos, 1.0),
    cos: curved(lambda a: -np.sin(a), 1.0),
    tan: Entry(derivative(lambda atom, a: np.cos(a) ** -2.0), bends=_TAN_BENDS),
    tanh: curved(lambda a: 1 - np.tanh(a) ** 2, 2 * _ASINH_BEND),
    asinh: curved(lambda a: 1 / np.sqrt(1 + a**2), _ASINH_BEND),
    normcdf: curved(normal_density, float(normal_density(np.array(1.0)))),
    sinh: Entry(
        derivative(lambda atom, a: np.cosh(a)),
        equal=lambda atom: 0.5 * cp.exp(atom.args[0]) - 0.5 * cp.exp(-atom.args[0]),
    ),
    atanh: Entry(
        derivative(lambda atom, a: 1 / (1 - a**2)),
        equal=lambda atom: 0.5 * cp.log1p(atom.args[0]) - 0.5 * cp.log1p(-atom.args[0]),
    ),
    multiply: Entry(binary_slope(lambda a, b: b, lambda a, b: a)),
    DivExpression: Entry(binary_slope(lambda a, b: 1 / b, lambda a, b: -a / b**2)),
    # the largest, the least, the first when sorted
    cp.max: Entry(_FIRST_EXTREME),
    cp.min: Entry(_FIRST_EXTREME),
    cp.sum_largest: Entry(along_axis(sum_largest_derivative), sorted_value),
    cp.dotsort: Entry(dotsort_slope),
    cp.cummax: Entry(slope=None),  # cvxpy's is wrong in one dimension
    # norms and means
    cp.norm1: Entry(along_axis(lambda atom, a, norm: np.sign(a)), even=True),
    cp.norm_inf: Entry(
        along_axis(lambda atom, a, norm: first_hits(np.abs(a) == norm, atom) * np.sign(a)),
        norm_inf_value,
        even=True,
    ),
    Pnorm: _PNORM,
    PnormApprox: _PNORM,
    GeoMean: _GEO_MEAN,
    GeoMeanApprox: _GEO_MEAN,
    cp.log_sum_exp: Entry(along_axis(lambda atom, a, value: np.exp(a - value))),
    cp.quad_over_lin: Entry(
        quad_over_lin_slope,
        quad_over_lin_value,
        even=lambda atom, index: index == 0,
        from_zero=SECOND,
    ),
    # functions of matrices; cvxpy has no slopes of the last three
    MulExpression: Entry(product_slope),  # cvxpy's forms Kronecker products
    QuadForm: Entry(quad_form_slope),
    cp.log_det: Entry(
        log_det_slope,
        log_det_value,
        SpectralEdge(bottomless=True),
        from_zero=ALL,
    ),
    cp.tr_inv: Entry(evaluate=tr_inv_value, from_zero=ALL),
    MatrixFrac: Entry(evaluate=matrix_frac_value, from_zero=SECOND),
    cp.von_neumann_entr: Entry(slope=None, evaluate=von_neumann_entr_value, from_zero=ALL),
    cp.quantum_rel_entr: Entry(slope=None),
    cp.perspective: Entry(slope=None, evaluate=perspective_value, from_zero=FIRST),
}

_CVXPYS = Entry()
_OURS = dict(TABLE)


def add(entries: Mapping[type, Entry]) -> None:
    """Add entries to the table, or replace entries of the same classes."""
    TABLE.update(entries)


def added() -> dict[type, Entry]:
    """The entries that were added or replaced, for other processes with the original table."""
    return {kind: known for kind, known in TABLE.items() if _OURS.get(kind) is not known}


def entry(atom: Any) -> Entry:
    """The entry of an atom's class; by default cvxpy's own slopes and values."""
    return TABLE.get(type(atom), _CVXPYS)


def edge(atom: Any) -> Edge | None:
    """The edge of the atom's domain at which its slope is infinite, if there is one."""
    found = entry(atom).edge
    return found if found is None or isinstance(found, Edge) else found(atom)


def is_even_in(atom: Any, index: int) -> bool:
    """True if the convex atom is an increasing function of the argument's absolute value."""
    even = entry(atom).even
    return even if isinstance(even, bool) else even(atom, index)
