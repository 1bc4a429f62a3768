"""The forms in which a problem is solved: a risk, a risk that a cvxpy problem is, or as written.

A form makes the surrogate, reads the user's starts as points of it, and tells points in the
user's variables. It is the last link of the chain of reductions (:mod:`dcprog.reductions.chain`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from typing import Any, Generic, Protocol, TypeVar
from weakref import WeakKeyDictionary

import cvxpy as cp
import numpy as np

from dcprog.engine.certificate import Examination
from dcprog.engine.descent import descend
from dcprog.engine.protocol import Surrogate, centre
from dcprog.engine.track import Run, Settings
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError, UnfitSolver, UnfitStart
from dcprog.majorants.user_problem import check_data
from dcprog.problem.surrogate import ProblemSurrogate
from dcprog.reductions.chain import AUTOMATIC, recognised_risk
from dcprog.reductions.recentred import Recentred, recentred
from dcprog.reductions.recognised.recognise import Recognised
from dcprog.risk.risk import Risk
from dcprog.risk_mm.surrogate import RiskSurrogate
from dcprog.solving.cvxpy_fields import multipliers, negative_bases
from dcprog.solving.given_starts import current, given, numbers
from dcprog.solving.outcome import Outcome
from dcprog.solving.polish import MOST_EXAMINED, examined, polished, verified
from dcprog.solving.rescue import checked, restored

__all__ = ["Form", "ProblemExaminer", "RecognisedSurrogate", "Spec", "form_of"]


class RecognisedSurrogate(RiskSurrogate):
    """Majorant of a risk that is, up to a constant and the sign, a problem's objective.

    F is the risk; the objective that the user is told adds the constant and the sign.

    Parameters
    ----------
    found : Recognised

    Attributes
    ----------
    points : Points
        Of the problem's variables.
    """

    def __init__(self, found: Recognised) -> None:
        super().__init__(found.risk)
        self.points = found.points
        self.facts = replace(self.facts, sign=found.sign, constant=found.constant)

    def objective(self, x: Array) -> float:
        """The user's objective, in the user's sign; the variables hold the point, for callbacks."""
        self.points.load(x)
        return self.facts.sign * (super().objective(x) + self.facts.constant)


# ----------------------------------------------------------------------------------------------


Pairs = list[tuple[cp.Variable, Array]]
Options = Mapping[str, Any] | None
Left = Callable[[], float | None]

GENERIC = "cvxpy"  # the name of the path through cvxpy, whichever of its solvers
# Of a start of which some variables are given, the others are solved for to that tolerance.
TOLERANCE = 1e-8
# The price of violations, over the usual: a start should meet what its given part allows it to.
FIRM = 1e3
# Steps from a saddle along its negative curvature, in units of the coordinates.
SADDLE_STEPS = 0.1, 0.1


class Spec(Protocol):
    """A declaration that makes its own surrogate, such as :class:`dcprog.Risk`."""

    rows: Any

    def surrogate(self, solver: str | None = None) -> Surrogate:
        """A fresh surrogate."""


S = TypeVar("S", bound=Surrogate)


class Form(Generic[S]):
    """A problem in the form in which it is solved; here with the answers of a risk.

    Parameters
    ----------
    problem : Spec or cvxpy.Problem
    """

    def __init__(self, problem: Any) -> None:
        self.problem = problem

    def surrogate(self) -> S:
        """A surrogate that remembers nothing of other starts, so that their order is no matter.

        Raises
        ------
        ValueError
            The problem cannot be majorised.
        """
        raise NotImplementedError

    def point(self, surrogate: S, start: Any, time_limit: float | None) -> Array:
        """A start that the user gives, as a point of the surrogate.

        Raises
        ------
        ValueError
            Its shape is wrong, or it is not made of numbers.
        """
        if isinstance(start, str | Mapping):
            raise ValueError("a Risk has no variables: start it from an array, θ, or from a Result")
        some = surrogate.starts("random", np.random.default_rng(0))
        return numbers(start, some.shape, "the start")

    def values(self, x: Array) -> Pairs:
        """The values of the user's variables at a point."""
        return []

    def adapted(self, surrogate: S) -> Risk | None:
        """The risk under the cap that the run has set; None if nothing adapts."""
        return surrogate.adapted if isinstance(surrogate, RiskSurrogate) else None

    def afresh(self, spec: Risk | None) -> Form[S]:
        """The form with the caps that a run has set and empty caches."""
        return self

    def around(self, surrogate: S, kind: Any, start: Array) -> Recentred | None:
        """The problem recentred at a start that is far from 0; None if there is no need."""
        return None

    def improved(
        self,
        surrogate: S,
        run: Run,
        rng: np.random.Generator,
        settings: Settings,
        left: Left,
        given: bool,
    ) -> Run:
        """The run, or one from θ = 0 if a risk is lower there and the user gave no point.

        A cap that adapts would be another one from there.
        """
        known = "zero" in surrogate.starts.kinds and self.adapted(surrogate) is None
        if run.x is None or given or not (known and settings.escape) or left() == 0:
            return run
        if run.status in ("interrupted", "time_limit"):
            return run
        zero = surrogate.starts("zero", rng)
        if not surrogate.value(zero) < surrogate.value(run.x) - settings.tol * run.scale:
            return run
        other = descend(surrogate, zero, replace(settings, time_limit=left()))
        lower = surrogate.facts.sign * (other.value - run.value) < 0
        return checked(surrogate, other) if lower else run

    def polished(self, outcome: Outcome) -> Outcome:
        """The outcome after Newton's method on the active pieces."""
        return outcome

    def warning(self, x: Array | None) -> str | None:
        """A message about a point that the user may not have meant."""
        return None

    def multipliers(self, x: Array, time_limit: float | None) -> dict[int, Any]:
        """Multipliers of the constraints at a point that meets them, by the constraints' ids."""
        return {}

    @property
    def compile_time(self) -> float:
        """Seconds spent compiling."""
        return 0.0

    def compile(self) -> None:
        """Compile what can be compiled before the first step."""

    def keep(self) -> None:
        """Keep what is compiled for the next solve."""


