"""Penalties on the coefficients w.

A new convex penalty is a short subclass of :class:`Penalty` with a value, a slope and an
expression; a new concave penalty is a subclass of :class:`ConcavePenalty` with the value, slope and
expression of ψ(|w_j|).
"""

from dcprog.penalties.concave_penalty import ConcavePenalty
from dcprog.penalties.folded_concave import capped_l1, log_sum, lp, mcp, scad
from dcprog.penalties.group_lasso import group_lasso
from dcprog.penalties.kernel import kernel_norm
from dcprog.penalties.norms import elastic_net, l1, l2
from dcprog.penalties.penalty import Parts, Penalty, penalty_sum, weighted_l1

__all__ = [
    "ConcavePenalty",
    "Parts",
    "Penalty",
    "capped_l1",
    "elastic_net",
    "group_lasso",
    "kernel_norm",
    "l1",
    "l2",
    "log_sum",
    "lp",
    "mcp",
    "penalty_sum",
    "scad",
    "weighted_l1",
]
