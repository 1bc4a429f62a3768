"""Every solver on every case that it takes: which solvers earn their place, and the choice.

    python -m benchmarks.bench_solvers                     the table, some 20 minutes
    python -m benchmarks.bench_solvers --cases hinge       the cases whose name holds "hinge"
    python -m benchmarks.bench_solvers --grid              the choice over a grid of sizes

A case is three weighted subproblems, each begun at the last solution, as a run of a capped loss
meets them: all weights 1, then 10% and 12% of them 0. The time is CPU time, solver construction
included, the better of two; the values are recomputed in NumPy from the margins. A cell holds
the time over that of the fastest accurate solver; ``*`` marks the automatic choice, ``–`` a solver
that failed or missed the least value by more than 1e-6 of it, ``>`` one whose subproblem took more
than the limit of CPU time: solvers go by the clock, so they are given more of that. A solver earns
its place if it is 1.5 times ahead of all others on some case.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

import dcprog as dc
from dcprog.foundation.arrays import Array
from dcprog.foundation.blocked_matrix import StoredMatrix
from dcprog.risk.weighted import WeightedRisk
from dcprog.rows.linear import binary_margins
from dcprog.solvers.registry import SOLVERS, choose, is_exact, make

__all__ = ["CLASSES", "sizes"]

TOLERANCE = 1e-8
AGREE = 1e-6
LIMIT = 10.0  # CPU seconds a subproblem
BUSY = 4.0  # times the limit by the clock: other jobs may be on the machine
EARNS = 1.5

Build = Callable[[int, int], dc.Risk]

# The losses once more, in NumPy alone.
LOSSES: dict[str, Callable[[Array], Array]] = {
    "hinge": lambda u: np.maximum(1 - u, 0),
    "squared hinge": lambda u: np.maximum(1 - u, 0) ** 2,
    "logistic": lambda u: np.logaddexp(0, -u),
    "square": lambda u: u**2,
    "absolute": np.abs,
    "insensitive": lambda u: np.maximum(np.abs(u) - 0.1, 0),
    "huber": lambda u: np.where(np.abs(u) <= 0.5, u**2 / 2, 0.5 * np.abs(u) - 0.125),
    "check": lambda u: np.maximum(0.8 * u, -0.2 * u),
}
BASES = {
    "hinge": dc.hinge(),
    "squared hinge": dc.squared_hinge(),
    "logistic": dc.logistic(),
    "square": dc.square(),
    "absolute": dc.absolute(),
    "insensitive": dc.epsilon_insensitive(0.1),
    "huber": dc.huber(0.5),
    "check": dc.pinball(0.8),
}
PENALTIES: dict[str, tuple[dc.Penalty, Callable[[Array], float]]] = {
    "l2": (dc.l2(1.0), lambda w: float(w @ w) / 2),
    "l1": (dc.l1(1.0), lambda w: float(np.abs(w).sum())),
    "strong l1": (dc.l1(10.0), lambda w: 10 * float(np.abs(w).sum())),
    "elastic net": (
        dc.elastic_net(1.0, 1.0),
        lambda w: float(w @ w) / 2 + float(np.abs(w).sum()),
    ),
}
MARGINS = ("hinge", "squared hinge", "logistic")


def samples(n: int, p: int, share: float = 1.0) -> tuple[Array, Array]:
    """X, with that share of its entries not 0, and noisy scores of three columns."""
    rng = np.random.default_rng(n + p)
    if share < 1:
        X = sp.random_array((n, p), density=share, rng=rng, data_sampler=rng.standard_normal)
        X = X.tocsr()
    else:
        X = rng.standard_normal((n, p))
    signal = np.asarray(X[:, : max(3, p // 20 if share < 1 else 3)].sum(axis=1)).ravel()
    return X, signal + rng.standard_normal(n)


def linear(loss: str, penalty: str, share: float = 1.0) -> Build:
    """Overlapping classes, or a regression, with an intercept that is not penalised."""

    def risk(n: int, p: int) -> dc.Risk:
        X, score = samples(n, p, share)
        rows = binary_margins(X, score > 0) if loss in MARGINS else dc.residual_rows(X, score)
        return dc.Risk(rows, BASES[loss], penalty=PENALTIES[penalty][0])

    return risk


def kernel(loss: str, n_columns: int = 5) -> Build:
    """The classes or the regression with a Gaussian kernel of the samples."""

    def risk(n: int, p: int) -> dc.Risk:
        X, score = samples(n, n_columns)
        K = np.exp(-np.sum((X[:, None] - X) ** 2, axis=2) / n_columns)
        if loss in MARGINS:
            return dc.Risk(dc.kernel_margins(K, score > 0), BASES[loss])
        return dc.Risk(dc.kernel_residuals(K, score), BASES[loss])

    return risk


def blocks(loss: str, penalty: str) -> Build:
    """Overlapping classes whose X is read by blocks."""

    def risk(n: int, p: int) -> dc.Risk:
        X, score = samples(n, p)
        rows = binary_margins(StoredMatrix(np.asarray(X)), score > 0)
        return dc.Risk(rows, BASES[loss], penalty=PENALTIES[penalty][0])

    return risk


def angle(loss: str, penalty: str) -> Build:
    """Three classes and the margins of the angle-based classifier."""

    def risk(n: int, p: int) -> dc.Risk:
        X, score = samples(n, p)
        y = np.digitize(score, np.quantile(score, [1 / 3, 2 / 3]))
        return dc.Risk(dc.angle_margins(X, y), BASES[loss], penalty=PENALTIES[penalty][0])

    return risk


# The classes of the grid, and what the frozen choices are kept for.
CLASSES: dict[str, Build] = {
    **{f"hinge + {part}": linear("hinge", part) for part in ("l2", "l1", "elastic net")},
    **{f"{loss} + l2": linear(loss, "l2") for loss in ("square", "huber", "absolute")},
    **{
        f"{loss} + {part}": linear(loss, part)
        for loss in ("squared hinge", "logistic")
        for part in ("l2", "l1")
    },
    "kernel hinge": kernel("hinge"),
    "kernel squared hinge": kernel("squared hinge"),
}
ROWS = (30, 100, 300, 1000, 3000)
COLUMNS = (3, 10, 30, 100, 300)
KERNEL_ROWS = (30, 100, 300, 800)


def sizes(name: str) -> Iterator[tuple[int, int]]:
    """The grid of a class: rows and columns."""
    if name.startswith("kernel"):
        yield from ((n, n + 1) for n in KERNEL_ROWS)
    else:
        yield from ((n, p) for n in ROWS for p in COLUMNS)


@dataclass(frozen=True)
class Case:
    """One problem: a loss, a penalty, a kind of rows and a size."""

    kind: str
    loss: str
    penalty: str
    n: int
    p: int
    build: Build

    @property
    def name(self) -> str:
        parts = [self.loss, self.penalty, self.kind]
        return " ".join(part for part in parts if part) + f", {self.n} × {self.p}"

    def value(self, problem: WeightedRisk, theta: Array) -> float:
        """The weighted risk by the formulas above."""
        risk = problem.risk
        losses = float(problem.row_weights @ LOSSES[self.loss](risk.margins(theta)))
        w = theta[risk.penalized]
        # the coefficients of a kernel machine are coordinates in which ‖f‖ is their norm
        return losses + PENALTIES[self.penalty or "l2"][1](w)


DENSE = {
    ("hinge", "l2"): ((100, 5), (1000, 20), (3000, 100), (300, 300), (400, 1000), (2000, 500)),
    ("hinge", "l1"): ((100, 5), (1000, 20), (100, 300), (400, 1000)),
    ("hinge", "strong l1"): ((100, 1000), (1000, 100)),
    ("hinge", "elastic net"): ((300, 30), (1000, 100)),
    ("absolute", "l2"): ((100, 5), (1000, 20), (3000, 100), (2000, 500)),
    ("absolute", "l1"): ((200, 10), (100, 300), (1000, 100)),
    ("insensitive", "l2"): ((1000, 20), (1000, 300)),
    ("check", "l1"): ((1000, 20),),
    ("squared hinge", "l2"): ((100, 5), (3000, 100), (400, 1000), (50_000, 20), (400_000, 20)),
    ("squared hinge", "l1"): ((1000, 100), (400, 1000)),
    ("square", "l2"): ((100, 5), (3000, 100), (400, 1000)),
    ("square", "l1"): ((300, 30), (1000, 100), (400, 1000)),
    ("square", "strong l1"): ((400, 2000),),
    ("huber", "l2"): ((1000, 20), (400, 1000)),
    ("huber", "l1"): ((400, 1000),),
    ("logistic", "l2"): ((100, 5), (3000, 100), (400, 1000)),
    ("logistic", "l1"): ((1000, 100), (400, 1000)),
}
SPARSE = {
    ("hinge", "l2"): (
        (4000, 4000),
        (20_000, 1000),
        (8000, 2000),
        (10_000, 5000),
        (500, 20_000),
    ),
    ("hinge", "l1"): ((2000, 4000),),
    ("hinge", "strong l1"): ((2000, 4000), (4000, 4000)),
    ("absolute", "l2"): ((4000, 1000),),
    ("check", "l2"): ((3000, 3000),),
    ("squared hinge", "l2"): ((4000, 4000),),
    ("squared hinge", "l1"): ((4000, 4000),),
    ("logistic", "l1"): ((4000, 4000),),
    ("square", "l1"): ((4000, 4000),),
}
KERNEL = {
    "hinge": (200, 800, 2000),
    "absolute": (200, 800),
    "insensitive": (800,),
    "squared hinge": (200, 800),
    "huber": (800,),
}
BLOCKS = {("squared hinge", "l2"): ((400_000, 20),), ("hinge", "l2"): ((100_000, 10),)}
ANGLE = {("hinge", "l2"): ((300, 10), (1000, 50)), ("hinge", "l1"): ((300, 10),)}


def cases() -> Iterator[Case]:
    """All cases."""
    for (loss, penalty), found in DENSE.items():
        yield from (Case("", loss, penalty, n, p, linear(loss, penalty)) for n, p in found)
    for (loss, penalty), found in SPARSE.items():
        build = linear(loss, penalty, 0.01)
        yield from (Case("sparse", loss, penalty, n, p, build) for n, p in found)
    for loss, many in KERNEL.items():
        yield from (Case("kernel", loss, "", n, n, kernel(loss)) for n in many)
    for (loss, penalty), found in BLOCKS.items():
        yield from (Case("blocks", loss, penalty, n, p, blocks(loss, penalty)) for n, p in found)
    for (loss, penalty), found in ANGLE.items():
        yield from (Case("angle", loss, penalty, n, p, angle(loss, penalty)) for n, p in found)


def weights(n: int) -> list[Array]:
    """Of a first subproblem and two later ones, for which a cap has set some to 0."""
    ones, drawn = np.ones(n), np.random.default_rng(0).random(n)
    return [ones, np.where(drawn < 0.1, 0.0, ones), np.where(drawn < 0.12, 0.0, ones)]


@dataclass(frozen=True)
class Outcome:
    """Seconds and the sum of the three values; a mark where it is no solution."""

    seconds: float
    total: float
    mark: str = ""


def measured(name: str, case: Case, risk: dc.Risk) -> Outcome:
    """One solver on one case."""
    begin = last = time.process_time()
    theta, total = np.zeros(risk.rows.shape[1]), 0.0
    try:
        solver = make(name, risk)
        for part in weights(risk.n_groups):
            problem, last = WeightedRisk(risk, part), time.process_time()
            theta = solver.minimise(problem, theta, TOLERANCE, BUSY * LIMIT).coefficients
            total += case.value(problem, theta)
            if time.process_time() - last > LIMIT:
                return Outcome(time.process_time() - begin, np.inf, ">")
    except dc.SubproblemError:
        late = time.process_time() - last > LIMIT
        return Outcome(time.process_time() - begin, np.inf, ">" if late else "–")
    return Outcome(time.process_time() - begin, total)


def compared(case: Case) -> dict[str, Outcome]:
    """All exact solvers that take a case, the better of two tries where it is short."""
    risk = case.build(case.n, case.p)
    names = [name for name in SOLVERS if is_exact(name) and _takes(name, risk)]
    found = {}
    for name in names:
        measured(name, *_small(case))  # compiled loops are compiled
        tries = [measured(name, case, risk)]
        if tries[0].seconds < 5:
            tries.append(measured(name, case, case.build(case.n, case.p)))
        found[name] = min(tries, key=lambda one: (one.mark, one.seconds))
    least = min(one.total for one in found.values())
    return {
        name: one if one.mark or one.total <= least + AGREE * abs(least) else _off(one)
        for name, one in found.items()
    }


def _off(one: Outcome) -> Outcome:
    return Outcome(one.seconds, one.total, "–")


def _small(case: Case) -> tuple[Case, dc.Risk]:
    n, p = min(case.n, 40), min(case.p, 40 if case.kind == "kernel" else 5)
    return case, case.build(n, p)


def _takes(name: str, risk: dc.Risk) -> bool:
    try:
        return choose(risk, name) == (name,)
    except ValueError:
        return False


def table(wanted: str) -> None:
    """A line a case, and what each solver's best case is."""
    leads: dict[str, tuple[float, str]] = {}
    good = total = 0
    worst = (1.0, "")
    print("| case | best, ms | times the best |\n|---|---|---|")
    for case in cases():
        if wanted not in case.name:
            continue
        found = compared(case)
        done = {name: one.seconds for name, one in found.items() if not one.mark}
        chosen = choose(case.build(case.n, case.p))[0]
        if not done:
            print(f"| {case.name} | | {_cells(found, np.inf, chosen)} |", flush=True)
            continue
        best = min(done.values())
        print(f"| {case.name} | {1e3 * best:.3g} | {_cells(found, best, chosen)} |", flush=True)
        total += 1
        off = done.get(chosen, np.inf) / best
        good += off <= EARNS
        worst = max(worst, (off, case.name))
        for name in done:
            others = [s for other, s in done.items() if other != name]
            lead = min(others, default=np.inf) / done[name]
            leads[name] = max(leads.get(name, (0.0, "")), (lead, case.name))
    print(f"\nThe choice is within {EARNS} × of the best in {good} of {total}; worst: {worst}.\n")
    print("| solver | lead over all others | on |\n|---|---|---|")
    for name, (lead, where) in sorted(leads.items(), key=lambda item: -item[1][0]):
        print(f"| {name} | {lead:.2f} | {where} |")


def _cells(found: dict[str, Outcome], best: float, chosen: str) -> str:
    ordered = sorted(found.items(), key=lambda item: (item[1].mark, item[1].seconds))
    return ", ".join(
        f"{name}{'*' * (name == chosen)} {one.mark or f'{one.seconds / best:.2f}'}"
        for name, one in ordered
    )


def grid() -> None:
    """The automatic choice for all sizes of the classes."""
    for title, build in CLASSES.items():
        for n, p in sizes(title):
            print(f"{title:<24} {n:>5} × {p:<5} {choose(build(n, p))[0]}")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", default="")
    parser.add_argument("--grid", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.grid:
        grid()
    else:
        table(options.cases)


if __name__ == "__main__":
    main()
