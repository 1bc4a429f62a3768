"""An interior point method for polyhedral risks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array, factor_products
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.solvers.linalg.cholesky import Cholesky
from dcprog.solvers.linalg.interior_point import Optimum, Program, primal_dual
from dcprog.solvers.linalg.kronecker import DualSystem
from dcprog.solvers.piecewise.polyhedral import (
    Index,
    Polyhedral,
    PolyhedralSolver,
    Subproblem,
    row_sums,
)
from dcprog.solvers.protocol import Takes

MOST_UNKNOWNS = 6000  # most unknowns of a step's linear system
STEPS = 20  # of the interior point method, before whose end its points are of no use
RATE = 1e10  # products a second of a factorisation, measured at 1000 to 4000 unknowns
LEAST_FEATURES = 24  # least number of columns of X in the first subset
# Shares of the tolerance to which the program is solved until its point has an allowed gap with
# exact zeros; where none has, only coefficients whose multipliers are larger by these factors, in
# units, than the slacks of their bounds are set to 0.
TIGHTER = (1.0, 1e-1, 1e-3)
SURER = (1e3, 1e6)
APART = 3.0  # slacks of the start, relative to the mean spread of the lines

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Candidate:
    """A point with multipliers (G, P) of the lines, and their duality gap."""

    x: Array
    duals: Array
    value: float
    gap: float


class InteriorSolver(PolyhedralSolver):
    r"""Minimise Σ_g cost_g max_p line_gp(θ) + linear·θ + Σ_j l_j|θ_j| + ½Σ_j q_j θ_j².

    Mehrotra's interior point method, whose steps cost a weighted Gram matrix of X for each
    direction of the codes (for an angle loss one per class), at most c(c + 1)/2
    (:class:`KroneckerRows`). Coefficients whose multipliers show that an ℓ1 norm holds them at 0
    are set to 0. The duality gap is certified.

    Parameters
    ----------
    risk : Risk
        A piecewise linear base, alone or with the maximum over a sample's rows, and a penalty
        made of ``l1`` and ``l2``, or a concave one.

    References
    ----------
    Mehrotra (1992), On the implementation of a primal-dual interior point method, SIAM J. Optim.
    2(4).
    """

    name = "interior"
    takes = Takes("piecewise linear", groups="samples", unknowns=MOST_UNKNOWNS)

    def candidate(
        self, problem: Subproblem, start: Array, tolerance: float, deadline: Deadline
    ) -> tuple[Array, Array]:
        """The minimiser by the interior point method."""
        found = interior_candidate(problem, tolerance, deadline, start)
        return found.x, found.duals


def interior_candidate(
    problem: Subproblem, tolerance: float, deadline: Deadline, start: Array | None = None
) -> Candidate:
    """The minimiser by the interior point method.

    With an ℓ1 norm and many features, it works on a subset: the features of the start and those
    with the largest slopes; features whose slope turns out too large are then added.

    Parameters
    ----------
    problem : Subproblem
    tolerance : float
        The allowed duality gap, relative to 1 + |value|.
    deadline : Deadline
    start : array of shape (p,), optional
        A point whose nonzero features are in the first subset.

    Raises
    ------
    SubproblemError
        ``failed`` if the gap stays above the tolerance.
    """
    design = problem.design
    chosen = _first_features(problem, np.zeros(problem.linear.size) if start is None else start)
    x: Array | None = None
    while chosen.size < design.d:
        part = problem.restricted(chosen)
        deadline.check("the interior point method", x)
        try:
            found = _whole(part, tolerance / 2, deadline)
        except SubproblemError as error:
            if deadline.left == 0:
                error.point = x if error.point is None else _widened(design, chosen, error.point)
                raise
            break  # all features together may be easier
        x = _widened(design, chosen, found.x)
        gap = found.value - problem.bound(x, found.duals)
        if gap <= tolerance * (1 + abs(found.value)):
            return Candidate(x, found.duals, found.value, max(gap, 0.0))
        excess = _excess(problem, found.duals)
        excess[chosen] = -np.inf
        more = min(2 * chosen.size, int(np.sum(excess > 0)))
        if not more or 2 * (chosen.size + more) > design.d:
            break
        chosen = np.union1d(chosen, np.argsort(-excess, kind="stable")[:more])
    try:
        return _whole(problem, tolerance, deadline)
    except SubproblemError as error:
        if error.point is None:
            error.point = x
        raise


def _widened(design: Polyhedral, chosen: Index, x: Array) -> Array:
    """The coefficients of some features with zeros for the others."""
    wide = np.zeros((design.c, design.d))
    wide[:, chosen] = x.reshape(design.c, -1)
    return wide.ravel()


def _first_features(problem: Subproblem, start: Array) -> Index:
    """The first subset of the columns of X; all columns if a subset saves nothing."""
    design = problem.design
    shape = design.c, design.d
    forced = np.any((problem.l1 <= 0).reshape(shape), axis=0)
    if 2 * LEAST_FEATURES + int(forced.sum()) > design.d:
        return np.arange(design.d)
    used = forced | np.any(start.reshape(shape) != 0, axis=0)
    lines = design.lines(start)
    duals = np.zeros(lines.shape)
    duals[np.arange(len(lines)), np.argmax(lines, axis=1)] = problem.cost
    excess = _excess(problem, duals)
    excess[used] = np.inf
    size = max(LEAST_FEATURES, int(used.sum()) + LEAST_FEATURES // 2)
    return np.sort(np.argsort(-excess, kind="stable")[:size])


def _excess(problem: Subproblem, duals: Array) -> Array:
    """The excess of each feature's largest slope over its ℓ1 weight."""
    design = problem.design
    return np.max((np.abs(problem.slope(duals)) - problem.l1).reshape(design.c, -1), axis=0)


