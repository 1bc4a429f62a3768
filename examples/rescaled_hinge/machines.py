"""The machines of the rescaled hinge SVM paper's tables 4–6.

Linear ones are fitted in the primal, to samples of any number; Gaussian ones to a kernel matrix.
Either way f = A·a + b, with A the samples or the kernel's columns.

The paper's ramp machine is trained by the outlier-path algorithm (Suzumura, Ogawa, Sugiyama,
Takeuchi 2014), which follows the solution from the plain SVM, s = −∞, to the ramp of s = 0. RAMPS
are two stations of that path; "ramp" is the one of s = −1, usual elsewhere.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import dcprog as dc
from dcprog.losses import Loss, cap, hinge
from dcprog.models import RescaledHingeSVC
from dcprog.rows.kernel import expansion_margins, kernel_margins
from examples.common.baselines import LOSSES, baseline, one_shot_weights

Array = np.ndarray
ETAS = (0.2, 0.5, 1.0, 2.0, 3.0)
RESCALED = tuple(f"η = {eta:g}" for eta in ETAS)
RAMPS = {"ramp": 2.0, "ramp s = 0": 1.0}  # where the hinge is capped
CENTRED = "η = 2, centre"
ON_KNOT = 1e-6


@dataclass(frozen=True)
class Fitted:
    """Coefficients a and b, and the samples that support them."""

    a: Array
    b: float
    supporting: Array

    def accuracy(self, A: Array, y: Array) -> float:
        """In %."""
        return 100 * float(np.mean(np.where(A @ self.a + self.b > 0, 1, -1) == y))

    @property
    def support(self) -> float:
        """Support vectors in %."""
        return 100 * float(np.mean(self.supporting))


def fit(
    method: str, kind: str, A: Array, y: Array, C: float, plain: Fitted | None = None
) -> Fitted:
    """One machine; a weighted one from the plain one, if that is at hand."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dc.TrivialSolutionWarning)
        if method.startswith("WSVM"):
            plain = plain or declared(kind, A, y, "svm", C)
            weights = one_shot_weights(A @ plain.a + plain.b, int(method[-2:]), y)
            return declared(kind, A, y, "svm", C, weights)
        if method in RAMPS:
            return declared(kind, A, y, cap(hinge(), RAMPS[method]), C)
        if method.startswith("η"):
            eta, _, start = method[4:].partition(", ")
            return rescaled(kind, A, y, C, float(eta), start == "centre")
        return c_loss(kind, A, y, C) if method == "C-loss" else declared(kind, A, y, "svm", C)


def declared(
    kind: str, A: Array, y: Array, loss: str | Loss, C: float, weights: Array | None = None
) -> Fitted:
    """A baseline with a piecewise linear loss by its declaration."""
    linear = kind == "linear"
    rows: Any = dc.binary_margins(A, y) if linear else expansion_margins(A, y)
    theta = dc.solve(baseline(rows, loss, C, weights), start="convex").x
    assert theta is not None
    a, b = theta[:-1], float(theta[-1])
    if not linear:
        return Fitted(a, b, a != 0)
    z, shape = y * (A @ a + b), LOSSES[loss] if isinstance(loss, str) else loss
    return Fitted(a, b, sloping(shape, z))


def sloping(loss: Loss, z: Array) -> Array:
    """Has the loss a slope at these margins, or on either side of them?"""
    return (loss(z - ON_KNOT) != loss(z)) | (loss(z + ON_KNOT) != loss(z))


def c_loss(kind: str, A: Array, y: Array, C: float) -> Fitted:
    """β(1 − e^{−η(1 − z)²}) with η = 1/2.

    Its support vectors are the samples whose loss has a slope, coefficients −C·l'(z_i)·y_i of the
    stationary w. Those of ``dual_coef`` give the same f with no more than the rank of K.
    """
    rows: Any = dc.binary_margins(A, y) if kind == "linear" else kernel_margins(A, y)
    risk = baseline(rows, "closs", C)
    theta = dc.solve(risk, start="convex").x
    assert theta is not None
    z = np.asarray(rows @ theta)
    slopes = risk.transform.slope(risk.base(z)) * risk.base.slope(z)
    a = theta[:-1] if kind == "linear" else rows.dual_coef(theta)[0]
    return Fitted(a, float(theta[-1]), slopes != 0)


def rescaled(kind: str, A: Array, y: Array, C: float, eta: float, centred: bool = False) -> Fitted:
    """The paper's machine in its ten rounds.

    From the weights by class centre (section 4.3), θ = 1/√d: the paper gives no θ, and distances
    grow like √d where features have unit variance. In a Gaussian kernel's space they do not.
    """
    linear = kind == "linear"
    options: dict[str, Any] = {"kernel": "linear" if linear else "precomputed"}
    if centred:
        theta = 1 / np.sqrt(A.shape[1]) if linear else 1.0
        options |= {"initial_weights": "class_center", "theta": theta}
    model = RescaledHingeSVC(C=C, eta=eta, max_iter=10, **options).fit(A, y)
    supporting = np.zeros(len(y), dtype=bool)
    supporting[model.support_] = True
    if linear:
        return Fitted(model.coef_[0], float(model.intercept_[0]), supporting)
    a = np.zeros(len(y))
    a[model.support_] = model.dual_coef_[0]
    return Fitted(a, float(model.intercept_[0]), supporting)
