"""Values and slopes at the nodes of a cvxpy expression tree, each node evaluated once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from cvxpy.atoms.affine.affine_atom import AffAtom
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression
from cvxpy.atoms.affine.conv import conv, convolve
from cvxpy.atoms.affine.kron import kron
from cvxpy.atoms.affine.unary_operators import NegExpression
from cvxpy.atoms.atom import Atom
from cvxpy.atoms.axis_atom import AxisAtom
from cvxpy.atoms.elementwise.elementwise import Elementwise
from cvxpy.expressions.leaf import Leaf

from dcprog.foundation.arrays import EDGE, Array, dense
from dcprog.foundation.tolerances import FEASIBLE
from dcprog.majorants.atoms import FaultyAtom, entry
from dcprog.majorants.atoms import edge as edge_of


def evaluate(atom: Any, args: Sequence[Any], size: float = 1.0) -> Any:
    """The atom's value; outside its domain NaN, or ±∞ where the atom tends to it.

    Parameters
    ----------
    atom : cvxpy atom
    args : sequence of arrays
        The arguments' values; constants may be sparse.
    size : float, default 1
        Typical size of the arguments: an argument up to ``FEASIBLE * size`` outside the domain
        counts as at its edge.

    Returns
    -------
    array of the atom's shape, or sparse

    Raises
    ------
    FaultyAtom
        A function given to ``register_atom`` has a fault.
    """
    values = [a if type(a) is np.ndarray or sp.issparse(a) else np.asarray(a) for a in args]
    if 0 in atom.shape:
        return np.zeros(atom.shape)
    with np.errstate(all="ignore"):
        try:
            value = entry(atom).evaluate(atom, values, FEASIBLE * size)
        except FaultyAtom:
            raise
        except Exception:  # NumPy, SciPy and cvxpy raise errors of many kinds outside a domain
            return np.full(atom.shape, np.nan)
    return _without_lost_nan(atom, values, value)


def _without_lost_nan(atom: Any, args: list[Any], value: Any) -> Any:
    """The value, or NaN if an argument holds a NaN that the atom may have dropped.

    Comparisons and eigenvalues may drop a NaN; linear algebra and ufuncs keep it.
    """
    keeps = _keeps_nan(type(atom))  # type: ignore[arg-type]  # classes are hashable
    if keeps or not any(np.any(np.isnan(_entries(a))) for a in args):
        return value
    return np.full(atom.shape, np.nan)


@cache
def _keeps_nan(kind: type) -> bool:
    """True if atoms of this class pass a NaN of their arguments on.

    Cached: an isinstance of cvxpy's abstract classes costs as much as a sum.
    """
    return issubclass(kind, Elementwise | AxisAtom | AffAtom)


def _entries(value: Any) -> Any:
    return value.data if sp.issparse(value) else value  # type: ignore[attr-defined]


# ----------------------------------------------------------------------------------------------
# values of all nodes


class Values:
    """Memo of node values at the variables' current values.

    Parameters
    ----------
    definitions : mapping of variable id to expression, optional
        Auxiliary variables that stand for an expression: their value is the expression's, whatever
        value a solver gave them.
    level : float, default 1.0
        Asks the linearisations for the slopes of the graduated function: φ'(a/level) in place of
        φ'(a), and 1/level times a subtracted convex part. ∞ asks for the slopes of the convex
        start (see ``Majorant.relax``).
    extensions : mapping of node id to function, optional
        How to evaluate nodes whose tangent is taken inside their domain's edge, from the values
        of their arguments (see ``extended``).
    edge : float
        Distance of these tangents from the edge, relative to the arguments' size.
    sizes : mapping of node id to float, optional
        Size of the arguments of each atom with an edge in a run; 1 for all others.
    keep : function of an array, optional
        Applied to the slopes of every composition in the convex start.
    """

    def __init__(
        self,
        definitions: dict[int, cp.Expression] | None = None,
        level: float = 1.0,
        extensions: Mapping[int, Callable[[list[Array]], Array]] | None = None,
        edge: float = EDGE,
        keep: Callable[[Array], Array] | None = None,
        sizes: Mapping[int, float] | None = None,
    ) -> None:
        self.definitions = definitions or {}
        self.level = level
        self.extensions = extensions or {}
        self.edge = edge
        self.keep = keep
        self.sizes = sizes or {}
        self._memo: dict[int, Any] = {}
        self._magnitudes: dict[tuple[int, bool], Array] = {}

    def __call__(self, node: cp.Expression) -> Any:
        """Value of `node`: an array of its shape (sparse constants stay sparse)."""
        key = id(node)
        if key not in self._memo:
            self._memo[key] = self._evaluate(node)
        return self._memo[key]

    def assume(self, node: cp.Expression, value: Array) -> None:
        """Let `node`, and all that is evaluated after this, have another value."""
        self._memo[id(node)] = value

    def array(self, node: cp.Expression) -> Array:
        """Value of `node` as a dense float array of its shape."""
        return dense(self(node)).reshape(node.shape, order="F")

    def magnitude(self, node: cp.Expression, *, of_constants: bool = False) -> Array:
        """The sum of the absolute values of the terms of `node`, or of the constants among them.

        For Σ cᵢtᵢ + c it is Σ |cᵢ||tᵢ|, or |c|: sums, constant factors, indexing, stacking and
        other affine atoms are passed through, every other atom is a term. The size of the terms is
        homogeneous of degree 1, and large where the value is small by cancellation.

        Returns
        -------
        array of the node's shape
            Entries ≥ 0 and finite: NaN and infinite ones count as 0.

        Examples
        --------
        >>> import cvxpy as cp
        >>> x = cp.Variable(value=2.0)
        >>> sizes = Values().magnitude(cp.square(x) - 3 * x + 7)
        >>> float(sizes), float(Values().magnitude(cp.square(x) - 3 * x + 7, of_constants=True))
        (10.0, 7.0)
        """
        key = id(node), of_constants
        if key not in self._magnitudes:
            self._magnitudes[key] = _magnitude(node, self, of_constants)
        return self._magnitudes[key]

    def _evaluate(self, node: cp.Expression) -> Any:
        if 0 in node.shape:  # a constant for cvxpy, whatever variables are in it
            return np.zeros(node.shape)
        if not _is_atom(type(node)):  # type: ignore[arg-type]  # classes are hashable
            if isinstance(node, cp.Variable) and node.id in self.definitions:
                return self.array(self.definitions[node.id])
            value = node.value
            if value is None:
                raise ValueError(
                    f"{type(node).__name__} '{node.name()}' has no value: "
                    "set its .value before centring a majorant there"
                )
            return value
        if id(node) in self.extensions:
            return self.extensions[id(node)]([self.array(arg) for arg in node.args])
        return evaluate(node, [self(arg) for arg in node.args], self.size(node))

    def size(self, node: cp.Expression) -> float:
        """The size of the node's arguments in this run; 1 if it is not known."""
        return self.sizes.get(id(node), 1.0)


