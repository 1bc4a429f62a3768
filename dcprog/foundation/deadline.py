"""Time limits of solvers."""

from __future__ import annotations

import time
from typing import Any

from dcprog.foundation.errors import SubproblemError

SHARE = 0.5  # of the time left, for a solver that is one of several


class Deadline:
    """The time at which a solver must have ended.

    Parameters
    ----------
    seconds : float, optional
        Seconds from now; None for no limit.

    Examples
    --------
    >>> Deadline(None).left, Deadline(0.0).left, Deadline(None).share
    (None, 0.0, None)
    """

    def __init__(self, seconds: float | None = None) -> None:
        self.end = None if seconds is None else time.perf_counter() + seconds

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
        SubproblemError
            The deadline has passed or would do so within the step; the status is ``failed``.
        """
        if self.end is not None and time.perf_counter() + ahead > self.end:
            raise SubproblemError("failed", f"the time limit ended {name}", point=point)
