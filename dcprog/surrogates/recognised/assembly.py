"""Losses, rows and a penalty put together to a risk."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dcprog.foundation.arrays import dense
from dcprog.majorants.points import Points
from dcprog.penalties import Penalty
from dcprog.risk.risk import Risk
from dcprog.rows.linear import Margins, Samples
from dcprog.rows.scores import Scores
from dcprog.surrogates.recognised.lines import Lines, arguments
from dcprog.surrogates.recognised.losses import Losses, joined
from dcprog.surrogates.recognised.matrices import Matrices, scaled_rows
from dcprog.surrogates.recognised.reading import Reading
from dcprog.surrogates.recognised.shrinkage import Shrinkage
from dcprog.surrogates.recognised.unrecognised import Unrecognised
from dcprog.surrogates.recognised.weighted_terms import Term, weighted_terms
from dcprog.transforms import cap_at

__all__ = ["risk_of"]

Mask = npt.NDArray[np.bool_]

MOST_TERMS = 20  # written in a loop they are rather many losses, and to look at each takes long
DENSE = 0.25  # a matrix with a larger share of entries is an array


def risk_of(objective: cp.Expression, sign: float, points: Points) -> tuple[Risk, Points]:
    """The risk that sign·objective is up to a constant, and its points.

    A free scalar that every row has with +1 or −1 is the intercept, whose variable comes last.

    Raises
    ------
    Unrecognised
        There is none.
    """
    matrices, shrinkage = Matrices(points), Shrinkage(points.size)
    terms = weighted_terms(objective, sign)
    if len(terms) > MOST_TERMS:
        raise Unrecognised("many terms")
    rest = [term for term in terms if not _is_penalty(term, matrices, shrinkage)]
    if not rest:
        raise Unrecognised("nothing but penalties")
    losses, penalized = joined(rest, matrices), shrinkage.penalized
    intercept = _intercept(losses.lines.matrix, penalized, points)
    points, order = _with_last(points, intercept)
    rows = _rows(losses.lines.matrix[:, order], intercept is not None)
    penalized = penalized[order] if np.any(penalized) else rows.penalized
    return _declared(losses, rows, shrinkage.penalty(), penalized), points


def _is_penalty(term: Term, matrices: Matrices, shrinkage: Shrinkage) -> bool:
    """Is the term one of single entries of θ? If so, the shrinkage has it now."""
    node, weights = term
    try:
        lines = Lines(arguments(node), matrices)
        if lines.offset is not None or _entries(lines.matrix) != len(weights):
            return False
        side = -1.0 if np.all(weights <= 0) else 1.0
        factor, loss = Reading(lines).curve(node).times(side).as_loss()
    except Unrecognised:
        return False
    return shrinkage.takes(sp.csr_array(lines.matrix), loss, factor * side * weights)


def _entries(matrix: Any) -> int:
    return int(matrix.nnz if isinstance(matrix, sp.csr_array) else np.count_nonzero(matrix))


def _declared(losses: Losses, rows: Scores, penalty: Penalty, penalized: Mask) -> Risk:
    loss, weights, offset = losses.loss, losses.weights, losses.lines.offset
    shares = None if np.all(weights == 1) else weights
    if losses.caps is None:
        return Risk.from_loss(rows, loss, penalty, shares, offset, penalized)
    if loss.subtracted is not None:
        raise Unrecognised("caps of a difference")
    return Risk(
        rows,
        loss.base,
        transform=cap_at(losses.caps, loss.transform),
        penalty=penalty,
        penalized=penalized,
        sample_weight=shares,
        offset=offset,
    )


# ----------------------------------------------------------------------------------------------
# rows


def _intercept(matrix: Any, penalized: Mask, points: Points) -> int | None:
    """The place among the variables of the one free scalar whose column is made of ±1."""
    sizes = np.ravel(abs(matrix).sum(axis=0))
    if np.any((sizes == 0) & ~penalized):
        raise Unrecognised("a free coefficient in no loss")
    n, column = matrix.shape[0], np.cumsum([0, *(v.size for v in points.variables)])

    def fits(i: int) -> bool:
        j = column[i]
        free = points.variables[i].size == 1 and not penalized[j] and sizes[j] == n
        return bool(free and np.all(np.abs(dense(matrix[:, [j]])) == 1))

    found = [i for i in range(len(points.variables)) if fits(i)]
    return found[0] if len(found) == 1 and points.size > 1 else None


def _with_last(points: Points, last: int | None) -> tuple[Points, npt.NDArray[np.intp]]:
    """The points with a variable in the last place, and where their entries were before."""
    places = np.arange(points.size)
    if last is None:
        return points, places
    pieces = points.split(places.astype(float))
    variables = [*points.variables, points.variables[last]]
    del variables[last]
    moved = Points(variables)
    order = moved.pack({v.id: p for v, p in zip(points.variables, pieces, strict=True)})
    return moved, order.astype(np.intp)


def _rows(matrix: Any, intercept: bool) -> Scores:
    """Samples, or margins where the last column is an intercept's."""
    if _entries(matrix) > DENSE * matrix.shape[0] * matrix.shape[1]:
        matrix = np.ascontiguousarray(dense(matrix))
    if not intercept:
        return Samples(matrix)
    signs = dense(matrix[:, [-1]])
    return Margins(scaled_rows(signs.ravel(), matrix[:, :-1]), signs)
