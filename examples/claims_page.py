"""The pages of claims: each numbered item of each paper, its verdict, and what the scripts found.

docs/claims.md is the overview, docs/claims/ has a page a paper: verdicts first, then each item with
its evidence and a command that checks it. The items are those of examples/papers.toml, the commands
those of examples/checks.toml, the rows those of docs/claims.json, which ``python -m
examples.reproduce`` brings up to date.
"""

from __future__ import annotations

import ast
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from examples.common.claims import VERDICTS, word
from examples.common.sources import differing, digest, named, source, sources_of

ROOT = Path(__file__).resolve().parents[1]
PAPERS = ROOT / "examples" / "papers.toml"
CHECKS = ROOT / "examples" / "checks.toml"
RECORD = ROOT / "docs" / "claims.json"
PAGE = ROOT / "docs" / "claims.md"

Runs = Mapping[str, Mapping[str, Any]]  # a script's arguments, seconds and rows, by its module
Row = dict[str, Any]

HEAD = """# Claims

What the papers state, what was done to check it, and what came out: a page a paper. The pages are
written by `make reproduce` from the scripts' own verdicts; they are not edited by hand.

* *holds as printed*: the statement as the paper prints it;
* *holds*: a statement of this library, which no paper prints;
* *holds as corrected*: the statement put right, which then holds;
* *refuted*: the statement fails;
* *open*: neither shown nor refuted.

A verdict follows from the measurement; where it differs from the one expected, `make reproduce`
fails. An item of a paper has several checks; what only this library asserts stands in a table of
its own, at the end of each page. Beside each verdict stands a command that checks it in less than a
minute. Where it runs on less data than the full run, a verdict may come out otherwise: the full
run's stand here.
"""

SOURCES = """## Runs

Rows rest on the sources that the script was run with; their digests are those of the library, the
models, the script and its data, without comments and docstrings.
`python -m examples.reproduce --status` compares them with the sources at hand in seconds, and names
what has changed since; the manual says it on each page, as of the day when it was built. Seconds
are those of the last run, for which parts may have been done before: from nothing it takes longer.
"""


def papers() -> dict[str, dict[str, Any]]:
    """Title and items of each paper, by the folder of its scripts."""
    return tomllib.loads(PAPERS.read_text(encoding="utf-8"))


def rows_of(runs: Runs, folder: str) -> Iterator[dict[str, Any]]:
    """The rows of a folder's scripts, each with its script and the seconds of its last run."""
    own = papers()[folder].get("ours", False)
    for script, run in sorted(runs.items()):
        if script.split(".")[1] == folder:
            known = {"script": script, "seconds": run["seconds"]}
            yield from ({**row, **known, "ours": own or row.get("ours")} for row in run["rows"])


def missing(runs: Runs) -> list[str]:
    """Items without a row, and rows of items that are not listed."""
    wrong = []
    for folder, paper in papers().items():
        found = {row["item"] for row in rows_of(runs, folder)}
        wrong += [f"{folder}: no row of {item}" for item in paper["items"] if item not in found]
        unknown = sorted(found - set(paper["items"]) - {""})
        wrong += [f"{folder}: {item} is not in papers.toml" for item in unknown]
    return wrong


# ---- the pages -----------------------------------------------------------------------------------


def pages(runs: Runs) -> dict[str, str]:
    """All pages, by their paths in docs/."""
    return {"claims.md": overview(runs)} | {
        f"claims/{folder}.md": paper_page(runs, folder) for folder in papers()
    }


def overview(runs: Runs) -> str:
    """How many checks of each verdict each paper has, where its page is, and the runs."""
    return "\n".join([HEAD, summary(runs), toctree(), SOURCES, ran(runs)])


def summary(runs: Runs) -> str:
    """How many items each paper has, how many checks of each verdict, and how many are ours."""
    lines = ["| paper | items | " + " | ".join(VERDICTS) + " | ours |", "|" + "---|" * 7]
    for folder, paper in papers().items():
        rows = list(rows_of(runs, folder))
        found = Counter(row["verdict"] for row in stated(rows))
        counts = [str(found[verdict]) for verdict in VERDICTS]
        name = f"[{paper['title']}](claims/{folder}.md)"
        own = sum(is_own(row) for row in rows)
        lines.append(f"| {name} | {len(paper['items'])} | {' | '.join(counts)} | {own} |")
    return "\n".join(lines) + "\n"


