"""Atoms of several numbers: products, norms, largest and least entries, convex functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dcprog.bounds.relaxed.curves import INVERSE, POSITIVE, ROOT, SQUARE
from dcprog.bounds.relaxed.relaxed import Relaxed, constant, largest, plus, times
from dcprog.foundation.arrays import Array, unvec, vec
from dcprog.foundation.errors import NotBoundable
from dcprog.majorants.atoms.table import entry
from dcprog.majorants.tree import short

__all__ = [
    "absolute",
    "by_axis",
    "convex_atom",
    "entries",
    "euclidean",
    "inverse",
    "largest_of",
    "matrix_product",
    "quadratic_form",
    "sum_of_largest",
    "total",
]


def total(a: Relaxed, groups: npt.NDArray[np.intp] | None = None) -> Relaxed:
    """The sum of the entries, or of each line of `groups`."""
    lines = np.arange(a.size)[None] if groups is None else groups
    shape = (lines.shape[0], a.size)
    owner = np.repeat(np.arange(lines.shape[0]), lines.shape[1])
    return a.mapped(sp.csr_array((np.ones(lines.size), (owner, lines.ravel())), shape))


def absolute(a: Relaxed) -> Relaxed:
    """|a| = a + 2(−a)₊."""
    twice = sp.csr_array(2 * sp.eye_array(a.size))
    found = plus(a, POSITIVE(-a).mapped(twice))
    low = np.where((a.lo < 0) & (a.hi > 0), 0.0, np.minimum(np.abs(a.lo), np.abs(a.hi)))
    found.lo, found.hi = low, np.maximum(np.abs(a.lo), np.abs(a.hi))
    below = np.maximum(np.maximum(a.below, -a.above), 0.0)
    side = np.where((a.below >= below)[:, :, None], a.slope_below, -a.slope_above)
    found.below, found.slope_below = below, np.where((below > 0)[:, :, None], side, 0.0)
    return found.cut()


def entries(shape: tuple[int, ...]) -> npt.NDArray[np.intp]:
    """The places of the entries in a column-major vector, in the shape."""
    return np.arange(int(np.prod(shape))).reshape(shape, order="F")


def by_axis(node: Any) -> npt.NDArray[np.intp]:
    """The places that an atom along an axis takes together, a line each, in the result's order."""
    places = entries(node.args[0].shape)
    axis = getattr(node, "axis", None)
    if axis is None or places.ndim < 2:
        return places.ravel()[None]
    gone = tuple(np.atleast_1d(axis) % places.ndim)
    rest = [k for k in range(places.ndim) if k not in gone]
    moved = np.transpose(places, [*rest[::-1], *gone])  # the first axis that is left runs fastest
    return moved.reshape(int(np.prod([places.shape[k] for k in rest])), -1)


def largest_of(a: Relaxed, lines: npt.NDArray[np.intp]) -> Relaxed:
    """The largest entry of each line, two by two."""
    parts = [a.take(column) for column in lines.T]
    while len(parts) > 1:
        pairs = [largest(*pair) for pair in zip(parts[::2], parts[1::2], strict=False)]
        parts = pairs + parts[len(parts) - len(parts) % 2 :]
    return parts[0]


def sum_of_largest(a: Relaxed, k: int) -> Relaxed:
    """The sum of the k largest entries; it is at most kν + Σ (a − ν)₊ for any ν."""
    if k >= a.size:
        return total(a)
    order = np.argsort(-a.below, axis=1, kind="stable")[:, :k]
    slope_below = np.take_along_axis(a.slope_below, order[:, :, None], axis=1).sum(axis=1)
    middle = np.partition(a.value, a.size - k, axis=1)[:, [a.size - k]]
    nu = np.where(np.isfinite(middle), middle, 0.0)
    excess = total(POSITIVE(a.shifted(-nu)))
    lo, hi, value = (_top(side, k) for side in (a.lo, a.hi, a.value))
    below = np.take_along_axis(a.below, order, axis=1).sum(axis=1)[:, None]
    above = excess.above + k * nu
    slope_above = excess.slope_above
    return Relaxed(lo, hi, below, above, slope_below[:, None, :], slope_above, value).cut()


def _top(side: Array, k: int) -> Array:
    """The sum of the k largest of each line."""
    return np.sort(side, axis=1)[:, side.shape[1] - k :].sum(axis=1)[:, None]


def euclidean(a: Relaxed, lines: npt.NDArray[np.intp]) -> Relaxed:
    """‖a‖₂ of each line: below it the norm of what is below |a|, above it √(Σ above a²)."""
    squares = total(SQUARE(a), lines)
    found = -ROOT(squares)
    size = absolute(a)
    below = np.maximum(size.below, 0.0)[:, lines]
    norm = np.sqrt((below**2).sum(axis=2))
    share = np.divide(
        below, norm[:, :, None], out=np.zeros(below.shape), where=norm[:, :, None] > 0
    )
    found.below = norm
    found.slope_below = np.einsum("blk,blkp->blp", share, size.slope_below[:, lines])
    return found.cut()


