"""Engine overhead: one run on the ramp loss at n = 1000, p = 50, against a loop that rebuilds.

Both minimise  Σ min((1 − u)₊, 1) + ½·0.1‖w‖²  with u = y∘(Xw + b) from the plain SVM, with the
same weights (0 beyond the cap, 1 before it), until the weights repeat. The rebuilt loop writes the
weighted SVM anew every step and calls Clarabel, as a user would by hand.
"""

from __future__ import annotations

import argparse
import time

import cvxpy as cp
import numpy as np

import dcprog as dc


def data(n: int, p: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two Gaussian clouds with 15% of the labels flipped."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], n)
    X = rng.normal(size=(n, p)) + 0.25 * y[:, None]
    y[rng.random(n) < 0.15] *= -1
    return X, y


def rebuilt(X: np.ndarray, y: np.ndarray, steps: int = 100) -> tuple[float, float, int]:
    """Value, seconds and steps of the loop that rebuilds."""
    begin = time.perf_counter()
    weights = np.ones(len(y))
    done = 0
    while done < steps:
        done += 1
        w, b = cp.Variable(X.shape[1]), cp.Variable()
        loss = cp.sum(cp.multiply(weights, cp.pos(1 - ((y[:, None] * X) @ w + y * b))))
        cp.Problem(cp.Minimize(loss + 0.05 * cp.sum_squares(w))).solve(solver="CLARABEL")
        hinge = np.maximum(1 - y * (X @ w.value + b.value), 0)
        before, weights = weights, (hinge <= 1).astype(float)
        if np.array_equal(before, weights):
            break
    value = np.minimum(hinge, 1).sum() + 0.05 * w.value @ w.value
    return float(value), time.perf_counter() - begin, done


def compiled(X: np.ndarray, y: np.ndarray) -> tuple[dc.Result, float, float]:
    """Result, seconds, and the share spent outside the solver after the first step."""
    begin = time.perf_counter()
    w, b = cp.Variable(X.shape[1]), cp.Variable()
    u = cp.multiply(y, X @ w + b)
    loss = cp.sum(cp.minimum(cp.pos(1 - u), 1))
    problem = cp.Problem(cp.Minimize(loss + 0.05 * cp.sum_squares(w)))
    # the loop alone on the tree, without a race of starts
    result = dc.solve(problem, start="convex", solver="cvxpy")
    seconds = time.perf_counter() - begin
    after = result.history.time[-1] - result.history.time[1]
    inside = result.history.solve_time[-1] - result.history.solve_time[1]
    return result, seconds, 1 - inside / after


def main() -> None:
    """Print one line a seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--p", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    print(f"{'seed':>4} {'value':>12} {'rebuilt':>12} {'steps':>9} {'ratio':>6} {'outside':>8}")
    for seed in range(options.seeds):
        X, y = data(options.n, options.p, seed)
        result, seconds, outside = compiled(X, y)
        value, slow, steps = rebuilt(X, y)
        print(
            f"{seed:>4} {result.value:>12.6f} {value:>12.6f} {result.n_iter:>4}/{steps:<4} "
            f"{slow / seconds:>6.2f} {outside:>8.1%}"
        )


if __name__ == "__main__":
    main()
