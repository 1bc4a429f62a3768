"""A small table: text, HTML, or a DataFrame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from numbers import Integral, Real
from typing import Any

WIDTH = 10  # of a column, or more where an entry is longer


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Named rows, headed columns and a title.

    Attributes
    ----------
    title : str
        One line or more.
    names : list of str
        Names of the rows.
    columns : mapping of str to a sequence or an array
        Entries by heading, numbers or text.
    digits : int, default 3
        Number of significant digits shown.

    Examples
    --------
    >>> from dcprog.foundation.table import Table
    >>> Table("two fits", ["ramp", "tukey"], {"value": [12.5, 1e-5], "status": ["ok", "slow"]})
    two fits
               value    status
    ramp        12.5        ok
    tukey    1.0e-05      slow
    """

    title: str
    names: list[str]
    columns: Mapping[str, Any]
    digits: int = 3

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame, if pandas is installed."""
        import pandas as pd

        return pd.DataFrame(dict(self.columns), index=self.names)

    def __repr__(self) -> str:
        wide = max(map(len, self.names), default=0)
        lines = [" " * wide, *(f"{name:<{wide}}" for name in self.names)]
        for heading, entries in self.columns.items():
            shown = [heading, *(_short(entry, self.digits) for entry in entries)]
            width = max(WIDTH, 2 + max(map(len, shown)))
            lines = [line + f"{text:>{width}}" for line, text in zip(lines, shown, strict=True)]
        return "\n".join([self.title, *lines])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def _short(entry: Any, digits: int) -> str:
    if isinstance(entry, Integral) or not isinstance(entry, Real):
        return str(entry)
    value = float(entry)
    if 10**digits <= abs(value) < 1e6:
        return f"{value:.0f}"
    plain = 1e-3 <= abs(value) < 10**digits or value == 0
    return f"{value:.{digits}g}" if plain else f"{value:.{digits - 2}e}"
