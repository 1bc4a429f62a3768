"""Sparse regression against skglm: single fits and paths, MCP, SCAD and log-sum, 1000 × 5000.

    F(w) = ‖y − Xw‖²/(2n) + Σ_j ψ(|w_j|),

skglm's scaling; ours minimises 2n times as much, ``Σ u² + 2n·penalty``. One local run each from
w = 0, or along the same 50 values of λ, without an intercept; escapes are off, as skglm has none.
Both get X in the order that skglm needs. Its ``AndersonCD`` runs at ``tol=1e-6``, ours at
``tol=1e-8``, so that each ends within 1e-9 of its own local minimum. The minima are local, and
where λ is small they differ. The last cases compare directions of a path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import dcprog as dc
from benchmarks.runner import Case, Competitor, is_installed
from dcprog.foundation.arrays import Array

TOL, PEER_TOL, PEER = 1e-8, 1e-6, "skglm AndersonCD"
SHARES = (0.5, 0.2, 0.1, 0.05)  # of λ_max
# The penalties of a λ, and the same of skglm; log-sum has the slope λ at 0.
EPS = 0.1
OURS: dict[str, Callable[[float], dc.Penalty]] = {
    "MCP": lambda lam: dc.mcp(lam, 3.0),
    "SCAD": lambda lam: dc.scad(lam, 3.7),
    "log-sum": lambda lam: dc.log_sum(EPS * lam, EPS),
}


def correlated(n: int, p: int, live: int = 50) -> tuple[Array, Array]:
    """Columns that correlate by ½ with the one before, a few coefficients, a fifth of noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
    w = np.zeros(p)
    w[rng.choice(p, live, replace=False)] = rng.choice([-1.0, 1.0], live) * rng.uniform(
        0.5, 2, live
    )
    signal = X @ w
    return np.asfortranarray(X), signal + np.std(signal) / np.sqrt(5) * rng.standard_normal(n)


def objective(X: Array, y: Array, w: Array, penalty: dc.Penalty) -> float:
    """F(w)."""
    residual = y - X @ w
    return float(residual @ residual) / (2 * len(y)) + penalty(w)


# --------------------------------------------------------------------------------------------------
# skglm


def of_skglm(name: str, lam: float) -> Any:
    """Its penalty."""
    from skglm.penalties import SCAD, LogSumPenalty, MCPenalty

    made = {
        "MCP": lambda: MCPenalty(lam, 3.0),
        "SCAD": lambda: SCAD(lam, 3.7),
        "log-sum": lambda: LogSumPenalty(EPS * lam, EPS),
    }
    return made[name]()


def fit_of_skglm(X: Array, y: Array, name: str, lam: float) -> Array:
    """One run from 0."""
    from skglm.datafits import Quadratic
    from skglm.solvers import AndersonCD

    solver = AndersonCD(fit_intercept=False, tol=PEER_TOL)
    return np.asarray(solver.solve(X, y, Quadratic(), of_skglm(name, lam))[0])


def path_of_skglm(X: Array, y: Array, name: str, lambdas: Array) -> Array:
    """Its own path, from large λ to small."""
    from skglm.datafits import Quadratic
    from skglm.solvers import AndersonCD
    from skglm.utils.jit_compilation import compiled_clone

    solver = AndersonCD(fit_intercept=False, tol=PEER_TOL)
    parts = compiled_clone(Quadratic()), compiled_clone(of_skglm(name, 1.0))
    alphas = lambdas * (EPS if name == "log-sum" else 1.0)
    return np.asarray(solver.path(X, y, *parts, alphas)[1])


# --------------------------------------------------------------------------------------------------
# ours


def fit_of_ours(X: Array, y: Array, name: str, lam: float) -> Array:
    """One run from 0."""
    rows = dc.residual_rows(X, y, fit_intercept=False)
    risk = dc.Risk.from_loss(rows, dc.square(), 2 * len(y) * OURS[name](lam))
    result = dc.solve(risk, start=np.zeros(X.shape[1]), n_starts=1, tol=TOL, escape=False)
    assert result.x is not None
    return result.x


