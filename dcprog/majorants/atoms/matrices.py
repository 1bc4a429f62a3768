"""Slopes and values of functions of matrices, and of an expression in another's units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dcprog.foundation.arrays import Array, dense
from dcprog.majorants.atoms.entry import SLACK, plain, within

__all__ = [
    "log_det_slope",
    "log_det_value",
    "matrix_frac_value",
    "perspective_value",
    "quad_form_slope",
    "tr_inv_value",
    "von_neumann_entr_value",
]

ROUNDING = 1e-13


def quad_form_slope(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    """(P + Pᵀ)x; the matrix is constant."""
    x, matrix = args
    return [adjoint.item() * (matrix + matrix.T) @ x, np.zeros(matrix.shape)]


def log_det_slope(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    """The inverse."""
    inverse = np.linalg.inv((args[0] + args[0].T) / 2)
    return [np.asarray(adjoint.item() * inverse, dtype=float)]


def log_det_value(atom: Any, args: list[Any], slack: float) -> Any:
    """Log det A, −∞ at the edge of the cone."""
    eigenvalues, _ = _spectrum(args[0], slack)
    if np.min(eigenvalues) == 0:
        return np.sum(np.log(eigenvalues))
    return _semidefinite(atom, args, eigenvalues)


def tr_inv_value(atom: Any, args: list[Any], slack: float) -> Any:
    """Tr A⁻¹, ∞ at the edge of the cone."""
    eigenvalues, _ = _spectrum(args[0], slack)
    return np.inf if np.min(eigenvalues) == 0 else _semidefinite(atom, args, eigenvalues)


def matrix_frac_value(atom: Any, args: list[Any], slack: float) -> Any:
    """tr(XᵀP⁻¹X); at the edge it is finite where the columns of X are in the range of P."""
    x = dense(args[0]).reshape(args[0].shape[0], -1)
    eigenvalues, vectors = _spectrum(args[1], slack)
    if np.any(np.isnan(eigenvalues)) or np.min(eigenvalues) > 0:
        return _semidefinite(atom, args, eigenvalues)
    squares = np.sum((vectors.T @ x) ** 2, axis=1)
    squares[squares <= ROUNDING**2 * np.sum(squares)] = 0.0
    return np.sum(np.divide(squares, eigenvalues, out=np.zeros(x.shape[0]), where=squares > 0))


def von_neumann_entr_value(atom: Any, args: list[Any], slack: float) -> Any:
    """−Σ λ·log λ."""
    eigenvalues, _ = _spectrum(args[0], slack)
    positive = eigenvalues[~(eigenvalues == 0)]
    return -np.sum(positive * np.log(positive))


def _spectrum(matrix: Any, slack: float) -> tuple[Array, Array]:
    """Eigenvalues and vectors of a semidefinite matrix; what rounding leaves of a zero is 0."""
    matrix = dense(matrix)
    eigenvalues, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    largest = float(np.max(np.abs(eigenvalues), initial=0.0))
    inside = np.where(np.abs(eigenvalues) <= ROUNDING * largest, 0.0, eigenvalues)
    return within(inside, min(slack, SLACK * largest)), vectors


def _semidefinite(atom: Any, args: list[Any], eigenvalues: Array) -> Any:
    return np.nan if np.any(np.isnan(eigenvalues)) else plain(atom, args)


def perspective_value(atom: Any, args: list[Any], slack: float) -> Any:
    """s·f(x/s), its recession at s = 0; the variables get their values back."""
    s = float(within(args[0], slack).item())
    f = atom.f if s > 0 else atom.f_recession
    if f is None:  # a closed f has 0·f(0/0) = 0; elsewhere cvxpy wants to be told the limit
        return np.nan if any(np.any(a) for a in args[1:]) else 0.0 * s
    variables = atom.f.variables()
    before = [v.value for v in variables]
    try:
        for variable, array in zip(variables, args[1:], strict=True):
            variable.save_value(np.asarray(array) / (s or 1.0))
        return (s or 1.0) * np.asarray(f.value, dtype=float)
    finally:
        for variable, array in zip(variables, before, strict=True):
            variable.save_value(array)
