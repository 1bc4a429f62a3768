"""Starts one after another; what was compiled serves the next solve."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog.problem.surrogate import ProblemSurrogate
from dcprog.solvers.conic.compiled import CompiledProblem
from dcprog.solving.race import run_all
from dcprog.solving.task import Task, task_of

RNG = np.random.default_rng(0)
Y = RNG.choice([-1.0, 1.0], 60)
X = RNG.normal(size=(60, 3)) + Y[:, None]
X[:6] *= -8


def ramp() -> tuple[cp.Problem, cp.Variable]:
    w, b = cp.Variable(3), cp.Variable()
    hinge = cp.pos(1 - cp.multiply(Y, X @ w + b))
    return cp.Problem(cp.Minimize(cp.sum(cp.minimum(hinge, 1)) + 0.05 * cp.sum_squares(w))), w


def seeds(count: int) -> list[np.random.SeedSequence]:
    return np.random.SeedSequence(0).spawn(count)


# ----------------------------------------------------------------------------------------------
# starts


@pytest.mark.parametrize("error", [MemoryError, ValueError, np.linalg.LinAlgError])
def test_what_a_later_start_raises_is_its_own_affair(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, _ = ramp()
    task = task_of(problem)
    real = Task.__call__

    def call(self: Task, kind: Any, *rest: Any) -> Any:
        if kind == "half":
            raise error("out of luck")
        return real(self, kind, *rest)

    monkeypatch.setattr(Task, "__call__", call)
    jobs = list(zip(["convex", "half", "random"], seeds(3), strict=True))
    first, second, third = run_all(task, jobs, None)
    assert first.status == third.status == "converged"
    assert second.status == "solver_failed"
    assert f"{error.__name__}: out of luck" in second.message
    with pytest.raises(error):
        run_all(task, [("half", seeds(1)[0])], None)


@pytest.mark.parametrize("n", [2, 4, 8])
def test_later_starts_outside_a_domain(n: int) -> None:
    y = cp.Variable()
    goal = cp.minimum(-cp.log(y), 3) + cp.square(y - 3)
    first = dc.solve(cp.Problem(cp.Minimize(goal)))
    result = dc.solve(cp.Problem(cp.Minimize(goal)), n_starts=n)
    assert result.status == first.status == "converged"
    assert result.value <= first.value
    assert len(result.starts) == n


@pytest.mark.parametrize("solver", ["auto", "cvxpy"])
def test_an_earlier_start_leaves_no_trace(solver: str) -> None:
    problem, _ = ramp()
    task = task_of(problem, solver)
    jobs = list(zip(["convex", "half", "random"], seeds(3), strict=True))
    together = [run.value for run in run_all(task, jobs, None)]
    backwards = [run.value for run in run_all(task, jobs[::-1], None)]
    assert together == backwards[::-1]


# ----------------------------------------------------------------------------------------------
# what is compiled


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The solvers for which something was compiled."""
    names: list[str] = []
    real = CompiledProblem.__init__

    def compiled(self: CompiledProblem, problem: cp.Problem, solver: str, *rest: Any) -> None:
        names.append(solver)
        real(self, problem, solver, *rest)

    monkeypatch.setattr(CompiledProblem, "__init__", compiled)
    return names


def packing(n: int = 4) -> tuple[cp.Problem, cp.Parameter, cp.Variable]:
    x, r = cp.Variable((n, 2)), cp.Parameter(nonneg=True, value=1.0)
    apart = [cp.norm(x[i] - x[j]) >= r for i in range(n) for j in range(i)]
    return cp.Problem(cp.Minimize(cp.max(cp.abs(x))), apart), r, x


def test_a_moved_parameter_compiles_nothing(made: list[str]) -> None:
    problem, r, x = packing()
    start = {x: np.random.default_rng(0).standard_normal((4, 2)) * 5}
    first = dc.solve(problem, start=start)
    compiled = len(made)
    assert compiled > 0
    values = []
    for r.value in (1.0, 1.5, 2.0):
        values.append(dc.solve(problem, start=start).value)
    assert len(made) == compiled
    assert values[0] == first.value
    np.testing.assert_allclose(values, values[0] * np.array([1, 1.5, 2]), rtol=1e-4)


def test_a_kept_problem_remembers_nothing_of_its_past() -> None:
    problem, r, _ = packing(3)
    options: dict[str, Any] = {"start": "random", "random_state": 0}
    values = [dc.solve(problem, **options).value for r.value in (1.0, 7.0, 1.0)]
    assert values[0] == values[2]
    fresh, _, _ = packing(3)
    assert dc.solve(fresh, **options).value == values[0]


def test_another_solver_is_another_problem(made: list[str]) -> None:
    problem, _ = ramp()
    options: dict[str, Any] = {"start": "convex", "n_starts": 1}
    one = dc.solve(problem, solver="cvxpy", **options)
    other = dc.solve(problem, solver="CLARABEL", **options)
    assert other.solver == "CLARABEL"
    assert other.value == pytest.approx(one.value, rel=1e-5)
    compiled = len(made)
    assert dc.solve(problem, solver="cvxpy", **options).solver == one.solver
    assert dc.solve(problem, solver="CLARABEL", **options).value == other.value
    assert len(made) == compiled


def test_what_was_compiled_goes_with_the_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    surrogates: list[weakref.ref[ProblemSurrogate]] = []
    real = ProblemSurrogate.__init__

    def watched(self: ProblemSurrogate, *args: Any, **options: Any) -> None:
        real(self, *args, **options)
        surrogates.append(weakref.ref(self))

    monkeypatch.setattr(ProblemSurrogate, "__init__", watched)
    problem, _ = ramp()
    result = dc.solve(problem, solver="cvxpy", n_starts=2)
    assert result.status == "converged"
    gc.collect()
    assert surrogates[0]() is not None
    alive = weakref.ref(problem)
    del problem, result  # a result holds its problem, to be asked about the point
    gc.collect()
    assert alive() is None
    assert surrogates[0]() is None


@pytest.mark.parametrize("solver", ["auto", "cvxpy"])
def test_threads_share_no_surrogate(solver: str) -> None:
    def value(_: int = 0) -> float:
        return dc.solve(ramp()[0], solver=solver, n_starts=1).value

    expected = value()
    with ThreadPoolExecutor(4) as pool:
        apart = list(pool.map(value, range(4)))
    assert apart == [expected] * 4


def test_bad_data_is_seen_in_a_kept_problem_too() -> None:
    problem, r, _ = packing(2)
    dc.solve(problem, n_starts=1)
    r.save_value(np.nan)
    with pytest.raises(ValueError, match="NaN"):
        dc.solve(problem)
