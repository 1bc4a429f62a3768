"""Penalties on the coefficients w.

A new convex one is a short subclass of :class:`Penalty` with a value, a slope and an expression;
a new concave one a subclass of :class:`ConcavePenalty` with the same three of ψ(|w_j|).
"""

from dcprog.penalties.algebra import penalty_sum
from dcprog.penalties.concave import capped_l1, log_sum, lp, mcp, scad
from dcprog.penalties.convex import elastic_net, group_lasso, l1, l2, weighted_l1
from dcprog.penalties.kernel import kernel_norm
from dcprog.penalties.penalty import ConcavePenalty, Penalty

__all__ = [
    "ConcavePenalty",
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
