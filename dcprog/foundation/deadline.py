"""When something must have ended."""

from __future__ import annotations

import time

from dcprog.foundation.errors import SubproblemError

__all__ = ["Deadline"]

SHARE = 0.5  # of the time that is left, for a solver with others behind or before it


class Deadline:
    """When a solver must have ended.

    Parameters
    ----------
    seconds : float, optional
        From now; without, never.

    Examples
    --------
    >>> Deadline(None).left, Deadline(0.0).left, Deadline(None).share
    (None, 0.0, None)
    """

    def __init__(self, seconds: float | None = None) -> None:
        self.end = None if seconds is None else time.perf_counter() + seconds

    @property
    def left(self) -> float | None:
        """Seconds that are left, None for no limit."""
        return None if self.end is None else max(self.end - time.perf_counter(), 0.0)

    @property
    def share(self) -> float | None:
        """Of the seconds that are left, what a solver may take where there are others."""
        left = self.left
        return None if left is None else SHARE * left

    def check(self, name: str) -> None:
        """Raise where it has passed.

        Raises
        ------
        SubproblemError
            ``failed``.
        """
        if self.end is not None and time.perf_counter() > self.end:
            raise SubproblemError("failed", f"the time limit ended {name}")
