"""Whether the solvers' loops run compiled."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

__all__ = ["is_compiled", "loops"]


def is_compiled() -> bool:
    """Is numba there? It comes with ``dcprog[fast]``."""
    return find_spec("numba") is not None


@lru_cache(maxsize=2)
def _module(name: str) -> Any:
    return import_module(f"dcprog.solvers.kernel.{name}")


def loops() -> Any:
    """The module of SMO's loops: compiled where numba is there. Numba is not imported before."""
    return _module("smo_numba" if is_compiled() else "smo_numpy")
