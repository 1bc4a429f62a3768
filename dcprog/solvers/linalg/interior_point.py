"""A primal-dual interior point method for quadratic programs with arrow structure."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.foundation.tolerances import (
    CANCELLED,
    FORCING,
    MOST_STEPS,
    ROUNDING,
    SUMMED,
    TO_BOUNDARY,
)
from dcprog.solvers.linalg.second_order import SecondOrder

SHORT = 1e-9  # shorter steps, of 1, are a failure
HUGE = 1e13  # iterates with larger entries diverge
WAITED = 50  # steps within which the excess over the tolerance is halved; rounding errors end it
CORRECTIONS = 3  # of the point on active rows: each leaves ROUNDING of the error


class Rows(Protocol):
    """The linear algebra of rows R(t, x) with local variables t."""

    n_rows: int

    def forward(self, t: Array, x: Array) -> Array:
        """The product R(t, x)."""

    def adjoint(self, y: Array) -> tuple[Array, Array]:
        """The local and the dense part of R'y."""

    def factor(self, w: Array, Q: Array) -> Any:
        """Factorise H = R'diag(w)R + Q."""

    def solve(self, factor: Any, rt: Array, rx: Array, u: Array) -> tuple[Array, Array, Array]:
        """Solve  H d = −r − R'u  for d; the result is d_t, d_x and R d."""


@dataclass(frozen=True)
class Program:
    """The program  min ½x'Qx + a't + b'x + ½Σ_r p_r (R_r(t,x) + h_r)²  s.t.  R_i (t, x) ≤ g_i.

    The inequalities are the first rows i of R, the squares r the others. Q is a matrix, or the
    vector of a diagonal one; with `cones`, pairs (C, d) of the constraints  d − Cx ∈ {s₀ ≥ ‖s₁‖},
    it is a matrix.
    """

    rows: Rows
    Q: Array
    a: Array
    b: Array
    p: Array
    h: Array
    g: Array
    start: tuple[Array, Array, Array] | None = None
    cones: tuple[tuple[Array, Array], ...] = ()

    @property
    def is_linear(self) -> bool:
        """True if the objective has no quadratic term, and there are no cones."""
        return not (self.cones or np.any(self.p) or np.any(self.Q))


@dataclass(frozen=True)
class Optimum:
    """A minimiser with the slacks g − R(t, x) and the multipliers of the inequalities and cones."""

    t: Array
    x: Array
    slacks: Array
    multipliers: Array
    polars: Array
    iterate: _Iterate = field(repr=False, compare=False)


def primal_dual(
    program: Program,
    tolerance: float,
    time_limit: float | None = None,
    after: Optimum | None = None,
) -> Optimum:
    """Minimise a program by Mehrotra's predictor-corrector method.

    With s = g − R(t, x) > 0 and multipliers λ > 0, Newton's method is applied to the optimality
    conditions and sλ = σμ: a predictor with σ = 0, then a step with σ = (μ_predicted/μ)³ and the
    predictor's second-order term. Both use one factorisation of R'diag(λ/s)R + ∇²f.

    Parameters
    ----------
    program : Program
    tolerance : float
        The relative tolerance of the residuals and the duality gap.
    time_limit : float, optional
        Seconds.
    after : Optimum, optional
        An optimum of the same program to a larger tolerance, from which to continue.

    Raises
    ------
    SubproblemError
        ``"failed"`` without convergence, as for infeasible and unbounded programs; at the time
        limit with the x of the last iterate.

    References
    ----------
    Mehrotra (1992), On the implementation of a primal-dual interior point method, SIAM J. Optim.
    2(4). Wright (1997), Primal-Dual Interior-Point Methods. Nocedal and Wright (2006), Numerical
    Optimization, section 16.6.
    """
    deadline = Deadline(time_limit)
    with np.errstate(all="ignore"):
        iterate = _Iterate(program) if after is None else after.iterate
        least, waited = np.inf, 0
        for _ in range(MOST_STEPS):
            excess = iterate.excess(tolerance)
            if excess <= 1:
                return iterate.optimum()
            least, waited = (excess, 0) if excess < least / 2 else (least, waited + 1)
            if waited == WAITED:
                break
            begun = time.perf_counter()
            iterate.step(tolerance)
            took = time.perf_counter() - begun
            deadline.check("the interior point method", iterate.x, ahead=took)
    raise SubproblemError("failed", "interior point: no convergence")


