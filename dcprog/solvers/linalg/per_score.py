"""Risks that separate into one ridge problem per score."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError
from dcprog.rows.scores import with_ones
from dcprog.solvers.linalg.ridge import Ridge

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk
    from dcprog.risk.weighted import WeightedRisk

__all__ = ["Separable", "separable_refusal"]


def separable_refusal(risk: Risk) -> str | None:
    """The reason why a risk is not Σ_k [losses of score k + (λ/2)‖w_k‖²], None if it is."""
    if risk.no_matrix is not None or risk.scores.signs is None or not _all_or_no_intercept(risk):
        return (
            "its rows are not margins or residuals, or only a part of the coefficients is penalised"
        )
    if risk.aggregate == "max":
        return "its groups take the maximum"
    if not risk.penalty.parts().ridge_alone:
        return f"its penalty is {risk.penalty!r}, not l2 with a positive lam"
    return None


def _all_or_no_intercept(risk: Risk) -> bool:
    """True if every coefficient is penalised, and either all intercepts or none."""
    coefs = risk.scores.penalized
    intercepts = risk.penalized[~coefs]
    return bool(np.all(risk.penalized[coefs]) and (np.all(intercepts) or not np.any(intercepts)))


class Separable:
    """The problems Σ_i d_ik base(s_ik (x_i·w_k + b_k) + t_ik) + tilts + (λ/2)‖w_k‖² of scores k.

    A penalised intercept is the coefficient of a constant column; a free one is kept separate.

    Parameters
    ----------
    risk : Risk
        A risk for which :func:`separable_refusal` is None.

    Attributes
    ----------
    X : array or sparse matrix
        The samples, with a constant column for penalised intercepts.
    lam : float
        The weight λ.
    free : bool
        Whether there is a free intercept.
    signs, offsets : arrays of shape (n, c)
        The signs s and the offsets t.
    """

    def __init__(self, risk: Risk) -> None:
        scores = risk.scores
        assert scores.signs is not None
        self.risk = risk
        self.signs = scores.signs
        self.constant = scores.fit_intercept and bool(np.all(risk.penalized))
        self.free = scores.fit_intercept and not self.constant
        self.X: Any = with_ones(scores.X) if self.constant else scores.X
        self.lam = risk.penalty.parts().ridge
        shape = self.signs.shape
        offset = np.zeros(shape) if risk.offset is None else risk.offset
        self.offsets = offset.reshape(shape)

    @cached_property
    def ridge(self) -> Ridge:
        """The linear algebra of the ridge problem of a score."""
        return Ridge(self.X, self.lam, self.free)

    def split(self, theta: Array) -> tuple[Array, Array]:
        """Split θ into coefficients (c, columns of X) and free intercepts (c,), or zeros."""
        c = self.signs.shape[1]
        d = self.X.shape[1] - self.constant
        coef, intercept = theta[: c * d].reshape(c, d), theta[c * d :]
        if self.constant:
            return np.column_stack([coef, intercept]), np.zeros(c)
        return coef.copy(), intercept.copy() if self.free else np.zeros(c)

    def join(self, coef: Array, intercept: Array) -> Array:
        """Join the coefficients and the free intercepts into θ."""
        if self.constant:
            coef, intercept = coef[:, :-1], coef[:, -1]
        tail = intercept if self.constant or self.free else np.zeros(0)
        return np.concatenate([coef.ravel(), tail])

    @contextmanager
    def completed(self, coef: Array, intercept: Array, k: int) -> Iterator[None]:
        """Complete the point (w, b) that a failure of score k has reached to a θ."""
        try:
            yield
        except SubproblemError as error:
            if error.point is not None:
                coef[k], intercept[k] = error.point
                error.point = self.join(coef, intercept)
            raise

    def spread(self, problem: WeightedRisk) -> tuple[Array, Array]:
        """The weights d and the tilts of each score, of shape (n, c)."""
        shape = self.signs.shape
        return problem.row_weights.reshape(shape), problem.row_tilts.reshape(shape)
