"""A primal-dual interior point method for quadratic programs with arrow structure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError

__all__ = ["Optimum", "Program", "Rows", "primal_dual"]

MAX_ITER = 100
TO_BOUNDARY = 0.995
SHORT = 1e-9
ENOUGH = 0.1
HUGE = 1e13


class Rows(Protocol):
    """The linear algebra of rows R(t, x), with few or no shared entries of t."""

    n_rows: int

    def forward(self, t: Array, x: Array) -> Array:
        """R(t, x)."""

    def adjoint(self, y: Array) -> tuple[Array, Array]:
        """R'y, its local and its dense part."""

    def factor(self, w: Array, Q: Array) -> Any:
        """Factorise H = R'diag(w)R + Q."""

    def solve(self, factor: Any, rt: Array, rx: Array, u: Array) -> tuple[Array, Array, Array]:
        """Solution d of  H d = −r − R'u,  as d_t, d_x and R d."""


@dataclass(frozen=True)
class Program:
    """min  ½x'Qx + a't + b'x + ½Σ_r p_r (R_r(t,x) + h_r)²  s.t.  R_i (t, x) ≤ g_i.

    The inequalities are the first rows i of R, the squares r the others. Q is a matrix, or the
    vector of a diagonal one.
    """

    rows: Rows
    Q: Array
    a: Array
    b: Array
    p: Array
    h: Array
    g: Array
    start: tuple[Array, Array, Array] | None = None

    @property
    def is_linear(self) -> bool:
        """No quadratic term."""
        return not np.any(self.p) and not np.any(self.Q)


@dataclass(frozen=True)
class Optimum:
    """A minimiser with the slacks g − R(t, x) and the multipliers of the inequalities."""

    t: Array
    x: Array
    slacks: Array
    multipliers: Array
    iterate: _Iterate = field(repr=False, compare=False)


def primal_dual(
    program: Program,
    tolerance: float,
    time_limit: float | None = None,
    after: Optimum | None = None,
) -> Optimum:
    """Minimiser and multipliers.

    With s = g − R(t, x) > 0 and multipliers λ > 0, Newton's method on the optimality conditions
    and sλ = σμ: a predictor with σ = 0, then σ = (μ_predicted/μ)³ and the predictor's
    second-order term (Mehrotra). Both steps use one factorisation of R'diag(λ/s)R + ∇²f.

    Parameters
    ----------
    program : Program
    tolerance : float
        For the residuals and the duality gap, relative.
    time_limit : float, optional
        Seconds.
    after : Optimum, optional
        Of the same program, to a larger tolerance: go on from there.

    Raises
    ------
    SubproblemError
        ``"failed"``: it did not converge, which infeasible and unbounded programs never do.

    References
    ----------
    Mehrotra (1992), On the implementation of a primal-dual interior point method, SIAM J. Optim.
    2(4). Wright (1997), Primal-Dual Interior-Point Methods. Nocedal and Wright (2006), Numerical
    Optimization, section 16.6.
    """
    deadline = Deadline(time_limit)
    with np.errstate(all="ignore"):
        iterate = _Iterate(program) if after is None else after.iterate
        for _ in range(MAX_ITER):
            if iterate.is_optimal(tolerance):
                return iterate.optimum()
            iterate.step(tolerance)
            deadline.check("the interior point method")
    raise SubproblemError("failed", f"interior point: no convergence in {MAX_ITER} iterations")


