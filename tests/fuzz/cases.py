"""Cases by name: problems:17, fits:3, faults:200, bounds:4, blocks:5; each runs under an alarm."""

from __future__ import annotations

import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.fuzz import run_blocks, run_bounds, run_faults, run_fits, run_problems
from tests.fuzz.report import Hang, Report

__all__ = ["ALARM", "RUNS", "judged"]

ALARM = 40  # CPU seconds: on a busy machine a case takes longer by the clock

RUNS: dict[str, Callable[[int], Report]] = {
    "problems": run_problems.run,
    "fits": run_fits.run,
    "faults": run_faults.run,
    "bounds": run_bounds.run,
    "blocks": run_blocks.run,
}


def judged(case: str) -> Report:
    """The report of a case; a hang and a mistake of the fuzzer's own are failures too."""
    kind, _, number = case.partition(":")
    if kind not in RUNS or not number.isdigit():
        raise ValueError(f"{case!r}: a case is one of {', '.join(RUNS)}, a colon and a number")
    begun = time.perf_counter()
    with warnings.catch_warnings(), _alarm():
        warnings.simplefilter("ignore")
        try:
            report = RUNS[kind](int(number))
        except Hang as hang:
            report = Report("hang")
            frames = traceback.extract_tb(hang.__traceback__)
            report.fail("hang", " < ".join(f.name for f in reversed(frames[-8:])))
        except Exception:
            report = Report("fuzzer")
            report.fail("a mistake of the fuzzer", traceback.format_exc(limit=-4))
    report.case, report.seconds = case, time.perf_counter() - begun
    return report


@contextmanager
def _alarm() -> Iterator[None]:
    """Raise Hang where the case takes too long; nothing on systems without alarms."""
    if not hasattr(signal, "SIGPROF"):
        yield
        return

    def ring(*_: Any) -> None:
        raise Hang

    former = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, ALARM)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, former)
