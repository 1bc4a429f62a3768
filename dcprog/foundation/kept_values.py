"""A context in which variables may take other values than the user's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def values_kept(variables: Iterable[Any]) -> Iterator[None]:
    """Give cvxpy variables their present values back at the end of the context.

    Examples
    --------
    >>> import cvxpy as cp
    >>> x = cp.Variable(value=1.0)
    >>> with values_kept([x]):
    ...     x.value = 2.0
    >>> float(x.value)
    1.0
    """
    before = [(variable, variable.value) for variable in variables]
    try:
        yield
    finally:
        for variable, value in before:
            variable.save_value(value)
