"""A user's problem: Parameters frozen at their values, checks of its data, points as vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression, multiply
from cvxpy.atoms.quad_form import QuadForm
from cvxpy.constraints.zero import Equality, Zero

from dcprog.foundation.arrays import Array, unvec, vec
from dcprog.majorants.tree import of_roots, rebuilt, short

_Pair = tuple[cp.Expression, cp.Expression]

MOST_MOVING = 1000  # entries of Parameters: the compiled problem has a column for each


def freeze(problem: cp.Problem) -> cp.Problem:
    """The problem with every Parameter replaced by its value; the variables stay the user's.

    Slopes multiply a user's Parameters, and parameter × parameter is not DPP; during one solve
    they are constants anyway.

    Raises
    ------
    ValueError
        A Parameter has no value.
    """
    return Frozen(problem, moving=False).problem


class Frozen:
    """A copy of a problem with constants, or new Parameters, in place of the user's Parameters.

    A constant part that holds Parameters becomes one Parameter with the sign of its value, so
    that the problem's curvature is that of the current values. Parts that would not be DPP become
    constants: a product of two such parts, an exponent, a matrix of a quadratic form, a factor of
    mixed signs before an expression that is not affine; and all parts beyond a thousand entries.

    Parameters
    ----------
    problem : cvxpy.Problem
    moving : bool, default True
        False: constants everywhere.

    Attributes
    ----------
    problem : cvxpy.Problem
        The frozen problem in the user's variables; the given object if it has no Parameters.

    Raises
    ------
    ValueError
        A Parameter has no value.

    Examples
    --------
    >>> x, p = cp.Variable(), cp.Parameter(value=2.0)
    >>> frozen = Frozen(cp.Problem(cp.Minimize(cp.square(x) - 2 * p * x)))
    >>> p.value = 3.0
    >>> frozen.refresh()
    True
    >>> float(np.round(frozen.problem.solve(solver="CLARABEL"), 6))
    -9.0
    >>> p.value = -3.0  # another sign might be another curvature
    >>> frozen.refresh()
    False
    """

    def __init__(self, problem: cp.Problem, moving: bool = True) -> None:
        self._room = MOST_MOVING if moving else 0
        self._own: dict[int, tuple[cp.Parameter, cp.Expression]] = {}
        self._fixed: dict[int, tuple[cp.Parameter, Any]] = {}
        self._seen: dict[int, tuple[cp.Expression, _Pair]] = {}
        self.problem = problem
        if problem.parameters():
            _check_values(problem)
            self.problem = of_roots(problem, lambda root: self._both(root)[1])
        used = {parameter.id for parameter in self.problem.parameters()}
        self._own = {key: pair for key, pair in self._own.items() if key in used}
        self._seen = {}

    @property
    def moves(self) -> bool:
        """True if the frozen problem has Parameters that ``refresh`` can update."""
        return bool(self._own)

    def refresh(self) -> bool:
        """Update the frozen problem to the current values of the user's Parameters.

        Returns
        -------
        bool
            False if the problem must be frozen anew: a constant or a sign has changed, or a value
            is not finite.
        """
        if any(not np.array_equal(_dense(p.value), value) for p, value in self._fixed.values()):
            return False
        values = [(own, _number(expression)) for own, expression in self._own.values()]
        if any(value is None or not _has_sign(value, own) for own, value in values):
            return False
        for own, value in values:
            own.value = value
        return True

    def _both(self, node: cp.Expression) -> _Pair:
        """The node with constants, and with new Parameters; a shared node is built once."""
        if not node.parameters():
            return node, node
        if id(node) not in self._seen:
            self._seen[id(node)] = node, self._new(node)
        return self._seen[id(node)][1]

    def _new(self, node: cp.Expression) -> _Pair:
        if node.is_constant() and node.variables():  # of no entries: its variables must stay
            return node, node
        if node.is_constant():
            constant = cp.Constant(node.value)
            return constant, self._parameter(node) or self._fix(node, constant)
        pairs = [self._both(arg) for arg in node.args]
        if isinstance(node, QuadForm) and node.args[1].parameters():  # must be symmetric for cvxpy
            matrix = pairs[1][0]
            pairs[1] = matrix, self._fix(node.args[1], matrix)
        data = node.get_data() or []
        if any(_moves(datum) for datum in data):  # a power's exponent and huber's M
            frozen = [self._both(d)[0].value if _moves(d) else d for d in data]
            constant = type(node)(*(pair[0] for pair in pairs), *frozen)
            return constant, self._fix(node, constant)
        constant = rebuilt(node, [pair[0] for pair in pairs])
        moving = self._quotient(node, pairs) or rebuilt(node, [pair[1] for pair in pairs])
        if _is_mixed(moving) or (constant.is_dcp() and not moving.is_dpp()):
            return constant, self._fix(node, constant)
        return constant, moving

    def _quotient(self, node: cp.Expression, pairs: list[_Pair]) -> cp.Expression | None:
        """The product with 1/p in place of a quotient by p, which is not DPP; else None."""
        if not isinstance(node, DivExpression) or not node.args[1].parameters():
            return None
        inverse = self._parameter(1 / node.args[1]) if node.args[1].is_constant() else None
        return None if inverse is None else cp.multiply(pairs[0][1], inverse)

    def _parameter(self, node: cp.Expression) -> cp.Parameter | None:
        """A new Parameter for a constant node; None if the node has to be a constant."""
        value = _number(node)
        if value is None or node.size > self._room:
            return None
        self._room -= node.size
        nonneg, nonpos = bool(np.all(value >= 0)), bool(np.all(value <= 0))
        own = cp.Parameter(node.shape, nonneg=nonneg, nonpos=nonpos and not nonneg, value=value)
        self._own[own.id] = own, node
        return own

    def _fix(self, node: cp.Expression, constant: cp.Expression) -> cp.Expression:
        """Remember that the node's Parameters must keep their values; return its constant."""
        for parameter in node.parameters():
            self._fixed[parameter.id] = parameter, np.copy(_dense(parameter.value))
        return constant


