"""The base class of published kernel models: two-class machines and the fitted expansion."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.kernel_approximation import Nystroem
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted, validate_data

from dcprog.engine.result import Result
from dcprog.estimators.declared_estimator import DeclaredEstimator, parameter
from dcprog.estimators.kernels import Kernel, width
from dcprog.estimators.paper_estimator import PaperEstimator
from dcprog.estimators.parameter_constraints import COUNT, NONNEGATIVE, POSITIVE, one_of
from dcprog.estimators.refusal import unusable
from dcprog.estimators.sample_input import SampleInput
from dcprog.foundation.arrays import Array
from dcprog.penalties import Penalty, l2
from dcprog.risk.risk import Risk
from dcprog.rows.kernel_expansion import expansion_margins
from dcprog.rows.linear import Margins, binary_margins

__all__ = ["KernelMachine", "Machine", "Side", "machines", "sides"]

Index = npt.NDArray[np.intp]
Side = tuple[int | None, int]


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


def sides(k: int, multiclass: str) -> list[Side]:
    """The negative class (None for all others) and the positive class of each problem.

    Examples
    --------
    >>> from dcprog.estimators.kernel_machine import sides
    >>> sides(3, "ovo"), sides(3, "ovr")
    ([(0, 1), (0, 2), (1, 2)], [(None, 0), (None, 1), (None, 2)])
    """
    if k == 2:
        return [(0, 1)]
    if multiclass == "ovr":
        return [(None, j) for j in range(k)]
    return list(combinations(range(k), 2))


def members(place: Any, side: Side) -> tuple[Any, Any]:
    """Masks of a problem's samples and of its positive samples, from the samples' class indices."""
    negative, positive = side
    wanted = place == positive
    return wanted | (True if negative is None else place == negative), wanted


def machines(Z: Any, place: Any, found: list[Side], is_matrix: bool) -> Iterator[Machine]:
    """Yield the two-class problems.

    Parameters
    ----------
    Z : array of shape (n, n), or array or sparse matrix of shape (n, d)
        A kernel matrix if `is_matrix`, otherwise the features of linear scores.
    place : int array of shape (n,)
        The index of each sample's class.
    found : list
        The classes of each problem, from :func:`sides`.
    is_matrix : bool
    """
    for side in found:
        among, wanted = members(place, side)
        samples = np.flatnonzero(among)
        signs = np.where(wanted[samples], 1.0, -1.0)
        if is_matrix:
            part = Z if samples.size == len(Z) else Z[np.ix_(samples, samples)]
            rows: Any = expansion_margins(part, signs)
            yield Machine(samples, signs, rows, rows.norm(1.0))
        else:
            yield Machine(samples, signs, binary_margins(Z[samples], signs), l2(1.0))


# ----------------------------------------------------------------------------------------------


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


# ----------------------------------------------------------------------------------------------


class KernelMachine(KernelChoice, PaperEstimator):
    """Minimise ½‖w‖² + C Σ loss(y_i f(x_i)), f = ⟨w, φ(x)⟩ + b; a subclass defines the loss.

    A subclass declares the parameters `C`, `kernel`, `gamma`, `solver` and `tol`, in the order of
    its publication, and defines the loss (:meth:`_loss`), the risk (:meth:`_declare`) and its
    minimisation (:meth:`_minimise`).

    Parameters
    ----------
    multiclass : {"ovo", "ovr"}, default "ovo"
        One machine for every pair of classes, or for every class against the rest.
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

    _: KW_ONLY
    multiclass: str = parameter(one_of("ovo", "ovr"), default="ovo")
    verbose: bool = parameter("verbose", default=False)

    # ---- methods of a subclass -------------------------------------------------------------------

    @abstractmethod
    def _loss(self, margins: Array) -> Array:
        """The losses of the given margins."""

    @abstractmethod
    def _declare(self, machine: Machine) -> Risk:
        """The objective of a two-class problem as a risk."""

    @abstractmethod
    def _minimise(self, machine: Machine, risk: Risk, X: Any) -> tuple[Result, int]:
        """The result of the minimisation and its number of steps; X holds the machine's samples."""

    def _learn(self, machines: list[Machine], points: list[Array]) -> None:
        """Set further attributes from the fitted θ of the two-class problems."""

    # ---- fit -------------------------------------------------------------------------------------

    def _fit(self, X: Any, y: Any) -> str | None:
        for name in ("support_vectors_", "dual_coef_", "coef_"):
            self.__dict__.pop(name, None)
        self._prepare(X)
        outcomes, solved, objective = [], [], 0.0
        for machine in self._machines(X, y, self.classes_):
            risk = self._declare(machine)
            result, steps = self._minimise(machine, risk, self._part(X, machine.samples))
            if result.x is None:
                raise unusable(risk, result.message)
            outcomes.append((result, steps))
            solved.append(machine)
            objective += result.value
        self.results_ = tuple(result for result, _ in outcomes)
        self.n_iter_ = max(1, *(steps for _, steps in outcomes))
        self.objective_ = objective
        points = [result.x for result in self.results_ if result.x is not None]
        self._keep(X, solved, points)
        self._learn(solved, points)
        return self._doubt()

    @property
    def result_(self) -> Result:
        """The run of the first two-class problem; all runs are in ``results_``."""
        check_is_fitted(self)
        return self.results_[0]

    def _check_classes(self, classes: Any) -> None:
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least two classes, but y holds one class, "
                f"{classes.tolist()[0]!r}"
            )

    def _machines(self, X: Any, y: Any, classes: Any) -> Iterator[Machine]:
        """Yield the two-class problems."""
        is_matrix = self._has_a_matrix()
        Z = self.kernel_(X) if is_matrix else self._features(X)
        found = sides(len(classes), self.multiclass)
        return machines(Z, np.searchsorted(classes, y), found, is_matrix)

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
            options = self.kernel_.gamma, self.degree, self.coef0
            self.kernel_ = Kernel(self.kernel, self.support_vectors_, *options)

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

    def _doubt(self) -> str | None:
        """The warning if a solver failed, otherwise None; reaching max_iter is not a failure."""
        failed = [r for r in self.results_ if r.status not in ("converged", "max_iter")]
        return f"{failed[0].message}; scale the data or increase tol" if failed else None

    # ---- the objective ---------------------------------------------------------------------------

    def _declared(self, X: Any, y: Any, classes: Any) -> Risk:
        """The risk of data with two classes."""
        if len(classes) > 2:
            raise ValueError(f"y holds {len(classes)} classes: one declaration is of two")
        other = type(self)(**self.get_params(deep=False))  # keeps this estimator's fit unchanged
        other._prepare(X)
        return other._declare(next(iter(other._machines(X, y, classes))))

    def _parts(self, X: Any, y: Any) -> tuple[float, float]:
        scores = self._scores(X)
        labels = np.asarray(y)
        if not np.all(np.isin(labels, self.classes_)):
            raise ValueError("y holds a label that is not one of the classes")
        place = np.searchsorted(self.classes_, labels)
        loss = 0.0
        found = sides(len(self.classes_), self.multiclass)
        for f, side in zip(scores.T, found, strict=True):
            among, wanted = members(place, side)
            margins = np.where(wanted, f, -f)[among]
            loss += self.C * float(np.sum(self._loss(margins)))
        return loss, float(np.sum(self.norm_)) / 2

    # ---- the fitted function ---------------------------------------------------------------------

    def _scores(self, X: Any) -> Array:
        """The scores of all two-class problems, of shape (n, number of problems)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **self._checks())
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
