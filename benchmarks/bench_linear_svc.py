"""The capped hinge at 20 000 × 50 against one fit of scikit-learn's LinearSVC on the same data.

``LinearSVC(loss="hinge")`` solves the convex problem once and penalises its intercept;
``RobustClassifier(cap(hinge(), 1))`` solves a weighted hinge at every outer step, with a free one.
"""

from __future__ import annotations

import argparse
import time
import warnings

from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import dcprog as dc


def main() -> None:
    """Print one line a λ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=20_000)
    parser.add_argument("--p", type=int, default=50)
    options = parser.parse_args()
    X, y = make_classification(options.n, options.p, n_informative=20, flip_y=0.1, random_state=0)
    X = StandardScaler().fit_transform(X)
    print(f"{'λ':>6} {'LinearSVC':>10} {'ours':>8} {'ratio':>6} {'steps':>6}  solver, status")
    for lam in (0.1, 1.0, 10.0):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            begin = time.perf_counter()
            LinearSVC(loss="hinge", C=1 / lam).fit(X, y)
            theirs = time.perf_counter() - begin
            begin = time.perf_counter()
            model = dc.RobustClassifier(dc.cap(dc.hinge(), 1.0), dc.l2(lam), n_starts=1).fit(X, y)
            ours = time.perf_counter() - begin
        result = model.result_
        print(
            f"{lam:>6g} {theirs:>9.2f}s {ours:>7.2f}s {ours / theirs:>6.1f} {result.n_iter:>6}"
            f"  {result.solver}, {result.status}"
        )


if __name__ == "__main__":
    main()
