"""cvxpy expressions at many points at once, by formulas of NumPy; NaN outside the domain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.affine_atom import AffAtom
from cvxpy.atoms.elementwise.hyperbolic import sinh
from scipy.special import erf, gammaln, log_ndtr, xlogy

from tests.fuzz.evaluation import dense
from tests.fuzz.landscape import Array

__all__ = ["Batched"]

Rule = Callable[..., Any]

UNKNOWN = 300  # an entry of a loop over the points costs as many of a formula's


class Batched:
    """Values of expressions, as arrays of shape (points, entries), entries column by column.

    Parameters
    ----------
    roots : sequence of expressions
    variables : sequence of Variables
        A point holds their entries one after another.
    """

    def __init__(self, roots: Sequence[cp.Expression], variables: Sequence[cp.Variable]) -> None:
        self.roots = list(roots)
        ends = np.cumsum([v.size for v in variables])
        self._places = {
            v.id: slice(int(end) - v.size, int(end)) for v, end in zip(variables, ends, strict=True)
        }
        self._nodes = _in_order(self.roots)
        self._maps = {id(n): _Map(n) for n in self._nodes if _is_linear(n)}
        self._steps = [(id(n), *self._step(n)) for n in self._nodes]
        nonlinear = [n for n in self._nodes if n.args and not n.is_constant()]
        self.names = {_name(n) for n in nonlinear if id(n) not in self._maps}
        self.divisors = [d for n in nonlinear for d in _divisors(n)]
        self.work = sum(_work(node) for node in self._nodes)

    def __call__(self, points: Array) -> list[Array]:
        """The roots' values; all of them are NaN at a point outside the domain of any node."""
        found, inside = self._evaluated(points)
        return [np.where(inside[:, None], found[id(r)], np.nan) for r in self.roots]

    def terms(self, points: Array, within: bool = False) -> list[Array]:
        """What the terms of the roots add up to in absolute value, constants included.

        A hyperbolic sine is two exponentials, and a bound of it is rounded as they are; a quadratic
        form is the sum of its products. `within` adds up those of the arguments of atoms that have
        linear parts, too: the sum of the two largest of two is their sum.
        """
        values, _ = self._evaluated(points)
        found: dict[int, Array] = {}
        for node in self._nodes:
            linear = self._maps.get(id(node))
            if linear is None:
                found[id(node)] = size = np.abs(values[id(node)])
                if isinstance(node, sinh):
                    found[id(node)] = np.hypot(size, 1.0)
                elif isinstance(node, cp.QuadForm):
                    sizes = (np.abs(values[id(a)]) for a in node.args)
                    found[id(node)] = _formula(node)(*sizes)
                elif within and type(node).__name__ in PARTLY_LINEAR:
                    inner = sum(np.sum(found[id(a)], axis=1, keepdims=True) for a in node.args)
                    found[id(node)] = np.maximum(size, inner)
            else:
                found[id(node)] = linear.sized([found[id(a)] for a in linear.args])
        many = len(points)
        return [np.broadcast_to(found[id(r)], (many, r.size)) for r in self.roots]

    def _evaluated(self, points: Array) -> tuple[dict[int, Array], Any]:
        found: dict[int, Array] = {_POINTS: points}
        inside = np.ones(len(points), dtype=bool)
        with np.errstate(all="ignore"):
            for key, formula, args, nonlinear in self._steps:
                value = formula(*[found[a] for a in args])
                found[key] = value
                if nonlinear:  # linear maps pass on what is not finite
                    inside &= np.isfinite(value).all(axis=1)
        return found, inside

    def _step(self, node: cp.Expression) -> tuple[Rule, list[int], bool]:
        """The node's formula, and the nodes whose values it takes."""
        if isinstance(node, cp.Variable):
            place = self._places[node.id]
            return lambda points: points[:, place], [_POINTS], False
        if node.is_constant():
            value = dense(node.value).reshape((1, -1), order="F")
            return lambda: value, [], True
        if id(node) in self._maps:
            linear = self._maps[id(node)]
            return linear, [id(a) for a in linear.args], False
        return _formula(node), [id(a) for a in node.args], True


# atoms that are linear in their arguments, or in parts of them
PARTLY_LINEAR = {
    *("abs", "maximum", "minimum", "max", "min", "sum_largest", "norm1", "norm_inf"),
    *("huber", "kl_div"),
}
_POINTS = -1  # the key of the points themselves, among the nodes'


