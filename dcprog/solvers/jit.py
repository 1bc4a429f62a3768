"""Whether the solvers' loops run compiled, and their compilation; numba is imported when needed."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

__all__ = ["compiled", "is_compiled", "loops"]


def is_compiled() -> bool:
    """Is numba there? It comes with ``dcprog[fast]``."""
    return find_spec("numba") is not None


def compiled(function: Any) -> Any:
    """Compiled at its first call; kept on disk where there is a folder that can be written."""
    import numba  # not before something is to be compiled

    try:
        return numba.njit(cache=True, error_model="numpy")(function)
    except RuntimeError:  # numba finds no folder for its cache
        return numba.njit(error_model="numpy")(function)


@lru_cache(maxsize=2)
def _module(name: str) -> Any:
    return import_module(f"dcprog.solvers.kernel.{name}")


def loops() -> Any:
    """The module of SMO's loops: compiled where numba is there. Numba is not imported before."""
    return _module("smo_numba" if is_compiled() else "smo_numpy")
