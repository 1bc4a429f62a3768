"""The restriction of a penalty to some coefficients, with all others 0."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dcprog.penalties.concave_penalty import ConcavePenalty
from dcprog.penalties.norms import elastic_net, l1, l2
from dcprog.penalties.penalty import Penalty, penalty_in_units, penalty_sum, weighted_l1

__all__ = ["restricted"]


def restricted(penalty: Penalty, places: npt.NDArray[np.intp]) -> Penalty | None:
    """The penalty as a function of the selected coefficients, with all others 0.

    Parameters
    ----------
    penalty : Penalty
    places : int array

    Returns
    -------
    Penalty or None
        None if the penalty is not known to be a sum over coefficients.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.penalties import mcp, weighted_l1
    >>> from dcprog.penalties.restricted import restricted
    >>> restricted(mcp(1.0) + weighted_l1([1.0, 2.0, 3.0]), np.array([0, 2]))
    penalty_sum(first=mcp(lam=1.0), second=weighted_l1(v=array([1., 3.])))
    """
    match penalty:
        case weighted_l1():
            v = np.asarray(penalty.v, dtype=float)
            return weighted_l1(v[places]) if v.size > 1 else penalty
        case penalty_sum():
            first, second = (restricted(part, places) for part in (penalty.first, penalty.second))
            return None if first is None or second is None else first + second
        case penalty_in_units():
            part = restricted(penalty.penalty, places)
            return None if part is None else part.in_units(penalty.unit, penalty.factor)
        case l1() | l2() | elastic_net() | ConcavePenalty():
            return penalty
    return None
