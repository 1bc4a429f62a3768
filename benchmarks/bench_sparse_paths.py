"""Sparse regression against skglm: single fits and paths, MCP, SCAD and log-sum, 1000 × 5000.

    F(w) = ‖y − Xw‖²/(2n) + Σ_j ψ(|w_j|),

skglm's scaling; ours minimises 2n times as much, ``Σ u² + 2n·penalty``. One local run each from
w = 0, or along the same 50 values of λ, without an intercept; escapes are off, as skglm has none
(``--escape`` turns them on). Both get X in the order that skglm needs. Its ``AndersonCD`` runs at
``tol=1e-6``, ours at ``tol=1e-8``, so that each ends within 1e-9 of its own local minimum.

Ratios are CPU time of skglm over ours, above 1 where ours is faster; the best of a few runs in
turn. F is recomputed in NumPy at both points. The minima are local, and where λ is small they
differ. The last lines compare directions of a path.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import dcprog as dc
from benchmarks.line import HEADER, Line, is_installed
from benchmarks.timing import timed
from dcprog.foundation.arrays import Array

RUNS, TOL, PEER_TOL, PEER = 4, 1e-8, 1e-6, "skglm AndersonCD"
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


def best(*works: Callable[[], Any]) -> list[tuple[Any, float]]:
    """The fastest of a few runs of each, in turn."""
    runs = [[timed(work) for work in works] for _ in range(RUNS)]
    return [min(of_one, key=lambda run: run[1]) for of_one in zip(*runs, strict=True)]


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


def fit_of_ours(X: Array, y: Array, name: str, lam: float, escape: bool) -> Array:
    """One run from 0."""
    rows = dc.residual_rows(X, y, fit_intercept=False)
    risk = dc.Risk.from_loss(rows, dc.square(), 2 * len(y) * OURS[name](lam))
    result = dc.solve(risk, start=np.zeros(X.shape[1]), n_starts=1, tol=TOL, escape=escape)
    assert result.x is not None
    return result.x


def path_of_ours(
    X: Array, y: Array, name: str, lambdas: Array, escape: bool, direction: str = "down"
) -> Array:
    """The same values of λ."""
    path = dc.penalty_path(
        X,
        y,
        penalty=2 * len(y) * OURS[name](1.0),
        lambdas=lambdas * (EPS if name == "log-sum" else 1.0),
        fit_intercept=False,
        direction=direction,
        tol=TOL,
        escape=escape,
    )
    return path.coefs


def singles(X: Array, y: Array, largest: float, escape: bool) -> Iterator[Line]:
    """One line a penalty and a λ."""
    for name, penalty in OURS.items():
        for share in SHARES:
            lam = share * largest
            (theirs, slow), (ours, fast) = best(
                lambda: fit_of_skglm(X, y, name, lam),  # noqa: B023
                lambda: fit_of_ours(X, y, name, lam, escape),  # noqa: B023
            )
            a, b = (objective(X, y, w, penalty(lam)) for w in (ours, theirs))
            note = f"not 0: {np.count_nonzero(ours)} / {np.count_nonzero(theirs)}"
            yield Line(f"{name} {_size(X)}, {share:g} λ_max", PEER, slow / fast, a, b, 1.0, note)


def paths(X: Array, y: Array, largest: float, escape: bool) -> Iterator[Line]:
    """One line a penalty, with F added up along the path."""
    for end in (0.1, 0.05):
        lambdas = largest * np.geomspace(1.0, end, 50)
        for name, penalty in OURS.items():
            (theirs, slow), (ours, fast) = best(
                lambda: path_of_skglm(X, y, name, lambdas),  # noqa: B023
                lambda: path_of_ours(X, y, name, lambdas, escape),  # noqa: B023
            )
            a, b = (values(X, y, coefs, penalty, lambdas) for coefs in (ours, theirs))
            apart = (a - b) / b
            note = f"fit by fit {apart.min():+.0e} to {apart.max():+.0e}"
            case = f"{name} {_size(X)}, path of 50 to {end:g} λ_max"
            yield Line(case, PEER, slow / fast, a.sum(), b.sum(), 1.0, note)


def _size(X: Array) -> str:
    return f"{X.shape[0]} × {X.shape[1]}"


def values(
    X: Array, y: Array, coefs: Array, penalty: Callable[[float], dc.Penalty], lambdas: Array
) -> Array:
    """F along a path."""
    return np.array(
        [objective(X, y, w, penalty(lam)) for w, lam in zip(coefs.T, lambdas, strict=True)]
    )


def directions(X: Array, y: Array, largest: float) -> Iterator[Line]:
    """What the other directions cost against "down", and whether they end lower."""
    lambdas = largest * np.geomspace(1.0, 0.05, 50)
    for name, penalty in OURS.items():
        runs = {
            way: timed(lambda: path_of_ours(X, y, name, lambdas, False, way))  # noqa: B023
            for way in ("down", "up", "both")
        }
        below, base = values(X, y, runs["down"][0], penalty, lambdas), runs["down"][1]
        for way in ("up", "both"):
            found = values(X, y, runs[way][0], penalty, lambdas)
            apart = found / below - 1
            note = f"{np.sum(apart < -1e-6)} lower, {np.sum(apart > 1e-6)} higher"
            case = f"{name} {_size(X)}, path {way}"
            yield Line(case, "path down", base / runs[way][1], found.sum(), below.sum(), None, note)


def lines(full: bool = False, escape: bool = False) -> Iterator[Line]:
    """Fits and paths against skglm where it is installed, and directions."""
    X, y = correlated(1000, 5000) if full else correlated(200, 1000)
    largest = dc.lambda_max(X, y, fit_intercept=False) / (2 * len(y))
    if is_installed("skglm"):
        for name in OURS:  # compiles
            fit_of_skglm(X[:50, :100].copy("F"), y[:50], name, largest / 5)
            fit_of_ours(X[:50, :100], y[:50], name, largest / 5, escape)
        yield from singles(X, y, largest, escape)
        yield from paths(X, y, largest, escape)
    yield from directions(X, y, largest)


def main() -> None:
    """Print the lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a fifth of both sizes")
    parser.add_argument("--escape", action="store_true", help="ours looks around where it ends")
    options = parser.parse_args()
    if not is_installed("skglm"):
        print("skglm is not installed (dcprog[bench]): the fits against it are skipped")
    print(HEADER)
    for line in lines(not options.quick, options.escape):
        print(line, flush=True)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
