"""Geometric programs: convex problems in the logarithms of positive variables.

A posynomial Σ c_k Π x_j^a with c > 0 is log-log convex: log f(exp u) is convex in u. cvxpy knows
the calculus of such functions and writes the problem in u; here its solution comes back in x.

References
----------
Boyd, Kim, Vandenberghe, Hassibi (2007), A tutorial on geometric programming, Optimization and
Engineering 8. Agrawal, Diamond, Boyd (2019), Disciplined geometric programming, Optimization
Letters 13.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary, ref

import cvxpy as cp
import numpy as np
from cvxpy.reductions.dgp2dcp.dgp2dcp import Dgp2Dcp

from dcprog.engine.certificate import Examination, Examiner
from dcprog.engine.result import Result, VariableValues
from dcprog.engine.track import Progress
from dcprog.foundation.arrays import Array
from dcprog.majorants.affine import Box
from dcprog.majorants.tree import nodes, substituted
from dcprog.majorants.user_problem import Points, declared_kinds

Callback = Callable[[Progress], object]

# Kept for the next solve of a problem, as its compiled form is.
_FORMS: WeakKeyDictionary[cp.Problem, GeometricForm | None] = WeakKeyDictionary()


class GeometricForm:
    """A geometric program in the logarithms of its variables.

    Parameters
    ----------
    asked : cvxpy.Problem
    stated : cvxpy.Problem
        The same with variables that are declared to be positive; DGP by cvxpy's rules.
    twins : mapping of variable id to variable
        The positive variables that stand for the user's.

    Attributes
    ----------
    problem : cvxpy.Problem
        Convex, in the logarithms.

    Examples
    --------
    >>> import cvxpy as cp, dcprog as dc
    >>> x, y = cp.Variable(pos=True), cp.Variable(pos=True)
    >>> result = dc.solve(cp.Problem(cp.Minimize(x / y + y), [x * y >= 8]))
    >>> round(result.value, 4), round(float(x.value), 2), round(float(y.value), 2)
    (3.7798, 3.17, 2.52)
    """

    said = "geometric program: solved as a convex problem in the logarithms of its variables"

    def __init__(
        self, asked: cp.Problem, stated: cp.Problem, twins: Mapping[int, cp.Variable]
    ) -> None:
        self._reduction = Dgp2Dcp()
        self.problem, _ = self._reduction.apply(stated)
        self._stated = stated
        self._asked = ref(asked)  # the form is kept with the problem and must not keep it alive
        self._points = Points(asked.variables())
        self._objective, self._constraints = asked.objective, asked.constraints
        self._inner = Points(self.problem.variables())
        made = self._reduction.canon_methods._variables
        self._logs = {v.id: made.get(twins.get(v.id, v), v) for v in asked.variables()}

    def refresh(self) -> None:
        """Take the present values of the Parameters."""
        self._reduction.update_parameters(self._stated)

    # ------------------------------------------------------------------------------------------
    # there

    def start(self, start: Any) -> Any:
        """A start in logarithms; a start that is no point stays as it is.

        Raises
        ------
        ValueError
            An entry is not positive.
        """
        if isinstance(start, list | tuple) and any(np.ndim(one) or _is_point(one) for one in start):
            return type(start)(self.start(one) for one in start)
        if isinstance(start, Result):
            start = start.variables
        if isinstance(start, str) and start == "current":
            start = {v: v.value for v in self._points.variables if v.value is not None} or start
        if isinstance(start, Mapping):
            known = {getattr(v, "id", None): (v, array) for v, array in start.items()}
            return {
                self._logs.get(key, variable): _logarithm(array, variable)
                for key, (variable, array) in known.items()
            }
        if isinstance(start, str) or np.shape(start) != (self._points.size,):
            return start
        return self.start(dict(self._points.unpack(np.asarray(start, dtype=float))))

    def logarithms(self, x: Array) -> Array:
        """A flat point of the user's variables, as one of the convex problem."""
        return self._inner.pack(
            {self._logs[v.id].id: np.log(array) for v, array in self._points.unpack(x)}
        )

    def callback(self, told: Callback | None) -> Callback | None:
        """The user's callback, told of the user's variables."""
        if told is None:
            return None

        def tell(progress: Progress) -> object:
            x = self._flat(self._inner.unpack(progress.x))
            value = float(np.exp(progress.value))
            return told(replace(progress, x=x, value=value, gap=_scaled(progress.gap, value)))

        return tell

    # ------------------------------------------------------------------------------------------
    # back

    def back(self, result: Result, duals: Mapping[int, Any]) -> tuple[Result, Mapping[int, Any]]:
        """The result and the multipliers in the user's variables, objective and constraints."""
        history = result.history
        values = np.exp(history.value)
        history = replace(
            history,
            value=values,
            gap=_scaled(history.gap, values),
            rise=np.diff(values, prepend=values[:1]),
        )
        starts = tuple(
            replace(s, value=self._told(s.value), gap=_scaled(s.gap, self._told(s.value)))
            for s in result.starts
        )
        told = replace(
            result,
            history=history,
            starts=starts,
            optima=tuple(self._optimum(one) for one in result.optima),
            examiner=_Examiner(self, self._asked(), result.examiner),
        )
        if result.x is None:
            return replace(told, value=self._told(result.value)), {}
        x = self._flat(result.variables.items())
        self._points.load(x)
        unbounded = result.status == "unbounded"
        value = self._told(result.value) if unbounded else float(self._objective.value)
        told = replace(
            told,
            value=value,
            x=x,
            gap=float(_scaled(result.gap, value)),
            violation=max((_missed(c) for c in self._constraints), default=0.0),
            variables=VariableValues(self._points.unpack(x)),
            scale=value,
        )
        return told, self._multipliers(duals, value)

    def _told(self, logarithm: float) -> float:
        """A value of the user's objective; −∞ for a maximum of which there is no point."""
        maximises = isinstance(self._objective, cp.Maximize)
        return -np.inf if maximises and logarithm == -np.inf else float(np.exp(logarithm))

    def _optimum(self, one: Any) -> Any:
        x = self._flat(self._inner.unpack(one.x))
        return replace(one, value=float(np.exp(one.value)), x=x)

    def _flat(self, pairs: Iterable[tuple[cp.Variable, Array]]) -> Array:
        """The user's flat point, from the variables of the convex problem and their values."""
        arrays = {v.id: array for v, array in pairs}
        return self._points.pack(
            {v.id: np.exp(arrays[self._logs[v.id].id]) for v in self._points.variables}
        )

    def _multipliers(self, duals: Mapping[int, Any], value: float) -> dict[int, Any]:
        """Multipliers of the user's a ≤ b: the multiplier of log a ≤ log b, times f/b."""
        found = {}
        for constraint in self._constraints:
            if duals.get(constraint.id) is not None and len(constraint.args) == 2:
                side = np.asarray(constraint.args[1].value)
                found[constraint.id] = np.asarray(duals[constraint.id]) * value / side
        return found


