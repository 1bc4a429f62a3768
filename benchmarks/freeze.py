"""What the automatic choice gives today, frozen as data, and what has changed since.

    python -m benchmarks.freeze --write     freeze: benchmarks/frozen.json, about five minutes
    python -m benchmarks.freeze             compare; ends with 1 if something is worse
    python -m benchmarks.freeze --only values choices

Of every part: what a user of the defaults gets. ``values``: F, the status and the certificate on
the families of ``bench_optima`` by a plain run and by the default race. ``choices``: which solver
is chosen for the classes of ``bench_solvers``. ``fuzz``: how cases of the fuzzer end, and
what they fail at. ``speed``: CPU time over that of a fixed piece of work in NumPy.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import dcprog as dc
from benchmarks.bench_race import data
from benchmarks.bench_solvers import CLASSES, sizes
from benchmarks.optima.families import FAMILIES
from benchmarks.runner import timed
from dcprog.solvers.registry import choose
from tests.fuzz.cases import judged

FILE = Path(__file__).parent / "frozen.json"
SEEDS = (100, 101, 102)  # of families: no constant of the library was chosen on these
CASES = {"problems": 60, "fits": 200, "faults": 30, "bounds": 100}
FIRST = 1_000_000  # number of the first case: far from the seeds that are run every day
SAME = 1e-6  # relative: values that differ by less are one
SLOWER = 1.25  # times: more is not noise of the smallest of REPEATS
REPEATS = 5
METHODS: dict[str, dict[str, Any]] = {"plain": {"start": "convex", "n_starts": 1}, "auto": {}}

Part = dict[str, Any]


def values() -> Part:
    """F, status and certificate of plain and default runs."""
    found: Part = {}
    for family in FAMILIES.values():
        for seed in SEEDS:
            instance = family.make(seed)
            for method, options in METHODS.items():
                form = instance.form()
                result = dc.solve(form.problem, **options)
                found[f"{family.name} {seed} {method}"] = {
                    "F": float(instance.objective(form.point(result))),
                    "missed": float(instance.violation(form.point(result))),
                    "status": result.status,
                    "certified": bool(result.certificate(tol=1e-6).holds),
                }
    return found


def choices() -> Part:
    """The solver that comes first, by class and size."""
    return {
        f"{name} {n} x {p}": choose(make(n, p))[0]
        for name, make in CLASSES.items()
        for n, p in sizes(name)
    }


def fuzz() -> Part:
    """How cases end, and their failures."""
    names = [f"{kind}:{FIRST + i}" for kind, count in CASES.items() for i in range(count)]
    reports = map(judged, names)
    return {
        r.case: {"outcome": r.outcome, "failures": sorted(map(str, r.failures))} for r in reports
    }


def speed() -> Part:
    """CPU time over that of the yardstick, the smallest of a few tries."""
    X, y = data(200, 5)
    ramp = dc.Risk.from_loss(dc.binary_margins(X, y), dc.cap(dc.hinge(), 1.0), dc.l2(1.0))
    large = dc.Risk.from_loss(
        dc.binary_margins(*data(20_000, 20)), dc.cap(dc.hinge(), 1.0), dc.l2(1.0)
    )
    target = X @ np.arange(5.0) + y
    work: dict[str, Callable[[], Any]] = {
        "plain run, ramp 200 x 5": lambda: dc.solve(ramp, start="convex", n_starts=1),
        "race, ramp 200 x 5": lambda: dc.solve(ramp),
        "RobustRegressor 200 x 5": lambda: dc.RobustRegressor().fit(X, target),
        "RobustClassifier 200 x 5": lambda: dc.RobustClassifier("ramp", "l2").fit(X, y),
        "plain run, ramp 20000 x 20": lambda: dc.solve(large, start="convex", n_starts=1),
        "race, ramp 20000 x 20": lambda: dc.solve(large),
    }
    return {name: best(one) / best(yardstick) for name, one in work.items()}


def best(work: Callable[[], Any]) -> float:
    """CPU seconds of the fastest of a few tries, after one that is not counted."""
    work()
    return min(timed(work)[1] for _ in range(REPEATS))


def yardstick() -> float:
    """Fixed work of the kind that small fits do: short NumPy calls and some arithmetic."""
    x = np.arange(200.0)
    total = 0.0
    for k in range(20_000):
        total += float(np.maximum(x - k, 0.0).sum())
    return total


PARTS: dict[str, Callable[[], Part]] = {
    "values": values,
    "choices": choices,
    "fuzz": fuzz,
    "speed": speed,
}


def changes(part: str, before: Part, now: Part) -> tuple[list[str], list[str]]:
    """What is worse, and what is otherwise."""
    worse: list[str] = []
    other = [f"{key}: gone" for key in before.keys() - now.keys()]
    for key in [key for key in before if key in now]:
        old, new = before[key], now[key]
        line = f"{key}: {old} -> {new}"
        if part == "values":
            is_worse = _is_higher(new, old) or (old["certified"] and not new["certified"])
            differs = _is_higher(old, new) or old["status"] != new["status"]
        elif part == "fuzz":
            is_worse = len(new["failures"]) > len(old["failures"])
            differs = old != new
        elif part == "speed":
            is_worse, differs = new > SLOWER * old, old > SLOWER * new
            line = f"{key}: {old:.3g} -> {new:.3g}"
        else:
            is_worse, differs = False, old != new
        (worse if is_worse else other if differs else []).append(line)
    return worse, other


def _is_higher(one: Part, two: Part) -> bool:
    """True if F of the one is above that of the other, or its point less feasible."""
    higher = one["F"] - two["F"] > SAME * (1 + abs(two["F"]))
    return bool(higher or one["missed"] > max(1e-5, 10 * two["missed"]))


def main() -> int:
    """Freeze or compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="freeze what is")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    options = parser.parse_args()
    frozen = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    failed = 0
    for part in options.only:
        begun = time.perf_counter()
        now = PARTS[part]()
        took = f"{time.perf_counter() - begun:.0f} s"
        if options.write:
            frozen[part] = now
            print(f"{part}: {len(now)} frozen, {took}")
            continue
        worse, other = changes(part, frozen.get(part, {}), now)
        failed += len(worse)
        print(f"{part}: {len(worse)} worse, {len(other)} otherwise, of {len(now)}; {took}")
        print(*(f"  worse  {line}" for line in worse), *(f"  {line}" for line in other), sep="\n")
    if options.write:
        FILE.write_text(json.dumps(frozen, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main())
