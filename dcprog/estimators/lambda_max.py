"""λ_max: the least penalty weight at which all penalised coefficients may be 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

from dcprog.estimators.penalty_family import PenaltyFamily
from dcprog.foundation.arrays import Array
from dcprog.losses import Loss
from dcprog.penalties import Penalty, l2
from dcprog.risk.risk import Risk
from dcprog.solving.driver import solve

__all__ = ["intercepts_alone", "lambda_max", "lambda_max_of"]

TOL = 1e-10  # tolerance of the fit of the intercepts
AT_KNOT = 1e-6  # margins this close to a knot, relative to their size, count as at the knot
BALANCED = 1e-7  # slack of the intercepts' stationarity, relative to the slopes


def lambda_max(
    X: Any,
    y: npt.ArrayLike | None = None,
    loss: Loss | str | None = None,
    penalty: Penalty | str | None = None,
    *,
    parameter: str | None = None,
    fit_intercept: bool = True,
    sample_weight: npt.ArrayLike | None = None,
) -> float:
    r"""The smallest λ at which zero coefficients with the best intercepts are stationary.

    With the slopes s_i of the losses at that point, and a penalty whose slope at 0 is λr_j,

    .. math:: \lambda_{\max} = \min_s \max_j |\sum_i s_i a_{ij}| / r_j,

    where s_i lies between the two one-sided slopes of a loss at a kink, as long as the intercepts
    stay stationary; with kinks this is a linear program. For groups, norms ‖·‖ replace |·|. The
    coefficients of a convex fit at a larger λ are 0; a nonconvex objective may have lower points.

    Parameters
    ----------
    X : Risk, or array or sparse matrix of shape (n, d)
        A risk for classification, weights or several scores; its penalty may have any λ.
    y : array of shape (n,) or (n, c), optional
        Targets of residuals.
    loss : str or Loss, optional
        The loss of the residuals; ``square()`` by default.
    penalty : str or Penalty, optional
        ``l1()`` by default, or the risk's own.
    parameter : str, optional
        The name of the penalty's parameter λ, as for ``set_params``. By default ``lam``, or ``l1``
        of an elastic net; for sums and multiples that of the first part with a kink at 0.
    fit_intercept : bool, default True
    sample_weight : array of shape (n,), optional

    Returns
    -------
    float
        λ_max; 0 if the penalty's slope at 0 is infinite (``lp``), ∞ if coefficients whose slope at
        0 does not depend on λ cannot be stationary at 0.

    Raises
    ------
    TypeError, ValueError
        The data are invalid, the penalty has no kink at 0, the loss takes the maximum over groups
        of rows, or a loss with kinks is combined with a group lasso.

    References
    ----------
    Friedman, Hastie, Tibshirani (2010), Regularization paths for generalized linear models via
    coordinate descent, J. Stat. Softw. 33.

    Examples
    --------
    Objectives are sums: this is 2n times the value for scikit-learn's lasso, which divides the loss
    by 2n.

    >>> import numpy as np
    >>> import dcprog as dc
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    >>> round(dc.lambda_max(X, [1.0, 2.0, 6.0]), 6)
    10.0
    >>> rows = dc.binary_margins(X, [0, 1, 1])
    >>> risk = dc.Risk.from_loss(rows, dc.logistic(), dc.mcp(1.0))
    >>> round(dc.lambda_max(risk), 6)
    1.0
    """
    family = PenaltyFamily.of(X, y, loss, penalty, fit_intercept, sample_weight, parameter)
    return lambda_max_of(family, intercepts_alone(family.risk))


def intercepts_alone(risk: Risk) -> Array:
    """θ with coefficients of 0 and the best intercepts."""
    free = np.flatnonzero(~risk.penalized)
    theta = np.zeros(risk.penalized.size)
    if free.size == 0:
        return theta
    columns = np.column_stack([risk.rows @ unit for unit in np.eye(theta.size)[free]])
    alone = Risk(
        columns,
        risk.base,
        risk.weights,
        risk.groups,
        risk.aggregate,
        risk.transform,
        l2(0.0),
        np.zeros(free.size, dtype=bool),
        sample_weight=risk.sample_weight,
        subtracted=risk.subtracted,
        offset=risk.offset,
    )
    found = solve(alone, tol=TOL).x
    if found is not None:
        theta[free] = found
    return theta


def lambda_max_of(family: PenaltyFamily, theta: Array) -> float:
    """λ_max of a family of risks at a point θ whose coefficients are 0."""
    risk, low, high = family.risk, family.kinks(0.0), family.kinks(1.0)
    if not np.any(high.slopes > low.slopes):
        raise ValueError(f"parameter={family.parameter!r} of {risk.penalty!r} moves no slope at 0")
    if risk.aggregate == "max":
        raise ValueError("groups that take the maximum have no λ_max that is known")
    slope, kinks, bounds = _slopes(risk, theta)
    pull = np.asarray(risk.rows.T @ slope).ravel()
    if kinks.size == 0:
        sizes = np.abs(pull[risk.penalized])
        if high.groups is not None:
            sizes = np.array([np.linalg.norm(sizes[group]) for group in high.groups])
        return _ratio(sizes, low.slopes, high.slopes)
    if high.groups is not None:
        raise ValueError("λ_max of a group lasso is known for smooth losses alone")
    return _program(risk, pull, _rows(risk, kinks), bounds, low.slopes, high.slopes)


def _slopes(risk: Risk, theta: Array) -> tuple[Array, npt.NDArray[np.intp], Array]:
    """The losses' slopes at the margins, the rows at kinks, and bounds (k, 2) of their changes."""
    u, weights = risk.margins(theta), risk.row_weights(risk.slopes(theta))
    slope, tilts = weights * risk.base.slope(u), risk.tilts(theta)
    slope = slope if tilts is None else slope + tilts
    if risk.base.is_smooth:
        return slope, np.empty(0, dtype=np.intp), np.empty((0, 2))
    pieces = risk.base.pieces
    if pieces is None:
        raise ValueError(f"the kinks of {risk.base!r} are not known")
    knots = np.asarray(pieces.knots)
    near = AT_KNOT * (float(np.median(np.abs(u))) + float(np.max(np.abs(knots))) or 1.0)
    place = np.argmin(np.abs(u[:, None] - knots), axis=1)
    kinks = np.flatnonzero((np.abs(u - knots[place]) <= near) & (weights > 0))
    ends = [weights[kinks] * pieces.slope(knots[place[kinks]] + s * near) for s in (-2.0, 2.0)]
    own = weights[kinks] * risk.base.slope(u[kinks])
    return slope, kinks, np.column_stack([end - own for end in ends])