class _Iterate:
    """A point with slacks, multipliers and residuals."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.m = len(program.g)
        # the unit of the objective, so that the multipliers are around 1
        self.unit = max(_norm(program.a), _norm(program.b)) or 1.0
        self.p, self.Q = program.p / self.unit, program.Q / self.unit
        self.a, self.b = program.a / self.unit, program.b / self.unit
        self.equal_steps = not program.is_linear
        self.cones = [SecondOrder(C, d) for C, d in program.cones]
        self.degree = self.m + len(self.cones)
        self._start()
        self._measure()

    def _start(self) -> None:
        """Set the start: the program's strictly feasible point, or Mehrotra's start."""
        if self.program.start is None:
            self._make_start()
            return
        self.t, self.x, dual = self.program.start
        self.dual = dual / self.unit
        self.s = self.program.g - self.program.rows.forward(self.t, self.x)[: self.m]

    def _make_start(self) -> None:
        """Minimise f + ½‖s‖² on R(t, x) + s = g, then shift s and λ = −s inside (Mehrotra)."""
        rows, g = self.program.rows, self.program.g
        Q, b = self.Q, self.b
        for cone in self.cones:
            Q, b = Q + cone.C.T @ cone.C, b - cone.d @ cone.C
        factor = rows.factor(np.concatenate([np.ones(self.m), self.p]), Q)
        u = np.concatenate([-g, self.p * self.program.h])
        self.t, self.x, moved = rows.solve(factor, self.a, b, u)
        s = g - moved[: self.m]
        self.s, self.dual = _inside(s), _inside(-s)
        for cone in self.cones:
            cone.begin(self.x)

    def _measure(self) -> None:
        """Compute the residuals and objective values at the iterate."""
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
        product = float(self.s @ self.dual)
        for cone in self.cones:
            cone.measure(self.x)
            self.rx = self.rx + cone.z @ cone.C
            along += float(cone.d @ cone.z)
            product += cone.product
        self.dual_value = self.primal - linear - along
        self.mu = product / self.degree
        self.scale_p = 1 + max(_norm(program.g), _norm(values[: self.m]))
        self.scale_d = 1 + max(_norm(Qx), _norm(pulls))

    def excess(self, tolerance: float) -> float:
        """The largest of the residuals and the gap, as multiples of what the tolerance allows.

        Raises
        ------
        SubproblemError
            The iterates diverge.
        """
        gap = max(abs(self.primal - self.dual_value), self.mu * self.degree)
        vectors = [self.x, self.dual, self.s, *(v for cone in self.cones for v in (cone.z, cone.s))]
        if not np.isfinite(gap) or max(map(_norm, vectors)) > HUGE:
            raise SubproblemError("failed", "interior point: the iterates diverge")
        residuals = [
            _norm(self.rp) / self.scale_p,
            *(_norm(cone.residual) / (1 + _norm(cone.d)) for cone in self.cones),
            _norm(self.rt) / self.scale_d,
            _norm(self.rx) / self.scale_d,
        ]
        # NumPy's maximum keeps a NaN, which fulfils no tolerance
        return float(np.max([gap / self._allowed(tolerance), *np.divide(residuals, tolerance)]))

    def _allowed(self, tolerance: float) -> float:
        """The largest allowed duality gap: relative to the objective's size, plus a constant."""
        return tolerance * (min(1.0, 1 / self.unit) + abs(self.primal))

    def optimum(self) -> Optimum:
        """The iterate as an optimum in the units of the program."""
        polars = np.concatenate([np.zeros(0), *(cone.z for cone in self.cones)])
        multipliers = self.dual * self.unit
        return Optimum(self.t, self.x, self.s, multipliers, polars * self.unit, self)

    def step(self, tolerance: float) -> None:
        """Take a predictor-corrector step; the gap is not reduced far below the tolerance."""
        rows, m, s, dual = self.program.rows, self.m, self.s, self.dual
        w, cones = dual / s, self.cones
        grams = [cone.scale() for cone in cones]
        factor = rows.factor(np.concatenate([w, self.p]), sum(grams, start=self.Q))
        u = np.zeros(rows.n_rows)

        def direction(target: Array) -> tuple[Array, Array, Array, Array]:
            u[:m] = w * self.rp - target / s
            rx = sum((cone.pull() for cone in cones), start=self.rx)
            dt, dx, moved = rows.solve(factor, self.rt, rx, u)
            for cone in cones:
                cone.move(dx)
            ds = -self.rp - moved[:m]
            return dt, dx, ds, -target / s - w * ds

        product = s * dual
        *_, ds, dl = direction(product)
        along, along_dual = self._lengths(ds, dl)
        after = float((s + along * ds) @ (dual + along_dual * dl))
        after += sum(cone.after(along, along_dual) for cone in cones)
        centring = min(1.0, max(after / (self.degree * self.mu), 0.0)) ** 3
        enough = min(self.mu, FORCING * self._allowed(tolerance) / self.degree)
        target = max(centring * self.mu, enough)
        for cone in cones:
            cone.correct(target)
        dt, dx, ds, dl = direction(product + ds * dl - target)
        along, along_dual = self._lengths(ds, dl)
        # beside a curved boundary iterates that come closer are so far off the path that they jam
        keep = TO_BOUNDARY if cones else min(max(TO_BOUNDARY, 1 - self.mu), 1 - 1e-6)
        along, along_dual = min(1.0, keep * along), min(1.0, keep * along_dual)
        if max(along, along_dual) < SHORT:
            raise SubproblemError("failed", "interior point: the steps became too short")
        self.t = self.t + along * dt
        self.x = self.x + along * dx
        self.s = s + along * ds
        self.dual = dual + along_dual * dl
        for cone in cones:
            cone.step(along, along_dual)
        self._measure()

    def _lengths(self, ds: Array, dl: Array) -> tuple[float, float]:
        """The longest steps that keep s and λ inside; equal unless the program is linear."""
        along, along_dual = _longest(self.s, ds), _longest(self.dual, dl)
        for cone in self.cones:
            reach, reach_dual = cone.reach()
            along, along_dual = min(along, reach), min(along_dual, reach_dual)
        if self.equal_steps:
            along = along_dual = min(along, along_dual)
        return along, along_dual


