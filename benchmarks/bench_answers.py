"""Does ``dc.solve`` reach the known optimum of small problems of the literature?

A line a problem and seed that misses or takes long, and a summary for each seed: how many problems
end within 1e-4 of the optimum, relative to max(1, |optimum|), at a point that misses no constraint
by more than 1e-5 of its terms, and the CPU seconds of all.

    python -m benchmarks.bench_answers                    the default, seeds 0, 1, 2
    python -m benchmarks.bench_answers --plain            one run from the convex start
    python -m benchmarks.bench_answers --effort high --seeds 5 6
    python -m benchmarks.bench_answers --further          problems without boxes, and larger ones
    python -m benchmarks.bench_answers --further --only hs56 hs111 --all    every line of these
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import cvxpy as cp
import numpy as np

import dcprog as dc
from benchmarks.further_problems import FURTHER
from benchmarks.global_problems import CONTINUOUS, GlobalProblem
from benchmarks.runner import timed

NEAR, FEASIBLE = 1e-4, 1e-5
LIMIT = 60.0  # seconds a problem, on a machine that has little else to do
LONG = 10.0  # seconds from which a line is printed


def miss(known: GlobalProblem, result: Any) -> float:
    """The distance of a result above the optimum; infinite if it misses a constraint."""
    sign = -1.0 if isinstance(known.make().objective, cp.Maximize) else 1.0
    if not result.relative_violation <= FEASIBLE:
        return np.inf
    return float(sign * (result.value - known.optimum) / max(1.0, abs(known.optimum)))


def measured(
    problems: list[GlobalProblem], seed: int, options: dict[str, Any], least: float = LONG
) -> str:
    """The summary of a seed; misses, and problems of at least so many seconds, as they come."""
    reached, spent = 0, 0.0
    for known in problems:
        problem = known.make()
        result, seconds = timed(
            lambda problem=problem: dc.solve(
                problem, random_state=seed, time_limit=LIMIT, **options
            )
        )
        above, spent = miss(known, result), spent + seconds
        reached += above <= NEAR
        if not above <= NEAR or seconds >= least:
            print(f"  {known.name:20} {above:9.2g} {result.status:18} {seconds:6.2f} s", flush=True)
    return f"seed {seed}: {reached} of {len(problems)} in {spent:.0f} s"


def main() -> None:
    """Print the summaries."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--effort", choices=("low", "default", "high"), default="default")
    parser.add_argument("--plain", action="store_true", help="one run from the convex start")
    parser.add_argument("--further", action="store_true", help="those of further_problems.py")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these problems")
    parser.add_argument("--all", action="store_true", help="a line for every problem")
    asked = parser.parse_args()
    options = {"start": "convex", "n_starts": 1} if asked.plain else {"effort": asked.effort}
    problems = [
        known
        for known in (FURTHER if asked.further else CONTINUOUS)
        if asked.only is None or known.name in asked.only
    ]
    for seed in asked.seeds:
        print(measured(problems, seed, options, 0.0 if asked.all else LONG), flush=True)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
