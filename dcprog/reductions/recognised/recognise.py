"""From a cvxpy problem to the risk that it is, if it is one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression, multiply
from cvxpy.atoms.affine.promote import Promote
from cvxpy.atoms.affine.unary_operators import NegExpression
from cvxpy.atoms.elementwise.power import Power
from cvxpy.atoms.norm1 import norm1
from cvxpy.atoms.pnorm import Pnorm
from cvxpy.atoms.quad_form import QuadForm
from cvxpy.atoms.quad_over_lin import quad_over_lin

from dcprog.foundation.arrays import Array, dense, vec
from dcprog.foundation.kept_values import values_kept
from dcprog.foundation.tolerances import DECADES, KNOWN_DIGITS, ROUNDING
from dcprog.losses import Loss, absolute, cap, log, power, square, trim
from dcprog.majorants.affine import Adjoint, atom_jacobian
from dcprog.majorants.rules.frame import is_affine_atom
from dcprog.majorants.tree import Values, evaluate, nodes
from dcprog.majorants.user_problem import Points, declared_kinds
from dcprog.penalties import Penalty, capped_l1, elastic_net, l1, l2, log_sum, lp
from dcprog.penalties.penalty import weighted_l1
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
from dcprog.risk.risk import Risk
from dcprog.risk_mm.units import usual_coefficients
from dcprog.rows.linear import Margins, Samples
from dcprog.rows.scores import Scores
from dcprog.solvers.registry import REFERENCE, choose
from dcprog.transforms import cap_at

Blocks = dict[int, Any]  # variable id to the columns of its entries, column-major
Term = tuple[cp.Expression, Array]
Mask = npt.NDArray[np.bool_]


class Matrices:
    """A and c of affine expressions Aθ + c, each computed once.

    Forwards through the tree: X @ w is X itself, where Jacobians would make it sparse.

    Parameters
    ----------
    points : Points
        θ.

    Examples
    --------
    >>> x = cp.Variable(2)
    >>> A, c = Matrices(Points([x])).of(np.array([[1.0, 2.0], [3.0, 4.0]]) @ x - 1)
    >>> A.tolist(), c.tolist()
    ([[1.0, 2.0], [3.0, 4.0]], [-1.0, -1.0])
    """

    def __init__(self, points: Points) -> None:
        self._size = points.size
        ends = np.cumsum([v.size for v in points.variables])
        self._places = {
            v.id: slice(end - v.size, end) for v, end in zip(points.variables, ends, strict=True)
        }
        self._values = Values()
        self._origin = _Origin()
        self._known: dict[int, tuple[Any, Array]] = {}

    def of(self, affine: cp.Expression) -> tuple[Any, Array]:
        """A, as an array or a sparse array, and c."""
        if id(affine) not in self._known:
            self._known[id(affine)] = self._matrix(affine), vec(self._origin.array(affine))
        return self._known[id(affine)]

    def _matrix(self, affine: cp.Expression) -> Any:
        """A from the blocks of the variables that occur, which may be few of many."""
        found = self._blocks(affine)
        if all(isinstance(block, sp.sparray) for block in found.values()):
            return self._sparse(found, affine.size)
        matrix = np.zeros((affine.size, self._size))
        for key, block in found.items():
            matrix[:, self._places[key]] = dense(block)
        return matrix

    def _sparse(self, found: Blocks, n: int) -> Any:
        blocks = [(self._places[key].start, sp.coo_array(block)) for key, block in found.items()]
        columns = [start + block.col for start, block in blocks]
        rows, data = [b.row for _, b in blocks], [b.data for _, b in blocks]
        places = np.concatenate(rows), np.concatenate(columns)
        return sp.csr_array((np.concatenate(data), places), shape=(n, self._size))

    def _blocks(self, affine: cp.Expression) -> Blocks:
        """The blocks of an expression, through all its nodes, arguments first."""
        known: dict[int, Blocks] = {}
        for node in nodes(affine):
            total: Blocks = {}
            if isinstance(node, cp.Variable):
                total = {node.id: sp.csr_array(sp.eye_array(node.size))}
            elif not node.is_constant():
                for i, arg in enumerate(node.args):
                    for key, block in known[id(arg)].items():
                        moved = self._through(node, i, block)
                        total[key] = total[key] + moved if key in total else moved
            known[id(node)] = total
        return known[id(affine)]

    def _through(self, node: Any, index: int, block: Any) -> Any:
        """The columns of an argument, as columns of the atom."""
        arg = node.args[index]
        if isinstance(node, NegExpression):
            return -block
        if isinstance(node, AddExpression) and arg.size == node.size:
            return block
        if isinstance(node, Promote | AddExpression):
            return np.ones((node.size, 1)) @ block
        if isinstance(node, multiply | DivExpression) and arg.size == node.size:
            other = vec(np.broadcast_to(self._values.array(node.args[1 - index]), node.shape))
            return scaled_rows(1 / other if isinstance(node, DivExpression) else other, block)
        if type(node) is MulExpression and index == 1 and arg.ndim == node.args[0].ndim - 1 == 1:
            return _product(self._values(node.args[0]), block)
        return atom_jacobian(node, self._values)[index].T @ block


def scaled_rows(factors: Array, block: Any) -> Any:
    """The rows of an array or a sparse one, each times its factor."""
    sparse = isinstance(block, sp.sparray)
    return sp.diags_array(factors) @ block if sparse else factors[:, None] * block


def _product(matrix: Any, block: Any) -> Any:
    """The product; with the columns of a whole variable the matrix itself."""
    matrix = sp.csr_array(matrix) if hasattr(matrix, "tocsr") else dense(matrix)
    if isinstance(block, sp.csr_array) and _is_identity(block):
        return matrix
    return matrix @ block


def _is_identity(block: sp.csr_array) -> bool:
    n, columns = block.shape[0], block.indices
    square = block.shape == (n, n) and block.nnz == n
    return square and bool(np.all(block.data == 1) and np.array_equal(columns, np.arange(n)))


class _Origin(Values):
    """Values where all variables are 0."""

    def _evaluate(self, node: cp.Expression) -> Any:
        if isinstance(node, cp.Variable):
            return np.zeros(node.shape)
        if not node.args:
            return super()._evaluate(node)
        return evaluate(node, [self(arg) for arg in node.args])


# ----------------------------------------------------------------------------------------------


def uniform(numbers: Any) -> float | None:
    """The common value of numbers that agree up to rounding; None if they differ."""
    numbers = np.asarray(numbers, dtype=float)
    first = float(numbers.flat[0])
    apart = np.max(np.abs(numbers - first))
    return first if apart <= ROUNDING * np.max(np.abs(numbers)) else None


def arguments(root: cp.Expression) -> list[cp.Expression]:
    """The largest affine expressions of a tree that are not constant, each once."""
    found: dict[int, cp.Expression] = {}
    seen, waiting = {id(root)}, [root]
    while waiting:
        node = waiting.pop()
        if node.is_constant():
            continue
        if node.is_affine():
            found[id(node)] = node
            continue
        waiting += [arg for arg in node.args if id(arg) not in seen]
        seen.update(id(arg) for arg in node.args)
    return list(found.values())


@dataclass(frozen=True)
class Affine:
    """κ·core + τ, of which one core may stand in several arguments."""

    factor: float
    core: cp.Expression
    shift: Array | float

    @classmethod
    def of(cls, node: cp.Expression, values: Values) -> Affine:
        """An affine expression without the factors and constants around it."""
        factor, shift = 1.0, np.zeros(node.size)
        while True:
            live = [arg for arg in node.args if not arg.is_constant()]
            if len(live) != 1 or live[0].shape != node.shape:
                break
            constants = [values.array(arg) for arg in node.args if arg.is_constant()]
            if isinstance(node, AddExpression):
                here = sum(vec(np.broadcast_to(c, node.shape)) for c in constants)
                shift = shift + factor * here
            elif isinstance(node, NegExpression):
                factor = -factor
            elif isinstance(node, multiply) and uniform(constants[0]):
                factor *= float(constants[0].flat[0])
            elif isinstance(node, DivExpression) and uniform(constants[0]):
                factor /= float(constants[0].flat[0])
            else:
                break
            node = live[0]
        return cls(factor, node, shift)


class Lines:
    """The affine arguments of some nodes, all of them lines in one vector u.

    Parameters
    ----------
    found : sequence of expressions
        Affine.
    matrices : Matrices

    Attributes
    ----------
    matrix : array or sparse array of shape (n, p)
        A.
    offset : array of shape (n,) or None

    Raises
    ------
    Unrecognised
        They are not lines in one u.
    """

    def __init__(self, found: Sequence[cp.Expression], matrices: Matrices) -> None:
        values = Values()
        affine = [Affine.of(node, values) for node in found]
        core = affine[0].core
        if any(one.core.size != core.size for one in affine):
            raise Unrecognised("arguments of other shapes")
        self.matrix: Any
        self.matrix, constant = matrices.of(core)
        factors, shifts = [], []
        for one in affine:
            share, rest = 1.0, constant
            if one.core is not core:
                matrix, rest = matrices.of(one.core)
                share = _share(matrix, self.matrix)
            factors.append(one.factor * share)
            shifts.append(one.shift + one.factor * rest)
        self.offset: Array | None = None
        if any(uniform(shift) is None for shift in shifts):
            self.offset = shifts[0] / factors[0]
            shifts = [s - f * self.offset for s, f in zip(shifts, factors, strict=True)]
        size = 0.0 if self.offset is None else float(np.max(np.abs(self.offset)))
        self._lines = {
            id(node): Curve(slope=factor, constant=_even(shift, abs(factor) * size))
            for node, factor, shift in zip(found, factors, shifts, strict=True)
        }

    def mirrored(self) -> Lines:
        """The lines with −u in place of u."""
        other = copy(self)
        other.matrix = -self.matrix
        other.offset = None if self.offset is None else -self.offset
        other._lines = {
            key: Curve(slope=-line.slope, constant=line.constant)
            for key, line in self._lines.items()
        }
        return other

    def get(self, node: cp.Expression) -> Curve | None:
        """The line of a node; None of a node that has none."""
        return self._lines.get(id(node))


def _share(matrix: Any, of: Any) -> float:
    """The number by which one matrix is another."""
    if matrix.shape == of.shape:
        share = float((matrix * of).sum() / (of * of).sum())
        if share != 0 and abs(matrix - share * of).max() <= ROUNDING * abs(matrix).max():
            return share
    raise Unrecognised("losses of different rows")


def _even(shift: Array, size: float) -> float:
    """The number that all entries are, up to the rounding of numbers of a size."""
    first = float(shift[0])
    rounding = ROUNDING * max(size, float(np.max(np.abs(shift))))
    if np.max(np.abs(shift - first)) > rounding:
        raise Unrecognised("thresholds that differ between entries")
    return 0.0 if abs(first) <= ROUNDING * size else first


# ----------------------------------------------------------------------------------------------


class Reading:
    """Reads expressions, given what their affine arguments are.

    Parameters
    ----------
    lines : Lines
    """

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self.values = Values()
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
            return Curve(constant=_number(node))
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
        for inside, level in (node.args, node.args[::-1]):
            if level.is_constant() and uniform(self.values.array(level)) is None:
                return inside, self.values.array(level)
        return node, None

    def argument(self, node: Any) -> Curve:
        """The curve of a node's first argument."""
        return self.curve(node.args[0])


