"""A cvxpy expression as a list of steps that relax it on boxes: below(e, box), node by node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms import Pnorm, PnormApprox, QuadForm
from cvxpy.atoms.affine.affine_atom import AffAtom
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression, multiply

from dcprog.bounds.relaxed import atoms
from dcprog.bounds.relaxed.affine import affine_form, affine_relaxed, coefficients
from dcprog.bounds.relaxed.curves import ELEMENTWISE, SQUARE, curve_of
from dcprog.bounds.relaxed.relaxed import Relaxed, largest, plus, smallest, times
from dcprog.foundation.arrays import Array, dense, vec
from dcprog.foundation.errors import NotBoundable
from dcprog.majorants.tree import short

__all__ = ["Program"]

Step = Callable[[list[Relaxed]], Relaxed]


class Program:
    """Expressions of the same variables, relaxed on many boxes at once.

    Every node gives its range, a plane below it and one above it (McCormick 1976; Mitsos, Chachuat,
    Barton 2009, McCormick-based relaxations of algorithms, SIAM J. Optim. 20). A node that stands
    in several places is relaxed once.

    Parameters
    ----------
    expressions : sequence of cvxpy expressions
        Without Parameters.
    variables : sequence of cvxpy Variables

    Attributes
    ----------
    bent : bool array of shape (p,)
        The entries of the variables that something is not affine in.

    Raises
    ------
    NotBoundable
        An atom has no rule; the error names it.
    """

    def __init__(
        self, expressions: Sequence[cp.Expression], variables: Sequence[cp.Variable]
    ) -> None:
        sizes = [v.size for v in variables]
        starts = np.cumsum([0, *sizes])
        self.size = int(starts[-1])
        self._columns = dict(zip((v.id for v in variables), starts, strict=False))
        self._forms: dict[int, Any] = {}
        self._places: dict[int, int] = {}
        self._steps: list[tuple[Step | None, list[int], Any]] = []
        self._kept = list(expressions)  # ids stay theirs
        self.bent = np.zeros(self.size, dtype=bool)
        self.roots = [self._add(e) for e in expressions]
        self.widest = max([1, *(np.size(step[2][1]) if step[2] else 1 for step in self._steps)])

    def __call__(self, lo: Array, hi: Array, z: Array) -> list[Relaxed]:
        """The expressions on boxes, seen from z.

        Parameters
        ----------
        lo, hi, z : arrays of shape (boxes, p)

        Returns
        -------
        list of Relaxed
            One an expression.
        """
        found: list[Relaxed] = []
        for step, args, form in self._steps:
            if step is None:
                matrix, offset = form
                found.append(affine_relaxed(matrix, offset, lo, hi, z))
            else:
                found.append(step([found[k] for k in args]))
        return [found[k] for k in self.roots]

    def _add(self, node: Any) -> int:
        """The place of a node's step."""
        if id(node) not in self._places:
            if node.is_constant() or node.is_affine():
                matrix, offset = affine_form(node, self._columns, self.size, self._forms)
                entry: Any = (None, [], (matrix.toarray(), offset))
            else:
                entry = self._step(node)
            self._steps.append(entry)
            self._places[id(node)] = len(self._steps) - 1
        return self._places[id(node)]

    def _step(self, node: Any) -> tuple[Step, list[int], None]:
        args = [self._add(arg) for arg in node.args]
        if not isinstance(node, AffAtom) or not _is_linear(node):
            for arg in node.args:
                if arg.is_affine():
                    matrix, _ = affine_form(arg, self._columns, self.size, self._forms)
                    self.bent |= np.asarray(abs(matrix).sum(axis=0)).ravel() > 0
        return _rule(node), args, None


def _rule(node: Any) -> Step:
    """How a node follows from its arguments."""
    for kinds, rule in RULES:
        if isinstance(node, kinds):
            return rule(node)
    if isinstance(node, AffAtom):
        return _affine(node)
    if getattr(node, "is_atom_convex", lambda: False)():
        return lambda args: atoms.convex_atom(node, args)
    if getattr(node, "is_atom_concave", lambda: False)():
        raise NotBoundable(
            short(node),
            f"{type(node).__name__} is concave and has no rule of its own",
            "an equivalent form by logarithms, roots and products",
        )
    raise NotBoundable(
        short(node),
        f"no rule bounds a {type(node).__name__} on a box",
        "sums, products, quotients, norms, and convex or concave functions of one number",
    )


def _is_linear(node: Any) -> bool:
    """Is an affine atom no product of two that vary?"""
    products = isinstance(node, MulExpression | multiply | DivExpression)
    return not products or any(arg.is_constant() for arg in node.args)


