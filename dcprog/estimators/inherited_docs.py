"""Complete a class's docstring with sections of its base classes' docstrings."""

from __future__ import annotations

import re
from collections.abc import Iterable
from inspect import cleandoc

__all__ = ["completed"]

SECTIONS = ("Parameters", "Attributes", "Warns")  # in this order
HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)


def completed(doc: str, bases: Iterable[str]) -> str:
    r"""A numpydoc docstring with the parameters, attributes and warnings that it inherits.

    Parameters
    ----------
    doc : str
    bases : iterable of str
        Docstrings of the base classes, the nearest first. Of several entries for one name the first
        is kept.

    Returns
    -------
    str
        The completed docstring, without indentation.

    Examples
    --------
    >>> base = "Base.\n\nWarns\n-----\na : int\n    One.\nb : int\n    Two."
    >>> completed("Child.", [base]).splitlines()[-4:]
    ['a : int', '    One.', 'b : int', '    Two.']
    """
    head, found = _sections(doc)
    told = {name: _entries(found.pop(name, "")) for name in SECTIONS}
    for base in bases:
        behind = _sections(base)[1]
        for name, entries in told.items():
            known = {word for entry in entries for word in _names(entry)}
            entries += [e for e in _entries(behind.get(name, "")) if not known & _names(e)]
    bodies = {name: "\n".join(entries) for name, entries in told.items() if entries} | found
    parts = [head, *(f"{name}\n{'-' * len(name)}\n{body}" for name, body in bodies.items())]
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def _sections(doc: str) -> tuple[str, dict[str, str]]:
    """The text before the first heading, and the body below each heading."""
    head, *rest = HEADING.split(cleandoc(doc))
    return head, dict(zip(rest[::2], rest[1::2], strict=True))


def _entries(body: str) -> list[str]:
    """The entries of a section: an unindented line and the indented lines below it."""
    return [entry.rstrip() for entry in re.split(r"\n(?=\S)", body.strip("\n")) if entry]


def _names(entry: str) -> set[str]:
    """The names that an entry describes: those before its colon."""
    return {name.strip() for name in entry.split("\n")[0].split(" : ")[0].split(",")}
