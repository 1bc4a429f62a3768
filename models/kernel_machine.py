"""What the kernel models share: kernels, pairs of classes, and the fitted expansion."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import _ovr_decision_function, check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_X_y, validate_data

from dcprog.engine.result import Result
from dcprog.estimators.kernels import KERNELS, Kernel, width
from dcprog.estimators.parameter_constraints import COUNT, NONNEGATIVE
from dcprog.estimators.prediction import LargestScore
from dcprog.estimators.refusal import unusable
from dcprog.foundation.arrays import Array
from dcprog.penalties import Penalty, l2
from dcprog.risk.risk import Risk
from dcprog.rows.kernel_expansion import expansion_margins
from dcprog.rows.linear import Margins, binary_margins

__all__ = ["KernelMachine", "Machine"]

Index = npt.NDArray[np.intp]
BYTES = 2**20
NEEDS_MATRIX = ("smo", "smo_first_order", "libsvm")
# With so many samples a feature a linear machine is solved for w, which cancellation does not hurt
# as it does the expansion in the samples. From ten on that is the faster way, too.
MANY = 5


@dataclass(frozen=True)
class Machine:
    """One two-class problem among the samples.

    Attributes
    ----------
    samples : int array of shape (m,)
        The samples it is made of.
    signs : array of shape (m,)
        −1 and +1.
    rows : Margins
        The margins y f(x), of a kernel expansion or of linear scores.
    penalty : Penalty
        ½‖w‖².
    """

    samples: Index
    signs: Array
    rows: Margins
    penalty: Penalty


class KernelMachine(LargestScore, ClassifierMixin, BaseEstimator, ABC):
    """½‖w‖² + C Σ loss(y_i f(x_i)), f = ⟨w, φ(x)⟩ + b; a subclass says which loss.

    The parameters are those of ``RescaledHingeSVC``.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "kernel": [StrOptions(KERNELS), callable],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
        "degree": [COUNT],
        "coef0": [NONNEGATIVE],
        "multiclass": [StrOptions({"ovo", "ovr"})],
        "approximation": [StrOptions({"nystroem"}), None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "memory_limit": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    C: float
    kernel: str | Callable[[Any, Any], Array]
    gamma: str | float
    degree: int
    coef0: float
    multiclass: str
    approximation: str | None
    n_components: int
    memory_limit: float
    solver: str
    tol: float
    random_state: int | np.random.RandomState | None
    verbose: bool

    # ---- what a subclass says --------------------------------------------------------------------

    @abstractmethod
    def _declared(self, machine: Machine) -> Risk:
        """The objective of a two-class problem."""

    @abstractmethod
    def _minimise(self, machine: Machine, risk: Risk, X: Any) -> tuple[Result, int]:
        """Its minimisation, and the number of steps to report; X are the problem's samples."""

    def _learn(self, machines: list[Machine], points: list[Array]) -> None:
        """Set further attributes from the fitted θ of the problems."""

    # ---- fit -------------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> KernelMachine:
        """Minimise the objective, for every pair of classes or every class against the rest.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The kernel matrix, (n, n), with ``kernel="precomputed"``.
        y : array of shape (n,)
            Two or more classes.

        Returns
        -------
        KernelMachine
            Itself.

        Raises
        ------
        ValueError
            Parameters out of their range, data that are not finite, fewer than two classes, a
            kernel matrix beyond ``memory_limit``, or one that is not symmetric and positive
            semidefinite (as that of ``"poly"`` with coef0 < 0, or a callable's, may be),
            numbers so large that no point was found.
        """
        X, y = validate_data(self, X, y, **self._checks())
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        self._check_classes(self.classes_)
        self._prepare(X)
        outcomes, machines, objective = [], [], 0.0
        for machine in self._machines(X, y, self.classes_):
            risk = self._declared(machine)
            result, steps = self._minimise(machine, risk, self._part(X, machine.samples))
            if result.x is None:
                raise unusable(risk, result.message)
            outcomes.append((result, steps))
            machines.append(machine)
            objective += result.value
        self.results_ = tuple(result for result, _ in outcomes)
        self.n_iter_ = max(1, *(steps for _, steps in outcomes))
        self.objective_ = objective
        points = [result.x for result in self.results_ if result.x is not None]
        self._keep(X, machines, points)
        self._learn(machines, points)
        self._warn()
        return self

    @property
    def result_(self) -> Result:
        """The run of two classes, or of the first pair of several; all are in ``results_``."""
        check_is_fitted(self)
        return self.results_[0]

    def _check_classes(self, classes: Any) -> None:
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least two classes, but y holds one class, "
                f"{classes[0]!r}"
            )

    def _prepare(self, X: Any) -> None:
        """The kernel of the training samples, or the map to features in its place."""
        for name in ("kernel_", "feature_map_", "support_vectors_", "dual_coef_", "coef_"):
            self.__dict__.pop(name, None)
        gamma = width(self.gamma, X, None) if self.kernel in ("rbf", "poly") else 1.0
        if self.approximation == "nystroem":
            if self.kernel == "precomputed":
                raise ValueError(
                    "approximation='nystroem' with kernel='precomputed': it needs the samples"
                )
            if self.solver in NEEDS_MATRIX:
                raise ValueError(
                    f"solver={self.solver!r} with approximation='nystroem': it needs the kernel "
                    "matrix; take solver='auto'"
                )
            size = min(self.n_components, X.shape[0])
            options: dict[str, Any] = {"gamma": gamma} if self.kernel in ("rbf", "poly") else {}
            if self.kernel == "poly":
                options |= {"degree": self.degree, "coef0": self.coef0}
            kernel = _by_pairs(self.kernel) if callable(self.kernel) else self.kernel
            self.feature_map_ = Nystroem(
                kernel, n_components=size, random_state=self.random_state, **options
            ).fit(X)
        elif self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(f"X has shape {X.shape}: a precomputed kernel matrix is square")
        elif self._takes_a_matrix(*X.shape):
            self.kernel_ = Kernel(self.kernel, X, gamma, self.degree, self.coef0)

    def _takes_a_matrix(self, n: int, d: int) -> bool:
        """Is there to be a kernel matrix? The linear kernel can do without."""
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

    def _machines(self, X: Any, y: Any, classes: Any) -> Any:
        """The two-class problems, one by one."""
        place = np.searchsorted(classes, y)
        is_matrix = hasattr(self, "kernel_")
        Z: Any = self.kernel_(X) if is_matrix else self._features(X)
        for negative, positive in self._sides(len(classes)):
            wanted = place == positive
            against = ~wanted if negative is None else place == negative
            samples = np.flatnonzero(wanted | against)
            signs = np.where(wanted[samples], 1.0, -1.0)
            if is_matrix:
                part = Z if samples.size == len(Z) else Z[np.ix_(samples, samples)]
                rows: Any = expansion_margins(part, signs)
                yield Machine(samples, signs, rows, rows.norm(1.0))
            else:
                yield Machine(samples, signs, binary_margins(Z[samples], signs), l2(1.0))

    def _sides(self, k: int) -> list[tuple[int | None, int]]:
        """The negative class (None for the rest) and the positive one of each problem."""
        if k == 2:
            return [(0, 1)]
        if self.multiclass == "ovr":
            return [(None, j) for j in range(k)]
        return list(combinations(range(k), 2))

    def _features(self, X: Any) -> Any:
        return self.feature_map_.transform(X) if hasattr(self, "feature_map_") else X

    def _part(self, X: Any, samples: Index) -> Any:
        if samples.size == X.shape[0]:
            return X
        return X[np.ix_(samples, samples)] if self.kernel == "precomputed" else X[samples]

    def _keep(self, X: Any, machines: list[Machine], points: list[Array]) -> None:
        """Set the attributes of the fitted function."""
        self.intercept_ = np.array([theta[-1] for theta in points])
        self.norm_ = np.array(
            [2 * m.penalty(theta[:-1]) for m, theta in zip(machines, points, strict=True)]
        )
        if np.min(self.norm_) < -self.tol * max(np.max(self.norm_), abs(self.objective_)):
            raise ValueError(
                f"||w||² = {np.min(self.norm_):.3g} is negative: the kernel matrix is not positive "
                "semidefinite"
            )
        self._keep_samples(X, machines, points)
        if not hasattr(self, "kernel_"):
            self.coef_ = np.array([theta[:-1] for theta in points])
        elif self.kernel == "linear":
            self.coef_ = np.asarray((self.support_vectors_.T @ self.dual_coef_.T).T)
        elif self.kernel != "precomputed":
            options = self.kernel_.gamma, self.degree, self.coef0
            self.kernel_ = Kernel(self.kernel, self.support_vectors_, *options)

    def _keep_samples(self, X: Any, machines: list[Machine], points: list[Array]) -> None:
        """The samples that matter and, where they are known, their coefficients."""
        dual = np.zeros((len(points), X.shape[0]))
        known = True
        for row, machine, theta, result in zip(dual, machines, points, self.results_, strict=True):
            if hasattr(self, "kernel_"):
                row[machine.samples] = theta[:-1]
            elif result.dual is not None:
                row[machine.samples] = result.dual * machine.signs
            else:  # all that can be said is where the loss has a slope
                row[machine.samples] = np.asarray(machine.rows @ theta) <= 1 + self.tol
                known = False
        self.support_ = np.flatnonzero(np.any(dual != 0, axis=0))
        if self.support_.size == 0:
            self.support_ = np.zeros(1, dtype=np.intp)  # a constant function has an expansion too
        if known:
            self.dual_coef_ = dual[:, self.support_]
        if self.kernel != "precomputed":
            self.support_vectors_ = X[self.support_]

    def _warn(self) -> None:
        """Say so where a solver failed. Reaching max_iter is no failure."""
        failed = [r for r in self.results_ if r.status not in ("converged", "max_iter")]
        if failed:
            warnings.warn(
                f"{failed[0].message}; scale the data or increase tol",
                ConvergenceWarning,
                stacklevel=4,
            )

    # ---- the objective ---------------------------------------------------------------------------

    def spec(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Risk:
        """The declaration of the objective for two classes, which :func:`dcprog.solve` takes too.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Two classes.

        Returns
        -------
        Risk
            θ = (a, b) with f = Σ_j a_j k(·, x_j) + b, or the coefficients of the features and b.

        Raises
        ------
        ValueError
            There are not two classes.
        """
        self._validate_params()
        X, y = check_X_y(X, y, **self._checks())
        classes = np.unique(y)
        self._check_classes(classes)
        if len(classes) > 2:
            raise ValueError(f"y holds {len(classes)} classes: one declaration is of two")
        other = type(self)(**self.get_params(deep=False))
        other._prepare(X)
        return other._declared(next(iter(other._machines(X, y, classes))))

    def objective(self, X: npt.ArrayLike, y: npt.ArrayLike) -> float:
        """The objective of the fitted function on some data, summed over the two-class problems.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Labels among ``classes_``.

        Returns
        -------
        float
            On the training data it is ``objective_``.
        """
        scores = self._scores(X)
        labels = np.asarray(y)
        if not np.all(np.isin(labels, self.classes_)):
            raise ValueError("y holds a label that is not one of the classes")
        place = np.searchsorted(self.classes_, labels)
        total = float(np.sum(self.norm_)) / 2
        for f, (negative, positive) in zip(scores.T, self._sides(len(self.classes_)), strict=True):
            wanted = place == positive
            among = wanted | (True if negative is None else place == negative)
            margins = np.where(wanted, f, -f)[among]
            total += self.C * float(np.sum(self._loss(margins)))
        return total

    @abstractmethod
    def _loss(self, margins: Array) -> Array:
        """The loss of margins."""

    # ---- the fitted function ---------------------------------------------------------------------

    def _scores(self, X: Any) -> Array:
        """Scores of all two-class problems, of shape (n, number of problems)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **self._checks())
        if hasattr(self, "coef_"):
            return np.asarray(self._features(X) @ self.coef_.T) + self.intercept_
        K = X[:, self.support_] if self.kernel == "precomputed" else self.kernel_(X)
        return K @ self.dual_coef_.T + self.intercept_

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Scores of the classes: f for two, f_k or the votes of the pairs for more.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        array of shape (n, k), or (n,) for two classes
            Positive for the second of two. With ``multiclass="ovo"`` the votes for each class,
            plus a share below a third of a vote that the scores decide.
        """
        scores = self._scores(X)
        if len(self.classes_) == 2:
            return scores.ravel()
        if self.multiclass == "ovr":
            return scores
        return _ovr_decision_function(scores > 0, scores, len(self.classes_))

    def _checks(self) -> dict[str, Any]:
        sparse = False if self.kernel == "precomputed" else "csr"
        return {"accept_sparse": sparse, "dtype": np.float64}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


@dataclass(frozen=True)
class _by_pairs:
    """A kernel of two samples, as ``Nystroem`` wants it, from one of two sets of samples."""

    kernel: Callable[[Any, Any], Array]

    def __call__(self, x: Any, z: Any) -> float:
        return float(np.asarray(self.kernel(np.atleast_2d(x), np.atleast_2d(z))).item())
