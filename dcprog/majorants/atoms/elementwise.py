"""Slopes and values of powers, logarithms and their like, entry by entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.majorants.atoms.axes import unbroadcast
from dcprog.majorants.atoms.entry import Edge, PullBack, plain, within

__all__ = [
    "derivative",
    "entr_value",
    "even_power",
    "huber_derivative",
    "kl_div_slope",
    "of_nonnegative",
    "power_derivative",
    "power_edge",
    "power_value",
    "rel_entr_slope",
    "sigmoid",
    "xexp_derivative",
]


def derivative(slope: Callable[[Any, Array], Array]) -> PullBack:
    """The slope of an elementwise atom of one argument, from its derivative."""

    def rule(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
        return [adjoint * slope(atom, args[0]), *(np.zeros(a.shape) for a in args[1:])]

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


def power_edge(atom: Any) -> Edge | None:
    """The edge of a power: at 0 for 0 < p < 1, none for other p."""
    return Edge() if 0 < float(atom.p.value) < 1 else None


def even_power(atom: Any, index: int) -> bool:
    """True if the exponent is 2, 4, 6, …."""
    p = float(atom.p.value)
    return p > 1 and p % 2 == 0


def _is_whole(p: float) -> bool:
    """True if the power is defined on both sides of 0 (p = 1, 2, 3, …)."""
    return p >= 1 and p % 1 == 0


# ----------------------------------------------------------------------------------------------
# others


def huber_derivative(atom: Any, a: Array) -> Array:
    """Derivative of the Huber function: 2a, clipped to [−2M, 2M]."""
    m = float(atom.M.value)
    return 2 * np.clip(a, -m, m)


def xexp_derivative(atom: Any, a: Array) -> Array:
    """Derivative (1 + a)eᵃ of a·eᵃ."""
    return np.asarray((1 + a) * np.exp(a))


def sigmoid(atom: Any, a: Array) -> Array:
    """Derivative 1/(1 + e⁻ᵃ) of log(1 + eᵃ)."""
    return np.asarray(0.5 * (1 + np.tanh(a / 2)))


def entr_value(atom: Any, args: list[Any], slack: float) -> Any:
    """Value −a·log a of the entropy; cvxpy's own is −∞ for NaN."""
    inside = within(args[0], slack)
    return np.where(np.isnan(inside), np.nan, plain(atom, [inside]))


def rel_entr_slope(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    """Slopes of x·log(x/y)."""
    x, y = args
    slopes = (np.log(x / y) + 1, -x / y)
    return [unbroadcast(adjoint * d, a.shape) for d, a in zip(slopes, args, strict=True)]


def kl_div_slope(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    """Slopes of x·log(x/y) − x + y."""
    x, y = args
    slopes = (np.log(x / y), 1 - x / y)
    return [unbroadcast(adjoint * d, a.shape) for d, a in zip(slopes, args, strict=True)]
