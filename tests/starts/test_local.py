"""The smooth methods' start: local minima under curved constraints, and what it refuses."""

from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from benchmarks.further_problems import FURTHER
from dcprog.foundation.deadline import Deadline
from dcprog.majorants.tree import nodes
from dcprog.problem.surrogate import ProblemSurrogate
from dcprog.starts.effort import EFFORTS
from dcprog.starts.local import (
    KINKED,
    MOST_ENTRIES,
    Epigraphs,
    Kinked,
    Local,
    SmoothProblem,
    implied_bounds,
)
from dcprog.starts.protocol import Budget, Candidate

KNOWN = {known.name: known for known in FURTHER}


def found(problem: cp.Problem, seed: int = 0) -> list[Any]:
    start, surrogate = Local(), ProblemSurrogate(problem)
    assert start.takes(surrogate) is None
    size = surrogate.points.size
    budget = Budget(rng=np.random.default_rng(seed), ended=[np.zeros(size)])
    return list(start.points(surrogate, budget))


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("thomson7", 0),
        ("tammes7", 1),
        ("phase16", 0),
        ("desilva", 1),
        ("hs117", 0),
        ("hs56", 1),
        ("ex7_3_1", 0),
    ],
)
def test_known_optima_are_among_its_minima(name: str, seed: int) -> None:
    known = KNOWN[name]
    problem = known.make()
    sign = -1 if isinstance(problem.objective, cp.Maximize) else 1
    first = found(problem, seed)[0]
    assert isinstance(first, Candidate)
    assert first.value == pytest.approx(sign * known.optimum, rel=1e-4, abs=1e-4)


def test_seven_charges_end_at_the_optimum_and_not_at_a_saddle() -> None:
    known = KNOWN["thomson7"]
    result = dc.solve(known.make(), start="local")
    assert result.value == pytest.approx(known.optimum, rel=1e-4)
    assert result.relative_violation <= 1e-6


@pytest.mark.parametrize("name", ["hs56", "hs114", "tammes7"])
def test_plain_runs_end_at_minima_under_curved_constraints(name: str) -> None:
    known = KNOWN[name]
    result = dc.solve(known.make(), start="convex")
    assert result.status == "converged"
    assert result.value == pytest.approx(known.optimum, rel=1e-4)
    assert result.relative_violation <= 1e-6


def test_kinks_of_convex_constraints_are_pieces() -> None:
    x = cp.Variable(3)
    problem = cp.Problem(
        cp.Minimize(-cp.sum_squares(x) + x[0]),
        [cp.abs(x[:2]) <= 2, cp.norm_inf(x) <= 3, cp.maximum(x[2], -1, -2 * x[2]) <= 1],
    )
    assert min(one.value for one in found(problem)) == pytest.approx(-11)
    surrogate = ProblemSurrogate(problem)
    smooth = SmoothProblem(surrogate)
    end = smooth.minimised(np.array([-0.1, 0.1, 0.1]), Deadline(None))
    assert end == pytest.approx([-2, 2, 1])


def test_equal_ends_end_the_search() -> None:
    x = cp.Variable(2)
    ring = cp.Problem(cp.Minimize(cp.sum(x)), [cp.sum_squares(x) == 1])
    budget = Budget(ended=[np.zeros(2)])
    list(Local().points(ProblemSurrogate(ring), budget))
    assert budget.agreed


@pytest.mark.parametrize("constant", [0, 1e6])
def test_a_constant_makes_no_ends_equal(constant: float) -> None:
    x = cp.Variable(6, bounds=[-3, 3])
    wells = cp.sum(cp.power(x, 4)) - 2 * cp.sum_squares(x)
    tilts = np.array([0.01, 0.02, 0.03, 0.05, 0.08, 0.13])
    problem = cp.Problem(cp.Minimize(wells + tilts @ x + constant))
    budget = Budget(ended=[np.zeros(6)])
    list(Local().points(ProblemSurrogate(problem), budget))
    assert not budget.agreed


def test_an_end_at_a_lower_bound_ends_the_search() -> None:
    x, y = (cp.Variable(2, bounds=[0, 2]) for _ in range(2))
    A = np.array([[1.0, 2.0], [2.0, 4.0]])
    product = cp.reshape(x, (2, 1), order="F") @ cp.reshape(y, (1, 2), order="F")
    problem = cp.Problem(cp.Minimize(cp.sum(cp.kl_div(A, product))))
    many = replace(EFFORTS["default"], local=50)  # so many equal ends are not met before
    budget = Budget(many, ended=[np.zeros(4)])
    best, *_ = Local().points(ProblemSurrogate(problem), budget)
    assert budget.agreed
    assert isinstance(best, Candidate)
    assert best.value < 1e-8


def test_ends_that_miss_constraints_are_no_candidates() -> None:
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [cp.sum_squares(x) <= 1, x[0] * x[1] >= 1])
    assert found(problem) == []


def test_the_same_seed_has_the_same_points() -> None:
    one, other = (found(KNOWN["desilva"].make(), 3) for _ in range(2))
    assert [c.value for c in one] == [c.value for c in other]


