"""A slice of the fuzzer, and proof that its checks can fail."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from tests.fuzz import run_problems
from tests.fuzz.__main__ import main
from tests.fuzz.batched import Batched
from tests.fuzz.boxed import Boxed, random_boxed
from tests.fuzz.cases import judged
from tests.fuzz.data import random_data
from tests.fuzz.evaluation import Evaluation, number
from tests.fuzz.formulas import _carried_on, random_loss, random_penalty
from tests.fuzz.injection import Fault, injected
from tests.fuzz.landscape import Array, free
from tests.fuzz.lowest import Lowest
from tests.fuzz.pool import _Worker
from tests.fuzz.problems import Problem, random_problem
from tests.fuzz.report import Report, generator, is_ours, judged_exception
from tests.fuzz.run_bounds import check_bound
from tests.fuzz.run_fits import _is_steep_anyhow, landscape_of
from tests.fuzz.run_problems import check_problem
from tests.fuzz.verdicts import find_descent

# Problems that take a second or two, some of them refused; make fuzz runs hundreds of each.
SLICE: dict[str, Iterable[int]] = {
    "problems": (0, 1, 3, 5, 9, 10, 11, 13, 18, 19),
    "fits": range(20),
    "faults": range(10),
    "bounds": range(10),
    "blocks": (1, 3),
}
CASES = [f"{kind}:{i}" for kind, numbers in SLICE.items() for i in numbers]
CHUNK = 5


@pytest.mark.parametrize("first", range(0, len(CASES), CHUNK))
def test_no_case_fails(first: int) -> None:
    done = [judged(case) for case in CASES[first : first + CHUNK]]
    assert [f"{r.case}: {f}" for r in done for f in r.failures] == []


# Bounds that were wrong, or ended in an error: edges of roots and entropies, ranges that were not
# rounded outward, small terms in large units, SCIP's convexity test of x·exp(−x), 1/x at −0.
ONCE_WRONG = (
    *(1790, 1835, 2187, 2621, 2971, 3131, 3578, 4577, 5841, 5851, 7385, 7697, 7860, 9809, 10307),
    *(11143, 13194, 14528, 15174, 18314, 19843, 21227, 22093, 23501, 24872, 26304, 27196, 29795),
    *(160882, 161050),
)


@pytest.mark.parametrize("number", ONCE_WRONG)
def test_bounds_that_once_failed_hold(number: int) -> None:
    failures = judged(f"bounds:{number}").failures
    assert [f for f in failures if "time limit" not in f] == []  # seconds are the machine's


def test_units_of_coefficients_are_finite_for_subnormal_data() -> None:
    """F of infinite coefficients is NaN for some directions, and was a descent for others."""
    assert judged("fits:222732").failures == []


def test_a_case_is_a_function_of_its_name() -> None:
    one, other = (str(random_problem(generator("problems", 7)).problem) for _ in range(2))
    assert one == other
    assert one != str(random_problem(generator("problems", 8)).problem)


def test_the_command_line_runs_a_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--case", "fits:0"]) == 0
    assert capsys.readouterr().out.startswith("fits:0: ")
    with pytest.raises(ValueError, match="a case is one of"):
        main(["--case", "nonsense:0"])


# ----------------------------------------------------------------------------------------------
# the checks can fail


def solved(objective: Any, constraints: list[Any], witness: dict[Any, Any]) -> tuple[Any, Any]:
    problem = cp.Problem(cp.Minimize(objective), constraints)
    arrays = {v.id: np.asarray(a, dtype=float) for v, a in witness.items()}
    return Problem(problem, problem.variables(), 1.0, arrays), dc.solve(problem)


def failures(made: Problem, result: Any) -> str:
    report = Report()
    check_problem(report, made, result, np.random.default_rng(0))
    return "\n".join([*report.failures, *report.remarks])


def moved(made: Problem, result: Any, x: Any) -> Any:
    """The result, had it stopped at x."""
    x = np.asarray(x, dtype=float)
    problem = Evaluation(made.problem, 1.0, [])
    value = problem.sign * problem.value(x)
    pairs = {v: a.reshape(v.shape) for v, a in zip(problem.variables, [x], strict=True)}
    history = replace(result.history, value=np.full_like(result.history.value, value))
    return replace(result, x=x, variables=pairs, value=value, history=history)


@pytest.fixture(scope="module")
def ring() -> tuple[Any, Any]:
    """The point of the circle's outside nearest to (0.3, 0.1)."""
    x = cp.Variable(2, name="x")
    return solved(
        cp.sum_squares(x - np.array([0.3, 0.1])), [cp.norm(x) >= 1, x <= 3], {x: [2.0, 0.0]}
    )


def test_rises_beside_an_infinite_slope_count_against_what_f_varies_by() -> None:
    assert not judged("problems:52016").failures


