"""Convex majorants of cvxpy expressions."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from cvxpy.transforms.indicator import indicator

from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import NotMajorizable
from dcprog.majorants.rewrites import Rewriting
from dcprog.majorants.rules import Frame, Piece, fresh_context
from dcprog.majorants.rules.frame import check_expression
from dcprog.majorants.tree import Values, short, variables
from dcprog.majorants.user_problem import check_variable


class Majorant:
    """A convex function above an expression that touches it at a movable centre.

    Made by :func:`majorize`. Everything that depends on the centre is a ``cp.Parameter``, so a
    problem built from ``expression`` compiles once and only Parameter values change afterwards.

    Parameters
    ----------
    expression : cvxpy expression
        The expression to majorise, of any shape (entry by entry).

    Raises
    ------
    TypeError
        Not an expression.
    NotMajorizable
        No rule applies to a sub-expression.

    Attributes
    ----------
    expression : cvxpy expression
        The majorant: DCP, DPP, of the same shape.
    domain : list of cvxpy constraints
        The domain of the atoms that tangents replace (``log``'s argument stays positive): a
        tangent is defined everywhere. Add them to a problem that minimises ``expression``.

    Examples
    --------
    >>> import cvxpy as cp, dcprog as dc
    >>> x = cp.Variable()
    >>> majorant = dc.majorize(cp.minimum(cp.square(x), 1))
    >>> x.value = 0.5
    >>> majorant = majorant.tighten()
    >>> x.value = 2.0
    >>> majorant.expression.is_convex(), float(majorant.expression.value)
    (True, 4.0)
    """

    def __init__(self, expression: cp.Expression) -> None:
        _refuse_unsupported(expression)
        self.original = expression
        self._context = fresh_context()
        node = Rewriting().of(expression)
        self._frame = Frame(node, self._context, entrywise=expression.size != 1, gather=True)
        self._inner = self._frame.expression
        if self._inner.shape != expression.shape:
            self._inner = cp.reshape(self._inner, expression.shape, order="F")
        self.expression = self._closed()
        self.domain: list[cp.Constraint] = self._domain()

    def _closed(self) -> cp.Expression:
        """The majorant plus an indicator of the constraints that define its auxiliary variables."""
        if not self._context.auxiliaries:
            return self._inner
        return self._inner + indicator(self._context.constraints)

    def _domain(self) -> list[cp.Constraint]:
        """The domain constraints, with those that define the auxiliary variables in them."""
        context = self._context
        used = {v.id for constraint in context.domain for v in constraint.variables()}
        auxiliary = any(v.id in used for v in context.auxiliaries)
        return [*context.domain, *(context.constraints if auxiliary else [])]

    def tighten(self) -> Majorant:
        """Centre the majorant at the variables' current values.

        Returns
        -------
        Majorant
            Itself.

        Raises
        ------
        ValueError
            A variable has no value, or the expression has no slope there (outside its domain).
        """
        self._update(Values())
        return self

    def relax(self) -> Majorant:
        """Set the slopes of the convex problem that an outer loop starts from.

        A concave function of a convex loss gets its slope at 0 (the capped hinge becomes the
        hinge), a subtracted convex part is left out. The result is no majorant in general.
        """
        self._update(Values(level=np.inf))
        return self

    def _update(self, values: Values) -> None:
        self._context.begin()  # the majorant depends on its centre only, not on earlier centres
        self._frame.update(values)
        for frame in self._context.frames:
            frame.update(values)

    @property
    def value(self) -> Array:
        """The majorant at the variables' current values, computed in NumPy."""
        return Values(self._context.definitions).array(self._inner)

    @property
    def tree(self) -> Piece:
        """The rule applied at each node."""
        return self._frame.piece

    def __repr__(self) -> str:
        return f"Majorant({short(self.original)})"


def majorize(expression: cp.Expression) -> Majorant:
    r"""A convex majorant of an expression, tight at a point that can be moved.

    For a function F it returns M(·; x₀) with M(x; x₀) ≥ F(x) for all x and M(x₀; x₀) = F(x₀),
    convex in x, by composition rules: convex parts are kept, concave ones are replaced by their
    tangent, and a concave nondecreasing function φ of a convex f becomes
    φ(f(x₀)) + φ'(f(x₀))·(f(x) − f(x₀)).

    Parameters
    ----------
    expression : cvxpy expression
        Scalar, vector or matrix (majorised entry by entry).

    Returns
    -------
    Majorant
        Centred at the variables' values where all of them have one; call ``tighten`` to move it.

    Raises
    ------
    TypeError
        Not an expression.
    NotMajorizable
        No rule applies to a sub-expression.

    References
    ----------
    Lipp and Boyd (2016), Variations and extension of the convex-concave procedure, Optimization
    and Engineering 17. Hunter and Lange (2004), A tutorial on MM algorithms, Am. Stat. 58.

    Examples
    --------
    >>> import cvxpy as cp, dcprog as dc
    >>> x = cp.Variable()
    >>> x.value = 0.5
    >>> m = dc.majorize(cp.minimum(cp.square(x), 1))
    >>> m.expression.is_dcp(dpp=True), round(float(m.expression.value), 6)
    (True, 0.25)
    >>> x.value = 3.0   # the loss is capped at 1, its majorant is not
    >>> round(float(m.expression.value), 6)
    9.0
    >>> _ = m.tighten()
    >>> round(float(m.expression.value), 6)
    1.0
    """
    majorant = Majorant(expression)
    if all(v.value is not None for v in variables(majorant.original)):
        majorant.tighten()
    return majorant


def _refuse_unsupported(expression: cp.Expression) -> None:
    check_expression(expression)
    if expression.is_complex() or any(v.is_complex() for v in variables(expression)):
        raise NotMajorizable(
            short(expression), "it is complex", "the real and imaginary parts as two variables"
        )
    for variable in variables(expression):
        check_variable(variable)
