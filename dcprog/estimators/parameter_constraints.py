"""Common parameter constraints for scikit-learn's validation."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions

__all__ = ["COUNT", "NONNEGATIVE", "POSITIVE", "WIDTH", "one_of"]

POSITIVE = Interval(Real, 0, None, closed="neither")
NONNEGATIVE = Interval(Real, 0, None, closed="left")
COUNT = Interval(Integral, 1, None, closed="left")
WIDTH = (StrOptions({"scale", "auto"}), POSITIVE)  # γ of a kernel


def one_of(*names: str) -> Any:
    """The constraint that a parameter is one of the given strings."""
    return StrOptions(set(names))