def test_a_rise_is_caught() -> None:
    x = cp.Variable(2, name="x")
    made, result = solved(cp.sum(cp.minimum(cp.square(x - 1), 0.5)), [], {x: [0.9, 0.8]})
    rise = np.append(result.history.rise[:-1], 1e-4)
    assert "a rise" in failures(made, replace(result, history=replace(result.history, rise=rise)))


def test_a_right_result_passes(ring: tuple[Any, Any]) -> None:
    made, result = ring
    assert result.status == "converged"
    assert failures(made, result) == ""


@pytest.mark.parametrize(
    ("x", "caught"),
    [
        ([1.2, 0.4], "wrong converged"),  # inside, with a slope
        ([0.8, 0.6], "wrong converged"),  # on the circle: only a move along it tells
        ([0.5, 0.1], "converged outside the constraints"),
        ([np.nan, 0.1], "a point that is not finite"),
    ],
)
def test_a_wrong_point_is_caught(ring: tuple[Any, Any], x: list[float], caught: str) -> None:
    made, result = ring
    assert caught in failures(made, moved(made, result, x))


def test_wrong_words_are_caught(ring: tuple[Any, Any]) -> None:
    made, result = ring
    history = result.history
    met = replace(history, violation=0 * history.violation)  # no rise is that of a price
    for wrong, caught in [
        (replace(result, value=result.value * (1 + 1e-5)), "a wrong value"),
        (replace(result, status="optimal"), "undocumented status"),
        (replace(result, status="infeasible"), "false infeasible"),
        (replace(result, status="unbounded"), "unbounded without evidence"),
        (replace(result, history=replace(met, rise=history.rise + 0.1)), "a rise"),
        (replace(result, history=replace(history, gap=history.gap[1:])), "a torn history"),
        (
            replace(
                result,
                history=replace(
                    history, value=history.value - 0.1, violation=0 * history.violation
                ),
            ),
            "a lost point",
        ),
    ]:
        assert caught in failures(made, wrong)


def test_an_unbounded_problem_is_seen_to_fall() -> None:
    x = cp.Variable(2, name="x")
    made, result = solved(-cp.sum_squares(x), [x[0] >= 1], {x: [2.0, 0.0]})
    assert result.status == "unbounded"
    assert failures(made, result) == ""


