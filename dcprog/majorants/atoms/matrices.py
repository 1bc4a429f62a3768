"""Slopes and values of functions of matrices, and values of perspectives."""

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
    return within(inside, min(slack, SLACK * largest)), vectors


def _semidefinite(atom: Any, args: list[Any], eigenvalues: Array) -> Any:
    return np.nan if np.any(np.isnan(eigenvalues)) else plain(atom, args)


def perspective_value(atom: Any, args: list[Any], slack: float) -> Any:
    """Value s·f(x/s) of a perspective, at s = 0 its recession; f's variables keep their values."""
    s = float(within(args[0], slack).item())
    f = atom.f if s > 0 else atom.f_recession
    if f is None:  # a closed f has 0·f(0/0) = 0; elsewhere cvxpy needs the recession function
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
