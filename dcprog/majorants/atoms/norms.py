"""Slopes and values of norms, squares over a number and log-sum-exp, along an axis or of all.

Norms have slope 0 at 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.majorants.atoms.axes import spread
from dcprog.majorants.atoms.elementwise import of_nonnegative
from dcprog.majorants.atoms.entry import Edge, plain
from dcprog.majorants.atoms.extremes import first_hits

__all__ = [
    "log_sum_exp_slope",
    "norm1_slope",
    "norm_inf_slope",
    "norm_inf_value",
    "pnorm_edge",
    "pnorm_slope",
    "pnorm_value",
    "quad_over_lin_slope",
    "quad_over_lin_value",
]


def norm1_slope(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    """Slope of the 1-norm: the signs of the entries."""
    return [spread(atom, adjoint, args[0].ndim) * np.sign(args[0])]


def norm_inf_slope(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    """Slope of the ∞-norm: the sign of the first of the largest entries, 0 for the others."""
    a = args[0]
    hits = np.abs(a) == spread(atom, value, a.ndim)
    return [spread(atom, adjoint, a.ndim) * first_hits(hits, atom) * np.sign(a)]


def norm_inf_value(atom: Any, args: list[Any], slack: float) -> Any:
    """Value of the ∞-norm; 0 for an array without entries."""
    return plain(atom, args) if args[0].size else np.zeros(atom.shape)


def pnorm_slope(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    """Slope sign(a)·(|a|/‖a‖)ᵖ⁻¹ of the p-norm."""
    a, p = args[0], float(atom.p)
    norm = spread(atom, value, a.ndim)
    scaled = np.divide(np.abs(a), norm, out=np.zeros(a.shape), where=norm > 0)
    power = np.power(scaled, p - 1, out=np.zeros(a.shape), where=scaled > 0)
    return [spread(atom, adjoint, a.ndim) * np.sign(a) * power]


def pnorm_value(atom: Any, args: list[Any], slack: float) -> Any:
    """Value (Σ|a|ᵖ)^(1/p) of the p-norm; for p < 1 of nonnegative entries only."""
    return (of_nonnegative if atom.p < 1 else plain)(atom, args, slack)


def pnorm_edge(atom: Any) -> Edge | None:
    """The edge of the p-norm: at 0 for p < 1, none for other p."""
    return Edge() if atom.p < 1 else None


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


def log_sum_exp_slope(
    atom: Any, args: Sequence[Array], value: Array, adjoint: Array
) -> list[Array]:
    """Slope of log-sum-exp: the shares of the exponentials in their sum."""
    a = args[0]
    share = np.exp(a - spread(atom, value, a.ndim))
    return [spread(atom, adjoint, a.ndim) * share]
