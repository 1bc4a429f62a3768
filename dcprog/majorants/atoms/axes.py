"""Broadcasting of an axis atom's output to its argument's shape, and its adjoint."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcprog.foundation.arrays import Array

__all__ = ["spread", "unbroadcast"]


def spread(atom: Any, array: Array, ndim: int, shape: tuple[int, ...] | None = None) -> Array:
    """An axis atom's output broadcast against its argument (to its very shape if given)."""
    if atom.axis is None:
        array = array.reshape((1,) * ndim)
    elif not atom.keepdims:
        array = np.expand_dims(array, atom.axis)
    return array if shape is None else np.broadcast_to(array, shape)


def unbroadcast(array: Array, shape: tuple[int, ...]) -> Array:
    """The adjoint of broadcasting from `shape`: sums over the repeated entries."""
    extra = array.ndim - len(shape)
    repeated = tuple(extra + i for i, length in enumerate(shape) if length == 1)
    return array.sum(axis=(*range(extra), *repeated)).reshape(shape)
