"""The state shared by a whole majorant: auxiliary variables, domains, edges, repeated nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, Protocol

import cvxpy as cp
import numpy as np

from dcprog.foundation.arrays import EDGE, Array
from dcprog.majorants.atoms import scaled_arguments
from dcprog.majorants.signs import Box
from dcprog.majorants.slopes import extended
from dcprog.majorants.tree import Values, nodes

__all__ = ["Context", "Use"]


@dataclass
class Use:
    """The pieces spent on majorising a node under one sign, and its stand-in variable.

    The node is kept alive, so that its id stays unique.
    """

    node: cp.Expression
    pieces: int = 0
    under_way: bool = False
    stand_in: cp.Variable | None = None


class StandIn(cp.Variable):
    """A variable whose value is that of the expression it stands for, at any point.

    Stand-ins may occur in one another's expressions: one memo of values serves all of them.
    """

    def __init__(
        self, expression: cp.Expression, definitions: dict[int, cp.Expression], name: str
    ) -> None:
        self._definitions = definitions
        super().__init__(expression.shape, name=name)
        definitions[self.id] = expression

    @property
    def value(self) -> Any:
        """The expression's value; None if a variable in it has none."""
        try:
            return Values(self._definitions).array(self._definitions[self.id])
        except ValueError:
            return None

    @value.setter
    def value(self, value: Any) -> None:
        """Ignore the value, which follows from the expression."""

    def save_value(self, value: Any, sparse_path: bool = False) -> None:
        """Ignore the value, which follows from the expression."""


class Moved(Protocol):
    """An object whose Parameters depend on the centre, such as a frame."""

    def update(self, values: Values) -> None:
        """Set every Parameter at the point that `values` holds."""


@dataclass
class Context:
    """The state shared by a whole majorant, such as auxiliary variables and their constraints.

    Attributes
    ----------
    definitions : dict of variable id to expression
        The expression that each auxiliary variable stands for.
    auxiliaries, constraints : lists
        The auxiliary variables, and the constraints that define them.
    domain : list of cvxpy constraints
        The domain of the atoms that tangents replace.
    rules : tuple of callables
        The table of rules, in the order in which they are tried.
    frames : list of Frame
        The frames of domain constraints and of shared nodes, updated along with the roots' frames.
    edges : dict of node id to node
        Atoms whose slope is infinite at the edge of their domain.
    quotients : dict of node id to (node, sign of its denominator)
        Quotients whose denominator has that sign wherever the convex constraints hold.
    sizes : dict of node id to float
        The size of the arguments of each atom with an edge, found by ``measure``.
    products : dict of node id to node
        Products and quotients whose factors' sizes are remembered.
    memory : dict of product's id to sizes of its factors
        The remembered sizes, at first those found by ``measure``.
    uses : dict of (node id, sign) to Use
        The pieces spent on each node, and its stand-in.
    signs : Box
        Signs that are known wherever the convex constraints hold.
    """

    rules: tuple[Callable[..., Any], ...]
    definitions: dict[int, cp.Expression] = field(default_factory=dict)
    auxiliaries: list[cp.Variable] = field(default_factory=list)
    constraints: list[cp.Constraint] = field(default_factory=list)
    domain: list[cp.Constraint] = field(default_factory=list)
    frames: list[Moved] = field(default_factory=list)
    edges: dict[int, cp.Expression] = field(default_factory=dict)
    quotients: dict[int, tuple[cp.Expression, int]] = field(default_factory=dict)
    sizes: dict[int, float] = field(default_factory=dict)
    products: dict[int, cp.Expression] = field(default_factory=dict)
    memory: dict[int, tuple[float, float]] = field(default_factory=dict)
    uses: dict[tuple[int, int], Use] = field(default_factory=dict)
    signs: Box = field(default_factory=Box)

    def use(self, node: cp.Expression, sign: int) -> Use:
        """The record of the node's majorants under weights of that sign."""
        return self.uses.setdefault((id(node), sign), Use(node))

    def begin(self) -> None:
        """Forget the sizes measured in an earlier run."""
        self.sizes.clear()
        self.memory.clear()

    def values(self, edge: float = EDGE, **options: Any) -> Values:
        """Values of the majorised function: its atoms are extended outward from `edge`."""
        extensions = {
            key: partial(extended, node, edge=edge * self.sizes.get(key, 1.0))
            for key, node in self.edges.items()
        }
        extensions |= {key: partial(_divided, sign=s) for key, (_, s) in self.quotients.items()}
        return Values(
            self.definitions, extensions=extensions, edge=edge, sizes=self.sizes, **options
        )

    def measure(self, roots: Iterable[cp.Expression], values: Values) -> None:
        """Raise the sizes for edges and products to those of the arguments at a point.

        Called at the start of a run, it makes the width of edges independent of units; a second
        point helps if an argument starts at 0.
        """
        for product in self.products.values():
            self.remember(product, values)
        for node in chain.from_iterable(map(nodes, roots)):
            for arg in scaled_arguments(node):
                largest = float(np.max(np.abs(values.array(arg)), initial=0.0))
                if np.isfinite(largest) and largest > self.sizes.get(id(node), 0.0):
                    self.sizes[id(node)] = largest

    def remember(
        self, product: cp.Expression, values: Values, share: float = 1.0
    ) -> tuple[float, float]:
        """The sizes of a product's factors at a point, at least `share` of the remembered ones."""
        before = self.memory.get(id(product), (0.0, 0.0))
        now = [float(np.max(np.abs(values.array(arg)), initial=0.0)) for arg in product.args]
        a, b = (max(n, share * o) for n, o in zip(now, before, strict=True))
        self.memory[id(product)] = a, b
        return a, b

    def stand_in(self, expression: cp.Expression, exact: bool = False) -> cp.Variable:
        """A variable t ≥ expression (or equal to it) that a weight can multiply under DPP."""
        t = StandIn(expression, self.definitions, f"dcprog_epigraph_{len(self.auxiliaries)}")
        self.auxiliaries.append(t)
        self.constraints.append(t == expression if exact else t >= expression)
        return t


def _divided(args: list[Array], sign: int) -> Array:
    """a/b; a denominator that a solver has left on the wrong side of 0 counts as 0."""
    with np.errstate(all="ignore"):
        return np.asarray(sign * args[0] / np.maximum(sign * args[1], 0.0))
