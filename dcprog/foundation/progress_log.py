"""The library's log, silent by default."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

logger = logging.getLogger("dcprog")


@contextmanager
def visible(verbose: bool) -> Iterator[None]:
    """Show the log's lines during one call if `verbose`, on stderr if logging is not set up."""
    if not verbose or logger.hasHandlers():
        level = logger.level
        if verbose and not logger.isEnabledFor(logging.INFO):
            logger.setLevel(logging.INFO)
        try:
            yield
        finally:
            logger.setLevel(level)
        return
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("dcprog %(message)s"))
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)


def bar(done: int, of: int, width: int = 20) -> str:
    """A progress bar, as text.

    Examples
    --------
    >>> bar(2, 8)
    '[#####...............] 2/8'
    """
    filled = width * done // of
    return f"[{'#' * filled}{'.' * (width - filled)}] {done}/{of}"
