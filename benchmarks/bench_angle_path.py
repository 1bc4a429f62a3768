"""Paths of the robust angle-based classifiers against a loop that writes the problem anew.

The simulation of Zhang, Pham, Fu, Liu (2018) with p features: three classes, n = 100, a tenth of
the samples outliers; losses RSVM1 (γ = 1/2) and RSVM2 with truncation s = −1/2; 30 values of λ for
L2 and L1, 30 × 30 for both together. Ours: ``dcprog.solve`` for every λ from small to large, from
the last θ. Theirs: the paper's DCA with the linear term of the subtracted losses, each subproblem
written in cvxpy and solved by Clarabel, from the last β; timed on every ``--every``-th λ of the
grid and scaled. Both end at critical points, which need not be the same one.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any

import cvxpy as cp
import numpy as np

import dcprog as dc
from benchmarks.line import Line
from dcprog.foundation.errors import SubproblemError
from dcprog.risk.weighted import WeightedRisk
from dcprog.rows.angle import angle_differences, angle_margins, simplex_vertices
from dcprog.solvers.registry import SOLVERS, make

LAMBDAS = np.logspace(-1.5, 3, 30)
S, GAMMA, K = -0.5, 0.5, 3
W = simplex_vertices(K)


def simulation(n: int, p: int, seed: int, outliers: float = 0.1) -> tuple[Any, Any]:
    """Class means on the unit circle, variance 0.16; outliers around (3, 0), of any class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(K, size=n)
    X = rng.uniform(-1, 1, (n, p))
    X[:, :2] = np.column_stack([np.cos(2 * np.pi * y / K), np.sin(2 * np.pi * y / K)])
    far = rng.permutation(n)[: round(outliers * n)]
    X[far, :2] = [3.0, 0.0]
    X[:, :2] += 0.4 * rng.standard_normal((n, 2))
    return X, y


def penalty(l1: float, l2: float) -> Any:
    """The penalty with these weights."""
    return dc.elastic_net(l1, l2) if l1 and l2 else dc.l1(l1) if l1 else dc.l2(l2)


class Ours:
    """The declared risk, one a λ on the same rows; weights of 0 and 1, or the paper's tilts."""

    def __init__(self, X: Any, y: Any, form: int, tilted: bool, solver: str | None) -> None:
        self.rows = (angle_margins if form == 1 else angle_differences)(X, y)
        self.form, self.tilted, self.solver = form, tilted, solver

    def risk(self, l1: float, l2: float) -> dc.Risk:
        """Σ φ(loss) + penalty, the constant feature penalised too."""
        own: Any = self.rows.own
        weights = np.where(own, GAMMA * (K - 1), 1 - GAMMA) if self.form == 1 else None
        cap = (1 - S) * (1.0 if weights is None else weights)
        return dc.Risk(
            self.rows,
            dc.hinge(),
            weights=weights,
            aggregate="max" if self.form == 2 else None,
            transform=None if self.tilted else dc.cap_at(cap),
            subtracted=dc.hinge(S) if self.tilted else None,
            penalty=penalty(l1, l2),
            penalized=np.ones(self.rows.shape[1]),
        )

    def path(self, grid: list[tuple[float, float]]) -> tuple[float, int, list[float]]:
        """Seconds, subproblems and objectives."""
        begin, x, n, values = time.perf_counter(), "convex", 0, []
        for l1, l2 in grid:
            result = dc.solve(self.risk(l1, l2), start=x, solver=self.solver)
            assert result.status == "converged", result
            x, n = result.x, n + result.n_iter
            values.append(result.value)
        return time.perf_counter() - begin, n, values


