"""Run every script that verifies a theorem or reproduces a table; write docs/claims.md.

The scripts are ``examples/*/verify_*.py`` and ``examples/*/reproduce*.py``, the quick ones first.
A script is run again only if its arguments or what its rows rest on have changed since its last run
here (kept in ``.reproduce``, with its output), and what has changed is printed: see
``examples/common/sources.py``. Stopped half way, the next call goes on. What does not fit into
``--hours`` keeps its last rows, and the end of the output says so. With ``--jobs 2`` two scripts
run at a time.

Run ``python -m examples.reproduce``; with ``--status`` it runs nothing, and says which rows of the
page are current; with ``--short`` it runs the commands of ``examples/checks.toml``, and the pages
then show where their verdicts are others. The exit status is 0 if every verdict is the expected one
(a paper's claim that is refuted as expected among them), 1 if one is another, or if what was
decided at the last run is now decided otherwise or open, or a script has failed. What was open and
is now decided as expected is printed, too.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from multiprocessing.pool import ThreadPool
from typing import Any

from examples.claims_page import (
    OPEN,
    PAGE,
    RECORD,
    ROOT,
    SHORT,
    checks,
    missing,
    pages,
    short,
    standing,
)
from examples.common.claims import ROWS
from examples.common.sources import Sources, differing, named, source, sources_of

CACHE = ROOT / ".reproduce"
UNKNOWN = 60.0  # seconds taken for a script that has never run


@dataclass(frozen=True)
class Run:
    """What a script's last run left, and what it rests on."""

    arguments: list[str]
    seconds: float
    date: str
    rows: list[dict[str, Any]]
    sources: Sources = field(default_factory=dict)


def scripts() -> list[str]:
    """The modules to run."""
    folder = ROOT / "examples"
    paths = [*folder.glob("*/verify_*.py"), *folder.glob("*/reproduce*.py")]
    return sorted(f"examples.{path.parent.name}.{path.stem}" for path in paths)


def arguments_of(module: str, full: bool) -> list[str]:
    return ["--full"] if full and "--full" in source(module).read_text("utf-8") else []


# ---- what is known -------------------------------------------------------------------------------


def recorded() -> dict[str, Run]:
    """The rows that came with the repository."""
    if not RECORD.is_file():
        return {}
    found = json.loads(RECORD.read_text(encoding="utf-8"))
    return {module: Run(**run) for module, run in found.items()}


