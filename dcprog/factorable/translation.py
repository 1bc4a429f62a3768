"""The table of atoms: cvxpy's expressions as rows of terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from cvxpy.atoms import (
    GeoMean,
    GeoMeanApprox,
    Pnorm,
    PnormApprox,
    Power,
    PowerApprox,
    QuadForm,
)
from cvxpy.atoms.affine.affine_atom import AffAtom
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression, multiply
from cvxpy.atoms.cumprod import cumprod
from cvxpy.atoms.elementwise.hyperbolic import asinh, tanh
from cvxpy.atoms.elementwise.trig import cos, sin, tan
from cvxpy.atoms.prod import Prod

from dcprog.factorable import terms as op
from dcprog.factorable.terms import Row, Terms
from dcprog.foundation.arrays import Array, dense, vec
from dcprog.foundation.errors import NotBoundable
from dcprog.foundation.tolerances import SQUARABLE
from dcprog.majorants.affine import atom_jacobian, constant_part
from dcprog.majorants.atoms import entry
from dcprog.majorants.tree import Values, by_pairs, short

Places = npt.NDArray[np.intp]
Rows = list[Row]


class Translation:
    """Translates cvxpy expressions to rows of terms, one row per entry, column by column.

    Parameters
    ----------
    variables : sequence of cvxpy variables
        Variables of all expressions; their entries are the first columns.
    by_pairs : bool, default False
        True takes log Σ exp two by two, b + log(1 + e^(a − b)): the bounds are looser, but right
        where Σ exp overflows.

    Attributes
    ----------
    terms : Terms
    domain : list of Row
        Rows that must be nonnegative for the expressions to be defined.

    Examples
    --------
    >>> import cvxpy as cp
    >>> x = cp.Variable(2)
    >>> translation = Translation([x])
    >>> (row,) = translation(cp.sum(cp.exp(x)) - 3 * x[1])
    >>> row
    Row(terms=((1, -3.0), (2, 1.0), (3, 1.0)), constant=0.0)
    """

    def __init__(self, variables: Sequence[cp.Variable], *, by_pairs: bool = False) -> None:
        starts = np.cumsum([0, *(v.size for v in variables)])
        self.terms = Terms(int(starts[-1]))
        self._by_pairs = by_pairs
        self._log_sums: list[Rows] = []
        self.domain: Rows = []
        self._starts = {v.id: int(s) for v, s in zip(variables, starts, strict=False)}
        self._memo: dict[int, tuple[Any, Rows]] = {}

    def __call__(self, expression: cp.Expression) -> Rows:
        """The rows of an expression.

        Raises
        ------
        NotBoundable
            An atom has no translation; the error names it.
        """
        if id(expression) not in self._memo:
            self._memo[id(expression)] = expression, self._rows(expression)
        return self._memo[id(expression)][1]

    def _rows(self, node: Any) -> Rows:
        if isinstance(node, cp.Variable):
            return [self.terms.variable(self._starts[node.id] + k) for k in range(node.size)]
        if node.is_constant():
            return [Row((), float(c)) for c in vec(node.value)]
        rule, equal = RULES.get(type(node)), entry(node).equal
        if rule is not None:
            return rule(self, node)
        if equal is not None:
            return self(equal(node))
        if isinstance(node, AffAtom):
            return self.affine(node)
        raise NotBoundable(
            short(node),
            f"no rule translates a {type(node).__name__}",
            "sums, products, quotients, norms, powers, exponentials, logarithms, sines and "
            "functions made of them",
        )

    def affine(self, node: Any) -> Rows:
        """The rows of an affine atom: its matrices times the rows of its arguments."""
        found = [Row((), float(c)) for c in vec(constant_part(node, Values()))]
        for arg, jacobian in zip(node.args, atom_jacobian(node, Values()), strict=True):
            if arg.is_constant():
                continue
            rows, matrix = self(arg), sp.csr_array(jacobian.T)
            for i in range(node.size):
                places = slice(matrix.indptr[i], matrix.indptr[i + 1])
                pairs = zip(matrix.indices[places], matrix.data[places], strict=True)
                found[i] = total([found[i], *(rows[j] * float(c) for j, c in pairs)])
        return found

    # ------------------------------------------------------------------------------------------
    # functions of rows

    def product(self, a: Row, b: Row) -> Row:
        """The product; a square if the rows are multiples of each other, one term for a·log a."""
        if a.is_constant or b.is_constant:
            return b * a.constant if a.is_constant else a * b.constant
        ratio = _ratio(a, b)
        if ratio is not None:
            return ratio * self.power(b, 2)
        for one, other in ((a, b), (b, a)):
            logarithm = self._x_log_x(one, other)
            if logarithm is not None:
                return logarithm
        (a, p), (b, q) = _without_factor(a), _without_factor(b)  # 2x·y and y·x are one term
        return p * q * self.terms.add(op.Product(), *sorted((a, b), key=lambda row: row.terms))

    def _x_log_x(self, a: Row, b: Row) -> Row | None:
        """The product a·b if b is a multiple of log(a), up to a factor of a; None otherwise."""
        if len(b.terms) != 1 or b.constant != 0 or b.terms[0][0] < self.terms.size:
            return None
        column, factor = b.terms[0]
        operation, args = self.terms.operations[column - self.terms.size]
        ratio = _ratio(a, args[0]) if isinstance(operation, op.Log) else None
        return None if ratio is None else ratio * factor * self.terms.add(op.XLogX(), *args)

    def power(self, a: Row, p: float) -> Row:
        """The power a^p, for negative a too if p is a whole number."""
        if p == 0:
            return Row((), 1.0)
        return a if p == 1 else self.terms.add(op.Power(p), a)

    def quotient(self, a: Row, b: Row) -> Row:
        """The quotient a/b; b may have either sign."""
        return self.product(a, self.power(b, -1.0))

    def largest(self, a: Row, b: Row) -> Row:
        """The larger of two numbers."""
        return self.terms.add(op.Largest(), *sorted((a, b), key=lambda row: row.terms))

    def largest_of(self, rows: Rows) -> Row:
        """The largest of several numbers, two by two."""
        return by_pairs(self.largest, rows)

    def log_sum_exp(self, rows: Rows) -> Row:
        """The logarithm of the sum of exponentials."""
        self._log_sums.append(rows)
        if self._by_pairs:
            return by_pairs(lambda a, b: b + self.terms.add(op.Logistic(), a - b), rows)
        return self.terms.add(op.Log(), total([self.terms.add(op.Exp(), a) for a in rows]))

    def has_finite_sums(self, lo: Array, hi: Array) -> bool:
        """True if there are log Σ exp, and each Σ exp has a finite range above 0.

        Parameters
        ----------
        lo, hi : arrays of shape (p,)
            Bounds of the variables' entries.
        """
        if not self._log_sums:
            return False
        ranges = self.terms.ranges(lo[None], hi[None])
        ends = [np.max([ranges.of(row) for row in rows], axis=(0, 2)) for rows in self._log_sums]
        with np.errstate(over="ignore", under="ignore"):
            low, high = np.exp(ends).T
        return bool(np.all((low > 0) & (high < SQUARABLE)))

    def nonnegative(self, a: Row) -> Row:
        """The row itself, noted as one that must be nonnegative."""
        self.domain.append(a)
        return a


def total(rows: Rows) -> Row:
    """The sum of rows."""
    coefficients: dict[int, float] = {}
    for row in rows:
        for j, c in row.terms:
            coefficients[j] = coefficients.get(j, 0.0) + c
    return Row.of(coefficients, float(sum(row.constant for row in rows)))


def _without_factor(a: Row) -> tuple[Row, float]:
    """A row c·x of one column as x and c; other rows as they are."""
    if len(a.terms) > 1 or a.constant != 0:
        return a, 1.0
    column, factor = a.terms[0]
    return Row(((column, 1.0),)), factor


def _ratio(a: Row, b: Row) -> float | None:
    """The factor r with a = r·b; None if the rows are no multiples of each other."""
    if len(a.terms) != len(b.terms):
        return None
    r = a.terms[0][1] / b.terms[0][1]
    return r if a == b * r else None


# ----------------------------------------------------------------------------------------------
# the table of atoms

Rule = Callable[[Translation, Any], Rows]


def _places(node: Any) -> Places:
    """The places of an array's entries in a column-major vector."""
    return np.arange(node.size).reshape(node.shape, order="F")


