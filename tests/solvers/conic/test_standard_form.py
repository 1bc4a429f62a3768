"""Programs in standard form: dual bounds whatever the solver did, certificates, units, points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

from dcprog import SubproblemError
from dcprog.foundation.arrays import Array
from dcprog.solvers.conic.arrow import ArrowProblem
from dcprog.solvers.conic.compiled import CompiledProblem
from dcprog.solvers.conic.portfolio import Portfolio
from dcprog.solvers.conic.scaling import Entries, Evidence, Scaler
from dcprog.solvers.conic.standard_form import Cones, StandardForm, solver_data

SOLVERS = {
    "LP": ("PIQP", "OSQP", "HIGHS", "CLARABEL", "ECOS", "SCS", "SCIPY", "ARROW"),
    "QP": ("PIQP", "OSQP", "CLARABEL", "ECOS", "SCS", "ARROW"),
    "box": ("PIQP", "OSQP", "CLARABEL", "ECOS", "SCS", "ARROW"),
    "SOCP": ("CLARABEL", "ECOS", "SCS"),
    "exp": ("CLARABEL", "ECOS", "SCS"),
    "SDP": ("CLARABEL", "SCS"),
    "power": ("CLARABEL", "SCS"),
}
CASES = [(kind, solver) for kind, solvers in SOLVERS.items() for solver in solvers]
UNITS = [(1.0, 1.0), (1.0, 1e12), (1.0, 1e-12), (1e12, 1.0), (1e-12, 1.0), (1e6, 1e-9)]


def needs(solver: str) -> str:
    if solver != "ARROW" and solver not in cp.installed_solvers():
        pytest.skip(f"{solver} is not installed")
    return solver


def program(
    kind: str, seed: int = 0, unit: float = 1.0, factor: float = 1.0
) -> tuple[cp.Problem, cp.Variable]:
    """A problem whose unknown is in other units, times a factor."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], 30)
    X = (rng.normal(size=(30, 3)) + 0.7 * y[:, None]) / unit
    w: cp.Variable = cp.Variable(3)
    limits: list[cp.Constraint] = []
    shrink = (0.3 / unit) * cp.norm1(w)
    match kind:
        case "LP":
            objective = cp.norm1(X @ w - y) + shrink
        case "QP":
            hinges = cp.sum(cp.pos(1 - (y[:, None] * X) @ w - y * cp.Variable()))
            objective = hinges + (0.05 / unit**2) * cp.sum_squares(w) + 2.5
        case "box":
            w = cp.Variable(3, bounds=[-0.3 * unit, 0.2 * unit])
            objective = cp.sum_squares(X @ w - y)
        case "SOCP":
            objective = cp.norm(X @ w - y) + shrink
        case "exp":
            objective = cp.sum(cp.logistic(-(y[:, None] * X) @ w)) + shrink
        case "power":
            objective = cp.sum(cp.power(cp.abs(X @ w - y), 1.5)) + shrink
        case _:
            near = np.corrcoef(X.T) * unit - 0.9 * unit * np.eye(3)
            w = cp.Variable((3, 3), symmetric=True)
            objective = cp.sum(cp.abs(w - near)) / unit
            limits = [w >> 0, cp.trace(w) == 2 * unit]
    return cp.Problem(cp.Minimize(factor * objective), limits), w


def compiled(problem: cp.Problem, solver: str) -> Any:
    return ArrowProblem(problem) if solver == "ARROW" else CompiledProblem(problem, needs(solver))


def tolerance(solver: str) -> float:
    return 1e-8 if solver in {"SCS", "OSQP"} else 1e-9


@pytest.mark.parametrize(("kind", "solver"), CASES)
def test_a_bound_is_valid_and_close(kind: str, solver: str) -> None:
    for seed in range(2):
        problem, _ = program(kind, seed)
        optimum = float(problem.solve(solver=cp.CLARABEL))
        solved = compiled(problem, solver)
        assert solved.bound() == -np.inf
        solved.minimise(tolerance(solver))
        assert solved.bound() <= optimum + 1e-7 * abs(optimum)
        assert solved.bound() >= optimum - 2e-6 * abs(optimum)


