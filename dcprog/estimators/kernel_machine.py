"""The base class of published kernel models: two-class machines and the fitted expansion."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted

from dcprog.engine.result import Result
from dcprog.estimators.base import Doubt, RiskEstimator, unusable
from dcprog.estimators.classifier import Classifier
from dcprog.estimators.kernels import DEGREE, NO_COEFFICIENTS, Kernel, width
from dcprog.estimators.parameters import COUNT, NONNEGATIVE, POSITIVE, one_of, parameter
from dcprog.foundation.arrays import Array
from dcprog.losses import Loss
from dcprog.penalties import Penalty, l2
from dcprog.risk.risk import Risk
from dcprog.rows.kernel import expansion_margins
from dcprog.rows.linear import Margins, binary_margins, class_index
from dcprog.solving.driver import solve

Index = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Machine:
    """One two-class problem on a subset of the samples.

    Attributes
    ----------
    samples : int array of shape (m,)
        The indices of its samples.
    signs : array of shape (m,)
        The labels −1 and +1.
    rows : Margins
        The margins y f(x), of a kernel expansion or of linear scores.
    penalty : Penalty
        ½‖w‖².
    """

    samples: Index
    signs: Array
    rows: Margins
    penalty: Penalty


def two_class_signs(place: Any, k: int, multiclass: str) -> Array:
    """The labels −1 and +1 of the samples in each two-class problem, 0 for other samples.

    Parameters
    ----------
    place : int array of shape (n,)
        The index of each sample's class.
    k : int
        The number of classes.
    multiclass : {"ovo", "ovr"}

    Returns
    -------
    array of shape (m, n)

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.estimators.kernel_machine import two_class_signs
    >>> two_class_signs(np.array([0, 1, 2]), 3, "ovo")
    array([[-1.,  1.,  0.],
           [-1.,  0.,  1.],
           [ 0., -1.,  1.]])
    """
    if multiclass == "ovr" and k > 2:
        return np.where(place == np.arange(k)[:, None], 1.0, -1.0)
    pairs = np.array(list(combinations(range(k), 2)))
    return (place == pairs[:, 1:]) * 1.0 - (place == pairs[:, :1])


# ----------------------------------------------------------------------------------------------


BYTES = 2**20  # of a MiB
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


@dataclass(frozen=True)
class _by_pairs:
    """A kernel of two single samples, as ``Nystroem`` expects, from one of two sets of samples."""

    kernel: Callable[[Any, Any], Array]

    def __call__(self, x: Any, z: Any) -> float:
        return float(np.asarray(self.kernel(np.atleast_2d(x), np.atleast_2d(z))).item())


# ----------------------------------------------------------------------------------------------


class KernelMachine(SubclassParameters, Classifier, RiskEstimator):
    """Minimise ½‖w‖² + C Σ loss(y_i f(x_i)), f = ⟨w, φ(x)⟩ + b; a subclass defines the loss.

    A subclass declares the parameters `C`, `kernel`, `gamma`, `solver` and `tol`, in the order of
    its publication, and defines the loss (:meth:`_loss`) and the minimisation (:meth:`_minimise`).

    Parameters
    ----------
    multiclass : {"ovo", "ovr"}, default "ovo"
        One machine for every pair of classes, or for every class against the rest.
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
    verbose : bool, default False
        Log one line per step.

    Attributes
    ----------
    support_vectors_ : array or sparse matrix of shape (s, d)
        Not set with ``"precomputed"``.
    intercept_ : array of shape (m,)
    coef_ : array of shape (m, d)
        Set with ``"linear"``; with an approximation the coefficients of its features.
    norm_ : array of shape (m,)
        ‖w‖².
    """

    coef_ = NO_COEFFICIENTS

    _: KW_ONLY
    multiclass: str = parameter(one_of("ovo", "ovr"), default="ovo")
    degree: int = parameter(COUNT, default=DEGREE)
    coef0: float = parameter(NONNEGATIVE, default=0.0)
    approximation: str | None = parameter(one_of("nystroem"), None, default=None)
    n_components: int = parameter(COUNT, default=300)
    memory_limit: float = parameter(POSITIVE, default=4096)
    random_state: int | np.random.RandomState | None = parameter("random_state", default=None)
    verbose: bool = parameter("verbose", default=False)

    # ---- methods of a subclass -------------------------------------------------------------------

    @abstractmethod
    def _loss(self) -> Loss:
        """The loss of a margin."""

    @abstractmethod
    def _minimise(self, machine: Machine, risk: Risk, X: Any) -> tuple[Result, int]:
        """The result of the minimisation and its number of steps; X holds the machine's samples."""

    def _learn(self, machines: list[Machine], points: list[Array]) -> None:
        """Set further attributes from the fitted θ of the two-class problems."""

    # ---- fit -------------------------------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[Doubt]:
        self.classes_ = self._classes_of(y)
        for name in ("support_vectors_", "dual_coef_", "coef_"):
            self.__dict__.pop(name, None)
        self._prepare(X)
        solved = list(self._machines(X, y, self.classes_))
        results, points = list[Result](), list[Array]()
        self.n_iter_ = 1
        for machine in solved:
            risk = self._declare(machine, self._loss())
            result, steps = self._minimise(machine, risk, self._part(X, machine.samples))
            theta: Any = result.x
            results.append(result)
            points.append(theta)
            self.n_iter_ = max(self.n_iter_, steps)
        self.results_ = tuple(results)
        self.objective_ = sum(result.value for result in results)
        self._keep(X, solved, points)
        self._learn(solved, points)
        failed = [r for r in results if r.status not in ("converged", "max_iter")]
        if failed:
            message = f"{failed[0].message}; scale the data or increase tol"
            yield message, ConvergenceWarning

    def _run(self, risk: Risk, solver: str, **options: Any) -> Result:
        """Run a solver with the estimator's tolerance.

        Raises
        ------
        ValueError
            No point was found, because the numbers are too large.
        """
        options = {"tol": self.tol, "verbose": bool(self.verbose), **options}
        result = solve(risk, solver=solver, **options)
        if result.x is None:
            raise unusable(risk, result.message)
        return result

    @property
    def result_(self) -> Result:
        """The run of the first two-class problem; all runs are in ``results_``."""
        check_is_fitted(self)
        return self.results_[0]

    def _machines(self, X: Any, y: Any, classes: Any) -> Iterator[Machine]:
        """Yield the two-class problems."""
        Z = self.kernel_(X) if self._has_a_matrix() else self._features(X)
        place = np.searchsorted(classes, y)
        for labels in two_class_signs(place, len(classes), self.multiclass):
            samples = np.flatnonzero(labels)
            signs = labels[samples]
            if self._has_a_matrix():
                part = Z if samples.size == len(Z) else Z[np.ix_(samples, samples)]
                rows: Any = expansion_margins(part, signs)
                yield Machine(samples, signs, rows, rows.norm(1.0))
            else:
                yield Machine(samples, signs, binary_margins(Z[samples], signs), l2(1.0))

    def _declare(self, machine: Machine, loss: Loss, scale: Array | float = 1.0) -> Risk:
        """The objective of a two-class problem, with costs C times `scale`."""
        costs = np.full(machine.signs.size, float(self.C)) * scale
        return Risk.from_loss(machine.rows, loss, machine.penalty, costs)

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
        if not self._has_a_matrix():
            self.coef_ = np.array([theta[:-1] for theta in points])
        elif self.kernel == "linear":
            self.coef_ = np.asarray((self.support_vectors_.T @ self.dual_coef_.T).T)
        elif self.kernel != "precomputed":
            self.kernel_: Kernel = replace(self.kernel_, samples=self.support_vectors_)

    def _keep_samples(self, X: Any, machines: list[Machine], points: list[Array]) -> None:
        """Set the support and, if the dual coefficients are known, ``dual_coef_``."""
        dual = np.zeros((len(points), X.shape[0]))
        known = True
        for row, machine, theta, result in zip(dual, machines, points, self.results_, strict=True):
            if self._has_a_matrix():
                row[machine.samples] = theta[:-1]
            elif result.dual is not None:
                row[machine.samples] = result.dual * machine.signs
            else:  # without a dual solution: samples at which the loss has a slope
                row[machine.samples] = np.asarray(machine.rows @ theta) <= 1 + self.tol
                known = False
        self.support_ = np.flatnonzero(np.any(dual != 0, axis=0))
        if self.support_.size == 0:
            self.support_ = np.zeros(1, dtype=np.intp)  # keep one sample for a constant function
        if known:
            self.dual_coef_ = dual[:, self.support_]
        if self.kernel != "precomputed":
            self.support_vectors_ = X[self.support_]

    # ---- the representation of f = ⟨w, φ(x)⟩ + b -----------------------------------------------

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

    # ---- the objective ---------------------------------------------------------------------------

    def _risk(self, X: Any, y: Any, sample_weight: Any = None) -> Risk:
        classes = self._classes_of(y)
        if len(classes) > 2:
            raise ValueError(f"y holds {len(classes)} classes: one declaration is of two")
        other = type(self)(**self.get_params(deep=False))  # keeps this estimator's fit unchanged
        other._prepare(X)
        return other._declare(next(iter(other._machines(X, y, classes))), other._loss())

    def _parts(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[float, float]:
        scores = self._scores(X)
        place = class_index(y, self.classes_)[1]
        signs = two_class_signs(place, len(self.classes_), self.multiclass)
        loss = self.C * float(np.sum(self._loss()((signs * scores.T)[signs != 0])))
        return loss, float(np.sum(self.norm_)) / 2

    # ---- the fitted function ---------------------------------------------------------------------

    def _scores(self, X: Any) -> Array:
        """The scores of all two-class problems, of shape (n, number of problems)."""
        X = self._check_fitted(X)
        if hasattr(self, "coef_"):
            return np.asarray(self._features(X) @ self.coef_.T) + self.intercept_
        K = X[:, self.support_] if self.kernel == "precomputed" else self.kernel_(X)
        return K @ self.dual_coef_.T + self.intercept_

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """The scores of the classes: f for two; f_k or the pairs' votes for more.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        array of shape (n, k), or (n,) for two classes
            Positive for the second of two. With ``multiclass="ovo"`` the votes for each class, plus
            less than a third of a vote by the scores.
        """
        scores = self._scores(X)
        if len(self.classes_) == 2:
            return scores.ravel()
        if self.multiclass == "ovr":
            return scores
        return _ovr_decision_function(scores > 0, scores, len(self.classes_))
