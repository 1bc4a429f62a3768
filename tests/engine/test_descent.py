"""The outer loop, on a surrogate in plain NumPy whose solvers misbehave on demand."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcprog.engine.acceleration import LineSearch, Squarem
from dcprog.engine.descent import descend
from dcprog.engine.protocol import Domain, FixedFacts, Nearby, Record, Starts
from dcprog.engine.track import Progress, Run, Settings
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import OutOfTime, SubproblemError

RNG = np.random.default_rng(0)
A = RNG.normal(size=(30, 4))
B = A @ np.array([1.0, -2.0, 0.0, 3.0]) + 0.3 * RNG.normal(size=30)
B[:8] += 6.0
START = np.full(4, 5.0)

Fault = Callable[[Array], Array]


class RandomStarts:
    kinds = ("random",)

    def __call__(
        self, kind: str, rng: np.random.Generator, time_limit: float | None = None
    ) -> Array:
        return rng.normal(size=4)


class Reweighted:
    """F(x) = Σ log(1 + (aᵢx − bᵢ)²/δ), majorised by weighted least squares."""

    def __init__(
        self, *, solvers: tuple[str, ...] = ("first", "second"), delta: float = 1.0, **faults: Fault
    ) -> None:
        self.solvers = solvers
        self.facts = FixedFacts(verifiers=solvers)
        self.domain = Domain(self)
        self.nearby = Nearby(self)
        self.starts: Starts = RandomStarts()
        self.record = Record()
        self.settled = True
        self.delta = delta
        self.faults = faults
        self.calls: list[tuple[str, float]] = []
        self.weights = np.ones(len(B))
        self.offset = 0.0

    def begin(self, x: Array) -> None:
        pass

    def tighten(self, x: Array) -> bool:
        squares = (A @ x - B) ** 2
        weights = 1 / (self.delta + squares)
        same = np.array_equal(weights, self.weights)
        self.weights = weights
        self.offset = self.value(x) - float(weights @ squares)
        return not same

    def minimise(
        self, start: Array, tolerance: float, solver: str, time_limit: float | None = None
    ) -> Array:
        self.calls.append((solver, tolerance))
        root = np.sqrt(self.weights)
        x = np.linalg.lstsq(root[:, None] * A, root * B, rcond=None)[0]
        fault = self.faults.get(solver)
        return fault(x) if fault else x

    def value(self, x: Array) -> float:
        return float(np.sum(np.log1p((A @ x - B) ** 2 / self.delta)))

    def majorant_value(self, x: Array) -> float:
        return self.offset + float(self.weights @ (A @ x - B) ** 2)

    def bound(self) -> float:
        """From the normal equations, whatever ``minimise`` returned."""
        root = np.sqrt(self.weights)
        least = np.linalg.lstsq(root[:, None] * A, root * B, rcond=None)[0]
        return self.majorant_value(least) - 1e-9

    def scale(self, x: Array) -> float:
        return self.value(x)

    def units(self, x: Array) -> Array:
        return np.ones(4)

    def objective(self, x: Array) -> float:
        return self.value(x)


def fail(status: str, *, proved: bool = False) -> Fault:
    def fault(x: Array) -> Array:
        raise SubproblemError(status, "on demand", proved)

    return fault


def after(good: int, fault: Fault) -> Fault:
    """A solver that works `good` times."""
    left = [good]

    def faulty(x: Array) -> Array:
        left[0] -= 1
        return x if left[0] >= 0 else fault(x)

    return faulty


def where(run: Run) -> Array:
    assert run.x is not None
    return run.x


REFERENCE = descend(Reweighted(), START)


def same_end(run: Run) -> bool:
    return bool(np.isclose(run.value, REFERENCE.value, rtol=1e-6))


# ----------------------------------------------------------------------------------------------
# the theorem


def test_the_value_falls_at_every_step_and_the_gap_bounds_the_fall_from_below() -> None:
    history = REFERENCE.history
    assert REFERENCE.status == "converged"
    assert REFERENCE.n_iter >= 5
    falls = -np.diff(history.value)
    assert np.all(falls > 0)
    assert np.all(falls >= history.gap[:-1] - 1e-12)  # F(x) − F(x⁺) ≥ M(x) − M(x⁺)
    np.testing.assert_allclose(history.rise[1:], -falls, atol=1e-12)


def test_converged_means_a_critical_point() -> None:
    assert REFERENCE.gap <= 1e-6 * (1 + abs(REFERENCE.value))
    tight = descend(Reweighted(), START, Settings(tol=1e-13, max_iter=1000))
    smoothness = 2 * np.linalg.norm(A, 2) ** 2  # of every majorant
    for run in (REFERENCE, tight):
        residual = A @ where(run) - B
        gradient = A.T @ (2 * residual / (1 + residual**2))
        assert gradient @ gradient <= 2 * smoothness * run.gap + 1e-12
    assert tight.gap < 1e-11 < REFERENCE.gap


def test_the_history_tells_the_run() -> None:
    seen: list[Progress] = []
    run = descend(Reweighted(), START, Settings(callback=lambda p: seen.append(p)))
    history = run.history
    assert [p.n_iter for p in seen] == list(range(run.n_iter + 1))
    np.testing.assert_array_equal([p.value for p in seen], history.value)
    np.testing.assert_array_equal([p.gap for p in seen[1:]], history.gap[:-1])
    steps = [float(np.linalg.norm(b.x - a.x)) for a, b in pairwise(seen)]
    np.testing.assert_allclose(history.step, [0.0, *steps])
    assert np.all(np.diff(history.time) >= 0)
    assert run.value == history.value[-1] == Reweighted().objective(where(run))
    assert run.gap == history.gap[-1]


def test_a_run_goes_on_where_another_stopped() -> None:
    first = descend(Reweighted(), START, Settings(max_iter=4))
    second = descend(Reweighted(), where(first))
    joined = [*first.history.value, *second.history.value[1:]]
    np.testing.assert_allclose(joined, REFERENCE.history.value, rtol=1e-12)


# ----------------------------------------------------------------------------------------------
# stopping


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_max_iter_stops_with_the_gap_measured(steps: int) -> None:
    run = descend(Reweighted(), START, Settings(max_iter=steps))
    assert (run.status, run.n_iter) == ("max_iter", steps)
    assert np.all(np.isfinite(run.history.gap))
    assert run.gap == pytest.approx(REFERENCE.history.gap[steps], rel=1e-9)


def test_time_limit_keeps_the_point() -> None:
    run = descend(Reweighted(), START, Settings(time_limit=1e-9))
    assert (run.status, run.n_iter) == ("time_limit", 1)
    assert run.value == REFERENCE.history.value[1]


def test_time_runs_out_in_a_failing_solver() -> None:
    surrogate = Reweighted(first=fail("failed"), second=fail("failed"))
    run = descend(surrogate, START, Settings(time_limit=1e-9))
    assert (run.status, run.n_iter) == ("time_limit", 0)
    assert len(surrogate.calls) == 1


def test_a_true_answer_of_the_callback_stops() -> None:
    run = descend(Reweighted(), START, Settings(callback=lambda p: p.n_iter == 2))
    assert (run.status, run.n_iter) == ("interrupted", 2)
    assert run.value == REFERENCE.history.value[2]


def test_a_callback_may_spoil_its_own_copy_only() -> None:
    run = descend(Reweighted(), START, Settings(callback=lambda p: p.x.fill(np.nan)))
    assert run.value == REFERENCE.value


VERBS = ["tighten", "minimise", "value", "majorant_value", "objective", "violation"]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("call", [1, 2, 4, 7])
def test_ctrl_c_anywhere_keeps_a_point_and_its_value(verb: str, call: int) -> None:
    surrogate = Reweighted()
    owner = surrogate.domain if verb == "violation" else surrogate
    verbatim, count = getattr(owner, verb), [0]

    def interrupted(*args: object) -> object:
        count[0] += 1
        if count[0] == call:
            raise KeyboardInterrupt
        return verbatim(*args)

    setattr(owner, verb, interrupted)
    seen: list[Progress] = []
    try:
        run = descend(surrogate, START, Settings(callback=seen.append))
    except KeyboardInterrupt:
        assert not seen  # before there was a point to return
        return
    assert run.status == ("interrupted" if count[0] >= call else "converged")
    assert len(run.history) >= len(seen)
    assert run.value == run.history.value[-1] == Reweighted().objective(where(run))
    assert len({len(getattr(run.history, name)) for name in ("value", "gap", "step", "rise")}) == 1


# ----------------------------------------------------------------------------------------------
# what a surrogate knows beside its majorant


class Farther(Reweighted):
    """Goes on from a majorant's minimiser as it is told."""

    def __init__(self, onward: Callable[[Array], Array]) -> None:
        super().__init__()
        self.nearby.further = lambda x, seconds: onward(x)  # type: ignore[method-assign,assignment,misc]


