"""A risk as cvxpy sees it: margins, aggregates and the whole problem."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from dcprog.losses import ConvexLoss

if TYPE_CHECKING:
    from dcprog.risk.values import RiskValues


def margin_expression(risk: RiskValues, theta: cp.Variable) -> cp.Expression:
    """The margins u of a variable θ."""
    # the matrix includes the signs: otherwise cvxpy infers wrong bounds
    u = risk.matrix() @ theta
    return u if risk.offset is None else u + risk.offset


def penalised_part(risk: RiskValues, theta: cp.Variable) -> cp.Expression:
    """The penalised entries of θ."""
    return theta[np.flatnonzero(risk.penalized)]


def aggregate_expression(risk: RiskValues, u: cp.Expression, loss: ConvexLoss) -> cp.Expression:
    """The losses v_r·loss(u_r) combined over groups, of shape (n_groups,)."""
    losses = loss.expression(u)
    if risk.weights is not None:
        losses = cp.multiply(risk.weights, losses)
    match risk.aggregate:
        case "sum":
            n_rows = risk.groups.size
            places = (risk.groups, np.arange(n_rows))
            return sp.csr_array((np.ones(n_rows), places)) @ losses
        case "max":
            members = risk.members
            padded = cp.reshape(losses[members.ravel()], members.shape, order="C")
            return cp.max(padded, axis=1)
    return losses


def problem_of(risk: RiskValues) -> cp.Problem:
    """The risk as a cvxpy problem in one variable named ``theta``."""
    theta = cp.Variable(risk.rows.shape[1], name="theta")
    u = margin_expression(risk, theta)
    if risk.loss is not None:
        total = _total(risk, risk.loss.expression(u))
    else:
        total = _total(risk, risk.transform.expression(aggregate_expression(risk, u, risk.base)))
        if risk.subtracted is not None:
            total = total - _total(risk, aggregate_expression(risk, u, risk.subtracted))
    penalty = risk.penalty.expression(penalised_part(risk, theta))
    return cp.Problem(cp.Minimize(total + penalty))


def _total(risk: RiskValues, values: cp.Expression) -> cp.Expression:
    """The sum Σ s_g values_g; the values of a joint loss are summed already."""
    if risk.sample_weight is None:
        return cp.sum(values)
    if values.size != risk.n_groups:
        return float(risk.sample_weight[0]) * cp.sum(values)
    return cp.sum(cp.multiply(risk.sample_weight, values))
