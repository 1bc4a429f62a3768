"""The protocol of solvers of a risk's convex subproblems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import DataLost, SubproblemError
from dcprog.foundation.tolerances import SUMMED
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.rows.scores import column_sizes

# Tolerance of steps far from the end, of solvers to which a loose one is cheaper.
LOOSEST = 1e-2


@dataclass(frozen=True)
class Takes:
    """The risks that a solver takes, as data; the registry turns it into reasons for refusals.

    Attributes
    ----------
    loss : {"piecewise linear", "kinked", "piecewise quadratic", "parabola", "smooth", "expression"}
        The base: ``"kinked"`` is piecewise linear with a kink, ``"expression"`` has a cvxpy
        expression.
    rows : {"any", "one score", "margins", "one margin", "kernel"}
        The rows, which must have a matrix: any, those with one score a sample, margins or residuals
        of any number of scores, those of one score without a kernel, or with one.
    groups : {"any", "samples", "sums", "rows"}
        The aggregates: any, all but maxima over other rows than a sample's, all but maxima, or
        groups of one row.
    penalized : {"any", "coefficients", "no intercept", "a free intercept"}
        The penalised entries of θ: any; all coefficients, with all intercepts or none; all
        coefficients and no intercept; the same, and there is an intercept.
    penalty : {"any", "written", "l1 and l2", "sparse", "linear", "ridge"}
        The penalty: any; one whose convex part has a cvxpy expression; one with the convex part
        Σ l_j|w_j| + (q/2)‖w‖²; such a one with l ≠ 0 or a concave part; with q = 0; with l = 0 < q
        and no concave part.
    blocks : bool
        Whether the solver needs only products with X, Gram matrices and a few rows, so that X may
        be read by blocks.
    numbers : float
        The most numbers in the matrix of the rows.
    unknowns : float
        The most unknowns of the system of a step: the smaller side of the matrix of the rows.
    """

    loss: str
    rows: str = "any"
    groups: str = "sums"
    penalized: str = "any"
    penalty: str = "l1 and l2"
    blocks: bool = False
    numbers: float = np.inf
    unknowns: float = np.inf

    @property
    def words(self) -> tuple[str, ...]:
        """The words that must all hold of a risk, in the order in which reasons are given."""
        return self.loss, self.rows, self.groups, self.penalized, self.penalty

    def missed(self, risk: Risk, holds: dict[str, bool] | None = None) -> list[str]:
        """The words that do not hold of a risk whose rows have a matrix, and such properties."""
        holds = properties(risk) if holds is None else holds
        return [word for word in self.words if not holds[word]]


def properties(risk: Risk) -> dict[str, bool]:
    """For each word of :class:`Takes`, whether it holds for a risk whose rows have a matrix."""
    base, pieces, rows = risk.base, risk.base.pieces, risk.scores
    linear = pieces is not None and not any(pieces.quadratic)
    one = rows.signs is not None and rows.n_scores == 1
    maxima = risk.aggregate == "max"
    coefficients = bool(np.all(risk.penalized[rows.penalized]))
    intercepts = risk.penalized[~rows.penalized]
    penalty, convex = risk.penalty.parts(), risk.penalty.convex_part
    elastic = penalty.is_elastic
    return {
        "any": True,
        "piecewise linear": linear,
        "kinked": linear and pieces is not None and len(pieces.knots) > 0,
        "piecewise quadratic": pieces is not None,
        "parabola": pieces is not None and not pieces.knots and pieces.quadratic[0] > 0,
        "smooth": base.is_smooth,
        "expression": base.has_expression,
        "one score": rows.n_scores == 1,
        "margins": rows.signs is not None,
        "one margin": one and rows.kernel is None,
        "kernel": one and rows.kernel is not None,
        "samples": not maxima or np.array_equal(rows.groups, risk.groups),
        "sums": not maxima,
        "rows": risk.n_groups == rows.shape[0],
        "coefficients": coefficients and len(set(intercepts)) <= 1,
        "no intercept": coefficients and not np.any(intercepts),
        "a free intercept": coefficients and not np.all(intercepts),
        "written": convex is None or convex.has_expression,
        "l1 and l2": elastic,
        "sparse": elastic and bool(penalty.concave or np.any(penalty.l1 > 0)),
        "linear": elastic and penalty.ridge == 0,
        "ridge": bool(penalty.ridge_alone),
    }


@dataclass(frozen=True)
class Solution:
    """A minimiser θ of the weighted and tilted risk.

    Attributes
    ----------
    coefficients : array of shape (p,)
        The minimiser θ.
    dual : array of shape (n_rows,) or None
        The multipliers of the rows, minus the slope of each weighted base loss; None if the solver
        does not provide them.
    value : float
        The value of the minimised function at θ, recomputed in NumPy.
    n_iter : int or None
        The number of steps of the solver, if it counts them.
    bound : float, default −∞
        A verified lower bound of the function, from solvers with other multipliers than those of
        the rows.
    by : str, default ""
        The name of the solver whose point it is, if it may be another than the one asked.
    """

    coefficients: Array
    dual: Array | None
    value: float
    n_iter: int | None = None
    bound: float = -np.inf
    by: str = ""


class SubproblemSolver(Protocol):
    """A solver of weighted risks Σ_g d_g agg_{r∈g}(v_r base(u_r)) + tilts + penalty + shrinkage.

    A solver is constructed once for a risk, whose transform and subtracted part it ignores, and
    called with the :class:`~dcprog.risk.weighted.WeightedRisk` of every majorant update. It caches
    data that do not depend on the weights, tilts and shrinkage (a Gram matrix, a compiled program).

    Its risks are stated by a class attribute ``takes`` (:class:`Takes`), or by a static method
    ``refusal(risk)``, which returns the reason why it does not take a risk or None, or by both.

    Attributes
    ----------
    on_request : str or None
        The reason why the solver is not chosen automatically; None if it may be.
    """

    on_request: ClassVar[str | None]

    def __init__(self, risk: Risk) -> None: ...

    def minimise(
        self, problem: WeightedRisk, start: Array, tolerance: float, time_limit: float | None = None
    ) -> Solution:
        """The minimiser, to a relative accuracy of the value.

        Parameters
        ----------
        problem : WeightedRisk
            A weighted form of the solver's risk.
        start : array of shape (p,)
            The centre of the majorant.
        tolerance : float
            The tolerance relative to 1 + |value|; problems are scaled to about size 1.
        time_limit : float, optional
            Seconds, for solvers with a time limit.

        Raises
        ------
        SubproblemError
            ``unbounded``, ``infeasible`` or ``failed``.
        ValueError
            The problem has tilts or shrinkage that the solver does not support.
        """

    def value(self, problem: WeightedRisk, theta: Array, centre: Array) -> float:
        """The function that :meth:`minimise` minimises from the start `centre`.

        For an exact solver it is the weighted risk. A single-pass solver minimises a majorant of
        the weighted risk that touches it at `centre`.
        """


class ExactSolver:
    """A solver that minimises the weighted risk itself, by default one chosen automatically.

    A subclass defines :meth:`minimiser`, or :meth:`minimise` itself.
    """

    on_request: ClassVar[str | None] = None

    def value(self, problem: WeightedRisk, theta: Array, centre: Array) -> float:
        """The weighted risk."""
        return problem.value(theta)

    def minimise(
        self, problem: WeightedRisk, start: Array, tolerance: float, time_limit: float | None = None
    ) -> Solution:
        """The minimiser, in closed form if no weight is positive."""
        deadline = Deadline(time_limit)
        closed = lossless(problem, start)
        try:
            return closed or self.minimiser(problem, start, tolerance, deadline)
        except DataLost as lost:
            lost.point = deadline.reached if lost.point is None else lost.point
            raise

    def minimiser(
        self, problem: WeightedRisk, start: Array, tolerance: float, deadline: Deadline
    ) -> Solution:
        """The minimiser of a weighted risk with a positive weight, to a relative accuracy."""
        # not abstract: subclasses may define minimise instead
        raise NotImplementedError(f"{type(self).__name__} has neither minimiser nor minimise")

    @staticmethod
    def loosest(risk: Risk) -> float:
        """The loosest tolerance of steps far from the end that saves time; 0 for none."""
        return 0.0

    def further(self, problem: WeightedRisk, start: Array) -> Array:
        """A point near `start` with a lower value of the risk, or `start` itself.

        The losses are those of the problem, and the penalty is the risk's own. Solvers that know
        its curvature may use it if the majorant's steps are short.
        """
        return start


def lossless(problem: WeightedRisk, start: Array) -> Solution | None:
    """The minimiser of a weighted risk without a positive weight, or None.

    It is None if a weight is positive, or if there are tilts and a penalty that is not made of l1,
    l2 and concave parts. Entries of θ that neither the penalty nor the tilts determine stay at the
    start.

    Raises
    ------
    SubproblemError
        ``unbounded`` if no penalty holds a tilt.
    """
    risk, tilts = problem.risk, problem.row_tilts
    if np.any((problem.weights if risk.aggregate == "max" else problem.row_weights) > 0):
        return None
    if not np.any(tilts):
        theta = np.where(risk.penalized, 0.0, start)
        return Solution(theta, np.zeros(tilts.shape), problem.value(theta), 0)
    if not risk.penalty.parts().is_elastic:
        return None
    l1, l2 = problem.penalty_weights
    slope, held = problem.linear, l2 > 0
    noise = SUMMED * float(np.sum(np.abs(tilts))) * len(tilts) * column_sizes(risk.rows)
    over = np.maximum(np.abs(slope) - l1, 0.0)
    if np.any(over[~held] > noise[~held]):
        raise SubproblemError("unbounded", "no loss and no penalty holds a tilt")
    theta = np.where(l1 > 0, 0.0, start)
    theta[held] = -np.sign(slope[held]) * over[held] / l2[held]
    return Solution(theta, np.zeros(tilts.shape), problem.value(theta), 0)


def refuse(solver: str, **parts: Array | None) -> None:
    """Raise ValueError for parts of a weighted risk that a solver does not support.

    Parameters
    ----------
    solver : str
        The solver's name.
    **parts : array or None
        The unsupported parts, ``tilts`` or ``shrinkage``.

    Raises
    ------
    ValueError
        A part is not None.
    """
    for name, part in parts.items():
        if part is not None:
            raise ValueError(f"{solver} takes no {name}")
