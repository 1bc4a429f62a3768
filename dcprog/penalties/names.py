"""Penalties by name, with their usual parameters."""

from __future__ import annotations

from copy import deepcopy

from dcprog.penalties.folded_concave import capped_l1, log_sum, lp, mcp, scad
from dcprog.penalties.norms import elastic_net, l1, l2
from dcprog.penalties.penalty import Penalty

PENALTIES: dict[str, Penalty] = {
    "l1": l1(),
    "l2": l2(),
    "elastic_net": elastic_net(1.0, 1.0),
    "capped_l1": capped_l1(1.0, 1.0),
    "scad": scad(1.0),
    "mcp": mcp(1.0),
    "log_sum": log_sum(1.0, 1.0),
    "lp": lp(1.0, 0.5),
    "none": l2(0.0),
}


def named_penalty(name: str) -> Penalty:
    """A new instance of the penalty of the given name, with weight 1 unless it is ``none``.

    =============== =============================
    ``l1``          ``l1(1.0)``
    ``l2``          ``l2(1.0)``
    ``elastic_net`` ``elastic_net(1.0, 1.0)``
    ``capped_l1``   ``capped_l1(1.0, 1.0)``
    ``scad``        ``scad(1.0, 3.7)``
    ``mcp``         ``mcp(1.0, 3.0)``
    ``log_sum``     ``log_sum(1.0, 1.0)``
    ``lp``          ``lp(1.0, 0.5)``
    ``none``        ``l2(0.0)``
    =============== =============================

    Raises
    ------
    KeyError
        No penalty has this name.

    Examples
    --------
    >>> from dcprog.penalties.names import named_penalty
    >>> named_penalty("scad").set_params(lam=0.1)
    scad(lam=0.1)
    """
    return deepcopy(PENALTIES[name])
