"""The two machines of the least 1-norm SVM paper, solved to the end and by the paper's SMO.

Both minimise ½aᵀKa − yᵀa over Σa_i = 0: the least 1-norm one over |a_i| ≤ C, the least squares one
(LS-SVM) with K + I/C for K and without bounds. The L1-SVM is the usual one, of the hinge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.svm import SVC

from dcprog.models import LeastOneNormSVC
from dcprog.solvers.kernel.smo import Dual, minimise_dual

__all__ = [
    "COMPARED",
    "MACHINES",
    "Machine",
    "coefficients",
    "descent",
    "least_one_norm",
    "least_squares",
]

Array = np.ndarray


@dataclass(frozen=True)
class Machine:
    """Coefficients a, the bias b, and the steps they took where those were counted."""

    a: Array
    b: float
    steps: int = 0


def least_squares(K: Array, y: Array, C: float | Array) -> Machine:
    """The LS-SVM by its linear system; C may be one a sample."""
    n = len(y)
    system = np.zeros((n + 1, n + 1))
    system[0, 1:] = system[1:, 0] = 1
    system[1:, 1:] = K + np.diag(np.broadcast_to(1 / np.asarray(C), n))
    solution = np.linalg.solve(system, np.append(0.0, y))
    return Machine(solution[1:], float(solution[0]))


def coefficients(model: LeastOneNormSVC, n: int) -> Array:
    """a of all n samples."""
    a = np.zeros(n)
    a[model.support_] = model.dual_coef_[0]
    return a


def least_one_norm(K: Array, y: Array, C: float | Array) -> Machine:
    """The least 1-norm SVM by the library's default; with one C a sample, by its dual."""
    if isinstance(C, np.ndarray):
        dual = Dual(np.arange(len(y)), y, -C, C)
        end = minimise_dual(np.ascontiguousarray(K), dual, violation=1e-8)
        return Machine(end.c, -sum(dual.extremes(end.v, dual.gradient(end.Kc))) / 2)
    model = LeastOneNormSVC(C=C, kernel="precomputed").fit(K, y)
    return Machine(coefficients(model, len(y)), float(model.intercept_[0]))


def support_vector_machine(K: Array, y: Array, C: float | Array) -> Machine:
    """The hinge's machine, by LIBSVM; C may be one a sample."""
    model, a = SVC(C=1.0, kernel="precomputed"), np.zeros(len(y))
    model.fit(K, y, sample_weight=C * np.ones(len(y)))
    a[model.support_] = model.dual_coef_[0]
    return Machine(a, float(model.intercept_[0]))


MACHINES: dict[str, Callable[[Array, Array, float | Array], Machine]] = {
    "LS-SVM": least_squares,
    "least 1-norm": least_one_norm,
}
COMPARED = {**MACHINES, "L1-SVM": support_vector_machine}


def descent(name: str, K: Array, y: Array, C: float, stop: float = 1e-3) -> Machine:
    """Either machine by the paper's SMO: from 0, the most violating pair, until Δ ≤ stop.

    The LS-SVM's a_i are given a bound that none can reach: from 0 the dual only falls, so that
    ‖a‖²/(2C) ≤ yᵀa ≤ √n‖a‖ all the way, and |a_i| ≤ 2C√n.
    """
    n = len(y)
    free = name == "LS-SVM"
    box = np.full(n, 2 * C * np.sqrt(n) if free else C)
    K = K + np.eye(n) / C if free else K
    dual = Dual(np.arange(n), y, -box, box)
    end = minimise_dual(K, dual, violation=stop, selection="first", max_iter=100_000_000)
    b = -sum(dual.extremes(end.v, dual.gradient(end.Kc))) / 2
    return Machine(end.c, b, end.n_iter)