def _spread(t: Translation, node: Any) -> list[tuple[Row, ...]]:
    """The arguments, broadcast to the node's shape, entry by entry."""
    columns = []
    for arg in node.args:
        rows, places = t(arg), _places(arg)
        if arg.size == 1:  # a number over an array of one entry is a number to cvxpy
            places = places.reshape(())
        columns.append([rows[k] for k in vec(np.broadcast_to(places, node.shape)).astype(int)])
    return list(zip(*columns, strict=True))


def _by_axis(node: Any) -> Places:
    """The places of the entries that form each output of an axis atom, one line per output."""
    places, axis = _places(node.args[0]), getattr(node, "axis", None)
    if axis is None or places.ndim < 2:
        return places.ravel()[None]
    gone = tuple(np.atleast_1d(axis) % places.ndim)
    rest = [k for k in range(places.ndim) if k not in gone]
    moved = np.transpose(places, [*rest[::-1], *gone])  # the first axis that is left runs fastest
    return moved.reshape(int(np.prod([places.shape[k] for k in rest])), -1)


def _elementwise(function: Callable[..., Row]) -> Rule:
    """A rule for an atom that works entry by entry."""
    return lambda t, node: [function(t, node, *rows) for rows in _spread(t, node)]


def _along(function: Callable[[Translation, Any, Rows], Row]) -> Rule:
    """A rule for an atom that takes the entries along an axis together."""

    def rule(t: Translation, node: Any) -> Rows:
        rows = t(node.args[0])
        return [function(t, node, [rows[k] for k in line]) for line in _by_axis(node)]

    return rule


