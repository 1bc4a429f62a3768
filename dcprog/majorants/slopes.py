"""Slopes of cvxpy's convex and concave atoms, as vector-Jacobian products.

For an atom φ with arguments a₁…a_k and an adjoint w (an array of the atom's shape),
``pull_back`` returns the arrays g_i = (∂φ/∂a_i)ᵀ w, one of each argument's shape. cvxpy's own
``grad`` forms sparse matrices, follows the order of the arguments at ties and gives None at the
edge of a domain; the rules here settle all three.

Ties. The subgradient is the one that *adds no linear term*: max(u, 0) has slope 0 at u = 0, and
min(u, c) keeps slope 1 at u = c. So a truncated hinge H₁ − H_s is still the full hinge at u = s,
and a sample exactly at its cap keeps its weight; with the other choice w = 0 is a trap. Between
several non-constant arguments the first one wins; |u| and the norms have slope 0 at 0.

Infinite slopes. √u, u^p (0 < p < 1), log u, entr u and their like have an infinite slope at the
edge of their domain. Their tangent is taken at ``EDGE`` inside it: still a majorant everywhere,
but at the edge it touches only up to φ(EDGE) − EDGE·φ'(EDGE), 5e-6 for the square root.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import cvxpy as cp
import numpy as np

from dcprog.foundation.arrays import EDGE, Array, unvec, vec
from dcprog.majorants.tree import one_sided, short

__all__ = ["EDGE", "extended", "has_edge", "interior", "pull_back"]

# cvxpy has none for these (cummax: a wrong one in one dimension).
WITHOUT_SLOPE = {"cummax", "indicator", "perspective", "quantum_rel_entr", "von_neumann_entr"}

PullBack = Callable[[Any, Sequence[Array], Array, Array], list[Array]]


def interior(atom: cp.Expression, args: Sequence[Array], edge: float = EDGE) -> list[Array]:
    """Arguments moved to `edge` inside the atom's domain where its slope would be infinite."""
    name = type(atom).__name__
    args = [np.asarray(a, dtype=float) for a in args]
    if name in {"log", "entr", "GeoMean", "GeoMeanApprox"}:
        return [np.maximum(args[0], edge), *args[1:]]
    if name in {"Power", "PowerApprox"} and 0 < float(atom.p.value) < 1:
        return [np.maximum(args[0], edge)]
    if name in {"Pnorm", "PnormApprox"} and atom.p < 1:
        return [np.maximum(args[0], edge), *args[1:]]
    if name == "log1p":
        return [np.maximum(args[0], edge - 1), *args[1:]]
    if name in {"rel_entr", "kl_div"}:
        return [np.maximum(a, edge) for a in args]
    if name == "log_det":
        low = np.linalg.eigvalsh((args[0] + args[0].T) / 2)[0]
        return [args[0] + max(0.0, edge - low) * np.eye(args[0].shape[0])]
    return args


def has_edge(atom: cp.Expression) -> bool:
    """Has the atom an infinite slope at the edge of its domain, and an ``extended`` form?"""
    name = type(atom).__name__
    if name in {"Power", "PowerApprox"}:
        return 0 < float(atom.p.value) < 1
    if name in {"Pnorm", "PnormApprox"}:
        return bool(atom.p < 1) and atom.size == 1
    return name in {"log", "entr", "GeoMean", "GeoMeanApprox", "log1p", "log_det"}


def extended(atom: cp.Expression, args: Sequence[Array], edge: float = EDGE) -> Array:
    """φ, carried on along its tangent at `edge` where its slope would be infinite.

    A concave function above φ, equal to it from `edge` on, that every tangent of this module
    touches. An outer loop that compares its values descends exactly.
    """
    point = interior(atom, args, edge)
    here = np.asarray(atom.numeric(point), dtype=float).reshape(atom.shape)
    if all(np.array_equal(p, a) for p, a in zip(point, args, strict=True)):
        return here
    slopes = pull_back(atom, point, here, np.ones(atom.shape))
    beyond = sum(s * (a - p) for s, a, p in zip(slopes, args, point, strict=True))
    return here + (np.sum(beyond) if atom.size == 1 else beyond)


