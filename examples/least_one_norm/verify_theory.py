"""The theory of the least 1-norm SVM, checked by measurement.

López and Dorronsoro minimise ½‖w‖² + C Σ|1 − y_i f(x_i)|, whose dual has −C ≤ α_i ≤ C. Measured
are

* their table 1, four machines by slacks and constraints, and equation (2), the LS-SVM's dual;
* the gap between primal and dual, and the optimality conditions, written out here;
* the equality with ε-insensitive regression at ε = 0;
* every step of their SMO: the pair, the step length and the decrease of the dual, which the
  library's loop must share with the formulas;
* which labels matter: |1 − yf| = |y − f| has the same slope for both labels where |f| > 1, so that
  switching such labels leaves the solution as it is;
* what a sample moved far out does to either machine.

Run ``python -m examples.least_one_norm.verify_theory --output folder``; ``--full`` takes more
problems.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import cvxpy as cp
import matplotlib
import numpy as np
from matplotlib.figure import Figure
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVR

import dcprog as dc
from dcprog.models import LeastOneNormSVC
from dcprog.rows.kernel import kernel_margins
from examples.common.baselines import baseline
from examples.common.claims import Claim, at_most, own, print_claims, under
from examples.common.plots import BLUE, ORANGE, STYLE
from examples.common.theorems import theorem_claims
from examples.least_one_norm.machines import coefficients, least_squares
from examples.least_one_norm.smo_steps import smo_claims, smo_steps

Array = np.ndarray


def problem(seed: int, n: int = 60) -> tuple[Array, Array, Array, float]:
    """Samples, labels, an RBF or linear kernel, and C."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    X = rng.standard_normal((n, 3)) + 0.8 * y[:, None]
    K = X @ X.T if seed % 2 else rbf_kernel(X, gamma=0.3)
    return X, y, K, float(10 ** rng.uniform(-1, 1.5))


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


def with_slacks(K: Array, y: Array, C: float, squares: bool, equal: bool) -> float:
    """The value of ½‖w‖² + C·Σξ or (C/2)·Σξ² with yf = 1 − ξ, or yf ≥ 1 − ξ; |ξ| if ξ < 0."""
    values, vectors = np.linalg.eigh(K)
    factor = vectors * np.sqrt(np.maximum(values, 0))
    w, b, slack = cp.Variable(len(y)), cp.Variable(), cp.Variable(len(y))
    z = cp.multiply(y, factor @ w + b)
    cost = C / 2 * cp.sum_squares(slack) if squares else C * cp.norm1(slack)
    limits = [z == 1 - slack] if equal else [z >= 1 - slack, slack >= 0]
    program = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + cost), limits)
    return float(program.solve(solver="CLARABEL"))


def machine_values(K: Array, y: Array, C: float) -> dict[str, float]:
    """The least values of table 1's four machines, as the library declares them."""
    rows = kernel_margins(K, y)
    names = {"L1-SVM": "svm", "L2-SVM": "l2svm", "LS-SVM": "lssvm"}
    found = {name: dc.solve(baseline(rows, loss, C)).value for name, loss in names.items()}
    model = LeastOneNormSVC(C=C, kernel="precomputed").fit(K, y)
    return found | {"least 1-norm": model.objective_}


# Squares of the slacks or their sum, and equalities or inequalities.
TABLE_1 = {
    "L1-SVM": (False, False),
    "L2-SVM": (True, False),
    "LS-SVM": (True, True),
    "least 1-norm": (False, True),
}


def table_1_claims(seeds: int) -> list[Claim]:
    """The four machines of table 1, and equation (2)."""
    worst = dict.fromkeys(TABLE_1, 0.0)
    dual = 0.0
    for seed in range(seeds):
        _, y, K, C = problem(seed)
        values = machine_values(K, y, C)
        for name, kind in TABLE_1.items():
            value = with_slacks(K, y, C, *kind)
            worst[name] = max(worst[name], abs(values[name] - value) / (1 + value))
        a = least_squares(K, y, C).a
        least = float(a @ (K + np.eye(len(y)) / C) @ a) / 2 - float(y @ a)
        dual = max(dual, abs(values["LS-SVM"] + least) / (1 + values["LS-SVM"]))
    texts = {
        name: f"{name}: {'squared slacks' if squares else 'slacks'} with "
        f"{'equalities' if equal else 'inequalities'}; values apart, relative"
        for name, (squares, equal) in TABLE_1.items()
    }
    text = "(2): the LS-SVM's dual has K + I/C for K, and no bounds: primal + dual, relative"
    return [
        *under("table 1", [at_most(texts[name], worst[name], 1e-5) for name in TABLE_1]),
        at_most(text, dual, 1e-5, "equation (2)"),
    ]


