"""Our interior point method: what it takes, that it is right, and that it is never wrong."""

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import dcprog as dc
from dcprog import SubproblemError
from dcprog.problem.surrogate import ProblemSurrogate
from dcprog.solvers.conic.arrow import Arrowhead, ArrowProblem
from dcprog.solvers.conic.compiled import CompiledProblem, check_solver, solver_order

Array = np.ndarray
Loss = Callable[[cp.Expression, Array], cp.Expression]


def data(seed: int, n: int, p: int, kind: str = "plain") -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], n)
    X = rng.normal(size=(n, p)) + 0.25 * y[:, None]
    match kind:
        case "separable":
            X[:, 0] += 6 * y
        case "duplicate":
            X[:, 1] = X[:, 0]
        case "constant":
            X[:, 0], X[:, 1] = 0.0, 3.0
        case "scales":
            X *= 10 ** rng.uniform(-3, 3, p)
        case "rounded":
            X = np.round(X)
    if kind != "separable":
        y[rng.random(n) < 0.15] *= -1
    return X, y


LOSSES: dict[str, Loss] = {
    "hinge": lambda z, y: cp.pos(1 - cp.multiply(y, z)),
    "squared hinge": lambda z, y: cp.square(cp.pos(1 - cp.multiply(y, z))),
    "absolute": lambda z, y: cp.abs(z - y),
    "square": lambda z, y: cp.square(z - y),
    "pinball": lambda z, y: cp.maximum(0.3 * (y - z), -0.7 * (y - z)),
    "insensitive": lambda z, y: cp.maximum(y - z - 0.3, z - y - 0.3, 0),
    "maximum of three": lambda z, y: cp.maximum(0, 1 - cp.multiply(y, z), 2 - z),
}
PENALTIES: dict[str, Callable[[cp.Variable], cp.Expression]] = {
    "l2": lambda w: 0.05 * cp.sum_squares(w),
    "l1": lambda w: 0.5 * cp.norm1(w),
    "elastic net": lambda w: 0.3 * cp.norm1(w) + 0.05 * cp.sum_squares(w),
    "infinity": lambda w: 0.5 * cp.norm_inf(w),
}


def problem(
    loss: str, penalty: str, X: Any, y: Array, weights: object = 1.0, **attributes: object
) -> cp.Problem:
    w, b = cp.Variable(X.shape[1], **attributes), cp.Variable()
    terms = cp.multiply(weights, LOSSES[loss](X @ w + b, y))
    return cp.Problem(cp.Minimize(cp.sum(terms) + PENALTIES[penalty](w)))


def optimum(problem: cp.Problem) -> float:
    """By Clarabel, as accurately as it can."""
    for tolerance in (1e-10, 1e-9, 1e-8):
        try:
            CompiledProblem(problem, "CLARABEL").minimise(tolerance)
            break
        except SubproblemError as error:
            if error.status != "failed" or tolerance == 1e-8:
                raise
    return float(problem.objective.value)


def agree(problem: cp.Problem, tolerance: float = 1e-9) -> None:
    arrow = ArrowProblem(problem)
    assert arrow.refusal is None
    arrow.minimise(tolerance)
    found = float(problem.objective.value)
    for constraint in problem.constraints:
        assert np.max(constraint.violation()) <= 1e-7
    assert found == pytest.approx(optimum(problem), rel=1e-7, abs=1e-8)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", LOSSES)
def test_agrees_with_clarabel(loss: str, penalty: str) -> None:
    if (loss, penalty) == ("square", "l2"):
        pytest.skip("no inequality is left")
    for seed, (n, p) in enumerate([(60, 3), (60, 20), (20, 30)]):
        agree(problem(loss, penalty, *data(seed, n, p)))


@pytest.mark.parametrize("kind", ["separable", "duplicate", "constant", "scales", "rounded"])
@pytest.mark.parametrize("penalty", ["l2", "l1", "elastic net"])
def test_degenerate_data(kind: str, penalty: str) -> None:
    for loss in ("hinge", "squared hinge"):
        for seed, (n, p) in enumerate([(80, 4), (80, 25)]):
            agree(problem(loss, penalty, *data(seed, n, p, kind)))


@pytest.mark.parametrize("penalty", ["l2", "l1", "elastic net"])
def test_weights_of_every_size(penalty: str) -> None:
    rng = np.random.default_rng(2)
    X, y = data(7, 120, 8)
    for weights in (
        (rng.random(120) < 0.5).astype(float),
        10 ** rng.uniform(-8, 4, 120),
        np.eye(120)[0],
        np.zeros(120),
    ):
        agree(problem("hinge", penalty, X, y, weights))


