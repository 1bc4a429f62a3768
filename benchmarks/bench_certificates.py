"""Do certificates hold at solutions and fail beside them?

Solutions of the problems of `bench_optima` to tol = 1e-9, and points that are a thousandth of ‖x‖
away from them in random directions: in how many cases the certificate holds here and there, at
three tolerances. A gap of ε allows a step of √(2ε/m) where the majorant is smooth and its curvature
m: at 1e-6 some of what is a thousandth away passes, and rightly so.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

import dcprog as dc
from benchmarks.optima.families import FAMILIES

TOLERANCES = (1e-9, 1e-7, 1e-6)
STEP = 1e-3
DRAWS = 5


def beside(result: dc.Result, rng: np.random.Generator) -> dc.Result:
    """A point a thousandth of ‖x‖ away."""
    x = np.asarray(result.x)
    noise = rng.normal(size=x.size)
    return replace(result, x=x + STEP * np.linalg.norm(x) * noise / np.linalg.norm(noise))


def examined(family: str, seeds: int) -> Iterator[tuple[list[bool], list[list[bool]]]]:
    """Does it hold, tolerance by tolerance, at a solution and beside it?"""
    for seed in range(seeds):
        problem = FAMILIES[family].make(seed).form().problem
        result = dc.solve(problem, tol=TOLERANCES[0], max_iter=3000)
        rng = np.random.default_rng(seed)
        points = [beside(result, rng) for _ in range(DRAWS)]
        yield holds(result), [holds(point) for point in points]


def holds(result: dc.Result) -> list[bool]:
    """At every tolerance."""
    return [result.certificate(tol=tol).holds for tol in TOLERANCES]


def main() -> None:
    """Print a line a family."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    told = "".join(f"{tol:>8.0e}" for tol in TOLERANCES)
    print(f"{'':<28}{'holds at solutions':<28}fails beside them\n{'tolerance':<28}{told}    {told}")
    totals = []
    for family in options.families:
        solutions, besides = zip(*examined(family, options.seeds), strict=True)
        shares = np.mean(solutions, axis=0), 1 - np.mean(besides, axis=(0, 1))
        totals.append(shares)
        print(line(family, *shares), flush=True)
    print(line(f"all ({len(totals)} families)", *np.mean(totals, axis=0)))


def line(name: str, accepted: np.ndarray, rejected: np.ndarray) -> str:
    """Shares in per cent."""
    columns = ("".join(f"{share:>8.0%}" for share in shares) for shares in (accepted, rejected))
    return f"{name:<28}{'    '.join(columns)}"


if __name__ == "__main__":
    main()