def test_a_run_goes_on_from_a_minimiser_where_f_is_lower() -> None:
    run = descend(Farther(lambda x: where(REFERENCE)), START)
    assert run.status == "converged"
    assert run.n_iter < REFERENCE.n_iter
    assert same_end(run)


@pytest.mark.parametrize("wrong", [lambda x: x + 100, lambda x: x * np.nan], ids=["higher", "NaN"])
def test_a_point_that_is_not_lower_is_left_alone(wrong: Callable[[Array], Array]) -> None:
    run = descend(Farther(wrong), START)
    np.testing.assert_array_equal(run.history.value, REFERENCE.history.value)


def test_what_it_raises_is_recorded() -> None:
    run = descend(Farther(fail("failed")), START)
    np.testing.assert_array_equal(run.history.value, REFERENCE.history.value)
    assert "on demand" in run.history.attempts[0].outcome


# ----------------------------------------------------------------------------------------------
# solvers that fail


def test_a_failure_is_tried_tighter_then_elsewhere_and_recorded() -> None:
    surrogate = Reweighted(first=fail("failed"))
    run = descend(surrogate, START)
    assert run.status == "converged"
    np.testing.assert_array_equal(run.history.value, REFERENCE.history.value)
    attempts = run.history.attempts
    assert [(a.iteration, a.solver) for a in attempts] == [(0, "first"), (0, "first")]
    assert attempts[1].tolerance < attempts[0].tolerance
    assert "on demand" in attempts[0].outcome
    assert {solver for solver, _ in surrogate.calls[3:]} == {"second"}  # what worked goes first