def test_bounds_of_variables_are_kept() -> None:
    X, y = data(3, 50, 4)
    agree(problem("absolute", "l2", X, y, nonneg=True))
    agree(problem("absolute", "l1", X, y, bounds=[-0.1, np.array([0.05, 0.1, 0.2, np.inf])]))


def test_constraints_on_the_shared_variables() -> None:
    X, y = data(4, 60, 5)
    base = problem("hinge", "l2", X, y)
    w = next(v for v in base.variables() if v.size == 5)
    for constraints in (
        [cp.sum(w) == 1],
        [cp.sum(w) == 1, w[0] == w[1], 2 * cp.sum(w) == 2, w[2] <= 0.1],
        [cp.norm1(w) <= 0.2],
    ):
        agree(cp.Problem(base.objective, constraints))


def test_quadratic_forms() -> None:
    X, y = data(5, 60, 5)
    w = cp.Variable(5)
    hinge = cp.sum(cp.pos(1 - (y[:, None] * X) @ w))
    for form in (cp.quad_form(w, np.eye(5) + 1), cp.sum_squares(X @ w - 1)):
        agree(cp.Problem(cp.Minimize(hinge + form)))


def test_several_classes() -> None:
    rng = np.random.default_rng(6)
    X, k = rng.normal(size=(50, 4)), 3
    labels = np.eye(k)[rng.integers(k, size=50)]
    W = cp.Variable((4, k))
    margins = cp.reshape(cp.sum(cp.multiply(X @ W, labels), axis=1), (50, 1), order="F")
    ones = np.ones((1, k))
    worst = cp.sum(cp.max(1 - labels + X @ W - margins @ ones, axis=1))
    agree(cp.Problem(cp.Minimize(worst + 0.1 * cp.sum_squares(W))))
    every = cp.sum(cp.pos(1 + X @ W - margins @ ones))
    zero_sum = [cp.sum(W, axis=1) == 0]
    agree(cp.Problem(cp.Minimize(every + 0.1 * cp.sum_squares(W)), zero_sum))


def test_sparse_data() -> None:
    X = sp.random_array((300, 40), density=0.05, rng=np.random.default_rng(0), format="csr")
    y = np.where(np.arange(300) % 2, 1.0, -1.0)
    agree(problem("hinge", "elastic net", X, y))
    agree(problem("maximum of three", "l2", X, y))


def test_parameters_move() -> None:
    rng = np.random.default_rng(8)
    X, y = data(8, 60, 6)
    w, b = cp.Variable(6), cp.Variable()
    weights, tilt, edge = cp.Parameter(60, nonneg=True), cp.Parameter(6), cp.Parameter()
    direction = cp.Parameter(6)
    margins = cp.multiply(y, X @ w + b)
    moving = cp.Problem(
        cp.Minimize(
            weights @ cp.pos(1 - margins)
            + cp.sum(cp.multiply(weights, cp.square(cp.pos(-margins))))
            + tilt @ w
            + cp.sum_squares(w)
        ),
        [direction @ w <= edge],
    )
    arrow = ArrowProblem(moving)
    for step in range(6):
        weights.value, tilt.value = rng.uniform(size=60) * (step != 3), rng.normal(size=6)
        edge.value = 0.1 * step
        if step % 2 == 0:  # the rows change too
            direction.value = rng.normal(size=6)
        arrow.minimise(1e-9)
        found = float(moving.objective.value)
        assert found == pytest.approx(optimum(moving), rel=1e-7, abs=1e-8)


@pytest.mark.parametrize("tolerance", [1e-4, 1e-10])
def test_tolerance_bounds_the_excess(tolerance: float) -> None:
    for seed in range(5):
        X, y = data(seed, 100, 10)
        hard = problem("hinge", "l2", X, y)
        best = optimum(hard)
        ArrowProblem(hard).minimise(tolerance)
        assert float(hard.objective.value) - best <= 3 * (tolerance + 1e-10) * (1 + best)


x = cp.Variable(3)
HOPELESS = {
    "infeasible": ([x >= 1, cp.sum(x) <= 2], cp.sum_squares(x)),
    "infeasible losses": ([x >= 1, cp.sum(x) <= 2], cp.sum(cp.pos(1 + x))),
    "contradiction": ([cp.sum(x) == 1, cp.sum(x) == 2], cp.norm1(x)),
    "unbounded": ([x <= 1, x[0] - x[1] <= 3], cp.sum(x)),
    "unbounded losses": ([x[0] <= x[1]], cp.sum(cp.pos(x - 1)) - 2 * x[0] - cp.sum(x)),
    "unbounded along a null vector": ([x >= -1, x[0] >= x[1]], cp.square(x[0]) - x[2]),
}


