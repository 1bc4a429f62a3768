"""Values of cvxpy's atoms, inside and outside their domains.

cvxpy's own ``numeric`` raises an error outside some domains, extends some atoms (1/x to negative
x), loses NaN in others, and returns −∞ outside the domain of a concave atom, which a minimisation
would accept as a very low value. ``evaluate`` returns NaN outside the domain, ±∞ only where the
atom tends to it, and raises errors of user-defined atoms only. Every solver violates a constraint
such as x ≥ 0 a little: an argument that is outside by at most ``SLACK`` of its size counts as at
the edge. Whole powers and ``xexp`` have no edge: their cone forms stop at 0, their values do not.
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
    """The atom's value; outside its domain NaN, or ±∞ where the atom tends to it.

    Parameters
    ----------
    atom : cvxpy atom
    args : sequence of arrays
        The arguments' values; constants may be sparse.
    size : float, default 1
        Typical size of the arguments: an argument up to ``SLACK * size`` outside the domain
        counts as at its edge.

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
        except Exception:  # NumPy, SciPy and cvxpy raise errors of many kinds outside a domain
            return np.full(atom.shape, np.nan)
    return _without_lost_nan(atom, values, value)


def _without_lost_nan(atom: Any, args: list[Any], value: Any) -> Any:
    """The value, or NaN if an argument holds a NaN that the atom may have dropped.

    Comparisons and eigenvalues may drop a NaN; linear algebra and ufuncs keep it.
    """
    keeps = _keeps_nan(type(atom))  # type: ignore[arg-type]  # classes are hashable
    if keeps or not any(np.any(np.isnan(_entries(a))) for a in args):
        return value
    return np.full(atom.shape, np.nan)


@cache
def _keeps_nan(kind: type) -> bool:
    """True if atoms of this class pass a NaN of their arguments on.

    Cached: an isinstance of cvxpy's abstract classes costs as much as a sum.
    """
    return issubclass(kind, Elementwise | AxisAtom | AffAtom)


def _entries(value: Any) -> Any:
    return value.data if sp.issparse(value) else value  # type: ignore[attr-defined]
