"""The pages of claims: each numbered item of each paper, its verdict, and what the scripts found.

docs/claims.md is the overview, docs/claims/ has a page a paper: verdicts first, then each item with
its evidence and a command that checks it. The items are those of examples/papers.toml, the commands
those of examples/checks.toml, the rows those of docs/claims.json, which ``python -m
examples.reproduce`` brings up to date.
"""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from examples.common.claims import VERDICTS, word
from examples.common.sources import differing, digest, named, source, sources_of

ROOT = Path(__file__).resolve().parents[1]
PAPERS = ROOT / "examples" / "papers.toml"
CHECKS = ROOT / "examples" / "checks.toml"
RECORD = ROOT / "docs" / "claims.json"
SHORT = ROOT / "docs" / "claims_short.json"  # verdicts of the short commands, by command and text
PAGE = ROOT / "docs" / "claims.md"

REFUTED, OPEN = VERDICTS[2:]

Runs = Mapping[str, Mapping[str, Any]]  # a script's arguments, seconds and rows, by its module
Row = dict[str, Any]

HEAD = """# Claims

What the papers state, what was done to check it, and what came out: a page a paper. The pages are
written by `make reproduce` from the scripts' own verdicts; they are not edited by hand.

* *holds as printed*: the statement as the paper prints it;
* *holds*: a statement of this library, which no paper prints;
* *holds as corrected*: the statement put right, which then holds;
* *refuted*: the statement fails;
* *open*: neither shown nor refuted, or refuted in one reading of the paper's words and not in
  another: the row then names both readings.

A verdict follows from the measurement; where it differs from the one expected, `make reproduce`
fails. An item of a paper has several checks; what only this library asserts stands in a table of
its own, at the end of each page. *What would turn it* is the smallest change tried that gives
another verdict: of the measured number, or of a formula, where *11 for 10* puts 11 in the place of
10, and *0.9·P* puts that in the place of P.

Beside each item stand the commands that reach its rows, to be run from the repository root. Short
ones have their time in CPU seconds of one thread, full ones the seconds of the last run by the
clock. Where a command runs on less data than the full run, a verdict may come out otherwise: the
full run's stand here, *short: open* beside one is that of the short command, and each command says
how many of its rows it turns. Rows that only a long run reaches say so.
"""

RULE = """## The rule of a verdict

*a ± b* is an estimate and one standard error. Its interval reaches two standard errors to either
side if the estimate is over folds or splits; where it is over repeats it is Student's at 95%: 2.26
standard errors for ten draws, 4.30 for three shuffles; 3 where printed cells of the simulation are
compared, whose printed deviations enter too. A claim holds if the whole interval is where it
says, is refuted if the whole interval is outside, and is open otherwise.

* *as printed*: the difference to the printed number lies within a margin: 1.5 points of accuracy or
  error, half a point in the simulation; 5% in a number of support vectors and 25% in one of steps,
  at the pair of C and width chosen, and refuted only beyond what all equally good pairs give; a
  factor 1.5 in a number of features; 0.005% in a value of R₁. With *tolerance* the number behind
  it is the margin.
* *as accurate*, *the same*, *similarly*: the difference is within the margin of the row.
* *more accurate*, *fewer*: the difference is above 0.
* *no worse*: at most half a point behind.
* *deviation*: of one cross-validation over its shuffles, at least one sample's share. A printed
  accuracy is of one cross-validation, so that two of these, not two standard errors, are allowed.
* *no test at these sizes*: the bound is met by one of its terms alone, and would be whatever the
  machine does. Such a row is open.
* *lower by*, *higher by*: what added to every difference of the row would give another verdict.

Of a row over several cells each cell has its interval, *surely* within or outside if the whole
interval is. It holds if all hold, and is refuted if at
least half are outside: were all right, fewer than one run in twenty would show that, however the
cells depend on each other. Fewer outside leave it open. Over the rows of a page there is no
correction: of a hundred right rows that are decided by an interval, two or three may come out
refuted by chance.

## Data

Sets that do not come with scikit-learn are read from `../shared/data`, a folder beside the
project's, as files `name.npz` with samples `X` and labels `y`; its `README.md` names their sources.
Scripts that compare tables take another folder with `--data`. Where a set is missing its claims are
printed as *not run*, and the last line counts them; the pages keep the rows of the last run that
had it.
"""

SOURCES = """## Runs

Rows rest on the sources that the script was run with; their digests are those of the library, the
models, the script and its data, without comments and docstrings.
`python -m examples.reproduce --status` compares them with the sources at hand in seconds, and names
what has changed since; the manual says it here and on each page, as of the day when it was built.
Parts of the last run may have been done before: from nothing it takes longer.
"""


