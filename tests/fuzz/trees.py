"""Random expression trees of a given shape over given variables and Parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cvxpy as cp
import numpy as np

from tests.fuzz.atoms import (
    AFFINE_INSIDE,
    AXIS,
    BINARY,
    ELEMENTWISE,
    MATRIX,
    RARE,
    SQUARE,
    TOTAL,
    VECTOR,
)

__all__ = ["Trees"]

Shape = tuple[int, ...]
SHAPES: list[Shape] = [(), (), (1,), (2,), (3,), (3,), (4,), (3, 2), (2, 3), (1, 3), (3, 1), (2, 2)]
UNUSUAL: list[Shape] = [(0,), (0, 2), (2, 2, 2), (1, 1)]
DEEP = 3


class Trees:
    """Grows trees; `unit` is the size of the variables, which every leaf divides out."""

    def __init__(
        self, rng: np.random.Generator, variables: Sequence[cp.Variable], unit: float = 1.0
    ) -> None:
        self.rng = rng
        self.variables = list(variables)
        self.unit = unit
        self.positive = cp.Parameter(nonneg=True, name="p", value=float(rng.uniform(0, 2)))
        self.number = cp.Parameter(name="q", value=float(rng.normal()))
        self.vector = cp.Parameter(3, name="r", value=rng.normal(size=3).round(1))

    def pick(self, choices: Any) -> Any:
        """One of the choices."""
        choices = list(choices)
        return choices[int(self.rng.integers(len(choices)))]

    def chance(self, probability: float) -> bool:
        """True so often."""
        return bool(self.rng.uniform() < probability)

    def shape(self) -> Shape:
        """A shape, unusual ones among them."""
        return self.pick(UNUSUAL) if self.chance(0.06) else self.pick(SHAPES)

    def leaf(self, shape: Shape) -> cp.Expression:
        """An affine expression."""
        same = [v for v in self.variables if v.shape == shape]
        if same and self.chance(0.5):
            return self.pick(same) / self.unit
        variable = self.pick(self.variables)
        size = int(np.prod(shape))
        matrix = self.rng.normal(size=(size, variable.size)).round(1) / self.unit
        if self.chance(0.3):
            matrix[self.rng.uniform(size=matrix.shape) < 0.5] = 0.0
        shift = self.rng.normal(size=size).round(1) if self.chance(0.6) else np.zeros(size)
        if shape == (3,) and self.chance(0.15):
            return cp.multiply(self.vector, matrix @ cp.vec(variable, order="F")) + shift
        if size == 0:
            return cp.Constant(np.zeros(shape)) + 0 * cp.sum(variable)
        flat = matrix @ cp.vec(variable, order="F") + shift
        return cp.reshape(flat, shape, order=self.pick("FC"))

    def tree(self, shape: Shape, depth: int) -> cp.Expression:
        """A random expression, up to `depth` atoms deep."""
        if depth <= 0:
            return self.leaf(shape)
        kinds = ["elementwise"] * 4 + ["binary"] * 2 + ["parameter", "moved"]
        kinds += ["total"] * 4 if shape == () else ["axis"] * 2 if shape else []
        kind = self.pick(kinds) if shape != () or not self.chance(0.01) else "rare"
        made: cp.Expression = getattr(self, f"_{kind}")(shape, depth)
        return made

    def _rare(self, shape: Shape, depth: int) -> Any:
        return self.pick(RARE.values())(self.tree(self.pick(SHAPES), depth - 1))

    def _elementwise(self, shape: Shape, depth: int) -> Any:
        if self.chance(0.08 if depth == 1 else 0.01):
            return self.pick(AFFINE_INSIDE.values())(self.leaf(shape))
        return self.pick(ELEMENTWISE.values())(self.tree(shape, depth - 1))

    def _binary(self, shape: Shape, depth: int) -> Any:
        left, right = self.tree(shape, depth - 1), self.tree(self._narrower(shape), depth - 2)
        made = self.pick(BINARY.values())(left, right)
        return made if made.shape == shape else cp.reshape(made, shape, order="F")

    def _narrower(self, shape: Shape) -> Shape:
        """A shape that broadcasts to the given one."""
        if self.chance(0.6) or not shape or 0 in shape:
            return shape
        narrow = tuple(1 if self.chance(0.5) else n for n in shape)
        return self.pick([(), narrow, shape[1:]])

    def _parameter(self, shape: Shape, depth: int) -> Any:
        return self.pick([self.positive, self.number]) * self.tree(shape, depth - 1)

    def _moved(self, shape: Shape, depth: int) -> Any:
        """An affine rearrangement."""
        inner = self.tree(shape, depth - 1)
        if len(shape) == 1 and shape[0] > 1:
            n = shape[0]
            mixed = self.rng.normal(size=(n, n)).round(1)
            return self.pick(
                [
                    inner[::-1],
                    cp.cumsum(inner),
                    mixed @ inner,
                    cp.hstack([inner[1:], inner[0]]),
                    cp.convolve(np.array([1.0, -0.5]), inner)[:n],
                    cp.diag(cp.diag(inner)),
                    cp.vstack([inner, -inner])[0],
                ]
            )
        if len(shape) == 2 and 0 not in shape:
            m, n = shape
            return self.pick(
                [
                    cp.reshape(inner.T, shape, order="F"),
                    inner[::-1, :],
                    cp.cumsum(inner, axis=self.pick([0, 1])),
                    self.rng.normal(size=(m, m)).round(1) @ inner,
                    cp.kron(np.array([[2.0]]), inner),
                    cp.bmat([[inner, -inner]])[:, :n],
                ]
            )
        return 1 - inner

    def _axis(self, shape: Shape, depth: int) -> Any:
        if len(shape) > 2 or 0 in shape:
            return self._elementwise(shape, depth)
        place, width = int(self.rng.integers(len(shape) + 1)), self.pick([1, 2, 3])
        source = (*shape[:place], width, *shape[place:])
        keep = bool(self.chance(0.3))
        if len(source) > 2:
            inner = self.tree(source, depth - 1)
            made = self.pick([cp.sum, cp.max, cp.min])(inner, axis=place, keepdims=keep)
        else:
            made = self.pick(AXIS.values())(self.tree(source, depth - 1), place, keep)
        return made if made.shape == shape else cp.reshape(made, shape, order="F")

    def _total(self, shape: Shape, depth: int) -> Any:
        kind = self.pick(["any", "any", "vector", "matrix", "square"])
        if kind == "any":
            source = self.shape()
            if 0 in source:
                return cp.sum(self.tree(source, depth - 1))
            return self.pick(TOTAL.values())(self.tree(source, depth - 1))
        if kind == "vector":
            source = self.pick([(2,), (3,)])
            return self.pick(VECTOR.values())(self.tree(source, depth - 1))
        if kind == "matrix":
            source = self.pick([(3, 2), (2, 2), (1, 3)])
            return self.pick(MATRIX.values())(self.tree(source, self.pick([0, depth - 1])))
        whole = self.leaf((3, 3))
        return self.pick(SQUARE.values())((whole + whole.T) / 2)
