"""Warm starts that solvers keep with the rows of a risk, for the next risk on them."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from dcprog.rows.scores import Scores

__all__ = ["WarmStarts"]

MOST = 4  # states a rows object keeps

_KEPT: WeakKeyDictionary[Scores, dict[Any, Any]] = WeakKeyDictionary()


class WarmStarts:
    """A place for one state of a solver, found again by every solver of the same kind and key.

    A path of penalties declares a risk for each of them on the same row builder. The states (a
    linear program with its basis, multipliers) live as long as that one does. A state is taken
    out while it is used, so that two threads never share one.

    Parameters
    ----------
    rows : Scores or other rows
        Others than row builders cannot be told apart; their states stay with this object.
    key : hashable
        What the state depends on.

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
        """The state, taken out; None if there is none."""
        return self._states.pop(self._key, None)

    def put(self, state: Any) -> None:
        """Keep the state; the oldest ones of many are forgotten."""
        states = self._states
        states[self._key] = state
        while len(states) > MOST:
            states.pop(next(iter(states)), None)
