"""Replacements of expressions whose cone form or curvature in cvxpy is not that of their value."""

from __future__ import annotations

from collections.abc import Callable

import cvxpy as cp
import numpy as np
from cvxpy.atoms import Power
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.binary_operators import DivExpression, multiply
from cvxpy.atoms.affine.unary_operators import NegExpression
from cvxpy.atoms.sum_largest import sum_largest

from dcprog.majorants.affine import Box
from dcprog.majorants.atoms import OddPower, SignedXexp
from dcprog.majorants.tree import of_roots, rebuilt


class Rewriting:
    """Replaces atoms whose cone form in cvxpy differs from their value, and hidden convex ones.

    ======================  ==============  ===================================================
    the user's              becomes         because cvxpy's own
    ======================  ==============  ===================================================
    ``sum_largest(x, k)``   the sum         has no minimum where k exceeds the number of entries
    x³, x⁵, x⁷, …           ``OddPower``    is for x ≥ 0 alone
    x⁶, x¹⁰, x¹², …         (x²)³           is for x ≥ 0 alone
    ``xexp(x)``             ``SignedXexp``  is for x ≥ 0 alone
    x·log(x/s), x, s ≥ 0    ``rel_entr``    rules see a product, and not that it is convex
    ======================  ==============  ===================================================

    Powers of an argument that is known to be nonnegative stay as they are. ``xexp(x)`` of such an
    argument becomes ``xexp(x₊)`` if cvxpy, which ignores bounds and constraints, does not see its
    sign.

    Parameters
    ----------
    signs : Box, optional
        The known signs of expressions.

    Attributes
    ----------
    originals : dict of int to expression
        The user's node, by the id of its replacement.
    notes : dict of int to str
        How the replacement differs from cvxpy's reading, by the same id.

    Examples
    --------
    >>> import cvxpy as cp
    >>> x = cp.Variable(value=-2.0)
    >>> cube = Rewriting().of(cp.power(x, 3))
    >>> float(cube.value), cp.power(x, 3).is_convex(), cube.is_convex()
    (-8.0, True, False)
    """

    def __init__(self, signs: Box | None = None) -> None:
        self._signs = signs or Box()
        self._seen: dict[int, tuple[cp.Expression, cp.Expression]] = {}  # both keep their ids
        self.originals: dict[int, cp.Expression] = {}
        self.notes: dict[int, str] = {}

    def of(self, node: cp.Expression) -> cp.Expression:
        """The rewritten expression; the given object if nothing changes."""
        if id(node) not in self._seen:
            new = self._new(node)
            self._seen[id(node)] = node, new
            if new is not node:
                self.originals[id(new)] = node
        return self._seen[id(node)][1]

    def of_problem(self, problem: cp.Problem) -> cp.Problem:
        """The rewritten problem; the given object if nothing changes."""
        return of_roots(problem, self.of)

    def _new(self, node: cp.Expression) -> cp.Expression:
        args = [self.of(arg) for arg in node.args]
        for rewrite, note in REWRITES:
            made = rewrite(node, args, self._signs)
            if made is not None:
                self.notes[id(made)] = note
                return made
        same = all(new is old for new, old in zip(args, node.args, strict=True))
        return node if same else rebuilt(node, args)


def is_narrowed(node: cp.Expression) -> bool:
    """True if cvxpy compiles the node, a power or ``xexp``, for nonnegative arguments only."""
    if not isinstance(node, Power):
        return isinstance(node, cp.xexp)
    if node.p.parameters():
        return False
    p = float(node.p.value)
    return bool(p > 2 and p % 1 == 0 and np.log2(p) % 1 != 0)


def _whole_sum(node: cp.Expression, args: list[cp.Expression], signs: Box) -> cp.Expression | None:
    whole = isinstance(node, sum_largest) and node.axis is None and node.k >= node.args[0].size
    return cp.sum(args[0], keepdims=node.keepdims) if whole else None


def _widened(node: cp.Expression, args: list[cp.Expression], signs: Box) -> cp.Expression | None:
    if not is_narrowed(node) or signs.is_nonneg(args[0]):
        return None
    if isinstance(node, cp.xexp):
        return SignedXexp(args[0])
    p = float(node.p.value)
    return OddPower(args[0], p) if p % 2 else type(node)(cp.square(args[0]), p / 2)


def _shown_nonneg(
    node: cp.Expression, args: list[cp.Expression], signs: Box
) -> cp.Expression | None:
    known = isinstance(node, cp.xexp) and signs.is_nonneg(args[0])
    return cp.xexp(cp.pos(args[0])) if known and not args[0].is_nonneg() else None


PLAIN = int, float, str, bool, tuple, slice, type(None)


def _relative_entropy(
    node: cp.Expression, args: list[cp.Expression], signs: Box
) -> cp.Expression | None:
    """The convex x·log(x/s) in a product of x with a sum that holds ±log(x/s) or ±log(s/x)."""
    if not isinstance(node, multiply):
        return None
    for x, other in (args, args[::-1]):
        terms = other.args if isinstance(other, AddExpression) else [other]
        for k, term in enumerate(terms):
            found = _entropy(x, term) if x.shape == node.shape else None
            if found is None or not all(map(signs.is_nonneg, found[1:])):
                continue
            sign, x, s = found
            rest = [t for j, t in enumerate(terms) if j != k]
            entropy = sign * cp.rel_entr(x, s)
            return entropy + cp.multiply(x, sum(rest[1:], rest[0])) if rest else entropy
    return None


def _entropy(
    x: cp.Expression, term: cp.Expression
) -> tuple[int, cp.Expression, cp.Expression] | None:
    """The sign, x and s if a term is ±log(x/s) or ±log(s/x)."""
    sign = 1
    while isinstance(term, NegExpression):
        sign, term = -sign, term.args[0]
    ratio = term.args[0] if isinstance(term, cp.log) else None
    if not isinstance(ratio, DivExpression) or ratio.is_constant():
        return None
    above, below = ratio.args
    if _is_alike(x, above):
        return sign, x, below
    return (-sign, x, above) if _is_alike(x, below) else None


def _is_alike(one: cp.Expression, other: cp.Expression) -> bool:
    """True if two expressions are written alike."""
    if one is other:
        return True
    if type(one) is not type(other) or one.shape != other.shape or not one.args:
        return False
    data = [d for node in (one, other) for d in node.get_data() or ()]
    if not all(isinstance(d, PLAIN) for d in data) or one.get_data() != other.get_data():
        return False  # an array of indices may be large
    pairs = zip(one.args, other.args, strict=False)
    return len(one.args) == len(other.args) and all(_is_alike(a, b) for a, b in pairs)


Rewrite = Callable[[cp.Expression, list[cp.Expression], Box], cp.Expression | None]
REWRITES: tuple[tuple[Rewrite, str], ...] = (
    (_whole_sum, "the sum of all entries"),
    (_widened, "taken on both sides of 0"),
    (_shown_nonneg, "of an argument that is known to be nonnegative"),
    (_relative_entropy, "the relative entropy, which is convex"),
)
