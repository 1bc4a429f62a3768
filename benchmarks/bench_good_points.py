"""Where a plain run ends, where the default ends, and the best that is known: value by value.

Ramp and capped losses with flipped labels or leverage outliers, robust regression, sparse
regression with concave penalties, and problems with a symmetric point: one line of values a method
and problem, and CPU time over one plain run (`start="convex", n_starts=1`), the median of the
seeds. Best known values are those of `bench_optima`; for log-sum penalties on 5000 columns, whose
slope at 0 is 1 or 0.3 of what kills every coefficient, the lowest of the runs and `effort="high"`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.optima.families import FAMILIES
from benchmarks.optima.instance import Instance
from benchmarks.optima.methods import Attempt, attempt
from benchmarks.optima.references import References
from benchmarks.optima.sparse_regression import log_sum

SEEDS = {
    "ramp_2000x20": 4,
    "ramp_1000x50": 4,
    "ramp_30x2": 4,
    "squared_hinge_tiny": 12,
    "ramp_leverage": 4,
    "capped_hinge_breast_cancer": 3,
    "tukey_regression": 4,
    "trimmed_regression": 4,
    "box_quadratic": 4,
    "sparse_pca": 4,
    "phase_retrieval": 4,
}
LARGE: dict[str, Callable[[int], Instance]] = {
    f"log_sum_1000x5000_{share:g}": partial(log_sum, 1000, 5000, share=share)
    for share in (1.0, 0.3)
}


def main() -> None:
    """Print a block a problem."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one attempt")
    parser.add_argument("--problems", nargs="+", choices=[*SEEDS, *LARGE])
    options = parser.parse_args()
    references = References()
    for name in options.problems or [*SEEDS, *LARGE]:
        if name in SEEDS:
            make, seeds = FAMILIES[name].make, SEEDS[name]
        else:
            make, seeds = LARGE[name], 2
        attempt("plain", make(0), 0, options.limit)  # imports and compilation are nobody's time
        show(
            name,
            [compare(name, make(seed), seed, options.limit, references) for seed in range(seeds)],
        )


def compare(
    name: str, instance: Instance, seed: int, limit: float, references: References
) -> dict[str, Attempt]:
    """A plain run, the default and the best known."""
    known = references.get(FAMILIES[name].key, seed, instance) if name in FAMILIES else None
    methods = ("plain", "default") if known else ("plain", "default", "high")
    runs = {method: attempt(method, instance, seed, limit) for method in methods}
    found = {method: run for method, run in runs.items() if run is not None}
    best = min([run.value for run in found.values()] + ([known.value] if known else []))
    return {"plain": found["plain"], "default": found["default"], "best": Attempt(best, np.nan)}


def show(name: str, instances: list[dict[str, Attempt]]) -> None:
    """Values, and the time of a default solve in plain runs."""
    ratios = [one["default"].seconds / one["plain"].seconds for one in instances]
    print(f"{name}, default in {np.median(ratios):.1f} plain runs")
    for method in instances[0]:
        print(
            f"  {method:<9}{'  '.join(f'{one[method].value:.5g}' for one in instances)}", flush=True
        )


if __name__ == "__main__":
    main()
