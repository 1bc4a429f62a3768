"""Cases in a few processes, each of which may hang, crash or be killed without harm."""

from __future__ import annotations

import multiprocessing as mp
import time
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from tests.fuzz.cases import ALARM, judged
from tests.fuzz.report import Report

__all__ = ["reports"]

# Seconds by the clock until a process is ended, whose alarm no Python code hears, or which waits.
PATIENCE = 10 * ALARM


class _Worker:
    """A process, what it works on, and since when."""

    def __init__(self) -> None:
        context: Any = mp.get_context("spawn")
        ours, theirs = context.Pipe()
        self.pipe: Connection = ours
        self.process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        self.case = ""
        self.since = 0.0

    def give(self, case: str) -> None:
        self.case, self.since = case, time.monotonic()
        self.pipe.send(case)

    def answer(self) -> Report:
        """The report; a failure if the process died over the case."""
        case, self.case = self.case, ""
        try:
            report: Report = self.pipe.recv()
        except EOFError:
            self.process.join(ALARM)  # its pipe is closed before it has ended
            report = Report("crash", case=case)
            report.fail("a crash of the process", f"exit code {self.process.exitcode}")
        return report

    def end(self) -> None:
        self.process.kill()
        self.process.join()


def _serve(pipe: Connection) -> None:
    while True:
        try:
            case = pipe.recv()
        except EOFError:
            return
        pipe.send(judged(case))


def reports(cases: Sequence[str], processes: int, minutes: float | None) -> Iterator[Report]:
    """The reports of the cases, as they come; no new ones after so many minutes."""
    end = time.monotonic() + 60 * minutes if minutes else float("inf")
    queue = list(reversed(cases))
    workers = [_Worker() for _ in range(min(processes, len(cases)))]
    try:
        while True:
            for worker in workers:
                if not worker.case and queue and time.monotonic() < end:
                    worker.give(queue.pop())
            busy = [w for w in workers if w.case]
            if not busy:
                return
            ready = wait([w.pipe for w in busy], timeout=1.0)
            for place, worker in enumerate(workers):
                if worker.pipe in ready:
                    yield worker.answer()
                    if not worker.process.is_alive():
                        workers[place] = _Worker()
                elif worker.case and time.monotonic() - worker.since > PATIENCE:
                    report = Report("hang", case=worker.case)
                    report.fail("hang", "the process had to be ended")
                    worker.end()
                    workers[place] = _Worker()
                    yield report
    finally:
        for worker in workers:
            worker.end()
