"""The theory of the least 1-norm SVM, checked by measurement.

López and Dorronsoro minimise ½‖w‖² + C Σ|1 − y_i f(x_i)|, whose dual has −C ≤ α_i ≤ C. Measured
are the gap between primal and dual, the optimality conditions, the equality with ε-insensitive
regression at ε = 0, the decrease of every step of their SMO, which labels matter, and what a
sample moved far out does to a least squares machine and to this one.

Run ``python examples/verify_least_one_norm.py --output folder``; ``--full`` takes more problems.
Claims that do not hold are in the table too, and fail as expected.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import cvxpy as cp
import matplotlib
import numpy as np
from common import BLUE, ORANGE, STYLE, Claim, at_most, print_claims
from matplotlib.figure import Figure
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVR

from dcprog.models import LeastOneNormSVC
from dcprog.solvers.backend import loops

Array = np.ndarray


def problem(seed: int, n: int = 60) -> tuple[Array, Array, Array, float]:
    """Samples, labels, an RBF or linear kernel, and C."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    X = rng.standard_normal((n, 3)) + 0.8 * y[:, None]
    K = X @ X.T if seed % 2 else rbf_kernel(X, gamma=0.3)
    return X, y, K, float(10 ** rng.uniform(-1, 1.5))


def coefficients(model: LeastOneNormSVC, n: int) -> Array:
    """a = αy of all samples."""
    a = np.zeros(n)
    a[model.support_] = model.dual_coef_[0]
    return a


def programs(K: Array, y: Array, C: float) -> tuple[float, float]:
    """Values of the primal and the dual quadratic program, by cvxpy."""
    values, vectors = np.linalg.eigh(K)
    factor = vectors * np.sqrt(np.maximum(values, 0))
    w, b, alpha = cp.Variable(len(y)), cp.Variable(), cp.Variable(len(y))
    primal = cp.sum_squares(w) / 2 + C * cp.norm1(factor @ w + b - y)
    dual = cp.sum_squares(factor.T @ cp.multiply(y, alpha)) / 2 - cp.sum(alpha)
    inside = [cp.abs(alpha) <= C, y @ alpha == 0]
    return (
        cp.Problem(cp.Minimize(primal)).solve(solver="CLARABEL"),
        cp.Problem(cp.Minimize(dual), inside).solve(solver="CLARABEL"),
    )


def optimality_claims(seeds: int) -> list[Claim]:
    """Duality, optimality conditions, regression, the interval of b."""
    worst = dict.fromkeys(("strong", "value", "gap", "kkt", "sum", "box", "svr", "b"), 0.0)
    for seed in range(seeds):
        _, y, K, C = problem(seed)
        primal, dual = programs(K, y, C)
        scale = 1 + primal
        worst["strong"] = max(worst["strong"], abs(primal + dual) / scale)
        for solver in ("auto", "smo", "libsvm"):
            model = LeastOneNormSVC(C=C, kernel="precomputed", solver=solver, tol=1e-8).fit(K, y)
            report = model.optimality(K, y)
            worst["value"] = max(worst["value"], abs(model.objective_ - primal) / scale)
            worst["gap"] = max(worst["gap"], report.gap / scale)
            worst["kkt"] = max(worst["kkt"], report.stationarity)
            worst["sum"] = max(worst["sum"], report.balance / C)
            worst["box"] = max(worst["box"], report.box / C)
            low, high = report.intercepts
            b = float(model.intercept_[0])
            worst["b"] = max(worst["b"], low - b, b - high)
        machine = SVR(C=C, epsilon=0.0, kernel="precomputed", tol=1e-7).fit(K, y)
        apart = np.abs(model.decision_function(K) - machine.predict(K))
        worst["svr"] = max(worst["svr"], float(np.max(apart)))
    return [
        at_most("primal + minimised dual = 0 (cvxpy), relative", worst["strong"], 1e-6),
        at_most("our objective is the primal's value, relative", worst["value"], 1e-6),
        at_most("our duality gap, relative", worst["gap"], 1e-8),
        at_most("yf = 1 inside, ≤ 1 at C, ≥ 1 at −C: violation", worst["kkt"], 1e-3),
        at_most("Σ α_i y_i = 0, relative to C", worst["sum"], 1e-9),
        at_most("|α_i| ≤ C, relative excess", worst["box"], 0.0),
        at_most("b lies in its interval of optimal values", worst["b"], 1e-3),
        at_most("it is SVR with ε = 0: scores apart", worst["svr"], 5e-3),
    ]