def path_of_ours(X: Array, y: Array, name: str, lambdas: Array, direction: str = "down") -> Array:
    """The same values of λ."""
    path = dc.penalty_path(
        X,
        y,
        penalty=2 * len(y) * OURS[name](1.0),
        lambdas=lambdas * (EPS if name == "log-sum" else 1.0),
        fit_intercept=False,
        direction=direction,
        tol=TOL,
        escape=False,
    )
    return path.coefs


def values(X: Array, y: Array, name: str, lambdas: Array, coefs: Array) -> Array:
    """F along a path."""
    pairs = zip(coefs.T, lambdas, strict=True)
    return np.array([objective(X, y, w, OURS[name](lam)) for w, lam in pairs])


def single(X: Array, y: Array, name: str, share: float, largest: float) -> Case:
    """One fit."""
    lam = share * largest
    return Case(
        f"{name} {X.shape[0]} × {X.shape[1]}, {share:g} λ_max",
        lambda: fit_of_ours(X, y, name, lam),
        (Competitor(PEER, lambda: fit_of_skglm(X, y, name, lam), 1.0),),
        lambda w: objective(X, y, w, OURS[name](lam)),
        lambda ours, theirs: f"not 0: {np.count_nonzero(ours)} / {np.count_nonzero(theirs)}",
    )


def path(X: Array, y: Array, name: str, end: float, largest: float) -> Case:
    """F added up along a path."""
    lambdas = largest * np.geomspace(1.0, end, 50)

    def note(ours: Array, theirs: Array) -> str:
        a, b = (values(X, y, name, lambdas, coefs) for coefs in (ours, theirs))
        return f"fit by fit {((a - b) / b).min():+.0e} to {((a - b) / b).max():+.0e}"

    return Case(
        f"{name} {X.shape[0]} × {X.shape[1]}, path of 50 to {end:g} λ_max",
        lambda: path_of_ours(X, y, name, lambdas),
        (Competitor(PEER, lambda: path_of_skglm(X, y, name, lambdas), 1.0),),
        lambda coefs: float(values(X, y, name, lambdas, coefs).sum()),
        note,
    )


def direction(X: Array, y: Array, name: str, way: str, largest: float) -> Case:
    """What another direction costs against "down", and whether it ends lower."""
    lambdas = largest * np.geomspace(1.0, 0.05, 50)

    def note(ours: Array, theirs: Array) -> str:
        a, b = (values(X, y, name, lambdas, coefs) for coefs in (ours, theirs))
        apart = a / b - 1
        return f"{np.sum(apart < -1e-6)} lower, {np.sum(apart > 1e-6)} higher"

    return Case(
        f"{name} {X.shape[0]} × {X.shape[1]}, path {way}",
        lambda: path_of_ours(X, y, name, lambdas, way),
        (Competitor("path down", lambda: path_of_ours(X, y, name, lambdas)),),
        lambda coefs: float(values(X, y, name, lambdas, coefs).sum()),
        note,
        repeats=1,
    )


def cases(full: bool) -> Iterator[Case]:
    """Fits and paths against skglm where it is installed, and directions."""
    X, y = correlated(1000, 5000) if full else correlated(200, 1000)
    largest = dc.lambda_max(X, y, fit_intercept=False) / (2 * len(y))
    if is_installed("skglm"):
        for name in OURS:  # compiles
            fit_of_skglm(X[:50, :100].copy("F"), y[:50], name, largest / 5)
            fit_of_ours(X[:50, :100], y[:50], name, largest / 5)
        for name in OURS:
            for share in SHARES:
                yield single(X, y, name, share, largest)
        for end in (0.1, 0.05):
            for name in OURS:
                yield path(X, y, name, end, largest)
    for name in OURS:
        for way in ("up", "both"):
            yield direction(X, y, name, way, largest)
