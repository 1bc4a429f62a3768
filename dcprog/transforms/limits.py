"""The supremum of a concave function, estimated numerically."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dcprog.foundation.arrays import Array

__all__ = ["FAR", "seen_limit"]

FAR = np.geomspace(1.0, 1e300, 601)  # slow functions such as log(log t) need a wide range
SETTLED = 1e-3  # most share of the whole rise over the second half of the exponents
ROUNDING = 1e-9  # a larger relative fall means that the formula has lost its digits


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
    >>> from dcprog.transforms.limits import seen_limit
    >>> seen_limit(lambda t: t / (1 + t)), seen_limit(lambda t: np.log1p(np.log1p(t)))
    (1.0, inf)
    """
    with np.errstate(all="ignore"):
        last = float(function(np.array([np.inf]))[0])
        values = np.asarray(function(FAR), dtype=float)
    if not np.isnan(last):
        return last
    known, values = FAR[np.isfinite(values)], values[np.isfinite(values)]
    if known.size < 3 or np.any(np.diff(values) < -ROUNDING * np.abs(values[1:])):
        return np.inf
    middle = values[np.searchsorted(known, np.sqrt(known[-1]))]
    settled = values[-1] - middle <= SETTLED * (values[-1] - values[0])
    return float(values[-1]) if settled else np.inf
