"""A verdict is true of the user's own function, whatever a solver says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog.engine.descent import descend
from dcprog.problem.surrogate import ProblemSurrogate
from dcprog.solvers.conic.portfolio import Portfolio

RNG = np.random.default_rng(0)
Y = RNG.choice([-1.0, 1.0], 30)
X = RNG.standard_normal((30, 2)) + Y[:, None]
X[:4] *= -10


def solve(problem: cp.Problem, **options: Any) -> dc.Result:
    """One run from the default start: the race around it has tests of its own."""
    return dc.solve(problem, **{"n_starts": 1} | options)


def lowest_around(function: cp.Expression, x: cp.Variable, at: float, reach: float) -> float:
    """By a dense scan."""
    values = []
    for z in np.linspace(at - reach, at + reach, 401):
        x.value = np.array(z)
        value = float(np.sum(function.value))
        values.append(value if np.isfinite(value) else np.inf)
    return min(values)


def ramp() -> cp.Problem:
    w = cp.Variable(2)
    hinge = cp.pos(1 - cp.multiply(Y, X @ w))
    return cp.Problem(cp.Minimize(cp.sum(cp.minimum(hinge, 1)) + 0.05 * cp.sum_squares(w)))


# ----------------------------------------------------------------------------------------------
# converged

# Slopes of these live in the constraints of stand-in variables, too.
NESTED: dict[str, Callable[[cp.Variable], cp.Expression]] = {
    "quotient": lambda x: cp.quad_over_lin(1.0, cp.log(1 + cp.square(x))) + 0.05 * cp.square(x),
    "capped": lambda x: cp.minimum(cp.exp(-cp.square(x)), 5) + 0.1 * cp.square(x),
    "capped even": lambda x: (
        cp.minimum(cp.square(cp.minimum(cp.square(x), 4) - 3), 50) + 0.3 * cp.square(x - 1)
    ),
    "exponential of a cap": lambda x: cp.exp(cp.minimum(cp.abs(x - 1), 1)) + 0.2 * cp.square(x),
    "square of a concave": lambda x: (
        cp.square(1 - cp.sqrt(1 + cp.abs(x - 2))) + 0.01 * cp.square(x)
    ),
}


@pytest.mark.parametrize("start", ["convex", 0.3, 1.5])
@pytest.mark.parametrize("name", NESTED)
def test_converged_means_that_nothing_near_is_lower(name: str, start: Any) -> None:
    x = cp.Variable()
    function = NESTED[name](x)
    result = solve(
        cp.Problem(cp.Minimize(function)), start=start if start == "convex" else {x: start}
    )
    assert result.status == "converged"
    assert np.isfinite(result.value)
    at = float(result.variables[x])
    least = lowest_around(function, x, at, 0.01)
    assert result.value <= least + 1e-5 * abs(result.value)


@pytest.mark.parametrize("name", NESTED)
def test_every_parameter_is_compared(name: str) -> None:
    """The majorant has moved where only those of a stand-in's constraints have."""
    x = cp.Variable()
    surrogate = ProblemSurrogate(cp.Problem(cp.Minimize(NESTED[name](x))))
    surrogate.begin(np.array([0.4]))
    surrogate.tighten(np.array([0.4]))
    assert not surrogate.tighten(np.array([0.4])) or not surrogate.settled
    for parameter in surrogate.majorised.modes.problem("feasible").parameters():
        kept = dict(surrogate._slopes)
        surrogate._slopes[parameter.id] = np.asarray(parameter.value) + 1.0
        assert surrogate.centre_at(np.array([0.4])), parameter
        assert {k: v.tolist() for k, v in surrogate._slopes.items()} == {
            k: v.tolist() for k, v in kept.items()
        }


# ----------------------------------------------------------------------------------------------
# cvxpy's solvers lie

Lie = Callable[[np.ndarray, np.ndarray], np.ndarray]
LIES: dict[str, Lie] = {
    "nan": lambda new, old: np.full_like(new, np.nan),
    "start": lambda new, old: old,
    "huge": lambda new, old: np.full_like(new, 1e200),
    "worse": lambda new, old: new + 1e-3 * (1 + np.abs(new)),
    "infinite": lambda new, old: np.full_like(new, np.inf),
}


def lies(monkeypatch: pytest.MonkeyPatch, lie: Lie, when: Callable[[int, str], bool]) -> list[str]:
    """Portfolios leave other values in the variables than their solvers found."""
    real, calls = Portfolio.minimise, []

    def minimise(self: Portfolio, solver: str, *rest: Any) -> None:
        variables = self.problem.variables()
        old = [np.zeros(v.shape) if v.value is None else np.array(v.value) for v in variables]
        real(self, solver, *rest)
        calls.append(solver)
        if when(len(calls) - 1, solver):
            for variable, before in zip(variables, old, strict=True):
                variable.save_value(lie(np.asarray(variable.value, dtype=float), before))

    monkeypatch.setattr(Portfolio, "minimise", minimise)
    return calls


