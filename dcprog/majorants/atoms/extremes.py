"""Slopes of maxima, minima and sums of the largest entries: the extreme entry takes the slope.

Ties. The subgradient is the one that *adds no linear term*: max(u, 0) has slope 0 at u = 0, and
min(u, c) keeps slope 1 at u = c. So a truncated hinge H₁ − H_s is still the full hinge at u = s,
and a sample exactly at its cap keeps its weight; with the other choice w = 0 is a trap. Between
several non-constant arguments the first one wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dcprog.foundation.arrays import Array, dense, unvec, vec
from dcprog.majorants.atoms.axes import spread, unbroadcast
from dcprog.majorants.atoms.entry import plain

__all__ = [
    "dotsort_slope",
    "extreme_entry_slope",
    "first_hits",
    "maximum_slope",
    "minimum_slope",
    "sorted_value",
    "sum_largest_slope",
]


def maximum_slope(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    """Slope of ``maximum``: the largest argument takes all of it, at ties a constant one."""
    return _to_winner(atom, args, value, adjoint, constants_first=True)


def minimum_slope(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    """Slope of ``minimum``: the least argument takes all of it, at ties a nonconstant one."""
    return _to_winner(atom, args, value, adjoint, constants_first=False)


def _to_winner(
    atom: Any, args: Sequence[Array], value: Array, adjoint: Array, *, constants_first: bool
) -> list[Array]:
    order = range(len(args))
    ranked = sorted(order, key=lambda i: (atom.args[i].is_constant() != constants_first, i))
    free = np.ones(atom.shape, dtype=bool)
    slopes: list[Array] = [np.zeros(atom.shape)] * len(args)
    for i in ranked:
        wins = free & (np.broadcast_to(args[i], atom.shape) == value)
        free = free & ~wins
        slopes[i] = unbroadcast(np.where(wins, adjoint, 0.0), args[i].shape)
    return slopes


def first_hits(hits: Array, atom: Any) -> Array:
    """1 at the first hit among the entries of each output of an axis atom, 0 at all others."""
    outputs = np.arange(atom.size).reshape(atom.shape, order="F")
    groups = vec(spread(atom, outputs, hits.ndim, hits.shape))
    winners = np.flatnonzero(vec(hits))
    _, first = np.unique(groups[winners], return_index=True)
    chosen = np.zeros(hits.size)
    chosen[winners[first]] = 1.0
    return unvec(chosen, hits.shape)


def extreme_entry_slope(
    atom: Any, args: Sequence[Array], value: Array, adjoint: Array
) -> list[Array]:
    """Slope of ``max`` or ``min`` along an axis: the first extreme entry takes all of it."""
    a = args[0]
    hits = a == spread(atom, value, a.ndim)
    return [spread(atom, adjoint, a.ndim) * first_hits(hits, atom)]


def sum_largest_slope(
    atom: Any, args: Sequence[Array], value: Array, adjoint: Array
) -> list[Array]:
    """Slope of ``sum_largest``: 1 for the ⌊k⌋ largest entries, k − ⌊k⌋ for the next one."""
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
