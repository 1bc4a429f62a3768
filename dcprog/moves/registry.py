"""The protocol of moves (lower points near the end of a run), and the moves that a race tries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from dcprog.engine.protocol import Surrogate
from dcprog.foundation.arrays import Array
from dcprog.moves.exchange import Exchange
from dcprog.moves.swap import Support, Swap
from dcprog.starts.protocol import Budget, Taken
from dcprog.starts.registry import check_strategy


class Move(Protocol[Taken]):
    """A way from the end of a run to a lower point, from which the next run begins.

    Constructed without arguments, anew for every race. With ``is_cheap = True`` in its class the
    points from the plain run's end also join the pool of starts.
    """

    def takes(self, surrogate: Surrogate) -> str | None:
        """The reason why the move has no points for a problem, None if it has."""

    def points(self, surrogate: Taken, x: Array, budget: Budget) -> Iterable[Array]:
        """Points near x; a run begins at the first one whose F is lower."""


MOVES: dict[str, type[Move[Any]]] = {"exchange": Exchange, "swapped": Swap, "support": Support}
OWN = frozenset(MOVES)


def register_move(name: str, move: type[Move[Any]]) -> None:
    """Register a move, which every race tries at its end from now on.

    Parameters
    ----------
    name : str
        The name in ``result.starts``.
    move : class
        A class constructed without arguments, with ``takes(surrogate)``, the reason why it has no
        points for a problem or None, and ``points(surrogate, x, budget)``, an iterable of arrays;
        see :class:`~dcprog.moves.registry.Move`.

    Raises
    ------
    TypeError
        The name is not a string, or the class is not a move.
    ValueError
        The name is taken.

    Examples
    --------
    One coefficient at a time with its sign changed:

    >>> import numpy as np
    >>> import dcprog as dc
    >>> class Flip:
    ...     def takes(self, surrogate):
    ...         return None if isinstance(surrogate.declared, dc.Risk) else "it is no risk"
    ...     def points(self, surrogate, x, budget):
    ...         for j in range(x.size):
    ...             other = x.copy()
    ...             other[j] = -x[j]
    ...             yield other
    >>> dc.register_move("flip", Flip)
    >>> X, y = np.eye(3), np.array([1.0, 1.0, -1.0])
    >>> dc.solve(dc.Risk.from_loss(dc.binary_margins(X, y), dc.cap(dc.hinge(), 1.0))).status
    'converged'
    >>> del MOVES["flip"]
    """
    check_strategy(name, move, "move", MOVES)
    MOVES[name] = move


def registered_moves() -> dict[str, type[Move[Any]]]:
    """The user-registered moves by name, which must be passed to other processes."""
    return {name: move for name, move in MOVES.items() if name not in OWN}