def _whole(problem: Subproblem, tolerance: float, deadline: Deadline) -> Candidate:
    """The minimiser by the interior point method with all features at once."""
    design = problem.design
    unknowns = design.n * design.c if _by_samples(problem) else problem.linear.size
    if unknowns > MOST_UNKNOWNS and not np.all(problem.l2 > 0):
        raise SubproblemError("failed", f"interior: more than {MOST_UNKNOWNS} unknowns a step")
    program, sparse = _program(problem)
    deadline.check("the interior point method", ahead=STEPS * factor_products(unknowns) / RATE)
    optimum: Optimum | None = None
    last: tuple[Candidate, Array] | None = None
    for share in TIGHTER:
        try:
            optimum = primal_dual(program, share * tolerance, deadline.left, optimum)
        except SubproblemError:
            if last is None:
                raise
            break
        found, sure = _read_off(problem, optimum, sparse)
        exact = _with_zeros(problem, found, sure >= 1)
        allowed = tolerance * (1 + abs(found.value))
        if exact.gap <= allowed:
            return exact
        last = (found, sure) if found.gap <= allowed else last
    if last is None:
        raise SubproblemError("failed", "interior: the duality gap stayed above the tolerance")
    found, sure = last
    candidates = (_with_zeros(problem, found, sure >= factor) for factor in SURER)
    return next((one for one in candidates if one.gap <= allowed), found)


def _by_samples(problem: Subproblem) -> bool:
    """True if steps are to solve for the samples' scores, fewer than the coefficients."""
    design = problem.design
    few = isinstance(design.X, np.ndarray) and design.n * design.c < problem.l2.size
    return few and bool(np.all((problem.l2 > 0) | (problem.l1 <= 0)))


def _program(problem: Subproblem) -> tuple[Program, Index]:
    """The quadratic program in (ξ, τ) and x, and the indices of the x_j with a τ_j."""
    design, live = problem.design, problem.live
    sparse = np.flatnonzero(problem.l1 > 0)
    curved = problem.l2 > 0
    rows = KroneckerRows(design, live, sparse, curved, _by_samples(problem))
    return Program(
        rows=rows,
        Q=problem.l2,
        a=np.concatenate([problem.cost[live], problem.l1[sparse]]),
        b=problem.linear,
        p=np.zeros(0),
        h=np.zeros(0),
        g=np.concatenate([-design.const[live].ravel(), np.zeros(2 * sparse.size)]),
        start=_start(problem, sparse),
    ), sparse


