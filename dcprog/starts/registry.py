"""The starts that a race tries, open to users."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dcprog.starts.batch import Batch
from dcprog.starts.branch_and_bound import BranchAndBound
from dcprog.starts.convex import Beside, Chosen, Graduated, Half, Light, Random, Soft, Zero
from dcprog.starts.coordinate_search import CoordinateSearch
from dcprog.starts.local import Local
from dcprog.starts.protocol import Start
from dcprog.starts.uncapped import Uncapped

# In the order in which a race asks them: loose starts look at what a batch has found.
STARTS: dict[str, type[Start[Any]]] = {
    "global": BranchAndBound,
    "local": Local,
    "batch": Batch,
    "searched": CoordinateSearch,
    "uncapped": Uncapped,
    "graduated": Graduated,
    "soft": Soft,
    "light": Light,
    "half": Half,
    "chosen": Chosen,
    "beside": Beside,
    "random": Random,
    "zero": Zero,
}
OWN = frozenset(STARTS)
TAKEN = ("auto", "convex", "current")  # names of the plain run's starts


def register_start(name: str, start: type[Start[Any]]) -> None:
    """Register a start, whose points join every race from now on.

    Parameters
    ----------
    name : str
        The name for ``start=`` and in ``result.starts``.
    start : class
        A class constructed without arguments, with ``takes(surrogate)``, the reason why it has no
        points for a problem or None, and ``points(surrogate, budget)``, an iterable of arrays; see
        :class:`~dcprog.starts.protocol.Start`.

    Raises
    ------
    TypeError
        The name is not a string, or the class is not a start.
    ValueError
        The name is taken.

    Examples
    --------
    The median of the responses as a start of regressions with an intercept:

    >>> import numpy as np
    >>> import dcprog as dc
    >>> class Median:
    ...     def takes(self, surrogate):
    ...         risk = surrogate.declared
    ...         fits = isinstance(risk, dc.Risk) and risk.offset is not None
    ...         return None if fits else "it is no regression"
    ...     def points(self, surrogate, budget):
    ...         risk = surrogate.declared
    ...         theta = np.zeros(risk.rows.shape[1])
    ...         theta[-1] = np.median(-risk.offset)
    ...         yield theta
    >>> dc.register_start("median", Median)
    >>> X, y = np.ones((5, 1)), np.array([1.0, 2.0, 3.0, 4.0, 50.0])
    >>> risk = dc.Risk.from_loss(dc.residual_rows(X, y), dc.cap(dc.square(), 4.0))
    >>> dc.solve(risk, start="median").status
    'converged'
    >>> del STARTS["median"]
    """
    check_strategy(name, start, "start", STARTS)
    STARTS[name] = start


def check_strategy(name: str, strategy: type, what: str, known: Mapping[str, type]) -> None:
    """Refuse a name that is taken or no string, and a class without the members of a strategy."""
    if not isinstance(name, str):
        raise TypeError(f"name={name!r}: a string is needed")
    missing = [m for m in ("takes", "points") if not callable(getattr(strategy, m, None))]
    if not isinstance(strategy, type) or missing:
        lacks = f"; it has no {', '.join(missing)}" if missing else ""
        raise TypeError(f"{what}={strategy!r}: a class with takes and points is needed{lacks}")
    if name in known or name in TAKEN:
        raise ValueError(f"name={name!r} is taken")


def registered_starts() -> dict[str, type[Start[Any]]]:
    """The user-registered starts by name, which must be passed to other processes."""
    return {name: start for name, start in STARTS.items() if name not in OWN}
