"""Constraints of parameters that many estimators have, for scikit-learn's validation."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions

__all__ = ["LOOP", "SHAPE"]

# The options of the outer loop.
LOOP: dict[str, list[Any]] = {
    "solver": [str],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "n_starts": [Interval(Integral, 1, None, closed="left")],
    "random_state": ["random_state"],
    "acceleration": [None, StrOptions({"linesearch", "squarem"})],
    "verbose": ["verbose"],
}
# What shapes a polynomial kernel, beside its width.
SHAPE: dict[str, list[Any]] = {
    "degree": [Interval(Integral, 1, None, closed="left")],
    "coef0": [Interval(Real, 0, None, closed="left")],
}
