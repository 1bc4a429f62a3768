"""Starting points that the user gives, checked, and what starts are called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import cvxpy as cp
import numpy as np

from dcprog.engine.racing import Draft
from dcprog.foundation.arrays import Array, dense

__all__ = ["current", "given", "kind_of", "numbers"]


def given(variables: list[cp.Variable], start: Mapping[cp.Variable, Any]) -> dict[int, Array]:
    """The arrays of a mapping, checked."""
    for key in start:
        if not isinstance(key, cp.Variable):
            raise ValueError(f"the start's key {key!r} is not a cvxpy Variable")
    values = {v.id: a for v, a in start.items()}
    for variable in variables:
        if variable.id not in values:
            raise ValueError(f"the start has no value for variable {variable.name()!r}")
    return {
        v.id: numbers(values[v.id], v.shape, f"the start of variable {v.name()!r}")
        for v in variables
    }


def numbers(value: Any, shape: tuple[int, ...], what: str) -> Array:
    """A finite array of the shape."""
    try:
        array = dense(value)
    except (TypeError, ValueError):
        raise ValueError(f"{what} is not made of real numbers: {value!r}") from None
    if array.shape != shape:
        raise ValueError(f"{what} has shape {array.shape}, not {shape}")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{what} contains NaN or infinity")
    return array


def current(variables: list[cp.Variable]) -> dict[int, Array]:
    """The values that the variables hold, checked."""
    missing = [v.name() for v in variables if v.value is None]
    if missing:
        raise ValueError(f"start='current', but variable {missing[0]!r} has no value")
    return given(variables, {v: v.value for v in variables})


def kind_of(start: Any) -> str:
    """What a start is called."""
    if isinstance(start, Draft):
        return start.kind
    return start if isinstance(start, str) else "given"
