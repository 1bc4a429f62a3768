"""A risk Σ φ(loss) + penalty, declared; and its majorant, one weight a group."""

from __future__ import annotations

import time
from copy import copy
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from dcprog.errors import SubproblemError
from dcprog.losses import ConvexLoss
from dcprog.penalties import Penalty, l2
from dcprog.rows import Margins
from dcprog.solvers.alternating import AlternatingSolver
from dcprog.solvers.compiled import check_solver
from dcprog.solvers.conic import ConicSolver
from dcprog.solvers.newton import NewtonSolver
from dcprog.solvers.protocol import SubproblemSolver
from dcprog.transforms import Transform, identity
from dcprog.tree import Array

__all__ = ["Risk", "RiskSurrogate"]

AGGREGATES = (None, "sum", "max")


class Risk:
    r"""R(θ) = Σ_g φ(agg_{r∈g} v_r·base(a_r·θ)) + penalty(θ), a declaration.

    Parameters
    ----------
    rows : array, sparse matrix, LinearOperator or Margins of shape (n_rows, p)
        The rows a_r.
    base : ConvexLoss
        Convex loss of a margin.
    weights : array of shape (n_rows,), optional
        v_r ≥ 0, ones by default.
    groups : int array of shape (n_rows,), optional
        The group of each row, 0, 1, …; by default the rows' own (the sample, for
        :func:`~dcprog.rows.class_margins`). Heeded only with an aggregate.
    aggregate : {None, "sum", "max"}, default None
        How the losses of a group combine; None makes every row a group.
    transform : Transform, optional
        φ, concave and nondecreasing; the identity by default.
    penalty : Penalty, default l2(1.0)
    penalized : bool array of shape (p,), optional
        The entries of θ that are penalised; by default the rows' own (all but the intercepts),
        or all.

    Raises
    ------
    ValueError
        Shapes that do not fit, negative weights, data that are not finite, an unknown aggregate.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.losses import squared_hinge
    >>> from dcprog.risk import Risk
    >>> from dcprog.transforms import cap_at
    >>> rows = np.array([[1.0], [2.0], [-9.0]])
    >>> risk = Risk(rows, squared_hinge(), transform=cap_at(1.0))
    >>> risk(np.array([1.0]))
    1.5
    """

    def __init__(
        self,
        rows: Any,
        base: ConvexLoss,
        weights: npt.ArrayLike | None = None,
        groups: npt.ArrayLike | None = None,
        aggregate: str | None = None,
        transform: Transform | None = None,
        penalty: Penalty | None = None,
        penalized: npt.ArrayLike | None = None,
    ) -> None:
        if aggregate not in AGGREGATES:
            raise ValueError(f"aggregate={aggregate!r}: choose one of {AGGREGATES}")
        self.rows = _checked_rows(rows)
        self.base = base
        self.aggregate = aggregate
        self.transform = identity() if transform is None else transform
        self.penalty = l2() if penalty is None else penalty
        n_rows, p = self.rows.shape
        if isinstance(self.rows, Margins):
            groups = self.rows.groups if groups is None else groups
            penalized = self.rows.penalized if penalized is None else penalized
        if groups is None or aggregate is None:
            groups = np.arange(n_rows)
        self.groups = _vector("groups", groups, n_rows).astype(np.intp)
        self.n_groups = int(np.max(self.groups)) + 1
        if np.min(self.groups) < 0 or np.any(np.bincount(self.groups) == 0):
            raise ValueError("groups must be numbered 0, 1, … without gaps")
        penalized = np.ones(p) if penalized is None else penalized
        self.penalized = _vector("penalized", penalized, p).astype(bool)
        self.weights = None if weights is None else _vector("weights", weights, n_rows)
        if self.weights is not None and not np.all((self.weights >= 0) & np.isfinite(self.weights)):
            raise ValueError("weights must be finite and not negative")

    @cached_property
    def _members(self) -> npt.NDArray[np.intp]:
        """Rows of each group, (n_groups, largest size); short groups repeat their first row."""
        order = np.argsort(self.groups, kind="stable")
        sizes = np.bincount(self.groups)
        first = np.cumsum(sizes) - sizes
        place = np.arange(sizes.max())
        return order[first[:, None] + np.where(place < sizes[:, None], place, 0)]

    def losses(self, theta: Array) -> Array:
        """v_r·base(a_r·θ), of shape (n_rows,)."""
        losses = self.base(self.rows @ theta)
        return losses if self.weights is None else self.weights * losses

    def aggregates(self, theta: Array) -> Array:
        """The losses combined over each group, of shape (n_groups,)."""
        losses = self.losses(theta)
        match self.aggregate:
            case "sum":
                return np.bincount(self.groups, losses).astype(float)
            case "max":
                return np.max(losses[self._members], axis=1)
        return losses

    def row_weights(self, weights: Array) -> Array:
        """d_g·v_r for every row: what the base losses are multiplied with under a sum."""
        spread = weights[self.groups]
        return spread if self.weights is None else spread * self.weights

    def penalty_value(self, theta: Array) -> float:
        """penalty(θ)."""
        return self.penalty(theta[self.penalized])

    def __call__(self, theta: Array) -> float:
        """R(θ)."""
        return float(np.sum(self.transform(self.aggregates(theta)))) + self.penalty_value(theta)

    def weighted(self, theta: Array, weights: Array, tilts: Array | None = None) -> float:
        """Σ_g d_g agg_g + Σ_r t_r a_r·θ + penalty(θ), what a subproblem solver minimises."""
        value = float(weights @ self.aggregates(theta)) + self.penalty_value(theta)
        return value if tilts is None else value + float(tilts @ (self.rows @ theta))

    def matrix(self) -> Any:
        """The rows as an array or a sparse matrix.

        Raises
        ------
        ValueError
            They are a general LinearOperator.
        """
        if isinstance(self.rows, Margins):
            return self.rows.matrix()
        if isinstance(self.rows, LinearOperator):
            raise ValueError(
                "rows given as a general LinearOperator have no matrix, which cvxpy needs; "
                "pass an array, a sparse matrix or one of the row builders"
            )
        return self.rows

    def expression(self, theta: cp.Variable) -> cp.Expression:
        """The aggregates, of shape (n_groups,), as a cvxpy expression of θ."""
        margins = self.matrix() @ theta  # signs inside the matrix: cvxpy infers wrong bounds else
        losses = self.base.expression(margins)
        if self.weights is not None:
            losses = cp.multiply(self.weights, losses)
        match self.aggregate:
            case "sum":
                ones = np.ones(self.groups.size)
                total = sp.csr_array((ones, (self.groups, np.arange(self.groups.size))))
                return total @ losses
            case "max":
                members = self._members
                padded = cp.reshape(losses[members.ravel()], members.shape, order="C")
                return cp.max(padded, axis=1)
        return losses

    def problem(self) -> cp.Problem:
        """The same spec as a cvxpy problem in one variable named ``theta``.

        Returns
        -------
        cvxpy.Problem
            Nonconvex if the transform is; ``dc.solve`` takes it.

        Raises
        ------
        ValueError
            Rows or transform have no cvxpy form.
        """
        theta = cp.Variable(self.rows.shape[1], name="theta")
        aggregates = self.expression(theta)
        penalty = self.penalty.expression(theta[np.flatnonzero(self.penalized)])
        return cp.Problem(cp.Minimize(cp.sum(self.transform.expression(aggregates)) + penalty))

    def fixed(self, theta: Array) -> Risk:
        """The risk with its transform as the losses at θ set it; itself if nothing adapts."""
        risk = copy(self)
        risk.transform = self.transform.fixed(self.aggregates(theta))
        return risk

    def surrogate(self, solver: str | None = None) -> RiskSurrogate:
        """A fresh surrogate for the outer loop."""
        return RiskSurrogate(self, solver)

    def __repr__(self) -> str:
        aggregate = (
            "" if self.aggregate is None else f", {self.aggregate} of {self.n_groups} groups"
        )
        return (
            f"Risk({self.rows.shape[0]} rows, {self.rows.shape[1]} coefficients{aggregate}: "
            f"{self.transform!r} of {self.base!r} + {self.penalty!r})"
        )