def smo_steps(K: Array, y: Array, C: float) -> tuple[Array, Array, Array, Array]:
    """Decrease of the dual, Δ, ‖Z‖² and whether a bound was met, of every step."""
    n, steps, rows = len(y), [], np.arange(len(y))
    v, g, lo, hi = np.zeros(n), -y.copy(), np.full(n, -C), np.full(n, C)
    for _ in range(5000):
        up, down = np.where(v > lo, g, -np.inf), np.where(v < hi, g, np.inf)
        U, L = int(np.argmax(up)), int(np.argmin(down))
        apart, value, before = up[U] - down[L], 0.5 * v @ K @ v - y @ v, v.copy()
        if apart <= 1e-3:
            break
        loops().descend(K, rows, y, lo, hi, v, g, True, False, 1e-3, 1)
        Z = K[U, U] + K[L, L] - 2 * K[U, L]
        step = float(np.max(np.abs(v - before)))
        clipped = step < apart / Z * (1 - 1e-9)
        steps.append((value - (0.5 * v @ K @ v - y @ v), apart, Z, clipped))
    gain, apart, Z, clipped = np.array(steps).T
    return gain, apart, Z, clipped.astype(bool)


def smo_claims(seeds: int) -> list[Claim]:
    """The decrease of a step, with and without the factor ½ that is illegible in print."""
    half, whole, least = 0.0, np.inf, np.inf
    for seed in range(seeds):
        _, y, K, C = problem(seed)
        gain, apart, Z, clipped = smo_steps(K, y, C)
        ideal = apart**2 / (2 * Z)
        size = np.maximum(ideal, 1e-9)[~clipped]
        half = max(half, float(np.max(np.abs(gain - ideal)[~clipped] / size, initial=0.0)))
        whole = min(whole, float(np.min((2 * ideal - gain)[~clipped] / size, initial=np.inf)))
        least = min(least, float(np.min(gain)))
    return [
        at_most("a free SMO step gains Δ²/(2‖Z‖²), relative", half, 1e-5),
        Claim(
            "a free SMO step gains Δ²/‖Z‖²",
            f"half of it is missing (± {abs(1 - whole):.0e})",
            whole < 0.01,
            False,
        ),
        Claim("every SMO step lowers the dual", f"least gain {least:.1e}", least > 0),
    ]


def label_claim(seeds: int) -> Claim:
    """Targets moved away from f, on their side of it, leave w as it is."""
    worst = 0.0
    for seed in range(seeds):
        _, y, K, C = problem(seed)
        fits = []
        targets = y.copy()
        for _ in range(2):
            machine = SVR(C=C, epsilon=0.0, kernel="precomputed", tol=1e-8).fit(K, targets)
            f = machine.predict(K)
            fits.append(f)
            targets = np.where(np.abs(y - f) > 0.1, targets + 3 * np.sign(y - f), targets)
        worst = max(worst, float(np.max(np.abs(fits[1] - fits[0]))))
    return at_most("labels moved on their side of f change nothing: scores apart", worst, 1e-3)


# ---- influence -----------------------------------------------------------------------------------


def least_squares(K: Array, y: Array, C: float) -> tuple[Array, float]:
    """a and b of the least squares machine: its linear system."""
    n = len(y)
    system = np.zeros((n + 1, n + 1))
    system[0, 1:] = system[1:, 0] = 1
    system[1:, 1:] = K + np.eye(n) / C
    solution = np.linalg.solve(system, np.append(0.0, y))
    return solution[1:], float(solution[0])


