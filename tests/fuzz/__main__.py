"""``python -m tests.fuzz --seed 0``: counts by outcome, and every failure with its case.

``python -m tests.fuzz --only bounds --bounds 5000 --processes 1`` runs cases of one kind alone. A
case is run again by its name: ``python -m tests.fuzz --case problems:123``. Its seed is
in its number: case i of seed s is s·count + i.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable

from tests.fuzz.cases import judged
from tests.fuzz.pool import reports
from tests.fuzz.report import Report

COUNTS = {"problems": 500, "fits": 2200, "faults": 290, "bounds": 500, "blocks": 60}


def main(arguments: list[str] | None = None) -> int:
    """Run the cases of a seed, or single ones; 1 if any failed."""
    options = _parser().parse_args(arguments)
    if options.case:
        done = [judged(case) for case in options.case]
        for report in done:
            print(f"{report.case}: {report.outcome} in {report.seconds:.1f} s", *report.remarks)
            print(*(f"  {failure}" for failure in report.failures), sep="\n")
        return int(any(report.failures for report in done))
    begun = time.monotonic()
    cases = [
        f"{kind}:{options.seed * count + i}"
        for kind, count in ((k, getattr(options, k)) for k in options.only)
        for i in range(count)
    ]
    done = list(_told(reports(_mixed(cases), options.processes, options.minutes)))
    _summary(done, time.monotonic() - begun)
    return int(any(report.failures for report in done))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    for kind, count in COUNTS.items():
        parser.add_argument(f"--{kind}", type=int, default=count, metavar="N")
    parser.add_argument("--only", nargs="+", choices=COUNTS, default=list(COUNTS))
    parser.add_argument("--minutes", type=float, help="start no case after so many")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--case", nargs="+", help="such as problems:123; run here, alone")
    return parser


def _mixed(cases: list[str]) -> list[str]:
    """All kinds side by side, so that a run cut short has seen some of each."""
    total = Counter(case.partition(":")[0] for case in cases)
    seen: Counter[str] = Counter()
    places = []
    for case in cases:
        kind = case.partition(":")[0]
        places.append(seen[kind] / total[kind])
        seen[kind] += 1
    return [case for _, case in sorted(zip(places, cases, strict=True))]


def _told(stream: Iterable[Report]) -> Iterable[Report]:
    """The same reports; failures are printed as they come."""
    for report in stream:
        for failure in report.failures:
            print(f"{report.case}: {failure}", flush=True)
        yield report


def _summary(done: list[Report], seconds: float) -> None:
    for kind in COUNTS:
        mine = [r for r in done if r.case.startswith(f"{kind}:")]
        outcomes = Counter(r.outcome for r in mine)
        print(f"\n{len(mine)} {kind}:", ", ".join(f"{n} {o}" for o, n in outcomes.most_common()))
        for label, counted in (
            ("failure", Counter(f.partition(":")[0] for r in mine for f in r.failures)),
            ("remark", Counter(remark for r in mine for remark in r.remarks)),
        ):
            for text, n in counted.most_common():
                print(f"  {label:8} {n:5}  {text}")
        slowest = max(mine, key=lambda r: r.seconds, default=None)
        if slowest is not None:
            print(f"  slowest  {slowest.case}, {slowest.seconds:.1f} s")
    failed = sum(bool(r.failures) for r in done)
    print(f"\n{failed} of {len(done)} cases failed, in {seconds:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
