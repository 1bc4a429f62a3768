"""The majorisation rules: from an expression's node to its convex majorant.

The table of the library, in the order in which its rows are tried. ``up`` is a convex majorant,
``down`` a concave minorant, tight at the centre a₀:

===============================================  ==================================================
expression                                       up
===============================================  ==================================================
convex                                           itself
concave                                          its tangent
one that occurs in many places                   a variable t ≥ up
an atom with a registered rule                   that rule's majorant (``dc.register_atom``)
sum, scaling, indexing, any affine atom          argument by argument, up or down by the sign
concave atom φ, nondecreasing                    φ(a₀) + φ'(a₀)·(up(a) − a₀)
concave atom φ, nonincreasing                    φ(a₀) + φ'(a₀)·(down(a) − a₀)
logarithm of a quotient                          a difference of logarithms
quadratic form                                   split by its eigenvalues
kl_div, sinh, atanh, x³, x⁵, … of either sign    an equal expression of other atoms
convex atom, nondecreasing (nonincreasing)       the atom of up(a) (of down(a))
convex atom, even                                the atom of max(up(a), up(−a), 0)
quotient of sums of exponentials                 exp(log a − log b), of log_sum_exp
quotient a/b, b ≥ 0                              the product of a and 1/b, or u²/b with a = u²
the same under a minus, a = s²                   −2(s₀/b₀)s + (s₀/b₀)²b
quotient times c                                 the quotient (ac)/b
product of three nonnegative factors or more     exp(Σ log fᵢ)
product of two expressions                       ¼(αx + y/α)² − ¼(αx − y/α)²
sin, cos, tanh, asinh, normcdf                   f(x₀) + f'(x₀)(x − x₀) + (L/2)(x − x₀)²
xexp, tan                                        exponentials, a pole, of its curvature; a line
anything else                                    ``NotMajorizable``
===============================================  ==================================================

``down(e)`` is ``−up(−e)``: a rule meets it as a nonpositive weight (see ``frame``).
"""

from __future__ import annotations

from collections.abc import Callable

import cvxpy as cp

from dcprog.majorants.affine import Box
from dcprog.majorants.rules.compositions import composition, equal, own, smooth, tangent
from dcprog.majorants.rules.frame import Context, Frame, Piece, Weight, majorise, plus, rewrite
from dcprog.majorants.rules.linear import (
    affine,
    affine_atom,
    both_signs,
    constant,
    curved,
    scalar,
    shared,
)
from dcprog.majorants.rules.products import (
    log_of_quotient,
    positive_product,
    prod,
    product,
    product_with_quotient,
    quad_form,
    quotient,
    quotient_of_exponentials,
    signed_quotients,
)

__all__ = [
    "RULES",
    "Context",
    "Frame",
    "Piece",
    "Weight",
    "fresh_context",
    "majorise",
    "plus",
    "rewrite",
    "signed_quotients",
]

RULES: tuple[Callable[[cp.Expression, Weight, Frame], Piece | None], ...] = (
    constant,
    affine,
    curved,
    shared,
    both_signs,
    scalar,
    own,
    affine_atom,
    log_of_quotient,
    tangent,
    quad_form,
    equal,
    composition,
    quotient_of_exponentials,
    quotient,
    product_with_quotient,
    prod,
    positive_product,
    product,
    smooth,
)


def fresh_context(signs: Box | None = None) -> Context:
    """A context with the library's table of rules and the known signs."""
    return Context(RULES, signs=signs or Box())