def papers() -> dict[str, dict[str, Any]]:
    """Title and items of each paper, by the folder of its scripts."""
    return tomllib.loads(PAPERS.read_text(encoding="utf-8"))


def rows_of(runs: Runs, folder: str) -> Iterator[Row]:
    """The rows of a folder's scripts, each with its script and the seconds of its last run."""
    paper = papers()[folder]
    own = paper.get("ours", False)
    rows: list[Row] = []
    for script, run in sorted(runs.items()):
        if script.split(".")[1] == folder:
            known = {"script": script, "seconds": run["seconds"]}
            rows += [{**row, **known, "ours": own or row.get("ours")} for row in run["rows"]]
    for row in rows:
        changed = joint(row) or one_reading(row, rows, paper.get("readings", []))
        yield {**row, "short": otherwise(row), **changed}


def otherwise(row: Row) -> str:
    """The verdict of the short command beside a row, if it is another."""
    found = short().get(command(row)[0].strip("`"), {}).get(row["text"], "")
    return "" if found == row["verdict"] else found


# ---- verdicts that rows together decide ----------------------------------------------------------


def joint(row: Row) -> dict[str, str]:
    """Open in place of refuted, if fewer than half of a row's cells are outside."""
    counts = re.search(
        r"of (\d+) (?:within ±|above )[\d.]+, (\d+) (?:beyond|below)", row["measured"]
    )
    if row["verdict"] != REFUTED or counts is None or 2 * int(counts[2]) >= int(counts[1]):
        return {}
    return {"verdict": OPEN, "said": f"open: outside in {counts[2]} of {counts[1]} cells alone"}


def one_reading(row: Row, rows: Sequence[Row], readings: Sequence[Mapping[str, str]]) -> Row:
    """Open in place of refuted, if another reading of the same words is not refuted.

    A reading is a text with {} for what its rows have in common with those of the others.
    """
    if row["verdict"] != REFUTED:
        return {}
    verdict_of = {one["text"]: one["verdict"] for one in rows}
    for group in readings:
        for pattern in group.values():
            begin, placed, _ = pattern.partition("{}")
            if not placed or not row["text"].startswith(begin):
                continue
            rest = row["text"].removeprefix(begin)
            texts = {other: form.replace("{}", rest) for other, form in group.items()}
            others = {
                other: verdict_of[text] for other, text in texts.items() if text in verdict_of
            }
            if set(others.values()) - {REFUTED}:
                return {"verdict": OPEN, "said": by_reading(others)}
    return {}


def by_reading(found: Mapping[str, str]) -> str:
    """What comes out under which reading."""
    words = sorted(set(found.values()), key=[REFUTED, *VERDICTS].index)
    return "; ".join(
        f"{verdict} under {', under '.join(name for name in found if found[name] == verdict)}"
        for verdict in words
    )


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
    return "\n".join([HEAD, summary(runs), toctree(), RULE, SOURCES, ran(runs)])


def summary(runs: Runs) -> str:
    """How many items each paper has, and how many checks of each verdict, ours apart."""
    lines = ["| paper | items | " + " | ".join(VERDICTS) + " | ours |", "|" + "---|" * 7]
    for folder, paper in papers().items():
        rows = list(rows_of(runs, folder))
        found = Counter(row["verdict"] for row in stated(rows))
        counts = [str(found[verdict]) for verdict in VERDICTS]
        name = f"[{paper['title']}](claims/{folder}.md)"
        own = Counter(word(row["verdict"], True) for row in rows if is_own(row))
        ours = ", ".join(f"{verdict}: {count}" for verdict, count in sorted(own.items())) or "–"
        lines.append(f"| {name} | {len(paper['items'])} | {' | '.join(counts)} | {ours} |")
    return "\n".join(lines) + "\n"


def toctree() -> str:
    names = "\n".join(f"claims/{folder}" for folder in papers())
    return f"```{{toctree}}\n:hidden:\n\n{names}\n```\n"