def _start(problem: Subproblem, sparse: Index) -> tuple[Array, Array, Array]:
    """A strictly feasible start (ξ, τ), x = 0 with multipliers, balanced with the slacks.

    ξ lies above the lines by three times their mean spread. The multipliers of a local function add
    up to its cost and are proportional to the inverse slacks.
    """
    design, live = problem.design, problem.live
    lines = design.const[live]
    top = lines.max(axis=1)
    xi = top + APART * (float(np.mean(top - lines.min(axis=1))) or 1.0)
    share = 1 / (xi[:, None] - lines)
    duals = problem.cost[live, None] * share / share.sum(axis=1, keepdims=True)
    tau = np.full(sparse.size, float(np.mean(design.units)))
    half = problem.l1[sparse] / 2
    zero = np.zeros(problem.linear.size)
    return np.concatenate([xi, tau]), zero, np.concatenate([duals.ravel(), half, half])


def _read_off(problem: Subproblem, optimum: Optimum, sparse: Index) -> tuple[Candidate, Array]:
    """The candidate of an optimum, and how surely an ℓ1 norm holds each coefficient at 0.

    At such a coefficient both bounds of |x_j| ≤ τ_j have multipliers larger than their slacks: the
    ratios, of which the smaller one counts, are 0 for coefficients without a norm.
    """
    design, live = problem.design, problem.live
    size = live.size * design.const.shape[1]
    duals = np.zeros(design.const.shape)
    duals[live] = optimum.multipliers[:size].reshape(live.size, -1)
    duals = problem.feasible(duals)
    x = optimum.x
    value = problem.value(x)
    shares = optimum.multipliers[size:].reshape(2, -1) / problem.l1[sparse]
    slacks = optimum.slacks[size:].reshape(2, -1) / design.units[sparse]
    sure = np.zeros(x.size)
    sure[sparse] = np.min(shares / slacks, axis=0)
    return Candidate(x, duals, value, value - problem.bound(x, duals)), sure


def _with_zeros(problem: Subproblem, rough: Candidate, zeros: Mask) -> Candidate:
    """The candidate with some coefficients set to 0."""
    x = np.where(zeros, 0.0, rough.x)
    value = problem.value(x)
    return Candidate(x, rough.duals, value, value - problem.bound(x, rough.duals))


# ---- the rows of the program ---------------------------------------------------------------------


@dataclass(frozen=True)
class KroneckerFactor:
    """The factored normal equations of one interior point step."""

    D: Array  # the diagonal of the local variables
    share: Array  # (G, P), the share of a line in the weights of its local function
    skew: Array  # (J,), the mean of +1 and −1 with the weights of x_j ≤ τ_j and −x_j ≤ τ_j
    system: Any