def cached(module: str) -> Run | None:
    """The last run on this machine."""
    path = CACHE / f"{module}.json"
    return Run(**json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None


def record(known: dict[str, dict[str, Any]]) -> str:
    """JSON with a line a row, so that a difference shows which claims have changed."""
    parts = []
    for module, run in known.items():
        rows = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in run["rows"])
        head = json.dumps({name: run[name] for name in ("arguments", "seconds", "date", "sources")})
        parts.append(f'{json.dumps(module)}: {head[:-1]}, "rows": [\n  {rows}\n ]}}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def write(runs: dict[str, Run]) -> None:
    """The record and the pages; nothing in them says when they were written."""
    known = {module: asdict(run) for module, run in sorted(runs.items())}
    RECORD.write_text(record(known), encoding="utf-8")
    for name, text in pages(known).items():
        path = PAGE.parent / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


# ---- running -------------------------------------------------------------------------------------


def execute(module: str, arguments: list[str], limit: float | None) -> tuple[Run | None, int]:
    """Run a script, its output to a file; None if it left no claims, and its exit status."""
    CACHE.mkdir(exist_ok=True)
    rows = CACHE / f"{module}.rows"
    rows.unlink(missing_ok=True)
    begun = time.perf_counter()
    with (CACHE / f"{module}.log").open("w", encoding="utf-8") as log:
        status = subprocess.run(
            [sys.executable, "-m", module, *arguments],
            cwd=ROOT,
            env={**os.environ, ROWS: str(rows)},
            stdout=log,
            stderr=subprocess.STDOUT,
            timeout=limit,
            check=False,
        ).returncode
    if not rows.is_file():
        return None, status
    seconds = round(time.perf_counter() - begun, 1)
    found = json.loads(rows.read_text(encoding="utf-8"))
    return Run(arguments, seconds, date.today().isoformat(), found), status


def with_last(run: Run, last: Run | None) -> Run:
    """The run, with the last rows of what it left out as the data are absent.

    A row that was not run stands for the last one of its text, or else for all of its item. What is
    kept is marked, as it rests on the sources of that time.
    """
    new = [row["text"] for row in run.rows if row["ran"]]
    last_rows = last.rows if last else []
    before = [{**row, "kept": True} for row in last_rows if row["text"] not in new and row["ran"]]
    rows: list[dict[str, Any]] = []
    for row in run.rows:
        of = [old for old in before if old["item"] == row["item"]]
        same = [old for old in of if old["text"] == row["text"]]
        kept = [row] if row["ran"] else same or of or [row]
        rows += [one for one in kept if one not in rows]
    return replace(run, rows=rows)


def turned(run: Run, last: Run | None) -> tuple[list[str], list[str]]:
    """Verdicts other than those of the last run with the same arguments.

    First those that were decided then, and second those that were open.
    """
    if last is None or last.arguments != run.arguments:
        return [], []
    before = {row["text"]: row["verdict"] for row in last.rows if row["ran"]}
    rows = [row for row in run.rows if row["ran"] and row["text"] in before]
    others = [row for row in rows if row["verdict"] != before[row["text"]]]
    found: tuple[list[str], list[str]] = [], []
    for row in others:
        was = before[row["text"]]
        found[was == OPEN].append(f"{row['text']}: {was} before, now {row['verdict']}")
    return found


def shown(seconds: float) -> str:
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{max(minutes, 1)} min"


def reason(last: Run | None, arguments: list[str], sources: Sources) -> str:
    """Why a script is to be run again; empty if its last run here still stands."""
    if last is None or not last.sources:
        return "no run here is known"
    if last.arguments != arguments:
        return f"its arguments were {' '.join(last.arguments) or 'none'}"
    changed = differing(last.sources, sources)
    return f"changed since {last.date}: {named(changed)}" if changed else ""


@dataclass(frozen=True)
class Job:
    """A script that is to be run, and why."""

    module: str
    arguments: list[str]
    sources: Sources
    why: str
    guess: float


def waiting(chosen: Sequence[str], runs: dict[str, Run], options: argparse.Namespace) -> list[Job]:
    """The scripts to run again, the quick ones first; of the others the last run here is taken."""
    todo = []
    for module in chosen:
        arguments = arguments_of(module, options.full)
        sources, last = sources_of(module), cached(module)
        why = reason(last, arguments, sources)
        guess = runs[module].seconds if module in runs else UNKNOWN
        if last is not None and not why and not options.force:
            runs[module] = with_last(last, runs.get(module))
            print(f"{module}: as of {last.date}, nothing has changed since")
        else:
            todo.append(Job(module, arguments, sources, why or "asked for", guess))
    return sorted(todo, key=lambda job: job.guess)


def run_short(chosen: Sequence[str]) -> dict[str, dict[str, str]]:
    """The verdicts of the commands of examples/checks.toml, on the rows they stand beside."""
    commands = [check["command"] for found in checks().values() for check in found]
    verdicts = {text: of for text, of in short().items() if text in commands}
    for module in [module for module in chosen if module in checks()]:
        for check in checks()[module]:
            text = check["command"]
            told(text)
            run, _ = execute(module, text.split()[3:], None)
            rows = [row for row in run.rows if row["ran"]] if run else []
            reached = [row for row in rows if re.search(check.get("rows", ""), row["text"])]
            verdicts[text] = {row["text"]: row["verdict"] for row in reached}
    return verdicts


def run_all(chosen: Sequence[str], options: argparse.Namespace) -> tuple[dict[str, Run], list[str]]:
    """The runs of all scripts, and what went otherwise than expected."""
    runs = {module: run for module, run in recorded().items() if module in scripts()}
    trouble: list[str] = []
    todo = waiting(chosen, runs, options)
    end = time.monotonic() + 3600 * options.hours
    told(f"{len(todo)} scripts to run, about {shown(sum(job.guess for job in todo))} in all")

    def ended(job: Job) -> tuple[Job, Run | None, int | None]:
        """The job's run and its exit status; no status if the time was too short."""
        room, over = end - time.monotonic(), f"{options.hours:g} hours"
        if job.guess > room:
            told(f"{job.module}: does not fit into {over}: {kept(job)}")
            return job, None, None
        told(f"{job.module}: {shown(job.guess)}\n    {job.why}")
        try:
            limit = None if room == float("inf") else room
            return job, *execute(job.module, job.arguments, limit)
        except subprocess.TimeoutExpired:
            told(f"{job.module}: stopped, the {over} are over: {kept(job)}")
            return job, None, None

    def kept(job: Job) -> str:
        return "its last rows are kept" if job.module in runs else "it has no rows yet"

    # Of several at a time the long ones begin first, so that none is left to run alone.
    order = todo if options.jobs == 1 else todo[::-1]
    with ThreadPool(options.jobs) as workers:
        for done, (job, run, status) in enumerate(workers.imap_unordered(ended, order), 1):
            if run is not None:
                told(f"[{done} of {len(todo)}] {job.module}: {counted(run)}")
                trouble += taken(runs, job, run, status or 0)
                if not options.keep:
                    write(runs)
            elif status is not None:
                told(f"{job.module}: left no claims, exit status {status}: {kept(job)}")
                trouble += [f"{job.module}: exit status {status}"] if status else []
    return runs, trouble


def counted(run: Run) -> str:
    right = sum(row["as_expected"] for row in run.rows)
    return f"{right} of {len(run.rows)} as expected, {run.seconds:g} s"


def taken(runs: dict[str, Run], job: Job, run: Run, status: int) -> list[str]:
    """Take a run among the others and, if nothing failed, keep it here; what went otherwise."""
    module, last = job.module, runs.get(job.module)
    wrong = [row["text"] for row in run.rows if not row["as_expected"]]
    lost, decided = turned(run, last)
    for text in decided:
        told(f"    {text}")
    trouble = [f"{module}: {text}" for text in [*lost, *wrong]]
    run = replace(run, sources=job.sources)
    runs[module] = with_last(run, last)
    if not status and not wrong:  # what failed is run again
        record = json.dumps(asdict(run), ensure_ascii=False)
        (CACHE / f"{module}.json").write_text(record, encoding="utf-8")
    return trouble + ([f"{module}: exit status {status}"] if status and not wrong else [])


def told(line: str) -> None:
    """Print a line whole, whatever else prints at the same time."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def said(title: str, lines: Iterable[str]) -> None:
    print(f"\n{title}\n  " + "\n  ".join(lines))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, write the page; 0 if every verdict is the expected one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("only", nargs="*", help="parts of the modules' names; all scripts if none")
    parser.add_argument("--hours", type=float, default=float("inf"), help="what may be spent")
    parser.add_argument("--jobs", type=int, default=1, help="scripts that run at the same time")
    parser.add_argument("--full", action="store_true", help="the long versions")
    parser.add_argument("--force", action="store_true", help="run what has not changed, too")
    parser.add_argument("--page", action="store_true", help="write the pages from the last rows")
    parser.add_argument("--keep", action="store_true", help="leave docs/ as it is")
    parser.add_argument("--short", action="store_true", help="run the short commands alone")
    parser.add_argument("--status", action="store_true", help="say which rows are current")
    options = parser.parse_args(arguments)
    begun = time.monotonic()
    chosen = [m for m in scripts() if not options.only or any(part in m for part in options.only)]
    if options.short:
        text = json.dumps(run_short(chosen), ensure_ascii=False, indent=1)
        SHORT.write_text(text + "\n", encoding="utf-8")
        short.cache_clear()
    if options.page or options.short:
        write(recorded())
        return 0
    if options.status:
        known = {module: asdict(run) for module, run in recorded().items() if module in chosen}
        print("\n".join(f"{module}: {standing(module, run)}" for module, run in known.items()))
        return 0
    runs, trouble = run_all(chosen, options)
    if not options.keep:
        write(runs)
        print(f"\n{PAGE.relative_to(ROOT)}, {RECORD.relative_to(ROOT)}")
    known = {module: asdict(run) for module, run in runs.items()}
    gaps = [] if options.only else missing(known)
    if gaps:
        said("Items without a row, or rows without an item:", gaps)
    if trouble:
        said("Otherwise than expected:", trouble)
    print(f"\n{len(chosen)} scripts, {shown(time.monotonic() - begun)}")
    return int(bool(trouble or gaps))


if __name__ == "__main__":
    sys.exit(main())
