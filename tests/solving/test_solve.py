"""``dc.solve`` on cvxpy problems: outcomes, variables, constraints, options and refusals."""

import logging
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog.foundation.arrays import Array
from tests.solving.capped_regression import (
    A,
    B,
    capped,
    nothing,
    regression,
    regression_value,
    watch,
)

RNG = np.random.default_rng(0)
INF = float("inf")


@pytest.fixture
def x() -> cp.Variable:
    return cp.Variable(3, name="x")


# ----------------------------------------------------------------------------------------------
# outcomes


@pytest.mark.parametrize(
    ("goal", "constraints"),
    [
        (lambda x: cp.Minimize(cp.sum_squares(A @ x - B)), lambda x: []),
        (lambda x: cp.Minimize(cp.norm1(A @ x - B)), lambda x: []),
        (lambda x: cp.Minimize(cp.norm(A @ x - B) + cp.max(x)), lambda x: [cp.norm(x) <= 1]),
        (lambda x: cp.Minimize(cp.sum(x)), lambda x: [x >= -1, cp.sum(x) == 0.5]),
        (lambda x: cp.Minimize(0), lambda x: [cp.norm(x) <= 1, x[0] == 0.5]),
        (lambda x: cp.Maximize(1 - cp.sum_squares(A @ x - B)), lambda x: []),
        (lambda x: cp.Maximize(cp.sum(x)), lambda x: [x <= [1, 2, 3]]),
    ],
)
def test_a_convex_problem_is_solved_once(
    goal: Any, constraints: Any, x: cp.Variable, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = watch(monkeypatch, nothing)
    problem = cp.Problem(goal(x), constraints(x))
    result = dc.solve(problem)
    assert len(calls) == 1
    assert (result.status, result.n_iter, result.gap, result.mode) == ("converged", 0, 0, "none")
    assert result.violation <= 1e-6
    assert result.value == pytest.approx(problem.objective.value, abs=1e-9)
    assert result.value == pytest.approx(problem.solve(solver=cp.CLARABEL), rel=1e-5, abs=1e-5)


def test_a_convex_problem_from_a_given_point_ends_at_the_same_value(x: cp.Variable) -> None:
    problem = cp.Problem(cp.Minimize(cp.sum_squares(A @ x - B)), [x >= 0])
    result = dc.solve(problem, start={x: np.ones(3)})
    assert result.value == pytest.approx(dc.solve(problem).value, rel=1e-6)
    assert result.history.value[0] == pytest.approx(np.sum((A.sum(axis=1) - B) ** 2))


def test_maximisation_keeps_the_users_sign(x: cp.Variable) -> None:
    problem = cp.Problem(cp.Maximize(-capped(A @ x - B) - 0.1 * cp.sum_squares(x) + 3))
    start = {x: np.full(3, 2.0)}
    result = dc.solve(problem, start=start)
    mirror = dc.solve(regression(x), start=start)
    assert result.value == pytest.approx(3 - mirror.value)
    assert np.all(np.diff(result.history.value) >= 0)
    assert result.n_iter > 0
    assert np.all(result.history.rise <= 0)
    assert result.gap >= 0
    best = dc.solve(problem, n_starts=4)
    assert best.value == max(s.value for s in best.starts)


def test_a_convex_function_is_maximised_at_a_corner(x: cp.Variable) -> None:
    result = dc.solve(cp.Problem(cp.Maximize(cp.norm(x)), [cp.abs(x) <= 1]))
    assert result.value == pytest.approx(np.sqrt(3))


@pytest.mark.parametrize("goal", [cp.sum_squares, capped, cp.sum])
@pytest.mark.parametrize("sense", [1, -1])
def test_contradicting_convex_constraints_are_infeasible(
    goal: Any, sense: int, x: cp.Variable
) -> None:
    objective = cp.Minimize(goal(x)) if sense > 0 else cp.Maximize(-goal(x))
    problem = cp.Problem(objective, [x >= 1, x <= 0])
    result = dc.solve(problem)
    assert (result.status, result.value) == ("infeasible", sense * INF)
    assert result.x is None
    assert len(result.variables) == len(result.history) == 0
    assert (problem.status, x.value) == ("infeasible", None)


def test_infeasible_from_a_given_start_too(x: cp.Variable) -> None:
    problem = cp.Problem(cp.Minimize(capped(x)), [x >= 1, x <= 0])
    assert dc.solve(problem, start={x: np.ones(3)}).status == "infeasible"
    assert dc.solve(problem, start="random").status == "infeasible"


def test_nonconvex_constraints_that_nothing_meets(x: cp.Variable) -> None:
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [cp.norm(x) >= 3, cp.abs(x) <= 1])
    result = dc.solve(problem, n_starts=1)
    assert (result.status, result.mode) == ("no_feasible_point", "penalty")
    assert result.violation >= 3 - np.sqrt(3) - 1e-6
    assert "misses a constraint" in result.message