class Rebuilt:
    """DCA as one writes it by hand."""

    def __init__(self, X: Any, y: Any, form: int) -> None:
        self.X = np.column_stack([X, np.ones(len(X))])
        self.y, self.form = y, form
        self.own = np.eye(K, dtype=bool)[y]
        if form == 2:
            self.others = np.array([[j for j in range(K) if j != c] for c in y])

    def parts(self, B: Any, at: float) -> Any:
        """The losses that start at `at`, (n, rows)."""
        u = self.X @ B.T @ W.T
        if self.form == 1:
            margins = np.where(self.own, u / (K - 1), -u)
            weights = np.where(self.own, GAMMA * (K - 1), 1 - GAMMA)
            return weights * np.maximum(at - margins, 0)
        m = u[self.own] - np.take_along_axis(u, self.others, axis=1).max(axis=1)
        return np.maximum(at - m, 0)

    def objective(self, B: Any, l1: float, l2: float) -> float:
        """The sum of truncated losses and the penalty."""
        losses = float(np.sum(self.parts(B, 1.0) - self.parts(B, S)))
        return losses + l1 * float(np.abs(B).sum()) + l2 / 2 * float(np.sum(B**2))

    def slope(self, B: Any) -> Any:
        """A subgradient of the losses that start at S."""
        u = self.X @ B.T @ W.T
        if self.form == 1:
            low = np.where(self.own, u < (K - 1) * S, u > -S)
            return (np.where(self.own, -GAMMA, 1 - GAMMA) * low @ W).T @ self.X
        rivals = np.take_along_axis(u, self.others, axis=1)
        j = self.others[np.arange(len(u)), rivals.argmax(axis=1)]
        low = u[self.own] - rivals.max(axis=1) < S
        return (-(low[:, None] * (W[self.y] - W[j]))).T @ self.X

    def losses(self, B: Any) -> Any:
        """The convex losses as a cvxpy expression."""
        u = self.X @ B.T @ W.T
        if self.form == 1:
            own = cp.sum(cp.pos(K - 1 - u[self.own]))
            return GAMMA * own + (1 - GAMMA) * cp.sum(cp.pos(1 + u[~self.own]))
        every = np.arange(len(self.y))
        rival = cp.maximum(*(u[every, self.others[:, r]] for r in range(K - 1)))
        return cp.sum(cp.pos(1 - u[self.own] + rival))

    def descend(self, B: Any, l1: float, l2: float) -> tuple[Any, int]:
        """DCA from B until it decreases by less than 1e-6 relative."""
        value, steps = self.objective(B, l1, l2), 0
        while True:
            variable = cp.Variable(B.shape)
            expression = self.losses(variable) - cp.sum(cp.multiply(self.slope(B), variable))
            if l1:
                expression = expression + l1 * cp.norm1(variable)
            if l2:
                expression = expression + l2 / 2 * cp.sum_squares(variable)
            cp.Problem(cp.Minimize(expression)).solve(solver=cp.CLARABEL)
            steps += 1
            new = self.objective(variable.value, l1, l2)
            if new >= value - 1e-6 * (1 + abs(value)):
                return (variable.value, steps) if new < value else (B, steps)
            B, value = variable.value, new

    def path(
        self, grid: list[tuple[float, float]], every: int
    ) -> tuple[float, int, dict[int, float]]:
        """Seconds for the whole grid, subproblems, objectives at the places visited."""
        B, begin, n, values = np.zeros((K - 1, self.X.shape[1])), time.perf_counter(), 0, {}
        places = range(every // 2, len(grid), every)
        for place in places:
            B, steps = self.descend(B, *grid[place])
            n += steps
            values[place] = self.objective(B, *grid[place])
        return (time.perf_counter() - begin) * len(grid) / len(places), n, values


def grids() -> dict[str, list[tuple[float, float]]]:
    """(l1, l2) in the order of the path."""
    return {
        "L2": [(0.0, lam) for lam in LAMBDAS],
        "L1": [(lam, 0.0) for lam in LAMBDAS],
        "L1+L2": [(a, b) for b in LAMBDAS for a in LAMBDAS],
    }


def subproblems() -> None:
    """Milliseconds of a solver's first solve, and of the next one with 5 % of the weights at 0."""
    solvers = ("interior", "simplex", "cvxpy")
    print("| n × d | loss | penalty | " + " | ".join(solvers) + " |")
    for n, d in ((100, 20), (100, 200), (1000, 20), (5000, 50)):
        X, y = simulation(n, d, 0)
        for form, (l1, l2) in product((1, 2), ((0, 1.0), (3.0, 0), (3.0, 1.0))):
            cells = [
                cell(Ours(X, y, form, False, None).risk(l1, l2), name)
                if n <= 1000 or name not in ("simplex", "cvxpy")
                else "–"
                for name in solvers
            ]
            print(f"| {n} × {d} | RSVM{form} | {l1:g}, {l2:g} | " + " | ".join(cells) + " |")


def cell(risk: dc.Risk, name: str) -> str:
    """One entry of the table: × where the tolerance is missed, – where the risk is refused."""
    if SOLVERS[name].refusal(risk) is not None:
        return "–"
    begin = time.perf_counter()
    solver, weights = make(name, risk), np.ones(risk.n_groups)
    later = np.where(np.random.default_rng(1).random(weights.size) < 0.05, 0.0, 1.0)
    try:
        first = solver.minimise(WeightedRisk(risk, weights), np.zeros(risk.rows.shape[1]), 1e-8)
        middle = time.perf_counter()
        solver.minimise(WeightedRisk(risk, later), first.coefficients, 1e-8)
    except SubproblemError:
        return "×"
    end = time.perf_counter()
    return f"{1e3 * (middle - begin):.3g} / {1e3 * (end - middle):.3g}"


def lines(full: bool = False) -> Iterator[Line]:
    """L2 and L1 paths of both losses, p = 20 and, if `full`, 200; F is the median of the ratios."""
    for p, goal in ((20, 15.0), (200, 60.0)) if full else ((20, 15.0),):
        X, y = simulation(100, p, 0)
        for name in ("L2", "L1"):
            grid = grids()[name]
            for form in (1, 2):
                theirs, n_theirs, reference = Rebuilt(X, y, form).path(grid, 6)
                ours, n, values = Ours(X, y, form, False, None).path(grid)
                ratios = np.array([values[i] / reference[i] for i in reference])
                case = f"angle path RSVM{form}, {name}, p = {p}"
                note = f"F is relative, the median of a path; {n} and {n_theirs * 6} steps"
                ratio, middle = theirs / ours, float(np.median(ratios))
                yield Line(case, "a loop that rebuilds", ratio, middle, 1.0, goal, note)


def main() -> None:
    """Print one line a configuration."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--p", type=int, default=200)
    parser.add_argument("--n", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=int, default=3, help="share of the L2 and L1 grid they do")
    parser.add_argument("--every-both", type=int, default=45, help="the same for L1+L2")
    parser.add_argument("--solver", nargs="*", default=[None], help="ours, by name")
    parser.add_argument("--subproblems", action="store_true", help="only the table of solvers")
    options = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    if options.subproblems:
        subproblems()
        return
    X, y = simulation(options.n, options.p, options.seed)
    head = ("penalty", "loss", "majorant", "solver", "ours", "theirs", "ratio", "steps")
    print(("{:>8} {:>5} {:>8} {:>10} {:>8} {:>8} {:>6} {:>12}  F ours/theirs").format(*head))
    for name, grid in grids().items():
        every = options.every_both if name == "L1+L2" else options.every
        for form in (1, 2):
            theirs, n_theirs, reference = Rebuilt(X, y, form).path(grid, every)
            for tilted in (False, True):
                for solver in options.solver:
                    try:
                        ours, n, values = Ours(X, y, form, tilted, solver).path(grid)
                    except ValueError:
                        continue  # the solver does not take the penalty
                    ratios = np.array([values[i] / reference[i] for i in reference])
                    print(
                        f"{name:>8} RSVM{form} {'tilts' if tilted else 'weights':>8} "
                        f"{solver or 'auto':>10} {ours:>7.2f}s {theirs:>7.1f}s "
                        f"{theirs / ours:>6.1f} {n:>5} /{n_theirs * every:>5}  "
                        f"{np.median(ratios):.4f} ({ratios.min():.3f}–{ratios.max():.3f})",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