@cache
def _is_atom(kind: type) -> bool:
    """True if the class is one of atoms, not of leaves.

    Cached: an isinstance of cvxpy's abstract classes costs as much as a sum.
    """
    return issubclass(kind, Atom) and not issubclass(kind, Leaf)


def nodes(expression: cp.Expression) -> list[cp.Expression]:
    """The nodes of a tree, each once, arguments before the atoms that take them."""
    found: dict[int, cp.Expression] = {}
    stack = [(expression, False)]
    while stack:
        node, done = stack.pop()
        if done:
            found.setdefault(id(node), node)
        elif id(node) not in found:
            stack += [(node, True), *((arg, False) for arg in node.args)]
    return list(found.values())


def variables(expression: cp.Expression) -> list[cp.Variable]:
    """The variables of a tree; unlike cvxpy's, in time linear in the number of nodes."""
    found: dict[int, cp.Variable] = {}
    for node in nodes(expression):
        if isinstance(node, cp.Variable):
            found[node.id] = node
        elif not isinstance(node, Atom | Leaf):  # an indicator's are in its constraints
            found.update({v.id: v for v in node.variables()})
    return list(found.values())


def is_moving(atom: Any) -> bool:
    """True if the Jacobian of an affine atom depends on Parameters."""
    return any(arg.is_constant() and arg.parameters() for arg in atom.args)