def toctree() -> str:
    names = "\n".join(f"claims/{folder}" for folder in papers())
    return f"```{{toctree}}\n:hidden:\n\n{names}\n```\n"


def paper_page(runs: Runs, folder: str) -> str:
    """A paper's page: a verdict an item, the picture, each item with its evidence, our own."""
    paper, rows = papers()[folder], list(rows_of(runs, folder))
    shown = rows if paper.get("ours") else stated(rows)
    items = {item: [r for r in shown if r["item"] == item] for item in paper["items"]}
    parts = [f"# {paper['title']}\n", verdicts(paper["items"], items), picture(folder)]
    parts += [told(item, paper["items"][item], found) for item, found in items.items()]
    parts += [own_rows([row for row in rows if row not in shown]), checked(rows)]
    parts.append("\n[All papers, and when the scripts were run](../claims.md).\n")
    return "\n".join(filter(None, parts))


def is_own(row: Mapping[str, Any]) -> bool:
    """Whether no paper states the claim: it says so, or belongs to no numbered item."""
    return bool(row.get("ours")) or not row["item"]


def stated(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if not is_own(row)]


def verdicts(printed: Mapping[str, str], items: Mapping[str, list[Row]]) -> str:
    """A line an item, before all evidence."""
    lines = ["## Verdicts\n", "| item | statement | verdict |", "|---|---|---|"]
    lines += [row_of(f"**{item}**", printed[item], verdict(found)) for item, found in items.items()]
    return "\n".join(lines) + "\n"


def verdict(rows: Sequence[Row]) -> str:
    """That of an item, of those of its checks."""
    if not rows:
        return "not checked by itself"
    count = Counter(row["verdict"] for row in rows)
    as_printed, corrected, refuted, unknown = (count[name] for name in VERDICTS)
    if refuted:
        part = "" if refuted == len(rows) else " in part"
        cured = ", holds as corrected" if corrected else ""
        return f"**refuted{part}**{cured} (by {refuted} of {len(rows)} checks)"
    if unknown:
        rest = ", the others hold" if unknown < len(rows) else ""
        return f"**open** ({unknown} of {len(rows)} checks{rest})"
    if corrected:
        rest = f" ({as_printed} of {len(rows)} checks as printed)" if as_printed else ""
        return f"**holds as corrected**{rest}"
    holds = word(VERDICTS[0], is_own(rows[0]))
    return f"**{holds}** ({len(rows)} check{'s' * (len(rows) > 1)})"


def picture(folder: str) -> str:
    """The paper's picture, if there is one."""
    text = quick()["pictures"].get(folder)
    return f"![{text}](../pictures/claims/{folder}.png)\n\n*{text}*\n" if text else ""


def told(item: str, printed: str, rows: Sequence[Row]) -> str:
    """An item: what is stated, what was done, what came out, how to check it, and all rows."""
    lines = [f"## {item[:1].upper()}{item[1:]}\n", f"*Stated*: {printed}.\n"]
    if not rows:
        return "\n".join([*lines, "*Found*: only this library's assertions, below.\n"])
    scripts = sorted({row["script"] for row in rows})
    lines += [f"*Done*: {done(script, rows)}\n" for script in scripts]
    lines += [f"*Found*: {verdict(rows)}.\n"]
    notable = [row for row in rows if row["verdict"] != VERDICTS[0]]
    lines += [
        f"- *{r['verdict']}*: {escaped(r['text'])}: {escaped(r['measured'])}" for r in notable
    ]
    lines += [""] if notable else []
    lines += [f"*Check*: {command_line(script, rows)}\n" for script in scripts]
    return "\n".join([*lines, unfolded(f"all {len(rows)} checks", table(rows))])


