"""The library's log: silent unless somebody asks."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["logger", "visible"]

logger = logging.getLogger("dcprog")


@contextmanager
def visible(verbose: bool) -> Iterator[None]:
    """Make the log's lines visible for one call where nobody set up logging."""
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
