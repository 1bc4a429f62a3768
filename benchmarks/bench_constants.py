"""What do the library's constants decide? Each at half and at twice its value.

A line a constant and factor: on how many instances the end is lower and higher than with the
library's value (by more than 1e-6 of F, and clearly, 1e-3 of it; an end that misses a constraint
counts as higher), the two-sided sign test of these counts, and CPU time as a multiple. A constant
that decides nothing within a factor of two either way needs no tuning; one whose time or ends
change has its reason where it is written.

    python -m benchmarks.bench_constants starts.batch:MANY starts.local:TIMES
    python -m benchmarks.bench_constants factorable.problem:APART --on literature bounds
    python -m benchmarks.bench_constants moves.swap:MOST_SAMPLES --on families --seeds 300 301

``literature`` are the problems of ``bench_answers`` and its further ones, ``families`` those of
``bench_optima``, ``bounds`` the literature's again, with the proved lower bound as the value.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import cvxpy as cp
import numpy as np
from scipy.stats import binomtest

import dcprog as dc
from benchmarks.further_problems import FURTHER
from benchmarks.global_problems import CONTINUOUS, GlobalProblem
from benchmarks.optima.families import FAMILIES
from benchmarks.optima.instance import Family
from benchmarks.runner import timed

SAME, CLEAR = 1e-6, 1e-3  # relative to max(1, |F|)
MET = 1e-5  # violations, relative to their terms
LIMIT = 60.0  # seconds an instance
FACTORS = (0.5, 2.0)

Ends = dict[str, tuple[float, float]]  # by instance: the value, to be low, and CPU seconds


@contextmanager
def scaled(constant: str, factor: float) -> Iterator[None]:
    """The library with a constant, given as ``module:NAME``, times a factor."""
    module, name = constant.split(":")
    home = importlib.import_module(f"dcprog.{module}")
    value = getattr(home, name)
    users = [
        m
        for key, m in list(sys.modules.items())
        if key.startswith("dcprog") and (m is home or getattr(m, name, None) is value)
    ]
    new = max(1, round(value * factor)) if isinstance(value, int) else value * factor
    for user in users:
        setattr(user, name, new)
    try:
        yield
    finally:
        for user in users:
            setattr(user, name, value)


def answer(known: GlobalProblem, seed: int) -> float:
    """The value of a problem's default answer, as a minimum."""
    problem = known.make()
    result = dc.solve(problem, random_state=seed, time_limit=LIMIT)
    sign = -1.0 if isinstance(problem.objective, cp.Maximize) else 1.0
    return float(sign * result.value) if result.relative_violation <= MET else np.inf


def gap(known: GlobalProblem, seed: int) -> float:
    """How far the bound is below the optimum; infinite without one."""
    problem = known.make()
    sign = -1.0 if isinstance(problem.objective, cp.Maximize) else 1.0
    try:
        return float(sign * (known.optimum - dc.lower_bound(problem, time_limit=10.0).value))
    except (RuntimeError, ValueError):  # the constant is wrong, or the problem has no bound
        return np.inf


def end(family: Family, seed: int) -> float:
    """F at the default answer of a family's instance."""
    instance = family.make(seed)
    form = instance.form()
    point = form.point(dc.solve(form.problem, random_state=seed, time_limit=LIMIT))
    return float(instance.objective(point)) if instance.violation(point) <= MET else np.inf


def works(on: list[str], seeds: list[int]) -> Iterator[tuple[str, Callable[[], float]]]:
    """The instances, by name, and what solves each."""
    for seed in seeds:
        for known in [*CONTINUOUS, *FURTHER]:
            if "literature" in on:
                yield f"{known.name} {seed}", lambda known=known, seed=seed: answer(known, seed)
            if "bounds" in on:
                yield f"bound {known.name} {seed}", lambda known=known, seed=seed: gap(known, seed)
        for family in FAMILIES.values() if "families" in on else ():
            yield f"{family.name} {seed}", lambda family=family, seed=seed: end(family, seed)


def ends(on: list[str], seeds: list[int]) -> Ends:
    """Every instance solved once."""
    return {name: timed(work) for name, work in works(on, seeds)}


def compared(usual: Ends, other: Ends) -> str:
    """The line of a constant at another value."""
    pairs = [(usual[name][0], other[name][0]) for name in usual]
    lost = sum(np.isinf(new) and np.isfinite(old) for old, new in pairs)
    won = sum(np.isinf(old) and np.isfinite(new) for old, new in pairs)
    rises = np.array(
        [(new - old) / max(1.0, abs(old)) for old, new in pairs if np.isfinite([old, new]).all()]
    )
    lower, higher = won + int(np.sum(rises < -SAME)), lost + int(np.sum(rises > SAME))
    clearly = won + int(np.sum(rises < -CLEAR)), lost + int(np.sum(rises > CLEAR))
    chance = binomtest(lower, lower + higher).pvalue if lower + higher else 1.0
    times = sum(other[name][1] for name in usual) / sum(usual[name][1] for name in usual)
    return (
        f"lower {lower} ({clearly[0]} clearly), higher {higher} ({clearly[1]} clearly) "
        f"of {len(pairs)}, p = {chance:.2f}, time × {times:.2f}"
    )


def main() -> None:
    """Print the lines."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("constants", nargs="+", metavar="module:NAME")
    parser.add_argument(
        "--on", nargs="+", choices=("literature", "families", "bounds"), default=["literature"]
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[300])
    asked = parser.parse_args()
    usual = ends(asked.on, asked.seeds)
    for constant in asked.constants:
        for factor in FACTORS:
            with scaled(constant, factor):
                line = compared(usual, ends(asked.on, asked.seeds))
            print(f"{constant} × {factor:g}: {line}", flush=True)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