def inverse(b: Relaxed) -> Relaxed:
    """1/b where b has one sign on the box; nothing is known where it has both."""
    positive, negative = INVERSE(b), -INVERSE(-b)
    up, down = b.lo >= 0, b.hi <= 0
    found = {}
    for name in Relaxed.__dataclass_fields__:
        one, other = getattr(positive, name), getattr(negative, name)
        sides = (up, down) if one.ndim == 2 else (up[:, :, None], down[:, :, None])
        nothing = {"lo": -np.inf, "below": -np.inf, "hi": np.inf, "above": np.inf}.get(name, 0.0)
        found[name] = np.where(sides[0], one, np.where(sides[1], other, nothing))
    with np.errstate(divide="ignore"):
        found["value"] = 1 / b.value
    return Relaxed(**found)


def matrix_product(node: Any, a: Relaxed, b: Relaxed) -> Relaxed:
    """The matrix product, as sums of products of entries."""
    left, right = (entries(arg.shape) for arg in node.args)
    rows = left[None] if left.ndim == 1 else left
    columns = right[:, None] if right.ndim == 1 else right
    if rows.ndim > 2 or columns.ndim > 2:
        raise NotBoundable(short(node), "a product of arrays of more than two dimensions", "@")
    m, k, n = rows.shape[0], rows.shape[1], columns.shape[1]
    first = np.broadcast_to(rows[:, None, :], (m, n, k))
    second = np.broadcast_to(columns.T[None], (m, n, k))
    order = np.swapaxes(first, 0, 1).reshape(-1), np.swapaxes(second, 0, 1).reshape(-1)
    x, y = a.take(order[0]), b.take(order[1])
    same = node.args[0] is node.args[1] and np.array_equal(*order)
    products = SQUARE(x) if same else times(x, y)
    return total(products, np.arange(m * n * k).reshape(m * n, k))


def quadratic_form(a: Relaxed, matrix: Array) -> Relaxed:
    """xᵀPx as Σ λ_k (v_k·x)², with P's eigenvalues and eigenvectors."""
    sizes, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    squares = SQUARE(a.mapped(sp.csr_array(vectors.T)))
    return squares.mapped(sp.csr_array(sizes[None]))


def convex_atom(node: Any, args: list[Relaxed]) -> Relaxed:
    """A convex atom that rises or falls in each argument: below it its tangent, above it its range.

    Raises
    ------
    NotBoundable
        It does neither, and the argument is not affine.
    """
    at, low, high, sides = [], [], [], []
    for i, (arg, a) in enumerate(zip(node.args, args, strict=True)):
        rises, falls = node.is_incr(i), node.is_decr(i)
        if not (rises or falls or arg.is_constant()):
            raise NotBoundable(
                short(node),
                f"{type(node).__name__} neither rises nor falls in `{short(arg, 50)}`",
                "an equivalent form by squares, products, norms of two or monotone functions",
            )
        at.append(a.below if rises else a.above)
        low.append(a.lo if rises else a.hi)
        high.append(a.hi if rises else a.lo)
        sides.append(a.slope_below if rises else a.slope_above)
    boxes, p = args[0].lo.shape[0], args[0].slope_below.shape[2]
    found = constant(np.zeros(node.size), args[0])
    lo, hi, below, value = (np.empty((boxes, node.size)) for _ in range(4))
    slope = np.zeros((boxes, node.size, p))
    with np.errstate(all="ignore"):
        for k in range(boxes):
            lo[k], hi[k] = _value(node, [x[k] for x in low]), _value(node, [x[k] for x in high])
            value[k] = _value(node, [a.value[k] for a in args])
            below[k] = _value(node, [x[k] for x in at])
            shaped = [unvec(x[k], arg.shape) for x, arg in zip(at, node.args, strict=True)]
            for j in range(node.size):
                adjoint = unvec(np.eye(1, node.size, j)[0], node.shape)
                rule: Any = entry(node).slope
                pulled = rule(node, shaped, unvec(below[k], node.shape), adjoint)
                for weight, side in zip(pulled, sides, strict=True):
                    slope[k, j] += vec(weight) @ side[k]
    known = np.isfinite(below) & np.all(np.isfinite(slope), axis=2)
    found.lo, found.hi = np.where(np.isnan(lo), -np.inf, lo), np.where(np.isnan(hi), np.inf, hi)
    found.below = np.where(known, below, found.lo)
    found.slope_below = np.where(known[:, :, None], slope, 0.0)
    found.above, found.value = found.hi, value
    return found.cut()


def _value(node: Any, args: list[Array]) -> Array:
    shaped = [unvec(x, arg.shape) for x, arg in zip(args, node.args, strict=True)]
    return vec(node.numeric(shaped))