class SpecForm(Form[Surrogate]):
    """A risk, or another declaration that makes its own surrogate.

    Parameters
    ----------
    problem : Spec
    solver : str, optional
    """

    def __init__(self, problem: Spec, solver: str | None) -> None:
        super().__init__(problem)
        self._solver = solver

    def surrogate(self) -> Surrogate:
        """The surrogate that the declaration makes."""
        made: Surrogate = self.problem.surrogate(self._solver)
        return made

    def afresh(self, spec: Risk | None) -> Form[Surrogate]:
        """The risk on new rows, with empty caches."""
        problem = self.problem if spec is None else spec
        return SpecForm(_on_new_rows(problem), self._solver) if isinstance(problem, Risk) else self


class RecognisedForm(Form[RecognisedSurrogate]):
    """The risk that a cvxpy problem is.

    Parameters
    ----------
    problem : cvxpy.Problem
    found : Recognised
    """

    def __init__(self, problem: cp.Problem, found: Recognised) -> None:
        super().__init__(problem)
        self._found = found

    def surrogate(self) -> RecognisedSurrogate:
        """A surrogate of the risk."""
        return RecognisedSurrogate(self._found)

    def point(self, surrogate: RecognisedSurrogate, start: Any, time_limit: float | None) -> Array:
        """The given values of variables; the others are those of the convex start."""
        points = self._found.points
        known = _known(points.variables, start)
        if known is None:
            return numbers(start, (points.size,), "the start")
        if len(known) < len(points.variables):
            convex = surrogate.starts("convex", np.random.default_rng(0), time_limit)
            known = dict((v.id, array) for v, array in points.unpack(convex)) | known
        return points.pack(known)

    def values(self, x: Array) -> Pairs:
        """The values of the user's variables at a point."""
        return [(variable, array.copy()) for variable, array in self._found.points.unpack(x)]

    def afresh(self, spec: Risk | None) -> RecognisedForm:
        """The risk on new rows, with empty caches."""
        risk = _on_new_rows(self._found.risk)
        return RecognisedForm(self.problem, replace(self._found, risk=risk))


