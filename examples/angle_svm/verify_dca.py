"""Geometry and algorithm of the robust angle-based SVM, sections 2 and 3 of its paper.

Zhang, Pham, Fu and Liu (Math. Program. 169, 2018). Everything is written out here anew and held
against the library:

* the simplex: ‖W_j‖ = 1, ΣW_j = 0, ⟨W_i, W_j⟩ = −1/(k−1), ΣW_jW_jᵀ = k/(k−1)·I;
* the bounds of the losses, and their split G − H: H's first term in loss 1 must be H_{(k−1)s},
  where section 3.1 prints H_s;
* the difference-of-convex algorithm with a quadratic program a step: from β = 0 its first step is
  the untruncated fit, no step raises the objective, and the library with ``majorant="dc"`` ends at
  the same point for loss 1;
* the dual programs of a step: primal and dual optima are the same;
* alternating linearisation for L1 + L2 reaches the minimiser of a step; with the other sign of the
  multipliers' updates it does not;
* a path over λ keeps the lower of its two runs.

Run ``python -m examples.angle_svm.verify_dca``; ``--full`` takes more problems. The exit status
is 1 if a claim comes out otherwise.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import cvxpy as cp
import numpy as np

import dcprog as dc
from dcprog.models import AngleSVC, angle_path
from dcprog.rows.angle import simplex_vertices
from examples.common.claims import Claim, at_most, own, print_claims, under
from examples.common.plots import parser_of

Array = np.ndarray
GAMMA = 0.5
LAM = 0.7


@dataclass(frozen=True)
class Problem:
    """n samples of k classes, truncated at s; L2 with λ/2‖β‖²."""

    form: int
    k: int
    s: float
    X: Array
    y: Array

    @property
    def W(self) -> Array:
        return simplex_vertices(self.k)

    def scores(self, B: Array) -> Array:
        return self.X @ B.T @ self.W.T

    def own(self) -> Array:
        return np.eye(self.k)[self.y] > 0

    def margin(self, u: Array) -> Array:
        """min_{j≠y} u_y − u_j."""
        others = np.where(self.own(), -np.inf, u)
        return u[self.own()] - others.max(axis=1)

    def convex(self, B: Array, own: float, other: float) -> float:
        """Σ γ[own − u_y]₊ + (1−γ)Σ[other + u_j]₊, or Σ[own − m]₊."""
        u = self.scores(B)
        if self.form == 2:
            return float(np.maximum(own - self.margin(u), 0).sum())
        first = np.maximum(own - u[self.own()], 0).sum()
        return float(GAMMA * first + (1 - GAMMA) * np.maximum(other + u[~self.own()], 0).sum())

    def kinks(self) -> tuple[float, float]:
        """Where G's own term and H's begin."""
        return (self.k - 1, (self.k - 1) * self.s) if self.form == 1 else (1.0, self.s)

    def objective(self, B: Array) -> float:
        first, second = self.kinks()
        ridge = LAM / 2 * float(np.sum(B**2))
        return self.convex(B, first, 1.0) - self.convex(B, second, self.s) + ridge

    def tangent(self, B: Array) -> Array:
        """A subgradient of H at B, of B's shape; 0 at kinks, the first class at ties."""
        u, W, own = self.scores(B), self.W, self.own()
        if self.form == 2:
            others = np.where(own, -np.inf, u)
            rival = others.argmax(axis=1)
            active = self.margin(u) < self.s
            return -((W[self.y] - W[rival]) * active[:, None]).T @ self.X
        weights = np.where(own, -GAMMA * (u < (self.k - 1) * self.s), 0.0)
        weights = weights + np.where(own, 0.0, (1 - GAMMA) * (u > -self.s))
        return (weights @ W).T @ self.X