class KroneckerRows:
    r"""The inequalities of a :class:`Subproblem` as rows R(t, x), t = (ξ, τ).

        code_gp · f_{i(g)}(x) − ξ_g ≤ −const_gp,     x_j − τ_j ≤ 0,   −x_j − τ_j ≤ 0.

    With the weights W of a step, the normal matrix after eliminating t is

        S = Q + diag(e) + Σ_i M_i ⊗ x̃_i x̃_iᵀ,   M_i = Σ_g Σ_p W_gp δ_gp δ_gpᵀ,

    δ the deviations of the codes of g from their weighted mean, and e_j = 4 W⁺W⁻/(W⁺ + W⁻). S is a
    c × c array of d̃ × d̃ blocks, made of weighted Gram matrices of X; K of them if the codes are
    multiples of K vectors (:class:`~dcprog.solvers.linalg.kronecker.Curvature`). With fewer
    samples than features S is diagonal plus a term of rank n·c, and a system of that size is solved
    instead (Woodbury), bordered by the entries without curvature (free intercepts).

    Parameters
    ----------
    design : Polyhedral
    live : int array
        The local functions with a positive cost.
    sparse : int array of shape (J,)
        The x_j with an ℓ1 penalty.
    held : bool array of shape (p,)
        Whether the diagonal entries of Q + diag(e) are positive.
    dual : bool
        Whether to solve the system of size n·c, for dense X.
    """

    def __init__(
        self, design: Polyhedral, live: Index, sparse: Index, held: Any, dual: bool
    ) -> None:
        self.design = design
        self._local = design.local(live)
        self._sparse, self._held = sparse, held
        self._shape = live.size, design.const.shape[1]
        self._n_lines = self._shape[0] * self._shape[1]
        self.n_rows = self._n_lines + 2 * sparse.size
        # n·c unknowns instead of p; inaccurate if the diagonal tends to 0 at a solution
        self._dual = dual and isinstance(design.X, np.ndarray)

    def forward(self, t: Array, x: Array) -> Array:
        """The product R(t, x)."""
        xi, tau = t[: self._shape[0]], t[self._shape[0] :]
        lines = self._local.values(self.design.scores(x)) - xi[:, None]
        sizes = x[self._sparse]
        return np.concatenate([lines.ravel(), sizes - tau, -sizes - tau])

    def adjoint(self, y: Array) -> tuple[Array, Array]:
        """The local and the dense part of R'y."""
        lines, plus, minus = self._split(y)
        x = self._back(lines)
        x[self._sparse] += plus - minus
        return np.concatenate([-row_sums(lines), -plus - minus]), x

    def factor(self, w: Array, Q: Array) -> KroneckerFactor:
        """Factorise H for the weights w."""
        W, plus, minus = self._split(w)
        D, both = row_sums(W), plus + minus
        diagonal = Q.copy()
        diagonal[self._sparse] += 4 * plus * (minus / both)
        curvature, design = self._local.curvature(W), self.design
        system: Any
        if self._dual:
            system = DualSystem(design.X, curvature.matrices(), diagonal, self._held)
        else:
            system = Cholesky(curvature.summed(design.X, diagonal))
        share, D = W / D[:, None], np.concatenate([D, both])
        return KroneckerFactor(D, share, (plus - minus) / both, system)

    def solve(
        self, factor: KroneckerFactor, rt: Array, rx: Array, u: Array
    ) -> tuple[Array, Array, Array]:
        """Solve  H d = −r − R'u  for d; the result is d_t, d_x and R d."""
        G, skew, share = self._shape[0], factor.skew, factor.share
        lines, plus, minus = self._split(u)
        total = row_sums(lines)
        right = -rx - self._back(lines + share * (rt[:G] - total)[:, None])
        right[self._sparse] -= plus * (1 - skew) - minus * (1 + skew) + skew * rt[G:]
        dx = factor.system.solve(right)
        alone = (np.concatenate([total, plus + minus]) - rt) / factor.D
        values, sizes = self._local.values(self.design.scores(dx)), dx[self._sparse]
        middle = row_sums(share * values)
        moved = values - (middle + alone[:G])[:, None]
        tails = (1 - skew) * sizes - alone[G:], -(1 + skew) * sizes - alone[G:]
        dt = alone + np.concatenate([middle, skew * sizes])
        return dt, dx, np.concatenate([moved.ravel(), *tails])

    def _split(self, y: Array) -> tuple[Array, Array, Array]:
        """Split a vector into the parts of the lines (G, P), of x_j ≤ τ_j and of −x_j ≤ τ_j."""
        plus, minus = y[self._n_lines :].reshape(2, -1)
        return y[: self._n_lines].reshape(self._shape), plus, minus

    def _back(self, duals: Array) -> Array:
        return np.asarray(self.design.X.T @ self._local.adjoint(duals)).T.ravel()