def _multiple(reading: Reading, node: Any) -> Curve:
    one, other = (reading.curve(arg) for arg in node.args)
    if other.is_number:
        return one.times(other.constant)
    if one.is_number:
        return other.times(one.constant)
    raise Unrecognised("a product")


def _apart(reading: Reading, node: Any) -> tuple[list[Curve], list[float]]:
    """The arguments that are functions of u, and the constant arguments."""
    curves = [reading.curve(arg) for arg in node.args]
    numbers = [curve.constant for curve in curves if curve.is_number]
    return [curve for curve in curves if not curve.is_number], numbers


def _maximum(reading: Reading, node: Any) -> Curve:
    curves, numbers = _apart(reading, node)
    if len(curves) == 1:
        return largest(curves[0], max(numbers))
    if len(curves) == 2 and not numbers and curves[0].is_line and curves[1].is_line:
        return largest(curves[0] + curves[1].times(-1.0), 0.0) + curves[1]
    raise Unrecognised("a maximum")


def _minimum(reading: Reading, node: Any) -> Curve:
    curves, numbers = _apart(reading, node)
    if len(curves) != 1:
        raise Unrecognised("a minimum")
    return least(curves[0], min(numbers))


def _power(reading: Reading, node: Any) -> Curve:
    return raised(reading.argument(node), _number(node.p))


