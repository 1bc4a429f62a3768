"""Small global optimisation problems of the literature: how fast, and is the bound ever wrong?

A line a problem: the status, CPU seconds, the best value found, the bound, the known optimum,
whether the bound is on its right side, and the gap. A bound beyond the optimum by more than
rounding is marked WRONG, and so is "infeasible"; a value better than the optimum by more than a
millionth is marked "better". The seconds of the first problem do not hold imports: one is solved
before.

    python -m benchmarks.bench_global                         ten seconds a problem at most
    python -m benchmarks.bench_global --only hs80 haverly2
    python -m benchmarks.bench_global --integer               those with integers alone
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass

import cvxpy as cp
import numpy as np

import dcprog as dc
from benchmarks.global_problems import CONTINUOUS, INTEGER, GlobalProblem
from benchmarks.runner import timed

ROUNDING = 1e-7  # of what the terms of F, or F itself, amount to
BETTER = 1e-6  # a point may miss its constraints by as much
FAST = 1.0  # CPU seconds
GAP = 1e-3

HEADER = (
    f"{'problem':20} {'n':>2} {'status':>11} {'CPU':>8} {'value':>15} {'bound':>15} "
    f"{'optimum':>15} {'bound is':>9} {'gap':>9}"
)


@dataclass(frozen=True)
class Line:
    """What came of a problem.

    `wrong` says that the bound, or "infeasible", contradicts the known optimum.
    """

    problem: GlobalProblem
    size: int
    status: str
    seconds: float
    value: float = np.nan
    bound: float = np.nan
    gap: float = np.nan
    wrong: bool = False
    note: str = ""

    @property
    def is_fast(self) -> bool:
        """Proved in time, and right."""
        return self.status == "proved" and self.seconds < FAST and not self.wrong

    def __str__(self) -> str:
        verdict = "WRONG" if self.wrong else "right" if np.isfinite(self.bound) else "–"
        return (
            f"{self.problem.name:20} {self.size:>2} {self.status:>11} {self.seconds:>7.2f}s "
            f"{self.value:>15.9g} {self.bound:>15.9g} {self.problem.optimum:>15.9g} {verdict:>9} "
            f"{self.gap:>9.2g}  {self.note}"
        ).rstrip()


def line(known: GlobalProblem, limit: float) -> Line:
    """Bound a problem, and compare to its optimum."""
    problem = known.make()
    size = sum(v.size for v in problem.variables())
    try:
        bound, seconds = timed(lambda: dc.lower_bound(problem, time_limit=limit, gap=GAP))
    except dc.NotBoundable as refusal:
        return Line(known, size, "refused", 0.0, note=f"{refusal.expression}: {refusal.reason}")
    except Exception as error:  # a defect: the other problems are still measured
        return Line(known, size, "failed", 0.0, note=f"{type(error).__name__}: {error}")
    sign = -1.0 if isinstance(problem.objective, cp.Maximize) else 1.0
    scale = max(1.0, abs(known.optimum), bound.scale if np.isfinite(bound.scale) else 0.0)
    above = sign * (bound.value - known.optimum)
    wrong = bool(above > ROUNDING * scale or bound.status == "infeasible")
    better = sign * (known.optimum - bound.objective) > BETTER * scale
    note = "better" if better else ""
    return Line(
        known, size, bound.status, seconds, bound.objective, bound.value, bound.gap, wrong, note
    )


def measured(problems: list[GlobalProblem], limit: float) -> list[Line]:
    """The lines of some problems, printed as they come, and their summary."""
    lines = []
    for known in problems:
        lines.append(line(known, limit))
        print(lines[-1], flush=True)
    fast, wrong = sum(one.is_fast for one in lines), sum(one.wrong for one in lines)
    proved = sum(one.status == "proved" and not one.wrong for one in lines)
    print(
        f"\nproved to {GAP:g} in under {FAST:g} s of CPU: {fast} of {len(lines)}; "
        f"in {limit:g} s: {proved}; wrong: {wrong}\n"
    )
    return lines


def main() -> None:
    """Print a line a problem."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [known.name for known in CONTINUOUS + INTEGER]
    parser.add_argument("--time-limit", type=float, default=10.0)
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME")
    parser.add_argument("--integer", action="store_true", help="problems with integers alone")
    options = parser.parse_args()
    first = cp.Variable(2, bounds=[-1, 1])
    dc.lower_bound(cp.Problem(cp.Minimize(first[0] * first[1])), time_limit=options.time_limit)
    print(HEADER)
    for problems in (INTEGER,) if options.integer else (CONTINUOUS, INTEGER):
        chosen = [known for known in problems if known.name in options.only]
        if chosen:
            measured(chosen, options.time_limit)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
