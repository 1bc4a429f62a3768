"""Which solver is the fastest for which sizes, what their estimates say, and what is chosen.

A line a problem: the seconds of every solver that takes it, for three weighted subproblems from
one another's solutions as a run of a capped loss meets them, with the estimate in brackets and a
star at the solver that is chosen by itself. Values that differ by more than 1e-6 are counted.
``--fit`` prints the constants of dcprog/solvers/cost.py that suit the measurements.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Iterator

import numpy as np

import dcprog as dc
from dcprog.foundation.arrays import Array
from dcprog.risk.weighted import WeightedRisk
from dcprog.rows.linear import binary_margins
from dcprog.solvers.registry import SOLVERS, choose, is_exact, make

ROWS = (30, 100, 300, 1000, 3000)
COLUMNS = (3, 10, 30, 100, 300)
KERNEL = (30, 100, 300, 800)
TOLERANCE = 1e-8
AGREE = 1e-6
PATIENCE = 2.0  # seconds: a solver that took longer is left out of larger problems
NEAR = 1.5  # times the best: what counts as a good choice
KERNEL_ALIKE = 0.02  # a kernel has p = n + 1: of both exponents the data only know the sum

Measured = tuple[float, float]  # seconds, and the sum of the values


def linear(base: dc.ConvexLoss, penalty: dc.Penalty) -> Callable[[int, int], dc.Risk]:
    """Risks of classes that overlap."""

    def risk(n: int, p: int) -> dc.Risk:
        rng = np.random.default_rng(n + p)
        X = rng.standard_normal((n, p))
        score = X[:, :3].sum(axis=1) + rng.standard_normal(n)
        return dc.Risk(binary_margins(X, score > 0), base, penalty=penalty)

    return risk


def regression(base: dc.ConvexLoss, penalty: dc.Penalty) -> Callable[[int, int], dc.Risk]:
    """Residuals of a linear model."""

    def risk(n: int, p: int) -> dc.Risk:
        rng = np.random.default_rng(n + p)
        X = rng.standard_normal((n, p))
        y = X[:, :3].sum(axis=1) + rng.standard_normal(n)
        return dc.Risk(dc.residual_rows(X, y), base, penalty=penalty)

    return risk


def kernel(base: dc.ConvexLoss) -> Callable[[int, int], dc.Risk]:
    """The same with a Gaussian kernel of the samples."""

    def risk(n: int, p: int) -> dc.Risk:
        rng = np.random.default_rng(n)
        X = rng.standard_normal((n, 5))
        K = np.exp(-np.sum((X[:, None] - X) ** 2, axis=2) / 5)
        score = X[:, :3].sum(axis=1) + rng.standard_normal(n)
        return dc.Risk(dc.kernel_margins(K, score > 0), base)

    return risk


CLASSES: dict[str, Callable[[int, int], dc.Risk]] = {
    "hinge + l2": linear(dc.hinge(), dc.l2(1.0)),
    "hinge + l1": linear(dc.hinge(), dc.l1(1.0)),
    "hinge + elastic net": linear(dc.hinge(), dc.elastic_net(1.0, 1.0)),
    "square + l2": linear(dc.square(at=1.0), dc.l2(1.0)),
    "huber + l2": regression(dc.huber(0.5), dc.l2(1.0)),
    "absolute + l2": regression(dc.absolute(), dc.l2(1.0)),
    "squared hinge + l2": linear(dc.squared_hinge(), dc.l2(1.0)),
    "squared hinge + l1": linear(dc.squared_hinge(), dc.l1(1.0)),
    "logistic + l2": linear(dc.logistic(), dc.l2(1.0)),
    "logistic + l1": linear(dc.logistic(), dc.l1(1.0)),
    "kernel hinge": kernel(dc.hinge()),
    "kernel squared hinge": kernel(dc.squared_hinge()),
}


def sizes(name: str) -> Iterator[tuple[int, int]]:
    """The grid of a class: rows and columns."""
    if name.startswith("kernel"):
        yield from ((n, n + 1) for n in KERNEL)
    else:
        yield from ((n, p) for n in ROWS for p in COLUMNS)


def weights(n: int) -> list[Array]:
    """Of a first subproblem and two later ones, which a cap has made 0 for some samples."""
    ones, drawn = np.ones(n), np.random.default_rng(0).random(n)
    return [ones, np.where(drawn < 0.1, 0.0, ones), np.where(drawn < 0.12, 0.0, ones)]


def measured(name: str, risk: dc.Risk) -> Measured | None:
    """None where the solver fails."""
    begin, total = time.process_time(), 0.0
    theta = np.zeros(risk.rows.shape[1])
    try:
        solver = make(name, risk)
        for part in weights(risk.n_groups):
            found = solver.minimise(WeightedRisk(risk, part), theta, TOLERANCE, 30.0)
            theta, total = found.coefficients, total + found.value
    except dc.SubproblemError:
        return None
    return time.process_time() - begin, total


class Table:
    """What was measured: a line a problem."""

    def __init__(self, repeats: int) -> None:
        self.repeats = repeats
        self.records: list[tuple[str, int, int, str, float]] = []
        self.good = self.lines = self.apart = 0

    def run(self, title: str) -> None:
        """All sizes of a class."""
        slow: set[str] = set()
        for n, p in sizes(title):
            risk = CLASSES[title](n, p)
            names = [s for s in SOLVERS if s not in slow and SOLVERS[s].refusal(risk) is None]
            measured(choose(risk)[0], risk)  # once unseen: what is compiled, is
            found = {name: self._best(name, risk) for name in names}
            done = {name: value for name, value in found.items() if value is not None}
            slow |= {name for name in names if name not in done or done[name][0] > PATIENCE}
            self.records += [(title, n, p, name, seconds) for name, (seconds, _) in done.items()]
            self._line(title, risk, done)

    def _best(self, name: str, risk: dc.Risk) -> Measured | None:
        tries = [measured(name, risk) for _ in range(self.repeats)]
        return min((t for t in tries if t is not None), default=None)

    def _line(self, title: str, risk: dc.Risk, done: dict[str, Measured]) -> None:
        n, p = risk.rows.shape
        candidates = choose(risk)
        least = min(total for _, total in done.values())
        exact = [name for name in done if is_exact(name)]
        self.apart += sum(done[s][1] - least > AGREE * (1 + abs(least)) for s in exact)
        quickest = min(done[name][0] for name in candidates if name in done)
        chosen = candidates[0]
        self.lines += 1
        self.good += chosen in done and done[chosen][0] <= NEAR * quickest
        cells = [
            f"{name}{'*' * (name == chosen)} {1e3 * seconds:.3g} "
            f"({1e3 * SOLVERS[name].cost(*risk.rows.shape, title.startswith('kernel')):.3g})"
            for name, (seconds, _) in sorted(done.items(), key=lambda item: item[1])
        ]
        print(f"| {title} | {n} × {p} |", ", ".join(cells), "|", flush=True)

    def fit(self) -> None:
        """Constants of a product of powers, by least squares of the logarithms."""
        by_solver = defaultdict(list)
        for _, n, p, name, seconds in self.records:
            by_solver[name].append((n, p, seconds))
        for name, found in by_solver.items():
            n, p, seconds = np.log(np.array(found)).T
            design = np.column_stack([np.ones(n.size), n - np.log(1e3), p - np.log(1e2)])
            (constant, rows, columns), *_ = np.linalg.lstsq(design, seconds, rcond=KERNEL_ALIKE)
            spread = np.std(seconds - design @ [constant, rows, columns])
            print(
                f"{name}: Cost({np.exp(constant):.2g}, {rows:.2f}, {columns:.2f})"
                f"  off by a factor {np.exp(spread):.2g}"
            )


def main() -> None:
    """Print the table, and how often the choice is good."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--classes", nargs="*", default=list(CLASSES), choices=list(CLASSES))
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--fit", action="store_true")
    options = parser.parse_args()
    table = Table(options.repeats)
    print("| problem | n × p | milliseconds (estimate) |\n|---|---|---|")
    for title in options.classes:
        table.run(title)
    print(
        f"\nThe choice is within a factor {NEAR} of the best in {table.good} of {table.lines} "
        f"problems; {table.apart} values differ by more than {AGREE:g}."
    )
    if options.fit:
        table.fit()


if __name__ == "__main__":
    main()
