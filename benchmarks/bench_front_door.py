"""One run of a ramp problem written in cvxpy, against loops by hand, DCCP and the declared risk.

All minimise  Σ min((1 − u)₊, 1) + penalty  with u = y∘(Xw + b) from the convex problem, and stop at
the same decrease. One loop compiles once: its weights are a Parameter (DPP), its solver is PIQP.
The other one writes the weighted problem anew every step and calls Clarabel; it is beside a run by
the rules of the tree, ``solver="cvxpy"``, whose note says what share of the time after the first
step is spent outside of solvers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import cvxpy as cp
import numpy as np

import dcprog as dc
from benchmarks.runner import Case, Competitor, is_installed

Array = np.ndarray
Found = tuple[Array, float, str]  # w, b and a note
TOLERANCE = 1e-6  # of the decrease, relative to the value
PENALTIES = {"L2": (0.0, 0.1), "L1": (1.0, 0.0), "EN": (0.5, 0.1)}


def data(n: int, p: int, seed: int) -> tuple[Array, Array]:
    """Two Gaussian clouds with 15% of the labels flipped."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], n)
    X = rng.normal(size=(n, p)) + 0.25 * y[:, None]
    y[rng.random(n) < 0.15] *= -1
    return X, y


@dataclass(frozen=True)
class Ramp:
    """The problem and its ways; an l1 and an l2 penalty."""

    X: Array
    y: Array
    l1: float
    l2: float

    def penalty(self, w: cp.Variable) -> cp.Expression:
        """The penalty as a user writes it."""
        terms = [self.l1 * cp.norm1(w)] if self.l1 else []
        terms += [self.l2 / 2 * cp.sum_squares(w)] if self.l2 else []
        return sum(terms[1:], terms[0])

    def objective(self, found: Found) -> float:
        """F in NumPy."""
        w, b, _ = found
        loss = np.clip(1 - self.y * (self.X @ w + b), 0, 1).sum()
        return float(loss + self.l1 * np.abs(w).sum() + self.l2 / 2 * w @ w)

    def front_door(self, solver: str | None = None) -> Found:
        """As written in cvxpy, by dcprog."""
        w, b = cp.Variable(self.X.shape[1]), cp.Variable()
        hinge = cp.pos(1 - cp.multiply(self.y, self.X @ w + b))
        problem = cp.Problem(cp.Minimize(cp.sum(cp.minimum(hinge, 1)) + self.penalty(w)))
        result = dc.solve(problem, start="convex", n_starts=1, tol=TOLERANCE, solver=solver)
        time, inside = result.history.time, result.history.solve_time
        outside = 1 - (inside[-1] - inside[1]) / (time[-1] - time[1]) if result.n_iter > 1 else 0
        note = f"{result.n_iter} steps" + (f", {outside:.0%} outside solvers" if solver else "")
        return w.value, float(b.value), note

    def declared(self) -> Found:
        """The same by the risk, declared."""
        rows, penalty = dc.binary_margins(self.X, self.y), dc.elastic_net(self.l1, self.l2)
        risk = dc.Risk.from_loss(rows, dc.cap(dc.hinge(), 1.0), penalty)
        theta = np.asarray(dc.solve(risk, start="convex", n_starts=1, tol=TOLERANCE).x)
        return theta[:-1], float(theta[-1]), ""

    def compiled_loop(self) -> Found:
        """Reweighting by hand, compiled once."""
        w, b = cp.Variable(self.X.shape[1]), cp.Variable()
        weights = cp.Parameter(len(self.y), nonneg=True, value=np.ones(len(self.y)))
        loss = weights @ cp.pos(1 - self._margins(w, b))
        problem = cp.Problem(cp.Minimize(loss + self.penalty(w)))
        return self._reweighted(w, b, weights, lambda: problem.solve(solver="PIQP"))

    def rebuilt_loop(self) -> Found:
        """Reweighting by hand, written anew every step."""
        w, b = cp.Variable(self.X.shape[1]), cp.Variable()
        weights = cp.Parameter(len(self.y), nonneg=True, value=np.ones(len(self.y)))

        def step() -> None:
            loss = cp.sum(cp.multiply(weights.value, cp.pos(1 - self._margins(w, b))))
            cp.Problem(cp.Minimize(loss + self.penalty(w))).solve(solver="CLARABEL")

        return self._reweighted(w, b, weights, step)

    def by_dccp(self) -> Found:
        """DCCP from the same convex problem; it takes  Σ s  with  (1 − u)₊ ≤ s + (−u)₊."""
        import dccp  # noqa: F401  registers the method

        w, b, s = cp.Variable(self.X.shape[1]), cp.Variable(), cp.Variable(len(self.y))
        margins = self._margins(w, b)
        convex = cp.Problem(cp.Minimize(cp.sum(cp.pos(1 - margins)) + self.penalty(w)))
        convex.solve(solver="PIQP")
        s.value = np.clip(1 - self.y * (self.X @ w.value + b.value), 0, 1)
        ramp = [cp.pos(1 - margins) <= s + cp.pos(-margins), s >= 0]
        problem = cp.Problem(cp.Minimize(cp.sum(s) + self.penalty(w)), ramp)
        problem.solve(method="dccp", solver="CLARABEL", ep=TOLERANCE, tau_ini=1.0)
        return w.value, float(b.value), ""

    def _margins(self, w: cp.Variable, b: cp.Variable) -> cp.Expression:
        return (self.y[:, None] * self.X) @ w + self.y * b

    def _reweighted(
        self, w: cp.Variable, b: cp.Variable, weights: cp.Parameter, step: Callable[[], object]
    ) -> Found:
        before = np.inf
        for _ in range(100):
            step()
            found = w.value, float(b.value), ""
            value = self.objective(found)
            if before - value <= TOLERANCE * value:
                break
            before = value
            weights.value = (1 - self.y * (self.X @ w.value + b.value) <= 1).astype(float)
        return found


