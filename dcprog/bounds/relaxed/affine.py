"""Affine parts of expressions, as matrices."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.affine.affine_atom import AffAtom

from dcprog.bounds.relaxed.relaxed import Relaxed
from dcprog.foundation.arrays import Array, vec

__all__ = ["affine_form", "affine_relaxed", "coefficients"]


def coefficients(node: AffAtom) -> tuple[list[sp.csr_array | None], Array]:
    """The matrix of each argument, None for constants, and the constant, of an affine atom.

    Column-major vectors, as everywhere in cvxpy.
    """
    zero = [arg.value if arg.is_constant() else np.zeros(arg.shape) for arg in node.args]
    matrices: list[sp.csr_array | None] = []
    for arg, found in zip(node.args, node._grad(zero), strict=True):
        matrices.append(None if arg.is_constant() else sp.csr_array(sp.csr_array(found).T))
    return matrices, vec(node.numeric(zero))


def affine_form(
    node: Any, columns: dict[int, int], size: int, memo: dict[int, tuple[Any, Any]]
) -> tuple[sp.csr_array, Array]:
    """An affine expression as (A, b), A·x + b with the variables' places in x."""
    key = id(node)
    if key not in memo:
        memo[key] = _form(node, columns, size, memo)
    return memo[key]


def _form(
    node: Any, columns: dict[int, int], size: int, memo: dict[int, tuple[Any, Any]]
) -> tuple[sp.csr_array, Array]:
    if isinstance(node, cp.Variable):
        place = columns[node.id] + np.arange(node.size)
        ones = np.ones(node.size)
        return sp.csr_array((ones, (np.arange(node.size), place)), (node.size, size)), 0 * ones
    if node.is_constant():
        return sp.csr_array((node.size, size)), vec(node.value)
    matrices, offset = coefficients(node)
    total, constant = sp.csr_array((node.size, size)), offset.copy()
    for arg, matrix in zip(node.args, matrices, strict=True):
        if matrix is not None:
            inner, shift = affine_form(arg, columns, size, memo)
            total, constant = total + matrix @ inner, constant + matrix @ shift
    return sp.csr_array(total), constant


def affine_relaxed(matrix: Array, offset: Array, lo: Array, hi: Array, z: Array) -> Relaxed:
    """A·x + b on boxes: its own relaxation, above and below."""
    with np.errstate(invalid="ignore"):
        plus, minus = np.maximum(matrix, 0.0), np.minimum(matrix, 0.0)
        if np.all(np.isfinite(lo)) and np.all(np.isfinite(hi)):
            least, most = lo @ plus.T + hi @ minus.T, hi @ plus.T + lo @ minus.T
        else:
            ends = np.stack([lo[:, None, :] * matrix, hi[:, None, :] * matrix])
            ends = np.where(matrix == 0, 0.0, ends)
            least, most = ends.min(axis=0).sum(axis=2), ends.max(axis=0).sum(axis=2)
    value = z @ matrix.T + offset
    slope = np.broadcast_to(matrix, (lo.shape[0], *matrix.shape))
    return Relaxed(least + offset, most + offset, value, value, slope, slope, value)
