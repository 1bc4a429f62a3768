"""Values of cvxpy's atoms, in and outside of their domain.

cvxpy's own ``numeric`` raises outside some domains, extends others (1/x to negative x), takes
NaN for a number here and there, and says −∞ outside the domain of a concave atom, which a
minimisation would take for a triumph. ``evaluate`` never raises: outside the domain a value is
NaN, and ±∞ only where the atom tends to it. A constraint such as x ≥ 0 is left a little by every
solver; up to ``SLACK`` of the argument's size that counts as the edge. Whole powers and ``xexp``
have no edge: their cone forms stop at 0, their values do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.affine.affine_atom import AffAtom
from cvxpy.atoms.axis_atom import AxisAtom
from cvxpy.atoms.elementwise.elementwise import Elementwise

from dcprog.majorants.atoms.entry import SLACK, FaultyAtom
from dcprog.majorants.atoms.table import entry

__all__ = ["evaluate"]


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

    Raises
    ------
    FaultyAtom
        A function given to ``register_atom`` has a fault.
    """
    values = [a if type(a) is np.ndarray or sp.issparse(a) else np.asarray(a) for a in args]
    if 0 in atom.shape:
        return np.zeros(atom.shape)
    with np.errstate(all="ignore"):
        try:
            value = entry(atom).evaluate(atom, values, SLACK * size)
        except FaultyAtom:
            raise
        except Exception:  # whatever the libraries below raise, there is no value
            return np.full(atom.shape, np.nan)
    return _without_lost_nan(atom, values, value)


def _without_lost_nan(atom: Any, args: list[Any], value: Any) -> Any:
    """Comparing and eigenvalues may drop a NaN; linear algebra and ufuncs keep it."""
    keeps = _keeps_nan(type(atom))  # type: ignore[arg-type]  # classes are hashable
    if keeps or not any(np.any(np.isnan(_entries(a))) for a in args):
        return value
    return np.full(atom.shape, np.nan)


@cache
def _keeps_nan(kind: type) -> bool:
    """Asked once a kind: an isinstance of cvxpy's abstract classes costs as much as a sum."""
    return issubclass(kind, Elementwise | AxisAtom | AffAtom)


def _entries(value: Any) -> Any:
    return value.data if sp.issparse(value) else value  # type: ignore[attr-defined]