def regression(n: int, p: int, seed: int) -> tuple[Array, Array, Array]:
    """Normal data, targets with 15% of outliers, and the coefficients behind them."""
    rng = np.random.default_rng(seed)
    A, x = rng.standard_normal((n, p)), rng.standard_normal(p)
    b = A @ x + 0.1 * rng.standard_normal(n)
    outliers = n * 15 // 100
    b[:outliers] += 10 * rng.standard_normal(outliers)
    return A, b, x


CONSTRAINTS: dict[str, Callable[[cp.Variable, Array], list[cp.Constraint]]] = {
    "no constraint": lambda x, known: [],
    "norm1(x) ≤ c": lambda x, known: [cp.norm1(x) <= 0.7 * np.abs(known).sum()],
    "|x| ≤ ½": lambda x, known: [x <= 0.5, x >= -0.5],
    "x ≥ 0": lambda x, known: [x >= 0],
    "sum(x) = 0, x₁ ≥ x₂": lambda x, known: [cp.sum(x) == 0, x[0] >= x[1]],
    "norm(x) ≤ c": lambda x, known: [cp.norm(x) <= 0.7 * np.linalg.norm(known)],
}


NOT_FOR_PIQP = ("norm(x) ≤ c", "|x| ≤ ½", "x ≥ 0")  # conic, or it ends at its limit of steps


@dataclass(frozen=True)
class Constrained:
    """Σ min(|Ax − b|, 1) under convex constraints; the coefficients behind b set their levels."""

    A: Array
    b: Array
    known: Array
    constraint: str

    def objective(self, found: tuple[Array, str]) -> float:
        """F in NumPy."""
        return float(np.minimum(np.abs(self.A @ found[0] - self.b), 1).sum())

    def front_door(self) -> tuple[Array, str]:
        """As written in cvxpy, by dcprog."""
        x = cp.Variable(self.A.shape[1])
        loss = cp.sum(cp.minimum(cp.abs(self.A @ x - self.b), 1))
        problem = cp.Problem(cp.Minimize(loss), CONSTRAINTS[self.constraint](x, self.known))
        result = dc.solve(problem, start="convex", n_starts=1, tol=TOLERANCE)
        return x.value, f"{result.n_iter} steps, {result.solver}"

    def compiled_loop(self) -> tuple[Array, str]:
        """Reweighting by hand, compiled once."""
        x = cp.Variable(self.A.shape[1])
        weights = cp.Parameter(len(self.b), nonneg=True, value=np.ones(len(self.b)))
        loss = weights @ cp.abs(self.A @ x - self.b)
        problem = cp.Problem(cp.Minimize(loss), CONSTRAINTS[self.constraint](x, self.known))
        solver, before = "CLARABEL" if self.constraint in NOT_FOR_PIQP else "PIQP", np.inf
        for _ in range(100):
            problem.solve(solver=solver)
            value = self.objective((x.value, ""))
            if before - value <= TOLERANCE * value:
                break
            before = value
            weights.value = (np.abs(self.A @ x.value - self.b) <= 1).astype(float)
        return x.value, ""


def cases(full: bool) -> Iterator[Case]:
    """Every size and penalty; `full` adds 5000 × 50 and 20 000 × 50."""
    for n, p in ((200, 5), (1000, 50), (5000, 50)) if full else ((200, 5), (1000, 50)):
        for name, weights in PENALTIES.items():
            ramp = Ramp(*data(n, p, 0), *weights)
            peers = [
                Competitor("a DPP loop with PIQP", ramp.compiled_loop, 1.5 if n < 1000 else 8.0)
            ]
            if is_installed("dccp") and name != "EN" and n >= 1000:
                peers.append(Competitor("DCCP", ramp.by_dccp, 25.0))
            yield of_problem(f"ramp in cvxpy, {n} × {p}, {name}", ramp, *peers)
    by_rules = Ramp(*data(1000, 50, 0), *PENALTIES["L2"])
    yield Case(
        "ramp by the tree, 1000 × 50, L2",
        lambda: by_rules.front_door("cvxpy"),
        (Competitor("a loop that rebuilds", by_rules.rebuilt_loop, 3.0),),
        by_rules.objective,
        lambda ours, theirs: ours[2],
    )
    for constraint in CONSTRAINTS:
        fit = Constrained(*regression(2000, 20, 0), constraint)
        yield Case(
            f"capped absolute, 2000 × 20, {constraint}",
            fit.front_door,
            (Competitor("a DPP loop", fit.compiled_loop, 3.0),),
            fit.objective,
            lambda ours, theirs: ours[1],
        )
    if full:
        ramp = Ramp(*data(20_000, 50, 0), *PENALTIES["L2"])
        declared = Competitor("the same Risk, declared", ramp.declared, 0.8)
        yield of_problem("ramp in cvxpy, 20000 × 50, L2", ramp, declared)


def of_problem(name: str, ramp: Ramp, *peers: Competitor) -> Case:
    repeats = 5 if len(ramp.y) <= 1000 else 3
    return Case(name, ramp.front_door, peers, ramp.objective, repeats=repeats)