def _unary(operation: op.Operation) -> Rule:
    return _elementwise(lambda t, node, a: t.terms.add(operation, a))


def _power(t: Translation, node: Any, a: Row, *_: Row) -> Row:
    p = float(node.p.value)
    if p < 0:
        t.nonnegative(a)
    return t.power(a, p)


def _rel_entr(t: Translation, node: Any, x: Row, y: Row) -> Row:
    if x.is_constant and x.constant == 0:
        t.nonnegative(y)
        return Row(())
    return t.terms.add(op.XLogX(), x) - t.product(x, t.terms.add(op.Log(), y))


def _cos(t: Translation, a: Row) -> Row:
    return t.terms.add(op.Sin(), a + np.pi / 2)


def _tan(t: Translation, node: Any, a: Row) -> Row:
    """The tangent on (−π/2, π/2), cvxpy's domain."""
    t.nonnegative(a + np.pi / 2)
    t.nonnegative(np.pi / 2 - a)
    return t.quotient(t.terms.add(op.Sin(), a), _cos(t, a))


def _matrix_product(t: Translation, node: Any) -> Rows:
    if any(arg.is_constant() for arg in node.args):
        return t.affine(node)
    left, right = (_places(arg) for arg in node.args)
    if left.ndim > 2 or right.ndim > 2:
        raise NotBoundable(short(node), "a product of arrays of more than two dimensions", "@")
    a, b = (t(arg) for arg in node.args)
    lines = left[None] if left.ndim == 1 else left
    columns = right[None] if right.ndim == 1 else right.T
    return [
        total([t.product(a[i], b[j]) for i, j in zip(line, column, strict=True)])
        for column in columns
        for line in lines
    ]


def _norm(t: Translation, node: Any, rows: Rows) -> Row:
    p = float(node.p.value if hasattr(node.p, "value") else node.p)
    if p < 1:
        return t.power(total([t.power(t.nonnegative(a), p) for a in rows]), 1 / p)
    if p == 2:
        return t.power(total([t.power(a, 2) for a in rows]), 0.5)
    return t.power(total([t.power(t.terms.add(op.Abs(), a), p) for a in rows]), 1 / p)


def _sum_largest(t: Translation, node: Any) -> Rows:
    """The sum of the k largest entries, found one after the other by pairwise comparison."""
    k, rows = float(node.k), t(node.args[0])
    found: Rows = []
    while k > 0 and rows:
        top, rest = rows[0], []
        for a in rows[1:]:
            larger = t.largest(top, a)
            rest.append(top + a - larger)
            top = larger
        found.append(min(k, 1.0) * top)  # the last one counts with the fraction of k that is left
        rows, k = rest, k - 1
    return [total(found)]


