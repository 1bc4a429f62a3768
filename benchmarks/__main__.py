"""``make bench``: every comparison with a peer in one table, and time against n, p and k.

Each line is CPU time of the peer over ours in one process, at objectives recomputed in NumPy.
Peers that are not installed (``pip install -e ".[bench]"``) are skipped by name. The table goes
into ``benchmarks/RESULTS.md``, the plots into ``benchmarks/plots``.

    python -m benchmarks                minutes
    python -m benchmarks --full         all sizes, about an hour
    python -m benchmarks --only bench_race bench_front_door
    python -m benchmarks --dry          print, write nothing
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.growth import draw
from benchmarks.line import HEADER, Line, is_installed

HERE = Path(__file__).parent
RESULTS, PLOTS = HERE / "RESULTS.md", HERE / "plots"
MODULES = (
    "bench_front_door",
    "bench_scale",
    "bench_reweighting",
    "bench_sparse_paths",
    "bench_rescaled_hinge",
    "bench_angle_path",
    "bench_race",
    "bench_rlm",
)
PEERS = {"dccp": "DCCP", "skglm": "skglm", "statsmodels": "statsmodels"}
BEGIN, END = "<!-- the table of `make bench` -->", "<!-- its end -->"


def lines(modules: list[str], full: bool) -> Iterator[tuple[str, Line]]:
    """The lines of some benchmarks, as they are measured."""
    for name in modules:
        for line in importlib.import_module(f"benchmarks.{name}").lines(full):
            yield name, line


def skipped() -> list[str]:
    """Peers that are not there."""
    return [peer for module, peer in PEERS.items() if not is_installed(module)]


def section(found: list[tuple[str, Line]], full: bool) -> str:
    """The table, as it stands in the results."""
    threads = os.environ.get("OMP_NUM_THREADS", "all")
    absent = ", ".join(skipped()) or "none"
    rows = "\n".join(line.markdown for _, line in found)
    named = [line for _, line in found if line.goal is not None]
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


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="all sizes")
    parser.add_argument("--only", nargs="+", choices=MODULES, default=list(MODULES))
    parser.add_argument("--dry", action="store_true", help="write nothing")
    options = parser.parse_args()
    for peer in skipped():
        print(f"{peer} is not installed: its lines are skipped")
    print(HEADER)
    found = []
    for name, line in lines(options.only, options.full):
        print(line, flush=True)
        found.append((name, line))
    whole = set(options.only) == set(MODULES)
    if not options.dry and whole:
        write(section(found, options.full))
    if not options.dry:
        for path in draw(PLOTS, options.full):
            print(path)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