@pytest.mark.parametrize(("kind", "solver"), CASES)
def test_a_bound_is_valid_whatever_the_multipliers(kind: str, solver: str) -> None:
    problem, _ = program(kind)
    optimum = float(problem.solve(solver=cp.CLARABEL))
    solved = compiled(problem, solver)
    solved.minimise(tolerance(solver))
    found = solved._evidence
    highest = optimum + 1e-7 * abs(optimum)
    rng = np.random.default_rng(0)
    for size in np.logspace(-8, 3, 12):
        x = found.x + size * rng.standard_normal(found.x.shape)
        z = found.z + size * rng.standard_normal(found.z.shape)
        for spoilt in (
            replace(found, x=x),
            replace(found, z=z),
            Evidence(x, z),
            replace(found, z=size * found.z),
            replace(found, x=size * found.x),
            Evidence(x, size * rng.standard_normal(found.z.shape)),
        ):
            solved._evidence = spoilt
            assert solved.bound() <= highest
    for lie in (np.nan, np.inf, 1e200, 0.0):
        solved._evidence = Evidence(np.full_like(found.x, lie), np.full_like(found.z, lie))
        assert solved.bound() <= highest


def test_a_multiplier_of_the_wrong_sign_makes_no_bound_too_high() -> None:
    """The least x in [0, 5]: a multiplier of −1 at x ≤ 5 balances the cost and would prove 5."""
    A, b = sp.csc_array([[-1.0], [1.0]]), np.array([0.0, 5.0])
    form = StandardForm(None, np.ones(1), A, b, Cones(nonneg=2))
    assert form.bound(np.zeros(1), np.array([1.0, 0.0])) == pytest.approx(0, abs=1e-9)
    assert form.bound(np.zeros(1), np.array([0.0, -1.0])) <= 1e-9


def test_a_bound_is_that_of_the_moved_parameters() -> None:
    x, at = cp.Variable(), cp.Parameter(value=1.0)
    portfolio = Portfolio(cp.Problem(cp.Minimize(cp.square(x - at) + cp.abs(x) + at)))
    portfolio.minimise("PIQP", 1e-9)
    assert portfolio.bound() == pytest.approx(0.75 + 1, rel=1e-6)
    at.value = -3.0
    assert portfolio.bound() <= 2.75 - 3 + 1e-9
    portfolio.minimise("CLARABEL", 1e-9)
    assert portfolio.bound() == pytest.approx(2.75 - 3, rel=1e-6)


def test_an_objective_that_is_unbounded_has_no_bound() -> None:
    x = cp.Variable(2)
    solved = CompiledProblem(cp.Problem(cp.Minimize(x[0]), [x >= -1e6, x[1] <= 3]), "CLARABEL")
    solved.minimise(1e-9)
    assert solved.bound() == pytest.approx(-1e6, rel=1e-6)
    form = solved.form()
    assert form is not None
    assert form.bound(np.zeros(2), np.zeros(len(form.b))) == -np.inf


@pytest.mark.parametrize(("kind", "solver"), CASES)
def test_units_do_not_matter(kind: str, solver: str) -> None:
    if solver == "ECOS" and kind in {"QP", "box"}:
        pytest.skip("squares become cones with constants of size 1")
    if kind == "power":
        pytest.skip("powers have a unit of their own")
    expected: tuple[float, Array] | None = None
    for unit, factor in UNITS:
        problem, w = program(kind, unit=unit, factor=factor)
        solved = compiled(problem, solver)
        solved.minimise(tolerance(solver))
        value, at = float(problem.objective.value) / factor, np.asarray(w.value) / unit
        if expected is None:
            expected = value, at
        assert value == pytest.approx(expected[0], rel=1e-6)
        assert solved.bound() / factor == pytest.approx(expected[0], rel=1e-5)
        assert not solved.inaccurate
        if kind != "SDP":  # the solution is flat there
            np.testing.assert_allclose(at, expected[1], atol=1e-4 * np.abs(expected[1]).max())


def test_usual_programs_stay_as_they_are() -> None:
    for kind in ("LP", "QP", "SOCP", "exp", "SDP"):
        solved = CompiledProblem(program(kind)[0], "CLARABEL")
        form = solved.form()
        assert form is not None
        assert solved._scaler.scale(form)[0] is form