def _check_values(problem: cp.Problem) -> None:
    for parameter in problem.parameters():
        if parameter.value is None:
            raise ValueError(f"Parameter {parameter.name()!r} has no value: set its .value first")


def _number(node: cp.Expression) -> Array | None:
    """The value of a constant node; None unless it is dense, real and finite."""
    value = node.value
    if value is None or sp.issparse(value) or np.iscomplexobj(value):
        return None
    value = np.asarray(value, dtype=float)
    return value if np.all(np.isfinite(value)) else None


def _dense(value: Any) -> Any:
    return value.toarray() if hasattr(value, "toarray") else value


def _has_sign(value: Array, parameter: cp.Parameter) -> bool:
    """True if the value has the sign with which the Parameter was declared."""
    if parameter.is_nonneg():
        return bool(np.all(value >= 0))
    return not parameter.is_nonpos() or bool(np.all(value <= 0))


def _is_mixed(node: cp.Expression) -> bool:
    """True for a product of a Parameter of both signs and an expression that is not affine."""
    if not isinstance(node, MulExpression | multiply):
        return False
    factors = [arg for arg in node.args if arg.is_constant() and arg.parameters()]
    mixed = any(not (factor.is_nonneg() or factor.is_nonpos()) for factor in factors)
    return mixed and not all(arg.is_affine() for arg in node.args)


def _moves(datum: Any) -> bool:
    return isinstance(datum, cp.Expression) and bool(datum.parameters())


def check_data(problem: cp.Problem, *, whole: bool = False) -> None:
    """Raise an error for variables and data that no step can handle.

    Parameters
    ----------
    problem : cvxpy.Problem
    whole : bool, default False
        Accept integer and boolean variables.

    Raises
    ------
    ValueError
        A variable is integer, boolean or complex or restricted to a finite set, or a constant
        holds NaN or infinity.
    """
    for constraint in problem.constraints:
        if isinstance(constraint, cp.FiniteSet):
            raise ValueError(
                f"{short(constraint)} restricts a variable to finitely many values: write "
                "these as a sum over boolean variables of which one is 1"
            )
    for variable in problem.variables():
        check_variable(variable, whole=whole)
    for constant in [*problem.constants(), *problem.parameters()]:
        value: Any = constant.value
        entries = value.tocoo().data if hasattr(value, "tocoo") else value
        if entries is not None and not np.all(np.isfinite(np.asarray(entries))):
            raise ValueError(
                f"the data {short(constant)} of shape {constant.shape} contains NaN or "
                "infinity: clean it before it enters the problem"
            )


