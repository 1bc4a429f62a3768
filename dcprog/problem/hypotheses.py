"""Facts about a cvxpy problem and its majorants that theorems on convergence need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms import Pnorm, QuadForm
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.affine_atom import AffAtom
from cvxpy.atoms.elementwise.power import Power
from cvxpy.constraints import PSD, SOC, Equality, Inequality, NonNeg, NonPos, Zero

from dcprog.engine.theorems import Fact, Hypotheses
from dcprog.foundation.arrays import Array, unvec
from dcprog.foundation.kept_values import values_kept
from dcprog.foundation.regularity import KINKED, SMOOTH, STEEP, UNKNOWN, Regularity
from dcprog.foundation.tolerances import RANK, ROUNDING
from dcprog.majorants.affine import Box
from dcprog.majorants.rules.frame import CONVEX, Piece
from dcprog.majorants.tree import nodes, short
from dcprog.problem.surrogate import ProblemSurrogate

PIECEWISE = (
    *(cp.abs, cp.maximum, cp.minimum, cp.max, cp.min),
    *(cp.norm1, cp.norm_inf, cp.sum_largest),
)
ANALYTIC = cp.exp, cp.logistic, cp.log_sum_exp, cp.huber, QuadForm
# Slopes are finite, with kinks between curves.
BLUNT = cp.lambda_max, cp.sigma_max, cp.normNuc
KEPT = "convex: kept", "concave under a minus: kept", "constant", "affine: into", "affine: kept"
PASSED = "affine atom", "both signs", "convex atom: of majorised"
TANGENT = "concave atom: tangent", "convex atom under a minus: tangent"
SEMIALGEBRAIC = Inequality, Equality, Zero, NonPos, NonNeg, SOC, PSD
LARGEST = 100  # variables whose Hessian is computed


def hypotheses_of_problem(surrogate: ProblemSurrogate) -> Hypotheses:
    """The facts that the expression trees of a problem show.

    Parameters
    ----------
    surrogate : ProblemSurrogate
        Its variables keep their values.

    Returns
    -------
    Hypotheses
    """
    majorised = surrogate.majorised
    nonconvex = Fact(True, "no nonconvex constraints")
    if majorised.parts.nonconvex:
        said = ", ".join(short(e) for e in majorised.parts.nonconvex[:1])
        nonconvex = Fact(False, f"the nonconvex constraint {said} <= 0 needs a qualification")
    trees = _Replaced(majorised.frame.piece, majorised.context.signs)
    modulus = 0.0 if majorised.parts.nonconvex else _modulus(surrogate)
    strong = Fact(True, f"quadratic terms have a Hessian of at least {modulus:.3g}")
    if modulus == 0:
        strong = Fact(False, "no quadratic terms of the objective are shown to be strongly convex")
    return Hypotheses(
        above=Fact(True, "every rule gives a function that touches F and is nowhere below it"),
        strong=strong,
        modulus=modulus,
        whole=modulus > 0,
        continuous=nonconvex & trees.bounded,
        polyhedral=nonconvex & trees.polyhedral,
        smooth=nonconvex & trees.smooth,
        bounded=_level_sets(surrogate, modulus),
        subanalytic=_subanalytic(surrogate),
    )


# ---- replaced atoms ------------------------------------------------------------------------------


def regularity_of(node: cp.Expression, signs: Box) -> tuple[Regularity, bool]:
    """Facts about an atom as a function of its arguments, and whether its slopes are bounded."""
    if isinstance(node, PIECEWISE):
        return KINKED, True
    if isinstance(node, ANALYTIC):
        return SMOOTH, True
    if isinstance(node, cp.quad_over_lin):
        return (SMOOTH, True) if node.args[1].is_constant() else (STEEP, False)
    if isinstance(node, Power):
        return _power(node, signs)
    if isinstance(node, cp.log1p):
        return (SMOOTH, True) if signs.floor(node.args[0]) > -1 else (UNKNOWN, False)
    if isinstance(node, cp.log):
        return (SMOOTH, True) if signs.floor(node.args[0]) > 0 else (UNKNOWN, False)
    if isinstance(node, (Pnorm, *BLUNT)):
        return STEEP, not isinstance(node, Pnorm) or node.p >= 1
    return UNKNOWN, False


def _power(node: Any, signs: Box) -> tuple[Regularity, bool]:
    exponent = node.get_data()[0]
    p = float(getattr(exponent, "value", exponent))
    if p >= 2 or p in (0, 1) or signs.floor(node.args[0]) > 0:
        return SMOOTH, True
    return STEEP, p > 1


class _Replaced:
    """Facts about the functions in a tree of majorants that rules replace."""

    def __init__(self, piece: Piece, signs: Box) -> None:
        self._signs = signs
        self._convex = True
        self._kinked: list[str] = []
        self._curved: list[str] = []
        self._steep: list[str] = []
        self._visit(piece)

    def _visit(self, piece: Piece) -> None:
        if piece.rule.startswith(KEPT):
            return
        name = short(piece.node)
        if piece.rule.startswith(TANGENT):
            known, bounded = regularity_of(piece.node, self._signs)
            self._note(name, known, bounded)
        elif piece.rule.startswith("smooth: convex functions of its curvature"):
            self._note(name, SMOOTH, bounded=True)
        elif piece.rule.startswith("product: polarised"):  # squares, whose balance follows the run
            self._note(name, SMOOTH, bounded=False)
            return
        elif not piece.rule.startswith(PASSED):
            self._note(f"{name} ({piece.rule})", UNKNOWN, bounded=False)
            return
        elif (
            piece.rule.startswith("convex atom")
            and not regularity_of(piece.node, self._signs)[0].is_smooth
        ):
            self._kinked.append(f"{name}, of arguments that change,")
        for child in piece.children:
            self._visit(child)

    def _note(self, name: str, known: Regularity, bounded: bool) -> None:
        self._convex = False
        self._kinked += [] if known.is_smooth else [name]
        self._curved += [] if known.is_piecewise_linear else [name]
        self._steep += [] if bounded else [name]

    def _fact(self, without: list[str], no: str, yes: str) -> Fact:
        if self._convex:
            return Fact(True, "the objective is convex and its own majorant")
        names = ", ".join(dict.fromkeys(without))
        return Fact(not without, f"{names}: {no}" if without else yes)

    @property
    def smooth(self) -> Fact:
        """All are smooth."""
        no = "not known to have a finite Lipschitz slope"
        return self._fact(self._kinked, no, "the atoms replaced by tangents have no kink")

    @property
    def polyhedral(self) -> Fact:
        """All are piecewise linear."""
        no = "not shown to be piecewise linear"
        return self._fact(self._curved, no, "the atoms replaced by tangents are piecewise linear")

    @property
    def bounded(self) -> Fact:
        """All have slopes that are bounded near every point."""
        no = "its slopes are not shown to be bounded"
        return self._fact(self._steep, no, "tangents have slopes that are bounded near any point")


def _subanalytic(surrogate: ProblemSurrogate) -> Fact:
    majorised = surrogate.majorised
    for constraint in majorised.problem.constraints:
        if not isinstance(constraint, SEMIALGEBRAIC):
            return Fact(False, f"{type(constraint).__name__} constraints: not shown subanalytic")
    sides = [side for constraint in majorised.problem.constraints for side in constraint.args]
    found = [node for root in (majorised.frame.node, *sides) for node in nodes(root)]
    atoms = [node for node in found if node.args and not isinstance(node, AffAtom)]
    unknown = [
        n
        for n in atoms
        if not (n.is_constant() or regularity_of(n, majorised.context.signs)[0].is_subanalytic)
    ]
    if unknown:
        return Fact(False, f"{short(unknown[0])}: not shown to be subanalytic")
    return Fact(True, "all atoms are subanalytic over bounded sets")


# ---- curvature and level sets --------------------------------------------------------------------


def _terms(node: cp.Expression) -> Iterator[cp.Expression]:
    if isinstance(node, AddExpression):
        for arg in node.args:
            yield from _terms(arg)
    else:
        yield node


def _kept_terms(piece: Piece) -> Iterator[cp.Expression]:
    """The terms of a sum that its majorant keeps as they are."""
    if piece.rule == CONVEX:
        yield from _terms(piece.node)
    elif isinstance(piece.node, AddExpression) and piece.rule.startswith("affine atom"):
        for child in piece.children:
            yield from _kept_terms(child)


def _is_bowl(term: cp.Expression) -> bool:
    return bool(term.is_quadratic() and term.is_convex() and not term.is_affine())


def _modulus(surrogate: ProblemSurrogate) -> float:
    """The least eigenvalue of the Hessian of the convex quadratic terms; 0 if it is not known."""
    majorised = surrogate.majorised
    variables = majorised.points.variables
    bowls = [term for term in _kept_terms(majorised.frame.piece) if _is_bowl(term)]
    size = sum(v.size for v in variables)
    if (
        not bowls
        or size > LARGEST
        or {v.id for b in bowls for v in b.variables()} != {v.id for v in variables}
    ):
        return 0.0
    with values_kept(variables):
        values = np.linalg.eigvalsh(_hessian(bowls, variables))
    return float(values[0] * (1 - ROUNDING)) if values[0] > RANK * values[-1] else 0.0


def _hessian(terms: list[cp.Expression], variables: list[cp.Variable]) -> Array:
    """The Hessian of a sum of quadratic terms, from their gradients at unit vectors."""
    size = sum(v.size for v in variables)

    def gradient(x: Array) -> Array:
        begun = 0
        for v in variables:
            v.save_value(unvec(x[begun : begun + v.size], v.shape))
            begun += v.size
        found = [term.grad for term in terms]
        return np.concatenate(
            [sum((_dense(g, v) for g in found), np.zeros(v.size)) for v in variables]
        )

    zero = gradient(np.zeros(size))
    columns = np.array([gradient(e) - zero for e in np.eye(size)])
    return np.asarray(columns + columns.T) / 2


def _dense(slopes: Mapping[cp.Variable, Any], variable: cp.Variable) -> Array:
    """The slope in one variable, as a vector."""
    slope = slopes.get(variable, 0.0)
    dense = slope.toarray() if hasattr(slope, "toarray") else slope
    return np.broadcast_to(np.ravel(dense), variable.size)


def _level_sets(surrogate: ProblemSurrogate, modulus: float) -> Fact:
    """Bounded by bounds of all variables, or by growth of F."""
    majorised = surrogate.majorised
    signs = majorised.context.signs
    if all(
        np.all(np.isfinite(signs.least(_column(v))))
        and np.all(np.isfinite(signs.least(-_column(v))))
        for v in majorised.points.variables
    ):
        return Fact(True, "all variables have bounds")
    rest = [term for term in _terms(majorised.frame.node) if not _is_bowl(term)]
    if modulus > 0 and all(signs.floor(term) > -np.inf for term in rest):
        return Fact(True, "the quadratic terms grow in every direction, the others are bounded")
    if modulus > 0 and majorised.is_convex:
        return Fact(True, "F is strongly convex")
    return Fact(False, "variables without bounds, and F is not shown to grow in every direction")


def _column(variable: cp.Variable) -> cp.Expression:
    return cp.vec(variable, order="F")