def _rows(risk: Risk, places: npt.NDArray[np.intp]) -> Array:
    """The selected rows as a dense matrix of shape (k, p)."""
    if risk.no_matrix is None:
        return risk.scores.dense_rows(places)
    units = np.eye(risk.rows.shape[0])[places]
    return np.array([np.ravel(risk.rows.T @ unit) for unit in units])


def _ratio(sizes: Array, low: Array, high: Array) -> float:
    """The least t ≥ 0 with sizes ≤ low + t(high − low)."""
    over, gain = np.maximum(sizes - low, 0.0), high - low
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(over > 0, over / gain, 0.0)
    return float(np.max(ratios, initial=0.0))


def _program(risk: Risk, pull: Array, rows: Array, bounds: Array, low: Array, high: Array) -> float:
    """The least such t by a linear program over the slopes at kinks; ∞ if it is infeasible."""
    held, gain = risk.penalized, high - low
    finite = np.isfinite(gain)
    A, g = rows.T[held][finite], pull[held][finite]
    within = np.column_stack([np.vstack([A, -A]), -np.tile(gain[finite], 2)])
    right = np.tile(low[finite], 2) + np.concatenate([-g, g])
    size = float(np.max(np.abs(bounds))) * float(np.max(np.abs(rows[:, ~held]), initial=0.0))
    B, slack = rows.T[~held], BALANCED * size
    loose = np.column_stack([np.vstack([B, -B]), np.zeros(2 * len(B))])
    beside = np.concatenate([slack - pull[~held], slack + pull[~held]])
    found = linprog(
        np.append(np.zeros(len(rows)), 1.0),
        A_ub=np.vstack([within, loose]),
        b_ub=np.concatenate([right, beside]),
        bounds=[*map(tuple, bounds), (0.0, None)],
    )
    return np.inf if found.fun is None else float(found.fun)