# By name: cvxpy has several classes of a power.
ATOMS: dict[str, Callable[[Reading, Any], Curve]] = {
    AddExpression.__name__: lambda r, node: sum((r.curve(arg) for arg in node.args), Curve()),
    NegExpression.__name__: lambda r, node: r.argument(node).times(-1.0),
    Promote.__name__: Reading.argument,
    MulExpression.__name__: _multiple,
    cp.multiply.__name__: _multiple,
    DivExpression.__name__: lambda r, node: r.argument(node).times(1 / _number(node.args[1])),
    cp.maximum.__name__: _maximum,
    cp.minimum.__name__: _minimum,
    cp.abs.__name__: lambda r, node: absolute_value(r.argument(node)),
    cp.huber.__name__: lambda r, node: huberized(r.argument(node), _number(node.M)),
    cp.logistic.__name__: lambda r, node: softplus(r.argument(node)),
    cp.log.__name__: lambda r, node: logarithm(r.argument(node)),
    cp.log1p.__name__: lambda r, node: logarithm(r.argument(node) + Curve(constant=1.0)),
    cp.exp.__name__: lambda r, node: exponential(r.argument(node)),
    Power.__name__: _power,
    "PowerApprox": _power,
}


# ----------------------------------------------------------------------------------------------


def weighted_terms(root: cp.Expression, sign: float = 1.0) -> list[Term]:
    """Nodes and weights, column-major: sign·root = Σ ⟨weights, node⟩ + const.

    However the sum is written: by ``sum``, products with constant vectors, norms and squares of
    norms, or ``+``.

    Raises
    ------
    Unrecognised
        A part of it is linear.

    Examples
    --------
    >>> x = cp.Variable(2)
    >>> terms = weighted_terms(cp.sum_squares(x) / 4 + np.array([1.0, 2.0]) @ cp.exp(x) - 3)
    >>> [(str(node).split("(")[0], weights.tolist()) for node, weights in terms]
    [('PowerApprox', [0.25, 0.25]), ('exp', [1.0, 2.0])]
    """
    values, through = Values(), Adjoint(root).through
    weights = {id(root): np.full(root.size, sign)}
    terms: list[Term] = []
    for node in reversed(nodes(root)):
        weight = weights.pop(id(node), None)
        if weight is None or node.is_constant() or not np.any(weight):
            continue
        if isinstance(node, cp.Variable):
            raise Unrecognised("a linear term")
        if not is_affine_atom(node):
            terms.append(_entrywise(node, weight))
            continue
        for i, arg in enumerate(node.args):
            if arg.is_constant():
                continue
            total = isinstance(node, cp.Sum) and node.size == 1
            moved = np.full(arg.size, weight) if total else through(node, i, weight, values)
            weights[id(arg)] = weights.get(id(arg), 0.0) + moved
    return terms