def by_pairs(function: Callable[[Any, Any], Any], parts: Sequence[Any]) -> Any:
    """The parts combined two by two, then the results, and so on: shallower than one by one."""
    while len(parts) > 1:
        pairs = [function(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
        parts = [*pairs, *parts[len(parts) - len(parts) % 2 :]]
    return parts[0]


def spread_to(node: cp.Expression, shape: tuple[int, ...]) -> cp.Expression:
    """The node reshaped or broadcast to a shape."""
    if node.shape == shape:
        return node
    if node.size == int(np.prod(shape)):
        return cp.reshape(node, shape, order="F")
    return cp.broadcast_to(node, shape)


def substituted(problem: cp.Problem, stand_ins: Mapping[int, Any]) -> cp.Problem:
    """The problem with other expressions in place of variables.

    Parameters
    ----------
    problem : cvxpy.Problem
    stand_ins : mapping of variable id to expression
        Variables that are not in it stay.
    """
    memo: dict[int, Any] = {}

    def new(node: Any) -> Any:
        if id(node) not in memo:
            if isinstance(node, cp.Variable):
                memo[id(node)] = stand_ins.get(node.id, node)
            elif node.args and node.variables():
                memo[id(node)] = rebuilt(node, [new(arg) for arg in node.args])
            else:
                memo[id(node)] = node
        return memo[id(node)]

    return of_roots(problem, new)


def of_roots(problem: cp.Problem, new: Callable[[cp.Expression], cp.Expression]) -> cp.Problem:
    """The problem with ``new(e)`` for the objective and every side e of a constraint.

    It is the given object if nothing changes.
    """
    roots = [problem.objective.args[0], *(a for c in problem.constraints for a in c.args)]
    made = [new(root) for root in roots]
    if all(one is other for one, other in zip(made, roots, strict=True)):
        return problem
    left = iter(made)
    objective = type(problem.objective)(next(left))
    return cp.Problem(
        objective, [c.copy([next(left) for _ in c.args]) for c in problem.constraints]
    )


def rebuilt(node: cp.Expression, args: list[cp.Expression]) -> cp.Expression:
    """The node's atom with other arguments, in the node's shape.

    cvxpy's own copy of norm1 and norm_inf drops keepdims.
    """
    new = node.copy(args)
    return new if new.shape == node.shape else cp.reshape(new, node.shape, order="F")


_SCALINGS = (MulExpression, DivExpression, kron, conv, convolve)  # multiply is a MulExpression


def _magnitude(node: cp.Expression, values: Values, of_constants: bool) -> Array:
    if node.is_constant():
        return np.abs(values.array(node)) if of_constants else np.zeros(node.shape)
    sized = _sized_arguments(node, values, partial(values.magnitude, of_constants=of_constants))
    if sized is None and of_constants:
        return np.zeros(node.shape)
    with np.errstate(all="ignore"):
        size = values.array(node) if sized is None else dense(evaluate(node, sized))
        size = np.abs(size).reshape(node.shape, order="F")
    return np.where(np.isfinite(size), size, 0.0)


def _sized_arguments(
    node: Any, values: Values, size: Callable[[cp.Expression], Array]
) -> list[Any] | None:
    """Arguments at which an affine atom is the sum of its terms' sizes; None for other atoms."""
    if not isinstance(node, Atom) or not (node.is_atom_convex() and node.is_atom_concave()):
        return None
    if isinstance(node, _SCALINGS):
        return [abs(values(arg)) if arg.is_constant() else size(arg) for arg in node.args]
    keeps_sign = isinstance(node, NegExpression) or all(map(node.is_incr, range(len(node.args))))
    return [size(arg) for arg in node.args] if keeps_sign else None


# Characters of an expression in a message, and nodes of one that is written: shared parts, written
# out in every place, may exceed the memory.
WIDTH, MOST_WRITTEN = 90, 1000
_WRITTEN = re.compile(r"\b(Power|GeoMean|Pnorm)(Approx)?\(")
_FUNCTIONS = {"Power": "power(", "GeoMean": "geo_mean(", "Pnorm": "pnorm("}


def short(expression: cp.Expression, width: int = WIDTH) -> str:
    """One-line text of an expression for messages, with atoms as users write them."""
    if _written_nodes(expression) > MOST_WRITTEN:
        return f"{type(expression).__name__}(…)"
    with _named_by_shape(expression):
        plain = " ".join(str(expression).split())
    text = _WRITTEN.sub(lambda found: _FUNCTIONS[found[1]], plain)
    return text if len(text) <= width else text[: width - 1] + "…"


@contextmanager
def _named_by_shape(expression: cp.Expression) -> Iterator[None]:
    """While the context lasts, name arrays of numbers by their shape."""
    arrays = [n for n in nodes(expression) if isinstance(n, cp.Constant) and n.size > 1]
    unnamed = [constant for constant in arrays if constant._name is None]
    for constant in unnamed:
        constant._name = f"data{constant.shape}".replace(" ", "").replace(",)", ")")
    try:
        yield
    finally:
        for constant in unnamed:
            constant._name = None


def _written_nodes(expression: cp.Expression) -> int:
    counts: dict[int, int] = {}
    for node in nodes(expression):
        counts[id(node)] = 1 + sum(counts[id(arg)] for arg in node.args)
    return counts[id(expression)]


# ----------------------------------------------------------------------------------------------
# slopes and edges
#
# cvxpy's own ``grad`` forms sparse matrices, follows the order of the arguments at ties and gives
# None at the edge of a domain: the table of atoms settles all three.
#
# √u, u^p (0 < p < 1), log u, entr u and their like have an infinite slope at the edge of their
# domain. Their tangent is taken at ``EDGE`` inside it: still a majorant everywhere, but at the edge
# it touches only up to φ(EDGE) − EDGE·φ'(EDGE), 5e-6 for the square root.


def pull_back(
    atom: cp.Expression, args: Sequence[Array], value: Array, adjoint: Array
) -> list[Array]:
    """The vector-Jacobian products (∂φ/∂a_i)ᵀ·adjoint of an atom φ in its arguments a_i.

    Parameters
    ----------
    atom : cvxpy expression
    args : sequence of arrays
        Values of the arguments (see ``interior``).
    value : array
        The atom's value there.
    adjoint : array of the atom's shape

    Returns
    -------
    list of arrays, one of each argument's shape

    Raises
    ------
    ValueError
        The atom has no finite slope there (outside its domain).
    FaultyAtom
        A function given to ``register_atom`` has a fault.
    """
    rule = entry(atom).slope
    if rule is None:
        raise _no_slope(atom)
    try:
        with np.errstate(all="ignore"):
            slopes = rule(atom, args, np.asarray(value), np.asarray(adjoint))
    except FaultyAtom:
        raise
    except NotImplementedError as error:
        kind = type(atom).__name__
        advice = f"{kind} has no _grad, give it a slope by dc.register_atom({kind}, slope=...)"
        raise _no_slope(atom, advice) from error
    except Exception as error:  # whatever the libraries below raise
        raise _no_slope(atom) from error
    if not all(np.all(np.isfinite(slope)) for slope in slopes):
        raise _no_slope(atom)
    return slopes


def _no_slope(atom: cp.Expression, advice: str = "start inside its domain") -> ValueError:
    return ValueError(f"{short(atom)} has no finite slope at the current point: {advice}")


def interior(atom: cp.Expression, args: Sequence[Array], edge: float = EDGE) -> list[Array]:
    """The arguments, moved to at least `edge` inside the domain if the edge's slope is infinite."""
    args = [np.asarray(a, dtype=float) for a in args]
    known = edge_of(atom)
    return args if known is None else [known.inside(a, edge) for a in args]


def has_edge(atom: cp.Expression) -> bool:
    """True if the atom's slope is infinite at the edge of its domain and ``extended`` applies."""
    known = edge_of(atom)
    summable = isinstance(atom, Elementwise | AxisAtom) or atom.size == 1
    return known is not None and known.carried and summable


def extended(atom: cp.Expression, args: Sequence[Array], edge: float = EDGE) -> Array:
    """The atom φ, extended outward from `edge` inside its domain along its tangent there.

    The extension is concave, lies above φ, equals φ from `edge` on, and every tangent touches it.
    An outer loop that compares values of the extension descends exactly. Of NaN it is NaN.
    """
    point = interior(atom, [np.where(np.isnan(a), 0.0, a) for a in args], edge)
    here = np.asarray(atom.numeric(point), dtype=float).reshape(atom.shape)
    if all(np.array_equal(p, a) for p, a in zip(point, args, strict=True)):
        return here
    slopes = pull_back(atom, point, here, np.ones(atom.shape))
    beyond = sum(s * (a - p) for s, a, p in zip(slopes, args, point, strict=True))
    return here + _behind_outputs(atom, beyond)


def inside(atom: cp.Expression, args: Sequence[Array]) -> Array:
    """The atom's value where its arguments are moved to the edge of its domain if outside."""
    return np.asarray(evaluate(atom, interior(atom, args, edge=0.0)), dtype=float)


def _behind_outputs(atom: Any, terms: Any) -> Any:
    """For each output of the atom, the sum of the terms of the entries it is computed from."""
    if atom.size == 1:
        return np.sum(terms)
    if isinstance(atom, Elementwise):
        return terms
    return np.sum(terms, axis=atom.axis, keepdims=atom.keepdims)


def starts_at_edge(atom: cp.Expression, values: Values, share: float) -> bool:
    """True if an entry is within `share` of the largest depth from an edge with a finite value."""
    known = edge_of(atom)
    if known is None or known.bottomless:
        return False
    depths = [np.abs(known.depth(values.array(arg))) for arg in atom.args]
    return any(
        np.min(depth, initial=np.inf) <= share * float(np.max(depth, initial=0.0))
        for depth in depths
    )


def above_edge(atom: cp.Expression, values: Values) -> Array | None:
    """The entries' distances from an edge without a finite value; None if there is no such edge.

    Of an elementwise atom they are those of its first argument, in its shape, of others all.
    """
    known = edge_of(atom)
    if known is None or not known.bottomless:
        return None
    depths = [known.depth(values.array(arg)) for arg in atom.args]
    return (
        depths[0] if isinstance(atom, Elementwise) else np.concatenate(list(map(np.ravel, depths)))
    )


def limit_at(atom: cp.Expression, values: Values, near: npt.NDArray[np.bool_]) -> Array:
    """The atom's value with its limit, −∞ or ∞, where entries of its argument are at an edge."""
    limit = -np.inf if atom.is_atom_concave() else np.inf
    return np.where(
        near if isinstance(atom, Elementwise) else np.any(near), limit, values.array(atom)
    )
