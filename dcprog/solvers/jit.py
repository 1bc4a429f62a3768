"""Compiled functions; importing this file needs numba."""

from __future__ import annotations

from typing import Any

import numba

__all__ = ["compiled"]


def compiled(function: Any) -> Any:
    """Compiled at its first call; kept on disk where there is a folder that can be written."""
    try:
        return numba.njit(cache=True, error_model="numpy")(function)
    except RuntimeError:  # numba finds no folder for its cache
        return numba.njit(error_model="numpy")(function)
