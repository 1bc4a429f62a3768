"""Kernels of functions f(x) = Σ_j a_j k(x, x_j) + b, and of estimators that may have one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import pairwise_kernels

from dcprog.estimators.parameters import COUNT, NONNEGATIVE, DeclaredEstimator, one_of, parameter
from dcprog.foundation.arrays import Array
from dcprog.rows.kernel import on_kernel
from dcprog.rows.scores import Scores

DEGREE = 3  # the default of the option `degree`, as scikit-learn's
KERNELS = {"linear", "poly", "rbf", "precomputed"}


@dataclass(frozen=True)
class Kernel:
    """The kernel matrix k(x, x_j) of samples x with the training samples x_j.

    Attributes
    ----------
    kind : str or callable
        A name of ``KERNELS``, or a function that maps X and the samples to K.
    samples : array or sparse matrix of shape (n, d)
        The training samples x_j.
    gamma : float
        γ of ``"rbf"``, exp(−γ‖x − z‖²), and ``"poly"``, (γ⟨x, z⟩ + coef0)^degree.
    degree, coef0 : float
        Parameters of ``"poly"``.
    """

    kind: str | Callable[[Any, Any], Array]
    samples: Any
    gamma: float
    degree: float
    coef0: float

    def __call__(self, X: Any) -> Array:
        """The kernel matrix of X, of shape (len(X), n)."""
        if self.kind == "precomputed":
            return X
        if callable(self.kind):
            return self._checked(self.kind(X, self.samples), X.shape[0])
        options = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        Z, samples = self._centred(X)
        with np.errstate(all="ignore"):  # callers check K for infinities
            K = pairwise_kernels(Z, samples, metric=self.kind, filter_params=True, **options)
        return K.toarray() if hasattr(K, "toarray") else K

    def _centred(self, X: Any) -> tuple[Any, Any]:
        """X and the samples; for ``"rbf"`` shifted by the median, so distances lose no digits."""
        samples = self.samples
        if self.kind != "rbf" or not (
            isinstance(X, np.ndarray) and isinstance(samples, np.ndarray)
        ):
            return X, samples
        middle = np.median(samples, axis=0)
        moved = samples - middle
        return moved if X is samples else X - middle, moved

    def _checked(self, K: Any, n: int) -> Array:
        K = np.asarray(K, dtype=float)
        shape = (n, self.samples.shape[0])
        if K.shape != shape:
            raise ValueError(f"kernel={self.kind!r} returned shape {K.shape}: {shape} is needed")
        return K


def width(gamma: str | float, X: Any, weights: Array | None) -> float:
    """γ: 1/(d·variance of X) for ``"scale"``, 1/d for ``"auto"``, or the number itself.

    Parameters
    ----------
    gamma : str or float
    X : array or sparse matrix of shape (n, d)
    weights : array of shape (n,), optional
        The weights of the samples.

    Returns
    -------
    float
        γ; 1 for ``"scale"`` if X is constant.

    Raises
    ------
    ValueError
        The variance or γ is out of the range of floats.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.estimators.kernels import width
    >>> width("scale", np.array([[1e8, 1e8 + 2], [1e8, 1e8 + 2]]), None)
    0.5
    """
    if not isinstance(gamma, str):
        return float(gamma)
    d = X.shape[1]
    if gamma == "auto":
        return 1 / d
    with np.errstate(all="ignore"):
        variance = _variance(X, np.ones(X.shape[0]) if weights is None else weights)
        found = 1 / (d * variance) if variance > 0 else np.float64(1.0)
    if not (np.isfinite(variance) and 0 < found < np.inf):
        raise ValueError(
            f"gamma='scale': the variance of X is {variance:.3g}; scale the data, or give gamma"
        )
    return float(found)


def _variance(X: Any, weights: Array) -> np.float64:
    """The weighted variance of all entries of X, in two passes for accuracy."""
    share = weights / np.sum(weights) / X.shape[1]
    if isinstance(X, np.ndarray):
        first = X[0, 0]
        mean = first + np.sum((X - first).T @ share)
        return np.sum(((X - mean) ** 2).T @ share)
    mean = np.sum(X.T @ share)
    stored = X.copy()
    stored.data = (X.data - mean) ** 2 - mean**2  # relative to the implicit zeros
    return np.sum(stored.T @ share) + mean**2


def rows_of(
    build: Callable[[Any], Scores], X: Any, kernel: Kernel | None, part: Any = slice(None)
) -> Scores:
    """The rows that `build` makes of X, or of a factor of the kernel matrix of selected samples."""
    if kernel is None:
        return build(X)
    return on_kernel(kernel(kernel.samples)[part][:, part], build)


# ----------------------------------------------------------------------------------------------


class _WithoutCoefficients:
    """The error for ``coef_`` where there is none; a fit of linear scores sets the attribute."""

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        if estimator is None:
            return self
        if "intercept_" not in vars(estimator):
            raise NotFittedError(f"{type(estimator).__name__} has no coef_ before it is fitted")
        raise AttributeError(
            f"coef_ is only available with a linear kernel: with kernel={estimator.kernel!r}, "
            "dual_coef_ holds weights of samples; sklearn.inspection.permutation_importance tells "
            "which features matter"
        )


NO_COEFFICIENTS: Any = _WithoutCoefficients()


class KernelOption(DeclaredEstimator):
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

    coef_ = NO_COEFFICIENTS

    _: KW_ONLY
    kernel: str | Callable[[Any, Any], Array] | None = parameter(
        one_of(*KERNELS), callable, None, default=None
    )
    degree: int = parameter(COUNT, default=DEGREE)
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