def _on_new_rows(risk: Risk) -> Risk:
    risk = copy(risk)
    risk.rows = copy(risk.rows)
    return risk


def _known(variables: list[cp.Variable], start: Any) -> dict[int, Array] | None:
    """The values of variables that a mapping gives or the variables hold; None of an array."""
    if isinstance(start, Mapping):
        return given(variables, start)
    return current(variables) if isinstance(start, str) else None


# ----------------------------------------------------------------------------------------------

_KEPT: WeakKeyDictionary[cp.Problem, dict[tuple[str | None, str], ProblemSurrogate]]
_KEPT = WeakKeyDictionary()


class ProblemForm(Form[ProblemSurrogate]):
    """A cvxpy problem as it is written, in real variables.

    One surrogate, compiled once, serves all starts. Between solves it is kept with the problem, by
    the solver and its options; it is taken out while it is used, so that two threads never share
    one.

    Parameters
    ----------
    problem : cvxpy.Problem
    solver : str, optional
        A solver of cvxpy's.
    options : mapping, optional
        Of that solver.
    is_recentred : bool, default False
        The problem's variables count from a start already.
    """

    def __init__(
        self,
        problem: cp.Problem,
        solver: str | None = None,
        options: Options = None,
        *,
        is_recentred: bool = False,
    ) -> None:
        super().__init__(problem)
        self._solver, self._options = solver, options
        self._is_recentred = is_recentred
        self._made: ProblemSurrogate | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_made": None}

    def surrogate(self) -> ProblemSurrogate:
        """The compiled surrogate, restarted."""
        made = self._made = self._made or self._kept()
        if made is None:
            made = ProblemSurrogate(self.problem, self._solver, options=self._options)
            self._made = made
        made.restart()
        return made

    @property
    def _key(self) -> tuple[str | None, str]:
        return self._solver, repr(self._options)

    def _kept(self) -> ProblemSurrogate | None:
        """The surrogate of the last solve, with the Parameters' present values."""
        named = self._solver is None or isinstance(self._solver, str)
        before = _KEPT.get(self.problem, {}).pop(self._key, None) if named else None
        if before is None:
            return None
        check_data(self.problem)
        return before if before.renew() else None

    def keep(self) -> None:
        """Keep the surrogate for the next solve."""
        if self._made is not None:
            _KEPT.setdefault(self.problem, {})[self._key] = self._made
            self._made = None

    @property
    def compile_time(self) -> float:
        """Seconds spent compiling."""
        return 0.0 if self._made is None else self._made.compile_time

    def compile(self) -> None:
        """Compile the problems that runs solve."""
        self.surrogate().compile()

    def values(self, x: Array) -> Pairs:
        """The values of the user's variables at a point."""
        pairs = (self._made or self.surrogate()).points.unpack(x)
        return [(variable, array.copy()) for variable, array in pairs]

    def point(self, surrogate: ProblemSurrogate, start: Any, time_limit: float | None) -> Array:
        """The given values of variables and the best that go with them, where F has slopes.

        An epigraph variable follows from what it bounds: variables that are not given come from
        the convex start, and then from the majorant centred there, minimised with the given ones
        fixed.

        Raises
        ------
        SubproblemError
            The convex constraints contradict one another.
        """
        points = surrogate.points
        known = _known(points.variables, start)
        if known is None:
            x = numbers(start, (points.size,), "the start")
        elif len(known) == len(points.variables):
            x = points.pack(known)
        else:
            convex = surrogate.starts("convex", np.random.default_rng(0), time_limit)
            whole = {v.id: known.get(v.id, array) for v, array in points.unpack(convex)}
            x = _fitted(surrogate, points.pack(whole), known)
        return surrogate.starts.inside_domain(x)

    def around(self, surrogate: ProblemSurrogate, kind: Any, start: Array) -> Recentred | None:
        """The problem recentred at the convex start, or at a start that is given."""
        if surrogate.facts.is_convex or self._is_recentred:
            return None
        own = isinstance(kind, str) and kind != "current"
        centre = surrogate.starts.middle if own else start
        if centre is None:
            return None
        return recentred(self.problem, surrogate, centre, refine=own)

    def recentred(self, around: Recentred) -> ProblemForm:
        """The form of the recentred problem, by the same solver."""
        return ProblemForm(around.problem, self._solver, self._options, is_recentred=True)

    def improved(
        self,
        surrogate: ProblemSurrogate,
        run: Run,
        rng: np.random.Generator,
        settings: Settings,
        left: Left,
        given: bool,
    ) -> Run:
        """The run, or one from a restored point, judged by second-order conditions.

        These tell whether the point of a run whose solvers failed is a local minimum, and whether
        a run under nonconvex equations has ended at a saddle, which it then leaves.
        """
        for size in (*SADDLE_STEPS, 0.0):
            run = restored(surrogate, run, rng, settings, left)
            stuck = run.status == "solver_failed"
            curved = run.status == "converged" and surrogate.majorised.has_equalities
            if run.x is None or not (stuck or curved) or left() == 0:
                return run
            if not surrogate.domain.is_feasible(run.x):
                return run
            verdict = examined(surrogate, run.x, MOST_EXAMINED[stuck])
            if verdict.downhill is None or size == 0 or not settings.escape:
                if verdict.x is None or not stuck:
                    return run
                return verified(surrogate, run, verdict.x)
            lower = _beyond(surrogate, run, size * verdict.downhill, settings, left)
            if lower is None:
                return run
            run = lower
        return run

    def polished(self, outcome: Outcome) -> Outcome:
        """The outcome after Newton's method on the active pieces."""
        return polished(self.surrogate(), outcome)

    def warning(self, x: Array | None) -> str | None:
        """A message about powers whose base is negative at the point."""
        return negative_bases(self.problem, self.surrogate(), x)

    def multipliers(self, x: Array, time_limit: float | None) -> dict[int, Any]:
        """Multipliers of the majorised problem at the point."""
        surrogate = self.surrogate()
        if not surrogate.majorised.problem.constraints or time_limit == 0:
            return {}
        with np.errstate(all="ignore"):
            return multipliers(surrogate, x, time_limit)


