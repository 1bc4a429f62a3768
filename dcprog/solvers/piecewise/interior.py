"""An interior point method with a crossover, for polyhedral risks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dcprog.foundation.arrays import Array, factor_products
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.solvers.linalg.cholesky import Cholesky
from dcprog.solvers.linalg.interior_point import Optimum, Program, primal_dual
from dcprog.solvers.linalg.kronecker import DualSystem
from dcprog.solvers.piecewise.active_set import NEAR, Candidate, Guess, crossover, guess_at
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
# The crossover needs only the accuracy NEAR, to identify the active lines; if it fails, more is
# asked.
TIGHTER = 1e-1
APART = 3.0  # slacks of the start, relative to the mean spread of the lines


class InteriorSolver(PolyhedralSolver):
    r"""Minimise Σ_g cost_g max_p line_gp(θ) + linear·θ + Σ_j l_j|θ_j| + ½Σ_j q_j θ_j².

    First the active set method is tried from the lines that were active at the last solution, or at
    the start: if the weights have changed little, a few corrections suffice. Otherwise Mehrotra's
    interior point method identifies the active lines, and the exact minimiser on them is computed.
    Its steps cost a weighted Gram matrix of X for each direction of the codes (for an angle loss
    one per class), at most c(c + 1)/2
    (:class:`KroneckerRows`). In both cases the duality gap
    is certified, and coefficients that an ℓ1 norm holds at 0 are exactly 0 after a crossover.

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
        """The minimiser by the active set method, or if that fails by the interior point method."""
        guess = self.memory.take() or guess_at(problem, start)
        found, _ = crossover(problem, guess, tolerance, deadline=deadline)
        if found is None:
            found = interior_candidate(problem, tolerance, deadline, start)
        self.memory.put(guess_at(problem, found.x, found.duals))
        return found.x, found.duals


def interior_candidate(
    problem: Subproblem, tolerance: float, deadline: Deadline, start: Array | None = None
) -> Candidate:
    """The minimiser by the interior point method, made exact if the crossover succeeds.

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
    optimum: Optimum | None = None
    deadline.check("the interior point method", ahead=STEPS * factor_products(unknowns) / RATE)
    for asked in (max(tolerance, NEAR), tolerance * TIGHTER):
        try:
            optimum = primal_dual(program, asked, deadline.left, optimum)
        except SubproblemError:
            if asked == tolerance * TIGHTER or deadline.left == 0:
                raise
            continue
        found, guess = _read_off(problem, optimum, sparse)
        exact, _ = crossover(problem, guess, tolerance, deadline=deadline)
        if exact is not None:
            return exact
        if asked > tolerance * TIGHTER and np.any(problem.l1):
            continue  # zeros are not reliable at the loose tolerance
        for candidate in (_thresholded(problem, found, guess), found):
            if candidate.gap <= tolerance * (1 + abs(found.value)):
                return candidate
    raise SubproblemError("failed", "interior: the duality gap stayed above the tolerance")


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


def _read_off(problem: Subproblem, optimum: Optimum, sparse: Index) -> tuple[Candidate, Guess]:
    """The candidate of an optimum, and the guess of active lines: those with slack < multiplier."""
    design, live = problem.design, problem.live
    size = live.size * design.const.shape[1]
    duals = np.zeros(design.const.shape)
    duals[live] = optimum.multipliers[:size].reshape(live.size, -1)
    duals = problem.feasible(duals)
    x = optimum.x
    lines = design.lines(x)
    value = problem.value(x, lines)
    cost = problem.cost[live, None]
    top = np.abs(lines[live]).max(axis=1, keepdims=True) + 1
    active = lines >= lines.max(axis=1, keepdims=True)
    slack = optimum.slacks[:size].reshape(live.size, -1)
    active[live] |= duals[live] / cost > slack / top
    plus, minus = optimum.multipliers[size:].reshape(2, -1) / problem.l1[sparse]
    unit = float(np.max(np.abs(x), initial=0.0)) or 1.0
    plus_slack, minus_slack = optimum.slacks[size:].reshape(2, -1) / unit
    sign = np.ones(x.size, dtype=np.int8)
    sign[sparse] = np.where(minus < minus_slack, 1, np.where(plus < plus_slack, -1, 0))
    gap = value - problem.bound(x, duals)
    return Candidate(x, duals, value, gap), Guess(active, sign, duals)


def _thresholded(problem: Subproblem, rough: Candidate, guess: Guess) -> Candidate:
    """The candidate with the coefficients set to 0 that have sign 0 in the guess."""
    x = np.where(guess.sign == 0, 0.0, rough.x)
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
