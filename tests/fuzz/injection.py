"""Faults in the solvers of both doors: raising, lying, stalling, NaN, sleeping."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import dcprog.risk_mm.surrogate as risk_door
from dcprog.foundation.errors import SubproblemError
from dcprog.solvers.conic.portfolio import Portfolio
from tests.fuzz.landscape import Array

__all__ = ["KINDS", "OFTEN", "RAISING", "STEPS", "Fault", "injected"]

RAISED: dict[str, Callable[[], Exception]] = {
    "LinAlgError": lambda: np.linalg.LinAlgError("injected"),
    "MemoryError": lambda: MemoryError("injected"),
    "IndexError": lambda: IndexError("injected"),
    "ValueError": lambda: ValueError("injected"),
    "FloatingPointError": lambda: FloatingPointError("injected"),
    "infeasible": lambda: SubproblemError("infeasible", "injected"),
    "unbounded": lambda: SubproblemError("unbounded", "injected"),
    "failed": lambda: SubproblemError("failed", "injected"),
}
RAISING = set(RAISED)
KINDS = [*RAISED, "nan", "inf", "huge", "start", "worse", "sleep"]
STEPS = [0, 1, 2]
OFTEN = ["once", "first solver", "always"]
NAP = 0.4
HUGE = 1e200
WORSE = 1e-2


@dataclasses.dataclass
class Fault:
    """What goes wrong, at which call, and whether it goes on doing so.

    "first solver" breaks the one that is called first for good, "always" all of them.
    """

    kind: str
    step: int
    often: str
    calls: int = 0
    fired: int = 0
    slept: float = 0.0
    first: str = ""

    def strikes(self, solver: str) -> bool:
        """Does the fault occur in this call? Counts it."""
        call, self.calls = self.calls, self.calls + 1
        self.first = self.first or solver
        now = call == self.step if self.often == "once" else call >= self.step
        now &= self.often != "first solver" or solver == self.first
        self.fired += now
        return now

    def before(self) -> None:
        """What happens in place of the solver's work, or ahead of it."""
        if self.kind in RAISED:
            raise RAISED[self.kind]()
        if self.kind == "sleep":
            time.sleep(NAP)
            self.slept += NAP

    def spoiled(self, solution: Array, start: Array) -> Array:
        """What the solver hands back instead."""
        match self.kind:
            case "nan":
                return np.full(solution.shape, np.nan)
            case "inf":
                return np.full(solution.shape, np.inf)
            case "huge":
                return np.full(solution.shape, HUGE)
            case "start":
                return start.copy()
            case "worse":
                drawn = np.random.default_rng(self.fired).standard_normal(solution.shape)
                return solution + WORSE * (np.abs(solution) + 0.1) * drawn
        return solution


@contextmanager
def injected(fault: Fault) -> Iterator[Fault]:
    """Break the solvers of risks and of cvxpy problems."""
    make, minimise = risk_door.make, Portfolio.minimise
    risk_door.make = _making(make, fault)
    Portfolio.minimise = _minimising(minimise, fault)  # type: ignore[method-assign]
    try:
        yield fault
    finally:
        risk_door.make = make
        Portfolio.minimise = minimise  # type: ignore[method-assign]


def _making(make: Any, fault: Fault) -> Any:
    def broken(name: str, risk: Any) -> Any:
        solver = make(name, risk)
        real = solver.minimise

        def minimise(problem: Any, start: Array, *args: Any, **options: Any) -> Any:
            strikes = fault.strikes(name)
            if strikes:
                fault.before()
            solution = real(problem, start, *args, **options)
            if not strikes:
                return solution
            coefficients = fault.spoiled(solution.coefficients, np.asarray(start))
            return dataclasses.replace(solution, coefficients=coefficients)

        solver.minimise = minimise
        return solver

    return broken


def _minimising(real: Any, fault: Fault) -> Any:
    def minimise(self: Portfolio, solver: str, *args: Any, **options: Any) -> Any:
        strikes = fault.strikes(solver)
        if not strikes:
            return real(self, solver, *args, **options)
        fault.before()
        variables = self.problem.variables()
        starts = [None if v.value is None else np.array(v.value) for v in variables]
        real(self, solver, *args, **options)
        for variable, start in zip(variables, starts, strict=True):
            found = np.asarray(variable.value, dtype=float)
            start = np.zeros(found.shape) if start is None else start
            variable.save_value(fault.spoiled(found, start))
        return None

    return minimise
