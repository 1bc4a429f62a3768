"""Everything public says what it takes and what it returns."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import dcprog as dc
from dcprog import models

PUBLIC = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in (dc, models)
    for name in module.__all__
    if callable(getattr(module, name)) and not isinstance(getattr(module, name), ModuleType)
}


def ours(member: Any) -> bool:
    return (getattr(member, "__module__", None) or "").startswith("dcprog")


def functions(thing: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The function, or a class's constructor, call, methods and properties, with their names."""
    if not inspect.isclass(thing):
        yield thing.__name__, thing
        return
    for name in dir(thing):
        member = inspect.getattr_static(thing, name)
        if name.startswith("_") and name not in ("__init__", "__call__"):
            continue
        if isinstance(member, property):
            member = member.fget
        elif isinstance(member, classmethod | staticmethod):
            member = member.__func__
        if inspect.isfunction(member) and ours(member):
            yield f"{thing.__name__}.{name}", member


def unsaid(function: Callable[..., Any]) -> list[str]:
    """The parameters without annotation, and "return" where that has none."""
    said = function.__annotations__
    wanted = [*inspect.signature(function).parameters, "return"]
    return [name for name in wanted if name not in (*said, "self", "cls")]


def test_public_names_are_annotated() -> None:
    found = [pair for thing in PUBLIC.values() for pair in functions(thing)]
    missing = {of: unsaid(function) for of, function in found}
    assert not {of: names for of, names in missing.items() if names}


def test_there_are_public_names_and_an_omission_is_seen() -> None:
    def careless(x: int, y):  # type: ignore[no-untyped-def]
        return x + y

    assert len(PUBLIC) > 80
    assert unsaid(careless) == ["y", "return"]