@pytest.mark.parametrize(
    "goal",
    [
        cp.sum,
        lambda x: cp.square(x[0]) + x[1],
        lambda x: -cp.sum_squares(x),
        lambda x: cp.sum(cp.minimum(x, 1)),
    ],
)
@pytest.mark.parametrize("sense", [1, -1])
def test_unbounded(goal: Any, sense: int, x: cp.Variable) -> None:
    problem = cp.Problem(cp.Minimize(goal(x)) if sense > 0 else cp.Maximize(-goal(x)))
    for n_starts in (1, 2):
        result = dc.solve(problem, n_starts=n_starts)
        assert (result.status, result.value) == ("unbounded", -sense * INF)
    assert problem.value == -sense * INF


@pytest.mark.parametrize("sense", [cp.Minimize, cp.Maximize])
def test_a_problem_without_variables(sense: Any) -> None:
    result = dc.solve(cp.Problem(sense(cp.Constant(3))))
    assert (result.status, result.value, len(result.variables)) == ("converged", 3, 0)
    false = cp.Problem(sense(cp.Constant(3)), [cp.Constant(1) <= 0])
    assert dc.solve(false).status == "infeasible"


def test_feasibility_problems(x: cp.Variable) -> None:
    result = dc.solve(cp.Problem(cp.Minimize(0), [cp.sum_squares(x) >= 1, cp.norm(x) <= 2]))
    assert (result.status, result.value) == ("converged", 0)
    assert 1 - 1e-6 <= np.linalg.norm(x.value) <= 2 + 1e-6


# ----------------------------------------------------------------------------------------------
# variables and data


def test_two_variables_with_the_same_name() -> None:
    a, b = cp.Variable(3, name="v"), cp.Variable(2, name="v")
    problem = cp.Problem(cp.Minimize(capped(a - 1, 2) + cp.sum_squares(b - 2)), [a[0] >= b[0]])
    result = dc.solve(problem)
    np.testing.assert_allclose(a.value, [1.5, 1, 1], atol=1e-4)
    np.testing.assert_allclose(b.value, [1.5, 2], atol=1e-4)
    np.testing.assert_array_equal(result.variables[a], a.value)
    np.testing.assert_array_equal(result.variables[b], b.value)


def test_a_variable_in_constraints_only(x: cp.Variable) -> None:
    z, u = cp.Variable(), cp.Variable(2)
    result = dc.solve(cp.Problem(cp.Minimize(capped(x - 1, 2)), [z >= 3, x[0] <= z, u == [4, 5]]))
    assert z.value >= 3 - 1e-6
    np.testing.assert_allclose(u.value, [4, 5], atol=1e-6)
    assert set(map(id, result.variables)) == {id(x), id(z), id(u)}


@pytest.mark.parametrize("shape", [(), (1,), (3,), (1, 1), (2, 3), (0,), (2, 3, 2)], ids=str)
@pytest.mark.filterwarnings("ignore:The problem has an expression with dimension")
def test_shapes(shape: tuple[int, ...]) -> None:
    v = cp.Variable(shape)
    result = dc.solve(cp.Problem(cp.Minimize(capped(v - 2))), start={v: np.full(shape, 1.7)})
    assert result.variables[v].shape == np.shape(v.value) == shape
    np.testing.assert_allclose(v.value, 2, atol=1e-4)


TARGET = np.array([[3.0, -1.0], [2.0, -4.0]])


