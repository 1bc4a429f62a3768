"""Weights, pieces and frames: the arguments and results of majorisation rules.

A rule answers one question: *given a weight w, what convex function lies above ⟨w, e⟩ (or above
w∘e, entry by entry) and touches it at the current point?* A nonnegative weight asks for a convex
majorant of e, a nonpositive one for the negative of a concave minorant, so one recursion covers
both columns of the table ``up`` / ``down`` and slopes are pushed down to the leaves as weights:
each leaf carries a single Parameter whose value is the product of the slopes above it, which
keeps nested compositions DPP.

There are two frames. In a *total* frame the sum ⟨w, e⟩ is wanted: every linear term flows back to
the variables, as in reverse-mode differentiation, and is gathered in one gradient Parameter a
variable. In an *entrywise* frame (the argument of a convex atom, a vector of constraints) the
shape must stand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt
from cvxpy.atoms.affine.binary_operators import DivExpression
from cvxpy.atoms.atom import Atom
from cvxpy.atoms.quad_form import QuadForm

from dcprog.foundation.arrays import EDGE, Array, unvec
from dcprog.foundation.errors import NotMajorizable
from dcprog.foundation.tolerances import SUMMED
from dcprog.majorants.affine import Box
from dcprog.majorants.atoms import entry
from dcprog.majorants.tree import Values, extended, inside, nodes, short

# ----------------------------------------------------------------------------------------------
# the state shared by a whole majorant


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
    frames: list[Frame] = field(default_factory=list)
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

    def values_inside(self) -> Values:
        """Values with the arguments of atoms with an edge moved to where they are defined."""
        return Values(extensions={key: partial(inside, node) for key, node in self.edges.items()})

    def measure(self, roots: Iterable[cp.Expression], values: Values) -> None:
        """Raise the sizes for edges and products to those of the arguments at a point.

        Called at the start of a run, it makes the width of edges independent of units; a second
        point helps if an argument starts at 0.
        """
        for product in self.products.values():
            self.remember(product, values)
        for node in chain.from_iterable(map(nodes, roots)):
            places = entry(node).from_zero
            for arg in [] if places is None else node.args[places]:
                largest = float(np.max(np.abs(values.array(arg)), initial=0.0))
                least = self.signs.floor(arg)
                if least > 0:  # no entry comes near the edge, however large others are
                    largest = min(largest, max(least, EDGE * largest))
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


# ----------------------------------------------------------------------------------------------
# frames


def check_expression(value: object, wanted: str = "a cvxpy expression") -> None:
    """Raise an error unless the value is a cvxpy expression.

    Raises
    ------
    TypeError
        The value is not an expression.
    """
    if not isinstance(value, cp.Expression):
        raise TypeError(f"{value!r} is a {type(value).__name__}: {wanted} is needed")


def refusal(node: cp.Expression) -> NotMajorizable:
    """The error for a node to which no rule applies: the reason, and a form to try instead."""
    if isinstance(node, DivExpression):
        return NotMajorizable(
            short(node),
            "the sign of its denominator is not known",
            "a bound of it, such as y >= 0.01 among the constraints or cp.Variable(pos=True), or "
            "x * cp.inv_pos(y) for a positive y",
        )
    if isinstance(node, Atom) and node.is_affine():
        return NotMajorizable(
            short(node),
            "a Parameter divides, or multiplies another one, inside a vector or a convex atom",
            "one Parameter that holds the coefficient's value, or constants",
        )
    if getattr(getattr(node, "p", None), "parameters", list)():
        return NotMajorizable(
            short(node), "its exponent is a Parameter", "a number for the exponent"
        )
    if isinstance(node, QuadForm):
        return NotMajorizable(
            short(node),
            "the eigenvalues of its matrix, a Parameter or a variable, may change sign",
            "a constant matrix, cp.Parameter(PSD=True), or cp.sum(cp.multiply(P, cp.outer(x, x)))",
        )
    return NotMajorizable(short(node), *_hint(type(node).__name__, node))


def _hint(name: str, node: cp.Expression) -> tuple[str, str]:
    reason = f"the atom {name} is neither convex, concave, affine nor a product"
    if name == "cumprod":
        return reason, "products of two at a time, which are polarised"
    if isinstance(node, Atom) and (node.is_atom_quasiconvex() or node.is_atom_quasiconcave()):
        return f"the atom {name} is only quasiconvex or quasiconcave", (
            "a level set of it as a convex constraint, or problem.solve(qcp=True)"
        )
    return reason, (
        "convex and concave atoms instead (cp.minimum, cp.exp, cp.log, differences of convex), or "
        f"a rule of its own, dc.register_atom({name}, rule=...)"
    )


# ----------------------------------------------------------------------------------------------
# gradients


# If at most this share of a variable's entries is reached, the Parameter has only these entries:
# compiling costs time and memory by the product of Parameters, variables and cones.
FEW = 0.5


class Gradient:
    """⟨g, x⟩ for one variable x, with a Parameter for the entries of g that can differ from 0.

    Parameters
    ----------
    variable : cvxpy.Variable
    """

    def __init__(self, variable: cp.Variable) -> None:
        self.variable = variable
        self._reached = np.zeros(variable.size, dtype=bool)
        self._entries: npt.NDArray[np.intp] | None = None  # None: all

    def reach(self, entries: npt.NDArray[np.bool_]) -> None:
        """Mark these entries, column-major, as reached by a linear term."""
        self._reached |= entries

    def expression(self) -> cp.Expression:
        """The expression ⟨g, x⟩, made after all terms have called ``reach``."""
        variable = self.variable
        if np.count_nonzero(self._reached) > FEW * variable.size:
            self._parameter = cp.Parameter(variable.shape)
            return cp.sum(cp.multiply(self._parameter, variable))
        self._entries = np.flatnonzero(self._reached)
        self._parameter = cp.Parameter(self._entries.size)
        return cp.sum(cp.multiply(self._parameter, cp.vec(variable, order="F")[self._entries]))

    def begin(self) -> None:
        """Reset the sum of the terms to 0."""
        self._sum = np.zeros(self.variable.size)

    def add(self, term: Array) -> None:
        """Add a term's slope, column-major."""
        self._sum += term

    def set(self) -> None:
        """Give the Parameter the sum of the terms."""
        shape = self._parameter.shape
        entries = slice(None) if self._entries is None else self._entries
        assign(self._parameter, unvec(self._sum[entries], shape))


