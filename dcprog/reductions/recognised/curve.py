"""Functions of one number: Σ factor·loss(u) + slope·u + constant, and concave functions of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from dcprog.foundation.errors import NotMajorizable
from dcprog.losses import (
    ConvexLoss,
    Loss,
    absolute,
    cap,
    epsilon_insensitive,
    hinge,
    huber,
    log,
    logistic,
    pinball,
    power,
    rescale,
    square,
    squared,
    squared_hinge,
)
from dcprog.losses.loss import stretched


class Unrecognised(Exception):
    """The problem, or a part of it, is not of the form that is looked for."""


# ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Curve:
    """Σ factor·loss(u) + slope·u + constant.

    Examples
    --------
    >>> u = Curve(slope=1.0)
    >>> ramp = least(largest(Curve(constant=1.0) + u.times(-1.0), 0.0), 1.0)
    >>> ramp.as_loss()
    (1.0, cap(c=1.0, loss=hinge()))
    """

    terms: tuple[tuple[float, Loss], ...] = ()
    slope: float = 0.0
    constant: float = 0.0

    def __add__(self, other: Curve) -> Curve:
        constant, terms = self.constant + other.constant, self.terms + other.terms
        if len(self.terms) == len(other.terms) == 1 and self.terms[0][1] is other.terms[0][1]:
            terms = ((self.terms[0][0] + other.terms[0][0], self.terms[0][1]),)
        return Curve(terms, self.slope + other.slope, constant)

    def times(self, factor: float) -> Curve:
        """The curve, times a number."""
        terms = tuple((factor * f, loss) for f, loss in self.terms)
        return Curve(terms, factor * self.slope, factor * self.constant)

    @property
    def is_line(self) -> bool:
        """True if the curve is linear: it has no terms."""
        return not self.terms

    @property
    def is_number(self) -> bool:
        """True if the curve is a constant."""
        return self.is_line and not self.slope

    @property
    def zero(self) -> float:
        """The u at which a line is 0."""
        if not self.is_line or self.slope == 0:
            raise Unrecognised("an atom of something that is not affine")
        return 0.0 - self.constant / self.slope  # not −0

    def as_loss(self) -> tuple[float, Loss]:
        """A positive factor and a loss that make it up, without the constant.

        Raises
        ------
        Unrecognised
            There are none.
        """
        if self.slope:
            return self._as_pinball()
        plus = [(f, loss) for f, loss in self.terms if f > 0]
        minus = [(-f, loss) for f, loss in self.terms if f < 0]
        if not plus:
            raise Unrecognised("nothing that is convex")
        factor = plus[0][0]
        if len(plus) == len(minus) == 1 and minus[0][0] == factor:
            return factor, _difference(plus[0][1], minus[0][1])
        total = reduce(add, (_scaled(f / factor, loss) for f, loss in plus))
        for f, loss in minus:
            total = total - _scaled(f / factor, loss)
        return factor, total

    def _as_pinball(self) -> tuple[float, Loss]:
        """Slopes on either side of 0, as of hinges and absolute values."""
        left = right = self.slope
        for f, loss in self.terms:
            if not isinstance(loss, hinge | absolute) or loss.at != 0:
                raise Unrecognised("a linear term")
            left -= f
            right += f * isinstance(loss, absolute)
        if not left < 0 < right:
            raise Unrecognised("a linear term")
        return right - left, pinball(right / (right - left))


def _scaled(factor: float, loss: Loss) -> Loss:
    return loss if factor == 1 else factor * loss


def _difference(one: Loss, other: Loss) -> Loss:
    """A difference; of two hinges the capped one, which has the closer majorants."""
    if isinstance(one, hinge) and isinstance(other, hinge) and one.at > other.at:
        return cap(one, one.at - other.at)
    return one - other


# ----------------------------------------------------------------------------------------------
# convex functions of lines


def _ramp(line: Curve) -> Curve:
    """(κu + τ)₊, where it rises the falling one plus the line."""
    if line.slope > 0:
        return _ramp(line.times(-1.0)) + line
    return Curve(((-line.slope, hinge(line.zero)),))


def absolute_value(curve: Curve) -> Curve:
    """|κu + τ|."""
    return Curve(((abs(curve.slope), absolute(curve.zero)),))


def huberized(line: Curve, m: float) -> Curve:
    """The Huber function of κu as cvxpy has it, twice the usual one."""
    if line.zero != 0:
        raise Unrecognised("a Huber function that is moved")
    size = abs(line.slope)
    return Curve(((2 * size**2, huber(m / size)),))


def softplus(line: Curve) -> Curve:
    """log(1 + e^{κu}), where it rises the falling one plus the line."""
    if line.zero != 0:
        raise Unrecognised("a logistic function that is moved")
    if line.slope > 0:
        return softplus(line.times(-1.0)) + line
    return Curve(((1.0, logistic() if line.slope == -1 else stretched(logistic(), -line.slope)),))


def squared_value(curve: Curve) -> Curve:
    """(κu + τ)², and the square of a loss."""
    if curve.is_line:
        return Curve(((curve.slope**2, square(curve.zero)),))
    factor, loss = _without_constant(curve)
    if isinstance(loss, hinge):
        return Curve(((factor**2, squared_hinge(loss.at)),))
    if isinstance(loss, absolute):
        return Curve(((factor**2, square(loss.at)),))
    if not isinstance(loss, ConvexLoss):
        raise Unrecognised("the square of a loss that is not convex")
    return Curve(((factor**2, squared(loss)),))


def _without_constant(curve: Curve) -> tuple[float, Loss]:
    if curve.constant:
        raise Unrecognised("a square of a loss and a constant")
    return curve.as_loss()


def largest(curve: Curve, floor: float) -> Curve:
    """max(curve, floor)."""
    bottom = Curve(constant=floor)
    if curve.is_line:
        return _ramp(curve + bottom.times(-1.0)) + bottom
    factor, loss = curve.as_loss()
    level = (floor - curve.constant) / factor
    if level <= loss.lower:
        return curve
    if isinstance(loss, absolute):
        return Curve(((factor, epsilon_insensitive(level, loss.at)),)) + bottom
    if isinstance(loss, hinge):
        return Curve(((factor, hinge(loss.at - level)),)) + bottom
    raise Unrecognised("the maximum of a loss and a number")


# ----------------------------------------------------------------------------------------------
# concave functions


def least(curve: Curve, ceiling: float) -> Curve:
    """min(curve, ceiling)."""
    if curve.is_line:
        return largest(curve.times(-1.0), -ceiling).times(-1.0)
    factor, loss = curve.as_loss()
    c = (ceiling - curve.constant) / factor
    return Curve(((factor, _composed(cap, loss, c=c)),), constant=curve.constant)


def logarithm(curve: Curve) -> Curve:
    """The logarithm of a loss and a positive constant."""
    factor, loss = curve.as_loss()
    if curve.constant <= 0:
        raise Unrecognised("a logarithm without a positive constant")
    scale = curve.constant / factor
    term = 1 / scale, _composed(log, loss, scale=scale)
    return Curve((term,), constant=float(np.log(curve.constant)))


def raised(curve: Curve, p: float) -> Curve:
    """A loss and a constant, to a power."""
    if p == 2:
        return squared_value(curve)
    if p == 1:
        return curve
    factor, loss = curve.as_loss()
    if not 0 < p < 1:
        raise Unrecognised("a power")
    return Curve(((factor**p, _composed(power, loss, p=p, delta=curve.constant / factor)),))


def exponential(curve: Curve) -> Curve:
    """e^{−loss + const} as a constant minus a rescaled loss."""
    eta, loss = curve.times(-1.0).as_loss()
    height = float(np.exp(curve.constant))
    term = height * float(np.expm1(-eta)), _composed(rescale, loss, eta=eta)
    return Curve((term,), constant=height)


def _composed(kind: Callable[..., Loss], loss: Loss, **parameters: float) -> Loss:
    """The concave function of a loss that is nowhere negative."""
    if not loss.lower >= 0:
        raise Unrecognised("a concave function of a loss that may be negative")
    try:
        return kind(loss, **parameters)
    except (NotMajorizable, ValueError) as error:
        raise Unrecognised(str(error)) from None
