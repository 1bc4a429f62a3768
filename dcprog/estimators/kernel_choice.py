"""The representation of a kernel machine's f: a kernel matrix, Nyström features, or linear."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem

from dcprog.estimators.declared_estimator import DeclaredEstimator, parameter
from dcprog.estimators.kernels import Kernel, width
from dcprog.estimators.parameter_constraints import COUNT, NONNEGATIVE, POSITIVE, one_of
from dcprog.estimators.sample_input import SampleInput
from dcprog.foundation.arrays import Array

__all__ = ["KernelChoice"]

BYTES = 2**20
NEEDS_MATRIX = ("smo", "smo_first_order", "libsvm")
# From this many samples per feature on, a linear machine is solved for w, which suffers less from
# cancellation than the expansion in the samples. From ten on it is also faster.
MANY = 5


class SubclassParameters:
    """Parameters that a subclass declares, in the order of its own constructor."""

    C: float
    kernel: str | Callable[[Any, Any], Array]
    gamma: str | float
    solver: str
    tol: float


class KernelChoice(SubclassParameters, SampleInput, DeclaredEstimator):
    """Parameters of a kernel machine that choose the representation of f = ⟨w, φ(x)⟩ + b.

    Parameters
    ----------
    degree : int, default 3
        The degree of ``"poly"``.
    coef0 : float, default 0.0
        The constant of ``"poly"``.
    approximation : {"nystroem"}, optional
        Replace the kernel matrix by the features of scikit-learn's ``Nystroem``.
    n_components : int, default 300
        The number of those features.
    memory_limit : float, default 4096
        The most MiB that a kernel matrix may take; a larger one is refused.
    random_state : int, RandomState or None, default None
        The random state of ``"nystroem"``.
    """

    _: KW_ONLY
    degree: int = parameter(COUNT, default=3)
    coef0: float = parameter(NONNEGATIVE, default=0.0)
    approximation: str | None = parameter(one_of("nystroem"), None, default=None)
    n_components: int = parameter(COUNT, default=300)
    memory_limit: float = parameter(POSITIVE, default=4096)
    random_state: int | np.random.RandomState | None = parameter("random_state", default=None)

    def _prepare(self, X: Any) -> None:
        """Set ``kernel_`` or ``feature_map_``, or neither for a linear machine solved for w."""
        for name in ("kernel_", "feature_map_"):
            self.__dict__.pop(name, None)
        gamma = width(self.gamma, X, None) if self.kernel in ("rbf", "poly") else 1.0
        if self.approximation == "nystroem":
            self.feature_map_ = self._nystroem(gamma, X.shape[0]).fit(X)
        elif self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(f"X has shape {X.shape}: a precomputed kernel matrix is square")
        elif self._takes_a_matrix(*X.shape):
            self.kernel_ = Kernel(self.kernel, X, gamma, self.degree, self.coef0)

    def _nystroem(self, gamma: float, n: int) -> Nystroem:
        if self.kernel == "precomputed":
            raise ValueError(
                "approximation='nystroem' with kernel='precomputed': it needs the samples"
            )
        if self.solver in NEEDS_MATRIX:
            raise ValueError(
                f"solver={self.solver!r} with approximation='nystroem': it needs the kernel "
                "matrix; take solver='auto'"
            )
        options: dict[str, Any] = {"gamma": gamma} if self.kernel in ("rbf", "poly") else {}
        if self.kernel == "poly":
            options |= {"degree": self.degree, "coef0": self.coef0}
        return Nystroem(
            _by_pairs(self.kernel) if callable(self.kernel) else self.kernel,
            n_components=min(self.n_components, n),
            random_state=self.random_state,
            **options,
        )

    def _takes_a_matrix(self, n: int, d: int) -> bool:
        """True if a kernel matrix is to be used; a linear kernel can be fitted without one."""
        needed = 8 * n**2 / BYTES
        if self.kernel == "precomputed":
            return True
        if self.kernel == "linear" and self.solver not in (*NEEDS_MATRIX, "qp"):
            return n < MANY * d and needed <= self.memory_limit
        if needed <= self.memory_limit:
            return True
        raise ValueError(
            f"the kernel matrix of {n} samples takes {needed:.3g} MiB, more than "
            f"memory_limit={self.memory_limit:g}: take approximation='nystroem', "
            "kernel='linear' with solver='auto', or a larger memory_limit"
        )

    def _has_a_matrix(self) -> bool:
        return hasattr(self, "kernel_")

    def _features(self, X: Any) -> Any:
        """The features that w multiplies: X itself or its image under the feature map."""
        return self.feature_map_.transform(X) if hasattr(self, "feature_map_") else X


@dataclass(frozen=True)
class _by_pairs:
    """A kernel of two single samples, as ``Nystroem`` expects, from one of two sets of samples."""

    kernel: Callable[[Any, Any], Array]

    def __call__(self, x: Any, z: Any) -> float:
        return float(np.asarray(self.kernel(np.atleast_2d(x), np.atleast_2d(z))).item())
