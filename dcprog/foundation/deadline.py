"""The ends of a solve from outside: its time limit, and Ctrl-C.

The first Ctrl-C ends a solve with its best point, the second ends the program's loop of solves.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dcprog.foundation.errors import OutOfTime

SHARE = 0.5  # of the time left, for a solver that is one of several
LEAST_TIME = 1e-3  # seconds: some solvers take 0 for no limit


class Deadline:
    """The time at which a solver must have ended.

    Parameters
    ----------
    seconds : float, optional
        Seconds from now; None for no limit.

    Attributes
    ----------
    reached : object
        The point at the last check that was given one.

    Examples
    --------
    >>> Deadline(None).left, Deadline(0.0).left, Deadline(None).share
    (None, 0.0, None)
    """

    def __init__(self, seconds: float | None = None) -> None:
        self.end = None if seconds is None else time.perf_counter() + seconds
        self.reached: Any = None

    @property
    def left(self) -> float | None:
        """Seconds left, at least 0; None for no limit."""
        return None if self.end is None else max(self.end - time.perf_counter(), 0.0)

    @property
    def share(self) -> float | None:
        """Seconds that one of several solvers may take; None for no limit."""
        left = self.left
        return None if left is None else SHARE * left

    def check(self, name: str, point: Any = None, ahead: float = 0.0) -> None:
        """Raise an error if the deadline has passed, with the best point so far.

        Parameters
        ----------
        name : str
            Of what ends.
        point : array, optional
        ahead : float, default 0
            Seconds that the next step takes, which no clock interrupts.

        Raises
        ------
        OutOfTime
            The deadline has passed or would do so within the step.
        """
        self.reached = self.reached if point is None else point
        if self.end is not None and time.perf_counter() + ahead > self.end:
            raise OutOfTime(f"the time limit ended {name}", point=point)


# ----------------------------------------------------------------------------------------------


class _Presses:
    """How often Ctrl-C was pressed in the solve that runs, and whether it was in the one before."""

    here = 0
    before = False


def _pressed(number: int, frame: Any) -> None:
    _Presses.here += 1
    signal.default_int_handler(number, frame)


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


@contextmanager
def second_press_raises() -> Iterator[None]:
    """A solve that ends with KeyboardInterrupt if Ctrl-C is pressed for the second time.

    The first press was in this solve, or ended the one before: a loop of solves ends by two. Inside
    the solve the first press raises as usual. Other threads, and programs with a handler of their
    own, keep theirs.
    """
    if not _is_main() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    before, _Presses.here, _Presses.before = _Presses.before, 0, False
    signal.signal(signal.SIGINT, _pressed)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if _Presses.here + before > 1 and _Presses.here:
        raise KeyboardInterrupt("Ctrl-C for the second time; the best point so far was kept")
    _Presses.before = _Presses.here > 0


@contextmanager
def interrupts_held(note: Callable[[], None]) -> Iterator[None]:
    """A context in which Ctrl-C calls `note` and raises nothing, in the main thread."""
    if not _is_main():
        yield
        return

    def press(*_: Any) -> None:
        _Presses.here += 1
        note()

    before = signal.signal(signal.SIGINT, press)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before or signal.SIG_DFL)
