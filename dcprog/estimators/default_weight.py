"""The weight λ of a classifier's squared norm where the user gives no penalty."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcprog.estimators.robust_scales import weighted_quantile
from dcprog.foundation.arrays import Array
from dcprog.foundation.columns import row_blocks
from dcprog.foundation.tolerances import ROUNDING
from dcprog.losses import Loss
from dcprog.rows.scores import Scores

SEEN = 5000  # samples, evenly spaced in the data; their median is known to two percent
STEPS = 2  # concentration steps; the first may start from a mean that outliers have moved


def default_weight(loss: Loss, rows: Scores, weights: Array | None, centred: bool) -> float:
    r"""The weight of ½‖w‖² at which a sample gains nothing by a margin of its own.

    .. math::
        \lambda = \tfrac12\, s^2\, (\ell(-1) - \ell(1))\, \min(1, n/d), \qquad
        s^2 = \operatorname{med}_i \|x_i - m\|^2

    To move the margin of one sample from −1 to 1, w must move by 2/‖x_i − m‖, which costs
    ½λ(2/s)²; without the last factor that is what the loss falls. A wrong label then moves f only
    together with others. With fewer samples n than features d each sample is alone, right or wrong:
    s² counts as many features as there are samples. The fit does not change if all features are
    multiplied by the same number or, with a free intercept, if the samples are shifted, nor if the
    loss is multiplied by a number.

    Parameters
    ----------
    loss : Loss
        A loss of margins; of a trimmed loss the base counts.
    rows : Scores
        The samples, of which 5000 evenly spaced ones are used if there are more.
    weights : array of shape (n,), optional
        The number of times each sample counts.
    centred : bool
        Whether m is the mean of the half of the samples closest to it, as for a free intercept;
        otherwise m = 0.

    Returns
    -------
    float
        λ; 1 if the samples are all equal, or the loss does not fall.

    Examples
    --------
    >>> import numpy as np, dcprog as dc
    >>> from dcprog.estimators.default_weight import default_weight
    >>> rows = dc.binary_margins(np.array([[3.0], [-3.0], [3.0], [-3.0]]), [1, 0, 1, 0])
    >>> default_weight(dc.cap(dc.hinge(), 2.0), rows, None, True)
    9.0
    """
    ends = np.array([-1.0, 1.0])
    high, low = loss.base(ends) if loss.is_joint else loss(ends)
    n, d = rows.X.shape
    share = min(1.0, n / max(d, 1))
    found = float(0.5 * (high - low) * share * typical_square(rows.X, weights, centred))
    return found if 0 < found < np.inf else 1.0


def typical_square(X: Any, weights: Array | None, centred: bool) -> float:
    """The median squared distance of the samples from their centre, of those not in it."""
    n = X.shape[0]
    seen = np.arange(n) if n <= SEEN else np.linspace(0, n - 1, SEEN).astype(int)
    X, weights = X[seen], np.ones(len(seen)) if weights is None else weights[seen]
    centre: Array = np.zeros(X.shape[1])
    near = weights
    for _ in range(1 + STEPS if centred else 0):
        centre = X.T @ (near / near.sum())
        squares = squared_distances(X, centre)
        near = np.where(squares <= weighted_quantile(squares[None], weights), weights, 0.0)
    squares = squared_distances(X, centre)
    apart = squares > 0
    if not np.any(apart):
        return 0.0
    return float(weighted_quantile(squares[None, apart], weights[apart])[0])


def squared_distances(X: Any, centre: Array) -> Array:
    """The squared distances of the rows of X from a point, 0 where they are rounding errors."""
    here = centre @ centre
    if not isinstance(X, np.ndarray):
        norms = X.power(2).sum(axis=1) + here
        squares = norms - 2 * (X @ centre)
        return np.where(squares > ROUNDING * norms, squares, 0.0)
    squares = np.concatenate([np.sum((X[part] - centre) ** 2, axis=1) for part in row_blocks(X)])
    return np.where(squares > ROUNDING**2 * here, squares, 0.0)
