"""Atoms from outside the library: ``dc.register_atom``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from cvxpy.atoms.atom import Atom

from dcprog.foundation.arrays import Array
from dcprog.majorants.atoms import (
    TABLE,
    Edge,
    Entry,
    Evaluation,
    FaultyAtom,
    PullBack,
    add,
    cvxpy_slope,
    plain,
    within,
)

EdgeOf = float | Callable[[Any], float | None]
Result = TypeVar("Result")


def register_atom(
    kind: type,
    *,
    slope: PullBack | None = None,
    evaluate: Evaluation | None = None,
    edge: EdgeOf | None = None,
    bottomless: bool = False,
    even: bool | Callable[[Any, int], bool] = False,
    rule: Callable[[Any, Any, Any], Any] | None = None,
    replace: bool = False,
) -> None:
    r"""Register an atom class with the rules: its slope, its values, its edge, its own rule.

    A concave atom φ is majorised by its tangent, φ(a₀) + φ'(a₀)·(a − a₀), with cvxpy's own
    ``_grad`` and ``numeric`` unless better functions are given here; an atom without an infinite
    slope may need no entry at all. Curvature and monotonicity are taken from the atom's own
    methods. Register an atom before solving problems with it: compiled problems keep their rules.

    Parameters
    ----------
    kind : class derived from a cvxpy atom
        The class itself: subclasses need entries of their own. A convex atom stays in the
        majorant, and cvxpy must know its cone program; an atom that cvxpy cannot compile should
        not declare itself convex, but bring a `rule`.
    slope : function (atom, args, value, adjoint) -> list of arrays, default cvxpy's ``_grad``
        The vector-Jacobian products (∂φ/∂aᵢ)ᵀ·adjoint, one of each argument's shape; `value` is
        the atom's value at `args`, and `adjoint` has the same shape. For an elementwise atom of
        one argument: ``[adjoint * derivative]``.
    evaluate : function (atom, args, slack) -> array, default cvxpy's ``numeric``
        The value, of the atom's shape: NaN outside the domain, ±∞ where the atom tends to it;
        arguments up to `slack` (≥ 0) outside count as being at the edge. With an `edge` the
        default does so.
    edge : float or function (atom) -> float or None, optional
        The least value of the arguments' entries, where the slope is infinite, such as 0 for the
        square root. Tangents are taken a little inside, and runs that start there take smaller
        and smaller steps towards it; None for an atom that has no such edge.
    bottomless : bool, default False
        Whether the atom falls to −∞ at its `edge`, as a logarithm does, so that a problem may be
        unbounded.
    even : bool or function (atom, index) -> bool, default False
        Whether the convex atom is an increasing function of the absolute value of its argument,
        or of the argument at that index, which may then be of any curvature.
    rule : function (node, weight, frame) -> Piece or None, optional
        A convex function above ⟨weight, node⟩ that touches it at the current point, or None to
        leave the node to the library's rules. It is tried before them, wherever the node's
        curvature does not suit the weight, whose sign is 1 or −1. The building blocks of rules
        are in ``dcprog.majorants.rules``.
    replace : bool, default False
        Replace an existing entry, the library's own included.

    Raises
    ------
    TypeError
        An argument has the wrong type. Raised later: `slope`, `evaluate` or `rule` returned a
        value of the wrong kind, or failed with an error that is not a numerical one.
    ValueError
        The class has an entry and `replace` is False; `edge` is not finite; `bottomless` without
        an `edge`.

    See Also
    --------
    dcprog.explain : Which rule applies where.

    Examples
    --------
    The cube root, concave on x ≥ 0, with an infinite slope at 0:

    >>> import cvxpy as cp, numpy as np, dcprog as dc
    >>> from cvxpy.atoms.elementwise.elementwise import Elementwise
    >>> class cbrt(Elementwise):
    ...     numeric = lambda self, values: np.cbrt(values[0])
    ...     sign_from_args = lambda self: (True, False)
    ...     is_atom_convex = lambda self: False
    ...     is_atom_concave = is_incr = lambda self, index=0: True
    ...     is_decr = lambda self, index: False
    ...     _domain = lambda self: [self.args[0] >= 0]
    ...     _grad = lambda self, values: [self.elemwise_grad_to_diag(
    ...         np.cbrt(values[0]) ** -2.0 / 3, self.args[0].size, self.size)]
    >>> dc.register_atom(cbrt, edge=0.0)
    >>> x = cp.Variable(2)
    >>> fit = cp.sum_squares(x - np.array([0.1, 2.0]))
    >>> result = dc.solve(cp.Problem(cp.Minimize(fit + cp.sum(cbrt(cp.abs(x))))))
    >>> result.status, np.round(x.value, 4) + 0.0
    ('converged', array([0.   , 1.891]))

    A rule for the sine, which is neither convex nor concave; its slope changes by at most 1, so
    w·sin x ≤ w·sin x₀ + w·cos x₀·(x − x₀) + ½|w|(x − x₀)²:

    >>> from cvxpy.atoms.elementwise.trig import sin
    >>> from dcprog.majorants.rules import Piece, Weight, majorise, plus
    >>> class sine(sin):
    ...     '''Its own kind, so that cvxpy's has no entry.'''
    >>> def parabola(node, weight, frame):
    ...     x = node.args[0]
    ...     square, line = majorise(cp.square(x), Weight(1), frame), majorise(x, Weight(0), frame)
    ...     def update(w, values):
    ...         at = values.array(x)
    ...         slope = w * np.cos(at) - np.abs(w) * at
    ...         here = w * np.sin(at) - slope * at - np.abs(w) / 2 * at**2
    ...         moved = square.update(np.abs(w) / 2, values) + line.update(slope, values)
    ...         return moved + frame.constant(here)
    ...     return Piece(node, "sine: a parabola", plus(square, line), update, [square, line])
    >>> dc.register_atom(sine, rule=parabola)
    >>> y = cp.Variable(value=2.0)
    >>> print(dc.explain(sine(y)))
    sine(...)  [unknown]  sine: a parabola
      ...  [affine]  affine: into the gradient
    >>> result = dc.solve(cp.Problem(cp.Minimize(sine(y))), start="current")
    >>> round(result.value, 6)
    -1.0
    >>> from dcprog.majorants.atoms import TABLE
    >>> del TABLE[cbrt], TABLE[sine]
    """
    _check(kind, slope=slope, evaluate=evaluate, rule=rule)
    _check_edge(edge, bottomless)
    if not isinstance(even, bool) and not callable(even):
        raise TypeError(f"even={even!r}: True, False, or a function of atom and index is needed")
    if not isinstance(replace, bool):
        raise TypeError(f"replace={replace!r}: True or False is needed")
    if kind in TABLE and not replace:
        raise ValueError(
            f"{kind.__name__} has an entry in the table of atoms: replace=True takes its place"
        )
    known = edge is not None or evaluate is not None
    edge_of = _edge(edge, bottomless)
    entry = Entry(
        slope=cvxpy_slope if slope is None else _checked_slope(slope),
        evaluate=_value(edge_of) if evaluate is None else _checked_value(evaluate),
        edge=edge_of,
        even=even,
        from_zero=slice(None) if known and (edge in (None, 0) or callable(edge)) else None,
        rule=rule,
    )
    add({kind: entry})


def _check(kind: object, **functions: object) -> None:
    if not (isinstance(kind, type) and issubclass(kind, Atom)):
        raise TypeError(f"kind={kind!r}: a class derived from a cvxpy atom is needed")
    for name, function in functions.items():
        if function is not None and not callable(function):
            raise TypeError(f"{name}={function!r}: a function is needed")


def _check_edge(edge: object, bottomless: object) -> None:
    if not isinstance(bottomless, bool):
        raise TypeError(f"bottomless={bottomless!r}: True or False is needed")
    if edge is None:
        if bottomless:
            raise ValueError("bottomless=True says what happens at an edge: pass edge, too")
    elif not callable(edge):
        if isinstance(edge, bool) or not isinstance(edge, int | float | np.number):
            raise TypeError(f"edge={edge!r}: a number or a function of the atom is needed")
        if not np.isfinite(edge):
            raise ValueError(f"edge={edge!r}: a finite number is needed")


def _edge(edge: EdgeOf | None, bottomless: bool) -> Callable[[Any], Edge | None]:
    """The edge of an atom, as a function of the atom."""

    def of(atom: Any) -> Edge | None:
        at = edge(atom) if callable(edge) else edge
        return None if at is None else Edge(float(at), bottomless)

    return of


def _value(edge_of: Callable[[Any], Edge | None]) -> Evaluation:
    """Evaluation by cvxpy, with NaN for arguments on the wrong side of the edge."""

    def value(atom: Any, args: list[Any], slack: float) -> Any:
        edge = edge_of(atom)
        return plain(atom, args if edge is None else [within(a, slack, edge.at) for a in args])

    return value


def _checked_slope(slope: PullBack) -> PullBack:
    """The slope function with its results checked: a wrong shape would be broadcast silently."""

    def checked(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
        slopes = _called("slope", slope, atom, args, value, adjoint)
        wanted = [np.shape(a) for a in args]
        if not isinstance(slopes, list | tuple) or [np.shape(s) for s in slopes] != wanted:
            raise FaultyAtom(
                f"the slope of {type(atom).__name__} must be a list with an array of each "
                f"argument's shape, {wanted}"
            )
        return [np.asarray(s, dtype=float) for s in slopes]

    return checked


def _checked_value(evaluate: Evaluation) -> Evaluation:
    def checked(atom: Any, args: list[Any], slack: float) -> Any:
        value = np.asarray(_called("evaluate", evaluate, atom, args, slack))
        if value.shape != atom.shape:
            raise FaultyAtom(
                f"evaluate of {type(atom).__name__} returned an array of shape {value.shape}, "
                f"not {atom.shape}"
            )
        return value

    return checked


def _called(name: str, function: Callable[..., Result], atom: Any, *rest: Any) -> Result:
    """The function's result; errors that are not numerical ones are raised as ``FaultyAtom``."""
    try:
        return function(atom, *rest)
    except (ArithmeticError, ValueError):
        raise
    except Exception as error:
        raise FaultyAtom(
            f"{name} of {type(atom).__name__} raised {type(error).__name__}: {error}"
        ) from error