def paper_page(runs: Runs, folder: str) -> str:
    """A paper's page: a verdict an item, the picture, each item with its evidence, our own."""
    paper, rows = papers()[folder], list(rows_of(runs, folder))
    shown = rows if paper.get("ours") else stated(rows)
    items = {item: [r for r in shown if r["item"] == item] for item in paper["items"]}
    notes = paper.get("notes", {})
    parts = [f"# {paper['title']}\n", verdicts(paper["items"], items), picture(folder)]
    parts += [terms(paper.get("terms", {})), scripts_of(rows)]
    parts += [told(item, paper["items"][item], of, notes.get(item)) for item, of in items.items()]
    parts += [own_rows([row for row in rows if row not in shown]), checked(rows)]
    parts.append(
        "\n[All papers, the rule of a verdict, and when the scripts were run](../claims.md).\n"
    )
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
    by = Counter(row["said"] for row in rows if row.get("said"))
    said = "".join(f". {checks_in(n)}: {one}" for one, n in by.items())
    if refuted:
        part = "" if refuted == len(rows) else " in part"
        cured = ", holds as corrected" if corrected else ""
        return f"**refuted{part}**{cured} (by {refuted} of {len(rows)} checks){said}"
    if unknown:
        rest = ", the others hold" if unknown < len(rows) else ""
        return f"**open** ({unknown} of {len(rows)} checks{rest}){said}"
    if corrected:
        rest = f" ({as_printed} of {len(rows)} checks as printed)" if as_printed else ""
        return f"**holds as corrected**{rest}"
    holds = word(VERDICTS[0], is_own(rows[0]))
    return f"**{holds}** ({checks_in(len(rows))})"


def picture(folder: str) -> str:
    """The paper's picture, if there is one."""
    text = quick()["pictures"].get(folder)
    return f"![{text}](../pictures/claims/{folder}.png)\n\n*{text}*\n" if text else ""


def terms(words: Mapping[str, str]) -> str:
    """The names that the rows use."""
    lines = [f"- *{escaped(name)}*: {escaped(text)}" for name, text in words.items()]
    return "\n".join(["## Terms\n", *lines]) + "\n" if words else ""


def scripts_of(rows: Sequence[Row]) -> str:
    """What each script does, by the first sentence of its docstring."""
    lines = ["## What was done\n", "With `--output folder` a script also leaves its figures.\n"]
    for script in sorted({row["script"] for row in rows}):
        doc = ast.get_docstring(ast.parse(source(script).read_text("utf-8"))) or ""
        lines.append(f"- `{script[9:]}`: {' '.join(doc.split(chr(10) * 2)[0].split())}")
    return "\n".join(lines) + "\n"


def told(item: str, printed: str, rows: Sequence[Row], note: str | None = None) -> str:
    """An item: what is stated, what came out, how to check it, and all rows."""
    lines = [f"## {item[:1].upper()}{item[1:]}\n", f"*Stated*: {printed}.\n"]
    if not rows:
        return "\n".join([*lines, "*Found*: only this library's assertions, below.\n"])
    lines += [f"*Found*: {verdict(rows)}.\n", *([f"{note}\n"] if note else []), how(rows)]
    notable = [row for row in rows if row["verdict"] != VERDICTS[0]]
    others = [row for row in rows if row not in notable]
    lines += [table(notable)] if notable else []
    lines += [
        unfolded(f"{checks_in(len(others))} that hold{'s' * (len(others) == 1)}", table(others))
    ]
    return "\n".join(lines if others else lines[:-1])


def checks_in(count: int) -> str:
    return f"{count} check{'s' * (count > 1)}"


def how(rows: Sequence[Row]) -> str:
    """The commands that reach the rows, each with how many of them, and how many it turns."""
    found = Counter(command(row) for row in rows)
    lines = []
    for (text, seconds, cut), count in found.items():
        part = f": {count} of {len(rows)} checks" if len(found) > 1 else ""
        turns = turned_in(text, rows)
        other = f"; of {'these' if count > 1 else 'this'} {count} it turns {turns}" if turns else ""
        lines.append(f"* *Check*{part}: {text} ({seconds}; {cut or 'the full run'}{other})")
    return "\n".join(lines) + "\n"


def turned_in(text: str, rows: Sequence[Row]) -> str:
    """Of how many of a command's rows it gives another verdict, by verdict."""
    turned = [row for row in rows if row.get("short") and command(row)[0] == text]
    others = Counter(word(row["short"], is_own(row)) for row in turned)
    return ", ".join(f"{count} to {verdict}" for verdict, count in sorted(others.items()))


def command(row: Row) -> tuple[str, str, str]:
    """What prints a row's claim, how long it takes, and what it leaves out; else the full run."""
    for check in checks().get(row["script"], []):
        if re.search(check.get("rows", ""), row["text"]):
            return f"`{check['command']}`", lasting(check["seconds"]), check["cut"]
    return f"`python -m {row['script']}`", lasting(row["seconds"]), ""