def _entrywise(node: cp.Expression, weight: Array) -> Term:
    """The node; of a sum of absolute values or squares, its entries."""
    inside = node.args[0]
    if isinstance(node, norm1) and node.axis is None:
        return cp.abs(inside), np.full(inside.size, weight.item())
    if isinstance(node, quad_over_lin) and node.axis is None and node.args[1].is_constant():
        return cp.square(inside), np.full(inside.size, weight.item() / _number(node.args[1]))
    if isinstance(node, Power) and isinstance(inside, Pnorm):
        if inside.axis is None and inside.p == 2 and _number(node.p) == 2:
            return cp.square(inside.args[0]), np.full(inside.args[0].size, weight.item())
    if isinstance(node, QuadForm) and node.args[1].is_constant():
        matrix = dense(Values()(node.args[1]))
        factor = matrix[0, 0]
        if np.array_equal(matrix, factor * np.eye(len(matrix))):
            return cp.square(inside), np.full(inside.size, weight.item() * factor)
    return node, weight


def _number(constant: cp.Expression) -> float:
    """The number that all entries of a constant are."""
    if not constant.is_constant():
        raise Unrecognised("a divisor that is not constant")
    number = uniform(Values().array(constant))
    if number is None:
        raise Unrecognised("constants that differ between entries")
    return number


# ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Losses:
    """Σ_i weights_i · min(loss(u_i), caps_i), up to a constant.

    Attributes
    ----------
    lines : Lines
        Where u comes from.
    weights : array of shape (n,)
        At least 0.
    loss : Loss
    caps : array of shape (n,) or None
    """

    lines: Lines
    weights: Array
    loss: Loss
    caps: Array | None = None

    def agrees(self, other: Losses) -> bool:
        """True if the other is the same sum but for rounding, and neither has caps of entries.

        Losses have no equality; their representation shows every parameter.
        """
        own, its = self.lines, other.lines
        shift, its_shift = (0.0 if x.offset is None else x.offset for x in (own, its))
        return (
            self.caps is None
            and other.caps is None
            and repr(self.loss) == repr(other.loss)
            and own.matrix.shape == its.matrix.shape
            and abs(own.matrix - its.matrix).max() <= ROUNDING * abs(own.matrix).max()
            and np.allclose(self.weights, other.weights, rtol=ROUNDING, atol=0)
            and np.allclose(shift, its_shift, rtol=ROUNDING, atol=0)
        )


def untrimmed(terms: list[Term]) -> tuple[list[Term], list[Term], int]:
    """The terms Σ aᵢ, the terms whose largest are subtracted from them, and the number of these.

    A trimmed sum is written as Σ aᵢ less the sum of the k largest aᵢ, or as the sum of the k
    smallest. Without one there are no subtracted terms, and their number is 0.

    Raises
    ------
    Unrecognised
        Several such sums, one that is added, a part of an entry, or all entries.
    """
    largest = [(node, weight) for node, weight in terms if isinstance(node, cp.sum_largest)]
    if not largest:
        return terms, [], 0
    (node, weight), (inside,) = largest[0], largest[0][0].args
    if len(largest) > 1 or weight.size > 1 or weight.item() > 0 or not float(node.k).is_integer():
        raise Unrecognised("largest terms that are no trimmed sum's")
    rest, share = [term for term in terms if term[0] is not node], -weight.item()
    if not rest:
        smallest = [(-inside, np.full(inside.size, share))]
        return smallest, smallest, max(inside.size - int(node.k), 0)
    if node.k >= inside.size:
        raise Unrecognised("all terms taken off")
    return rest, [(inside, np.full(inside.size, share))], int(node.k)


def joined(terms: list[Term], matrices: Matrices) -> Losses:
    """Terms as one loss of rows.

    Raises
    ------
    Unrecognised
        They are of different rows, or no losses.
    """
    lines = Lines([arg for node, _ in terms for arg in arguments(node)], matrices)
    try:
        return _of_lines(terms, lines)
    except Unrecognised:  # margins fall where scores rise
        return _of_lines(terms, lines.mirrored())