def assign(parameter: cp.Parameter, value: Any) -> None:
    """Give a Parameter a value without cvxpy's check of its sign, which takes most of an update.

    Raises
    ------
    ValueError
        The value is NaN.
    """
    array = np.asarray(value, dtype=float).reshape(parameter.shape)
    if np.any(np.isnan(array)):
        raise ValueError("a Parameter of the majorant is NaN at the current point")
    parameter.save_value(array)


# ----------------------------------------------------------------------------------------------
# weights, pieces and frames


Update = Callable[[Array, Values], Any]


@dataclass(frozen=True)
class Weight:
    """A weight as it is known in advance: its sign, and its value if it never moves."""

    sign: int
    fixed: Array | None = None

    @staticmethod
    def constant(value: Array) -> Weight:
        """A weight that never moves; its sign is 0 when the entries differ in sign."""
        sign = 1 if np.all(value >= 0) else -1 if np.all(value <= 0) else 0
        return Weight(sign, np.asarray(value, dtype=float))

    def times(self, direction: int) -> Weight:
        """The moving weight behind a slope of the given sign (0: unknown)."""
        return Weight(self.sign * direction)


@dataclass
class Piece:
    """The majorant of one node: an expression, and how to set its Parameters at a new point.

    ``update(w, values)`` sets the Parameters below the node for the weight w and returns the
    constant that belongs to the expression (a number, or an array in an entrywise frame).
    """

    node: cp.Expression
    rule: str
    expression: cp.Expression | None
    update: Update
    children: list[Piece] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.size: int = 1 + sum(child.size for child in self.children)


CONVEX = "convex: kept"


