"""SmoothSVC against scikit-learn's Newton-Cholesky logistic regression on the same data.

Both minimise a smooth convex loss of 100 000 × 50 margins plus ½‖w‖² by Newton's method. How
exactly is measured afterwards, in NumPy: the norm of the gradient, and gᵀH⁻¹g/2, which estimates
how far the value is above its minimum. Logistic regression is run at its default
``tol`` and at one that brings its gradient down to ours. The runs take turns, and the ratio of the
medians is reported: only ratios of one run mean anything on a shared machine.
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

from dcprog.models import SmoothSVC

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


def main() -> None:
    """Print one line a model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--p", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
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
        "Padé, trimmed 2%": SmoothSVC(outlier_ratio=0.02, filtering="trimmed"),
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
