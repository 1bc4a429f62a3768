"""Smooth elementwise functions that are neither convex nor concave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms.elementwise.elementwise import Elementwise
from cvxpy.atoms.elementwise.hyperbolic import asinh, atanh, sinh, tanh
from cvxpy.atoms.elementwise.normcdf import normcdf
from cvxpy.atoms.elementwise.trig import cos, sin, tan

from dcprog.foundation.arrays import Array
from dcprog.majorants.rules.frame import Frame, Piece, Weight, majorise, plus, rewrite
from dcprog.majorants.rules.tangents import keep_domain
from dcprog.majorants.tree import Values

__all__ = ["bounded_curvature", "split_in_two", "xexp_of_positive"]


@dataclass(frozen=True)
class Smooth:
    """f', and a bound of |f''|."""

    derivative: Callable[[Array], Array]
    curvature: float


class tan_remainder(Elementwise):  # atoms of cvxpy are in lower case
    """tan x − 1/(π/2 − x) + 1/(π/2 + x), smooth on [−π/2, π/2]: the other poles of the tangent."""

    def numeric(self, values: list[Any]) -> Any:
        """The value; 0 outside, where the tangent has none."""
        x = np.asarray(values[0], dtype=float)
        with np.errstate(all="ignore"):
            rest = np.tan(x) - 1 / (np.pi / 2 - x) + 1 / (np.pi / 2 + x)
        at_pole = np.abs(np.abs(x) - np.pi / 2) < NEAR_POLE
        return np.where(at_pole, np.sign(x) / np.pi, np.where(np.abs(x) < np.pi / 2, rest, np.nan))

    def sign_from_args(self) -> tuple[bool, bool]:
        """Unknown."""
        return False, False

    def is_atom_convex(self) -> bool:
        """No."""
        return False

    def is_atom_concave(self) -> bool:
        """No."""
        return False

    def is_incr(self, idx: int) -> bool:
        """Its derivative is between 0.1 and 0.3."""
        return False

    def is_decr(self, idx: int) -> bool:
        """No."""
        return False

    def _grad(self, values: Any) -> Any:
        raise NotImplementedError

    def _domain(self) -> list[cp.Constraint]:
        return []


NEAR_POLE = 1e-4


def _tan_rest_slope(x: Array) -> Array:
    with np.errstate(all="ignore"):
        poles = 1 / (np.pi / 2 - x) ** 2 + 1 / (np.pi / 2 + x) ** 2
        slope = 1 / np.cos(x) ** 2 - poles
    return np.where(np.abs(np.abs(x) - np.pi / 2) < NEAR_POLE, 1 / 3 - 1 / np.pi**2, slope)


def _density(x: Array) -> Array:
    return np.asarray(np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi))


SMOOTH: dict[type, Smooth] = {
    sin: Smooth(np.cos, 1.0),
    cos: Smooth(lambda x: -np.sin(x), 1.0),
    tanh: Smooth(lambda x: 1 - np.tanh(x) ** 2, 4 / (3 * np.sqrt(3))),
    asinh: Smooth(lambda x: 1 / np.sqrt(1 + x**2), 2 / (3 * np.sqrt(3))),
    normcdf: Smooth(_density, float(_density(np.array(1.0)))),
    tan_remainder: Smooth(_tan_rest_slope, 2 / np.pi**3),
}


def bounded_curvature(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """f(x) ≤ f(x₀) + f'(x₀)(x − x₀) + (L/2)(x − x₀)² where f'' ≤ L, entry by entry."""
    known = SMOOTH.get(type(node))
    if known is None or weight.sign == 0:
        return None
    x = node.args[0]
    bound = known.curvature / 2
    heavy = Weight(1) if weight.fixed is None else Weight.constant(bound * np.abs(weight.fixed))
    square = majorise(cp.square(x), heavy, frame)
    line = majorise(x, Weight(0), frame)

    def update(w: Array, values: Values) -> Any:
        at = values.array(x)
        steep = bound * np.abs(w)
        slope = w * known.derivative(at) - 2 * steep * at
        here = w * values.array(node) - slope * at - steep * at**2
        return square.update(steep, values) + line.update(slope, values) + frame.constant(here)

    rule = "smooth: a parabola of its largest curvature"
    return Piece(node, rule, plus(square, line), update, [square, line])


def split_in_two(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """sinh, tan and atanh as differences of convex atoms."""
    build = SPLIT.get(type(node))
    if build is None:
        return None
    other = build(node.args[0])
    return rewrite(node, other, weight, frame, f"{type(node).__name__}: {WORDS[type(node)]}")


def xexp_of_positive(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """x·eˣ, which cvxpy takes for x ≥ 0 alone, whatever it knows of x."""
    if not isinstance(node, cp.xexp) or node.args[0].is_nonneg():
        return None
    keep_domain(node, frame.context)
    return rewrite(node, cp.xexp(cp.pos(node.args[0])), weight, frame, "xexp: of x₊, for x ≥ 0")


SPLIT: dict[type, Callable[[Any], cp.Expression]] = {
    sinh: lambda x: 0.5 * cp.exp(x) - 0.5 * cp.exp(-x),
    atanh: lambda x: 0.5 * cp.log1p(x) - 0.5 * cp.log1p(-x),
    tan: lambda x: cp.inv_pos(np.pi / 2 - x) - cp.inv_pos(np.pi / 2 + x) + tan_remainder(x),
}

WORDS = {
    sinh: "a difference of exponentials",
    atanh: "a difference of logarithms",
    tan: "its two poles, and a smooth remainder",
}
