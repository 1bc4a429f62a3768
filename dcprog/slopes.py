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

from dcprog.tree import Array, unvec, vec

__all__ = ["EDGE", "interior", "pull_back"]

EDGE = 1e-10

PullBack = Callable[[Any, Sequence[Array], Array, Array], list[Array]]


def _power_exponent(atom: Any) -> float:
    used = getattr(atom, "p_used", None)
    return float(atom.p.value if used is None else used)


def interior(atom: cp.Expression, args: Sequence[Array]) -> list[Array]:
    """Arguments moved to ``EDGE`` inside the atom's domain where its slope would be infinite."""
    name = type(atom).__name__
    args = [np.asarray(a, dtype=float) for a in args]
    if name in {"log", "entr", "GeoMean", "GeoMeanApprox"}:
        return [np.maximum(args[0], EDGE), *args[1:]]
    if name in {"Power", "PowerApprox"} and _power_exponent(atom) < 1:
        return [np.maximum(args[0], EDGE), *args[1:]]
    if name in {"Pnorm", "PnormApprox"} and atom.p < 1:
        return [np.maximum(args[0], EDGE), *args[1:]]
    if name == "log1p":
        return [np.maximum(args[0], EDGE - 1), *args[1:]]
    if name in {"rel_entr", "kl_div"}:
        return [np.maximum(a, EDGE) for a in args]
    if name == "log_det":
        low = np.linalg.eigvalsh((args[0] + args[0].T) / 2)[0]
        return [args[0] + max(0.0, EDGE - low) * np.eye(args[0].shape[0])]
    return args


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
    with np.errstate(all="ignore"):
        slopes = rule(atom, args, value, adjoint)
    for slope in slopes:
        if not np.all(np.isfinite(slope)):
            raise ValueError(
                f"{atom.name()[:90]} has no finite slope at the current point: start inside its domain"
            )
    return slopes


def _generic(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    """cvxpy's own (sub)gradients, for the atoms without a rule below."""
    raw = atom._grad(list(args))
    slopes = []
    for matrix, arg in zip(raw, atom.args, strict=True):
        if matrix is None:
            slopes.append(np.full(arg.shape, np.nan))
        elif np.isscalar(matrix):
            slopes.append(unvec(float(matrix) * vec(adjoint), arg.shape))
        else:
            slopes.append(unvec(matrix @ vec(adjoint), arg.shape))
    return slopes


def _elementwise(slope: Callable[[Any, Array], Array]) -> PullBack:
    def rule(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
        return [adjoint * slope(atom, args[0]), *(np.zeros(a.shape) for a in atom.args[1:])]

    return rule


def _power(atom: Any, a: Array) -> Array:
    p = _power_exponent(atom)
    return np.asarray(p * np.power(a, p - 1))


def _huber(atom: Any, a: Array) -> Array:
    m = float(atom.M.value)
    return 2 * np.clip(a, -m, m)


def _sigmoid(atom: Any, a: Array) -> Array:
    return np.asarray(0.5 * (1 + np.tanh(a / 2)))


def _extreme(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    """maximum and minimum: all the slope to the winner, ties as the module says."""
    order = range(len(args))
    constants_first = type(atom).__name__ == "maximum"
    ranked = sorted(order, key=lambda i: (atom.args[i].is_constant() != constants_first, i))
    free = np.ones(atom.shape, dtype=bool)
    slopes: list[Array] = [np.zeros(atom.shape)] * len(args)
    for i in ranked:
        wins = free & (np.broadcast_to(args[i], atom.shape) == value)
        free = free & ~wins
        slopes[i] = _unbroadcast(np.where(wins, adjoint, 0.0), atom.args[i].shape)
    return slopes


def _unbroadcast(array: Array, shape: tuple[int, ...]) -> Array:
    """The adjoint of broadcasting from `shape`: sums over what was repeated."""
    extra = array.ndim - len(shape)
    repeated = tuple(extra + i for i, length in enumerate(shape) if length == 1)
    return array.sum(axis=(*range(extra), *repeated)).reshape(shape)


def _spread(atom: Any, array: Array, ndim: int) -> Array:
    """An axis atom's output broadcast against its argument."""
    axis = atom.axis
    if axis is None:
        return array.reshape((1,) * ndim)
    return array if atom.keepdims else np.expand_dims(array, axis)


def _max_axis(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    a = args[0]
    if atom.axis is None:
        slope = np.zeros(a.size)
        pick = np.argmax(vec(a)) if type(atom).__name__ == "max" else np.argmin(vec(a))
        slope[pick] = float(np.asarray(adjoint).reshape(()))
        return [unvec(slope, a.shape)]
    arg = np.argmax if type(atom).__name__ == "max" else np.argmin
    slope = np.zeros(a.shape)
    index = np.expand_dims(arg(a, axis=atom.axis), atom.axis)
    np.put_along_axis(slope, index, _spread(atom, np.asarray(adjoint), a.ndim), atom.axis)
    return [slope]


def _norm1(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    return [_spread(atom, np.asarray(adjoint), args[0].ndim) * np.sign(args[0])]


def _norm_inf(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    a = args[0]
    slope = np.zeros(a.shape)
    if atom.axis is None:
        index = np.unravel_index(np.argmax(np.abs(a)), a.shape)
        slope[index] = float(np.asarray(adjoint).reshape(())) * np.sign(a[index])
        return [slope]
    index = np.expand_dims(np.argmax(np.abs(a), axis=atom.axis), atom.axis)
    signed = _spread(atom, np.asarray(adjoint), a.ndim) * np.sign(
        np.take_along_axis(a, index, atom.axis)
    )
    np.put_along_axis(slope, index, signed, atom.axis)
    return [slope]


def _pnorm(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    a, p = args[0], float(atom.p)
    norm = _spread(atom, np.asarray(value), a.ndim)
    scaled = np.divide(np.abs(a), norm, out=np.zeros(a.shape), where=norm > 0)
    power = np.power(scaled, p - 1, out=np.zeros(a.shape), where=scaled > 0)
    return [_spread(atom, np.asarray(adjoint), a.ndim) * np.sign(a) * power]


def _quad_over_lin(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    x, y = args[0], float(args[1].reshape(()))
    w = _spread(atom, np.asarray(adjoint), x.ndim)
    return [w * 2 * x / y, np.asarray(-np.sum(adjoint * value) / y).reshape(args[1].shape)]


def _sum_largest(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    a, k = args[0], atom.k
    if getattr(atom, "axis", None) is not None or k != int(k):
        return _generic(atom, args, value, adjoint)
    slope = np.zeros(a.size)
    slope[np.argsort(-vec(a), kind="stable")[: int(k)]] = float(np.asarray(adjoint).reshape(()))
    return [unvec(slope, a.shape)]


def _log_sum_exp(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    a = args[0]
    share = np.exp(a - _spread(atom, np.asarray(value), a.ndim))
    return [_spread(atom, np.asarray(adjoint), a.ndim) * share]


def _log_det(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    symmetric = (args[0] + args[0].T) / 2
    return [float(np.asarray(adjoint).reshape(())) * np.linalg.inv(symmetric)]


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
    "log_sum_exp": _log_sum_exp,
    "log_det": _log_det,
}