def _formula(node: cp.Expression) -> Rule:
    """The values of a nonlinear node from those of its arguments."""
    name = type(node).__name__
    if name in _ENTRIES:
        rule = _ENTRIES[name]
        if all(arg.shape == node.shape for arg in node.args):
            return partial(rule, node)
        return lambda *args: rule(node, *_alike(node, args))
    if name in _LINES and not isinstance(getattr(node, "axis", None), tuple):
        along = _LINES[name]
        return lambda first, *rest: along(node, _lines(node, first), *rest)
    if name in _WHOLE:
        shapes = [arg.shape for arg in node.args]
        whole = _WHOLE[name]
        return lambda *args: _flat(whole(node, *map(_blocks, args, shapes)), node.size)
    return lambda *args: _one_by_one(node, args)


def _name(node: cp.Expression) -> str:
    """The atom, and the order of a norm that is none of the usual ones."""
    name = type(node).__name__
    return f"norm of order {node.p}" if name.startswith("Pnorm") and node.p != 2 else name


def _divisors(node: cp.Expression) -> list[cp.Expression]:
    """Expressions at whose 0 the node is infinite."""
    name = type(node).__name__
    if name in ("Power", "PowerApprox"):
        return [node.args[0]] if float(node.p.value) < 0 else []
    if name in ("log", "log1p"):
        return [node.args[0] + (1 if name == "log1p" else 0)]
    if name in ("DivExpression", "rel_entr", "kl_div", "quad_over_lin"):
        return [a for a in node.args[1:] if not a.is_constant()]
    return []


def _work(node: cp.Expression) -> int:
    """Entries, at what each costs: much, where there is no formula."""
    known = node.is_constant() or isinstance(node, cp.Variable | AffAtom)
    known = known or type(node).__name__ in {**_ENTRIES, **_LINES, **_WHOLE}
    return max(node.size, 1) * (1 if known else UNKNOWN)


def _in_order(roots: Sequence[cp.Expression]) -> list[cp.Expression]:
    """The nodes, each once, arguments first; of constants the topmost alone."""
    found: dict[int, cp.Expression] = {}

    def visit(node: cp.Expression) -> None:
        if id(node) in found:
            return
        if not node.is_constant():
            for arg in node.args:
                visit(arg)
        found[id(node)] = node

    for root in roots:
        visit(root)
    return list(found.values())


def _is_linear(node: cp.Expression) -> bool:
    """Is it a linear map of those of its arguments that are not constant?"""
    if not isinstance(node, AffAtom) or node.is_constant():
        return False
    return bool(node.is_atom_convex() and node.is_atom_concave())


class _Map:
    """A linear node as matrices: b + Σ Lᵢaᵢ over its arguments that are not constant."""

    def __init__(self, node: cp.Expression) -> None:
        self.args = [a for a in node.args if not a.is_constant()]
        start = [dense(a.value) if a.is_constant() else np.zeros(a.shape) for a in node.args]
        with np.errstate(all="ignore"):
            self._base = self._numeric(node, start)
            self._matrices = [
                self._matrix(node, start, place)
                for place, arg in enumerate(node.args)
                if not arg.is_constant()
            ]

    @staticmethod
    def _numeric(node: cp.Expression, values: list[Array]) -> Array:
        return dense(node.numeric(values)).reshape(-1, order="F")

    def _matrix(self, node: cp.Expression, start: list[Array], place: int) -> Array:
        columns = []
        for k in range(node.args[place].size):
            unit = np.zeros(node.args[place].size)
            unit[k] = 1.0
            values = list(start)
            values[place] = unit.reshape(node.args[place].shape, order="F")
            columns.append(self._numeric(node, values) - self._base)
        return np.array(columns).reshape(-1, max(node.size, 0))

    def __call__(self, *args: Array) -> Array:
        found = self._base
        for value, matrix in zip(args, self._matrices, strict=True):
            found = found + (value * matrix if matrix.size == 1 else value @ matrix)
        return found

    def sized(self, args: list[Array]) -> Array:
        """The same with absolute values everywhere."""
        pairs = zip(args, self._matrices, strict=True)
        return np.abs(self._base) + sum(a @ np.abs(m) for a, m in pairs)


def _blocks(flat: Array, shape: tuple[int, ...]) -> Array:
    """(points, *shape) of (points, entries)."""
    back = flat.reshape(len(flat), *shape[::-1])
    return back.transpose(0, *range(len(shape), 0, -1))


def _flat(blocks: Array, size: int) -> Array:
    return blocks.transpose(0, *range(blocks.ndim - 1, 0, -1)).reshape(len(blocks), size)


def _alike(node: cp.Expression, args: Sequence[Array]) -> list[Array]:
    """Arguments as broadcast to the node's shape."""
    made = []
    for value, arg in zip(args, node.args, strict=True):
        if arg.size > 1 and arg.shape != node.shape:
            block = _blocks(value, (*(1,) * (len(node.shape) - len(arg.shape)), *arg.shape))
            whole = np.broadcast_to(block, (len(value), *node.shape))
            value = _flat(whole, node.size)
        made.append(value)
    if all(value.shape[1] != node.size for value in made):
        made[0] = np.broadcast_to(made[0], (len(made[0]), node.size))
    return made


