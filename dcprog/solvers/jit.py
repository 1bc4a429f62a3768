"""Whether the solvers' loops run compiled, and their compilation; numba is imported when needed."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

__all__ = ["compiled", "is_compiled"]


@cache
def is_compiled() -> bool:
    """Is numba there? It comes with ``dcprog[fast]``."""
    return find_spec("numba") is not None


def compiled(function: Any, fastmath: Any = False) -> Any:
    """Compiled at its first call; kept on disk where there is a folder that can be written.

    Parameters
    ----------
    function : callable
    fastmath : bool or set of str, default False
        Which liberties LLVM may take with its arithmetic.
    """
    import numba  # not before something is to be compiled

    options = {"error_model": "numpy", "fastmath": fastmath}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba finds no folder for its cache
        return numba.njit(**options)(function)