def _squares_over(t: Translation, node: Any) -> Rows:
    rows, (divisor,) = t(node.args[0]), t(node.args[1])
    sums = [total([t.power(rows[k], 2) for k in line]) for line in _by_axis(node)]
    if divisor.is_constant:
        return [s * (1 / divisor.constant) for s in sums]
    inverse = t.power(t.nonnegative(divisor), -1.0)
    return [t.product(s, inverse) for s in sums]


def _quad_form(t: Translation, node: Any) -> Rows:
    if not node.args[1].is_constant():
        raise NotBoundable(short(node), "its matrix is not constant", "products written out")
    rows, matrix = t(node.args[0]), dense(node.args[1].value)
    matrix = 0.5 * (matrix + matrix.T)
    squares = [matrix[i, i] * t.power(a, 2) for i, a in enumerate(rows) if matrix[i, i] != 0]
    mixed = [
        2 * matrix[i, j] * t.product(rows[i], rows[j])
        for j in range(len(rows))
        for i in range(j)
        if matrix[i, j] != 0
    ]
    return [total([*squares, *mixed])]


def _geo_mean(t: Translation, node: Any) -> Rows:
    weights = [float(w) for w in node.w]
    powers = [
        t.power(t.nonnegative(a), w) for a, w in zip(t(node.args[0]), weights, strict=True) if w
    ]
    return [reduce(t.product, powers)]


def _cumprod(t: Translation, node: Any) -> Rows:
    places, rows = _places(node.args[0]), t(node.args[0])
    if places.ndim < 2 or node.axis is None:
        lines = places.reshape(1, -1)
    else:
        lines = np.moveaxis(places, node.axis, -1).reshape(-1, places.shape[node.axis])
    found: list[Row] = [Row(())] * node.size
    for line in lines:
        product = Row((), 1.0)
        for k in line:
            product = t.product(product, rows[k])
            found[k] = product
    return found


# By exact type, as a class of cvxpy may derive from another atom: log1p from log.
RULES: dict[type, Rule] = {
    cp.exp: _unary(op.Exp()),
    cp.log: _unary(op.Log()),
    cp.log1p: _elementwise(lambda t, node, a: t.terms.add(op.Log(), 1 + a)),
    cp.entr: _elementwise(lambda t, node, a: -t.terms.add(op.XLogX(), a)),
    cp.rel_entr: _elementwise(_rel_entr),
    cp.logistic: _unary(op.Logistic()),
    cp.abs: _unary(op.Abs()),
    cp.huber: _elementwise(lambda t, node, a: t.terms.add(op.Huber(float(node.M.value)), a)),
    cp.xexp: _elementwise(lambda t, node, a: t.product(a, t.terms.add(op.Exp(), a))),
    Power: _elementwise(_power),
    PowerApprox: _elementwise(_power),
    cp.maximum: _elementwise(lambda t, node, *rows: t.largest_of(list(rows))),
    cp.minimum: _elementwise(lambda t, node, *rows: -t.largest_of([-a for a in rows])),
    sin: _unary(op.Sin()),
    cos: _elementwise(lambda t, node, a: _cos(t, a)),
    tan: _elementwise(_tan),
    tanh: _unary(op.Tanh()),
    asinh: _unary(op.Asinh()),
    cp.max: _along(lambda t, node, rows: t.largest_of(rows)),
    cp.min: _along(lambda t, node, rows: -t.largest_of([-a for a in rows])),
    cp.norm1: _along(lambda t, node, rows: total([t.terms.add(op.Abs(), a) for a in rows])),
    cp.norm_inf: _along(
        lambda t, node, rows: t.largest_of([t.terms.add(op.Abs(), a) for a in rows])
    ),
    Pnorm: _along(_norm),
    PnormApprox: _along(_norm),
    cp.log_sum_exp: _along(lambda t, node, rows: t.log_sum_exp(rows)),
    Prod: _along(lambda t, node, rows: reduce(t.product, rows)),
    cumprod: _cumprod,
    cp.sum_largest: _sum_largest,
    cp.quad_over_lin: _squares_over,
    QuadForm: _quad_form,
    GeoMean: _geo_mean,
    GeoMeanApprox: _geo_mean,
    DivExpression: _elementwise(lambda t, node, a, b: t.quotient(a, b)),
    multiply: _elementwise(lambda t, node, a, b: t.product(a, b)),
    MulExpression: _matrix_product,
}
