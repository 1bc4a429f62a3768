"""A result as a notebook shows it, and as a table of its starts."""

from __future__ import annotations

from html import escape
from typing import Any

from dcprog.foundation.table import Table

__all__ = ["html_of", "steps_of", "summary_of"]

SHOWN = 5  # optima
DIGITS = 6  # starts differ by little


def summary_of(result: Any) -> Table:
    """The starts as a table, below what the result shows of itself.

    Parameters
    ----------
    result : Result

    Returns
    -------
    Table
    """
    columns = {
        "value": [start.value for start in result.starts],
        "status": [start.status for start in result.starts],
        "steps": [start.n_iter for start in result.starts],
        "gap": [start.gap for start in result.starts],
        "violation": [start.violation for start in result.starts],
    }
    return Table(repr(result), [start.kind for start in result.starts], columns, DIGITS)


def html_of(result: Any) -> str:
    """A result as a table of HTML, with its optima folded away.

    Parameters
    ----------
    result : Result

    Returns
    -------
    str
    """
    rows = [
        ("status", f"{result.status} after {steps_of(result)}"),
        ("value", f"{result.value:.10g}"),
        ("gap", f"{result.gap:.3g}"),
        ("violation", f"{result.violation:.3g}"),
        ("solver", result.solver or "none"),
        ("time", f"{result.total_time:.2g} s"),
    ]
    if result.mode != "none":
        rows.append(("nonconvex constraints", f"by {result.mode} iterates"))
    if result.message:
        rows.append(("end", result.message))
    table = _table(rows)
    if len(result.optima) > 1:
        found = [(f"{o.value:.10g}", f"{o.count} runs") for o in result.optima[:SHOWN]]
        title = f"{len(result.optima)} optima"
        table += f"<details><summary>{title}</summary>{_table(found)}</details>"
    return f"<div><strong>Result</strong>{table}</div>"


def steps_of(result: Any) -> str:
    """How many steps a result took, in words."""
    return f"{result.n_iter} step{'' if result.n_iter == 1 else 's'}"


def _table(rows: list[tuple[str, str]]) -> str:
    lines = (f"<tr><th>{escape(a)}</th><td>{escape(b)}</td></tr>" for a, b in rows)
    return f"<table>{''.join(lines)}</table>"
