"""Risks that separate into one ridge problem a score, and the base class of their solvers."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import DataLost, SubproblemError
from dcprog.losses import Pieces
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.rows.scores import with_ones
from dcprog.solvers.linalg.ridge import Ridge
from dcprog.solvers.protocol import ExactSolver, Solution, refuse


@dataclass(frozen=True)
class Tangent:
    """The affine function g·w + h·b + constant of the unknowns."""

    g: Array | float = 0.0
    h: float = 0.0
    constant: float = 0.0

    def __call__(self, w: Array, b: float) -> float:
        """The value at (w, b)."""
        return float(np.sum(self.g * w)) + self.h * b + self.constant


WITHOUT_TANGENT = Tangent()


@dataclass(frozen=True)
class ScoreProblem:
    """The sum Σ_i d_i base(u_i) + t_i u_i + (λ/2)‖w‖² + tangent, u_i = s_i(x_i·w + b) + o_i."""

    X: Any
    sign: Array
    offset: Array
    weight: Array
    tilt: Array
    tangent: Tangent = WITHOUT_TANGENT

    def margins(self, w: Array, b: float) -> Array:
        """The margins u."""
        u: Array = self.X @ w
        u += b
        u *= self.sign
        u += self.offset
        return u

    def value(self, pieces: Pieces, u: Array) -> float:
        """The sum Σ_i d_i pieces(u_i) + t_i u_i."""
        return float(self.weight @ pieces(u) + self.tilt @ u)


class Separable:
    """The problems Σ_i d_ik base(s_ik (x_i·w_k + b_k) + t_ik) + tilts + (λ/2)‖w_k‖² of scores k.

    A penalised intercept is the coefficient of a constant column; a free one is kept separate.

    Parameters
    ----------
    risk : Risk
        Margins or residuals with a ridge, all or none of whose intercepts are penalised.

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

    def problems(self, problem: WeightedRisk) -> list[ScoreProblem]:
        """The problem of each score."""
        shape = self.signs.shape
        weights, tilts = problem.row_weights.reshape(shape), problem.row_tilts.reshape(shape)
        columns = self.signs.T, self.offsets.T, weights.T, tilts.T
        return [ScoreProblem(self.X, *parts) for parts in zip(*columns, strict=True)]


class PerScoreSolver(ExactSolver):
    r"""Minimise Σ_i d_{ik} base(u_{ik}) + t_k·u_k + (λ/2)‖w_k‖² for every score k.

    A subclass sets `name` and defines :meth:`score` and :meth:`multipliers`.
    """

    name: ClassVar[str]

    def __init__(self, risk: Risk) -> None:
        self.risk = risk
        self.scores = Separable(risk)
        self.deadline = Deadline()

    @abstractmethod
    def score(
        self, k: int, problem: ScoreProblem, w: Array, b: float, tolerance: float
    ) -> tuple[Array, float]:
        """The minimiser (w, b) of score k from a start, to a relative accuracy of the value."""

    @abstractmethod
    def multipliers(self, problem: WeightedRisk, theta: Array) -> Array:
        """The slopes of the weighted losses at the point θ that was found last, (n, c).

        Where a score has failed, those of the scores after it may be any.
        """

    def minimiser(
        self, problem: WeightedRisk, start: Array, tolerance: float, deadline: Deadline
    ) -> Solution:
        """The minimiser, with the multipliers of its rows."""
        refuse(self.name, shrinkage=problem.shrinkage)
        self.deadline = deadline
        coef, intercept = self.scores.split(start)
        for k, part in enumerate(self.scores.problems(problem)):
            deadline.reached = None  # by the score before
            try:
                point = self.score(k, part, coef[k], float(intercept[k]), tolerance / len(coef))
            except SubproblemError as error:
                if error.point is not None:  # completed by the other scores
                    coef[k], intercept[k] = error.point
                    error.point = self.scores.join(coef, intercept)
                    error.dual = -self.multipliers(problem, error.point).ravel()
                raise
            except DataLost as lost:
                if deadline.reached is not None:
                    coef[k], intercept[k] = deadline.reached
                    lost.point = self.scores.join(coef, intercept)
                raise
            coef[k], intercept[k] = point
            deadline.reached = self.scores.join(coef, intercept)
        theta = self.scores.join(coef, intercept)
        return Solution(theta, -self.multipliers(problem, theta).ravel(), problem.value(theta))
