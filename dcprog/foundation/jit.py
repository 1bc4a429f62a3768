"""Loops that numba compiles at their first call; numba itself is imported then."""

from __future__ import annotations

from functools import cached_property, update_wrapper
from typing import Any


class compiled:
    """A function that numba compiles at its first call, cached on disk if a folder is writable.

    Parameters
    ----------
    function : callable
        It may call other compiled functions of its module.
    fastmath : bool or set of str, default False
        The floating-point optimisations that LLVM may apply.
    """

    def __init__(self, function: Any, fastmath: Any = False) -> None:
        self.function, self.fastmath = function, fastmath
        update_wrapper(self, function)

    @cached_property
    def dispatcher(self) -> Any:
        """The function of numba."""
        import numba  # imported only when a function is compiled

        names = self.function.__globals__
        for name in self.function.__code__.co_names:
            if isinstance(names.get(name), compiled):  # numba calls only its own functions
                names[name] = names[name].dispatcher
        options = {"error_model": "numpy", "fastmath": self.fastmath}
        try:
            return numba.njit(cache=True, **options)(self.function)
        except RuntimeError:  # numba finds no folder for its cache
            return numba.njit(**options)(self.function)

    def __call__(self, *arguments: Any) -> Any:
        """The value of the compiled function."""
        return self.dispatcher(*arguments)
