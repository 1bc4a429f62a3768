"""Which loops SMO runs: the compiled ones where numba is there, otherwise NumPy's."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from dcprog.solvers import jit

__all__ = ["loops"]

COMPILED = "dcprog.solvers.kernel.smo_numba"
PLAIN = "dcprog.solvers.kernel.smo_numpy"


def loops() -> Any:
    """The module of SMO's loops. Numba is not imported before."""
    return import_module(COMPILED if jit.is_compiled() else PLAIN)
