"""User-defined transforms, given by functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.foundation.parameters import LONGEST
from dcprog.foundation.tolerances import KNOWN_DIGITS, ROUNDING
from dcprog.transforms.transform import Transform

__all__ = ["FAR", "concave", "seen_limit"]

POINTS = 601  # of a grid: two a decade of the wide range
FAR = np.geomspace(1.0, 1e300, POINTS)  # slow functions such as log(log t) need a wide range
CHECKED = np.append(0.0, np.geomspace(1e-6, 1e4, POINTS))  # where slopes are checked
SETTLED = 1e-3  # most share of the whole rise over the second half of the exponents


def seen_limit(function: Callable[[Array], Array]) -> float:
    """The supremum of a concave nondecreasing φ: φ(∞) if it is a number, else its value far out.

    The gap to the limit shrinks quickly from t to t². If φ rises from √T to T, the last point with
    a finite value, by less than a thousandth of its whole rise, about a millionth is missing at T.

    Parameters
    ----------
    function : callable
        Maps an array of t > 0 to the values φ(t), entry by entry.

    Returns
    -------
    float
        ∞ if φ still rises, falls by more than rounding, or has too few finite values.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.transforms.from_functions import seen_limit
    >>> seen_limit(lambda t: t / (1 + t)), seen_limit(lambda t: np.log1p(np.log1p(t)))
    (1.0, inf)
    """
    with np.errstate(all="ignore"):
        last = float(function(np.array([np.inf]))[0])
        values = np.asarray(function(FAR), dtype=float)
    if not np.isnan(last):
        return last
    known, values = FAR[np.isfinite(values)], values[np.isfinite(values)]
    if known.size < 3 or np.any(np.diff(values) < -KNOWN_DIGITS * np.abs(values[1:])):
        return np.inf
    middle = values[np.searchsorted(known, np.sqrt(known[-1]))]
    settled = values[-1] - middle <= SETTLED * (values[-1] - values[0])
    return float(values[-1]) if settled else np.inf


# ----------------------------------------------------------------------------------------------
# the transform


Function = Callable[[Array], Any]


class concave(Transform):
    """A user-defined transform φ, given by its value and its slope.

    Concavity and monotonicity are checked on t = 0 … 10⁴ at construction: the slope must not be
    negative, and every tangent must lie above the function.

    Parameters
    ----------
    value : callable
        Maps an array of t ≥ 0 to the values φ(t), entry by entry.
    slope : callable
        Maps an array of t ≥ 0 to supergradients, which may be infinite at 0. At a kink prefer the
        larger one, so that a sample there keeps its weight.
    expression : callable, optional
        Maps a cvxpy expression to a cvxpy expression. Without it the transform cannot be used in
        cvxpy problems; the structured path (Risk, estimators) needs only the slope.

    Raises
    ------
    TypeError
        An argument is not callable.
    ValueError
        The function is not concave, not nondecreasing or not finite; the message names the points.

    Notes
    -----
    A pickle holds lambdas and functions inside of others as code, for the same version of Python;
    of named functions of a module it holds the names.

    Examples
    --------
    >>> from dcprog.transforms import concave
    >>> share = concave(value=lambda t: t / (1 + t), slope=lambda t: 1 / (1 + t) ** 2)
    >>> share([0.0, 1.0]).tolist()
    [0.0, 0.5]
    >>> concave(value=lambda t: t**2, slope=lambda t: 2 * t)
    Traceback (most recent call last):
    ...
    ValueError: value is not concave with this slope: its tangent at t=0 is 0 at t=10000, ...
    """

    no_expression = "none was given; pass expression=..., which maps a cvxpy expression to one"

    def __init__(
        self,
        value: Function,
        slope: Function,
        expression: Callable[[cp.Expression], cp.Expression] | None = None,
    ) -> None:
        for name, function in (("value", value), ("slope", slope)):
            if not callable(function):
                raise TypeError(f"{name}={function!r}: a function of an array of t is needed")
        if not (expression is None or callable(expression)):
            raise TypeError(f"expression={expression!r}: a function or None is needed")
        self._value, self._slope, self._expression = value, slope, expression
        self._check()

    # The parameters have the names of methods and cannot be attributes, hence these two methods.
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The three functions by name."""
        return {"value": self._value, "slope": self._slope, "expression": self._expression}

    def set_params(self, **params: Any) -> concave:
        """Set some of the three functions."""
        changed = type(self)(**self.get_params() | params)
        self._value, self._slope = changed._value, changed._slope
        self._expression = changed._expression
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle that holds functions without an importable name as code."""
        from joblib import wrap_non_picklable_objects

        functions = wrap_non_picklable_objects(self.get_params(), keep_wrapper=False)
        return _unpickled, (type(self), functions)

    def __deepcopy__(self, memo: dict[int, Any]) -> concave:
        """A transform of the same functions."""
        return type(self)(**self.get_params())

    def __repr__(self, N_CHAR_MAX: int = LONGEST) -> str:
        """The transform with its functions' names instead of their memory addresses."""
        parts = [f"{k}={getattr(f, '__name__', f)!s}" for k, f in self.get_params().items() if f]
        return f"concave({', '.join(parts)})"[:N_CHAR_MAX]

    @property
    def limit(self) -> float:  # type: ignore[override]
        """value(∞), or the numerical limit of the values; ∞ if there is none."""
        return seen_limit(lambda t: _evaluated("value", self._value, t))

    @property
    def has_expression(self) -> bool:
        """True if an expression was given."""
        return self._expression is not None

    def __call__(self, t: npt.ArrayLike) -> Array:
        """value(t)."""
        t = np.asarray(t, dtype=float)
        value = _evaluated("value", self._value, t)
        lost = np.isinf(t) & np.isnan(value)
        return np.where(lost, self.limit, value) if np.any(lost) else value

    def slope(self, t: npt.ArrayLike) -> Array:
        """slope(t)."""
        t = np.asarray(t, dtype=float)
        return _evaluated("slope", self._slope, t)

    def expression(self, t: cp.Expression) -> cp.Expression:
        """expression(t)."""
        if self._expression is None:
            return super().expression(t)
        return self._expression(t)

    def _check(self) -> None:
        t = CHECKED
        value, slope = self(t), self.slope(t)
        for name, numbers in (("value", value), ("slope", slope[1:])):
            if not np.all(np.isfinite(numbers)):
                at = t[t.size - numbers.size :][~np.isfinite(numbers)][0]
                raise ValueError(f"{name} is not finite at t={at:.6g}: define it for all t >= 0")
        if np.isnan(slope[0]) or slope[0] == -np.inf:
            raise ValueError(f"slope(0) is {slope[0]}: a number is needed, or +inf where it is so")
        lowest = int(np.argmin(slope))
        if slope[lowest] < 0:
            raise ValueError(
                f"value is not nondecreasing: slope({t[lowest]:.6g}) = {slope[lowest]:.6g} < 0. "
                "A larger loss must not cost less"
            )
        known = np.isfinite(slope)
        tangent = value[known, None] + slope[known, None] * (t - t[known, None])
        size = np.abs(value) + np.abs(value[known, None]) + np.abs(tangent)
        above = value - tangent - KNOWN_DIGITS * size
        i, j = np.unravel_index(np.argmax(above), above.shape)
        if above[i, j] > ROUNDING:
            raise ValueError(
                "value is not concave with this slope: its tangent at "
                f"t={t[known][i]:.6g} is {tangent[i, j]:.6g} at t={t[j]:.6g}, "
                f"below the value {value[j]:.6g}. Check the slope, or take a concave function"
            )


def _unpickled(kind: type[concave], functions: dict[str, Any]) -> concave:
    """The transform of a pickle."""
    return kind(**functions)


def _evaluated(name: str, function: Function, t: Array) -> Array:
    """Evaluate a user's function of an array and check the shape; a number is broadcast."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        try:
            result = np.asarray(function(t), dtype=float)
        except (TypeError, ValueError) as error:  # such as math.atan, or "if t > 1" in the function
            if not _takes_a_number(function, t):
                raise  # the function fails at numbers too
            raise TypeError(
                f"{name} fails at an array of shape {t.shape}: {error}. It must take an array and "
                "give one of the same shape, as NumPy's functions do; np.vectorize makes such a "
                "function of one of numbers"
            ) from error
    if result.shape != t.shape:
        if result.shape != ():
            raise ValueError(f"{name} gives shape {result.shape} for t of shape {t.shape}")
        result = np.full(t.shape, float(result))
    return result


def _takes_a_number(function: Function, t: Array) -> bool:
    """True if a function that fails at an array works for each of its numbers."""
    try:
        for one in t.flat:
            float(function(np.asarray(one)))
    except Exception:
        return False
    return True