@pytest.mark.parametrize("name", HOPELESS)
def test_no_wrong_optimum(name: str) -> None:
    constraints, objective = HOPELESS[name]
    for solver_tolerance in (1e-4, 1e-9):
        with pytest.raises(SubproblemError) as caught:
            ArrowProblem(cp.Problem(cp.Minimize(objective), constraints)).minimise(solver_tolerance)
        assert caught.value.status == "failed"


def test_random_programs_are_solved_or_given_up() -> None:
    """Half of them are infeasible or unbounded."""
    solved = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        w = cp.Variable(4)
        A, c = rng.normal(size=(12, 4)), rng.normal(size=4)
        objective = cp.sum(cp.pos(A @ w - 1)) + 3 * c @ w
        random = cp.Problem(cp.Minimize(objective), [A[:6] @ w <= rng.normal(size=6)])
        try:
            ArrowProblem(random).minimise(1e-9)
        except SubproblemError:
            with pytest.raises(SubproblemError):
                CompiledProblem(random, "CLARABEL").minimise(1e-9)
        else:
            found = float(random.objective.value)
            assert found == pytest.approx(optimum(random), rel=1e-7, abs=1e-7)
            solved += 1
    assert 10 <= solved <= 55


def test_time_limit() -> None:
    hard = ArrowProblem(problem("hinge", "l2", *data(0, 400, 30)))
    with pytest.raises(SubproblemError, match="time limit"):
        hard.minimise(1e-10, time_limit=0.0)
    hard.minimise(1e-8)


def test_refusals() -> None:
    X, y = data(0, 30, 3)
    w = cp.Variable(3)
    wide, chain = cp.Variable(600), cp.Variable(3000)
    several = {
        "second-order program": cp.sum(cp.exp(X @ w - y)),
        "its cones have 601 rows": cp.norm(np.ones((600, 3)) @ w - 1),
        "600 variables are shared": cp.norm1(np.ones((700, 600)) @ wide),
        "variables are shared": cp.norm1(cp.diff(chain)) + cp.sum_squares(chain - 1),
        "no variable is shared": cp.sum_squares(cp.Variable(3, nonneg=True) - 1),
        "more than 0 rows": cp.sum_squares(X @ w - y),
        "4 variables are shared by several terms, more than 0 rows": cp.norm(X @ w - y),
    }
    for reason, objective in several.items():
        arrow = ArrowProblem(cp.Problem(cp.Minimize(objective)))
        assert arrow.refusal is not None
        assert reason in arrow.refusal
        with pytest.raises(SubproblemError):
            arrow.minimise(1e-8)


def test_schur_complement() -> None:
    """S and the solves agree with dense algebra on H, groups of every kind included."""
    rng = np.random.default_rng(1)
    group = np.array([0, 0, 1, 1, 1, 2, 3, 3, -1, -1])
    L = np.zeros((10, 4))
    L[group >= 0, group[group >= 0]] = rng.normal(size=8)
    X = rng.normal(size=(10, 3))
    X[1], X[3], X[4], X[7], X[9] = 0, -2 * X[2], 0.5 * X[2], rng.normal(size=3), 0
    rows = Arrowhead(sp.csr_array(L), sp.csr_array(X))
    Q, w = np.diag([1.0, 2.0, 0.0]), 10 ** rng.uniform(-3, 3, 10)
    R = np.hstack([L, X])
    H = R.T @ (w[:, None] * R)
    H[4:, 4:] += Q
    t, v, u = rng.normal(size=4), rng.normal(size=3), rng.normal(size=10)
    np.testing.assert_allclose(rows.forward(t, v), R @ np.concatenate([t, v]))
    np.testing.assert_allclose(np.concatenate(rows.adjoint(u)), R.T @ u)
    dt, dv, moved = rows.solve(rows.factor(w, Q), t, v, u)
    expected = np.linalg.solve(H, -np.concatenate([t, v]) - R.T @ u)
    np.testing.assert_allclose(np.concatenate([dt, dv]), expected, rtol=1e-7)
    np.testing.assert_allclose(moved, R @ expected, rtol=1e-6, atol=1e-9)


def capped(n: int, p: int) -> cp.Problem:
    X, y = data(9, n, p)
    w, b = cp.Variable(p), cp.Variable()
    loss = cp.sum(cp.minimum(cp.pos(1 - cp.multiply(y, X @ w + b)), 1))
    return cp.Problem(cp.Minimize(loss + 0.05 * cp.sum_squares(w)))


