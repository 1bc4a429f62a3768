"""Smooth elementwise functions that are neither convex nor concave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms.elementwise.elementwise import Elementwise
from cvxpy.atoms.elementwise.hyperbolic import asinh, atanh, sinh, tanh
from cvxpy.atoms.elementwise.normcdf import normcdf
from cvxpy.atoms.elementwise.trig import cos, sin, tan

from dcprog.foundation.arrays import Array
from dcprog.majorants.atoms import OddPower, SignedXexp
from dcprog.majorants.rules.frame import Frame, Piece, Weight, majorise, plus, rewrite
from dcprog.majorants.tree import Values

__all__ = ["bounded_curvature", "odd_power", "signed_xexp", "split_in_two"]


@dataclass(frozen=True)
class Smooth:
    """The derivative f' of a function, and a bound of |f''|."""

    derivative: Callable[[Array], Array]
    curvature: float


@dataclass(frozen=True)
class Bend:
    """A convex h, its derivative h', and a factor c ≥ 0, a number or a function of x₀.

    Σ c·h − f is convex, or Σ c·h + f where f stands under a minus.
    """

    function: Callable[[cp.Expression], cp.Expression]
    derivative: Callable[[Array], Array]
    factor: float | Callable[[Array], Array]

    def weight(self, weight: Weight) -> Weight:
        """The weight c·|w| of h, as far as it is known in advance."""
        if weight.fixed is None or callable(self.factor):
            return Weight(1)
        return Weight.constant(self.factor * np.abs(weight.fixed))

    def scale(self, w: Array, x0: Array) -> Array:
        """The factor c·|w| of h at x₀."""
        return np.abs(w) * (self.factor(x0) if callable(self.factor) else self.factor)


class tan_remainder(Elementwise):  # atoms of cvxpy are in lower case
    """tan x − 1/(π/2 − x) + 1/(π/2 + x), smooth on [−π/2, π/2]: the other poles of the tangent."""

    def numeric(self, values: list[Any]) -> Any:
        """The value; NaN outside [−π/2, π/2]."""
        x = np.asarray(values[0], dtype=float)
        with np.errstate(all="ignore"):
            rest = np.tan(x) - 1 / (np.pi / 2 - x) + 1 / (np.pi / 2 + x)
        at_pole = np.abs(np.abs(x) - np.pi / 2) < NEAR_POLE
        return np.where(at_pole, np.sign(x) / np.pi, np.where(np.abs(x) < np.pi / 2, rest, np.nan))

    def sign_from_args(self) -> tuple[bool, bool]:
        """The sign is unknown."""
        return False, False

    def is_atom_convex(self) -> bool:
        """False: the atom is not convex."""
        return False

    def is_atom_concave(self) -> bool:
        """False: the atom is not concave."""
        return False

    def is_incr(self, idx: int) -> bool:
        """False: the rules do not use that the atom increases."""
        return False

    def is_decr(self, idx: int) -> bool:
        """False: the atom does not decrease."""
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
    square = Bend(cp.square, lambda x: 2 * x, known.curvature / 2)
    rule = "smooth: a parabola of its largest curvature"
    return _bent(node, node.args[0], known.derivative, [square], weight, frame, rule)


def signed_xexp(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """x·eˣ ≤ e²ˣ⁻ᶜ/4 + (c + 1)eˣ + a line, and −x·eˣ ≤ (eᶜ/2)x² − (c + 3)eˣ + a line.

    For every c the curvature (x + 2)eˣ is at most (eˣ⁻ᶜ + c + 1)eˣ, and −(x + 2)eˣ at most
    eᶜ − (c + 3)eˣ, with equality at x = c. So c is x₀, or −1 and −3 where the factor of eˣ would
    be negative.
    """
    if not isinstance(node, SignedXexp) or weight.sign == 0:
        return None
    bends = UNDER if weight.sign > 0 else OVER
    rule = "xexp: the curvature of exponentials"
    return _bent(node, node.args[0], _xexp_slope, bends, weight, frame, rule)


def _xexp_slope(x: Array) -> Array:
    return np.asarray((1 + x) * np.exp(x))


UNDER = (
    Bend(
        lambda x: cp.exp(2 * x),
        lambda x: 2 * np.exp(2 * x),
        lambda x0: np.exp(-np.maximum(x0, -1)) / 4,
    ),
    Bend(cp.exp, np.exp, lambda x0: np.maximum(x0, -1) + 1),
)
OVER = (
    Bend(cp.square, lambda x: 2 * x, lambda x0: np.exp(np.minimum(x0, -3)) / 2),
    Bend(cp.exp, np.exp, lambda x0: -3 - np.minimum(x0, -3)),
)


def _bent(
    node: cp.Expression,
    x: cp.Expression,
    derivative: Callable[[Array], Array],
    bends: Sequence[Bend],
    weight: Weight,
    frame: Frame,
    rule: str,
) -> Piece:
    """w·f ≤ |w|·Σ cₖhₖ + the tangent at x₀ of the rest, w·f − |w|·Σ cₖhₖ, which is concave."""
    curves = [bend.function(x) for bend in bends]
    bent = [
        majorise(curve, bend.weight(weight), frame)
        for curve, bend in zip(curves, bends, strict=True)
    ]
    line = majorise(x, Weight(0), frame)

    def update(w: Array, values: Values) -> Any:
        x0 = values.array(x)
        slope, here, total = w * derivative(x0), w * values.array(node), 0.0
        for piece, curve, bend in zip(bent, curves, bends, strict=True):
            factor = bend.scale(w, x0)
            slope = slope - factor * bend.derivative(x0)
            here = here - factor * values.array(curve)
            total = total + piece.update(factor, values)
        return total + line.update(slope, values) + frame.constant(here - slope * x0)

    return Piece(node, rule, plus(*bent, line), update, [*bent, line])


def odd_power(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """x³, x⁵, … for x of either sign: x₊³ − (−x)₊³."""
    if not isinstance(node, OddPower):
        return None
    x, p = node.args[0], node.p.value
    halves = cp.power(cp.pos(x), p) - cp.power(cp.neg(x), p)
    return rewrite(node, halves, weight, frame, "odd power: its halves")


def split_in_two(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """sinh, tan and atanh as differences of convex atoms."""
    build = SPLIT.get(type(node))
    if build is None:
        return None
    other = build(node.args[0])
    return rewrite(node, other, weight, frame, f"{type(node).__name__}: {WORDS[type(node)]}")


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
