"""How good are the points? Families of nonconvex problems against the best values known of them.

For each family and method: the share of instances within 1e-4 and within 1% of the best known
value, mean and worst excess of those that gave a feasible point, failures, and the time over one
plain run (`start="convex", n_starts=1`). F is recomputed by a formula of the family's own. "all"
weights every family alike. Best known values are global minima where a family is enumerated,
otherwise what searches and methods found so far (benchmarks/optima/best_known.json).

    python -m benchmarks.bench_optima                       plain and default, minutes
    python -m benchmarks.bench_optima --full                all seeds, all methods there are
    python -m benchmarks.bench_optima --families ramp_tiny --seeds 20 --methods plain dccp
    python -m benchmarks.bench_optima --search 1000         search anew, keep what is lower
    python -m benchmarks.bench_optima --keep --methods high keep what a method finds lower
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.optima.families import FAMILIES
from benchmarks.optima.instance import Family, Instance
from benchmarks.optima.methods import METHODS, Attempt, attempt
from benchmarks.optima.references import References, is_lower, searched
from benchmarks.optima.report import (
    HEADER,
    Line,
    attempted,
    overall,
    summary,
    write_csv,
    write_profile,
)

ALL_SEEDS = 20
QUICK = ("plain", "default")


def main() -> None:
    """Print the table."""
    options = _options()
    references = References()
    for family in options.forget:
        references.forget(FAMILIES[family].key)
    families = [FAMILIES[name] for name in options.families]
    if options.search:
        for family in families:
            search(family, options, references)
        return
    print(HEADER)
    lines = [line for family in families for line in measure(family, options, references)]
    print("\n".join(overall(lines)))
    if options.csv:
        write_csv(lines, options.csv)
    if options.plot:
        write_profile(lines, options.plot)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--seeds", type=int, help="instances a family; by default few large ones")
    parser.add_argument("--methods", nargs="+", choices=METHODS)
    parser.add_argument("--full", action="store_true", help="all seeds and methods")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for one attempt")
    parser.add_argument("--search", type=int, default=0, metavar="N", help="N starts an instance")
    parser.add_argument("--keep", action="store_true", help="store lower values of methods")
    parser.add_argument("--forget", nargs="+", choices=FAMILIES, default=[])
    parser.add_argument("--each", action="store_true", help="a line an attempt, too")
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    if options.methods is None:
        options.methods = list(METHODS if options.full else QUICK)
    if options.full:
        options.seeds = options.seeds or ALL_SEEDS
    return options


def search(family: Family, options: argparse.Namespace, references: References) -> None:
    """Search every instance, and store what is lower."""
    for seed in range(options.seeds or ALL_SEEDS):
        instance = family.make(seed)
        value, by = searched(instance, seed, options.search)
        before = references.get(family.key, seed, instance)
        if references.offer(family.key, seed, instance, value, by):
            was = f"{before.value:.8g}, {before.by}" if before else "unknown"
            print(f"{family.name}, seed {seed}: {value:.8g} (was {was})", flush=True)
    references.save()


def measure(family: Family, options: argparse.Namespace, references: References) -> Iterator[Line]:
    """All methods on all instances of a family; a line printed a method."""
    attempt("plain", family.make(0), 0, options.limit)  # imports and compilation are nobody's time
    lines: dict[str, list[Line]] = {}
    for seed in range(options.seeds or family.quick):
        for line in compare(family, seed, options, references):
            if options.each:
                print(attempted(line), flush=True)
            lines.setdefault(line.method, []).append(line)
    if options.keep:
        references.save()
    for method in lines.values():
        print(summary(method), flush=True)
        yield from method


def compare(
    family: Family, seed: int, options: argparse.Namespace, references: References
) -> Iterator[Line]:
    """All methods on one instance, against the best of what is known and what they find."""
    instance = family.make(seed)
    tried = {name: attempt(name, instance, seed, options.limit) for name in options.methods}
    attempts = {name: one for name, one in tried.items() if one is not None}
    best = _best(family.key, seed, instance, attempts, references, options.keep)
    plain = attempts["plain"].seconds if "plain" in attempts else np.nan
    for name, one in attempts.items():
        excess = max(one.value - best, 0.0) / abs(best)
        yield Line(
            family.name, name, seed, one.value, excess, one.seconds, one.seconds / plain, one.why
        )


def _best(
    family: str,
    seed: int,
    instance: Instance,
    attempts: dict[str, Attempt],
    references: References,
    keep: bool,
) -> float:
    known = references.get(family, seed, instance)
    best = known.value if known else np.inf
    for name, one in attempts.items():
        if is_lower(one.value, best):
            if np.isfinite(best):
                print(f"{family}, seed {seed}: {name} has {one.value:.8g}, below {best:.8g}")
            best = one.value
            if keep:
                references.offer(family, seed, instance, best, name)
    return best


if __name__ == "__main__":
    main()