def test_the_last_point_survives_when_every_solver_fails() -> None:
    surrogate = Reweighted(first=after(3, fail("failed")), second=fail("failed"))
    run = descend(surrogate, START)
    assert (run.status, run.n_iter) == ("solver_failed", 3)
    assert run.value == REFERENCE.history.value[3] == Reweighted().objective(where(run))
    assert "on demand" in run.message
    assert {a.iteration for a in run.history.attempts} == {3}


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: x + 50.0,
        lambda x: np.full_like(x, np.nan),
        lambda x: np.full_like(x, np.inf),
        lambda x: START + 1e-3,  # hardly worse than the start
    ],
)
def test_a_wrong_optimum_is_refused(wrong: Fault) -> None:
    run = descend(Reweighted(first=wrong), START)
    assert run.status == "converged"
    assert len(run.history.attempts) >= 2
    assert np.all(np.diff(run.history.value) <= 0)
    assert same_end(run)


def test_solvers_that_stall_alike_confirm_nothing_that_a_bound_denies() -> None:
    def stalled(x: Array) -> Array:
        return START + 1e-12

    run = descend(Reweighted(first=stalled, second=stalled), START, Settings(escape=False))
    assert run.status == "solver_failed"


def test_a_second_solver_that_gets_lower_is_followed() -> None:
    surrogate = Reweighted(first=lambda x: START + 1e-12)
    surrogate.bound = lambda: -np.inf  # type: ignore[method-assign]
    run = descend(surrogate, START, Settings(escape=False))
    assert run.status == "converged"
    assert same_end(run)


def test_no_solver_finds_anything_but_wrong_points() -> None:
    run = descend(Reweighted(first=lambda x: x + 50.0, second=lambda x: x - 50.0), START)
    assert run.status == "solver_failed"
    np.testing.assert_array_equal(run.x, START)
    assert len(run.history.attempts) == 5


