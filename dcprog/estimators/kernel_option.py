"""A kernel as an option of an estimator that is linear without one."""

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
        Of ``"poly"``.
    coef0 : float, default 0.0
        Of ``"poly"``, not negative.

    Attributes
    ----------
    kernel_ : Kernel
        k(·, x_j), with a kernel.
    """

    _: KW_ONLY
    kernel: str | Callable[[Any, Any], Array] | None = parameter(
        one_of(*KERNELS), callable, None, default=None
    )
    degree: int = parameter(COUNT, default=3)
    coef0: float = parameter(NONNEGATIVE, default=0.0)

    def _kernel_of(self, X: Any, gamma: str | float, samples: Any, weights: Any) -> Kernel | None:
        """The kernel of X, if there is one, as wide as those samples of it and their weights say.

        Raises
        ------
        ValueError
            The variance of X is beyond what floats hold.
        """
        if self.kernel is None:
            return None
        needed = self.kernel in ("rbf", "poly")
        found = width(gamma, X[samples], weights) if needed else 1.0
        return Kernel(self.kernel, X, found, self.degree, self.coef0)

    def _refuse_kernel(self, penalty: object, remedy: str) -> ValueError:
        """The error for a kernel with a penalty that is no squared norm."""
        return ValueError(
            f"kernel={self.kernel!r} with penalty={penalty!r}: a kernel machine's penalty is its "
            f"squared norm; take {remedy}, or kernel=None"
        )
