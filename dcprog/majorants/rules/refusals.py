"""Errors for nodes to which no rule applies, with the reason and a form to try instead."""

from __future__ import annotations

import cvxpy as cp
from cvxpy.atoms.affine.binary_operators import DivExpression
from cvxpy.atoms.atom import Atom
from cvxpy.atoms.quad_form import QuadForm

from dcprog.foundation.errors import NotMajorizable
from dcprog.majorants.tree import short

__all__ = ["check_expression", "refusal"]


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