def test_where_every_solver_stalls_a_looser_solution_is_checked_too() -> None:
    surrogate = Reweighted()
    minimise = surrogate.minimise

    def stalling(
        start: Array, tolerance: float, solver: str, time_limit: float | None = None
    ) -> Array:
        if tolerance < 1e-6:
            raise SubproblemError("failed", "stalled")
        return minimise(start, tolerance, solver, time_limit)

    surrogate.minimise = stalling  # type: ignore[method-assign]
    run = descend(surrogate, START)
    assert run.status == "converged"
    np.testing.assert_array_equal(run.history.value, REFERENCE.history.value)
    assert {a.outcome for a in run.history.attempts} == {"failed: stalled"}


def test_a_loose_solve_that_does_not_move_leaves_no_gap() -> None:
    surrogate = Reweighted(solvers=("first",))
    surrogate.facts = FixedFacts(loosest=1e-2)

    def slow(start: Array, tolerance: float, solver: str, time_limit: float | None = None) -> Array:
        if tolerance < 1e-3:
            raise OutOfTime("too slow")
        return start

    surrogate.minimise = slow  # type: ignore[method-assign]
    run = descend(surrogate, START)
    assert (run.status, run.gap) == ("time_limit", np.inf)


def test_a_step_that_raises_the_value_is_refused_whatever_the_majorant_says() -> None:
    surrogate = Reweighted(first=lambda x: x + 50.0)
    surrogate.majorant_value = lambda x: -1e3  # type: ignore[method-assign]
    run = descend(surrogate, START, Settings(max_iter=5))
    assert np.all(np.diff(run.history.value) <= 1e-12)
    assert {a.outcome[:28] for a in run.history.attempts} == {"failed: the objective rose b"}


def test_solvers_at_the_end_of_their_accuracy_are_a_convergence() -> None:
    end = descend(Reweighted(), START, Settings(tol=1e-12, max_iter=1000))
    noisy = Reweighted(first=lambda x: x + 4e-4, second=lambda x: x - 5e-4)
    run = descend(noisy, where(end))
    assert run.status == "converged"
    assert 0 < run.gap <= 1e-6 * (1 + abs(run.value))


def test_an_infeasible_subproblem_at_a_feasible_point_is_a_failure_of_the_solver() -> None:
    run = descend(Reweighted(first=fail("infeasible"), second=fail("infeasible")), START)
    assert run.status == "solver_failed"


def test_a_proof_of_unboundedness_that_the_function_denies_is_none() -> None:
    run = descend(Reweighted(first=fail("unbounded", proved=True), second=fail("failed")), START)
    assert run.status == "solver_failed"
    assert "unbounded" in run.message


@pytest.mark.parametrize("falls", [[], [0.5], [0.5, 0.1]])
def test_a_proof_of_unboundedness_needs_a_function_that_falls_on(falls: list[float]) -> None:
    surrogate = Reweighted(first=fail("unbounded", proved=True), second=fail("failed"))
    values = REFERENCE.history.value[0] - np.cumsum([0.0, *falls])
    points = [START, START + 1e3, START + 1e7][: len(values)]
    known = {tuple(x): value for x, value in zip(points, values, strict=True)}
    surrogate.nearby.far = lambda x, time_limit=None: iter(points[1:])  # type: ignore[method-assign]
    surrogate.value = lambda x: known.get(tuple(x), np.inf)  # type: ignore[method-assign]
    run = descend(surrogate, START, Settings(escape=False))
    assert run.status != "unbounded"


def test_unbounded_is_not_said_on_the_solvers_word_alone() -> None:
    run = descend(Reweighted(first=fail("unbounded"), second=fail("unbounded")), START)
    assert run.status == "solver_failed"


class Falling(Reweighted):
    """F falls for ever along x₀, whatever its majorant."""

    def value(self, x: Array) -> float:
        return super().value(x) - 1e3 * float(x[0])

    def scale(self, x: Array) -> float:
        return super().value(x) + 1e3 * abs(float(x[0]))


def test_a_function_that_is_seen_to_fall_for_ever_is_unbounded() -> None:
    run = descend(Falling(first=fail("unbounded"), second=fail("unbounded")), START)
    assert run.status == "unbounded"