def _lines(node: cp.Expression, flat: Array) -> Array:
    """(points, results, entries of the argument that a result is made of)."""
    axis = getattr(node, "axis", None)
    if axis is None:
        return flat[:, None, :]
    blocks = _blocks(flat, node.args[0].shape)
    last = np.moveaxis(blocks, axis % len(node.args[0].shape) + 1, -1)
    rest = last.transpose(0, *range(last.ndim - 2, 0, -1), last.ndim - 1)
    return rest.reshape(len(flat), -1, last.shape[-1])


def _one_by_one(node: cp.Expression, args: Sequence[Array]) -> Array:
    """By cvxpy's own numbers, where there is no formula here."""
    many = max(len(a) for a in args)
    whole = [np.broadcast_to(a, (many, a.shape[1])) for a in args]
    found = np.full((many, node.size), np.nan)
    for k in range(many):
        values = [w[k].reshape(a.shape, order="F") for w, a in zip(whole, node.args, strict=True)]
        if all(np.all(np.isfinite(v)) for v in values):
            found[k] = dense(node.numeric(values)).reshape(-1, order="F")
    return found


# ----------------------------------------------------------------------------------------------
# formulas of entries


def _where(inside: Any, value: Any) -> Array:
    return np.where(inside, value, np.nan)


def _power(node: Any, a: Array) -> Array:
    """Whole powers from 0 on everywhere, other positive ones from 0, negative ones above 0."""
    p = float(node.p.value)
    if p >= 0 and p % 1 == 0:
        return np.asarray(a ** int(p))
    return _where(a >= 0 if p > 0 else a > 0, np.abs(a) ** p)


def _huber(node: Any, a: Array) -> Array:
    m, size = float(node.M.value), np.abs(a)
    return np.where(size <= m, size**2, 2 * m * size - m**2)


def _rel_entr(a: Array, b: Array) -> Array:
    return _where((a >= 0) & (b > 0), xlogy(a, a) - xlogy(a, b))


def _product(node: Any, a: Array, b: Array) -> Array:
    return a * b


_ENTRIES: dict[str, Rule] = {
    "abs": lambda node, a: np.abs(a),
    "Power": _power,
    "PowerApprox": _power,
    "exp": lambda node, a: np.exp(a),
    "log": lambda node, a: np.log(a),
    "log1p": lambda node, a: np.log1p(a),
    "entr": lambda node, a: _where(a >= 0, -xlogy(a, a)),
    "rel_entr": lambda node, a, b: _rel_entr(a, b),
    "kl_div": lambda node, a, b: _rel_entr(a, b) - a + b,
    "xexp": lambda node, a: a * np.exp(a),
    "logistic": lambda node, a: np.logaddexp(0, a),
    "huber": _huber,
    "maximum": lambda node, *args: _folded(np.maximum, args),
    "minimum": lambda node, *args: _folded(np.minimum, args),
    "sin": lambda node, a: np.sin(a),
    "cos": lambda node, a: np.cos(a),
    "tan": lambda node, a: np.tan(a),
    "sinh": lambda node, a: np.sinh(a),
    "asinh": lambda node, a: np.arcsinh(a),
    "tanh": lambda node, a: np.tanh(a),
    "atanh": lambda node, a: np.arctanh(a),
    "normcdf": lambda node, a: (1 + erf(a / np.sqrt(2))) / 2,
    "log_normcdf": lambda node, a: np.asarray(log_ndtr(a)),
    "loggamma": lambda node, a: _where(a > 0, np.asarray(gammaln(np.abs(a)))),
    "ceil": lambda node, a: np.ceil(np.around(a, 4)),
    "multiply": _product,
    "DivExpression": lambda node, a, b: a / b,
}


def _folded(function: Any, args: Sequence[Array]) -> Array:
    found = args[0]
    for other in args[1:]:
        found = function(found, other)
    return found


# ----------------------------------------------------------------------------------------------
# formulas of lines


def _pnorm(node: Any, a: Array) -> Array:
    p, size = float(node.p), np.abs(a)
    top = np.max(size, axis=2, keepdims=True)
    scaled = np.divide(size, top, out=np.zeros(size.shape), where=top > 0)
    value = top[:, :, 0] * np.sum(scaled**p, axis=2) ** (1 / p)
    if p >= 1:
        return value
    edge = a >= 0 if p > 0 else a > 0
    return _where(np.all(edge, axis=2), value)


