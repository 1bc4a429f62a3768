"""Values of cvxpy's atoms, in and outside of their domain.

cvxpy's own ``numeric`` raises outside some domains, extends others (x³ and 1/x to negative x),
takes NaN for a number here and there, and says −∞ outside the domain of a concave atom, which a
minimisation would take for a triumph. ``evaluate`` never raises: outside the domain a value is
NaN, and ±∞ only where the atom tends to it. A constraint such as x ≥ 0 is left a little by every
solver; up to ``SLACK`` of the argument's size that counts as the edge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.affine.affine_atom import AffAtom
from cvxpy.atoms.axis_atom import AxisAtom
from cvxpy.atoms.elementwise.elementwise import Elementwise

from dcprog.foundation.arrays import Array, dense

__all__ = ["SLACK", "edged", "evaluate", "one_sided", "plain"]

Extended = Callable[[Any, list[Array], float], Any]

SLACK = 1e-6
ROUNDING = 1e-13


def evaluate(atom: Any, args: Sequence[Any], size: float = 1.0) -> Any:
    """The atom's value; NaN, or infinite where it tends to that, outside its domain.

    Parameters
    ----------
    atom : cvxpy atom
    args : sequence of arrays
        The arguments' values; constants may be sparse.
    size : float, default 1
        What the arguments are usually as large as: the edge of the domain is as wide as
        ``SLACK`` times that.

    Returns
    -------
    array of the atom's shape, or sparse
    """
    values = [a if type(a) is np.ndarray or sp.issparse(a) else np.asarray(a) for a in args]
    if 0 in atom.shape:
        return np.zeros(atom.shape)
    with np.errstate(all="ignore"):
        try:
            rule = _EXTENDED.get(type(atom).__name__, plain)
            value = rule(atom, values, SLACK * size)
        except Exception:  # whatever the libraries below raise, there is no value
            return np.full(atom.shape, np.nan)
    return _without_lost_nan(atom, values, value)


def plain(atom: Any, args: Sequence[Any], slack: float = 0.0) -> Any:
    """The value that cvxpy gives, in the atom's shape."""
    value = atom.numeric(list(args))
    if np.shape(value) == atom.shape or sp.issparse(value):
        return value
    return np.asarray(value).reshape(atom.shape, order="F")  # upper_tri is (n, 1) but says (n,)


def _without_lost_nan(atom: Any, args: list[Any], value: Any) -> Any:
    """Sorting, comparing and eigenvalues may drop a NaN; linear algebra and ufuncs keep it."""
    keeps = _keeps_nan(type(atom))  # type: ignore[arg-type]  # classes are hashable
    if keeps or not any(np.any(np.isnan(_entries(a))) for a in args):
        return value
    return np.full(atom.shape, np.nan)


@cache
def _keeps_nan(kind: type) -> bool:
    """Asked once a kind: an isinstance of cvxpy's abstract classes costs as much as a sum."""
    sorts = kind.__name__ in {"sum_largest", "dotsort"}
    return issubclass(kind, Elementwise | AxisAtom | AffAtom) and not sorts


def _entries(value: Any) -> Any:
    return value.data if sp.issparse(value) else value  # type: ignore[attr-defined]


def one_sided(power: Any) -> bool:
    """Is the power defined for one sign of its argument only?"""
    p = float(power.p.value)
    return p < 1 or np.log2(p) % 1 != 0  # 1, 2, 4, 8, … are defined everywhere


def edged(atom: Any) -> list[Any]:
    """The arguments that have an edge at 0 in the atom's domain, which other units only stretch."""
    name = type(atom).__name__
    if name not in _EXTENDED:
        return []
    if name in {"quad_over_lin", "MatrixFrac", "matrix_frac"}:
        return [atom.args[1]]
    return atom.args[:1] if name == "perspective" else list(atom.args)


# ----------------------------------------------------------------------------------------------
# one function an atom, or kind of atoms


def _nonnegative(array: Any, slack: float) -> Array:
    array = dense(array)
    return np.where(array >= 0, array, np.where(array >= -slack, 0.0, np.nan))


def _of_nonnegative(atom: Any, args: list[Any], slack: float) -> Any:
    return plain(atom, [_nonnegative(a, slack) for a in args])


def _of_nonnegative_first(atom: Any, args: list[Any], slack: float) -> Any:
    return plain(atom, [_nonnegative(args[0], slack), *args[1:]])


def _entr(atom: Any, args: list[Any], slack: float) -> Any:
    inside = _nonnegative(args[0], slack)
    return np.where(np.isnan(inside), np.nan, plain(atom, [inside]))  # cvxpy: −∞ for NaN


def _power(atom: Any, args: list[Any], slack: float) -> Any:
    return (_of_nonnegative if one_sided(atom) else plain)(atom, args, slack)