def test_a_growing_penalty_may_bound_the_subproblem() -> None:
    surrogate = Reweighted(first=after(0, fail("unbounded")), second=fail("unbounded"))
    surrogate.settled = False
    tighten, count = surrogate.tighten, [0]

    def settling(x: Array) -> bool:
        count[0] += 1
        if count[0] == 3:
            surrogate.settled = True
            surrogate.faults = {}
        return tighten(x)

    surrogate.tighten = settling  # type: ignore[method-assign]
    run = descend(surrogate, START)
    assert run.status == "converged"
    np.testing.assert_array_equal(run.history.value, REFERENCE.history.value)


class Bounded(Reweighted):
    """F is infinite where x₀ > 2, and START is there."""

    def value(self, x: Array) -> float:
        return super().value(x) if x[0] <= 2 else np.inf


def test_a_start_outside_the_constraints_is_left_at_the_first_step() -> None:
    run = descend(Bounded(), START)
    assert run.status == "converged"
    assert np.isinf(run.history.gap[0])
    assert run.history.rise[1] == 0
    assert same_end(run)


def test_no_way_into_the_constraints_is_infeasible() -> None:
    assert descend(Bounded(first=fail("infeasible")), START).n_iter > 0
    both = Bounded(first=fail("infeasible"), second=fail("infeasible"))
    assert descend(both, START).status == "infeasible"
    stuck = Bounded(first=lambda x: START, second=lambda x: START)
    assert descend(stuck, START).status == "solver_failed"


# ----------------------------------------------------------------------------------------------
# acceleration


@pytest.mark.parametrize("acceleration", ["linesearch", "squarem"])
@pytest.mark.parametrize("delta", [1.0, 1e-3])
def test_acceleration_falls_at_every_step_to_a_critical_point(
    acceleration: str, delta: float
) -> None:
    start = np.linalg.lstsq(A, B, rcond=None)[0]
    run = descend(
        Reweighted(delta=delta), start, Settings(max_iter=1000, acceleration=acceleration)
    )
    assert run.status == "converged"
    assert np.all(np.diff(run.history.value) <= 1e-12)
    assert run.gap <= 1e-6 * (1 + abs(run.value))
    if delta == 1.0:  # below that there are several critical points
        assert same_end(run)


def test_squarem_takes_fewer_steps_where_the_plain_loop_crawls() -> None:
    start = START + 100.0
    crawling = Settings(tol=1e-12, max_iter=5000)
    plain = descend(Reweighted(delta=300.0), start, crawling)
    fast = descend(
        Reweighted(delta=300.0), start, Settings(tol=1e-12, max_iter=5000, acceleration="squarem")
    )
    assert fast.n_iter < plain.n_iter
    assert fast.value == pytest.approx(plain.value, rel=1e-9)


points = st.lists(st.floats(-100, 100), min_size=3, max_size=3).map(np.array)


@settings(deadline=None, max_examples=200)
@given(x=points, new=points, third=points, seed=st.integers(0, 2**16))
@pytest.mark.parametrize("make", [LineSearch, Squarem])
def test_an_acceleration_never_returns_a_worse_point(
    make: type[LineSearch] | type[Squarem], x: Array, new: Array, third: Array, seed: int
) -> None:
    tilt = np.random.default_rng(seed).normal(size=3)

    def value(z: Array) -> float:
        if abs(z[0]) > 150:  # a constraint
            return np.inf
        return float(np.sum(np.minimum(z**2, 50.0)) + tilt @ np.sin(z))

    accelerate = make()
    for before, after_step in ((x, new), (new, third)):
        found = accelerate(value, before, after_step, value(after_step))
        assert value(found) <= value(after_step)


def test_line_search_goes_far_along_a_slope() -> None:
    def value(z: Array) -> float:
        return float(np.sum((z - 40.0) ** 2))

    found = LineSearch()(value, np.zeros(1), np.ones(1), value(np.ones(1)))
    assert value(found) < 0.25 * value(np.ones(1))
    flat = LineSearch()(lambda z: 0.0, np.zeros(1), np.ones(1), 0.0)
    np.testing.assert_array_equal(flat, np.ones(1))  # no decrease, no step