def test_the_search_for_a_fall_has_an_end(
    ring: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Evaluations are slow where many variables meet: what is not looked at is said."""
    monkeypatch.setattr(run_problems, "SEARCH", 0.0)
    made, result = ring
    assert failures(made, replace(result, status="unbounded")) == (
        "no time to see an unbounded problem fall"
    )


def test_a_local_maximum_is_critical_and_counted_apart() -> None:
    x = cp.Variable(1, name="x")
    made, result = solved(-cp.abs(x) + 0 * x, [x <= 1, x >= -1], {x: [0.5]})
    text = failures(made, replace(moved(made, result, [0.0]), status="converged"))
    assert text == "not d-stationary"


def test_true_verdicts_pass() -> None:
    x = cp.Variable(2, name="x")
    for objective, constraints in (
        (-cp.norm(x), []),
        (-cp.sum_squares(x), [x >= 1]),
        (cp.sum(cp.log(x)), [x <= 2]),
    ):
        made, result = solved(objective, constraints, {x: [1.5, 1.5]})
        assert failures(made, replace(result, status="unbounded")) == ""


def test_a_convex_minimum_that_is_missed_is_caught() -> None:
    x = cp.Variable(2, name="x")
    made, result = solved(cp.sum_squares(x - 1) + 1, [], {x: [0.0, 0.0]})
    assert "minimum is missed" in failures(made, moved(made, result, [1.0, 1.2]))


@pytest.mark.parametrize("number", range(6))
def test_a_fit_that_stopped_early_is_caught(number: int) -> None:
    """F of random fits has slopes at random points, and hardly any where the fit ends."""
    rng = np.random.default_rng(number)
    margin = bool(number % 2)
    data = random_data(rng, margin)
    loss, penalty = random_loss(rng, margin), random_penalty(rng, data.dense.shape[1])
    if loss.joint or data.hostile or data.kind in ("tiny", "zero"):
        pytest.skip("nothing to be seen")
    land = landscape_of(data, loss, penalty, True)
    theta = land.units * (0.3 + rng.uniform(size=land.units.size))
    assert land.value(theta) >= 0
    found = find_descent(land, theta, 1e-6, rng)
    assert found is not None
    assert found.kind == "wrong converged"


@pytest.mark.parametrize("first", range(0, 40, 20))
def test_many_points_at_once_have_the_values_of_one(first: int) -> None:
    compared = 0
    for k in range(first, first + 20):
        drawn = random_problem(generator("problems", k))
        if drawn.refused:
            continue
        problem = drawn.problem
        roots = [problem.objective.args[0], *(a for c in problem.constraints for a in c.args)]
        made = Evaluation(problem, 1.0, [])
        points = np.random.default_rng(k).normal(size=(3, made.n))
        found = Batched(roots, made.variables)(points)
        for j, x in enumerate(points):
            made.go(x)
            for root, values in zip(roots, found, strict=True):
                ours, theirs = values[j], number(root).ravel(order="F")
                inside = np.isfinite(ours)  # those of numpy go beyond the domain
                size = np.max(np.abs(theirs[inside]), initial=1e-9)
                assert ours[inside] == pytest.approx(theirs[inside], rel=1e-9, abs=1e-9 * size)
                compared += int(np.count_nonzero(inside))
    assert compared > 100


def boxed(problem: cp.Problem, lo: Any, hi: Any, witness: Any) -> Boxed:
    lo, hi = np.asarray(lo, dtype=float), np.asarray(hi, dtype=float)
    known = None if witness is None else np.asarray(witness, dtype=float)
    return Boxed(problem, lo, hi, np.zeros(lo.size, dtype=bool), known)


def test_the_lowest_points_of_known_functions_are_found() -> None:
    x, y = (cp.Variable(bounds=[-2, 2], name=name) for name in "xy")
    camel = 4 * x**2 - 2.1 * x**4 + x**6 / 3 + x * y - 4 * y**2 + 4 * y**4
    for objective, constraints, lowest in (
        (camel, [], -1.0316284535),
        (-cp.power(x, 3) + y, [], -10.0),
        (x + y, [cp.square(x) + cp.square(y) == 2], -2.0),
        (x * y, [cp.power(x, 3) <= -1, x + y >= 0.5], -3.0),
    ):
        problem = cp.Problem(cp.Minimize(objective + 0 * (x + y)), constraints)
        found = Lowest(boxed(problem, [-2, -2], [2, 2], None), np.random.default_rng(0)).search()
        assert found is not None
        assert found.value == pytest.approx(lowest, abs=1e-6)
        assert found.value >= lowest - 1e-9


def test_a_boxed_problem_is_a_function_of_its_number() -> None:
    one, other = (str(random_boxed(generator("bounds", 8)).problem) for _ in range(2))
    assert one == other


def test_witnesses_meet_the_constraints_and_contradictions_have_none() -> None:
    empty = 0
    for k in range(60):
        made = random_boxed(generator("bounds", k))
        lowest = Lowest(made, np.random.default_rng(k))
        if made.witness is None:
            empty += 1
            assert lowest.search() is None
        else:
            assert lowest.missed(made.witness) <= 1e-12
    assert empty > 2


@pytest.fixture
def valley() -> tuple[Lowest, Any]:
    """max 3 − x³ on 1 ≥ x ≥ −1 where x ≥ −y², y ≤ ½: 3 + 1/64 at (−¼, ±½), and its bound."""
    x, y = cp.Variable(bounds=[-1, 1], name="x"), cp.Variable(bounds=[-0.5, 0.5], name="y")
    problem = cp.Problem(cp.Maximize(3 - cp.power(x, 3)), [x >= -cp.square(y)])
    lowest = Lowest(boxed(problem, [-1, -0.5], [1, 0.5], [0.5, 0]), np.random.default_rng(0))
    bound = SimpleNamespace(
        value=3.0157,
        gap=(3.0157 - 3.015625) / 3.015625,
        status="proved",
        nodes=3,
        x=np.array([-0.25, 0.5]),
        variables={x: np.array(-0.25), y: np.array(0.5)},
        objective=3.015625,
        scale=3.015625,
        time=0.1,
    )
    return lowest, bound


def judged_bound(lowest: Lowest, bound: Any, **wrong: Any) -> str:
    report = Report()
    changed = SimpleNamespace(**(vars(bound) | wrong))
    check_bound(report, lowest, lowest.search(), changed, 1e-3)
    return "\n".join(report.failures)


def test_a_right_bound_passes(valley: tuple[Lowest, Any]) -> None:
    assert judged_bound(*valley) == ""


@pytest.mark.parametrize(
    ("wrong", "caught"),
    [
        ({"value": 3.0156, "gap": 0.0}, "a bound above the optimum"),
        ({"status": "optimal"}, "undocumented status"),
        ({"value": np.nan}, "numbers that are none"),
        ({"status": "infeasible"}, "false infeasible"),
        ({"value": 3.3}, "a gap of its own"),
        ({"value": 3.3, "gap": 0.2844 / 3.015625}, "proved with a gap"),
        ({"value": 3.3, "scale": 300.0, "gap": 0.284375 / 300}, "a scale beyond the terms"),
        ({"objective": 3.0}, "a wrong objective"),
        ({"x": None, "variables": {}, "objective": -np.inf}, "proved without a point"),
        ({"x": None, "variables": {}}, "an objective without a point"),
        ({"x": np.array([0.5, -0.25])}, "x and variables differ"),
    ],
)
def test_a_wrong_bound_is_caught(
    valley: tuple[Lowest, Any], wrong: dict[str, Any], caught: str
) -> None:
    assert caught in judged_bound(*valley, **wrong)


def test_a_bound_at_a_wrong_point_is_caught(valley: tuple[Lowest, Any]) -> None:
    lowest, bound = valley
    x, y = bound.variables
    outside = {x: np.array(-0.2501), y: np.array(0.5)}
    value = 3 + 0.2501**3
    assert "a point outside the constraints" in judged_bound(
        lowest, bound, x=np.array([-0.2501, 0.5]), variables=outside, objective=value
    )
    assert "outside" not in judged_bound(
        lowest,
        bound,
        x=np.array([-0.2501, 0.5]),
        variables=outside,
        objective=value,
        status="inaccurate",
    )
    lowest.made.whole[1] = True
    assert "whole numbers with fractions" in judged_bound(lowest, bound)


def test_only_infeasible_is_proved_of_a_contradiction() -> None:
    x = cp.Variable(bounds=[-1, 1], name="x")
    problem = cp.Problem(cp.Minimize(x), [cp.exp(x) <= -0.1])
    lowest = Lowest(boxed(problem, [-1], [1], None), np.random.default_rng(0))
    right = SimpleNamespace(
        value=np.inf, gap=0.0, status="infeasible", nodes=1, x=None, variables={},
        objective=np.inf, scale=0.0,
    )  # fmt: skip
    assert judged_bound(lowest, right) == ""
    point = {"x": np.array([-1.0]), "variables": {x: np.array(-1.0)}, "objective": -1.0}
    found = judged_bound(lowest, right, status="proved", value=-1.0, scale=1.0, **point)
    assert "a point where there is none" in found
    assert "a point outside the constraints" in found


def test_a_process_that_is_killed_is_replaced() -> None:
    worker = _Worker()
    worker.case = "bounds:0"
    worker.process.kill()
    report = worker.answer()
    assert report.failures == ["a crash of the process: exit code -9"]
    assert not worker.process.is_alive()


def test_a_fault_strikes_when_it_should() -> None:
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum(cp.log(1 + cp.square(x - 2))) + cp.norm1(x)))
    for fault, fired in ((Fault("worse", 1, "once"), 1), (Fault("sleep", 0, "once"), 1)):
        with injected(fault):
            dc.solve(problem)
        assert fault.fired == fired
        assert fault.calls > fault.step
    clean = Fault("nan", 0, "once")
    dc.solve(problem)
    assert clean.calls == 0  # nothing stays broken


def test_exceptions_are_told_apart() -> None:
    def judged_call(call: Any, allowed: bool = True) -> tuple[str, str | None]:
        try:
            call()
        except Exception as error:
            return judged_exception(error, lambda text: allowed)
        raise AssertionError

    y = cp.Variable()
    unset = cp.Problem(cp.Minimize(-cp.abs(y) + cp.Parameter(name="unset")))
    assert judged_call(lambda: dc.solve(unset)) == ("ValueError", None)
    unwanted = judged_call(lambda: dc.solve(unset), allowed=False)
    assert unwanted[1] is not None
    for call in (lambda: np.linalg.inv(np.zeros((2, 2))), lambda: [][1]):
        kind, failure = judged_call(call)
        assert failure is not None
        assert failure.startswith(f"undocumented {kind}")


def test_a_descent_counts_however_near_0_infinite_slopes_are_left() -> None:
    """F = √|θ − 1| + θ/2 at points from which it falls whatever √ is like near 0."""

    def level(theta: Array) -> float:
        return float(np.sum(_carried_on(0.5)(np.abs(theta - 1.0))) + np.sum(theta) / 2)

    def exact(theta: Array) -> float:
        return float(np.sum(np.sqrt(np.abs(theta - 1.0))) + np.sum(theta) / 2)

    land = free(exact, lambda theta: 1.0, np.ones(1), level)
    rng = np.random.default_rng(0)
    for x in (np.array([2.0]), np.array([0.5])):
        found = find_descent(land, x, 1e-6, rng)
        assert found is not None
        assert _is_steep_anyhow(land, x, found, rng)


@pytest.mark.parametrize("case", ["fits:766686", "fits:770998"])
def test_targets_of_size_1e_9_beside_infinite_slopes_are_no_failures(case: str) -> None:
    assert not judged(case).failures


def test_the_fuzzers_own_warnings_are_not_the_librarys_in_a_checkout_named_after_it() -> None:
    assert is_ours(dc.__file__)
    assert not is_ours(__file__)
    assert not is_ours(str(Path(dc.__file__).parent.parent / ".venv" / "lib" / "dcprog" / "x.py"))
