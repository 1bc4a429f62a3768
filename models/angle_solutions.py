"""The solutions of the angle-based SVM along a penalty path."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils.validation import check_array

from dcprog.engine.result import Result
from dcprog.estimators.kernels import Kernel
from dcprog.foundation.arrays import Array
from dcprog.models.angle_svm import AngleSVC
from dcprog.risk.risk import Risk
from dcprog.rows.angle import simplex_vertices

__all__ = ["AnglePath", "strengthened"]


@dataclass(frozen=True, eq=False)
class AnglePath:
    """The solutions for increasing λ that have been computed so far.

    Attributes
    ----------
    estimator : AngleSVC
        An unfitted estimator with all parameters except the varying λ.
    lams : array of shape (m,)
        All values of λ in increasing order.
    classes : array of shape (k,)
    results : tuple of Result
        The run that was kept for each λ.
    warm : bool array of shape (done,)
        Whether that run started from the solution of the previous λ.
    spec : Risk
        The declared risk, with the estimator's own λ.
    kernel : Kernel or None
    status : str
        ``complete``, ``interrupted``, or ``running`` during callbacks.
    fingerprint : str
        A hash of the data and parameters, for a resumption.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dcprog.models import angle_path
    >>> path = angle_path(*load_iris(return_X_y=True), [1, 10])
    >>> path.status, path.lams
    ('complete', array([ 1., 10.]))
    """

    estimator: AngleSVC
    lams: Array
    classes: npt.NDArray[Any]
    results: tuple[Result, ...]
    warm: npt.NDArray[np.bool_]
    spec: Risk
    kernel: Kernel | None
    status: str
    fingerprint: str

    def __len__(self) -> int:
        return len(self.results)

    @cached_property
    def coefs(self) -> Array:
        """The coefficients, (done, k − 1, d), or the kernel's coefficients, (done, k − 1, n)."""
        rows = self.spec.rows
        if self.kernel is not None:
            found = [rows.dual_coef(result.x) for result in self.results]
            return np.reshape(found, (len(self), rows.n_scores, rows.X.shape[0]))
        found = [rows.unpack(result.x)[0] for result in self.results]
        return np.reshape(found, (len(self), rows.n_scores, rows.X.shape[1]))

    @cached_property
    def intercepts(self) -> Array:
        """The intercepts, of shape (done, k − 1)."""
        found = [self.spec.rows.unpack(np.asarray(result.x))[1] for result in self.results]
        return np.reshape(found, (len(self), self.spec.rows.n_scores))

    @property
    def objectives(self) -> Array:
        """The objective at every solution."""
        return np.array([result.value for result in self.results])

    @property
    def n_selected(self) -> npt.NDArray[np.intp]:
        """The number of features with a nonzero coefficient for every solved λ."""
        return np.sum(np.any(self.coefs != 0, axis=1), axis=1)

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """The scores u_j for every solved λ.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        array of shape (done, n, k)
            All k scores, also for two classes.
        """
        checked: Any = check_array(X, accept_sparse="csr", dtype=np.float64)
        d, width = checked.shape[1], self.spec.rows.X.shape[1]
        if self.kernel is None and d != width:
            raise ValueError(f"X has {d} features, the path was fitted with {width}")
        features: Any = checked if self.kernel is None else self.kernel(checked)
        W = simplex_vertices(len(self.classes))
        pairs = zip(self.coefs, self.intercepts, strict=True)
        scores = [(features @ coef.T + intercept) @ W.T for coef, intercept in pairs]
        return np.array(scores).reshape(len(self), features.shape[0], len(W))

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """The predicted classes for every solved λ, of shape (done, n)."""
        return self.classes[np.argmax(self.decision_function(X), axis=2)]

    def score(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Array:
        """The accuracy for every solved λ, of shape (done,)."""
        return np.mean(self.predict(X) == np.asarray(y), axis=1)

    def model(self, i: int) -> AngleSVC:
        """The i-th solution as a fitted estimator."""
        model = strengthened(self.estimator, self.lams[: len(self)][i])
        model.classes_ = self.classes
        samples = self.spec.rows.X if self.kernel is None else self.kernel.samples
        model.n_features_in_ = samples.shape[1]
        model.keep(self.spec.with_penalty(model.declared_penalty()), self.kernel, self.results[i])
        return model

    def plot(self, ax: Any = None) -> Any:
        """Plot the coefficients over λ, with one colour per function β_q.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        matplotlib Axes
        """
        from dcprog.display.canvas import axes

        ax = axes(ax)
        done = self.lams[: len(self)]
        for q in range(self.coefs.shape[1]):
            ax.semilogx(done, self.coefs[:, q], color=f"C{q % 10}", lw=1)
        ax.set(xlabel="λ", ylabel="coefficients")
        return ax


def strengthened(estimator: AngleSVC, lam: float) -> AngleSVC:
    """The estimator with another λ."""
    name = "lam1" if estimator.penalty == "elasticnet" else "lam"
    return clone(estimator).set_params(**{name: float(lam)})
