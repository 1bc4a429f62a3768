"""The table of atoms: slopes, values and edges that the rules use in place of cvxpy's own.

A class that is not in the table has cvxpy's own slopes and values, no edge, and is not even.
``dc.register_atom`` adds an atom, or replaces an entry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms import (
    GeoMean,
    GeoMeanApprox,
    MatrixFrac,
    Pnorm,
    PnormApprox,
    Power,
    PowerApprox,
    QuadForm,
)

from dcprog.majorants.atoms import elementwise, extremes, matrices, norms
from dcprog.majorants.atoms.both_sides import OddPower, SignedXexp
from dcprog.majorants.atoms.elementwise import derivative, of_nonnegative
from dcprog.majorants.atoms.entry import Edge, Entry, SpectralEdge

__all__ = ["TABLE", "add", "added", "edge", "entry", "is_even_in", "scaled_arguments"]

ALL, FIRST, SECOND = slice(None), slice(0, 1), slice(1, 2)
FALLS = Edge(bottomless=True)
NOT_CARRIED = Edge(carried=False)

_POWER = Entry(
    slope=derivative(elementwise.power_derivative),
    evaluate=elementwise.power_value,
    edge=elementwise.power_edge,
    even=elementwise.even_power,
    from_zero=ALL,
)
_XEXP = Entry(derivative(elementwise.xexp_derivative))
_PNORM = Entry(
    slope=norms.pnorm_slope,
    evaluate=norms.pnorm_value,
    edge=norms.pnorm_edge,
    even=True,
    from_zero=ALL,
)
_GEO_MEAN = Entry(evaluate=of_nonnegative, edge=Edge(), from_zero=ALL)

TABLE: dict[type, Entry] = {
    # entry by entry
    cp.abs: Entry(derivative(lambda atom, a: np.sign(a)), even=True),
    cp.entr: Entry(
        derivative(lambda atom, a: -np.log(a) - 1), elementwise.entr_value, Edge(), from_zero=ALL
    ),
    cp.exp: Entry(derivative(lambda atom, a: np.exp(a))),
    cp.huber: Entry(derivative(elementwise.huber_derivative), even=True),
    cp.kl_div: Entry(elementwise.kl_div_slope, of_nonnegative, NOT_CARRIED, from_zero=ALL),
    cp.log: Entry(derivative(lambda atom, a: 1 / a), of_nonnegative, FALLS, from_zero=ALL),
    cp.log1p: Entry(derivative(lambda atom, a: 1 / (1 + a)), edge=Edge(-1.0, bottomless=True)),
    cp.logistic: Entry(derivative(elementwise.sigmoid)),
    cp.maximum: Entry(extremes.maximum_slope),
    cp.minimum: Entry(extremes.minimum_slope),
    Power: _POWER,
    PowerApprox: _POWER,
    OddPower: _POWER,
    cp.rel_entr: Entry(elementwise.rel_entr_slope, of_nonnegative, NOT_CARRIED, from_zero=ALL),
    cp.xexp: _XEXP,
    SignedXexp: _XEXP,
    # the largest, the least, the first when sorted
    cp.max: Entry(extremes.extreme_entry_slope),
    cp.min: Entry(extremes.extreme_entry_slope),
    cp.sum_largest: Entry(extremes.sum_largest_slope, extremes.sorted_value),
    cp.dotsort: Entry(extremes.dotsort_slope),
    cp.cummax: Entry(slope=None),  # cvxpy's is wrong in one dimension
    # norms and means
    cp.norm1: Entry(norms.norm1_slope, even=True),
    cp.norm_inf: Entry(norms.norm_inf_slope, norms.norm_inf_value, even=True),
    Pnorm: _PNORM,
    PnormApprox: _PNORM,
    GeoMean: _GEO_MEAN,
    GeoMeanApprox: _GEO_MEAN,
    cp.log_sum_exp: Entry(norms.log_sum_exp_slope),
    cp.quad_over_lin: Entry(
        norms.quad_over_lin_slope,
        norms.quad_over_lin_value,
        even=lambda atom, index: index == 0,
        from_zero=SECOND,
    ),
    # functions of matrices; cvxpy has no slopes of the last three
    QuadForm: Entry(matrices.quad_form_slope),
    cp.log_det: Entry(
        matrices.log_det_slope,
        matrices.log_det_value,
        SpectralEdge(bottomless=True),
        from_zero=ALL,
    ),
    cp.tr_inv: Entry(evaluate=matrices.tr_inv_value, from_zero=ALL),
    MatrixFrac: Entry(evaluate=matrices.matrix_frac_value, from_zero=SECOND),
    cp.von_neumann_entr: Entry(slope=None, evaluate=matrices.von_neumann_entr_value, from_zero=ALL),
    cp.quantum_rel_entr: Entry(slope=None),
    cp.perspective: Entry(slope=None, evaluate=matrices.perspective_value, from_zero=FIRST),
}

_CVXPYS = Entry()
_OURS = dict(TABLE)


def add(entries: Mapping[type, Entry]) -> None:
    """Add entries to the table, or replace entries of the same classes."""
    TABLE.update(entries)


def added() -> dict[type, Entry]:
    """The entries that were added or replaced, for other processes with the original table."""
    return {kind: known for kind, known in TABLE.items() if _OURS.get(kind) is not known}


def entry(atom: Any) -> Entry:
    """The entry of an atom's class; by default cvxpy's own slopes and values."""
    return TABLE.get(type(atom), _CVXPYS)


def edge(atom: Any) -> Edge | None:
    """The edge of the atom's domain at which its slope is infinite, if there is one."""
    found = entry(atom).edge
    return found if found is None or isinstance(found, Edge) else found(atom)


def is_even_in(atom: Any, index: int) -> bool:
    """True if the convex atom is an increasing function of the argument's absolute value."""
    even = entry(atom).even
    return even if isinstance(even, bool) else even(atom, index)


def scaled_arguments(atom: Any) -> Sequence[Any]:
    """The arguments whose domain has its edge at 0, so that a change of units only scales it."""
    places = entry(atom).from_zero
    return [] if places is None else atom.args[places]