def test_leads_where_it_pays() -> None:
    assert check_solver("arrow") == "ARROW"
    assert "ARROW" not in solver_order("LP", None)
    result = dc.solve(capped(600, 20), solver="cvxpy", n_starts=1)
    assert result.solver == "ARROW"
    assert not result.history.attempts
    assert dc.solve(capped(60, 3), solver="cvxpy", n_starts=1).solver == "PIQP"


def test_asked_for_or_not() -> None:
    small = capped(60, 3)
    for solver in ("ARROW", "PIQP", "CLARABEL"):
        assert dc.solve(small, solver=solver, n_starts=1).solver == solver
    for other in ("PIQP", "OSQP", None):
        assert "ARROW" not in ProblemSurrogate(small, other).solvers
    w = cp.Variable(3)
    conic = cp.Problem(cp.Minimize(cp.minimum(cp.max(cp.exp(w - 1)), 2)))
    with pytest.raises(ValueError, match="not a linear, quadratic or second-order program"):
        dc.solve(conic, solver="ARROW")


def test_penalised_constraints() -> None:
    w = cp.Variable(4)
    X, y = data(2, 60, 4)
    hinge = cp.sum(cp.pos(1 - (y[:, None] * X) @ w)) + 0.1 * cp.sum_squares(w)
    away = cp.Problem(cp.Minimize(hinge), [cp.norm1(w) >= 2])
    ours, theirs = (dc.solve(away, solver=name, n_starts=1) for name in ("ARROW", "CLARABEL"))
    assert ours.value == pytest.approx(theirs.value, rel=1e-5)


def bounded(constraint: str, seed: int = 0) -> tuple[cp.Problem, cp.Variable]:
    """Weighted absolute residuals, a quarter of weight 0, under a constraint on x."""
    rng = np.random.default_rng(seed)
    A, x = rng.normal(size=(300, 20)), cp.Variable(20)
    known = rng.normal(size=20)
    weights = rng.choice([0.0, 1.0], 300, p=[0.25, 0.75])
    loss = weights @ cp.abs(A @ x - A @ known - rng.normal(size=300))
    constraints = {
        "norm1": [cp.norm1(x) <= 0.6 * np.abs(known).sum()],
        "box": [x <= 0.5, x >= -0.5],
        "nonneg": [x >= 0],
        "linear": [cp.sum(x) == 0, x[0] >= x[1] + 1],
        "infinity": [cp.norm_inf(x) <= 0.5],
    }
    return cp.Problem(cp.Minimize(loss), constraints[constraint]), x


@pytest.mark.parametrize("constraint", ["norm1", "box", "nonneg", "linear", "infinity"])
def test_linear_programs_end_at_a_vertex_with_its_multipliers(constraint: str) -> None:
    problem, x = bounded(constraint)
    arrow = ArrowProblem(problem)
    assert arrow.pays
    duals = arrow.duals(1e-8)
    ours, value = x.value.copy(), float(problem.objective.value)
    problem.solve(solver="HIGHS")
    assert value == pytest.approx(problem.value, rel=1e-12)
    np.testing.assert_allclose(ours, x.value, atol=1e-10)
    zeros = np.abs(x.value) < 1e-9
    assert np.all(ours[zeros] == 0)  # not 1e-10, as an interior point has
    assert np.any(zeros) == (constraint in ("norm1", "nonneg"))
    for limit in problem.constraints:
        assert np.max(limit.violation()) <= 1e-12
        np.testing.assert_allclose(duals[limit.id], limit.dual_value, atol=1e-6)


def test_a_face_of_optima_is_left_as_it_is() -> None:
    """Columns that are equal: the minimisers are no single vertex."""
    rng = np.random.default_rng(3)
    A, x = rng.normal(size=(300, 20)), cp.Variable(20)
    A[:, 1] = A[:, 0]
    loss = cp.norm1(A @ x - A @ rng.normal(size=20) - rng.normal(size=300))
    problem = cp.Problem(cp.Minimize(loss), [cp.norm1(x) <= 5])
    ArrowProblem(problem).minimise(1e-9)
    value = float(problem.objective.value)
    assert np.abs(x.value).sum() <= 5 + 1e-9
    assert value == pytest.approx(problem.solve(solver="HIGHS"), rel=1e-9)


def test_leads_where_constraints_make_a_risk_a_linear_program() -> None:
    rng = np.random.default_rng(0)
    A, x = rng.normal(size=(300, 20)), cp.Variable(20)
    loss = cp.sum(cp.minimum(cp.abs(A @ x - rng.normal(size=300)), 1))
    result = dc.solve(cp.Problem(cp.Minimize(loss), [cp.norm1(x) <= 1]), n_starts=1)
    assert result.solver == "ARROW"
    assert result.status == "converged"


