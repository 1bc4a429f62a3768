"""Ten rounds of the rescaled hinge SVM against a loop of scikit-learn's SVC by hand.

Both get the same precomputed Gaussian kernel, C, η and number of weighted machines; neither time
includes the kernel. The loop keeps K, passes ``sample_weight`` and computes its scores as
K[:, support] @ dual_coef. Its tolerance is the loosest of 1e-3 … 1e-7 at which its R₁ agrees with
ours to 1e-6. LIBSVM keeps the kernel in single precision, so that for large C its R₁ stays some
1e-6 above the minimum whatever the tolerance; 1e-7 is timed then. Run with OMP_NUM_THREADS=1.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from benchmarks.runner import Case, Competitor
from dcprog.models import RescaledHingeSVC

Array = np.ndarray
ROUNDS = 10
TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7)


def by_hand(K: Array, y: Array, C: float, eta: float, tol: float) -> float:
    """R₁ after the rounds."""
    beta = 1 / (1 - np.exp(-eta))
    weight = np.ones(len(y))
    for _ in range(ROUNDS):
        machine = SVC(C=C * beta * eta, kernel="precomputed", tol=tol, cache_size=500)
        machine.fit(K, y, sample_weight=weight)
        f = K[:, machine.support_] @ machine.dual_coef_[0] + machine.intercept_[0]
        hinge = np.maximum(1 - y * f, 0)
        weight = np.exp(-eta * hinge)
    norm = machine.dual_coef_[0] @ (f - machine.intercept_[0])[machine.support_]
    return float(norm / 2 + C * beta * np.sum(1 - weight))


def ours(K: Array, y: Array, C: float, eta: float) -> tuple[float, RescaledHingeSVC]:
    model = RescaledHingeSVC(C=C, eta=eta, kernel="precomputed", max_iter=ROUNDS).fit(K, y)
    return model.objective_, model


def data(n: int) -> tuple[Array, Array]:
    """The Gaussian kernel, and labels ±1."""
    X, y = make_classification(n, 20, n_informative=8, flip_y=0.2, random_state=0)
    return rbf_kernel(X / X.std(axis=0), gamma=1 / 20), 2.0 * y - 1


def tolerance(K: Array, y: Array, C: float, eta: float) -> float:
    """The loosest at which the loop agrees with ours."""
    value, _ = ours(K, y, C, eta)
    agree = (t for t in TOLERANCES if abs(by_hand(K, y, C, eta, t) - value) <= 1e-6 * value)
    return next(agree, TOLERANCES[-1])


def machine(n: int, C: float, eta: float) -> Case:
    """Ten rounds at n samples."""
    K, y = data(n)
    tol = tolerance(K, y, C, eta)
    return Case(
        f"rescaled hinge RBF, n = {n}, C = {C:g}, η = {eta:g}",
        lambda: ours(K, y, C, eta),
        (Competitor("a loop of SVC", lambda: (by_hand(K, y, C, eta, tol), None), 5.0),),
        lambda found: found[0],
        lambda found, _: f"{found[1].n_iter_} rounds, its tol {tol:.0e}",
        repeats=3 if n <= 5000 else 1,
    )


def cases(full: bool) -> Iterator[Case]:
    """2000 samples; if `full`, other C and η, and up to 10 000."""
    ours(*data(300), 1.0, 0.5)  # compiles
    for n in (2000, 5000, 10_000) if full else (2000,):
        for C, eta in ((1.0, 0.5), (1.0, 2.0), (10.0, 0.5)) if full else ((1.0, 0.5),):
            yield machine(n, C, eta)