class _Examiner:
    """Certificates of a geometric program, computed on its convex problem.

    Parameters
    ----------
    form : GeometricForm
    problem : cvxpy.Problem
        As the user passed it.
    inner : Examiner or None
        Of the convex problem.
    """

    def __init__(self, form: GeometricForm, problem: Any, inner: Examiner | None) -> None:
        self._form, self.problem, self._inner = form, problem, inner

    def __call__(self, x: Array, time_limit: float | None = None) -> Examination:
        """Gap, scale, violation and stationarity in the logarithms."""
        assert self._inner is not None
        return self._inner(self._form.logarithms(x), time_limit)


def geometric_form(problem: cp.Problem) -> GeometricForm | None:
    """The convex form of a geometric program; None of any other problem, and of convex ones.

    Variables count as positive if they are declared so, or if bounds or constraints of one entry
    keep them above a positive number.
    """
    if problem not in _FORMS:
        _FORMS[problem] = _made(problem)
    form = _FORMS[problem]
    if form is not None:
        form.refresh()
    return form


def _made(problem: cp.Problem) -> GeometricForm | None:
    box, twins = Box(problem.constraints), dict[int, cp.Variable]()
    for variable in problem.variables():
        twin = _positive(variable, box)
        if twin is None:
            return None
        twins[variable.id] = twin
    if not twins or problem.is_dcp():
        return None
    stated = substituted(problem, twins)
    if not (stated.is_dgp() and _is_positive(stated)):
        return None
    return GeometricForm(problem, stated, twins)


def _is_positive(problem: cp.Problem) -> bool:
    """True if no expression falls below 0, where cvxpy's rules leave it out, as log x for x < 1."""
    roots = [problem.objective.args[0], *(arg for c in problem.constraints for arg in c.args)]
    return all(node.is_nonneg() for root in roots for node in nodes(root))


def _positive(variable: cp.Variable, box: Box) -> cp.Variable | None:
    """The variable if it is declared to be positive, a positive twin if it is kept so."""
    if not declared_kinds(variable) <= {"nonneg", "pos", "bounds"}:
        return None
    if variable.is_pos():
        return variable
    if not box.is_positive(variable):
        return None
    low, high = variable.get_bounds()
    least = np.reshape(box.least(variable), variable.shape, order="F")
    if np.any(least > high):
        return None  # no point meets the constraints, and cvxpy refuses such bounds
    return cp.Variable(variable.shape, pos=True, bounds=[np.maximum(low, least), high])


def _logarithm(array: Any, variable: Any) -> Array:
    values = np.asarray(array, dtype=float)
    if not np.all(values > 0):
        name = variable.name() if isinstance(variable, cp.Variable) else variable
        raise ValueError(
            f"the start of variable {name!r} has entries that are not positive, and the problem is "
            "a geometric program in positive variables"
        )
    return np.log(values)


def _is_point(start: Any) -> bool:
    return isinstance(start, Mapping | Result | str)


def _scaled(gap: Any, value: Any) -> Any:
    """A gap of log f as one of f: f·(exp(gap) − 1), not below 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        return value * np.expm1(np.maximum(gap, 0.0))


def _missed(constraint: cp.Constraint) -> float:
    return float(np.max(constraint.violation(), initial=0.0))