def test_what_it_refuses() -> None:
    x, X = cp.Variable(MOST_ENTRIES + 1), cp.Variable((2, 2), PSD=True)
    cone = cp.Variable(2)
    for problem, reason in (
        (cp.Problem(cp.Minimize(-cp.sum_squares(x)), [x >= 0, x <= 1]), "entries"),
        (cp.Problem(cp.Minimize(-cp.sum_squares(X)), [X <= 1]), "shape"),
        (cp.Problem(cp.Minimize(-(cone[0] ** 2)), [cp.SOC(1 - cone[1], cone), cone >= 0]), "cones"),
    ):
        assert reason in str(Local().takes(ProblemSurrogate(problem)))
    rows = dc.residual_rows(np.ones((3, 1)), np.arange(3.0))
    risk: Any = dc.Risk.from_loss(rows, dc.cap(dc.square(), 1.0))
    assert "it is solved as a dc.Risk" in str(Local().takes(risk))


def test_high_effort_has_more_points() -> None:
    assert EFFORTS["high"].local > EFFORTS["default"].local > 0


def test_random_points_are_drawn_from_bounds_that_constraints_state() -> None:
    """They found one end of [−1.78, 1.78] only, 900209 of the fuzzer's bounds at seed 0."""
    x, y = cp.Variable(2, bounds=[0.0, 3.0]), cp.Variable()
    smooth = cp.Minimize(cp.sum(cp.square(cp.square(x) - 1)) + cp.square(y))
    problem = cp.Problem(smooth, [x[0] <= 2, -1 <= 2 * y])
    low, high = implied_bounds(ProblemSurrogate(problem))
    assert sorted(zip(low, high, strict=True)) == [(-0.5, np.inf), (0.0, 2.0), (0.0, 3.0)]


def test_random_points_join_where_the_smooth_method_ends_above_the_plain_run() -> None:
    """A path around discs: the smooth method ended at 17, the plain run at 15.4, of 14.6."""
    centres = np.array([[2.4, 2.0], [5.0, 5.4], [7.6, 7.0], [4.6, 1.6], [2.2, 5.6], [7.8, 3.6]])
    radii = [1.1, 1.5, 1.0, 0.9, 1.2, 1.3]
    x = cp.Variable((41, 2))
    lengths = cp.norm(x[1:] - x[:-1], axis=1)
    outside = [
        cp.norm(x - np.tile(centre, (41, 1)), axis=1) >= radius
        for centre, radius in zip(centres, radii, strict=True)
    ]
    ends = [x[0] == 0, x[-1] == 10, lengths <= 1.2 * np.sqrt(200) / 40]
    problem = cp.Problem(cp.Minimize(cp.sum(lengths)), ends + outside)
    assert dc.solve(problem, random_state=2).value < 14.75


def test_more_equations_than_entries_are_left_to_the_method_of_multipliers() -> None:
    """SciPy's sequential quadratic programming ends the process there."""
    rng = np.random.default_rng(0)
    truth, A = rng.normal(size=8), rng.normal(size=(40, 8))
    z = cp.Variable(8)
    problem = cp.Problem(cp.Minimize(0), [cp.square(A @ z) == (A @ truth) ** 2])
    assert not SmoothProblem(ProblemSurrogate(problem)).is_few
    result = dc.solve(problem)
    assert result.status == "converged"
    assert min(np.abs(z.value - truth).max(), np.abs(z.value + truth).max()) < 1e-6


def test_kinks_are_variables_above_them() -> None:
    """F is the least value of the smooth expression over the variables that the rows allow."""
    x = cp.Variable((3, 2))
    goal = cp.max(cp.norm_inf(x, axis=1) + np.arange(3)) + cp.norm1(x[:, 0] - 1) / 2
    goal = goal + cp.maximum(cp.max(x), cp.sum(x)) + cp.exp(cp.abs(x[0, 1]))
    smooth = Epigraphs()
    root = smooth.of(goal)
    assert not any(isinstance(node, KINKED) for one in (root, *smooth.below) for node in nodes(one))
    rng = np.random.default_rng(0)
    for _ in range(3):
        x.value = rng.normal(size=(3, 2))
        for variable, kink in zip(smooth.variables, smooth.nodes, strict=True):
            variable.value = kink.value
        assert root.value == pytest.approx(goal.value)
        tight = np.concatenate([np.ravel(row.value) for row in smooth.below])
        assert np.max(tight) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("sign", [1, -1])
def test_other_kinks_are_refused(sign: float) -> None:
    x = cp.Variable(3)
    goal = cp.min(x) if sign > 0 else -cp.sum(cp.abs(x))
    with pytest.raises(Kinked):
        Epigraphs().of(goal)


def test_unequal_circles_in_a_square() -> None:
    """Radii of cvxpy's own test of ``best_of``, which ends at 4.8506 from ten points by IPOPT."""
    radii = np.random.default_rng(5).uniform(1.0, 3.0, 5)
    c = cp.Variable((5, 2))
    apart = [
        cp.sum((c[i] - c[i + 1 :]) ** 2, axis=1) >= (radii[i] + radii[i + 1 :]) ** 2
        for i in range(4)
    ]
    goal = cp.Minimize(cp.max(cp.norm_inf(c, axis=1) + radii))
    result = dc.solve(cp.Problem(goal, apart))
    assert result.value <= 4.7415


def test_a_largest_entry_within_a_maximum() -> None:
    """A constraint on a maximum of a number and of the largest entry of an array."""
    x = cp.Variable(2, bounds=[-2, 2])
    limit = cp.maximum(cp.max(x), x[0] / 2) <= 1
    ends = found(cp.Problem(cp.Minimize(x[0] * x[1] - cp.sum(x)), [limit]))
    assert isinstance(ends[0], Candidate)
    assert ends[0].value == pytest.approx(-1.0, abs=1e-6)
