"""Solvers of piecewise linear losses with l1 and l2 penalties: against cvxpy, and their parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import dcprog as dc
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError
from dcprog.losses import absolute, epsilon_insensitive, hinge, pinball
from dcprog.penalties import elastic_net, l1, l2, mcp, weighted_l1
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.rows.angle import angle_differences, angle_margins
from dcprog.rows.linear import binary_margins, residual_rows
from dcprog.solvers.conic.reference import ReferenceSolver
from dcprog.solvers.piecewise.interior import KroneckerRows
from dcprog.solvers.piecewise.polyhedral import Polyhedral, Subproblem
from dcprog.solvers.registry import SOLVERS, choose, make, refusal
from dcprog.solvers.warm_starts import WarmStarts
from dcprog.transforms import cap_at

EXACT = ("pivoting", "simplex", "interior")
INTERCEPTS = ("free", "penalised", "none")


def _samples(rng: np.random.Generator, n: int, d: int, k: int) -> tuple[Array, Any]:
    """Noisy classes around the corners of a polygon, all of them present."""
    y = np.concatenate([np.arange(k), rng.integers(k, size=n - k)])
    X = rng.uniform(-1, 1, (n, d))
    X[:, :2] = np.column_stack([np.cos(6.3 * y / k), np.sin(6.3 * y / k)])
    X[:, :2] += 0.5 * rng.standard_normal((n, 2))
    return X, y


def _risk(
    X: Any, y: Any, form: int, penalty: Any, intercept: str = "free", tilted: bool = False
) -> Risk:
    """The losses of Zhang et al. (2018); with a subtracted hinge where they are tilted."""
    build = angle_margins if form == 1 else angle_differences
    rows = build(X, y, fit_intercept=intercept != "none")
    own: Any = rows.own
    weights = np.where(own, len(np.unique(y)) - 1, 1.0) / 2 if form == 1 else None
    return Risk(
        rows,
        hinge(),
        weights=weights,
        aggregate="max" if form == 2 else None,
        transform=cap_at(1.5) if not tilted else None,
        subtracted=hinge(-0.5) if tilted else None,
        penalty=penalty,
        penalized=np.ones(rows.shape[1]) if intercept != "free" else None,
    )


def _configuration(seed: int) -> tuple[Risk, Array, Array | None]:
    """A risk, weights of which some are 0, and tilts or None."""
    rng = np.random.default_rng(seed)
    k, d = int(rng.choice([2, 3, 5])), int(rng.choice([2, 20, 200], p=[0.4, 0.4, 0.2]))
    X, y = _samples(rng, int(rng.integers(20, 100)), d, k)
    lam, mu = 10 ** rng.uniform(-1.5, 1.5, 2)
    penalty = [l2(lam), l1(lam), elastic_net(lam, mu)][seed % 3]
    tilted = bool(rng.random() < 0.5)
    form = int(rng.integers(1, 3))
    risk = _risk(X, y, form, penalty, INTERCEPTS[int(rng.integers(3))], tilted)
    if tilted:
        theta = rng.standard_normal(risk.rows.shape[1]) / np.sqrt(d)
        return risk, np.ones(risk.n_groups), risk.tilts(theta)
    weights = rng.uniform(0.2, 2, risk.n_groups)
    weights[rng.random(risk.n_groups) < 0.3] = 0.0
    return risk, weights, None


@pytest.mark.parametrize("seed", range(5))
def test_every_solver_that_takes_a_problem_agrees_with_cvxpy(seed: int) -> None:
    risk, weights, tilts = _configuration(seed)
    start = np.zeros(risk.rows.shape[1])
    slow = ReferenceSolver(risk).minimise(WeightedRisk(risk, weights, tilts), start, 1e-9)
    size = max(abs(slow.value), WeightedRisk(risk, weights).value(slow.coefficients))
    names = [name for name in EXACT if refusal(SOLVERS[name], risk) is None]
    assert choose(risk)[0] in names
    for name in names:
        solver = make(name, risk)
        fast = solver.minimise(WeightedRisk(risk, weights, tilts), start, 1e-8)
        assert abs(fast.value - slow.value) <= 1e-6 * size
        assert fast.value <= slow.value + 1e-7 * (1 + size)
        theta = fast.coefficients
        assert fast.value == pytest.approx(
            WeightedRisk(risk, weights, tilts).value(theta), rel=1e-12
        )
        _check_multipliers(risk, weights, tilts, theta, fast.dual)
        again = solver.minimise(
            WeightedRisk(risk, weights, tilts), theta, 1e-8
        )  # from what it keeps
        assert again.value == pytest.approx(fast.value, abs=1e-7 * (1 + size))


def _check_multipliers(
    risk: Risk, weights: Array, tilts: Array | None, theta: Array, dual: Array | None
) -> None:
    """Stationarity, and zeros where an l1 norm is not at its bound."""
    assert dual is not None
    assert np.all(dual >= -1e-9)
    slope = -(risk.rows.T @ dual) + (0 if tilts is None else risk.rows.T @ tilts)
    parts = risk.penalty.parts()
    w, free = theta[risk.penalized], slope[~risk.penalized]
    size = 1 + float(np.max(np.abs(slope)))
    np.testing.assert_allclose(free, 0, atol=1e-4 * size)
    pull = slope[risk.penalized] + parts.ridge * w
    assert np.all(np.abs(pull) <= parts.l1 + 1e-4 * size)
    if np.any(parts.l1):
        slack = np.abs(pull) < parts.l1 - 1e-3 * size
        np.testing.assert_array_equal(w[slack], 0.0)


# ------------------------------------------------------------------------------------------------
# degenerate data


@pytest.mark.parametrize("penalty", [l2(0.5), l1(0.5), elastic_net(0.5, 0.5)], ids=repr)
@pytest.mark.parametrize("form", [1, 2])
def test_without_any_weight_the_penalised_coefficients_vanish(penalty: Any, form: int) -> None:
    rng = np.random.default_rng(1)
    risk = _risk(*_samples(rng, 20, 3, 3), form, penalty)
    start = rng.standard_normal(risk.rows.shape[1])
    for name in choose(risk):
        solution = make(name, risk).minimise(
            WeightedRisk(risk, np.zeros(risk.n_groups)), start, 1e-8
        )
        np.testing.assert_array_equal(solution.coefficients[risk.penalized], 0.0)
        np.testing.assert_array_equal(
            solution.coefficients[~risk.penalized], start[~risk.penalized]
        )
        assert solution.value == 0.0


@pytest.mark.parametrize("penalty", [l2(0.5), l1(0.5), elastic_net(0.5, 0.5)], ids=repr)
@pytest.mark.parametrize("form", [1, 2])
@pytest.mark.parametrize("d", [3, 50])
def test_repeated_samples_count_as_their_weights(penalty: Any, form: int, d: int) -> None:
    rng = np.random.default_rng(2)
    X, y = _samples(rng, 20, d, 3)
    many = _risk(np.repeat(X, 3, axis=0), np.repeat(y, 3), form, penalty)
    one = _risk(X, y, form, penalty)
    start = np.zeros(one.rows.shape[1])
    for name in EXACT:
        if refusal(SOLVERS[name], one) is None:
            repeated = make(name, many).minimise(
                WeightedRisk(many, np.ones(many.n_groups)), start, 1e-8
            )
            weighted = make(name, one).minimise(
                WeightedRisk(one, np.full(one.n_groups, 3.0)), start, 1e-8
            )
            assert repeated.value == pytest.approx(weighted.value, rel=1e-6)


def test_a_tilt_that_nothing_holds_is_unbounded() -> None:
    rng = np.random.default_rng(3)
    for penalty in (l1(0.1), elastic_net(0.1, 1.0)):
        risk = _risk(*_samples(rng, 20, 2, 3), 1, penalty)
        tilts = rng.standard_normal(risk.rows.shape[0])
        for name in choose(risk)[:-1]:
            solver = make(name, risk)
            with pytest.raises(SubproblemError):
                solver.minimise(WeightedRisk(risk, np.full(60, 1e-3), tilts), np.zeros(6), 1e-8)
            with pytest.raises(SubproblemError, match="holds a tilt"):
                solver.minimise(WeightedRisk(risk, np.zeros(60), tilts), np.zeros(6), 1e-8)
            calm = solver.minimise(
                WeightedRisk(risk, np.ones(60)), np.zeros(6), 1e-8
            )  # and works again
            assert 0 < calm.value < WeightedRisk(risk, np.ones(60)).value(np.zeros(6))


def test_sparse_samples_are_the_same_problem() -> None:
    rng = np.random.default_rng(4)
    X, y = _samples(rng, 40, 30, 3)
    X[rng.random(X.shape) < 0.7] = 0.0
    for penalty in (l2(0.3), l1(0.3), elastic_net(0.3, 0.3)):
        for name in EXACT:
            dense, sparse = (_risk(Z, y, 2, penalty) for Z in (X, sp.csr_array(X)))
            if refusal(SOLVERS[name], dense) is None:
                values = [
                    make(name, risk)
                    .minimise(WeightedRisk(risk, np.ones(40)), np.zeros(62), 1e-9)
                    .value
                    for risk in (dense, sparse)
                ]
                assert values[0] == pytest.approx(values[1], rel=1e-8)


# ------------------------------------------------------------------------------------------------
# other losses and penalties


@pytest.mark.parametrize("base", [absolute(), pinball(0.3), epsilon_insensitive(0.2)], ids=repr)
@pytest.mark.parametrize("penalty", [l1(0.7), elastic_net(0.7, 0.4), mcp(0.8, 3.0)], ids=repr)
def test_piecewise_linear_losses_of_residuals(base: Any, penalty: Any) -> None:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 15))
    y = X[:, 0] - 2 * X[:, 1] + rng.standard_t(2, 60) + 7
    risk = Risk.from_loss(residual_rows(X, y), base, penalty)
    shrinkage = None if penalty.is_convex else risk.penalty.weights(np.zeros(15))
    weights, start = rng.uniform(0, 2, 60), np.zeros(16)
    slow = ReferenceSolver(risk).minimise(
        WeightedRisk(risk, weights, shrinkage=shrinkage), start, 1e-9
    )
    for name in EXACT:
        if refusal(SOLVERS[name], risk) is None:
            solver = make(name, risk)
            fast = solver.minimise(WeightedRisk(risk, weights, shrinkage=shrinkage), start, 1e-9)
            assert fast.value == pytest.approx(slow.value, rel=1e-6)
            assert np.sum(fast.coefficients != 0) <= np.sum(np.abs(slow.coefficients) > 1e-6)
            assert fast.dual is not None
            assert fast.dual.shape == (60,)


@pytest.mark.parametrize("penalty", [l1(1.0), elastic_net(1.0, 0.5)], ids=repr)
def test_binary_hinges_have_exact_zeros(penalty: Any) -> None:
    rng = np.random.default_rng(6)
    X = rng.standard_normal((80, 120))
    y = X[:, 0] + X[:, 1] + 0.3 * rng.standard_normal(80) > 0
    result = dc.solve(Risk.from_loss(binary_margins(X, y), dc.cap(hinge(), 1.0), penalty))
    assert result.status == "converged"
    assert result.x is not None
    assert 0 < np.count_nonzero(result.x[:-1]) < 60
    assert result.solver in EXACT


@pytest.mark.parametrize("form", [1, 2])
@pytest.mark.parametrize("tilted", [False, True])
@pytest.mark.parametrize("penalty", [l2(0.3), l1(0.3), elastic_net(0.3, 0.3)], ids=repr)
def test_whole_runs_end_where_cvxpy_goes_no_further(form: int, tilted: bool, penalty: Any) -> None:
    rng = np.random.default_rng(7)
    X, y = _samples(rng, 40, 8, 3)
    y[:4] = (y[:4] + 1) % 3
    risk = _risk(X, y, form, penalty, "penalised", tilted)
    fast = dc.solve(risk, start="convex", n_starts=1)
    assert fast.x is not None
    slow = dc.solve(risk, start=fast.x, solver="cvxpy")  # at ties other starts part their ways
    assert fast.status == slow.status == "converged"
    assert not fast.history.attempts
    assert np.all(np.diff(fast.history.value) <= 1e-7 * (1 + abs(fast.value)))
    assert fast.value == pytest.approx(slow.value, rel=2e-6, abs=2e-6)


# ------------------------------------------------------------------------------------------------
# parts


def _dense_rows(rows: KroneckerRows, size: int, n_local: int) -> Array:
    columns = [rows.forward(*np.split(unit, [n_local])) for unit in np.eye(n_local + size)]
    return np.column_stack(columns)


@pytest.mark.parametrize("dual", [False, True])
@pytest.mark.parametrize("form", [1, 2])
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_kronecker_rows_are_the_matrix_they_stand_for(
    dual: bool, form: int, intercept: str
) -> None:
    rng = np.random.default_rng(8)
    X, y = _samples(rng, 6, 9, 3)
    risk = _risk(X, y, form, elastic_net(1.0, 1.0), intercept)
    design = Polyhedral(risk)
    problem = Subproblem.of(design, WeightedRisk(risk, np.ones(18 if form == 1 else 6)))
    live = np.arange(len(design.code))[1:]
    sparse = np.flatnonzero(problem.l1 > 0)[::2]
    rows = KroneckerRows(design, live, sparse, problem.l2 > 0, dual)
    n_local, p = live.size + sparse.size, problem.l2.size
    R = _dense_rows(rows, p, n_local)
    y_rows, w = rng.standard_normal(rows.n_rows), rng.uniform(0.1, 2, rows.n_rows)
    np.testing.assert_allclose(np.concatenate(rows.adjoint(y_rows)), R.T @ y_rows, atol=1e-12)
    H = R.T @ (w[:, None] * R)
    H[n_local:, n_local:] += np.diag(problem.l2)
    r = rng.standard_normal(n_local + p)
    dt, dx, moved = rows.solve(rows.factor(w, problem.l2), r[:n_local], r[n_local:], y_rows)
    expected = np.linalg.solve(H, -r - R.T @ y_rows)
    np.testing.assert_allclose(np.concatenate([dt, dx]), expected, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(moved, R @ expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_lines_are_the_losses_and_duals_bound_them(seed: int) -> None:
    risk, weights, tilts = _configuration(seed)
    rng = np.random.default_rng(seed)
    weighted = WeightedRisk(risk, weights, tilts)
    problem = Subproblem.of(Polyhedral(risk), weighted)
    x = rng.standard_normal(risk.rows.shape[1])
    theta = problem.design.theta(x)
    assert problem.value(x) == pytest.approx(weighted.value(theta), rel=1e-10)
    for _ in range(5):
        duals = problem.feasible(rng.uniform(-0.2, 1, problem.design.const.shape))
        np.testing.assert_allclose(duals.sum(axis=1), problem.cost, atol=1e-12)
        other = x * rng.uniform(-1, 1, x.size)
        assert problem.bound(x, duals) <= problem.value(other) + 1e-9
        assert problem.value(x) - problem.bound(x, duals) >= -1e-9


def test_the_basis_of_a_linear_program_is_kept_along_a_path() -> None:
    rng = np.random.default_rng(9)
    rows = binary_margins(*(lambda X: (X, X[:, 0] > 0))(rng.standard_normal((60, 40))))
    cold: list[int] = []
    warm: list[int] = []
    for lam in np.linspace(1.0, 2.0, 8):
        risk = Risk.from_loss(rows, hinge(), l1(float(lam)))
        fresh = Risk.from_loss(binary_margins(rows.X, rows.signs[:, 0]), hinge(), l1(float(lam)))
        for one, counts in ((risk, warm), (fresh, cold)):
            solver: Any = make("simplex", one)
            solver.minimise(WeightedRisk(risk, np.ones(60)), np.zeros(41), 1e-8)
            highs = solver.memory.take()
            counts.append(highs.getInfo().simplex_iteration_count)
            solver.memory.put(highs)
    assert sum(warm[1:]) < sum(cold[1:]) / 2


def test_a_memory_is_of_its_rows_and_key_and_forgets() -> None:
    rows = [binary_margins(np.eye(2), [0, 1]) for _ in range(2)]
    WarmStarts(rows[0], "a").put(1)
    assert WarmStarts(rows[1], "a").take() is None
    assert WarmStarts(rows[0], "b").take() is None
    for key in range(10):
        WarmStarts(rows[0], key).put(key)
    assert [WarmStarts(rows[0], key).take() for key in (0, 9)] == [None, 9]
    plain = WarmStarts(np.eye(2), "a")
    plain.put(2)
    assert WarmStarts(np.eye(2), "a").take() is None
    assert plain.take() == 2


@pytest.mark.parametrize(
    ("risk", "solver", "reason"),
    [
        (Risk.from_loss(binary_margins(np.eye(2), [0, 1]), hinge(), l2(1.0)), "simplex", "linear"),
        (Risk.from_loss(np.eye(2), dc.logistic(), l1(1.0)), "interior", "piecewise linear"),
        (
            Risk(np.eye(4), hinge(), groups=[0, 0, 1, 1], aggregate="max"),
            "interior",
            "maxima",
        ),
        (Risk.from_loss(np.eye(2), hinge(), dc.group_lasso(1.0, [0, 0])), "interior", "l1, l2"),
    ],
)
def test_refusals_name_the_reason(risk: Risk, solver: str, reason: str) -> None:
    with pytest.raises(ValueError, match=f"cannot take this risk: .*{reason}"):
        choose(risk, solver)


@pytest.mark.parametrize("unit", [1e-40, 1e40, 2.0**40])
@pytest.mark.parametrize("solver", ["interior", "simplex"])
def test_columns_of_any_size_beside_a_penalised_intercept(solver: str, unit: float) -> None:
    """The minimiser for X·unit and λ·unit is that for X and λ, whatever the unit of X."""
    X, y = _samples(np.random.default_rng(3), 40, 3, 3)
    thetas = []
    for of_columns in (1.0, unit):
        sizes = np.append(np.full(6, of_columns), [1.0, 1.0])
        risk = _risk(X * of_columns, y, 1, weighted_l1(0.3 * sizes), "penalised")
        weighted = WeightedRisk(risk, np.ones(risk.n_groups))
        found = make(solver, risk).minimise(weighted, np.zeros(8), 1e-11)
        thetas.append(found.coefficients * sizes)
    np.testing.assert_allclose(thetas[1], thetas[0], rtol=1e-9, atol=1e-12)