@pytest.mark.parametrize(
    ("attributes", "holds"),
    [
        ({"nonneg": True}, lambda v: v >= -1e-7),
        ({"nonpos": True}, lambda v: v <= 1e-7),
        ({"bounds": [-0.5, 1]}, lambda v: (v >= -0.5 - 1e-7) & (v <= 1 + 1e-7)),
        ({"nonneg": True, "bounds": [None, 1]}, lambda v: (v >= -1e-7) & (v <= 1 + 1e-7)),
        ({"symmetric": True}, lambda v: np.abs(v - v.T) < 1e-9),
        ({"PSD": True}, lambda v: np.linalg.eigvalsh(v) >= -1e-6),
        ({"NSD": True}, lambda v: np.linalg.eigvalsh(v) <= 1e-6),
        ({"diag": True}, lambda v: np.abs(v - np.diag(np.diag(v))) == 0),
        ({"PSD": True, "nonneg": True}, lambda v: np.r_[v.ravel(), np.linalg.eigvalsh(v)] >= -1e-6),
    ],
)
@pytest.mark.parametrize("start", ["convex", "given"])
def test_attributes_hold(attributes: dict[str, Any], holds: Any, start: str) -> None:
    v = cp.Variable((2, 2), **attributes)
    given = {v: np.array([[5.0, 7.0], [-3.0, -6.0]])}  # what no attribute allows
    problem = cp.Problem(cp.Minimize(capped(v - TARGET, 20)))
    result = dc.solve(problem, start=given if start == "given" else start)
    assert result.status == "converged"
    assert result.violation <= 1e-6
    assert np.all(holds(np.asarray(result.variables[v])))
    if start == "given":
        early = dc.solve(problem, start=given, max_iter=0, callback=lambda p: True)
        assert early.violation > 1


def test_bounds_with_parameters() -> None:
    top = cp.Parameter(value=0.3)
    v = cp.Variable(3, bounds=[0, top])
    problem = cp.Problem(cp.Minimize(capped(A @ v - B)))
    values = []
    for top.value in (0.3, 0.6):
        result = dc.solve(problem, start={v: np.ones(3)})
        assert result.status == "converged"
        assert np.all((v.value >= -1e-6) & (v.value <= top.value + 1e-6))
        values.append(result.value)
    assert values[1] < values[0]


def test_parameters_may_change_between_solves(x: cp.Variable) -> None:
    scale, cap, target = cp.Parameter(nonneg=True), cp.Parameter(nonneg=True), cp.Parameter(20)
    loss = cp.sum(cp.minimum(cp.square(A @ x - target), cap))
    problem = cp.Problem(cp.Minimize(scale * loss + scale * cap * cp.sum_squares(x)))
    for scale.value, cap.value in ((1.0, 2.0), (3.0, 0.5)):
        target.value = RNG.normal(size=20)
        result = dc.solve(problem)
        direct = cp.sum(cp.minimum(cp.square(A @ x - target.value), cap.value)) * scale.value
        ridge = scale.value * cap.value * cp.sum_squares(x)
        assert result.value == pytest.approx(
            dc.solve(cp.Problem(cp.Minimize(direct + ridge))).value
        )


def test_parameters_in_exponents_thresholds_and_cones(x: cp.Variable) -> None:
    exponent, threshold = cp.Parameter(pos=True, value=0.5), cp.Parameter(nonneg=True, value=0.7)
    weights = cp.Parameter(3, value=np.array([1.0, 2.0, -1.0]))
    rows = [A[:2] @ x == B[:2]]
    with_parameter = dc.solve(cp.Problem(cp.Minimize(cp.sum(cp.power(cp.abs(x), exponent))), rows))
    with_number = dc.solve(cp.Problem(cp.Minimize(cp.sum(cp.power(cp.abs(x), 0.5))), rows))
    assert with_parameter.value == pytest.approx(with_number.value)
    huber = dc.solve(cp.Problem(cp.Minimize(cp.sum(cp.minimum(cp.huber(A @ x - B, threshold), 1)))))
    plain = dc.solve(cp.Problem(cp.Minimize(cp.sum(cp.minimum(cp.huber(A @ x - B, 0.7), 1)))))
    assert huber.value == pytest.approx(plain.value)
    cones = [
        cp.SOC(threshold, cp.multiply(weights, x)),
        cp.bmat([[threshold * x[0] + 2, 1], [1, x[1] + 2]]) >> 0,
        cp.norm(x) >= 0.1 * threshold,
        weights @ x <= threshold,
    ]
    result = dc.solve(cp.Problem(cp.Minimize(capped(A @ x - B)), cones))
    assert result.status == "converged"
    assert np.linalg.norm(weights.value * x.value) <= 0.7 + 1e-6
    assert 0.07 - 1e-6 <= np.linalg.norm(x.value)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda x: cp.Minimize(capped(x - np.array([1, np.nan, 2]))), "NaN or infinity"),
        (lambda x: cp.Minimize(capped(x - np.array([1, np.inf, 2]))), "NaN or infinity"),
        (lambda x: cp.Minimize(cp.Parameter(name="q") * capped(x)), "'q' has no value"),
        (
            lambda x: cp.Minimize(capped(cp.Variable(bounds=[0, cp.Parameter(name="t")]))),
            "'t' has no",
        ),
    ],
)
def test_bad_problems_are_refused(make: Any, text: str, x: cp.Variable) -> None:
    with pytest.raises(ValueError, match=text):
        dc.solve(cp.Problem(make(x)))