def _affine(node: Any) -> Step:
    matrices, offset = coefficients(node)

    def step(args: list[Relaxed]) -> Relaxed:
        parts = [a.mapped(m) for a, m in zip(args, matrices, strict=True) if m is not None]
        found = parts[0]
        for part in parts[1:]:
            found = plus(found, part)
        return found.shifted(offset)

    return step


def _elementwise(node: Any) -> Step:
    curve, negative = curve_of(node)
    return lambda args: -curve(args[0]) if negative else curve(args[0])


def _several(pairwise: Callable[[Relaxed, Relaxed], Relaxed]) -> Callable[[Any], Step]:
    """Maximum and minimum, entry by entry, of arguments that are broadcast."""

    def rule(node: Any) -> Step:
        places = [
            vec(np.broadcast_to(atoms.entries(a.shape), node.shape)).astype(np.intp)
            for a in node.args
        ]

        def step(args: list[Relaxed]) -> Relaxed:
            parts = [a.take(p) for a, p in zip(args, places, strict=True)]
            found = parts[0]
            for part in parts[1:]:
                found = pairwise(found, part)
            return found

        return step

    return rule


def _extreme(node: Any) -> Step:
    lines = atoms.by_axis(node)
    if isinstance(node, cp.min):
        return lambda args: -atoms.largest_of(-args[0], lines)
    return lambda args: atoms.largest_of(args[0], lines)


def _product(node: Any) -> Step:
    """Entry by entry, broadcast as cvxpy does; by a constant it is affine."""
    if any(arg.is_constant() for arg in node.args):
        return _affine(node)
    places = [
        vec(np.broadcast_to(atoms.entries(a.shape), node.shape)).astype(np.intp) for a in node.args
    ]
    if node.args[0] is node.args[1]:
        return lambda args: SQUARE(args[0])
    return lambda args: times(args[0].take(places[0]), args[1].take(places[1]))


def _quotient(node: Any) -> Step:
    if node.args[1].is_constant():
        return _affine(node)
    places = [
        vec(np.broadcast_to(atoms.entries(a.shape), node.shape)).astype(np.intp) for a in node.args
    ]
    return lambda args: times(args[0].take(places[0]), atoms.inverse(args[1]).take(places[1]))


def _matrix_product(node: Any) -> Step:
    if any(arg.is_constant() for arg in node.args):
        return _affine(node)
    return lambda args: atoms.matrix_product(node, *args)


def _norm(node: Any) -> Step:
    if float(node.p) != 2:
        raise NotBoundable(
            short(node), f"no rule bounds the norm of order {float(node.p):g}", "norms 1, 2 or inf"
        )
    lines = atoms.by_axis(node)
    return lambda args: atoms.euclidean(args[0], lines)


def _norm1(node: Any) -> Step:
    lines = atoms.by_axis(node)
    return lambda args: atoms.total(atoms.absolute(args[0]), lines)


def _norm_inf(node: Any) -> Step:
    lines = atoms.by_axis(node)
    return lambda args: atoms.largest_of(atoms.absolute(args[0]), lines)


def _sum_largest(node: Any) -> Step:
    if float(node.k) != int(node.k):
        raise NotBoundable(short(node), "k is no whole number", "a whole number")
    return lambda args: atoms.sum_of_largest(args[0], int(node.k))


def _squares_over(node: Any) -> Step:
    lines = atoms.by_axis(node)
    divisor = node.args[1]
    if divisor.is_constant():
        scale = sp.csr_array(sp.eye_array(lines.shape[0]) / float(divisor.value))
        return lambda args: atoms.total(SQUARE(args[0]), lines).mapped(scale)
    return lambda args: times(atoms.total(SQUARE(args[0]), lines), atoms.inverse(args[1]))


def _quad_form(node: Any) -> Step:
    if not node.args[1].is_constant():
        raise NotBoundable(short(node), "its matrix is not constant", "products written out")
    matrix = dense(node.args[1].value)
    return lambda args: atoms.quadratic_form(args[0], matrix)


RULES: list[tuple[Any, Callable[[Any], Step]]] = [
    (ELEMENTWISE, _elementwise),
    (cp.maximum, _several(largest)),
    (cp.minimum, _several(smallest)),
    ((cp.max, cp.min), _extreme),
    (DivExpression, _quotient),
    (multiply, _product),
    (MulExpression, _matrix_product),
    ((Pnorm, PnormApprox), _norm),
    (cp.norm1, _norm1),
    (cp.norm_inf, _norm_inf),
    (cp.sum_largest, _sum_largest),
    (cp.quad_over_lin, _squares_over),
    (QuadForm, _quad_form),
]
