"""Our own interior point solver for quadratic programs with few shared variables."""

from __future__ import annotations

import time
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError
from dcprog.solvers.conic.compiled import CompiledProblem, data_solver
from dcprog.solvers.conic.program import problem_class
from dcprog.solvers.conic.scaler import Scaler, minimise_in_units
from dcprog.solvers.conic.standard_form import Evidence, StandardForm
from dcprog.solvers.conic.structured_program import Arrow, NotArrow
from dcprog.solvers.faults import failures
from dcprog.solvers.linalg.interior_point import primal_dual

__all__ = ["ArrowProblem", "NotArrow"]

PAYS = 10_000  # with fewer stored numbers sparse solvers are as fast


class ArrowProblem:
    """A problem compiled for our own interior point method, as :class:`CompiledProblem`.

    Parameters
    ----------
    problem : cvxpy.Problem
        A minimisation that is DCP and DPP; Parameters without a value are set to about 1.

    Attributes
    ----------
    refusal : str or None
        The reason why this solver cannot solve the problem, None if it can.
    general : CompiledProblem or None
        The problem compiled for another solver, whose data this one uses.
    pays : bool
        Whether the problem is large enough for this solver to be the fastest.
    inaccurate : bool
        Always False: a run that does not converge fails.
    compile_time, solve_time : float
        Seconds spent decomposing the problem, and minimising so far.
    """

    solver = "ARROW"
    inaccurate = False

    def __init__(self, problem: cp.Problem) -> None:
        self.problem = problem
        self.solve_time = self.compile_time = 0.0
        self.refusal: str | None = None
        self.general: CompiledProblem | None = None
        self.pays = False
        self._arrow: Arrow | None = None
        self._scaler = Scaler()
        self._evidence: Evidence | None = None
        self._split: tuple[sp.csc_array, sp.csc_array, sp.csc_array] | None = None
        if problem_class(problem) == "conic":
            self.refusal = "it is not a linear or quadratic program"
            return
        for parameter in problem.parameters():
            if parameter.value is None:
                parameter.value = parameter.project(np.ones(parameter.shape))
        try:
            with failures("ARROW", let=(NotArrow,)):
                self.general = CompiledProblem(problem, data_solver())
                self._take_apart(self._scaler.scale(self._current()[0])[0])
        except (NotArrow, SubproblemError) as error:
            self.refusal = str(error)
        self.reset()

    def reset(self) -> None:
        """Discard all solutions, as :meth:`CompiledProblem.reset` does."""
        self._scaler.reset()
        self._evidence = None

    def _current(self) -> tuple[StandardForm, list[Any]]:
        assert self.general is not None
        form, inverse = self.general.current()
        if form is None:
            raise NotArrow("nothing in it is variable")
        return form, inverse

    def _take_apart(self, form: StandardForm) -> tuple[Arrow, Array]:
        """The arrow structure, recomputed if more than q, b, g and values of P have changed.

        Returns
        -------
        arrow : Arrow
        g : array
            The right-hand sides of its inequalities.
        """
        P = _form_of(form)
        if self._split is None or self._split[0] is not form.A:
            zero = form.cones.zero
            self._split = (form.A, sp.csc_array(form.A[:zero]), sp.csc_array(form.A[zero:]))
        _, A, F = self._split
        F, g = _bounded(F, form)
        if self._arrow is None or not self._arrow.fits(P, A, F):
            begin = time.perf_counter()
            self._arrow = Arrow(P, A, F)
            self.pays = self._arrow.size >= PAYS
            self.compile_time += time.perf_counter() - begin
        return self._arrow, g

    def minimise(self, tolerance: float, time_limit: float | None = None) -> None:
        """Solve at the current Parameter values, as :meth:`CompiledProblem.minimise` does.

        Raises
        ------
        SubproblemError
            Always with status ``"failed"``: this solver does not distinguish an infeasible or
            unbounded problem from one that is too hard.
        """
        self._evidence = None
        if self.refusal is not None or self.general is None:
            raise SubproblemError("failed", f"ARROW: {self.refusal}")
        form, inverse = self._current()
        x = minimise_in_units(self._scaler, form, tolerance, time_limit, self._solve)
        self.general.save(x, inverse)

    def _solve(self, form: StandardForm, tolerance: float, time_limit: float | None) -> Array:
        begin = time.perf_counter()
        try:
            with failures("ARROW"):
                scaled, scaling = self._scaler.scale(form)
                arrow, g = self._take_apart(scaled)
                zero = form.cones.zero
                program = arrow.program(_form_of(scaled), scaled.q, scaled.b[:zero], g)
                optimum = primal_dual(program, tolerance, time_limit)
                z = arrow.recover(optimum.t, optimum.x)
                inequalities = optimum.multipliers[: len(form.b) - zero]
                dual = arrow.multipliers(z, scaled.q, optimum.multipliers)
                dual = scaling.dual(np.concatenate([dual, inequalities]))
        finally:
            self.solve_time += time.perf_counter() - begin
        self._evidence = Evidence(scaling.primal(z), dual, scaling.columns)
        return scaling.primal(z)

    def bound(self) -> float:
        """A lower bound of the optimal value, as :meth:`CompiledProblem.bound` gives."""
        if self._evidence is None or self.general is None:
            return -np.inf
        return self._evidence.bound(self.general.form())


def _bounded(F: sp.csc_array, form: StandardForm) -> tuple[sp.csc_array, Array]:
    """The inequalities F and g of a form, with the bounds on the unknowns as further rows."""
    g = form.b[form.cones.zero :]
    for bound, sign in ((form.upper, 1.0), (form.lower, -1.0)):
        if bound is not None:
            finite = np.flatnonzero(np.isfinite(bound))
            rows = sp.csr_array(sign * sp.eye_array(len(bound), format="csr")[finite])
            F = sp.csc_array(sp.vstack([F, rows], format="csc"))
            g = np.concatenate([g, sign * bound[finite]])
    return F, g


def _form_of(form: StandardForm) -> sp.csc_array:
    """The matrix P of the quadratic form; zero if the form has none."""
    return sp.csc_array((len(form.q),) * 2) if form.P is None else form.P