@pytest.mark.parametrize("call", [2])
@pytest.mark.parametrize("name", LIES)
def test_one_lie_costs_a_retry(name: str, call: int, monkeypatch: pytest.MonkeyPatch) -> None:
    clean = solve(ramp(), solver="cvxpy")
    lies(monkeypatch, LIES[name], lambda number, solver: number == call)
    result = solve(ramp(), solver="cvxpy")
    assert result.status == "converged"
    assert result.value <= clean.value + 1e-5 * abs(clean.value)
    assert np.all(np.diff(result.history.value) <= 1e-6 * abs(clean.value))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["nan", "infinite", "huge"])
def test_a_solver_that_always_lies_leaves_it_to_the_next(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clean = solve(ramp(), solver="cvxpy")
    first = ProblemSurrogate(ramp()).solvers[0]
    calls = lies(monkeypatch, LIES[name], lambda number, solver: solver == first)
    result = solve(ramp(), solver="cvxpy")
    assert result.status == "converged"
    assert result.value <= clean.value * (1 + 1e-4)
    assert len(set(calls)) > 1
    assert any(attempt.solver == first for attempt in result.history.attempts)


def test_the_best_point_survives_when_all_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next solver is compiled while the variables hold NaN."""
    lies(monkeypatch, LIES["nan"], lambda number, solver: number > 0)
    result = solve(ramp(), solver="cvxpy", start="convex")
    assert result.status == "solver_failed"
    assert result.x is not None
    assert np.all(np.isfinite(result.x))
    assert np.isfinite(result.value)
    assert result.history.attempts


def test_a_solver_that_stalls_does_not_make_a_point_critical(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All of them hand back where they began: nothing confirms the first."""
    problem = ramp()
    surrogate = ProblemSurrogate(problem)
    start = np.array([2.0, -2.0])
    monkeypatch.setattr(surrogate, "minimise", lambda x, *rest: x.copy())
    assert descend(surrogate, start).status == "solver_failed"


# ----------------------------------------------------------------------------------------------
# unbounded, and the edges of domains


@pytest.mark.parametrize("size", [1, 4])
def test_a_logarithm_that_falls_off_is_unbounded(size: int) -> None:
    S = cp.Variable((size, size), symmetric=True)
    goal = cp.Maximize(-(cp.log_det(S) + 0.1 * cp.sum(cp.abs(S))))
    result = solve(cp.Problem(goal))
    assert (result.status, result.value) == ("unbounded", np.inf)


@pytest.mark.parametrize("floor", [cp.maximum, lambda a, b: cp.pos(a) ** 3 + b])
def test_a_logarithm_that_falls_off_below_a_maximum_is_bounded(floor: Callable[..., Any]) -> None:
    x = cp.Variable(nonneg=True)
    result = solve(cp.Problem(cp.Minimize(floor(cp.log(x), -1) + x)), start={x: 0.0})
    assert result.status != "unbounded"
    assert result.value == pytest.approx(-1)


@pytest.mark.parametrize("far", [1e3, 1e5, 1e7])
def test_a_logarithm_above_zero_is_bounded_whatever_an_outlier_is(far: float) -> None:
    x = cp.Variable(bounds=[-5, 5])
    lost = cp.log(1 + cp.square(x * np.ones(3) - np.array([0.0, 0.5, far])))
    result = dc.solve(cp.Problem(cp.Minimize(cp.sum(lost))))
    assert result.status == "converged"
    assert result.value == pytest.approx(2 * np.log(far), abs=0.2)


@pytest.mark.parametrize("rest", [2**-55, 1e-16, 0.0])
@pytest.mark.parametrize("equal", [True, False])
def test_a_constraint_without_coefficients_is_not_infeasible_by_rounding(
    rest: float, equal: bool
) -> None:
    """0·x + (-.4 + 1 + .8 + .5 - .7)/6 = .2 misses .2 by 3e-17: in units of that it was 1 = 0."""
    x = cp.Variable(nonpos=True)
    idle = cp.sum(np.zeros(5) * x + np.array([-0.4, 1.0, 0.8, 0.5, -0.7])) / 6
    met = idle == 0.2 + rest if equal else idle >= 0.2 + rest
    result = solve(cp.Problem(cp.Minimize(-cp.square(x)), [x >= -3, met]))
    assert result.status == "converged"
    assert result.value == pytest.approx(-9)


def test_a_constraint_without_coefficients_that_is_missed_is_infeasible() -> None:
    x = cp.Variable(nonpos=True)
    problem = cp.Problem(cp.Minimize(-cp.square(x)), [x >= -3, np.zeros(2) * x == 1e-3])
    assert solve(problem).status == "infeasible"


@pytest.mark.parametrize("low", [0, -1000])
def test_a_logarithm_of_exponentials_over_a_wide_box_is_bounded(low: float) -> None:
    """Their size over the box, e^1000, is no measure of the distance of 2 from 0."""
    x, y = cp.Variable(bounds=[low, 1000]), cp.Variable(bounds=[low, 1000])
    F = cp.log(cp.exp(x) + cp.exp(y)) - 0.5 * x - 1e-4 * cp.square(y)
    result = dc.solve(cp.Problem(cp.Minimize(F)))
    assert result.status != "unbounded"
    assert np.isfinite(result.value)
    if low == 0:
        assert result.value == pytest.approx(np.log(2))


@pytest.mark.parametrize(
    "goal",
    [
        lambda x: cp.sum(cp.log(x)) + cp.sum(x),
        lambda x: -cp.sum_squares(x),
        lambda x: cp.norm1(x) - cp.sum_squares(x),
        lambda x: cp.sum(x) + cp.sum(cp.minimum(cp.abs(x), 1)),
    ],
)
@pytest.mark.parametrize("factor", [1e-9, 1e9])
def test_unbounded_has_no_units(goal: Any, factor: float) -> None:
    x = cp.Variable(2)
    result = solve(cp.Problem(cp.Minimize(factor * goal(x))))
    assert (result.status, result.value) == ("unbounded", -np.inf)


def test_a_value_at_the_border_of_a_domain_is_a_number() -> None:
    x = cp.Variable(4)
    quotient = cp.quad_over_lin(cp.multiply([0.5, -1.0, 2.0, 0.3], x), x[1])
    result = solve(cp.Problem(cp.Minimize(quotient + 0.1 * cp.sum(cp.abs(x)))))
    assert np.isfinite(result.value)
    if result.status == "converged":
        assert np.isfinite(quotient.value)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "goal",
    [
        lambda m, T: -cp.matrix_frac(m, T + 5 * np.eye(3)),
        lambda m, T: cp.minimum(cp.matrix_frac(m, T), 1) + cp.sum_squares(m - 1),
        lambda m, T: cp.log(1 + cp.tr_inv(T)) + cp.sum_squares(T),
    ],
)
def test_an_atom_outside_its_domain_raises_nothing(goal: Any) -> None:
    m, T = cp.Variable(3, nonneg=True), cp.Variable((3, 3), symmetric=True)
    problem = cp.Problem(cp.Minimize(goal(m, T)), [cp.abs(m) <= 3, cp.abs(T) <= 3])
    result = solve(problem, max_iter=30)
    assert np.isfinite(result.value)
    assert problem.objective.args[0].value == pytest.approx(result.value, rel=1e-6, abs=1e-9)


