"""The log of a run: a table that grows by a line a step."""

from __future__ import annotations

import logging

from dcprog.engine.track import Progress

__all__ = ["log_step"]

logger = logging.getLogger("dcprog")


def log_step(progress: Progress) -> None:
    """A line of the table, and at the start of a run the head above it.

    The gap is that of the point before, which the step has measured.
    """
    if progress.n_iter == 0:
        logger.info("step             value   gap before        moved    violation   seconds")
    gap = f"{progress.gap:.3g}" if progress.n_iter > 0 else ""
    moved = f"{progress.step:.3g}" if progress.n_iter > 0 else ""
    logger.info(
        "%4d  %16.9g %12s %12s %12.2g %9.2f",
        progress.n_iter,
        progress.value,
        gap,
        moved,
        progress.violation,
        progress.time,
    )