def _pnorm(atom: Any, args: list[Any], slack: float) -> Any:
    return (_of_nonnegative if atom.p < 1 else plain)(atom, args, slack)


def _norm_inf(atom: Any, args: list[Any], slack: float) -> Any:
    return plain(atom, args) if args[0].size else np.zeros(atom.shape)


def _quad_over_lin(atom: Any, args: list[Any], slack: float) -> Any:
    """‖x‖²/y, with 0²/0 = 0; a y just outside counts as far inside."""
    x, y = np.asarray(args[0]), float(np.asarray(args[1]).item())
    y = abs(y) if y >= -slack else np.nan
    squares = plain(atom, [x, np.ones(np.shape(args[1]))])
    return np.where(squares == 0, 0.0 * y, squares / y) if y == 0 else squares / y


def _spectrum(matrix: Any, slack: float) -> tuple[Array, Array]:
    """Eigenvalues and vectors of a semidefinite matrix; what rounding leaves of a zero is 0."""
    matrix = dense(matrix)
    eigenvalues, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    largest = float(np.max(np.abs(eigenvalues), initial=0.0))
    inside = np.where(np.abs(eigenvalues) <= ROUNDING * largest, 0.0, eigenvalues)
    return _nonnegative(inside, min(slack, SLACK * largest)), vectors


def _log_det(atom: Any, args: list[Any], slack: float) -> Any:
    eigenvalues, _ = _spectrum(args[0], slack)
    return (
        np.sum(np.log(eigenvalues))
        if np.min(eigenvalues) == 0
        else _semidefinite(atom, args, eigenvalues)
    )


def _tr_inv(atom: Any, args: list[Any], slack: float) -> Any:
    eigenvalues, _ = _spectrum(args[0], slack)
    return np.inf if np.min(eigenvalues) == 0 else _semidefinite(atom, args, eigenvalues)


def _semidefinite(atom: Any, args: list[Any], eigenvalues: Array) -> Any:
    return np.nan if np.any(np.isnan(eigenvalues)) else plain(atom, args)


def _matrix_frac(atom: Any, args: list[Any], slack: float) -> Any:
    """tr(XᵀP⁻¹X); at the edge it is finite where the columns of X are in the range of P."""
    x = dense(args[0]).reshape(args[0].shape[0], -1)
    eigenvalues, vectors = _spectrum(args[1], slack)
    if np.any(np.isnan(eigenvalues)) or np.min(eigenvalues) > 0:
        return _semidefinite(atom, args, eigenvalues)
    squares = np.sum((vectors.T @ x) ** 2, axis=1)
    squares[squares <= ROUNDING**2 * np.sum(squares)] = 0.0
    return np.sum(np.divide(squares, eigenvalues, out=np.zeros(x.shape[0]), where=squares > 0))


def _von_neumann_entr(atom: Any, args: list[Any], slack: float) -> Any:
    eigenvalues, _ = _spectrum(args[0], slack)
    positive = eigenvalues[~(eigenvalues == 0)]
    return -np.sum(positive * np.log(positive))


def _perspective(atom: Any, args: list[Any], slack: float) -> Any:
    """s·f(x/s), its recession at s = 0; the variables get their values back."""
    s = float(_nonnegative(args[0], slack).item())
    f = atom.f if s > 0 else atom.f_recession
    if f is None:  # a closed f has 0·f(0/0) = 0; elsewhere cvxpy wants to be told the limit
        return np.nan if any(np.any(a) for a in args[1:]) else 0.0 * s
    variables = atom.f.variables()
    before = [v.value for v in variables]
    try:
        for variable, array in zip(variables, args[1:], strict=True):
            variable.save_value(np.asarray(array) / (s or 1.0))
        return (s or 1.0) * np.asarray(f.value, dtype=float)
    finally:
        for variable, array in zip(variables, before, strict=True):
            variable.save_value(array)


_EXTENDED: dict[str, Extended] = {
    "GeoMean": _of_nonnegative_first,
    "GeoMeanApprox": _of_nonnegative_first,
    "MatrixFrac": _matrix_frac,
    "Pnorm": _pnorm,
    "PnormApprox": _pnorm,
    "Power": _power,
    "PowerApprox": _power,
    "entr": _entr,
    "kl_div": _of_nonnegative,
    "log": _of_nonnegative,
    "log_det": _log_det,
    "matrix_frac": _matrix_frac,
    "norm_inf": _norm_inf,
    "perspective": _perspective,
    "quad_over_lin": _quad_over_lin,
    "rel_entr": _of_nonnegative,
    "tr_inv": _tr_inv,
    "von_neumann_entr": _von_neumann_entr,
    "xexp": _of_nonnegative,
}