def step(p: Problem, g: Array) -> Array:
    """The minimiser of G − ⟨g, ·⟩ by cvxpy."""
    B = cp.Variable((p.k - 1, p.X.shape[1]))
    u, first = p.X @ B.T @ p.W.T, p.kinks()[0]
    inside, outside = p.own().astype(float), (~p.own()).astype(float)
    mine = cp.sum(cp.multiply(inside, u), axis=1)
    if p.form == 1:
        loss = GAMMA * cp.sum(cp.pos(first - mine))
        loss += (1 - GAMMA) * cp.sum(cp.multiply(outside, cp.pos(1 + u)))
    else:
        slack = cp.Variable(len(p.y), nonneg=True)
        loss = cp.sum(slack)
    objective = loss + LAM / 2 * cp.sum_squares(B) - cp.sum(cp.multiply(g, B))
    constraints = []
    if p.form == 2:
        apart = cp.reshape(mine, (len(p.y), 1), order="C") - u + 2 * inside  # own class: no row
        constraints = [cp.reshape(slack, (len(p.y), 1), order="C") >= 1 - apart]
    cp.Problem(cp.Minimize(objective), constraints).solve(solver=cp.CLARABEL)
    return np.asarray(B.value)


def dual(p: Problem, g: Array) -> float:
    """The optimum of the dual program of a step, maximised over the multipliers of the slacks."""
    W, n = p.W, len(p.y)
    rows, delta, group = [], [], []
    for i, j in product(range(n), range(p.k)):
        mine = j == p.y[i]
        if p.form == 1:
            direction = -W[j] if mine else W[j]
            delta.append(p.k - 1.0 if mine else 1.0)
            group.append(GAMMA if mine else 1 - GAMMA)
        elif mine:
            continue
        else:
            direction = W[j] - W[p.y[i]]
            delta.append(1.0)
        rows.append(np.outer(direction, p.X[i]).ravel())
    mu = cp.Variable(len(rows), nonneg=True)
    pull = g.ravel() - np.array(rows).T @ mu
    inside = (
        [mu <= np.array(group)]
        if p.form == 1
        else [cp.sum(cp.reshape(mu, (n, p.k - 1), order="C"), axis=1) <= 1]
    )
    value = np.array(delta) @ mu - cp.sum_squares(pull) / (2 * LAM)
    return float(cp.Problem(cp.Maximize(value), inside).solve(solver=cp.CLARABEL))


def primal(p: Problem, g: Array, B: Array) -> float:
    return p.convex(B, p.kinks()[0], 1.0) + LAM / 2 * float(np.sum(B**2)) - float(np.sum(g * B))


def model_of(p: Problem) -> AngleSVC:
    """The library's, with the publication's majorants, and its own s = −1/(k−1)."""
    s = "auto" if p.s == -1 / (p.k - 1) else p.s
    return AngleSVC(p.form, s, GAMMA, fit_intercept=False, lam=LAM, majorant="dc")


def problems(count: int) -> list[Problem]:
    found = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        k = 3 + seed % 2
        y = np.r_[np.arange(k), rng.integers(0, k, 30)]
        X = rng.normal(size=(len(y), 3))
        X[:, :2] += 1.5 * simplex_vertices(k)[y][:, :2]
        X[-4:] *= -6
        found += [Problem(form, k, s, X, y) for form in (1, 2) for s in (0.0, -1 / (k - 1))]
    return found


# ---- claims --------------------------------------------------------------------------------------


def simplex_claims() -> list[Claim]:
    worst = 0.0
    for k in (2, 3, 4, 6, 11):
        W = simplex_vertices(k)
        inner = np.where(np.eye(k) > 0, 1.0, -1 / (k - 1))
        worst = max(worst, float(np.abs(W @ W.T - inner).max()), float(np.abs(W.sum(axis=0)).max()))
        worst = max(worst, float(np.abs(W.T @ W - k / (k - 1) * np.eye(k - 1)).max()))
    first = np.full(3, 3**-0.5)
    same = float(np.abs(simplex_vertices(4)[0] - first).max())
    return under(
        "simplex",
        [
            at_most("lengths, sum, angles and ΣWWᵀ, k = 2, 3, 4, 6, 11", worst, 1e-12),
            at_most("W_1 = (k−1)^−½·(1, …, 1)", same, 1e-12),
        ],
    )


