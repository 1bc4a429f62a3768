"""The page docs/claims.md: each numbered item of each paper, and what the scripts found of it.

The items are those of examples/papers.toml, the rows those of docs/claims.json, which
``python -m examples.reproduce`` brings up to date.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from examples.common.claims import VERDICTS
from examples.common.sources import differing, digest, sources_of

ROOT = Path(__file__).resolve().parents[1]
PAPERS = ROOT / "examples" / "papers.toml"
RECORD = ROOT / "docs" / "claims.json"
PAGE = ROOT / "docs" / "claims.md"

Runs = Mapping[str, Mapping[str, Any]]  # a script's arguments, seconds and rows, by its module

HEAD = """# Claims

What the papers state, item by item, and what was measured of it. The page is written by
`make reproduce` from the scripts' own verdicts; it is not edited by hand.

* *holds as printed*, *refuted*: the statement as the paper prints it, or as this library makes it;
* *holds as corrected*: a statement put right, which then holds;
* *open*: neither shown nor refuted.

A verdict follows from the measurement; where it differs from the one expected, `make reproduce`
fails.

Rows rest on the sources that the script was run with; [their digests](#runs) are those of the
library, the models, the script and its data, without comments and docstrings.
`python -m examples.reproduce --status` compares them with the sources at hand in seconds, and names
what has changed since; the manual says it in each section, as of the day when it was built.
"""


def papers() -> dict[str, dict[str, Any]]:
    """Title and items of each paper, by the folder of its scripts."""
    return tomllib.loads(PAPERS.read_text(encoding="utf-8"))


def rows_of(runs: Runs, folder: str) -> Iterator[dict[str, Any]]:
    """The rows of a folder's scripts, each with its script."""
    for script, run in sorted(runs.items()):
        if script.split(".")[1] == folder:
            yield from ({**row, "script": script} for row in run["rows"])


def missing(runs: Runs) -> list[str]:
    """Items without a row, and rows of items that are not listed."""
    wrong = []
    for folder, paper in papers().items():
        found = {row["item"] for row in rows_of(runs, folder)}
        wrong += [f"{folder}: no row of {item}" for item in paper["items"] if item not in found]
        unknown = sorted(found - set(paper["items"]) - {""})
        wrong += [f"{folder}: {item} is not in papers.toml" for item in unknown]
    return wrong


def page(runs: Runs) -> str:
    """The whole page."""
    parts = [HEAD, summary(runs)]
    for folder, paper in papers().items():
        lines = [f"## {paper['title']}\n", "| item | claim | measured | verdict | evidence |"]
        lines.append("|" + "---|" * 5)
        rows = list(rows_of(runs, folder))
        for item, printed in paper["items"].items():
            lines += item_lines(item, printed, [row for row in rows if row["item"] == item])
        lines += further([row for row in rows if not row["item"]])
        parts.append("\n".join(lines) + "\n")
    return "\n".join([*parts, ran(runs)])


def item_lines(item: str, printed: str, rows: list[dict[str, Any]]) -> Iterator[str]:
    head = f"**{item}**: {printed}"
    for row in rows:
        evidence = "; ".join(filter(None, (f"`{row['script'][9:]}`", row["evidence"])))
        note = "" if row["as_expected"] else " (not as expected)"
        note += " (kept from an earlier run)" if row.get("kept") else ""
        cells = (head, row["text"], row["measured"], row["verdict"] + note, evidence)
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
        head = ""


def further(rows: list[dict[str, Any]]) -> Iterator[str]:
    """One line a script for the checks that belong to no numbered item."""
    for script, n in Counter(row["script"] for row in rows).items():
        good = sum(row["as_expected"] for row in rows if row["script"] == script)
        yield f"| further checks | | {good} of {n} as expected | | `{script[9:]}` |"


def summary(runs: Runs) -> str:
    """How many items of each paper there are, and how many rows of each verdict."""
    lines = ["| paper | items | " + " | ".join(VERDICTS) + " |", "|" + "---|" * 6]
    for folder, paper in papers().items():
        found = Counter(row["verdict"] for row in rows_of(runs, folder) if row["item"])
        counts = [str(found[verdict]) for verdict in VERDICTS]
        lines.append(f"| {paper['title']} | {len(paper['items'])} | {' | '.join(counts)} |")
    return "\n".join(lines) + "\n"


def ran(runs: Runs) -> str:
    """The runs the rows come from."""
    lines = ["## Runs\n", "| script | arguments | run on | seconds | sources |", "|" + "---|" * 5]
    for script, run in sorted(runs.items()):
        arguments = " ".join(run["arguments"])
        cells = (f"`{script}`", arguments, run["date"], f"{run['seconds']:.0f}", label(run))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


# ---- whether a record is current -----------------------------------------------------------------


def label(run: Mapping[str, Any]) -> str:
    """One digest of all the sources of a run."""
    return f"`{digest(map(str, sorted(run['sources'].items())))}`" if run["sources"] else "unknown"


def standing(script: str, run: Mapping[str, Any]) -> str:
    """Whether a script's rows are of the sources at hand, and which sources have changed."""
    if not run["sources"]:
        return f"older sources: those of its run on {run['date']} are unknown"
    changed = differing(run["sources"], sources_of(script))
    if changed:
        return f"older sources: changed since {run['date']}: {', '.join(changed)}"
    kept = sum(row.get("kept", False) for row in run["rows"])
    return f"current, but for {kept} rows kept from an earlier run" if kept else "current"


def with_standing(text: str, runs: Runs) -> str:
    """The page, below each paper's title whether its rows are of the sources at hand."""
    for folder, paper in papers().items():
        of = {name: run for name, run in sorted(runs.items()) if name.split(".")[1] == folder}
        lines = [f"* `{name[9:]}`: {standing(name, run)}" for name, run in of.items()]
        title = f"## {paper['title']}\n"
        said = "\n".join(("Rows, compared with the sources of this manual:\n", *lines))
        text = text.replace(title, f"{title}\n{said}\n")
    return text