class _Iterate:
    """Point, slacks and multipliers, with their residuals."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.m = len(program.g)
        # of the objective: the multipliers are around 1
        self.unit = max(_norm(program.a), _norm(program.b)) or 1.0
        self.p, self.Q = program.p / self.unit, program.Q / self.unit
        self.a, self.b = program.a / self.unit, program.b / self.unit
        self.equal_steps = not program.is_linear
        self._start()
        self._measure()

    def _start(self) -> None:
        """A given point that is strictly inside, or one that is made."""
        if self.program.start is None:
            self._make_start()
            return
        self.t, self.x, dual = self.program.start
        self.dual = dual / self.unit
        self.s = self.program.g - self.program.rows.forward(self.t, self.x)[: self.m]

    def _make_start(self) -> None:
        """Minimise f + ½‖s‖² on R(t, x) + s = g, then s and λ = −s moved inside (Mehrotra)."""
        rows, g = self.program.rows, self.program.g
        factor = rows.factor(np.concatenate([np.ones(self.m), self.p]), self.Q)
        u = np.concatenate([-g, self.p * self.program.h])
        self.t, self.x, moved = rows.solve(factor, self.a, self.b, u)
        s = g - moved[: self.m]
        self.s, self.dual = _inside(s), _inside(-s)

    def _measure(self) -> None:
        """Residuals and objective values at the iterate."""
        program = self.program
        values = program.rows.forward(self.t, self.x)
        squares = values[self.m :] + program.h
        Qx = self.Q * self.x if self.Q.ndim == 1 else self.Q @ self.x
        pulls = self.p * squares
        curve_t, curve_x = program.rows.adjoint(np.concatenate([self.dual, pulls]))
        self.rt = self.a + curve_t
        self.rx = self.b + Qx + curve_x
        self.rp = values[: self.m] + self.s - program.g
        linear = float(self.a @ self.t + self.b @ self.x)
        self.primal = linear + 0.5 * float(self.x @ Qx + squares @ pulls)
        # f(v) − v'∇f(v) − g'λ
        along = float(self.x @ Qx + values[self.m :] @ pulls + program.g @ self.dual)
        self.dual_value = self.primal - linear - along
        self.mu = float(self.s @ self.dual) / max(self.m, 1)
        self.scale_p = 1 + max(_norm(program.g), _norm(values[: self.m]))
        self.scale_d = 1 + max(_norm(Qx), _norm(pulls))

    def is_optimal(self, tolerance: float) -> bool:
        """Residuals and gap within the tolerance.

        Raises
        ------
        SubproblemError
            The iterates diverge.
        """
        allowed = self._allowed(tolerance)
        gap = max(abs(self.primal - self.dual_value), self.mu * self.m)
        if not np.isfinite(gap) or max(_norm(self.x), _norm(self.dual), _norm(self.s)) > HUGE:
            raise SubproblemError("failed", "interior point: the iterates diverge")
        return bool(
            gap <= allowed
            and _norm(self.rp) <= tolerance * self.scale_p
            and max(_norm(self.rt), _norm(self.rx)) <= tolerance * self.scale_d
        )

    def _allowed(self, tolerance: float) -> float:
        """Largest duality gap: relative to the objective, of at least 1 in its own unit."""
        return tolerance * (min(1.0, 1 / self.unit) + abs(self.primal))

    def optimum(self) -> Optimum:
        """Where it is, in the units of the program."""
        return Optimum(self.t, self.x, self.s, self.dual * self.unit, self)

    def step(self, tolerance: float) -> None:
        """Predictor and corrector; a gap far below the tolerance would only cost digits."""
        rows, m, s, dual = self.program.rows, self.m, self.s, self.dual
        w = dual / s
        factor = rows.factor(np.concatenate([w, self.p]), self.Q)
        u = np.zeros(rows.n_rows)

        def direction(target: Array) -> tuple[Array, Array, Array, Array]:
            u[:m] = w * self.rp - target / s
            dt, dx, moved = rows.solve(factor, self.rt, self.rx, u)
            ds = -self.rp - moved[:m]
            return dt, dx, ds, -target / s - w * ds

        product = s * dual
        *_, ds, dl = direction(product)
        along, along_dual = self._lengths(ds, dl)
        after = float((s + along * ds) @ (dual + along_dual * dl)) / m
        centring = min(1.0, max(after / self.mu, 0.0)) ** 3
        target = max(centring * self.mu, min(self.mu, ENOUGH * self._allowed(tolerance) / m))
        dt, dx, ds, dl = direction(product + ds * dl - target)
        along, along_dual = self._lengths(ds, dl)
        keep = min(max(TO_BOUNDARY, 1 - self.mu), 1 - 1e-6)
        along, along_dual = min(1.0, keep * along), min(1.0, keep * along_dual)
        if max(along, along_dual) < SHORT:
            raise SubproblemError("failed", "interior point: the steps became too short")
        self.t = self.t + along * dt
        self.x = self.x + along * dx
        self.s = s + along * ds
        self.dual = dual + along_dual * dl
        self._measure()

    def _lengths(self, ds: Array, dl: Array) -> tuple[float, float]:
        """Longest steps that keep s and λ nonnegative; the same for both unless f is linear."""
        along, along_dual = _longest(self.s, ds), _longest(self.dual, dl)
        if self.equal_steps:
            along = along_dual = min(along, along_dual)
        return along, along_dual


def _norm(vector: Array) -> float:
    return float(np.max(np.abs(vector), initial=0.0))


def _longest(point: Array, direction: Array) -> float:
    """Longest step α ≤ 1/TO_BOUNDARY with point + α·direction ≥ 0."""
    ratio = np.min(direction / point, initial=-TO_BOUNDARY)
    return float(-1 / ratio)


def _inside(vector: Array) -> Array:
    """The vector moved to positive values of its own size."""
    if not len(vector):
        return vector
    low = -np.min(vector, initial=np.inf)
    size = float(np.mean(np.abs(vector))) or 1.0
    return vector + low + size if low >= -1e-3 * size else vector
