"""States of solvers that are kept with the rows of a risk, for the next risk on these rows."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from dcprog.rows.scores import Scores

MOST = 4  # most states per rows object

_KEPT: WeakKeyDictionary[Scores, dict[Any, Any]] = WeakKeyDictionary()


class WarmStarts:
    """A store for one state of a solver, shared by all solvers with the same rows and key.

    The risks of a penalty path share their rows. The states (a linear program with its basis,
    multipliers) live as long as the rows object. A state is taken out while it is used, so that two
    threads never share one.

    Parameters
    ----------
    rows : Scores or other rows
        The states of rows other than Scores are kept with this object only.
    key : hashable
        A key of the data on which the state depends.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.rows.linear import binary_margins
    >>> rows = binary_margins(np.eye(2), [0, 1])
    >>> WarmStarts(rows, "hinge").put("basis")
    >>> again = WarmStarts(rows, "hinge")
    >>> again.take(), again.take()
    ('basis', None)
    """

    def __init__(self, rows: Any, key: Any) -> None:
        self._rows = rows if isinstance(rows, Scores) else None
        self._key = key
        self._own: dict[Any, Any] = {}

    @property
    def _states(self) -> dict[Any, Any]:
        return self._own if self._rows is None else _KEPT.setdefault(self._rows, {})

    def take(self) -> Any:
        """Remove and return the state; None if there is none."""
        return self._states.pop(self._key, None)

    def put(self, state: Any) -> None:
        """Store the state; the oldest states are discarded if there are too many."""
        states = self._states
        states[self._key] = state
        while len(states) > MOST:
            states.pop(next(iter(states)), None)
