"""A primal-dual active set method: exact minimisers on guesses of the active constraints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import lu_factor, lu_solve

from dcprog.foundation.arrays import Array, dense, factor_products
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.tolerances import KNOWN_DIGITS
from dcprog.solvers.piecewise.polyhedral import Subproblem

NEAR = 1e-7  # lines within this share of their size below the maximum count as active
MANY = 500  # most active lines beside the reference lines, if the coefficients are few
DEAR = 5e10  # most multiplications in a round; beyond, an interior point method is as fast
REGULAR = 1e-9  # added to and subtracted from the diagonal of the scaled saddle point system
ROUNDS = 10  # most rounds: where the guess is good, a few are enough
REFINEMENTS = 4  # steps of iterative refinement, which remove the effect of REGULAR


@dataclass(frozen=True)
class Guess:
    """A guess of the active lines and the signs of coefficients at a minimiser.

    Attributes
    ----------
    active : bool array of shape (G, P)
        The lines that attain the maximum of a local function, at least one each.
    sign : int array of shape (p,)
        The sign of x_j if |x_j| is penalised; 1 otherwise.
    duals : array of shape (G, P) or None
        Multipliers of the lines. If the active lines do not determine them (three hinges that meet
        in a plane, repeated samples), the multipliers nearest to these are chosen.
    """

    active: npt.NDArray[np.bool_]
    sign: npt.NDArray[np.int8]
    duals: Array | None = None

    def same(self, other: Guess) -> bool:
        """True if both guesses have the same active lines and signs."""
        equal = np.array_equal(self.active, other.active)
        return equal and np.array_equal(self.sign, other.sign)


@dataclass(frozen=True)
class Candidate:
    """The minimiser on a guess, with its multipliers (G, P) and its duality gap."""

    x: Array
    duals: Array
    value: float
    gap: float


def guess_at(problem: Subproblem, x: Array, duals: Array | None = None) -> Guess:
    """The guess with the lines and signs that are active at x."""
    lines = problem.design.lines(x)
    top = lines.max(axis=1, keepdims=True)
    active = lines >= top - NEAR * (1 + np.abs(top))
    return Guess(active, np.where(problem.l1 > 0, np.sign(x), 1).astype(np.int8), duals)


def crossover(
    problem: Subproblem,
    guess: Guess,
    allowed: float,
    rounds: int = ROUNDS,
    deadline: Deadline | None = None,
) -> tuple[Candidate | None, Guess]:
    r"""The exact minimiser from a guess that is improved for a few rounds.

    A round fixes the lines that are equal at the maximum of each local function and the signs of
    the x_j, and solves the remaining equality constrained program. It then drops the lines and x_j
    whose multipliers or signs are wrong and adds the violated ones (primal-dual active set method).
    The result is exact if the method ends, which is not guaranteed; hence the few rounds.

    Parameters
    ----------
    problem : Subproblem
    guess : Guess
    allowed : float
        The allowed duality gap, relative to 1 + |value|.
    rounds : int
        The most rounds.
    deadline : Deadline, optional
        No round starts after it.

    Returns
    -------
    candidate : Candidate or None
        A candidate with an allowed gap; None if no round found one.
    guess : Guess
        The last guess.

    References
    ----------
    Hintermüller, Ito, Kunisch (2002), The primal-dual active set strategy as a semismooth Newton
    method, SIAM J. Optim. 13.
    """
    seen: list[Guess] = []
    for _ in range(rounds):
        reduced = _Reduced(problem, guess)
        if reduced.is_too_large or (deadline is not None and deadline.left == 0):
            break
        x, duals = reduced.solve()
        if not np.all(np.isfinite(x)):
            break
        lines = problem.design.lines(x)
        multipliers = problem.feasible(duals.copy())
        value = problem.value(x, lines)
        gap = value - problem.bound(x, multipliers)
        if gap <= allowed * (1 + abs(value)):
            return Candidate(x, multipliers, value, max(gap, 0.0)), guess
        seen.append(guess)
        guess = _improved(problem, guess, x, lines, duals)
        if any(guess.same(other) for other in seen):
            break
    return None, guess


class _Reduced:
    """The reduced program  min ½x'Λx + b'x  s.t.  E x = f  over the x_j of nonzero sign."""

    def __init__(self, problem: Subproblem, guess: Guess) -> None:
        self.problem = problem
        self.duals = guess.duals
        active = guess.active
        self.support = np.flatnonzero(guess.sign)
        self.reference = np.argmax(active, axis=1)
        others = active.copy()
        every = np.arange(len(active))
        others[every, self.reference] = False
        others[problem.cost <= 0] = False
        self.local, self.line = np.nonzero(others)
        e, p = self.local.size, self.support.size
        free = np.count_nonzero(problem.l2[self.support] <= 0)
        work = e**2 * (p + e) + factor_products(int(e + free))
        self.is_too_large = e > max(2 * p, MANY) or work > DEAR
        duals = np.zeros(active.shape)
        duals[every, self.reference] = problem.cost
        self.b = (problem.slope(duals) + guess.sign * problem.l1)[self.support]

    def solve(self) -> tuple[Array, Array]:
        """The minimiser x and the multipliers of the lines."""
        E, f = self._kinks()
        curvature = self.problem.l2[self.support]
        free = np.flatnonzero(curvature <= 0)
        inverse = np.zeros(curvature.size)
        held = curvature > 0
        inverse[held] = 1 / curvature[held]
        e, scaled = len(E), E * inverse
        system = np.zeros((e + free.size,) * 2)
        system[:e, :e] = scaled @ E.T
        system[:e, e:] = -E[:, free]
        system[e:, :e] = -E[:, free].T
        right = np.concatenate([-f - scaled @ self.b, self.b[free]])
        near = np.zeros(right.size)
        if self.duals is not None:
            near[:e] = self.duals[self.local, self.line]
        solution = near + _shortest(system, right - system @ near, e)
        eta = solution[:e]
        reduced = -inverse * (self.b + eta @ E)
        reduced[free] = solution[e:]
        x = np.zeros(self.problem.linear.size)
        x[self.support] = reduced
        return x, self._duals(eta)

    def _kinks(self) -> tuple[Array, Array]:
        """The equations E x = f that each active line equals its reference line."""
        design = self.problem.design
        code = design.code[self.local, self.line] - self._at_reference(design.code)
        f = self._at_reference(design.const) - design.const[self.local, self.line]
        feature = self.support % design.d
        score = self.support // design.d
        X = dense(design.X[design.sample[self.local]])
        return code[:, score] * X[:, feature], f

    def _at_reference(self, values: Array) -> Array:
        return values[self.local, self.reference[self.local]]

    def _duals(self, eta: Array) -> Array:
        duals = np.zeros(self.problem.design.const.shape)
        duals[self.local, self.line] = eta
        every = np.arange(len(duals))
        duals[every, self.reference] = self.problem.cost - duals.sum(axis=1)
        return duals


def _shortest(system: Array, right: Array, n_kinks: int) -> Array:
    """The shortest solution of a symmetric saddle point system, regularised and refined.

    Adding ±δ to the diagonal makes the system regular. The refinements remove the effect of δ, and
    components that the system does not determine stay 0.
    """
    if not right.size:
        return right
    size = np.max(np.abs(system), axis=1)
    scale = 1 / np.sqrt(np.where(size > 0, size, 1.0))
    scaled = scale[:, None] * system * scale
    signs = np.where(np.arange(right.size) < n_kinks, REGULAR, -REGULAR)
    factor = lu_factor(scaled + np.diag(signs), check_finite=False)
    left = scale * right
    solution = np.zeros(right.size)
    for _ in range(REFINEMENTS):
        solution += lu_solve(factor, left - scaled @ solution, check_finite=False)
    return scale * solution


def _improved(problem: Subproblem, guess: Guess, x: Array, lines: Array, duals: Array) -> Guess:
    """Drop lines and x_j with wrong multipliers or signs, and add the violated ones."""
    top = np.where(guess.active, lines, -np.inf).max(axis=1, keepdims=True)
    wrong = duals < -KNOWN_DIGITS * (problem.cost[:, None] + KNOWN_DIGITS)
    violated = lines > top + KNOWN_DIGITS * (1 + np.abs(top))
    active = (guess.active & ~wrong) | violated
    lost = ~active.any(axis=1)
    active[lost] = guess.active[lost]
    dead = problem.cost <= 0
    active[dead] = guess.active[dead]
    slope = problem.slope(duals)
    l1 = problem.l1
    sign = np.where(guess.sign * x < 0, 0, guess.sign)
    enters = (guess.sign == 0) & (
        np.abs(slope) > l1 * (1 + KNOWN_DIGITS) + KNOWN_DIGITS * KNOWN_DIGITS
    )
    sign = np.where(enters, -np.sign(slope), sign)
    return Guess(active, np.where(l1 > 0, sign, 1).astype(np.int8), guess.duals)
