"""Linear operators θ → margins whose rows are made of linear scores of samples."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from dcprog.foundation.arrays import BLOCK, Array, dense
from dcprog.foundation.blocked_matrix import BlockedMatrix, blocked
from dcprog.foundation.kernel_matrix import Gram
from dcprog.foundation.parameters import check_flag
from dcprog.foundation.sums import all_finite, mean_sizes
from dcprog.foundation.tolerances import FEW_COEFFICIENTS
from dcprog.penalties import Penalty, l2
from dcprog.rows.kernel_factor import KernelFactor

# If fewer than the share SPARSE of more than FEW_COEFFICIENTS are nonzero, it pays to gather their
# columns.
SPARSE = 0.05
REMEMBERED = 2  # products


class Scores(LinearOperator):
    r"""Rows made of the c linear scores f_k(x_i) = w_k·x_i + b_k of n samples.

    θ stacks w_1, …, w_c and then b_1, …, b_c. A subclass says how the scores of a sample become
    its m rows, which stand at the places i·m, …, i·m + m − 1. The operator is never formed: A·θ
    costs one product of X with a d × c matrix. This class is the interface of rows to solvers,
    which need not know the subclass.

    Parameters
    ----------
    X : array, sparse matrix, memory-mapped or dask array of shape (n, d)
        Finite samples.
    n_scores, n_rows : int
        c and m.
    fit_intercept : bool
        Whether θ has intercepts.

    Attributes
    ----------
    penalized : bool array of shape (p,)
        True for the entries of w, False for the intercepts.
    offset : array of shape (n * m,) or None
        A constant added to the rows' products with θ.
    signs : array of shape (n, c) or None
        The s_ik of rows that are s_ik f_k(x_i), one per score; None for all others.
    factor : KernelFactor or None
        The factorisation of a kernel machine's K, if X is its factor L.
    gram : Gram or None
        The kernel matrix of a kernel machine, if X is K itself.
    shape : tuple of int
        (n·m, p) with p = c·(d + 1), or c·d without intercepts.

    Raises
    ------
    TypeError
        `fit_intercept` is neither True nor False.
    ValueError
        X is not of two dimensions, or holds NaN or infinity.
    """

    offset: Array | None = None
    signs: Array | None = None
    factor: KernelFactor | None = None
    gram: Gram | None = None
    # X, u and Aᵀu, the latest first: checking a solution needs the same product again
    _last: tuple[tuple[Any, Array, Array], ...] = ()
    _live: tuple[Any, npt.NDArray[np.intp], Array] = (None, np.empty(0, np.intp), np.empty(0))

    def __init__(self, X: Any, n_scores: int, n_rows: int, fit_intercept: bool) -> None:
        check_flag("fit_intercept", fit_intercept)
        self.X: Any = data_matrix(X)
        if not self._is_finite():
            raise ValueError("X holds NaN or infinity; remove or impute those entries")
        self.n_scores = n_scores
        self.fit_intercept = bool(fit_intercept)
        n, d = self.X.shape
        self._rows_of_each = n_rows
        self.penalized = np.arange(n_scores * (d + self.fit_intercept)) < n_scores * d
        super().__init__(  # type: ignore[call-arg]
            np.dtype(float), (n * n_rows, self.penalized.size)
        )

    @cached_property
    def sizes(self) -> Array:
        """The mean absolute value of each column of X."""
        with np.errstate(over="ignore", invalid="ignore"):
            return mean_sizes(self.X)

    @cached_property
    def column_sizes(self) -> Array:
        """The sizes for each entry of θ, and 1 for intercepts."""
        sizes = np.tile(self.sizes, self.n_scores)
        return np.concatenate([sizes, np.ones(self.shape[1] - sizes.size)])

    def _is_finite(self) -> bool:
        return bool(np.all(np.isfinite(self.sizes))) or all_finite(self.X)  # sums may overflow

    def over(self, X: Any) -> Self:
        """A copy of the rows with other samples."""
        rows = copy(self)
        rows.X = X
        rows._forget_sizes()
        return rows

    def _forget_sizes(self) -> None:
        for name in ("sizes", "column_sizes"):
            self.__dict__.pop(name, None)

    def of_samples(self, samples: npt.NDArray[np.intp]) -> Self:
        """The rows of some samples, whose X is an array in memory."""
        rows = copy(self)
        rows.X, m = dense(self.X[samples]), self._rows_of_each
        LinearOperator.__init__(  # type: ignore[call-arg]
            rows, np.dtype(float), (samples.size * m, self.shape[1])
        )
        if self.signs is not None:
            rows.signs = np.asarray(self.signs[samples])
        if self.offset is not None:
            rows.offset = self.offset.reshape(-1, m)[samples].ravel()
        rows._forget_sizes()
        rows._last, rows._live = (), Scores._live
        return rows

    @property
    def groups(self) -> npt.NDArray[np.intp]:
        """The sample of each row, of shape (n·m,); it is not stored."""
        return self.spread(np.arange(self.X.shape[0]))

    def spread(self, values: Any) -> Any:
        """Values of the samples as values of their rows."""
        return values if self._rows_of_each == 1 else np.repeat(values, self._rows_of_each)

    @abstractmethod
    def mix(self, scores: Array) -> Array:
        """Rows (n, m) of scores (n, c)."""

    @abstractmethod
    def unmix(self, rows: Array) -> Array:
        """The transpose of :meth:`mix`: scores (n, c) of rows (n, m)."""

    @abstractmethod
    def mixing(self) -> Array:
        """The codes of every row, with which :meth:`mix` multiplies scores, of shape (n, m, c)."""

    def mixing_of(self, samples: npt.NDArray[np.intp]) -> Array:
        """The codes of some samples; a subclass may compute them without all others."""
        return self.mixing()[samples]

    def code_gram(self, weights: Array) -> Array:
        """The sums Σ_j d_ij code_ij code_ijᵀ, (n, c, c), for weights d of shape (n, m)."""
        codes = self.mixing()
        return np.swapaxes(codes * weights[:, :, None], 1, 2) @ codes

    @property
    def kernel(self) -> Array | None:
        """The kernel matrix K of a kernel machine; None for other rows."""
        machine = self.factor or self.gram
        return None if machine is None else machine.K

    def dual_coef(self, theta: Array) -> Array:
        """The coefficients a of a kernel machine at θ, of shape (c, n).

        Its scores are Σ_j a_qj k(·, x_j) + b_q. For rows without a kernel the result is the
        coefficients w themselves.
        """
        coef, _ = self.unpack(theta)
        return coef if self.factor is None else self.factor.dual_coef(coef)

    def norm(self, lam: float = 1.0) -> Penalty:
        """The penalty (λ/2) Σ_q ‖f_q‖² of the scores without their intercepts."""
        return l2(lam)

    def coordinates(self, a: Array) -> Array:
        """The coefficients for :meth:`pack` that belong to a kernel machine's a."""
        return a if self.factor is None else self.factor.coordinates(a)

    def augmented(self) -> Any:
        """The samples X̃ of f = B x̃: X, with a constant column if there are intercepts."""
        return with_ones(self.X) if self.fit_intercept else self.X

    def places(self) -> npt.NDArray[np.intp]:
        """Places in θ of the entries of B, of shape (c, d̃), row by row."""
        c, d = self.n_scores, self.X.shape[1]
        coefs = np.arange(c * d).reshape(c, d)
        if self.fit_intercept:
            coefs = np.column_stack([coefs, c * d + np.arange(c)])
        return coefs.ravel()

    def unpack(self, theta: Array) -> tuple[Array, Array]:
        """The coefficients (c, d) and intercepts (c,) of θ; zeros if no intercepts are fitted."""
        c, d = self.n_scores, self.X.shape[1]
        intercept = theta[c * d :] if self.fit_intercept else np.zeros(c)
        return theta[: c * d].reshape(c, d), intercept

    def pack(self, coef: Array, intercept: Array) -> Array:
        """The θ of coefficients (c, d) and intercepts (c,)."""
        parts = [coef.ravel(), intercept] if self.fit_intercept else [coef.ravel()]
        return np.concatenate(parts)

    def matrix(self) -> sp.csr_array:
        """The operator as a sparse matrix, for solvers that need one; up to c copies of X."""
        mixing = self.mixing()
        n, m, c = mixing.shape
        X = sp.csr_array(self.X)
        X = X[np.repeat(np.arange(n), m)] if m > 1 else X
        flat = mixing.reshape(n * m, c)
        parts = [sp.diags_array(flat[:, k]) @ X for k in range(c)]
        if self.fit_intercept:
            parts.append(sp.csr_array(flat))
        matrix = sp.csr_array(sp.hstack(parts))
        matrix.eliminate_zeros()
        return matrix

    def samples_of(self, places: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """The samples that some rows belong to."""
        return places // (self.shape[0] // self.X.shape[0])

    def dense_rows(self, places: npt.NDArray[np.intp]) -> Array:
        """Some rows of the operator, of shape (k, p)."""
        samples, within = self.samples_of(places), places % (self.shape[0] // self.X.shape[0])
        codes = self.mixing_of(samples)[np.arange(places.size), within]
        (k, c), d = codes.shape, self.X.shape[1]
        rows = np.empty((k, c * (d + self.fit_intercept)))
        coefs = rows[:, : c * d].reshape(k, c, d)  # a view
        np.multiply(codes[:, :, None], dense(self.X[samples])[:, None], out=coefs)
        if self.fit_intercept:
            rows[:, c * d :] = codes
        return rows

    def __matmul__(self, other: Any) -> Any:
        """The product; of a vector without the checks that take a third of its time on few data."""
        if isinstance(other, np.ndarray) and other.shape == self.shape[1:]:
            return self._matvec(other)
        return super().__matmul__(other)

    def _matvec(self, theta: Array) -> Array:
        coef, intercept = self.unpack(np.ravel(theta))
        scores = self._product(coef.T)
        scores += intercept
        return self.mix(scores).ravel()

    def _matmat(self, thetas: Array) -> Array:
        """The products with the columns of a matrix, by one product with X."""
        pairs = [self.unpack(theta) for theta in np.transpose(thetas)]
        scores, c = self._product(np.concatenate([coef for coef, _ in pairs]).T), self.n_scores
        mixed = np.empty((self.shape[0], len(pairs)))
        for k, (_, intercept) in enumerate(pairs):
            mixed[:, k] = self.mix(scores[:, c * k : c * (k + 1)] + intercept).ravel()
        return mixed

    def _product(self, coef: Array) -> Array:
        """The product X·coef; if few rows of coef are nonzero, by their columns of X only, if any.

        These columns are kept for the next product.
        """
        if isinstance(self.X, np.ndarray) and not coef.any():
            return np.zeros((len(self.X), coef.shape[1]))
        if isinstance(self.X, np.ndarray) and len(coef) > FEW_COEFFICIENTS:
            live = np.flatnonzero(np.any(coef, axis=1))
            if live.size < SPARSE * len(coef):
                X, known, columns = self._live
                if X is not self.X or not np.array_equal(known, live):
                    columns = self.X[:, live]
                    self._live = self.X, live, columns
                return np.asarray(columns @ coef[live])
        return np.asarray(self.X @ coef)

    def _rmatvec(self, u: Array) -> Array:
        u = np.ravel(u)
        for X, known, product in self._last:
            if X is self.X and np.array_equal(known, u):
                return product.copy()
        scores = self.unmix(u.reshape(self.X.shape[0], -1))
        product = self.pack((self.X.T @ scores).T, scores.sum(axis=0))
        more = REMEMBERED - 1 if u.size <= BLOCK else 0  # of long vectors only one is kept
        self._last = (self.X, u.copy(), product), *self._last[:more]
        return product.copy()


def data_matrix(X: Any) -> Any:
    """X as a float array, a CSR array without duplicates, or a BlockedMatrix.

    Raises
    ------
    TypeError
        X is read by blocks and does not hold real numbers.
    ValueError
        X is not of two dimensions.
    """
    by_blocks = blocked(X)
    if by_blocks is not None:
        return by_blocks
    if hasattr(X, "tocsr"):
        known = type(X) is sp.csr_array and X.dtype == np.float64
        X = X if known else sp.csr_array(X, dtype=float)
    else:
        X = np.asarray(X, dtype=float)
    if X.ndim != 2:
        raise ValueError(f"X has shape {X.shape}: (n, d) is needed")
    if isinstance(X, sp.csr_array) and not X.has_canonical_format:
        X = X.copy()  # the user's, which may be read-only
        X.sum_duplicates()
    return X


def with_ones(X: Any) -> Any:
    """X with a column of ones appended."""
    if isinstance(X, BlockedMatrix):
        return X.seen(with_ones, X.shape[1] + 1)
    ones = np.ones((X.shape[0], 1))
    if isinstance(X, np.ndarray):
        return np.hstack([X, ones])
    parts: Any = [X, sp.csr_array(ones)]
    return sp.csr_array(sp.hstack(parts))


def column_sizes(rows: Any) -> Array:
    """The mean size of the samples' entries for each column of the rows, and 1 for intercepts.

    It is 1 for a general operator.
    """
    return rows.column_sizes if isinstance(rows, Scores) else np.ones(rows.shape[1])


def coefficient_units(rows: Any, margin: float) -> Array:
    """For each entry of θ the change that moves margins by about `margin`; else 1."""
    with np.errstate(divide="ignore", over="ignore"):
        units = margin / column_sizes(rows)
    return np.where((units > 0) & (units < np.inf), units, 1.0)
