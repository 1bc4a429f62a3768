"""Complex variables: the problem in their real and imaginary parts, by cvxpy's reduction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import cvxpy as cp
import numpy as np
from cvxpy import settings as s
from cvxpy.reductions.complex2real.complex2real import Complex2Real, accepts
from cvxpy.reductions.solution import Solution

from dcprog.engine.result import Result, VariableValues
from dcprog.engine.track import Progress

Callback = Callable[[Progress], object]

# Kept for the next solve of a problem, as its compiled form is.
_FORMS: WeakKeyDictionary[cp.Problem, RealForm] = WeakKeyDictionary()


class RealForm:
    """A problem with complex variables or data, in real ones.

    Parameters
    ----------
    problem : cvxpy.Problem

    Attributes
    ----------
    problem : cvxpy.Problem
        The same in real and imaginary parts. Real variables are the user's own.

    Examples
    --------
    >>> import cvxpy as cp, numpy as np, dcprog as dc
    >>> z = cp.Variable(2, complex=True)
    >>> a = np.array([1.0, 1j])
    >>> power = cp.square(cp.abs(a @ z))
    >>> result = dc.solve(cp.Problem(cp.Maximize(power), [cp.norm(z) <= 1]))
    >>> round(result.value, 4), bool(np.iscomplexobj(z.value))
    (2.0, True)
    """

    said = "complex numbers: solved in real and imaginary parts"

    def __init__(self, problem: cp.Problem) -> None:
        self._variables = problem.variables()
        self._reduction = Complex2Real()
        self.problem, self._inverse = self._reduction.apply(problem)
        self.refresh(problem)

    def refresh(self, problem: cp.Problem) -> None:
        """Take the present values of complex Parameters."""
        self._reduction.update_parameters(problem)

    def start(self, start: Any) -> Any:
        """A start in real variables; a start that is no point in variables stays as it is."""
        if isinstance(start, list | tuple):
            return type(start)(self.start(one) for one in start)
        if isinstance(start, Result) and start.variables:
            return self._parts(start.variables)
        if isinstance(start, Mapping):
            return self._parts(start)
        if isinstance(start, str) and start == "current":
            known = {v: v.value for v in self._variables if v.value is not None}
            return self._parts(known) if known else start
        return start

    def callback(self, told: Callback | None) -> Callback | None:
        """The user's callback, which is told of real and imaginary parts."""
        return told

    def back(self, result: Result, duals: Mapping[int, Any]) -> tuple[Result, dict[int, Any]]:
        """The result and the multipliers, in the user's variables and constraints."""
        primal = {v.id: array for v, array in result.variables.items()}
        if not primal:
            return result, {}
        try:
            multipliers = dict(self._inverted(primal, dict(duals)).dual_vars)
        except Exception:  # cvxpy has none for some cones of complex numbers
            multipliers = {}
        return replace(result, variables=self.values(result.variables)), multipliers

    def values(self, variables: Mapping[cp.Variable, Any]) -> VariableValues:
        """Values of the user's variables, from values of the real ones."""
        solution = self._inverted({v.id: array for v, array in variables.items()}, {})
        return VariableValues(
            [(v, np.asarray(solution.primal_vars[v.id])) for v in self._variables]
        )

    def _inverted(self, primal: dict[int, Any], duals: dict[int, Any]) -> Solution:
        return self._reduction.invert(Solution(s.OPTIMAL, 0.0, primal, duals, {}), self._inverse)

    def _parts(self, start: Mapping[cp.Variable, Any]) -> dict[cp.Variable, Any]:
        """Real and imaginary parts of the values of complex variables."""
        parts: dict[cp.Variable, Any] = {}
        split = self._reduction.canon_methods._variables
        for variable, value in start.items():
            real, imaginary = split.get(variable, (variable, None))
            array = np.asarray(value)
            if real is not None:
                parts[real] = value if real is variable else np.real(array)
            if imaginary is not None:
                hermitian = variable.is_hermitian()
                upper = np.triu_indices(variable.shape[0], k=1) if hermitian else ()
                parts[imaginary] = np.imag(array)[upper]
        return parts


def real_form(problem: cp.Problem) -> RealForm | None:
    """The real form of a cvxpy problem with complex numbers in it; None of any other."""
    if not accepts(problem):
        return None
    if problem not in _FORMS:
        _FORMS[problem] = RealForm(problem)
    form = _FORMS[problem]
    form.refresh(problem)
    return form