def split_claims(found: Sequence[Problem]) -> list[Claim]:
    """The losses' bounds, and that G − H with the printed H is another function."""
    rng = np.random.default_rng(0)
    apart, printed, over = 0.0, 0.0, 0.0
    for p in found:
        specs = [model_of(p).set_params(majorant=m).spec(p.X, p.y) for m in ("cap", "dc")]
        for _ in range(20):
            B = rng.normal(size=(p.k - 1, 3)) * rng.choice([0.3, 1.0, 5.0])
            ours = p.objective(B)
            off = max(abs(spec(B.ravel()) - ours) for spec in specs)
            apart = max(apart, off / (1 + abs(ours)))
            most = ((p.k - 1) if p.form == 1 else 1) * (1 - p.s) * len(p.y)
            over = max(over, (ours - LAM / 2 * np.sum(B**2)) / most)
            if p.form == 1 and p.s < 0:
                wrong = p.convex(B, p.k - 1, 1.0) - p.convex(B, p.s, p.s)
                printed = max(printed, abs(wrong + LAM / 2 * np.sum(B**2) - ours) / (1 + abs(ours)))
    return under(
        "section 3.1",
        [
            at_most("G − H is the library's objective, by either majorant, relative", apart, 1e-12),
            Claim(
                "H of loss 1 with H_s (as printed) gives the loss",
                f"off by {printed:.2g}",
                printed < 1e-9,
                False,
                turns="off by at most 1e-9",
            ),
            Claim(
                "φ₁ ≤ (k−1)(1−s), φ₂ ≤ 1−s, and they come near it",
                f"up to {over:.3f} of it",
                bool(0.5 < over <= 1),
                turns=f"slopes ×{1 / over:.2f} or ×{0.5 / over:.2f}",
            ),
        ],
    )


def dca_claims(found: Sequence[Problem]) -> list[Claim]:
    rises, first, ends, gaps, wrong = [], 0.0, [], 0.0, 0.0
    finite, rates = True, []
    for p in found:
        B = np.zeros((p.k - 1, 3))
        values = [p.objective(B)]
        g = p.tangent(B)
        first = max(first, float(np.abs(g).max()))
        for _ in range(40):
            B = step(p, g)
            best = primal(p, g, B)
            gaps = max(gaps, abs(best - dual(p, g)) / (1 + abs(best)))
            values.append(p.objective(B))
            used, g = g, p.tangent(B)
            if values[-2] - values[-1] <= 1e-6 * (1 + abs(values[-1])):
                break
        wrong = max(wrong, abs(best - dual(p, -used)))
        rises.append(max(np.diff(values)) / (1 + abs(values[0])))
        spec = model_of(p).spec(p.X, p.y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dc.TrivialSolutionWarning)
            result = dc.solve(spec, start=np.zeros(B.size), n_starts=1, escape=False, tol=1e-8)
        finite &= dc.which_theorem(spec)["finite convergence"].holds
        if p.form == 1:  # with loss 2 rivals tie at the steps' ends, and choices differ
            rates.append(result.rate())
            ends.append(abs(result.value - values[-1]) / (1 + abs(values[-1])))
    return [
        *under(
            "section 3.1",
            [
                at_most("from β = 0 the first step is the untruncated fit: ‖g⁰‖", first, 0.0),
                at_most("no step raises the objective, relative", max(0.0, *rises), 1e-7),
                Claim(
                    "H is polyhedral; loss 1: the library's runs end after finitely many steps",
                    f"{sum(r.kind == 'finite' for r in rates)} of {len(rates)} runs, in at most "
                    f"{max(r.value for r in rates):g} steps",
                    finite and all(r.kind == "finite" for r in rates),
                    turns="one run that does not end",
                ),
                *own(
                    [at_most("loss 1: the library's run ends there too, relative", max(ends), 1e-5)]
                ),
            ],
        ),
        *under(
            "section 3, duals",
            [
                at_most("primal and dual optima of every step are equal, relative", gaps, 1e-6),
                Claim(
                    "with g of the other sign the dual's optimum differs",
                    f"by {wrong:.2g}",
                    wrong > 1e-3,
                    turns="by at most 1e-3",
                ),
            ],
        ),
    ]


