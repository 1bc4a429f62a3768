"""Context managers that turn a solver's exceptions into failed attempts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import cvxpy as cp

from dcprog.foundation.errors import SubproblemError, UnfitSolver

INTERRUPTS = (KeyboardInterrupt, SystemExit, GeneratorExit)


@contextmanager
def failures(solver: str, let: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Turn exceptions, except interrupts and `let`, into a ``"failed"`` :class:`SubproblemError`.

    Compiled solvers report a panic by exceptions that do not derive from ``Exception``.

    Examples
    --------
    >>> with failures("PIQP"):
    ...     [][0]
    Traceback (most recent call last):
    ...
    dcprog.foundation.errors.SubproblemError: failed: PIQP: IndexError: list index out of range
    """
    try:
        yield
    except BaseException as error:
        if isinstance(error, (SubproblemError, *INTERRUPTS, *let)):
            raise
        message = f"{solver}: {type(error).__name__}: {error}"
        raise SubproblemError("failed", message) from error


@contextmanager
def refusals(solver: str, asked: Mapping[str, Any]) -> Iterator[None]:
    """As ``failures``, but an error that the user's options may have caused is an UnfitSolver."""
    try:
        with failures(solver):
            yield
    except SubproblemError as error:
        if asked and isinstance(
            error.__cause__, TypeError | AttributeError | KeyError | ValueError
        ):
            named = ", ".join(asked)
            told = str(error.__cause__).rstrip(".")
            raise UnfitSolver(f"{solver} does not take solver_options {named}: {told}") from error
        raise


@contextmanager
def valueless(problem: cp.Problem) -> Iterator[None]:
    """Remove the values of the problem's variables temporarily.

    cvxpy's canonicalisers of ``sum_largest`` and ``cvar`` read the values; the compiled program,
    or an error, should not depend on the last point.
    """
    leaves: list[Any] = [v for v in problem.variables() if hasattr(v, "_value")]
    kept = [leaf._value for leaf in leaves]
    for leaf in leaves:
        leaf._value = None
    try:
        yield
    finally:
        for leaf, value in zip(leaves, kept, strict=True):
            leaf._value = value