def lasting(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


@cache
def quick() -> dict[str, dict[str, Any]]:
    """examples/checks.toml."""
    return tomllib.loads(CHECKS.read_text(encoding="utf-8"))


@cache
def short() -> dict[str, dict[str, str]]:
    """The verdicts of the short commands: see ``python -m examples.reproduce --short``."""
    found: dict[str, dict[str, str]] = json.loads(SHORT.read_text(encoding="utf-8"))
    return found


def checks() -> dict[str, list[dict[str, Any]]]:
    """The commands in place of full runs of more than a minute, by script."""
    found: dict[str, list[dict[str, Any]]] = quick()["checks"]
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
        evidence = "; ".join(filter(None, (f"`{row['script'][9:]}`", seeds(row["evidence"]))))
        cells = [escaped(row["text"]), escaped(plain(row["measured"]))]
        cells += [row.get("said") or word(row["verdict"], is_own(row))]
        cells[-1] += f" (short: {word(row['short'], is_own(row))})" if row.get("short") else ""
        cells[-1] += note
        cells += [escaped(turned_by(row))] if turns else []
        lines.append(row_of(*cells, evidence))
    return "\n".join(lines) + "\n"


def seeds(evidence: str) -> str:
    """The evidence without the names of figures, which a script leaves where it is told to."""
    return re.sub(r"[,;]? ?figures? [\w.]+\.png((, | and )[\w.]+\.png)*", "", evidence)


# What the scripts print of several cells, as the page has it.
WORDS = (
    (r"logarithms; (\d+ of \d+) within ±0\.405, ", r"\1 within a factor 1.5, "),
    (
        r"(\d+ of \d+) (within|above) ([^,]+), (\d+) (beyond|below)",
        r"\1 surely \2 \3, \4 surely \5",
    ),
)


def plain(measured: str) -> str:
    """What was measured, in words."""
    for pattern, words in WORDS:
        measured = re.sub(pattern, words, measured)
    return measured


def turned_by(row: Row) -> str:
    """What would turn the verdict, in words."""
    text = str(row.get("turns", ""))
    moved = re.fullmatch(r"a shift by ([+−])([\d.]+)", text)
    if moved and "logarithms" in row["measured"]:
        return f"numbers × {np.exp(float(moved[2]) * (1 if moved[1] == '+' else -1)):.2f}"
    if moved:
        return f"{'higher' if moved[1] == '+' else 'lower'} by {moved[2]}"
    return "no number added to all of them" if text == "no common shift" else text


def row_of(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def escaped(text: str) -> str:
    """Text without emphasis: w* is a minimiser."""
    return text.replace("*", "\\*")


def own_rows(rows: Sequence[Row]) -> str:
    """What no paper states."""
    if not rows:
        return ""
    lines = ["## What only this library asserts\n", verdict(rows).capitalize() + ".\n", how(rows)]
    title = f"all {len(rows)} checks" if len(rows) > 1 else "the check"
    return "\n".join([*lines, unfolded(title, table(rows))])


def checked(rows: Sequence[Row]) -> str:
    """The commands of a paper, together, and its full runs."""
    lines = ["## How to check\n"]
    lines += [
        "From the repository root. Short commands in CPU seconds of one thread, full runs in "
        "seconds of the last one by the clock.\n"
    ]
    names = ("command", "time", "rows it reaches", "rows it turns", "smaller than the full run")
    lines += [row_of(*names), "|" + "---|" * len(names)]
    found = Counter(command(row) for row in rows)
    whole = {(f"`python -m {r['script']}`", lasting(r["seconds"]), ""): r["script"] for r in rows}
    for line, script in whole.items():
        if line not in found:
            found[line] = sum(row["script"] == script for row in rows)
    for (text, seconds, cut), count in sorted(found.items()):
        lines.append(
            row_of(text, seconds, str(count), turned_in(text, rows) or "–", cut or "the full run")
        )
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


def standings(text: str, runs: Runs) -> str:
    """The overview, before its table how many scripts' rows are of older sources."""
    old = sum(standing(name, run).startswith("older") for name, run in runs.items())
    said = f"The rows of {old} of {len(runs)} scripts are of older sources than this manual's.\n"
    return text.replace("| paper |", f"{said}\n| paper |", 1)


def with_standing(text: str, runs: Runs, folder: str) -> str:
    """A paper's page, below its title whether its rows are of the sources at hand."""
    of = {name: run for name, run in sorted(runs.items()) if name.split(".")[1] == folder}
    lines = [f"* `{name[9:]}`: {standing(name, run)}" for name, run in of.items()]
    said = "\n".join(("Rows, compared with the sources of this manual:\n", *lines))
    title = f"# {papers()[folder]['title']}\n"
    return text.replace(title, f"{title}\n{said}\n", 1)