def alternating(p: Problem, g: Array, lam1: float, sign: float, steps: int) -> Array:
    """Alternating linearisation of a step with λ1‖β‖₁ + λ2/2‖β‖², ρ = 1."""

    def loss_part(B: Array) -> float:
        return p.convex(B, p.kinks()[0], 1.0)

    def value(B: Array) -> float:
        rest = LAM / 2 * np.sum(B**2) + lam1 * np.abs(B).sum() - np.sum(g * B)
        return loss_part(B) + float(rest)

    mean = np.zeros((p.k - 1, p.X.shape[1]))
    d2 = mean.copy()
    for _ in range(steps):
        # min loss + ⟨d2, β⟩ + ½‖β − mean‖²: a step of λ = 1 with another pull
        z1 = step_with(p, mean - d2, 1.0)
        d1 = sign * d2 - (z1 - mean)
        mean = z1 if value(z1) <= value(mean) else mean
        pull = mean + g - d1
        z2 = np.sign(pull) * np.maximum(np.abs(pull) - lam1, 0) / (LAM + 1)
        d2 = sign * d1 - (z2 - mean)
        mean = z2 if value(z2) <= value(mean) else mean
    return mean


def step_with(p: Problem, pull: Array, ridge: float, lam1: float = 0.0) -> Array:
    """min loss + ridge/2‖β‖² + λ1‖β‖₁ − ⟨pull, β⟩ for loss 1."""
    B = cp.Variable(pull.shape)
    u = p.X @ B.T @ p.W.T
    inside, outside = p.own().astype(float), (~p.own()).astype(float)
    mine = cp.sum(cp.multiply(inside, u), axis=1)
    loss = GAMMA * cp.sum(cp.pos(p.k - 1 - mine))
    loss += (1 - GAMMA) * cp.sum(cp.multiply(outside, cp.pos(1 + u)))
    rest = ridge / 2 * cp.sum_squares(B) - cp.sum(cp.multiply(pull, B)) + lam1 * cp.sum(cp.abs(B))
    cp.Problem(cp.Minimize(loss + rest)).solve(solver=cp.CLARABEL)
    return np.asarray(B.value)


def linearisation_claims(found: Sequence[Problem], steps: int) -> list[Claim]:
    lam1, off, other = 0.5, [], []
    for p in found:
        g = p.tangent(step_with(p, np.zeros((p.k - 1, 3)), LAM))
        best = step_with(p, g, LAM, lam1)

        def value(B: Array, p: Problem = p, g: Array = g) -> float:
            return primal(p, g, B) + lam1 * float(np.abs(B).sum())

        scale = 1 + abs(value(best))
        off.append((value(alternating(p, g, lam1, -1.0, steps)) - value(best)) / scale)
        other.append((value(alternating(p, g, lam1, 1.0, 8)) - value(best)) / scale)
    return under(
        "section 3, elastic net",
        [
            at_most(f"{steps} rounds reach the step's minimum, relative", max(off), 1e-4),
            Claim(
                "the minus is needed: d₁ = +d₂ − ρ(z₁ − β̄) does not",
                f"{max(other):.1e} above it after 8 rounds",
                max(other) > 1e-3,
                turns="at most 1e-3 above it",
            ),
        ],
    )


def path_claims(found: Sequence[Problem]) -> list[Claim]:
    """angle_path keeps, at each λ, the lower of its warm and its cold run."""
    lams = np.logspace(-1, 1, 6)
    above, below = 0.0, 0
    for p in found:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dc.FisherConsistencyWarning)
            both, cold = (
                angle_path(p.X, p.y, lams, estimator=model_of(p), starts=starts).objectives
                for starts in ("both", "cold")
            )
        apart = (both - cold) / (1 + np.abs(cold))
        above, below = max(above, float(apart.max())), below + int(np.sum(apart < -1e-6))
    claim = Claim(
        "a path keeps the lower of the warm and the cold run at every λ",
        f"above the cold run by {max(above, 0.0):.0e} at most; below it at {below} of "
        f"{len(found) * lams.size} λ",
        above <= 1e-7 and below > 0,
        turns="a run that is higher than the cold one by more than 1e-7",
    )
    return own([claim])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 0 if every claim came out as expected."""
    parser = parser_of(__doc__)
    parser.add_argument("--full", action="store_true", help="more problems")
    options = parser.parse_args(arguments)
    found = problems(12 if options.full else 3)
    first = [p for p in found if p.form == 1][:: 2 if options.full else 3]
    claims = [
        *simplex_claims(),
        *split_claims(found),
        *dca_claims(found),
        *linearisation_claims(first, 150),
        *path_claims(found),
    ]
    return int(print_claims(claims, f"seeds 0–{len(found) // 4 - 1}") > 0)


if __name__ == "__main__":
    sys.exit(main())