def pull_back(
    atom: cp.Expression, args: Sequence[Array], value: Array, adjoint: Array
) -> list[Array]:
    """Slopes of `atom` times `adjoint`.

    Parameters
    ----------
    atom : cvxpy expression
    args : sequence of arrays
        Values of the arguments (see ``interior``).
    value : array
        The atom's value there.
    adjoint : array of the atom's shape

    Returns
    -------
    list of arrays, one of each argument's shape

    Raises
    ------
    ValueError
        The atom has no slope there (outside its domain).
    """
    rule = _RULES.get(type(atom).__name__, _generic)
    try:
        with np.errstate(all="ignore"):
            slopes = rule(atom, args, np.asarray(value), np.asarray(adjoint))
    except Exception as error:  # whatever the libraries below raise
        raise _no_slope(atom) from error
    if not all(np.all(np.isfinite(slope)) for slope in slopes):
        raise _no_slope(atom)
    return slopes


def _no_slope(atom: cp.Expression) -> ValueError:
    return ValueError(
        f"{short(atom)} has no finite slope at the current point: start inside its domain"
    )


def _generic(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    """The (sub)gradients of cvxpy itself, for the atoms without a rule below."""
    raw = atom._grad(list(args))
    slopes = []
    for matrix, arg in zip(raw, args, strict=False):
        if matrix is None:
            slopes.append(np.full(arg.shape, np.nan))
        elif np.ndim(matrix) == 0:
            slopes.append(unvec(matrix * vec(adjoint), arg.shape))
        else:
            slopes.append(unvec(matrix @ vec(adjoint), arg.shape))
    constants = args[len(slopes) :]  # some atoms leave out the arguments that must be constant
    return [*slopes, *(np.zeros(a.shape) for a in constants)]


def _elementwise(slope: Callable[[Any, Array], Array]) -> PullBack:
    def rule(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
        return [adjoint * slope(atom, args[0]), *(np.zeros(a.shape) for a in args[1:])]

    return rule


def _power(atom: Any, a: Array) -> Array:
    p = float(atom.p.value)
    a = np.where(a >= 0, a, np.nan) if one_sided(atom) else a
    return np.asarray(p * np.power(a, p - 1))


def _huber(atom: Any, a: Array) -> Array:
    m = float(atom.M.value)
    return 2 * np.clip(a, -m, m)


def _sigmoid(atom: Any, a: Array) -> Array:
    return np.asarray(0.5 * (1 + np.tanh(a / 2)))


def _extreme(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    """Maximum and minimum: all the slope to the winner, ties as the module says."""
    order = range(len(args))
    constants_first = type(atom).__name__ == "maximum"
    ranked = sorted(order, key=lambda i: (atom.args[i].is_constant() != constants_first, i))
    free = np.ones(atom.shape, dtype=bool)
    slopes: list[Array] = [np.zeros(atom.shape)] * len(args)
    for i in ranked:
        wins = free & (np.broadcast_to(args[i], atom.shape) == value)
        free = free & ~wins
        slopes[i] = _unbroadcast(np.where(wins, adjoint, 0.0), args[i].shape)
    return slopes


def _unbroadcast(array: Array, shape: tuple[int, ...]) -> Array:
    """The adjoint of broadcasting from `shape`: sums over what was repeated."""
    extra = array.ndim - len(shape)
    repeated = tuple(extra + i for i, length in enumerate(shape) if length == 1)
    return array.sum(axis=(*range(extra), *repeated)).reshape(shape)


def spread(atom: Any, array: Array, ndim: int, shape: tuple[int, ...] | None = None) -> Array:
    """An axis atom's output broadcast against its argument (to its very shape if given)."""
    if atom.axis is None:
        array = array.reshape((1,) * ndim)
    elif not atom.keepdims:
        array = np.expand_dims(array, atom.axis)
    return array if shape is None else np.broadcast_to(array, shape)


def _first(hits: Array, atom: Any) -> Array:
    """1 at the first hit behind each output of an axis atom, 0 elsewhere."""
    outputs = np.arange(atom.size).reshape(atom.shape, order="F")
    groups = vec(spread(atom, outputs, hits.ndim, hits.shape))
    winners = np.flatnonzero(vec(hits))
    _, first = np.unique(groups[winners], return_index=True)
    chosen = np.zeros(hits.size)
    chosen[winners[first]] = 1.0
    return unvec(chosen, hits.shape)


def _max_axis(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    a = args[0]
    hits = a == spread(atom, value, a.ndim)
    return [spread(atom, adjoint, a.ndim) * _first(hits, atom)]


def _norm1(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    return [spread(atom, adjoint, args[0].ndim) * np.sign(args[0])]


def _norm_inf(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    a = args[0]
    hits = np.abs(a) == spread(atom, value, a.ndim)
    return [spread(atom, adjoint, a.ndim) * _first(hits, atom) * np.sign(a)]


def _pnorm(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    a, p = args[0], float(atom.p)
    norm = spread(atom, value, a.ndim)
    scaled = np.divide(np.abs(a), norm, out=np.zeros(a.shape), where=norm > 0)
    power = np.power(scaled, p - 1, out=np.zeros(a.shape), where=scaled > 0)
    return [spread(atom, adjoint, a.ndim) * np.sign(a) * power]


def _quad_over_lin(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    x, y = args[0], float(args[1].reshape(()))
    y = y if y > 0 else np.nan
    w = spread(atom, adjoint, x.ndim)
    return [w * 2 * x / y, np.asarray(-np.sum(adjoint * value) / y).reshape(args[1].shape)]


def _sum_largest(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    """1 for the ⌊k⌋ largest entries, the rest of k for the next one."""
    a = args[0]
    axes = range(a.ndim) if atom.axis is None else np.atleast_1d(atom.axis)
    last = tuple(range(-len(axes), 0))
    moved = np.moveaxis(a, tuple(axes), last)
    rows = moved.reshape(*moved.shape[: moved.ndim - len(axes)], -1)
    share = np.clip(atom.k - np.arange(rows.shape[-1]), 0.0, 1.0)
    chosen = np.zeros(rows.shape)
    order = np.argsort(-rows, axis=-1, kind="stable")
    np.put_along_axis(chosen, order, np.broadcast_to(share, rows.shape), axis=-1)
    chosen = np.moveaxis(chosen.reshape(moved.shape), last, tuple(axes))
    return [spread(atom, adjoint, a.ndim) * chosen]


def _dotsort(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    """The weights in the order of the entries; cvxpy's takes rows for columns."""
    a, weights = args
    padded = np.zeros(max(a.size, weights.size))
    padded[: weights.size] = vec(weights)
    slope = np.zeros(a.size)
    slope[np.argsort(vec(a), kind="stable")] = np.sort(padded)[-a.size :]
    return [adjoint * unvec(slope, a.shape), np.zeros(weights.shape)]


def _log_sum_exp(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    a = args[0]
    share = np.exp(a - spread(atom, value, a.ndim))
    return [spread(atom, adjoint, a.ndim) * share]


def _rel_entr(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    x, y = args
    slopes = (np.log(x / y) + 1, -x / y)
    return [_unbroadcast(adjoint * d, a.shape) for d, a in zip(slopes, args, strict=True)]


def _kl_div(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    x, y = args
    slopes = (np.log(x / y), 1 - x / y)
    return [_unbroadcast(adjoint * d, a.shape) for d, a in zip(slopes, args, strict=True)]


def _quad_form(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    x, matrix = args
    return [adjoint.item() * (matrix + matrix.T) @ x, np.zeros(matrix.shape)]


def _log_det(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    inverse = np.linalg.inv((args[0] + args[0].T) / 2)
    return [np.asarray(adjoint.item() * inverse, dtype=float)]


_RULES: dict[str, PullBack] = {
    "maximum": _extreme,
    "minimum": _extreme,
    "abs": _elementwise(lambda atom, a: np.sign(a)),
    "Power": _elementwise(_power),
    "PowerApprox": _elementwise(_power),
    "exp": _elementwise(lambda atom, a: np.exp(a)),
    "log": _elementwise(lambda atom, a: 1 / a),
    "log1p": _elementwise(lambda atom, a: 1 / (1 + a)),
    "logistic": _elementwise(_sigmoid),
    "entr": _elementwise(lambda atom, a: -np.log(a) - 1),
    "huber": _elementwise(_huber),
    "max": _max_axis,
    "min": _max_axis,
    "norm1": _norm1,
    "norm_inf": _norm_inf,
    "Pnorm": _pnorm,
    "PnormApprox": _pnorm,
    "quad_over_lin": _quad_over_lin,
    "sum_largest": _sum_largest,
    "dotsort": _dotsort,
    "log_sum_exp": _log_sum_exp,
    "log_det": _log_det,
    "rel_entr": _rel_entr,
    "kl_div": _kl_div,
    "QuadForm": _quad_form,
}
