"""The choice of SMO's loops: compiled ones if numba is installed, otherwise NumPy's."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from dcprog.solvers import jit

__all__ = ["loops"]

COMPILED = "dcprog.solvers.kernel.smo_numba"
PLAIN = "dcprog.solvers.kernel.smo_numpy"


def loops() -> Any:
    """The module of SMO's loops; numba is imported no earlier than here."""
    return import_module(COMPILED if jit.is_compiled() else PLAIN)
