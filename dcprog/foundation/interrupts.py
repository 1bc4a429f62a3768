"""Ctrl-C in a solve: the first ends it with its best point, the second ends the program's loop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


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
