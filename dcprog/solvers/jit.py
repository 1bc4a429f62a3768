"""Compilation of the solvers' loops by numba, which is imported only when needed."""

from __future__ import annotations

from typing import Any

__all__ = ["compiled"]


def compiled(function: Any, fastmath: Any = False) -> Any:
    """The function compiled by numba at its first call, cached on disk if a folder is writable.

    Parameters
    ----------
    function : callable
    fastmath : bool or set of str, default False
        The floating-point optimisations that LLVM may apply.
    """
    import numba  # imported only when a function is compiled

    options = {"error_model": "numpy", "fastmath": fastmath}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba finds no folder for its cache
        return numba.njit(**options)(function)