def middle_claim() -> Claim:
    """Two samples whose coefficients are both at a bound: b lies in an interval."""
    X, y, off = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), 0.0
    for C, shift in ((0.1, 0.0), (0.2, 0.3), (0.05, -2.0)):
        model = LeastOneNormSVC(C=C, kernel="linear").fit(X + shift, y)
        lower, upper = model.optimality(X + shift, y).intercepts
        middle = (lower + upper) / 2
        off = max(off, abs(float(model.intercept_[0]) - middle) / (upper - lower))
    text = "where no sample is free b is the middle of its interval: off by, of its length"
    return at_most(text, off, 1e-9)


def conditions(a: Array, b: float, K: Array, y: Array, C: float) -> dict[str, float]:
    """Violations of the optimality conditions in α = ay, as the publication has them."""
    Ka, alpha = K @ a, y * a
    z = y * (Ka + b)
    inside = np.abs(alpha) < C * (1 - 1e-12)
    short = np.where(inside, np.abs(z - 1), np.sign(alpha) * (z - 1))
    primal = a @ Ka / 2 + C * np.sum(np.abs(1 - z))
    return {
        "gap": float(primal + a @ Ka / 2 - np.sum(alpha)) / (1 + primal),
        "kkt": float(np.max(short)),
        "sum": abs(float(np.sum(a))) / C,
        "box": float(np.max(np.abs(a))) / C - 1,
    }


def optimality_claims(seeds: int) -> list[Claim]:
    """Duality, optimality conditions, regression, the interval of b."""
    names = ("strong", "value", "gap", "kkt", "sum", "box", "report", "svr", "b")
    worst = dict.fromkeys(names, -np.inf)
    for seed in range(seeds):
        _, y, K, C = problem(seed)
        primal, dual = programs(K, y, C)
        found = {"strong": abs(primal + dual) / (1 + primal)}
        for solver in ("auto", "smo", "libsvm", "qp"):
            model = LeastOneNormSVC(C=C, kernel="precomputed", solver=solver, tol=1e-8).fit(K, y)
            b, report = float(model.intercept_[0]), model.optimality(K, y)
            found |= conditions(coefficients(model, len(y)), b, K, y, C)
            found["value"] = abs(model.objective_ - primal) / (1 + primal)
            found["report"] = abs(report.gap / (1 + model.objective_) - found["gap"])
            found["report"] += abs(report.stationarity - max(0.0, found["kkt"]))
            found["b"] = max(report.intercepts[0] - b, b - report.intercepts[1])
            worst = {key: max(worst[key], found.get(key, -np.inf)) for key in names}
        machine = SVR(C=C, epsilon=0.0, kernel="precomputed", tol=1e-7).fit(K, y)
        apart = np.abs(model.decision_function(K) - machine.predict(K))
        worst["svr"] = max(worst["svr"], float(np.max(apart)))
    conditions_met = [
        at_most("yf = 1 inside, ≤ 1 at C, ≥ 1 at −C: violation", worst["kkt"], 1e-5),
        at_most("b lies in its interval of optimal values: outside by", worst["b"], 1e-5),
        *own(
            [
                at_most("the library's report of these is right: off by", worst["report"], 1e-9),
                middle_claim(),
            ]
        ),
    ]
    duality = [
        at_most("primal + minimised dual = 0 (cvxpy), relative", worst["strong"], 1e-6),
        at_most("our objective is the primal's value (cvxpy), relative", worst["value"], 1e-6),
        at_most("our duality gap, relative", worst["gap"], 1e-8),
        at_most("Σ α_i y_i = 0, relative to C", worst["sum"], 1e-9),
        at_most("|α_i| ≤ C, relative excess", worst["box"], 0.0),
        at_most("it is SVR with ε = 0: scores apart", worst["svr"], 1e-3),
    ]
    text = "y(w·φ(x) + b) > 1 gives α = −C (the conclusion prints it without b): violation"
    concluded = replace(conditions_met[0], text=text, corrected=True)
    return [
        *under("primal and dual", duality),
        *under("KKT conditions", conditions_met),
        *under("conclusion", [concluded]),
    ]


# ---- labels --------------------------------------------------------------------------------------


def machines(seeds: int) -> list[dc.Result]:
    """The library's runs on the random problems."""
    runs = []
    for seed in range(seeds):
        _, y, K, C = problem(seed)
        runs.append(LeastOneNormSVC(C=C, kernel="precomputed").fit(K, y).result_)
    return runs


def label_claims(seeds: int) -> list[Claim]:
    """Labels switched where |f| > 1; targets moved away from f."""
    outer, theirs, moved, switched = 0.0, np.inf, 0.0, 0
    for seed in range(seeds):
        _, y, K, C = problem(seed)
        f, squares = scores(K, y, C), least_squares(K, y, C)
        beyond = np.abs(f) > 1 + 1e-3
        other = np.where(beyond, -y, y)
        switched += int(np.sum(beyond))
        outer = max(outer, float(np.max(np.abs(scores(K, other, C) - f))))
        if np.any(beyond):
            apart = K @ (least_squares(K, other, C).a - squares.a)
            theirs = min(theirs, float(np.max(np.abs(apart))))
        moved = max(moved, moved_targets(K, y, C))
    return own(
        [
            at_most(f"all {switched} labels with |f| > 1 switched: f changes by", outer, 1e-5),
            Claim(
                "and the LS-SVM's f changes by more than 0.1 in every problem",
                f"by {theirs:.2g} or more",
                theirs > 0.1,
                turns="0.1 or less in one of them",
            ),
            at_most("SVR, targets moved away from f by 3: f changes by", moved, 1e-5),
        ]
    )