def influence(distances: Array) -> dict[str, Array]:
    """|α| and ‖αyx‖ of a mislabelled sample at growing distance, linear kernel, C = 1."""
    rng = np.random.default_rng(0)
    y = np.repeat([1.0, -1.0], 20)
    X = rng.standard_normal((40, 2)) + np.outer(y, [1.5, 0.0])
    found: dict[str, list[float]] = {"least 1-norm": [], "LS-SVM": []}
    for distance in distances:
        Z, labels = np.vstack([X, [distance, 0.0]]), np.append(y, -1.0)
        model = LeastOneNormSVC(kernel="linear").fit(Z, labels)
        found["least 1-norm"].append(abs(coefficients(model, 41)[-1]))
        found["LS-SVM"].append(abs(least_squares(Z @ Z.T, labels, 1.0)[0][-1]))
    return {name: np.array(values) for name, values in found.items()}


def influence_claims(seeds: int, distances: Array, sizes: dict[str, Array]) -> list[Claim]:
    """What bounds a sample's coefficient, and what does not bound its influence."""
    relation, largest = 0.0, 0.0
    for seed in range(seeds):
        _, y, K, C = problem(seed)
        a, b = least_squares(K, y, C)
        relation = max(relation, float(np.max(np.abs(y * (K @ a + b) - (1 - y * a / C)))))
        largest = max(largest, float(np.max(np.abs(a))) / C)
    ours, theirs = sizes["least 1-norm"], sizes["LS-SVM"]
    pull = ours * distances
    return [
        at_most("LS-SVM: yf = 1 − α/C", relation, 1e-8),
        Claim(
            "LS-SVM: |α_i| ≤ C", f"up to {max(largest, theirs.max()):.2f} C", largest <= 1, False
        ),
        at_most(
            "least 1-norm: |α| ≤ C of a sample moved out, excess", max(0, ours.max() - 1), 1e-9
        ),
        Claim(
            "least 1-norm: the influence ‖αyx‖ of a sample is bounded (linear kernel)",
            f"{pull[0]:.1f} → {pull.max():.1f}",
            bool(pull.max() < 2 * pull[0]),
            False,
        ),
    ]


def draw(folder: Path, distances: Array, sizes: dict[str, Array]) -> Path:
    """SMO's dual by step, and the coefficient of a sample moved out."""
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    _, y, K, C = problem(0)
    gain, apart, Z, clipped = smo_steps(K, y, C)
    step = np.arange(1, len(gain) + 1)
    left.loglog(apart**2 / (2 * Z), gain, ".", color=BLUE, alpha=0)
    left.loglog((apart**2 / (2 * Z))[~clipped], gain[~clipped], "o", color=BLUE, label="free step")
    left.loglog((apart**2 / (2 * Z))[clipped], gain[clipped], "x", color=ORANGE, label="at a bound")
    ends = np.array([gain.min(), (apart**2 / (2 * Z)).max()])
    left.loglog(ends, ends, "k-", lw=0.8)
    left.set(xlabel="Δ²/(2‖Z‖²)", ylabel="decrease of the dual", title=f"{step.size} steps of SMO")
    left.legend()
    for (name, values), colour in zip(sizes.items(), (BLUE, ORANGE), strict=True):
        right.plot(distances, values, "o-", color=colour, label=name)
    right.axhline(1, color="k", lw=0.8)
    right.set(xlabel="x₁ of a sample labelled −1", ylabel="|α|, C = 1", title="influence, linear")
    right.legend()
    path = folder / "least_one_norm.png"
    figure.savefig(path)
    return path


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, draw; 0 if every claim came out as expected."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, help="folder for the plot")
    parser.add_argument("--full", action="store_true", help="more random problems")
    options = parser.parse_args(arguments)
    begun = time.perf_counter()
    seeds = 60 if options.full else 10
    distances = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    sizes = influence(distances)
    claims = [
        *optimality_claims(seeds),
        *smo_claims(seeds),
        label_claim(seeds),
        *influence_claims(seeds, distances, sizes),
    ]
    wrong = print_claims(claims)
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
        with matplotlib.rc_context(STYLE):
            print("plot:", draw(options.output, distances, sizes))
    print(f"{time.perf_counter() - begun:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