def rounded(shape: str, seed: int = 0, n: int = 300, p: int = 20) -> cp.Problem:
    """Absolute residuals with constraints or penalties of second order on x."""
    rng = np.random.default_rng(seed)
    A, x, known = rng.normal(size=(n, p)), cp.Variable(p), rng.normal(size=p)
    loss = cp.norm1(A @ x - A @ known - rng.normal(size=n))
    size = float(np.linalg.norm(known))
    half = p // 2
    groups = cp.norm(x[:half]) + cp.norm(x[half:])
    penalty: Any = {
        "penalty": n * cp.norm(x) / 10,
        "penalty that keeps 0": 10 * n * cp.norm(x),
        "groups": n * groups / 4,
        "square": cp.sum_squares(x),
    }.get(shape, 0)
    constraints: dict[str, list[Any]] = {
        "ball": [cp.norm(x) <= 0.6 * size],
        "small ball": [cp.norm(x) <= 1e-3 * size],
        "no ball at all": [cp.norm(x) <= 10 * size],
        "centred elsewhere": [cp.norm(x - 1) <= 0.5],
        "two balls": [cp.norm(x) <= 0.6 * size, cp.norm(x - 1) <= 0.9 * np.sqrt(p)],
        "groups in a ball": [groups <= 0.8 * size],
        "ellipsoid": [cp.norm(A[: n // 10] @ x) <= size],
        "on a plane": [cp.norm(x) <= 0.6 * size, cp.sum(x) == 1, x[0] == x[1]],
        "square": [cp.norm(x) <= 0.6 * size],
    }
    return cp.Problem(cp.Minimize(loss + penalty), constraints.get(shape, []))


ROUNDED = (
    "ball",
    "small ball",
    "no ball at all",
    "centred elsewhere",
    "two balls",
    "groups in a ball",
    "ellipsoid",
    "on a plane",
    "square",
    "penalty",
    "penalty that keeps 0",
    "groups",
)


@pytest.mark.parametrize("shape", ROUNDED)
def test_constraints_of_second_order(shape: str) -> None:
    for seed in range(3):
        agree(rounded(shape, seed, 60, 4), 1e-9)
    round_one = rounded(shape)
    arrow = ArrowProblem(round_one)
    duals = arrow.duals(1e-9)
    value = float(round_one.objective.value)
    assert arrow.bound() == pytest.approx(value, rel=1e-7)
    assert arrow.bound() <= value + 1e-9 * abs(value)
    round_one.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    for limit in round_one.constraints:
        np.testing.assert_allclose(duals[limit.id], limit.dual_value, atol=1e-4)


def test_the_radius_of_a_ball_moves() -> None:
    rng = np.random.default_rng(5)
    A, b, x, c = rng.normal(size=(80, 5)), rng.normal(size=80), cp.Variable(5), cp.Parameter()
    ball = cp.Problem(cp.Minimize(cp.norm1(A @ x - b)), [cp.norm(x) <= c])
    arrow = ArrowProblem(ball)
    for radius in (0.01, 0.1, 0.02, 10.0):
        c.value = radius
        arrow.minimise(1e-9)
        found = float(ball.objective.value)
        assert found == pytest.approx(optimum(ball), rel=1e-7)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_balls_have_no_units(factor: float) -> None:
    rng = np.random.default_rng(6)
    A, b, x = rng.normal(size=(80, 5)), rng.normal(size=80), cp.Variable(5)
    agree(cp.Problem(cp.Minimize(cp.norm1(A / factor @ x - b)), [cp.norm(x) <= 0.05 * factor]))


def test_a_ball_that_nothing_is_in() -> None:
    y = cp.Variable(3)
    none = cp.Problem(cp.Minimize(cp.sum(cp.pos(y))), [cp.norm(y) <= 1, cp.sum(y) >= 2])
    with pytest.raises(SubproblemError):
        ArrowProblem(none).minimise(1e-8)


def test_leads_where_a_ball_constrains_a_risk() -> None:
    rng = np.random.default_rng(0)
    A, x = rng.normal(size=(300, 20)), cp.Variable(20)
    loss = cp.sum(cp.minimum(cp.abs(A @ x - rng.normal(size=300)), 1))
    capped = cp.Problem(cp.Minimize(loss), [cp.norm(x) <= 0.1])
    ours, theirs = (dc.solve(capped, solver=s, n_starts=1) for s in (None, "CLARABEL"))
    assert ours.solver == "ARROW"
    assert ours.status == "converged"
    assert ours.value <= theirs.value + 1e-6 * theirs.scale