def scores(K: Array, y: Array, C: float) -> Array:
    """f on the training samples."""
    model = LeastOneNormSVC(C=C, kernel="precomputed", tol=1e-10).fit(K, y)
    return model.decision_function(K)


def moved_targets(K: Array, y: Array, C: float) -> float:
    """The change of f when targets move away from f, on their side of it."""
    machine = SVR(C=C, epsilon=0.0, kernel="precomputed", tol=1e-8)
    f = machine.fit(K, y).predict(K)
    targets = np.where(np.abs(y - f) > 0.1, y + 3 * np.sign(y - f), y)
    return float(np.max(np.abs(machine.fit(K, targets).predict(K) - f)))


# ---- influence -----------------------------------------------------------------------------------


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
        found["LS-SVM"].append(abs(least_squares(Z @ Z.T, labels, 1.0).a[-1]))
    return {name: np.array(values) for name, values in found.items()}


def influence_claims(seeds: int, distances: Array, sizes: dict[str, Array]) -> list[Claim]:
    """What bounds a sample's coefficient, and what does not bound its influence."""
    relation, largest = 0.0, 0.0
    for seed in range(seeds):
        _, y, K, C = problem(seed)
        end = least_squares(K, y, C)
        miss = y * (K @ end.a + end.b) - (1 - y * end.a / C)
        relation = max(relation, float(np.max(np.abs(miss))))
        largest = max(largest, float(np.max(np.abs(end.a))) / C)
    ours, theirs = sizes["least 1-norm"], sizes["LS-SVM"]
    pull = ours * distances
    beyond = f"the LS-SVM's up to {max(largest, theirs.max()):.2f} C"
    kept = at_most("of a sample moved out |α| ≤ C, excess", max(0, ours.max() - 1), 1e-9)
    return own(
        [
            at_most("LS-SVM: yf = 1 − α/C", relation, 1e-8),
            replace(kept, measured=f"{kept.measured}; {beyond}"),
            Claim(
                "its influence ‖αyx‖ is not bounded (linear kernel)",
                f"{pull[0]:.1f} → {pull.max():.1f}",
                bool(pull.max() >= 2 * pull[0]),
                turns="an influence less than doubled",
            ),
        ]
    )


def draw(folder: Path, distances: Array, sizes: dict[str, Array]) -> Path:
    """The decrease of the dual in SMO's steps; coefficient and pull of a sample moved out."""
    figure = Figure(figsize=(14, 4.3), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    _, y, K, C = problem(0)
    run = smo_steps(K, y, C)
    free, ideal = run.free, run.apart**2 / (2 * run.Z)
    left.loglog(ideal[free], run.gain[free], "o", ms=4, color=BLUE, label="free step")
    left.loglog(ideal[~free], run.gain[~free], "x", color=ORANGE, label="stopped by a bound")
    ends = np.array([ideal.min(), ideal.max()])
    left.loglog(ends, ends, "k-", lw=0.8, label="Δ²/(2‖Z‖²)")
    left.set(xlabel="Δ²/(2‖Z‖²)", ylabel="decrease of the dual", title=f"{ideal.size} steps of SMO")
    left.legend()
    for (name, values), colour in zip(sizes.items(), (BLUE, ORANGE), strict=True):
        middle.semilogx(distances, values, "o-", color=colour, label=name)
        right.loglog(distances, values * distances, "o-", color=colour, label=name)
    middle.axhline(1, color="k", ls="--", lw=0.8, label="C")
    middle.set(ylim=(0, None), ylabel="|α|", title="coefficient of one sample, C = 1")
    right.set(ylabel="‖αyx‖", title="what it adds to w")
    for ax in (middle, right):
        ax.set_xticks(distances, [f"{distance:g}" for distance in distances])
        ax.minorticks_off()
        ax.set(xlabel="x₁ of that sample, labelled −1")
        ax.legend()
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
        *table_1_claims(seeds),
        *optimality_claims(seeds),
        *under("SMO", smo_claims([problem(seed)[1:] for seed in range(seeds)])),
        *under("SMO", theorem_claims(machines(seeds))),
        *under("conclusion", label_claims(seeds)),
        *under("conclusion", influence_claims(seeds, distances, sizes)),
    ]
    wrong = print_claims(claims, f"seeds 0–{seeds - 1}")
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
        with matplotlib.rc_context(STYLE):
            print("plot:", draw(options.output, distances, sizes))
    print(f"{time.perf_counter() - begun:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
