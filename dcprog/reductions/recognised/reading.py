"""Trees of entrywise atoms as curves in the number that their affine arguments are lines in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression
from cvxpy.atoms.affine.promote import Promote
from cvxpy.atoms.affine.unary_operators import NegExpression
from cvxpy.atoms.elementwise.power import Power

from dcprog.foundation.arrays import Array
from dcprog.majorants.tree import Values
from dcprog.reductions.recognised.curve import (
    Curve,
    Unrecognised,
    absolute_value,
    exponential,
    huberized,
    largest,
    least,
    logarithm,
    raised,
    softplus,
)
from dcprog.reductions.recognised.lines import Lines, uniform

__all__ = ["Reading"]

ONE = Curve(constant=1.0)


class Reading:
    """Reads expressions, given what their affine arguments are.

    Parameters
    ----------
    lines : Lines
    """

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._values = Values()
        self._known: dict[int, Curve] = {}

    def curve(self, node: cp.Expression) -> Curve:
        """The curve that every entry of the node is, in its own u.

        Raises
        ------
        Unrecognised
            Entries are other functions, or of other numbers.
        """
        if id(node) not in self._known:
            self._known[id(node)] = self._read(node)
        return self._known[id(node)]

    def _read(self, node: cp.Expression) -> Curve:
        if node.is_constant():
            return Curve(constant=self._number(node))
        line = self._lines.get(node)
        if line is not None:
            return line
        atom = ATOMS.get(type(node).__name__)
        if atom is None:
            raise Unrecognised(type(node).__name__)
        return atom(self, node)

    def caps(self, node: cp.Expression) -> tuple[cp.Expression, Array | None]:
        """The expression under a cap for each entry, and the caps; itself and None without."""
        if not isinstance(node, cp.minimum) or len(node.args) != 2:
            return node, None
        for inside, cap in (node.args, node.args[::-1]):
            if cap.is_constant() and uniform(self._values.array(cap)) is None:
                return inside, self._values.array(cap)
        return node, None

    # ------------------------------------------------------------------------------------------

    def _number(self, node: cp.Expression) -> float:
        number = uniform(self._values.array(node))
        if number is None:
            raise Unrecognised("constants that differ between entries")
        return number

    def _sum(self, node: Any) -> Curve:
        return sum((self.curve(arg) for arg in node.args), Curve())

    def _negative(self, node: Any) -> Curve:
        return self.curve(node.args[0]).times(-1.0)

    def _same(self, node: Any) -> Curve:
        return self.curve(node.args[0])

    def _multiple(self, node: Any) -> Curve:
        one, other = (self.curve(arg) for arg in node.args)
        if other.is_number:
            return one.times(other.constant)
        if one.is_number:
            return other.times(one.constant)
        raise Unrecognised("a product")

    def _quotient(self, node: Any) -> Curve:
        return self.curve(node.args[0]).times(1 / self._number(node.args[1]))

    def _apart(self, node: Any) -> tuple[list[Curve], list[float]]:
        """The arguments that are functions of u, and those that are numbers."""
        curves = [self.curve(arg) for arg in node.args]
        numbers = [curve.constant for curve in curves if curve.is_number]
        return [curve for curve in curves if not curve.is_number], numbers

    def _maximum(self, node: Any) -> Curve:
        curves, numbers = self._apart(node)
        if len(curves) == 1:
            return largest(curves[0], max(numbers))
        if len(curves) == 2 and not numbers and curves[0].is_line and curves[1].is_line:
            return largest(curves[0] + curves[1].times(-1.0), 0.0) + curves[1]
        raise Unrecognised("a maximum")

    def _minimum(self, node: Any) -> Curve:
        curves, numbers = self._apart(node)
        if len(curves) != 1:
            raise Unrecognised("a minimum")
        return least(curves[0], min(numbers))

    def _absolute(self, node: Any) -> Curve:
        return absolute_value(self.curve(node.args[0]))

    def _huber(self, node: Any) -> Curve:
        return huberized(self.curve(node.args[0]), self._number(node.M))

    def _logistic(self, node: Any) -> Curve:
        return softplus(self.curve(node.args[0]))

    def _log(self, node: Any) -> Curve:
        return logarithm(self.curve(node.args[0]))

    def _log1p(self, node: Any) -> Curve:
        return logarithm(self.curve(node.args[0]) + ONE)

    def _exp(self, node: Any) -> Curve:
        return exponential(self.curve(node.args[0]))

    def _power(self, node: Any) -> Curve:
        return raised(self.curve(node.args[0]), self._number(node.p))


# By name: cvxpy has several classes of a power.
ATOMS: dict[str, Callable[[Reading, Any], Curve]] = {
    AddExpression.__name__: Reading._sum,
    NegExpression.__name__: Reading._negative,
    Promote.__name__: Reading._same,
    MulExpression.__name__: Reading._multiple,
    cp.multiply.__name__: Reading._multiple,
    DivExpression.__name__: Reading._quotient,
    cp.maximum.__name__: Reading._maximum,
    cp.minimum.__name__: Reading._minimum,
    cp.abs.__name__: Reading._absolute,
    cp.huber.__name__: Reading._huber,
    cp.logistic.__name__: Reading._logistic,
    cp.log.__name__: Reading._log,
    cp.log1p.__name__: Reading._log1p,
    cp.exp.__name__: Reading._exp,
    Power.__name__: Reading._power,
    "PowerApprox": Reading._power,
}
