"""Names that a user writes, checked: the error for an unknown one tells the nearest known name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, signature
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def nearest(value: Any, known: Iterable[str]) -> str | None:
    """The known name that is nearest to a value, in any case of letters; None if none is near."""
    names = {name.lower(): name for name in known}
    close = get_close_matches(value.lower(), names, n=1) if isinstance(value, str) else []
    return names[close[0]] if close else None


def meant(value: Any, known: Iterable[str]) -> str:
    """Advice on an unknown name: the nearest known one, or all of them.

    Examples
    --------
    >>> meant("hugh", ["low", "high"]), meant("any", ["low", "high"]), meant(3, ["low"])
    ("is 'high' meant?", "choose one of 'low', 'high'", "choose one of 'low'")
    """
    names = list(known)
    close = nearest(value, names)
    if close is None:
        return f"choose one of {', '.join(map(repr, names))}"
    return f"is {close!r} meant?"


def check_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """Raise an error unless the value is one of the choices.

    Raises
    ------
    ValueError
        It is none of them; the error names the nearest.
    """
    listed = list(choices)
    if not (isinstance(value, str) and value in listed):
        raise ValueError(f"{name}={value!r}: {meant(value, listed)}")


def unknown_keyword(call: Callable[..., Any], given: Mapping[str, Any], called: str) -> str | None:
    """The error message for the first keyword that a function does not have; None without one."""
    parameters = signature(call).parameters.values()
    if any(p.kind == p.VAR_KEYWORD for p in parameters):
        return None
    known = [p.name for p in parameters if p.kind in NAMED and p.name != "self"]
    for name in given:
        if name not in known:
            told = meant(name, known) if known else "it has none"
            return f"{called}() has no parameter {name!r}: {told}"
    return None


def names_nearest(call: Callable[P, R]) -> Callable[P, R]:
    """The function, whose TypeError for an unknown keyword names the nearest known one.

    Examples
    --------
    >>> @names_nearest
    ... def solve(problem, *, effort="default"):
    ...     return effort
    >>> solve(1, efort="high")
    Traceback (most recent call last):
    TypeError: solve() has no parameter 'efort': is 'effort' meant?
    """
    known = frozenset(signature(call).parameters)

    @wraps(call)
    def checked(*args: P.args, **options: P.kwargs) -> R:
        if not known.issuperset(options):
            called = call.__qualname__.removesuffix(".__init__")
            message = unknown_keyword(call, options, called)
            if message is not None:
                raise TypeError(message)
        return call(*args, **options)

    return checked