class Frame:
    """The majorant of one root expression, with its offset and gradient Parameters.

    Parameters
    ----------
    node : cvxpy expression
    context : Context
    entrywise : bool
        Keep the shape; otherwise majorise the sum of the entries.
    gather : bool
        Let every linear term flow back to the variables (total frames only); otherwise only those
        with more entries than the variables have.
    weight : Weight, optional
        The weight of the root; 1 by default.
    """

    def __init__(
        self,
        node: cp.Expression,
        context: Context,
        *,
        entrywise: bool = False,
        gather: bool = False,
        weight: Weight | None = None,
    ) -> None:
        self.node = node
        self.context = context
        self.entrywise = entrywise
        self.gather = gather and not entrywise
        self._gradients: dict[int, Gradient] = {}
        root = weight or Weight.constant(np.ones(node.shape))
        self._weight = np.ones(node.shape) if root.fixed is None else root.fixed
        self.piece = majorise(node, root, self)
        self.expression: cp.Expression = self._assemble()

    def _assemble(self) -> cp.Expression:
        terms: list[cp.Expression] = []
        if self.piece.expression is not None:
            terms.append(self.piece.expression)
        terms += [gradient.expression() for gradient in self._gradients.values()]
        self._offset: cp.Parameter | None = None
        if self.piece.rule != CONVEX:
            self._offset = cp.Parameter(self.node.shape if self.entrywise else ())
            terms.append(self._offset)
        return terms[0] if len(terms) == 1 else sum(terms[1:], terms[0])

    def gradient(self, variable: cp.Variable) -> Gradient:
        """The object that gathers the linear terms of a variable."""
        return self._gradients.setdefault(variable.id, Gradient(variable))

    def update(self, values: Values, weight: Array | None = None) -> None:
        """Set every Parameter of the frame at the point that `values` holds."""
        for gradient in self._gradients.values():
            gradient.begin()
        weight = self._weight if weight is None else weight
        with np.errstate(all="ignore"):  # offsets that are not finite are refused below
            offset = self.piece.update(weight, values)
        if not np.all(np.isfinite(offset)):
            raise ValueError(
                f"{short(self.node)} is not finite at the current point: start inside its domain"
            )
        for gradient in self._gradients.values():
            gradient.set()
        if self._offset is not None:
            # the tangent of a norm has none: its rounding errors would set a cone program's units
            terms = self.constant(np.abs(weight) * values.magnitude(self.node))
            offset = np.where(np.abs(offset) <= SUMMED * terms, 0.0, offset)
            assign(self._offset, offset)

    def total(self, expression: cp.Expression) -> cp.Expression:
        """The expression itself in an entrywise frame, its sum in a total one."""
        if self.entrywise or expression.shape == ():
            return expression
        return cp.sum(expression)

    def constant(self, array: Any) -> Any:
        """A node's constant: an array in an entrywise frame, its sum in a total one."""
        return array if self.entrywise else float(np.sum(array))


def majorise(node: cp.Expression, weight: Weight, frame: Frame) -> Piece:
    """The majorant of a node by the first rule of the context's table that applies."""
    for rule in frame.context.rules:
        piece = rule(node, weight, frame)
        if piece is not None:
            if piece.children:
                frame.context.use(node, weight.sign).pieces += piece.size
            return piece
    raise refusal(node)


def rewrite(
    node: cp.Expression, other: cp.Expression, weight: Weight, frame: Frame, rule: str
) -> Piece:
    """The majorant of a node from that of another expression that is equal to it."""
    piece = majorise(other, weight, frame)
    return Piece(node, rule, piece.expression, piece.update, [piece])


def plus(*pieces: Piece) -> cp.Expression | None:
    """The sum of the pieces' expressions, if any has one."""
    terms = [p.expression for p in pieces if p.expression is not None]
    return sum(terms[1:], terms[0]) if terms else None


def is_affine_atom(node: cp.Expression) -> bool:
    """True if the node's atom is an affine map of its arguments, whatever their curvature."""
    return isinstance(node, Atom) and bool(node.is_atom_convex() and node.is_atom_concave())


def slope_sign(node: Any, index: int) -> int:
    """1 where the atom is nondecreasing in an argument, −1 nonincreasing, 0 unknown."""
    return 1 if node.is_incr(index) else -1 if node.is_decr(index) else 0


def keep_domain(node: Any, context: Context) -> None:
    """Add the atom's domain, such as log's positive argument: its tangent is defined everywhere."""
    for constraint in node._domain():
        if not isinstance(constraint, cp.constraints.Inequality):
            if not constraint.is_dcp():
                raise NotMajorizable(
                    short(node),
                    f"{type(node).__name__} asks for a symmetric or semidefinite argument, which "
                    "is not affine here",
                    "a matrix variable in its place and an equality constraint",
                )
            context.domain.append(constraint)
        elif not constraint.expr.is_nonpos():
            if constraint.is_dcp():
                context.domain.append(constraint)
            else:
                inner = Frame(constraint.expr, context, entrywise=True)
                context.domain.append(inner.expression <= 0)
                context.frames.append(inner)
