"""CPU time of a piece of work."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

__all__ = ["timed"]


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What it returns, and CPU seconds."""
    begin = time.process_time()
    found = work()
    return found, time.process_time() - begin