def _beyond(
    surrogate: ProblemSurrogate, run: Run, step: Array, settings: Settings, left: Left
) -> Run | None:
    """A run from beside a saddle, on the side where it ends lower; None if neither does."""
    assert run.x is not None
    best = None
    for start in (run.x + step, run.x - step):
        try:
            other = descend(surrogate, start, replace(settings, time_limit=left()))
        except UnfitStart:
            continue
        other = checked(surrogate, other)
        lower = surrogate.facts.sign * (other.value - run.value) < -settings.tol * run.scale
        if lower and other.x is not None and surrogate.domain.is_feasible(other.x):
            best, run = other, other
    return best


def _fitted(surrogate: ProblemSurrogate, x: Array, known: Mapping[int, Array]) -> Array:
    """The variables that are not given, moved to where the majorant at x is least."""
    problem = surrogate.majorised
    surrogate.paying, surrogate.firmness = True, FIRM
    try:
        surrogate.begin(x)
        surrogate.tighten(x)
        mode = problem.modes.fix(problem.mode, known)
        for solver in problem.solvers(mode):
            try:
                found = problem.minimise(mode, TOLERANCE, solver)
            except SubproblemError as error:
                problem.note(solver, TOLERANCE, f"completing a start: {error}")
                continue
            exact = {v.id: known.get(v.id, array) for v, array in surrogate.points.unpack(found)}
            return surrogate.points.pack(exact)
    except (ValueError, ArithmeticError):  # outside the domain
        pass
    finally:
        attempts = surrogate.record.take_attempts()
        surrogate.restart()
        problem.attempts.extend(attempts)
    return x