def test_a_solution_that_shows_other_units_is_found_again() -> None:
    x = cp.Variable()
    problem = cp.Problem(cp.Minimize(cp.abs(x - 3e-5)), [x <= 100, x >= 2e-4])
    for solver in ("PIQP", "CLARABEL"):
        CompiledProblem(problem, solver).minimise(1e-8)
        assert float(problem.objective.value) == pytest.approx(1.7e-4, rel=1e-6)


PROVERS = ["CLARABEL", "ECOS", "OSQP", "SCS"]


@pytest.mark.parametrize("solver", PROVERS)
@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_infeasibility_is_proved(solver: str, unit: float) -> None:
    w = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum(w)), [w >= unit, cp.sum(w) <= unit])
    with pytest.raises(SubproblemError) as caught:
        CompiledProblem(problem, needs(solver)).minimise(1e-8)
    error: Any = caught.value
    assert error.status == "infeasible"
    assert error.proved


@pytest.mark.parametrize("solver", PROVERS)
def test_unboundedness_is_proved(solver: str) -> None:
    w = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum(w)), [w <= 1])
    with pytest.raises(SubproblemError) as caught:
        CompiledProblem(problem, needs(solver)).minimise(1e-8)
    error: Any = caught.value
    assert error.status == "unbounded"
    assert error.proved


def test_a_false_certificate_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    w = cp.Variable(2)
    solved = CompiledProblem(cp.Problem(cp.Minimize(cp.sum(w)), [w >= 1]), "SCS")
    solver = solved._chain.solver
    real = solver.solve_via_data

    def lie(*args: Any) -> Any:
        raw = real(*args)
        raw["info"]["status_val"] = -2
        raw["y"] = np.ones_like(raw["y"])
        return raw

    monkeypatch.setattr(solver, "solve_via_data", lie)
    with pytest.raises(SubproblemError) as caught:
        solved.minimise(1e-6)
    error: Any = caught.value
    assert error.status == "infeasible"
    assert not error.proved


def test_random_rays_prove_nothing() -> None:
    form = CompiledProblem(program("SOCP")[0], "CLARABEL").form()
    assert form is not None
    rng = np.random.default_rng(0)
    for _ in range(200):
        assert not form.proves_infeasible(rng.standard_normal(len(form.b)))
        assert not form.proves_unbounded(rng.standard_normal(len(form.q)))


def _answering(solved: CompiledProblem, status: str, change: Callable[[Array], Array]) -> Any:
    """Clarabel, but with another status and point."""
    real = solved._chain.solver.solve_via_data

    def solve(*args: Any) -> Any:
        raw = real(*args)
        answer = {name: getattr(raw, name) for name in ("z", "obj_val", "solve_time", "iterations")}
        return SimpleNamespace(status=status, x=change(np.array(raw.x)), **answer)

    return solve