def test_a_finite_set_is_refused(x: cp.Variable) -> None:
    problem = cp.Problem(cp.Minimize(capped(x)), [cp.FiniteSet(x[0], [1, 2])])
    with pytest.raises(ValueError, match="finitely many"):
        dc.solve(problem, solver="HIGHS")


def test_an_expression_without_a_rule_is_named(x: cp.Variable) -> None:
    for goal, constraints in ((x[0] / x[1], []), (cp.sum(x), [x[0] / x[1] >= 1])):
        with pytest.raises(dc.NotMajorizable, match=r"x\[0\] / x\[1\]") as caught:
            dc.solve(cp.Problem(cp.Minimize(goal), constraints))
        assert caught.value.rewrite
    nonconvex_cone = cp.diag(cp.minimum(x, 1)) >> 0
    with pytest.raises(dc.NotMajorizable, match="PSD"):
        dc.solve(cp.Problem(cp.Minimize(cp.sum_squares(x)), [nonconvex_cone]))


@pytest.mark.parametrize("scale", [1e6, 1e-6])
def test_scales_of_the_unknowns_do_not_matter(scale: float, x: cp.Variable) -> None:
    goal = capped(A @ x / scale - B) + 0.1 * cp.sum_squares(x / scale)
    plain = dc.solve(regression(x)).value
    assert dc.solve(cp.Problem(cp.Minimize(goal))).value == pytest.approx(plain, rel=1e-5)


@pytest.mark.parametrize("scale", [1e6, 1e-6])
def test_scales_of_the_objective_change_the_tolerance_only(scale: float, x: cp.Variable) -> None:
    result = dc.solve(cp.Problem(cp.Minimize(scale * regression(x).objective.args[0])))
    assert result.status == "converged"
    assert result.value == pytest.approx(scale * regression_value(x.value))
    assert result.gap <= 1e-6 * (1 + result.value)


# ----------------------------------------------------------------------------------------------
# constraints


CONSTRAINTS: dict[str, Callable[[cp.Variable], list[cp.Constraint]]] = {
    "redundant": lambda x: [cp.sum(x) == 1, 2 * cp.sum(x) == 2, cp.sum(x) >= 1, cp.sum(x) <= 1],
    "repeated": lambda x: [cp.norm(x) >= 1, cp.norm(x) >= 1, cp.sum_squares(x) >= 1],
    "vector": lambda x: [cp.square(x) >= np.array([1.0, 4.0, 9.0])],
    "matrix": lambda x: [cp.square(cp.vstack([x, x])) >= np.full((2, 3), 0.5)],
    "cone": lambda x: [cp.SOC(x[0] + 1, x[1:]), cp.norm(x) >= 2],
    "NonNeg": lambda x: [cp.constraints.NonNeg(cp.square(x) - 1)],
    "equality": lambda x: [1 == cp.norm(x)],
    "Zero": lambda x: [cp.constraints.Zero(cp.norm(x) - 1)],
    "bilinear": lambda x: [x[0] * x[1] == 1],
    "vector equality": lambda x: [cp.square(x) == np.array([1.0, 4.0, 9.0])],
    "ring": lambda x: [cp.norm(x) >= 1, cp.norm(x) <= 1.1, cp.max(cp.abs(x)) >= 0.9],
    "exponential": lambda x: [cp.ExpCone(x[0], x[1], x[2]), cp.exp(x[0]) >= 1.5],
    "semidefinite": lambda x: [
        cp.bmat([[x[0], x[1]], [x[1], x[2]]]) >> 0,
        cp.sum(x) >= 0.5,
        cp.square(x[0]) >= 0.25,
    ],
}


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraints_are_met(name: str, x: cp.Variable) -> None:
    constraints = CONSTRAINTS[name](x)
    result = dc.solve(cp.Problem(cp.Minimize(capped(A @ x - B, 2)), constraints), n_starts=1)
    assert result.status == "converged"
    assert result.violation <= 1e-5
    assert max(np.max(c.violation()) for c in constraints) <= 1e-5
    assert result.mode == ("none" if name == "redundant" else result.mode)


