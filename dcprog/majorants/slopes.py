"""Slopes of cvxpy's convex and concave atoms, as vector-Jacobian products.

For an atom φ with arguments a₁…a_k and an adjoint w (an array of the atom's shape),
``pull_back`` returns the arrays g_i = (∂φ/∂a_i)ᵀ w, one of each argument's shape. cvxpy's own
``grad`` forms sparse matrices, follows the order of the arguments at ties and gives None at the
edge of a domain; the table of atoms settles all three.
"""

from __future__ import annotations

from collections.abc import Sequence

import cvxpy as cp
import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.majorants.atoms.entry import FaultyAtom
from dcprog.majorants.atoms.table import entry
from dcprog.majorants.tree import short

__all__ = ["has_slope", "pull_back"]


def has_slope(atom: cp.Expression) -> bool:
    """True if a slope of the atom is known."""
    return entry(atom).slope is not None


def pull_back(
    atom: cp.Expression, args: Sequence[Array], value: Array, adjoint: Array
) -> list[Array]:
    """Slopes of `atom` times `adjoint`.

    Parameters
    ----------
    atom : cvxpy expression
    args : sequence of arrays
        Values of the arguments (see ``edges.interior``).
    value : array
        The atom's value there.
    adjoint : array of the atom's shape

    Returns
    -------
    list of arrays, one of each argument's shape

    Raises
    ------
    ValueError
        The atom has no finite slope there (outside its domain).
    FaultyAtom
        A function given to ``register_atom`` has a fault.
    """
    rule = entry(atom).slope
    if rule is None:
        raise _no_slope(atom)
    try:
        with np.errstate(all="ignore"):
            slopes = rule(atom, args, np.asarray(value), np.asarray(adjoint))
    except FaultyAtom:
        raise
    except NotImplementedError as error:
        kind = type(atom).__name__
        advice = f"{kind} has no _grad, give it a slope by dc.register_atom({kind}, slope=...)"
        raise _no_slope(atom, advice) from error
    except Exception as error:  # whatever the libraries below raise
        raise _no_slope(atom) from error
    if not all(np.all(np.isfinite(slope)) for slope in slopes):
        raise _no_slope(atom)
    return slopes


def _no_slope(atom: cp.Expression, advice: str = "start inside its domain") -> ValueError:
    return ValueError(f"{short(atom)} has no finite slope at the current point: {advice}")