def done(script: str, rows: Sequence[Row]) -> str:
    """The first sentence of the script's docstring, and the seeds and figures of its rows."""
    doc = ast.get_docstring(ast.parse(source(script).read_text("utf-8"))) or ""
    evidence = sorted({row["evidence"] for row in rows if row["script"] == script} - {""})
    return " ".join([" ".join(doc.split("\n\n")[0].split()), *(f"({one})" for one in evidence)])


def command(script: str, rows: Sequence[Row]) -> tuple[str, str, str]:
    """What checks a script's rows in less than a minute, its seconds, and what it leaves out."""
    check = checks().get(script)
    if check is None:
        whole = next(row["seconds"] for row in rows if row["script"] == script)
        return f"`python -m {script}`", f"{whole:.0f}", ""
    return f"`{check['command']}`", f"{check['seconds']}", check["cut"]


def command_line(script: str, rows: Sequence[Row]) -> str:
    text, seconds, cut = command(script, rows)
    return f"{text} ({seconds} s; {cut or 'the full run'})"


def quick() -> dict[str, dict[str, Any]]:
    """examples/checks.toml."""
    return tomllib.loads(CHECKS.read_text(encoding="utf-8"))


def checks() -> dict[str, Any]:
    """The commands in place of full runs of more than a minute, by script."""
    found: dict[str, Any] = quick()["checks"]
    return found


def unfolded(title: str, text: str) -> str:
    return f"<details>\n<summary>{title}</summary>\n\n{text}\n</details>\n"


def table(rows: Sequence[Row]) -> str:
    """Every row; with what would turn its verdict, where that is known."""
    turns = any(row.get("turns") for row in rows)
    names = ["claim", "measured", "verdict", *(["what would turn it"] if turns else []), "evidence"]
    lines = [row_of(*names), "|" + "---|" * len(names)]
    for row in rows:
        note = "" if row["as_expected"] else " (not as expected)"
        note += " (kept from an earlier run)" if row.get("kept") else ""
        evidence = "; ".join(filter(None, (f"`{row['script'][9:]}`", row["evidence"])))
        cells = [escaped(row["text"]), escaped(row["measured"])]
        cells += [word(row["verdict"], is_own(row)) + note]
        cells += [escaped(row.get("turns", ""))] if turns else []
        lines.append(row_of(*cells, evidence))
    return "\n".join(lines) + "\n"


def row_of(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def escaped(text: str) -> str:
    """Text without emphasis: w* is a minimiser."""
    return text.replace("*", "\\*")


def own_rows(rows: Sequence[Row]) -> str:
    """What no paper states."""
    if not rows:
        return ""
    lines = ["## What only this library asserts\n", verdict(rows).capitalize() + ".\n"]
    return "\n".join([*lines, unfolded(f"all {len(rows)} checks", table(rows))])


def checked(rows: Sequence[Row]) -> str:
    """The commands of a paper, together."""
    lines = ["## How to check\n"]
    lines += ["CPU seconds of one thread; the full runs are those of `make reproduce`.\n"]
    lines += [row_of("script", "command", "seconds", "smaller than the full run"), "|" + "---|" * 4]
    for script in sorted({row["script"] for row in rows}):
        lines.append(row_of(f"`{script[9:]}`", *command(script, rows)))
    return "\n".join(lines) + "\n"


def ran(runs: Runs) -> str:
    """The runs the rows come from."""
    lines = ["| script | arguments | run on | seconds | sources |", "|" + "---|" * 5]
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
        return f"older sources: changed since {run['date']}: {named(changed)}"
    kept = sum(row.get("kept", False) for row in run["rows"])
    return f"current, but for {kept} rows kept from an earlier run" if kept else "current"


def with_standing(text: str, runs: Runs, folder: str) -> str:
    """A paper's page, below its title whether its rows are of the sources at hand."""
    of = {name: run for name, run in sorted(runs.items()) if name.split(".")[1] == folder}
    lines = [f"* `{name[9:]}`: {standing(name, run)}" for name, run in of.items()]
    said = "\n".join(("Rows, compared with the sources of this manual:\n", *lines))
    title = f"# {papers()[folder]['title']}\n"
    return text.replace(title, f"{title}\n{said}\n", 1)