def test_a_semidefinite_variable_with_a_nonconvex_constraint() -> None:
    v = cp.Variable((2, 2), PSD=True)
    result = dc.solve(
        cp.Problem(cp.Minimize(cp.sum_squares(v)), [cp.lambda_max(v) >= 2, cp.trace(v) <= 2.5])
    )
    assert result.value == pytest.approx(4, rel=1e-5)
    assert result.violation <= 1e-5


def test_every_iterate_from_a_feasible_start_is_feasible(x: cp.Variable) -> None:
    seen: list[Array] = []
    problem = cp.Problem(
        cp.Minimize(cp.sum_squares(x - [0.1, 0.2, 0.3])), [cp.norm(x) >= 1, x[0] * x[1] <= 0.3]
    )
    result = dc.solve(
        problem, start={x: np.array([2.0, 0.0, 0.0])}, callback=lambda p: seen.append(p.x)
    )
    assert (result.status, result.mode) == ("converged", "feasible")
    assert len(seen) == result.n_iter + 1 > 2
    for point in seen:
        assert np.linalg.norm(point) >= 1 - 1e-6
        assert point[0] * point[1] <= 0.3 + 1e-6
    assert np.all(result.history.violation <= 1e-6)
    assert np.all(np.diff(result.history.value) <= 1e-8)
    assert "feasible" in repr(result)


@pytest.mark.parametrize("start", [[0.1, 0.0, 0.0], [5.0, 0.0, 0.0]])
def test_an_infeasible_start_is_penalised_and_said_so(start: list[float], x: cp.Variable) -> None:
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [cp.norm(x) >= 1, x[0] <= -2 + 4 * x[1]])
    result = dc.solve(problem, start={x: np.array(start)})
    assert (result.status, result.mode) == ("converged", "penalty")
    assert result.history.violation[0] > 0.8
    assert result.violation <= 1e-6
    assert "penalty" in repr(result)


def test_a_start_outside_the_convex_constraints_does_not_make_the_problem_infeasible(
    x: cp.Variable,
) -> None:
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [cp.norm(x) >= 1, x[0] <= -2])
    result = dc.solve(problem, start={x: np.array([5.0, 0.0, 0.0])})  # the tangent there: x₀ ≥ 1
    assert result.status == "converged"
    assert result.value == pytest.approx(4, rel=1e-6)


# ----------------------------------------------------------------------------------------------
# the cvxpy habit


def test_problem_solve_sets_what_cvxpy_users_look_at(x: cp.Variable) -> None:
    problem = regression(x)
    value = problem.solve(method="dc", n_starts=2)
    assert isinstance(value, float)
    assert value == problem.value == pytest.approx(regression_value(x.value))
    assert problem.status == cp.OPTIMAL
    unsolvable = cp.Problem(cp.Minimize(capped(x)), [x >= 1, x <= 0])
    assert unsolvable.solve(method="dc") == INF
    assert unsolvable.status == "infeasible"


def test_what_a_user_does_to_the_variables_leaves_the_result_alone(x: cp.Variable) -> None:
    result = dc.solve(regression(x))
    before = np.array(result.x)
    x.value[:] = 77.0
    np.testing.assert_array_equal(np.array(result.x), before)
    np.testing.assert_array_equal(result.variables[x], before)


def test_verbose_logs_a_line_a_step(x: cp.Variable, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="dcprog"):
        result = dc.solve(regression(x), start={x: np.full(3, 2.0)}, verbose=True)
    lines = [record.getMessage() for record in caplog.records]
    assert "step" in lines[0]
    assert len(lines) == result.n_iter + 3
    assert f"{result.value:.9g}" in lines[-2]
    assert lines[-1].split()[:2] == ["given", "converged:"]
    caplog.clear()
    dc.solve(regression(x))
    assert not caplog.records