def _vector(name: str, values: npt.ArrayLike, size: int) -> Array:
    array = np.asarray(values, dtype=float)
    if array.shape != (size,):
        raise ValueError(f"{name} has shape {array.shape}: ({size},) is needed, as rows has")
    return array


def _checked_rows(rows: Any) -> Any:
    if not (isinstance(rows, LinearOperator) or sp.issparse(rows)):
        rows = np.asarray(rows, dtype=float)
    if len(rows.shape) != 2 or rows.shape[0] == 0:
        raise ValueError(f"rows has shape {rows.shape}: (n_rows, p) with n_rows > 0 is needed")
    data: Any = rows.X if isinstance(rows, Margins) else rows
    data = getattr(data, "data", data) if sp.issparse(data) else data
    if isinstance(data, np.ndarray) and not np.all(np.isfinite(data)):
        raise ValueError("rows holds NaN or infinity; remove or impute those entries")
    return rows


STRUCTURED: dict[str, type[NewtonSolver | AlternatingSolver]] = {
    "newton": NewtonSolver,
    "alternating": AlternatingSolver,
}


class RiskSurrogate:
    """Majorant of a risk: φ at its tangent, so that every group has one weight.

    M(θ; θ₀) = Σ_g [φ(agg_g⁰) + d_g (agg_g(θ) − agg_g⁰)] + penalty(θ), with d_g = φ'(agg_g⁰).

    Parameters
    ----------
    risk : Risk
    solver : str, optional
        ``"newton"``, ``"alternating"``, ``"cvxpy"`` or the name of a cvxpy solver. By default
        (or ``"auto"``) the fastest solver that takes the risk, with cvxpy behind it.

    Attributes
    ----------
    risk : Risk
        The risk F is read from. Where its transform adapts, the tightenings replace it by one
        whose transform is fixed.

    Raises
    ------
    ValueError
        The solver is unknown or cannot take the risk.
    """

    def __init__(self, risk: Risk, solver: str | None = None) -> None:
        self.declared = self.risk = risk
        self.solvers = _solver_names(risk, solver)
        self.solve_time = 0.0
        self._made: dict[str, SubproblemSolver] = {}
        self.settled = risk.transform.rounds == 0
        self._tightenings = 0
        self._centre: Array | None = None
        self._weights = np.ones(risk.n_groups)
        self._offset = 0.0

    @property
    def weights(self) -> Array:
        """d_g of the last tightening."""
        return self._weights

    def begin(self, x: Array) -> None:
        """Let the transform adapt anew."""
        self.risk = self.declared
        self.settled = self.declared.transform.rounds == 0
        self._tightenings = 0
        self._centre = None

    def tighten(self, x: Array) -> bool:
        """One weight a group: d_g = φ'(agg_g)."""
        if not self.settled:
            self.risk = self.declared.fixed(x)
            self._tightenings += 1
            self.settled = self._tightenings >= self.declared.transform.rounds
        aggregates = self.risk.aggregates(x)
        weights = self.risk.transform.slope(aggregates)
        if not np.all(np.isfinite(weights)):
            raise ValueError(
                f"{self.risk.transform!r} has an infinite slope at a loss of 0, where no affine "
                "majorant exists; smooth it with a positive delta"
            )
        changed = self._centre is None or not np.array_equal(weights, self._weights)
        self._centre, self._weights = x.copy(), weights
        self._offset = float(np.sum(self.risk.transform(aggregates) - weights * aggregates))
        return changed or self.solvers[0] == "alternating"

    def minimise(
        self, start: Array, tolerance: float, solver: str, time_limit: float | None = None
    ) -> Array:
        """Minimiser of the weighted risk."""
        centre = start if self._centre is None else self._centre
        return self._solve(self._weights, centre, tolerance, solver, time_limit)

    def _solve(
        self, weights: Array, centre: Array, tolerance: float, solver: str, limit: float | None
    ) -> Array:
        made = self._solver(solver)
        begun = time.perf_counter()
        try:
            return made.minimise(weights, None, centre, tolerance, limit).coefficients
        finally:
            self.solve_time += time.perf_counter() - begun

    def _solver(self, name: str) -> SubproblemSolver:
        if name not in self._made:
            if name in STRUCTURED:
                self._made[name] = STRUCTURED[name](self.declared)
            else:
                self._made[name] = ConicSolver(self.declared, None if name == "cvxpy" else name)
        return self._made[name]

    def value(self, x: Array) -> float:
        """F(x), under the transform as it stands."""
        return self.risk(x)

    def majorant_value(self, x: Array) -> float:
        """M(x; centre)."""
        if self._centre is None:
            raise RuntimeError("the majorant has no centre yet; call tighten first")
        first = self._solver(self.solvers[0])
        return self._offset + first.value(x, self._weights, None, self._centre)

    def objective(self, x: Array) -> float:
        """F(x)."""
        return self.risk(x)

    def violation(self, x: Array) -> float:
        """0: there are no constraints."""
        return 0.0

    def start(self, kind: str, rng: np.random.Generator) -> Array:
        """The risk with all weights 1, the same on a random half of the groups, or random θ."""
        p = self.declared.rows.shape[1]
        if kind == "random":
            return rng.standard_normal(p)
        weights = np.ones(self.declared.n_groups)
        if kind == "half":
            weights[rng.permutation(weights.size)[: weights.size // 2]] = 0.0
        failures = []
        for solver in self.solvers:
            try:
                return self._solve(weights, np.zeros(p), 1e-8, solver, None)
            except SubproblemError as error:
                failures.append(error)
        raise failures[0]

    def __repr__(self) -> str:
        return f"RiskSurrogate({self.risk!r}, solvers={self.solvers})"


def _solver_names(risk: Risk, solver: str | None) -> tuple[str, ...]:
    if solver is None or solver == "auto":
        takes_it = NewtonSolver.refusal(risk) is None
        return ("newton", "cvxpy") if takes_it else ("cvxpy",)
    if solver == "cvxpy":
        return ("cvxpy",)
    if solver in STRUCTURED:
        reason = STRUCTURED[solver].refusal(risk)
        if reason is not None:
            raise ValueError(f"solver={solver!r} cannot take this risk: {reason}")
        return (solver,)
    try:
        return (str(check_solver(solver)),)
    except ValueError as error:
        raise ValueError(
            f"{error}; for a risk also one of 'auto', 'cvxpy', {', '.join(map(repr, STRUCTURED))}"
        ) from None
