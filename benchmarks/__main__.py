"""One runner of all benchmarks: comparisons with peers in one table, and studies with their own.

A comparison is a module with ``cases``: each is solved by us and by its competitors, and a line is
CPU time of the competitor over ours (the median of some runs, in one process) at objectives
recomputed in NumPy. Peers that are not installed (``pip install -e ".[bench]"``) are skipped by
name. A study is a module with ``main``: its options follow its name.

    python -m benchmarks                      every comparison (``make bench``), minutes
    python -m benchmarks --full               all sizes, about an hour
    python -m benchmarks race rlm --full      some comparisons
    python -m benchmarks optima --help        a study

Every comparison together goes into ``benchmarks/RESULTS.md``, and time against n, p and k into
``benchmarks/plots``, unless ``--dry`` is given.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
import warnings
from pathlib import Path

import numpy as np

from benchmarks.growth import draw
from benchmarks.runner import HEADER, Line, is_installed, measured

HERE = Path(__file__).parent
RESULTS, PLOTS = HERE / "RESULTS.md", HERE / "plots"
COMPARISONS = (
    "front_door",
    "scale",
    "large",
    "reweighting",
    "sparse_paths",
    "rescaled_hinge",
    "angle_path",
    "race",
    "rlm",
)
STUDIES = sorted({f.stem.removeprefix("bench_") for f in HERE.glob("bench_*.py")} - {*COMPARISONS})
PEERS = {"dccp": "DCCP", "skglm": "skglm", "statsmodels": "statsmodels"}
BEGIN, END = "<!-- the table of `make bench` -->", "<!-- its end -->"


def skipped() -> list[str]:
    """Peers that are not there."""
    return [peer for module, peer in PEERS.items() if not is_installed(module)]


def table(names: list[str], full: bool) -> list[Line]:
    """The lines of some comparisons, printed as they are measured."""
    print(HEADER)
    found = []
    for name in names:
        for case in importlib.import_module(f"benchmarks.bench_{name}").cases(full):
            for line in measured(case):
                print(line, flush=True)
                found.append(line)
    return found


def section(found: list[Line], full: bool) -> str:
    """The table, as it stands in the results."""
    threads = os.environ.get("OMP_NUM_THREADS", "all")
    absent = ", ".join(skipped()) or "none"
    rows = "\n".join(line.markdown for line in found)
    named = [line for line in found if line.goal is not None]
    reached = sum(line.ratio >= line.goal for line in named if line.goal is not None)
    return f"""{BEGIN}
`python -m benchmarks{" --full" if full else ""}`: Python {platform.python_version()}, NumPy
{np.__version__}, BLAS threads: {threads}; peers that are not installed: {absent}. The ratio is CPU
time of the peer over ours, above 1 where ours is faster; {reached} of {len(named)} goals are
reached.

| case | peer | ratio | goal | F | F over the peer's | note |
|---|---|---|---|---|---|---|
{rows}
{END}"""


def write(text: str) -> None:
    """Put the table where the last one stood."""
    results = RESULTS.read_text(encoding="utf-8")
    before, _, rest = results.partition(BEGIN)
    if not rest:
        raise ValueError(f"{RESULTS} has no line {BEGIN!r}")
    RESULTS.write_text(before + text + rest.partition(END)[2], encoding="utf-8")


def main(given: list[str]) -> None:
    """Run a study, or measure, print and write."""
    if given and given[0].removeprefix("bench_") in STUDIES:
        name = given[0].removeprefix("bench_")
        sys.argv = [f"python -m benchmarks {name}", *given[1:]]
        importlib.import_module(f"benchmarks.bench_{name}").main()
        return
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"studies: {', '.join(STUDIES)}",
    )
    parser.add_argument("names", nargs="*", help=", ".join(COMPARISONS))
    parser.add_argument("--full", action="store_true", help="all sizes")
    parser.add_argument("--dry", action="store_true", help="write nothing")
    options = parser.parse_args(given)
    names = [name.removeprefix("bench_") for name in options.names] or list(COMPARISONS)
    unknown = [name for name in names if name not in COMPARISONS]
    if unknown:
        parser.error(f"{unknown}: comparisons are {COMPARISONS}, studies stand first and alone")
    for peer in skipped():
        print(f"{peer} is not installed: its lines are skipped")
    found = table(names, options.full)
    if set(names) == set(COMPARISONS) and not options.dry:
        write(section(found, options.full))
        for path in draw(PLOTS, options.full):
            print(path)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main(sys.argv[1:])