def test_the_domain_of_a_constraint_is_a_constraint() -> None:
    y, z = cp.Variable(), cp.Variable()
    inverse = cp.minimum(cp.inv_pos(y - 5), 0.3) <= 0.1
    result = solve(cp.Problem(cp.Minimize(cp.square(y - 3)), [inverse]))
    assert result.status == "converged"
    assert float(result.variables[y]) == pytest.approx(15, rel=1e-5)
    divergence = cp.minimum(cp.kl_div(y, z), 0.3) <= 0.1
    goal = cp.Minimize(cp.square(z) + cp.square(y + 1))
    assert solve(cp.Problem(goal, [divergence])).status == "converged"


def test_a_zero_matrix_times_what_is_not_convex() -> None:
    x = cp.Variable(2, value=np.ones(2))
    zero = np.zeros((2, 2)) @ cp.sqrt(cp.abs(x))
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - 1)), [zero <= 1])
    assert solve(problem).value == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("units", [[1.0, 1.0], [1e9, 1.0], [1e-12, 1.0], [1e-6, 1e6]])
def test_a_constraint_is_as_large_as_its_constant_wherever_a_point_is(units: list[float]) -> None:
    x = cp.Variable(2)
    z = cp.multiply(np.array(units), x)
    capped = cp.minimum(cp.sum_squares(z - 3), 6) + z[0]
    inside = solve(cp.Problem(cp.Minimize(capped), [cp.sum_squares(z) <= 4]))
    assert inside.violation <= 1e-5
    assert inside.value == pytest.approx(4, rel=1e-4)
    circle = solve(cp.Problem(cp.Minimize(cp.sum(z)), [cp.sum_squares(z) == 4]))
    assert circle.violation <= 1e-5
    assert circle.value == pytest.approx(-np.sqrt(8), rel=1e-4)