def _of_lines(terms: list[Term], lines: Lines) -> Losses:
    reading, weights = Reading(lines), np.abs(terms[0][1])
    curve, caps = Curve(), None
    for node, own in terms:
        inside, levels = reading.caps(node) if len(terms) == 1 else (node, None)
        curve = curve + reading.curve(inside).times(_share_of(own, weights))
        caps = None if levels is None else vec(np.broadcast_to(levels, node.shape))
    factor, loss = curve.as_loss()
    caps = None if caps is None else (caps - curve.constant) / factor
    return Losses(lines, factor * weights, loss, caps)


def _share_of(weights: Array, of: Array) -> float:
    """The number by which one vector is another, which is nowhere negative."""
    place = int(np.argmax(of))
    share = float(weights[place] / of[place]) if weights.shape == of.shape else 0.0
    if not np.allclose(weights, share * of, rtol=ROUNDING, atol=0) or share == 0:
        raise Unrecognised("losses of other weights")
    return share


# ----------------------------------------------------------------------------------------------


class Shrinkage:
    """Σ_j (λ_j|θ_j| + (q_j/2)θ_j²) and concave functions of |θ_j|.

    Parameters
    ----------
    size : int
        Entries of θ.
    """

    def __init__(self, size: int) -> None:
        self._l1, self._l2 = np.zeros(size), np.zeros(size)
        self._concave: list[tuple[Penalty, npt.NDArray[np.integer]]] = []

    def takes(self, matrix: sp.csr_array, loss: Loss, weights: Array) -> bool:
        """Add Σ weights·loss(matrix·θ) if it is a penalty, and return True if it is."""
        columns, sizes = matrix.indices, np.abs(matrix.data)
        once = np.array_equal(np.diff(matrix.indptr), np.ones(len(weights)))
        if not once or len(set(columns.tolist())) < columns.size or not np.all(sizes > 0):
            return False
        if isinstance(loss, absolute | square) and loss.at == 0:
            if isinstance(loss, absolute):
                self._l1[columns] += weights * sizes
            else:
                self._l2[columns] += 2 * weights * sizes**2
            return True
        weight = uniform(weights)
        penalty = None if weight is None or np.any(sizes != 1) else _concave(loss, weight)
        if penalty is not None:
            self._concave.append((penalty, columns))
        return penalty is not None

    @property
    def penalized(self) -> npt.NDArray[np.bool_]:
        """The entries of θ that are penalised."""
        mask = (self._l1 > 0) | (self._l2 > 0)
        for _, columns in self._concave:
            mask[columns] = True
        return mask

    def penalty(self) -> Penalty:
        """The penalty of all terms.

        Raises
        ------
        Unrecognised
            The coefficients have different penalties.
        """
        mask = self.penalized
        if not np.any(mask):
            return l2(0.0)
        total: Penalty | int = 0
        for penalty, columns in self._concave:
            if columns.size < mask.sum():
                raise Unrecognised("a concave penalty of a part of the coefficients")
            total = total + penalty
        ridge, sizes = uniform(self._l2[mask]), self._l1[mask]
        if ridge is None:
            raise Unrecognised("a ridge that differs between coefficients")
        lam = uniform(sizes)
        if lam and ridge:
            return total + elastic_net(lam, ridge)
        if np.any(sizes):
            total = total + (l1(lam) if lam else weighted_l1(sizes))
        return total + l2(ridge) if ridge else total  # type: ignore[return-value]


def _concave(loss: Loss, weight: float) -> Penalty | None:
    """The penalty weight·loss(|θ_j|)."""
    inside = getattr(loss, "loss", None)
    if not isinstance(inside, absolute) or inside.at != 0:
        return None
    if isinstance(loss, cap):
        return capped_l1(weight, float(loss.c))
    if isinstance(loss, log):
        return log_sum(weight * loss.scale, loss.scale)
    if isinstance(loss, power) and loss.delta == 0:
        return lp(weight, loss.p)
    return None


# ----------------------------------------------------------------------------------------------