# ----------------------------------------------------------------------------------------------


def form_of(problem: Any, solver: str | None, options: Options = None) -> Form[Any]:
    """The form in which a problem in real variables is solved.

    Parameters
    ----------
    problem : cvxpy.Problem or Spec
    solver : str, optional
        ``None`` or ``"auto"`` recognises risks.
    options : mapping, optional
        Of a solver of cvxpy's that is named.

    Raises
    ------
    TypeError
        `problem` is not a problem.
    ValueError
        The options are none, or no solver of cvxpy's is named for them.
    """
    is_written = isinstance(problem, cp.Problem)
    named = None if solver in (*AUTOMATIC, GENERIC) else solver
    _check_options(options, is_written and isinstance(named, str) and named.upper() != "ARROW")
    if is_written:
        found = recognised_risk(problem, solver)
        if found is not None:
            return RecognisedForm(problem, found)
        return ProblemForm(problem, named, options)
    if not (hasattr(problem, "surrogate") and hasattr(problem, "rows")):
        raise TypeError(
            f"a {type(problem).__name__} is not a problem: pass a cvxpy Problem, such as "
            "cp.Problem(cp.Minimize(expression), constraints), or a dcprog Risk"
        )
    return SpecForm(problem, solver)


def _check_options(options: Any, are_taken: bool) -> None:
    if options is not None and not isinstance(options, Mapping):
        raise ValueError(f"solver_options={options!r}: a mapping from names to values is needed")
    if options and not are_taken:
        raise ValueError(
            "solver_options are one solver's: name one of cvxpy's, such as solver='CLARABEL'"
        )


# ----------------------------------------------------------------------------------------------

ACCURACY = 1e-9


class ProblemExaminer:
    """The numbers that certificates of a problem need.

    Parameters
    ----------
    problem : Risk, cvxpy.Problem or spec
        As the user passed it.
    ended : Risk, optional
        What the run ended with where it adapts: a cap that was set by the losses.
    solver : str, optional
        That the run was asked to take.
    """

    def __init__(self, problem: Any, ended: Any = None, solver: str | None = None) -> None:
        self.problem = problem
        self._ended = problem if ended is None else ended
        self._solver = solver

    def __call__(self, x: Array, time_limit: float | None = None) -> Examination:
        """Gap, scale, violation and stationarity at x; variables keep their values."""
        if not isinstance(self.problem, cp.Problem):
            return self._examined(x, time_limit)
        before = [(v, v.value) for v in self.problem.variables()]
        try:
            return self._examined(x, time_limit)
        finally:
            for variable, value in before:
                variable.save_value(value)

    @np.errstate(all="ignore")
    def _examined(self, x: Array, time_limit: float | None) -> Examination:
        form = form_of(self._ended, self._solver)
        surrogate = form.surrogate()
        centre(surrogate, x)
        violation, scale = surrogate.domain.relative_violation(x), surrogate.scale(x)
        gap, seen = _gap(surrogate, x, time_limit), surrogate.nearby.stationarity(x, time_limit)
        form.keep()
        return Examination(gap, scale, violation, seen)


def _gap(surrogate: Surrogate, x: Array, time_limit: float | None) -> float:
    """M(x; x) − min M(·; x); NaN where no solver tells, or a price counts that only a run finds."""
    if surrogate.domain.mode == "penalty":
        return np.nan
    for solver in surrogate.solvers:
        try:
            best = surrogate.minimise(x, ACCURACY, solver, time_limit)
        except (SubproblemError, UnfitSolver):
            continue
        return max(0.0, surrogate.value(x) - surrogate.majorant_value(best))
    return np.nan
