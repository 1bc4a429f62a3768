"""An optional kernel for estimators that are linear by default."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any

from dcprog.estimators.declared_estimator import DeclaredEstimator, parameter
from dcprog.estimators.kernels import KERNELS, Kernel, width
from dcprog.estimators.parameter_constraints import COUNT, NONNEGATIVE, one_of
from dcprog.estimators.sample_input import SampleInput
from dcprog.foundation.arrays import Array

__all__ = ["KernelOption"]


class KernelOption(SampleInput, DeclaredEstimator):
    """An estimator of linear functions, or of f(x) = Σ_j a_j k(x, x_j) + b.

    Parameters
    ----------
    degree : int, default 3
        The degree of ``"poly"``.
    coef0 : float, default 0.0
        The constant of ``"poly"``, at least 0.

    Attributes
    ----------
    kernel_ : Kernel
        The functions k(·, x_j); set with a kernel.
    """

    _: KW_ONLY
    kernel: str | Callable[[Any, Any], Array] | None = parameter(
        one_of(*KERNELS), callable, None, default=None
    )
    degree: int = parameter(COUNT, default=3)
    coef0: float = parameter(NONNEGATIVE, default=0.0)

    def _kernel_of(self, X: Any, gamma: str | float, samples: Any, weights: Any) -> Kernel | None:
        """The kernel with the rows of X, γ from the given samples and weights; None without one.

        Raises
        ------
        ValueError
            The variance of X is out of the range of floats.
        """
        if self.kernel is None:
            return None
        needed = self.kernel in ("rbf", "poly")
        found = width(gamma, X[samples], weights) if needed else 1.0
        return Kernel(self.kernel, X, found, self.degree, self.coef0)

    def _refuse_kernel(self, penalty: object, remedy: str) -> ValueError:
        """The error for a kernel with a penalty that is not a squared norm."""
        return ValueError(
            f"kernel={self.kernel!r} with penalty={penalty!r}: a kernel machine's penalty is its "
            f"squared norm; take {remedy}, or kernel=None"
        )