def agreed_constant(objective: cp.Expression, sign: float, risk: Risk, points: Points) -> float:
    """The constant sign·objective − risk, compared at 0 and at random points of several sizes.

    The variables keep their values.

    Raises
    ------
    Unrecognised
        The difference is not constant.
    """
    rng, unit = np.random.default_rng(0), usual_coefficients(risk)

    def value(theta: Array) -> float:
        points.load(theta)
        return sign * float(Values().array(objective).sum())

    with values_kept(points.variables):
        origin = np.zeros(points.size)
        here, known = value(origin), risk(origin)
        constant = here - known
        if abs(constant) <= ROUNDING * max(abs(here), risk.magnitude(origin)):
            constant = 0.0
        for size in DECADES:  # in units of the coefficients
            theta = size * unit * rng.standard_normal(points.size)
            apart = abs(value(theta) - risk(theta) - constant)
            if not apart <= KNOWN_DIGITS * risk.magnitude(theta) + ROUNDING * abs(constant):
                raise Unrecognised("another function")
    return constant


# ----------------------------------------------------------------------------------------------

MOST_TERMS = 20  # written in a loop they are rather many losses, and to look at each takes long
DENSE = 0.25  # a matrix with a larger share of entries is an array


def risk_of(objective: cp.Expression, sign: float, points: Points) -> tuple[Risk, Points]:
    """The risk that sign·objective is up to a constant, and its points.

    A free scalar that every row has with +1 or −1 is the intercept, whose variable comes last.

    Raises
    ------
    Unrecognised
        There is none.
    """
    matrices, shrinkage = Matrices(points), Shrinkage(points.size)
    terms = weighted_terms(objective, sign)
    if len(terms) > MOST_TERMS:
        raise Unrecognised("many terms")
    rest = [term for term in terms if not _is_penalty(term, matrices, shrinkage)]
    if not rest:
        raise Unrecognised("nothing but penalties")
    rest, trimmed, dropped = untrimmed(rest)
    losses, penalized = joined(rest, matrices), shrinkage.penalized
    intercept = _intercept(losses.lines.matrix, penalized, points)
    points, order = _with_last(points, intercept)
    rows = _rows(losses.lines.matrix[:, order], intercept is not None)
    penalized = penalized[order] if np.any(penalized) else rows.penalized
    if dropped:
        if not losses.agrees(joined(trimmed, matrices)):
            raise Unrecognised("caps that differ, or the largest of others")
        losses = replace(losses, loss=trim(losses.loss, dropped / len(losses.weights)))
    return _declared(losses, rows, shrinkage.penalty(), penalized), points


def _is_penalty(term: Term, matrices: Matrices, shrinkage: Shrinkage) -> bool:
    """True if a term is one of single entries of θ; it is then added to the shrinkage."""
    node, weights = term
    try:
        lines = Lines(arguments(node), matrices)
        if lines.offset is not None or _entries(lines.matrix) != len(weights):
            return False
        side = -1.0 if np.all(weights <= 0) else 1.0
        factor, loss = Reading(lines).curve(node).times(side).as_loss()
    except Unrecognised:
        return False
    return shrinkage.takes(sp.csr_array(lines.matrix), loss, factor * side * weights)


def _entries(matrix: Any) -> int:
    return int(matrix.nnz if isinstance(matrix, sp.csr_array) else np.count_nonzero(matrix))


def _declared(losses: Losses, rows: Scores, penalty: Penalty, penalized: Mask) -> Risk:
    loss, weights, offset = losses.loss, losses.weights, losses.lines.offset
    shares = None if np.all(weights == 1) else weights
    if losses.caps is None:
        return Risk.from_loss(rows, loss, penalty, shares, offset, penalized)
    if loss.subtracted is not None:
        raise Unrecognised("caps of a difference")
    return Risk(
        rows,
        loss.base,
        transform=cap_at(losses.caps, loss.transform),
        penalty=penalty,
        penalized=penalized,
        sample_weight=shares,
        offset=offset,
    )


# ----------------------------------------------------------------------------------------------
# rows