@pytest.mark.parametrize("status", ["AlmostSolved", "MaxIterations", "InsufficientProgress"])
def test_an_inaccurate_answer_is_judged_by_its_point(
    status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, w = program("SOCP")
    solved = CompiledProblem(problem, "CLARABEL")
    solved.minimise(1e-9)
    best = [np.array(w.value)]
    accurate = [solved.inaccurate]
    with monkeypatch.context() as patch:
        answer = _answering(solved, status, lambda x: x)
        patch.setattr(solved._chain.solver, "solve_via_data", answer)
        solved.minimise(1e-9)
        best.append(np.array(w.value))
        accurate.append(solved.inaccurate)
    assert accurate == [False, True]
    np.testing.assert_allclose(best[1], best[0], atol=1e-6)
    with monkeypatch.context() as patch:
        answer = _answering(solved, status, lambda x: 3 * x + 1)
        patch.setattr(solved._chain.solver, "solve_via_data", answer)
        with pytest.raises(SubproblemError, match="CLARABEL says") as caught:
            solved.minimise(1e-9)
    assert caught.value.status == "failed"


@pytest.mark.parametrize("lower", [False, True])
def test_points_of_dual_cones(lower: bool) -> None:
    cones = Cones(
        zero=1, nonneg=2, soc=(3, 1), psd=(3, 1), exp=2, power=((0.3, 0.7),), lower_triangle=lower
    )
    n_rows = len(cones.groups())
    assert n_rows == 1 + 2 + 3 + 1 + 6 + 1 + 6 + 3
    rng = np.random.default_rng(0)
    inside = [s for s in (_member(cones, rng) for _ in range(50))]
    for _ in range(50):
        z = cones.into_dual(3 * rng.standard_normal(n_rows))
        again = cones.into_dual(z)
        np.testing.assert_allclose(again, z, rtol=1e-12, atol=1e-12)
        for s in inside:
            np.testing.assert_allclose(cones.miss(s), 0, atol=1e-12)
            # each cone's rows alone
            products = np.bincount(cones.groups(), s * z)
            assert np.all(products[1:] >= -1e-9 * (1 + np.abs(s) @ np.abs(z)))


def _member(cones: Cones, rng: np.random.Generator) -> Array:
    """A random point of K."""
    parts = [np.zeros(cones.zero), rng.random(cones.nonneg)]
    for size in cones.soc:
        tail = rng.standard_normal(size - 1)
        parts.append(np.append(np.linalg.norm(tail) + rng.random(), tail))
    for order in cones.psd:
        root = rng.standard_normal((order, order))
        i, j = np.triu_indices(order) if cones.lower_triangle else np.tril_indices(order)
        matrix = root @ root.T
        parts.append(np.where(i == j, 1, np.sqrt(2)) * matrix[i, j])
    for _ in range(cones.exp):
        x, y = rng.standard_normal(), rng.random() + 0.1
        parts.append(np.array([x, y, y * np.exp(x / y) + rng.random()]))
    for alphas in cones.power:
        base = rng.random(len(alphas))
        parts.append(np.append(base, rng.uniform(-1, 1) * np.prod(base ** np.array(alphas))))
    return np.concatenate(parts)


def test_rounding_errors_are_no_units() -> None:
    # a row of slopes that are 0 but for rounding, beside columns with entries of their own
    A = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, 2.0], [1e-17, 1e-17, 1.0], [1.0, 0.0, 0.0]])
    form = StandardForm(None, np.ones(3), sp.csc_array(A), np.ones(4), Cones(nonneg=4))
    entries = Entries(form)
    columns, rows = entries.units(entries.logarithms())
    np.testing.assert_array_equal(columns, 1)
    np.testing.assert_array_equal(rows, 1)


def test_a_slope_that_is_rounding_sets_no_units() -> None:
    """(x + y)² + δ(x − y) − δ² ≤ s, the second square's tangent where it is 0 but for δ."""
    x, s = cp.Variable(2), cp.Variable(nonneg=True)
    delta = np.finfo(float).eps / 2
    square = 0.25 * cp.square(2 * cp.sum(x)) + np.array([delta, -delta]) @ x - delta**2 <= s
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - 1) + 0.01 * s), [square, x >= 0])
    for solver in ("CLARABEL", "SCS"):
        CompiledProblem(problem, solver).minimise(1e-8)
        assert problem.objective.value == pytest.approx(0.04 / 1.02, rel=1e-4)


@pytest.mark.parametrize("solver", ["PIQP", "OSQP", "CLARABEL", "SCS"])
def test_an_optimum_of_zero_has_a_bound(solver: str) -> None:
    x = cp.Variable(3)
    for problem in (
        cp.Problem(cp.Minimize(cp.sum_squares(x - 1)), [cp.sum(x) <= 7]),
        cp.Problem(cp.Minimize(0), [x >= 1, cp.sum(x) == 5]),
        cp.Problem(cp.Minimize(cp.norm1(x - 1)), [cp.sum(x) <= 7]),
    ):
        solved = CompiledProblem(problem, needs(solver))
        solved.minimise(1e-9)
        assert -1e-6 <= solved.bound() <= 1e-9


def test_a_cost_that_nothing_balances_is_no_rounding() -> None:
    # the first unknown may fall to -1e12, at a cost of 1e-10 beside others of 1
    q, A = np.array([1e-10, 1.0]), sp.csc_array([[0.0, -1.0]])
    form = StandardForm(None, q, A, np.zeros(1), Cones(nonneg=1))
    assert form.bound(np.zeros(2), np.ones(1)) == -np.inf


