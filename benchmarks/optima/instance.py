"""What an instance of a family offers: its statements, its own objective, a search of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

import dcprog as dc

Array = np.ndarray
Spec = cp.Problem | dc.Risk


@dataclass(frozen=True)
class Form:
    """A statement of an instance; the expressions, joined, are its point."""

    problem: Any  # cvxpy's problem, or a Risk whose θ is the point
    parts: tuple[cp.Expression, ...] = ()

    def read(self) -> Array:
        """The point that the variables hold."""
        return np.concatenate([np.ravel(part.value, order="F") for part in self.parts])

    def point(self, result: dc.Result) -> Array:
        """Where dcprog ended."""
        return self.read() if self.parts else np.asarray(result.x)

    def start(self, point: Array) -> Any:
        """The point as :func:`dcprog.solve` takes it."""
        if not self.parts:
            return point
        ends = np.cumsum([part.size for part in self.parts])[:-1]
        pieces = np.split(point, ends)
        return {
            part: piece.reshape(part.shape, order="F")
            for part, piece in zip(self.parts, pieces, strict=True)
        }


class Instance(ABC):
    """One problem: minimise `objective` over vectors of length `size` without `violation`."""

    size: int

    @abstractmethod
    def form(self) -> Form:
        """The statement that dcprog gets."""

    def convex_concave(self) -> Form | None:
        """A statement that DCCP takes, if there is one."""
        return None

    def smooth(self) -> Form | None:
        """A statement that cvxpy's nonlinear path takes, if there is one."""
        return None

    @abstractmethod
    def objective(self, x: Array) -> float:
        """F(x) in NumPy, whatever the statements say."""

    def violation(self, x: Array) -> float:
        """The largest violation of a constraint, relative to what it bounds."""
        return 0.0

    def exact(self) -> float | None:
        """The global minimum by enumeration, where that is possible."""
        return None

    @abstractmethod
    def search(self, rng: np.random.Generator, starts: int) -> Iterator[Array]:
        """Points worth descending from, by means that are not dcprog's."""

    def fingerprint(self) -> float:
        """F at a fixed point: it changes when the family's data do."""
        return self.objective(np.cos(np.arange(self.size, dtype=float)) / 2)


@dataclass(frozen=True)
class Family:
    """Instances by seed. `quick` of them are in a default run.

    A family that states another's data in another way shares its best known values.
    """

    name: str
    make: Callable[[int], Instance]
    quick: int = 20
    data: str = ""

    @property
    def key(self) -> str:
        """Whose best known values it has."""
        return self.data or self.name