def _intercept(matrix: Any, penalized: Mask, points: Points) -> int | None:
    """The place of the intercept among the variables: the one free scalar with a column of ±1."""
    sizes = np.ravel(abs(matrix).sum(axis=0))
    if np.any((sizes == 0) & ~penalized):
        raise Unrecognised("a free coefficient in no loss")
    n, column = matrix.shape[0], np.cumsum([0, *(v.size for v in points.variables)])

    def fits(i: int) -> bool:
        j = column[i]
        free = points.variables[i].size == 1 and not penalized[j] and sizes[j] == n
        return bool(free and np.all(np.abs(dense(matrix[:, [j]])) == 1))

    found = [i for i in range(len(points.variables)) if fits(i)]
    return found[0] if len(found) == 1 and points.size > 1 else None


def _with_last(points: Points, last: int | None) -> tuple[Points, npt.NDArray[np.intp]]:
    """The points with a variable in the last place, and where their entries were before."""
    places = np.arange(points.size)
    if last is None:
        return points, places
    pieces = points.split(places.astype(float))
    variables = [*points.variables, points.variables[last]]
    del variables[last]
    moved = Points(variables)
    order = moved.pack({v.id: p for v, p in zip(points.variables, pieces, strict=True)})
    return moved, order.astype(np.intp)


def _rows(matrix: Any, intercept: bool) -> Scores:
    """Samples, or margins where the last column is an intercept's."""
    if _entries(matrix) > DENSE * matrix.shape[0] * matrix.shape[1]:
        matrix = np.ascontiguousarray(dense(matrix))
    if not intercept:
        return Samples(matrix)
    signs = dense(matrix[:, [-1]])
    return Margins(scaled_rows(signs.ravel(), matrix[:, :-1]), signs)


# ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recognised:
    """A problem's objective, as sign·(risk + constant).

    Attributes
    ----------
    risk : Risk
        Of θ, all entries of all variables.
    points : Points
        θ and the variables.
    sign : float
        −1 for a maximisation.
    constant : float
    """

    risk: Risk
    points: Points
    sign: float
    constant: float


@np.errstate(all="ignore")
def recognised(problem: cp.Problem) -> Recognised | None:
    """The risk that a nonconvex problem without constraints is; None if it is none.

    The risk is built by rules, and then compared with the problem at random points: where they
    are not one function, there is no risk. Nor is there where none but cvxpy's solvers take it.

    Parameters
    ----------
    problem : cvxpy.Problem
        Parameters count with their present values; variables keep theirs.

    Returns
    -------
    Recognised or None

    Examples
    --------
    >>> import cvxpy as cp, numpy as np
    >>> X, y, w, b = np.eye(3), np.array([1.0, -1.0, 1.0]), cp.Variable(3), cp.Variable()
    >>> ramp = cp.sum(cp.minimum(cp.pos(1 - cp.multiply(y, X @ w + b)), 1))
    >>> found = recognised(cp.Problem(cp.Minimize(2 + ramp + 0.5 * cp.sum_squares(w))))
    >>> found.risk, found.constant
    (Risk(3 rows, 4 coefficients: cap(c=1.0, loss=hinge()) + l2()), 2.0)
    """
    if not _is_plain(problem):
        return None
    sign = -1.0 if isinstance(problem.objective, cp.Maximize) else 1.0
    objective = problem.objective.args[0]
    try:
        risk, points = risk_of(objective, sign, Points(problem.variables()))
        constant = agreed_constant(objective, sign, risk, points)
        solvers = choose(risk)
    except (Unrecognised, ValueError, ArithmeticError, RecursionError):
        return None
    return Recognised(risk, points, sign, constant) if solvers[0] != REFERENCE else None


def _is_plain(problem: cp.Problem) -> bool:
    """True for a nonconvex problem of real variables and known data, and nothing else."""
    variables = problem.variables()
    if problem.constraints or not variables or any(declared_kinds(v) for v in variables):
        return False
    known = all(parameter.value is not None for parameter in problem.parameters())
    return known and not problem.is_dcp()