def test_verbose_is_one_table_of_all_starts(
    x: cp.Variable, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="dcprog"):
        result = dc.solve(regression(x), solver="cvxpy", verbose=True)
    lines = [record.getMessage() for record in caplog.records]
    assert [line for line in lines if line.startswith("start ")] == lines[:1]
    labels = {line.split()[0] for line in lines[1:] if not line.startswith("bound")}
    assert labels >= {one.kind for one in result.starts} >= {"convex"}


def test_verbose_is_seen_where_nobody_set_up_logging(
    x: cp.Variable, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    logger = logging.getLogger("dcprog")
    monkeypatch.setattr(logger, "propagate", False)  # pytest's own handlers sit at the root
    dc.solve(regression(x), start={x: np.full(3, 2.0)}, verbose=True)
    assert "converged" in capsys.readouterr().err
    assert not logger.handlers
    dc.solve(regression(x))
    assert not capsys.readouterr().err


# ----------------------------------------------------------------------------------------------
# bad options


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"start": "middle"}, "start='middle': choose one of"),
        ({"start": None}, "the start"),
        ({"start": np.ones(4)}, r"shape \(4,\), not \(3,\)"),
        ({"start": np.array([1.0, np.nan, 0.0])}, "NaN"),
        ({"start": ["a", "b", "c"]}, "choose one of"),
        ({"start": {}}, "no value for variable 'x'"),
        ({"start": {"x": np.ones(3)}}, "not a cvxpy Variable"),
        ({"start": "current"}, "'x' has no value"),
        ({"solver": "NO_SUCH"}, "not installed or not known"),
        ({"solver": 3}, "not installed or not known"),
        ({"tol": 0}, "tol=0: a positive"),
        ({"tol": "small"}, "tol='small'"),
        ({"tol": np.nan}, "tol=nan"),
        ({"tol": None}, "tol=None"),
        ({"max_iter": -1}, "max_iter=-1: an integer"),
        ({"max_iter": 2.5}, "max_iter=2.5"),
        ({"max_iter": True}, "max_iter=True"),
        ({"time_limit": 0}, "time_limit=0: a positive"),
        ({"time_limit": [1]}, "time_limit="),
        ({"n_starts": 0}, "n_starts=0: an integer of at least 1"),
        ({"random_state": "seed"}, "seed"),
        ({"random_state": -1}, "Seed must be"),
        ({"n_jobs": 0}, "n_jobs=0: an integer other than 0"),
        ({"n_jobs": "all"}, "n_jobs='all'"),
        ({"acceleration": "warp"}, "acceleration='warp': choose"),
        ({"callback": 3}, "callback=3 is not callable"),
    ],
    ids=str,
)
def test_bad_options(options: dict[str, Any], text: str, x: cp.Variable) -> None:
    with pytest.raises(ValueError, match=text):
        dc.solve(regression(x), **options)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.ones(2), r"'x' has shape \(2,\), not \(3,\)"),
        (None, "'x'"),
        ("abc", "'x' is not made of real numbers"),
        ([1j, 0, 0], "'x' is not made of real numbers"),
        ([1, 2, np.inf], "'x' contains NaN or infinity"),
    ],
    ids=str,
)
def test_bad_values_in_a_start(value: Any, text: str, x: cp.Variable) -> None:
    with pytest.raises(ValueError, match=text):
        dc.solve(regression(x), start={x: value})


@pytest.mark.parametrize("problem", [None, cp.Variable(), cp.Minimize(cp.Variable())])
def test_what_is_no_problem_is_refused_in_words(problem: Any) -> None:
    with pytest.raises(TypeError, match=r"cp\.Problem\(cp\.Minimize"):
        dc.solve(problem)


def test_a_solver_that_does_not_fit_is_named(x: cp.Variable) -> None:
    with pytest.raises(ValueError, match="HIGHS cannot handle this conic"):
        dc.solve(cp.Problem(cp.Minimize(cp.norm(x - 1) - 0.1 * cp.norm(x))), solver="HIGHS")


def test_nowhere_to_resume_from(x: cp.Variable) -> None:
    lost = dc.solve(cp.Problem(cp.Minimize(capped(x)), [x >= 1, x <= 0]))
    with pytest.raises(ValueError, match="no point"):
        dc.solve(regression(x), start=lost)