def squares(kind: str, unit: float) -> cp.Problem:
    """Squares in constraints: 1, an argument and its square in one cone."""
    rng = np.random.default_rng(0)
    X, x = rng.normal(size=(10, 3)) / unit, cp.Variable(3)
    limits: dict[str, list[Any]] = {
        "sum": [cp.sum_squares(x) <= unit**2],
        "each": [cp.square(x) <= unit**2],
        "other factor": [cp.sum_squares(x) / 7 <= unit * x[0]],
        "norms beside": [cp.norm(x) <= 2 * unit, cp.square(x[0]) + unit * x[1] <= unit**2],
    }
    return cp.Problem(cp.Minimize(cp.norm1(X @ x - 3)), limits[kind])


SQUARES = ["sum", "each", "other factor", "norms beside"]


@pytest.mark.parametrize("solver", SOLVERS["SOCP"])
@pytest.mark.parametrize("kind", SQUARES)
def test_squares_have_units_of_their_own(kind: str, solver: str) -> None:
    expected = float(squares(kind, 1.0).solve(solver=cp.CLARABEL))
    for unit in (1e-9, 1e-6, 1e-3, 1e3, 1e6, 1e9):
        problem = squares(kind, unit)
        solved = CompiledProblem(problem, needs(solver))
        solved.minimise(tolerance(solver))
        assert not solved.inaccurate
        assert float(problem.objective.value) == pytest.approx(expected, rel=1e-6)
        assert solved.bound() <= expected * (1 + 1e-7)


@pytest.mark.parametrize("kind", SQUARES)
def test_bounds_from_boosted_cones(kind: str) -> None:
    expected = float(squares(kind, 1.0).solve(solver=cp.CLARABEL))
    rng = np.random.default_rng(0)
    for unit in (1e-9, 1e-6, 1e-3, 1e3, 1e6, 1e9):
        solved = CompiledProblem(squares(kind, unit), "CLARABEL")
        form = solved.form()
        assert form is not None
        scaled, scaling = Scaler().scale(form)
        assert scaling.boosts
        raw = solved._call(solver_data(scaled, solved._data()[0]), 1e-9, None)
        x, z = scaling.primal(np.array(raw.x)), np.array(raw.z)
        assert Evidence(x, z, scaling).bound(form) == pytest.approx(expected, rel=1e-6)
        for far in (1e-9, 1e-3, 1.0, 1e3):
            wrong = z + far * rng.standard_normal(len(z))
            assert Evidence(x, wrong, scaling).bound(form) <= expected * (1 + 1e-7)
            shifted = x + far * unit * rng.standard_normal(len(x))
            assert Evidence(shifted, z, scaling).bound(form) <= expected * (1 + 1e-7)


def test_a_boost_maps_the_cone_onto_itself() -> None:
    form = CompiledProblem(squares("norms beside", 1e3), "CLARABEL").form()
    assert form is not None
    scaled, scaling = Scaler().scale(form)
    assert scaling.heads is not None
    assert len(scaling.heads) == 1  # the square's, not the norm's
    rng = np.random.default_rng(0)
    for _ in range(20):
        s, z = _member(form.cones, rng), rng.standard_normal(len(form.b))
        assert np.all(
            form.cones.miss(scaling.boosted(s)) <= 1e-9 * np.abs(scaling.boosted(s)).max()
        )
        assert scaling.boosted(s) @ z == pytest.approx(s @ scaling.boosted(z), rel=1e-9)
        x = rng.standard_normal(len(form.q))
        rows = scaling.boosted(form.b - form.A @ scaling.primal(x))
        np.testing.assert_allclose(rows, scaled.b - scaled.A @ x, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", SQUARES)
def test_usual_squares_stay_as_they_are(kind: str) -> None:
    for unit in (0.1, 1.0, 10.0):
        form = CompiledProblem(squares(kind, unit), "CLARABEL").form()
        assert form is not None
        assert Scaler().scale(form)[0] is form
