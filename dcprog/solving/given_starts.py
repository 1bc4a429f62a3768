"""Starting points that the user gives, checked, and what starts are called."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import cvxpy as cp
import numpy as np

from dcprog.foundation.arrays import Array, dense
from dcprog.starts.protocol import Candidate

__all__ = ["SIMPLE", "current", "given", "is_list", "kind_of", "numbers"]

SIMPLE = ("convex", "current", "graduated", "random")  # starts that are one point, made at once


def given(
    variables: list[cp.Variable], start: Mapping[cp.Variable, Any], *, whole: bool = False
) -> dict[int, Array]:
    """The arrays of a mapping, checked: of all variables or, unless it must be whole, of some."""
    for key in start:
        if not isinstance(key, cp.Variable):
            raise ValueError(f"the start's key {key!r} is not a cvxpy Variable")
    values = {v.id: a for v, a in start.items()}
    known = [v for v in variables if v.id in values]
    missing = [v for v in variables if v.id not in values]
    if missing and (whole or not known):
        raise ValueError(f"the start has no value for variable {missing[0].name()!r}")
    return {
        v.id: numbers(values[v.id], v.shape, f"the start of variable {v.name()!r}") for v in known
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
    """The values that the variables hold, checked: of some of them, but not of none."""
    known = {v: v.value for v in variables if v.value is not None}
    if variables and not known:
        raise ValueError(f"start='current', but variable {variables[0].name()!r} has no value")
    return given(variables, known)


def is_list(start: Any) -> bool:
    """True for a list of starts, False for one point written as a list of numbers."""
    several = isinstance(start, list | tuple) and len(start) > 0
    return several and not any(isinstance(one, Real | np.bool_) for one in start)


def kind_of(start: Any) -> str:
    """The name of a start's kind."""
    if isinstance(start, Candidate):
        return start.kind
    return start if isinstance(start, str) else "given"