def _log_sum_exp(node: Any, a: Array) -> Array:
    top = np.max(a, axis=2, keepdims=True)
    return np.asarray(top[:, :, 0] + np.log(np.sum(np.exp(a - top), axis=2)))


def _sum_largest(node: Any, a: Array) -> Array:
    whole = int(np.floor(node.k))
    falling = -np.sort(-a, axis=2)
    value = falling[:, :, :whole].sum(axis=2)
    if whole < node.k and whole < a.shape[2]:
        value = value + (node.k - whole) * falling[:, :, whole]
    return np.asarray(value)


def _geo_mean(node: Any, a: Array) -> Array:
    weights = np.array([float(w) for w in node.p], dtype=float)
    kept = a[:, :, weights > 0]
    share = weights[weights > 0] / weights.sum()
    return _where(np.all(kept >= 0, axis=2), np.prod(np.abs(kept) ** share, axis=2))


def _dotsort(node: Any, a: Array, weights: Array) -> Array:
    """The entries with the weights, both sorted; absent weights are 0."""
    whole = np.zeros(a.shape[2])
    whole[: weights.size] = weights.ravel()
    return np.asarray(np.sort(a, axis=2) @ np.sort(whole))


def _quad_over_lin(node: Any, a: Array, b: Array) -> Array:
    return _where(b > 0, np.sum(a**2, axis=2) / b)


_LINES: dict[str, Rule] = {
    "max": lambda node, a: np.max(a, axis=2),
    "min": lambda node, a: np.min(a, axis=2),
    "norm1": lambda node, a: np.sum(np.abs(a), axis=2),
    "norm_inf": lambda node, a: np.max(np.abs(a), axis=2),
    "Pnorm": _pnorm,
    "PnormApprox": _pnorm,
    "log_sum_exp": _log_sum_exp,
    "sum_largest": _sum_largest,
    "dotsort": _dotsort,
    "GeoMean": _geo_mean,
    "GeoMeanApprox": _geo_mean,
    "quad_over_lin": _quad_over_lin,
    "Prod": lambda node, a: np.prod(a, axis=2),
}


# ----------------------------------------------------------------------------------------------
# formulas of matrices


def _matmul(node: Any, a: Array, b: Array) -> Array:
    if a.ndim == 1 or b.ndim == 1:
        return a * b if a.ndim == b.ndim else a[:, None] * b if a.ndim == 1 else a * b[:, None]
    left = a[:, None, :] if a.ndim == 2 else a
    right = b[:, :, None] if b.ndim == 2 else b
    found = left @ right
    found = found[:, :, 0] if b.ndim == 2 else found
    return found[:, 0] if a.ndim == 2 else found


def _definite(of_eigenvalues: Callable[[Array], Array]) -> Rule:
    def value(node: Any, a: Array) -> Array:
        known = np.all(np.isfinite(a), axis=(1, 2))
        found = np.linalg.eigvalsh(np.where(known[:, None, None], a, 0.0))
        return _where(known & np.all(found > 0, axis=1), of_eigenvalues(found))

    return value


def _spectral(of_values: Callable[[Any, Array], Array], symmetric: bool) -> Rule:
    def value(node: Any, a: Array) -> Array:
        known = np.all(np.isfinite(a), axis=(1, 2))
        safe = np.where(known[:, None, None], a, 0.0)
        found = np.linalg.eigvalsh(safe) if symmetric else np.linalg.svd(safe, compute_uv=False)
        return _where(known, of_values(node, found))

    return value


def _quad_form(node: Any, a: Array, p: Array) -> Array:
    x = a.reshape(len(a), -1)
    return np.einsum("ni,nij,nj->n", x, np.broadcast_to(p, (len(a), *p.shape[1:])), x)


_WHOLE: dict[str, Rule] = {
    "MulExpression": _matmul,
    "QuadForm": _quad_form,
    "log_det": _definite(lambda e: np.sum(np.log(e), axis=1)),
    "tr_inv": _definite(lambda e: np.sum(1 / e, axis=1)),
    "lambda_max": _spectral(lambda node, e: e[:, -1], True),
    "lambda_sum_largest": _spectral(lambda node, e: e[:, -int(node.k) :].sum(axis=1), True),
    "sigma_max": _spectral(lambda node, e: e[:, 0], False),
    "normNuc": _spectral(lambda node, e: e.sum(axis=1), False),
    "cumprod": lambda node, a: np.multiply.accumulate(a, axis=_axis(node)),
    "cummax": lambda node, a: np.maximum.accumulate(a, axis=_axis(node)),
}


def _axis(node: Any) -> int:
    return 1 if node.axis is None else int(node.axis) + 1