def test_a_ratio_that_vanishes_far_out_is_not_unbounded() -> None:
    x = cp.Variable(2)
    ratio = (x[0] + 2 * x[1] + 1) * cp.inv_pos(cp.sum_squares(x) + 3)
    result = solve(cp.Problem(cp.Maximize(ratio)), max_iter=10)
    assert result.status != "unbounded"
    assert np.isfinite(result.value)


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_infinite_slopes_where_the_value_is_0(shift: float) -> None:
    p = cp.Variable(4)
    roots = dc.solve(cp.Problem(cp.Minimize(cp.sum(cp.sqrt(p)) - shift), [cp.sum(p) == 1]))
    assert roots.status == "converged"
    assert roots.value == pytest.approx(1 - shift, abs=1e-6)
    entropy = solve(cp.Problem(cp.Minimize(cp.sum(cp.entr(p)) - shift), [cp.sum(p) == 1]))
    assert entropy.status == "converged"
    assert entropy.value == pytest.approx(-shift, abs=1e-6)


def test_a_run_whose_start_is_the_best_point_ends_there_though_slopes_are_infinite() -> None:
    u, v = cp.Variable(2), cp.Variable(3)
    A = np.array([[50.0, 40.0], [30.0, -20.0], [-10.0, -40.0], [0.0, -100.0]])
    B = np.array(
        [[80.0, 60.0, -250.0], [0.0, -230.0, 0.0], [-60.0, -90.0, -90.0], [0.0, 20.0, -30.0]]
    )
    b = np.array([-1.9, 0.0, -1.3, -0.5])
    losses = cp.power(cp.abs(cp.maximum(A @ u + b, B @ v)), 0.3)
    problem = cp.Problem(cp.Minimize(cp.sum(losses) + 1e-3 * cp.sum_squares(u)))
    assert dc.solve(problem, start={u: np.zeros(2), v: np.zeros(3)}).value == 0.0


@pytest.mark.parametrize("error", [ValueError, RuntimeError, np.linalg.LinAlgError])
def test_what_a_callback_raises_comes_through(error: type[Exception]) -> None:
    def callback(progress: dc.Progress) -> None:
        if progress.n_iter == 2:
            raise error("boom")

    x = cp.Variable(2)
    valley = cp.square(1 - x[0]) + 100 * cp.square(x[1] - cp.square(x[0]))
    with pytest.raises(error, match="boom"):
        solve(cp.Problem(cp.Minimize(valley)), callback=callback)


@pytest.mark.parametrize("unit", [1e9, 1e-9])
def test_a_feasible_point_ends_a_problem_without_an_objective(unit: float) -> None:
    x = cp.Variable(3)
    z = x / unit
    equal = [z[0] * z[1] == 6, z[1] * z[2] == 12, z[0] * z[2] == 8]
    result = solve(cp.Problem(cp.Minimize(1), equal))
    assert result.status == "converged"
    assert result.relative_violation <= 1e-6


def test_no_fallback_is_asked_for_less_than_solvers_resolve_near_a_known_floor() -> None:
    """Noise-free phase retrieval: at 1e-12 of what F was, a slow fallback took half a minute."""
    rng = np.random.default_rng(0)
    B, truth, x = rng.standard_normal((40, 6)), rng.standard_normal(6), cp.Variable(6)
    misfit = cp.sum_squares(cp.square(B @ x) - (B @ truth) ** 2)
    result = solve(cp.Problem(cp.Minimize(misfit)), start="convex", n_starts=1)
    assert result.status == "converged"
    assert result.value <= 1e-9 * result.history.value[0]
    assert {a.solver for a in result.history.attempts} <= {result.solver}


def test_a_value_far_above_the_floor_is_no_floor_in_small_units() -> None:
    # t = Σw is around 1e-4, which the objective's own unit does not know: it varies by 1e6 there
    rows = "41 22 19 -5 6 10 15 3,22 59 33 -5 4 4 27 2,19 33 81 1 6 2 26 2,-5 -5 1 21 3 1 0 4"
    rows += ",6 4 6 3 10 3 4 3,10 4 2 1 3 23 4 3,15 27 26 0 4 4 30 3,3 2 2 4 3 3 3 14"
    cov = 1e-5 * np.array([row.split() for row in rows.split(",")], dtype=float)
    w, t = cp.Variable(8, nonneg=True), cp.Variable(8)
    parts = [
        cp.sum(cp.multiply(w[g], t[g])) / cp.quad_form(w, cov) for g in ([0, 1, 5], [2, 3, 4, 6, 7])
    ]
    goal = cp.square(parts[0] - 0.4) + cp.square(parts[1] - 0.6)
    problem = cp.Problem(cp.Minimize(goal), [cp.sum(w) == 1, t == cov @ w])
    w.value = np.ones(8) / 8
    t.value = cov @ w.value
    result = solve(problem, start="current", n_starts=1, max_iter=40)
    assert result.value < 1e-6 or result.status != "converged"
