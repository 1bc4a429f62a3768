"""LIBSVM for kernel machines with hinge or ε-insensitive losses and weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.svm import SVC, SVR

from dcprog.errors import SubproblemError
from dcprog.losses import absolute, epsilon_insensitive, hinge
from dcprog.rows_kernel import KernelMargins
from dcprog.solvers.protocol import ExactSolver, Solution
from dcprog.solvers.separable import separable_refusal
from dcprog.tree import Array

if TYPE_CHECKING:
    from dcprog.risk import Risk

__all__ = ["LibsvmSolver"]

CACHE_MB = 500
TIGHTEST = 1e-12


class LibsvmSolver(ExactSolver):
    r"""min Σ_i d_i base(u_i) + (λ/2)‖f‖² over f in the kernel's space and a free intercept.

    LIBSVM's stopping rule bounds the violation of its optimality conditions, not the objective:
    its tolerance is tightened until the duality gap, computed here, is within ours.

    Parameters
    ----------
    risk : Risk
        ``hinge(1)`` of :func:`~dcprog.rows_kernel.kernel_margins`, or ``absolute()`` or
        ``epsilon_insensitive`` of :func:`~dcprog.rows_kernel.kernel_residuals`, with a free
        intercept, an ``l2`` penalty and nothing subtracted.

    References
    ----------
    Chang, Lin (2011), LIBSVM: a library for support vector machines, ACM TIST 2.
    """

    def __init__(self, risk: Risk) -> None:
        self.risk = risk
        self.rows: KernelMargins = risk.rows
        form = risk.penalty.as_l1_l2(1)
        assert form is not None
        self.lam = float(form[1])
        self._tol = 1e-4

    @staticmethod
    def refusal(risk: Risk) -> str | None:
        """Why LIBSVM cannot take a risk, None if it can."""
        rows = risk.rows
        if not isinstance(rows, KernelMargins):
            return "its rows are not those of a kernel machine"
        if not rows.fit_intercept or np.all(risk.penalized):
            return "it has no free intercept"
        if risk.subtracted is not None:
            return "it subtracts a loss, whose tilts LIBSVM does not take"
        target = 0.0 if rows.offset is None else None
        base = risk.base
        margins = isinstance(base, hinge) and base.at == 1 and target is not None
        tube = isinstance(base, absolute | epsilon_insensitive) and base.at == 0 and target is None
        if not (margins or tube):
            return f"its base is {base!r}, not hinge(1) of margins or absolute or ε of residuals"
        return separable_refusal(risk)

    def minimise(
        self,
        weights: Array,
        tilts: Array | None,
        start: Array,
        tolerance: float,
        time_limit: float | None = None,
        *,
        shrinkage: Array | None = None,
    ) -> Solution:
        """The minimiser, certified by its duality gap."""
        if tilts is not None:
            raise SubproblemError("failed", "LIBSVM takes no tilts")
        kept = np.flatnonzero(weights)
        if np.unique(self._labels()[kept]).size < 2:
            raise SubproblemError("failed", "LIBSVM needs weights on both classes")
        while True:
            dual, b = self._fit(kept, self.risk.row_weights(weights))
            coef = self.rows.coordinates(self.rows.signs[:, 0] * dual / self.lam)
            theta = self.rows.pack(coef[None, :], np.array([b]))
            value = self.risk.weighted(theta, weights)
            gap = self._gap(theta, self.risk.row_weights(weights), dual)
            if gap <= tolerance * (1 + abs(value)):
                return Solution(theta, dual, value)
            if self._tol <= TIGHTEST:
                raise SubproblemError("failed", f"LIBSVM's duality gap stayed at {gap:.3g}")
            self._tol /= 10

    def _labels(self) -> Array:
        if self.rows.offset is None:
            return self.rows.signs[:, 0]
        return np.arange(len(self.rows.X), dtype=float)

    def _fit(self, kept: Any, weight: Array) -> tuple[Array, float]:
        """Multipliers of the rows, and b."""
        options = {"kernel": "precomputed", "C": 1.0, "tol": self._tol, "cache_size": CACHE_MB}
        if self.rows.offset is None:
            machine, target = SVC(**options), self._labels()
        else:
            width = getattr(self.risk.base, "eps", 0.0)
            machine, target = SVR(epsilon=width, **options), self.rows.offset
        K = self.rows.kernel if kept.size == len(target) else self.rows.kernel[np.ix_(kept, kept)]
        machine.fit(K, target[kept], sample_weight=weight[kept] / self.lam)
        dual = np.zeros(len(target))
        dual[kept[machine.support_]] = machine.dual_coef_[0] * self.lam
        return dual * self.rows.signs[:, 0], float(machine.intercept_[0])

    def _gap(self, theta: Array, weight: Array, dual: Array) -> float:
        """Σ f(u) + f*(μ) − μu with f = d·base and μ = −dual within the slopes of f."""
        u, mu = self.risk.margins(theta), -dual
        knots = np.array(self.risk.base.pieces.knots)[:, None]  # type: ignore[union-attr]
        conjugate = np.max(mu * knots - weight * self.risk.base(knots), axis=0)
        return float(np.sum(weight * self.risk.base(u) + conjugate - mu * u))