def check_variable(variable: cp.Variable, *, whole: bool = False) -> None:
    """Raise ValueError for a complex variable, and for an integer or boolean one unless `whole`."""
    if not whole and has_whole_entries(variable):
        raise ValueError(
            f"variable {variable.name()!r} is integer or boolean: convex majorants are of "
            "continuous problems; relax it to bounds, or pass the problem to dc.solve"
        )
    if variable.is_complex():
        raise ValueError(
            f"variable {variable.name()!r} is complex: write the real and the imaginary part "
            "as two variables"
        )


def compared(constraint: cp.Constraint) -> tuple[cp.Expression, bool] | None:
    """The expression that is asked to be 0 (True) or at most 0; None for cones of other kinds.

    Examples
    --------
    >>> import cvxpy as cp
    >>> x = cp.Variable(name="x")
    >>> print(*compared(x == 2), *compared(cp.NonNeg(x)))
    x + -2.0 True -x False
    """
    if isinstance(constraint, Equality | Zero):
        return constraint.expr, True
    if isinstance(constraint, cp.constraints.Inequality | cp.NonPos):
        return constraint.expr, False
    return (-constraint.expr, False) if isinstance(constraint, cp.NonNeg) else None


def declared_kinds(variable: cp.Variable) -> set[str]:
    """The attributes with which a variable is declared; empty if any array may be its value."""
    return {kind for kind, v in variable.attributes.items() if v is not None and v is not False}


def has_whole_entries(variable: cp.Variable) -> bool:
    """True if an entry of the variable must be a whole number."""
    kinds = variable.attributes
    return variable.size > 0 and bool(kinds["integer"] or kinds["boolean"])


# ----------------------------------------------------------------------------------------------
# points


class Points:
    """Flat points x: the variables' entries one after the other, each column by column.

    Parameters
    ----------
    variables : sequence of cvxpy variables

    Examples
    --------
    >>> import cvxpy as cp
    >>> points = Points([cp.Variable(2, name="x"), cp.Variable(name="y")])
    >>> points.largest(np.array([1.0, 3.0, 2.0])), points.spread(np.array([3.0, 2.0]))
    (array([3., 2.]), array([3., 3., 2.]))
    """

    def __init__(self, variables: Sequence[cp.Variable]) -> None:
        self.variables = list(variables)
        self._sizes = [v.size for v in variables]
        ends = np.cumsum([0, *self._sizes]).tolist()
        self._parts = [
            (slice(*at), v.shape) for at, v in zip(pairwise(ends), variables, strict=True)
        ]
        self.size = ends[-1]

    def pack(self, arrays: Mapping[int, Any]) -> Array:
        """The flat point of a mapping from variable id to array."""
        return np.concatenate([vec(arrays[v.id]) for v in self.variables] or [np.zeros(0)])

    def split(self, x: Array) -> list[Array]:
        """The arrays of the variables at a flat point."""
        return [unvec(x[part], shape) for part, shape in self._parts]

    def unpack(self, x: Array) -> list[tuple[cp.Variable, Array]]:
        """Variables and their arrays at a flat point."""
        return list(zip(self.variables, self.split(x), strict=True))

    def load(self, x: Array) -> None:
        """Put a flat point into the variables."""
        for variable, array in self.unpack(x):
            variable.save_value(array)

    def fill(self) -> None:
        """Set variables without a value to 0: they are in no remaining term or constraint."""
        for variable in self.variables:
            if variable.value is None:
                variable.save_value(np.zeros(variable.shape))

    def current(self) -> Array:
        """The flat point of the variables' values, after ``fill``."""
        self.fill()
        return self.pack({v.id: v.value for v in self.variables})

    def projected(self, x: Array) -> Array:
        """The flat point with each variable projected onto its declared attributes."""
        return self.pack({v.id: v.project(array) for v, array in self.unpack(x)})

    def largest(self, sizes: Array) -> Array:
        """The largest entry of each variable, at least 0."""
        return np.array([np.max(part, initial=0.0) for part in self.split(sizes)])

    def spread(self, of_variables: Array) -> Array:
        """The flat vector that repeats each variable's number at all its entries."""
        return np.repeat(of_variables, self._sizes)