def onto_active_face(program: Program, optimum: Optimum) -> Optimum:
    """Move a linear program's optimum onto the face of its active rows, a vertex if it is unique.

    The iterates end inside, at active slacks of about the tolerance. As complementarity is strict
    in the limit, a row is active if its slack is the smaller of the pair, in units of the largest.
    The least step d with R_a d = s_a on these rows is that of a least squares problem in which the
    other rows have the weight `ROUNDING`, so that a face of several dimensions has one too.

    Parameters
    ----------
    program : Program
        Linear.
    optimum : Optimum

    Returns
    -------
    Optimum
        The same object if the step leaves the feasible set or raises the objective.

    References
    ----------
    Ye (1992), On the finite convergence of interior-point algorithms for linear programming, Math.
    Program. 57.
    """
    rows, g = program.rows, program.g
    s, dual, t, x = optimum.slacks, optimum.multipliers, optimum.t, optimum.x
    active = s * _norm(dual) < dual * _norm(s)
    with np.errstate(all="ignore"):
        factor = rows.factor(np.where(active, 1.0, ROUNDING), np.zeros((x.size, x.size)))
        for _ in range(CORRECTIONS):
            u = np.where(active, rows.forward(t, x) - g, 0.0)
            dt, dx, _ = rows.solve(factor, np.zeros(t.size), np.zeros(x.size), u)
            t, x = t + dt, x + dx
        x = np.where(np.abs(x) <= SUMMED * _norm(x), 0.0, x)
        slacks = g - rows.forward(t, x)
        rise = program.a @ (t - optimum.t) + program.b @ (x - optimum.x)
        size = np.abs(program.a) @ np.abs(t) + np.abs(program.b) @ np.abs(x)
    inside = np.all(slacks >= -SUMMED * (_norm(g) + _norm(slacks)))
    better = inside and rise <= SUMMED * size
    return replace(optimum, t=t, x=x, slacks=slacks) if better else optimum


def _norm(vector: Array) -> float:
    return float(np.max(np.abs(vector), initial=0.0))


def _longest(point: Array, direction: Array) -> float:
    """The longest step α ≤ 1/TO_BOUNDARY with point + α·direction ≥ 0."""
    ratio = np.min(direction / point, initial=-TO_BOUNDARY)
    return float(-1 / ratio)


def _inside(vector: Array) -> Array:
    """The vector shifted to positive entries of its own size, if it has entries near or below 0."""
    low = -np.min(vector, initial=np.inf)
    size = float(np.mean(np.abs(vector))) or 1.0
    return vector + low + size if low >= -CANCELLED * size else vector
