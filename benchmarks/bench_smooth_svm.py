"""SmoothSVC against scikit-learn's Newton-Cholesky logistic regression on the same data.

Both minimise a smooth convex loss of 100 000 × 50 margins plus ½‖w‖² by Newton's method. How
exactly is measured afterwards, in NumPy: the norm of the gradient, and gᵀH⁻¹g/2, which estimates
how far the value is above its minimum. Logistic regression is run at its default
``tol`` and at one that brings its gradient down to ours. The runs take turns, and the ratio of the
medians is reported: only ratios of one run mean anything on a shared machine. ``--steps`` counts
Newton steps with and without the softer losses on the way to a sharp one.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from dcprog.losses import ConvexLoss
from dcprog.models import SmoothSVC
from dcprog.risk.risk import Risk
from dcprog.solvers.linalg.line_search import Line, armijo
from dcprog.solvers.smooth.newton import LOOSE, NewtonScore, Weighted, softer_first
from dcprog.solvers.smooth.per_score import Separable

Array = np.ndarray


@dataclass(frozen=True)
class Accuracy:
    """Value, norm of the gradient, and gᵀH⁻¹g/2."""

    value: float
    gradient: float
    above: float


def measure(A: Array, theta: Array, ridge: Array, losses: tuple[Array, Array, Array]) -> Accuracy:
    """For Σ losses(Aθ) + ½ Σ ridge·θ², from the losses' values, slopes and curvatures."""
    value, slope, curvature = losses
    gradient = A.T @ slope + ridge * theta
    hessian = (A.T * curvature) @ A + np.diag(ridge)
    above = float(gradient @ np.linalg.solve(hessian, gradient)) / 2
    total = float(np.sum(value) + ridge @ theta**2 / 2)
    return Accuracy(total, float(np.linalg.norm(gradient)), above)


def accuracy_of(model: Any, X: Array, y: Array) -> Accuracy:
    theta = np.append(model.coef_[0], model.intercept_)
    A = np.where(y == 1, 1.0, -1.0)[:, None] * np.c_[X, np.ones(len(y))]
    u, ridge = A @ theta, np.ones(theta.size)
    if isinstance(model, SmoothSVC):
        base, scale = model.spec_.base, model.C / model.slack_norm
        parts = (scale * base(u), scale * base.slope(u), scale * base.curvature(u))
        return measure(A, theta, ridge, parts)
    ridge[-1] = 0
    p = expit(-u)
    return measure(A, theta, ridge, (np.logaddexp(0, -u), -p, p * (1 - p)))


class Counted:
    """Armijo's rule, counting the values it takes."""

    values = 0

    def __call__(self, line: Line) -> float:
        return armijo(_Counting(line, self))


class _Counting:
    def __init__(self, line: Line, counter: Counted) -> None:
        self.size, self.slope, self.breaks = line.size, line.slope, line.breaks
        self._rise, self._counter = line.rise, counter

    def rise(self, t: float) -> float:
        self._counter.values += 1
        return self._rise(t)


def steps_of(spec: Risk, bases: list[ConvexLoss]) -> str:
    """Newton steps, and values for the line searches, from θ = 0 through the bases to the last."""
    scores, m = Separable(spec), spec.rows.shape[0]
    zero, counted, steps = np.zeros(m), Counted(), 0
    w, b = np.zeros(scores.X.shape[1]), 0.0
    for base in bases:
        losses = Weighted(base, np.ones(m))
        sides = (scores.signs[:, 0], zero, zero)
        score = NewtonScore(scores.ridge, losses, *sides, search=counted)
        enough = 1e-15 if base is bases[-1] else LOOSE
        for place in score.path(w, b):
            if place.promise <= enough * place.size:
                break
            steps += 1
        w, b = place.w, place.b
    return f"{steps} ({counted.values})"


def count_steps() -> None:
    """Print the steps at once and by way of softer losses."""
    print(f"{'n × p':<14}{'η':>8}" + "".join(f"{name:>24}" for name in ("Padé", "sigmoid")))
    for n, p in ((1000, 20), (20_000, 50), (50, 200)):
        X, y = make_classification(
            n, p, n_informative=min(20, p // 2), n_redundant=0, flip_y=0.1, random_state=0
        )
        X = StandardScaler().fit_transform(X)
        for eta in (10.0, 100.0, 1e3, 1e4):
            cells = []
            for smoothing in ("pade", "sigmoid"):
                spec = SmoothSVC(eta=eta, smoothing=smoothing).spec(X, y)
                ways = [[spec.base], [*softer_first(spec.base), spec.base]]
                cells.append(", ".join(steps_of(spec, bases) for bases in ways))
            print(f"{f'{n} × {p}':<14}{eta:>8g}" + "".join(f"{cell:>24}" for cell in cells))


def main() -> None:
    """Print one line a model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--p", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--steps", action="store_true", help="count Newton steps instead")
    options = parser.parse_args()
    if options.steps:
        count_steps()
        return
    X, y = make_classification(options.n, options.p, n_informative=20, flip_y=0.1, random_state=0)
    X = StandardScaler().fit_transform(X)
    models: dict[str, Any] = {
        "logistic regression": LogisticRegression(solver="newton-cholesky"),
        "the same, tol=1e-10": LogisticRegression(solver="newton-cholesky", tol=1e-10),
        **{f"Padé, eta={eta:g}": SmoothSVC(eta=eta) for eta in (10.0, 100.0, 1000.0)},
        **{f"Padé, C={C:g}": SmoothSVC(C=C) for C in (0.01, 100.0)},
        "sigmoid, eta=10": SmoothSVC(smoothing="sigmoid"),
        "squared sigmoid, eta=10": SmoothSVC(smoothing="sigmoid", slack_norm=2),
        "Padé, one-step filter 2%": SmoothSVC(outlier_ratio=0.02),
        "Padé, trimmed 2%": SmoothSVC(outlier_ratio=0.02, filtering="trimmed", n_starts=1),
    }
    seconds: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(options.repeats):
        for name, model in models.items():
            begin = time.perf_counter()
            model.fit(X, y)
            seconds[name].append(time.perf_counter() - begin)
    unit = float(np.median(seconds["logistic regression"]))
    print(f"{'model':<26}{'time ratio':>11}{'|gradient|':>12}{'above, rel.':>12}{'accuracy':>10}")
    for name, model in models.items():
        ratio = float(np.median(seconds[name])) / unit
        line = f"{name:<26}{ratio:>11.2f}"
        if getattr(model, "outlier_ratio", 0):
            line += f"{'':>24}"
        else:
            found = accuracy_of(model, X, y)
            line += f"{found.gradient:>12.1e}{found.above / found.value:>12.1e}"
        print(f"{line}{model.score(X, y):>10.4f}")


if __name__ == "__main__":
    main()
