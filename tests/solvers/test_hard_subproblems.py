"""Subproblems without weights, without a minimum, on few samples, and such as are cut short."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.solvers.conic.compiled import CompiledProblem
from dcprog.solvers.piecewise import interior
from dcprog.solvers.registry import SOLVERS, make, refusal
from dcprog.solvers.smooth.weighted_lasso import ColumnGram


def samples(n: int, p: int, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, 0] + rng.standard_normal(n)


TAKING = [
    (name, base, penalty)
    for base, penalty in (
        (dc.absolute(), dc.l2(2.0)),
        (dc.absolute(), dc.l1(1.0)),
        (dc.square(), dc.l2(2.0)),
        (dc.square(), dc.l1(1.0)),
    )
    for name, solver in SOLVERS.items()
    if refusal(solver, Risk(dc.residual_rows(np.eye(3), np.ones(3)), base, penalty=penalty)) is None
]


@pytest.mark.parametrize(("name", "base", "penalty"), TAKING, ids=str)
def test_without_weights_tilts_that_cancel_but_for_rounding_are_held(
    name: str, base: Any, penalty: Any
) -> None:
    """The intercept's slope is 1e-16, and no loss has a weight: by hand the minimum is known."""
    X, y = samples(20, 3)
    risk = Risk(dc.residual_rows(X, y), base, penalty=penalty)
    tilts = np.random.default_rng(1).standard_normal(20)
    tilts -= tilts.mean()
    if "l1" in repr(penalty):
        tilts /= 2 * np.max(np.abs(X.T @ tilts))  # within what the ℓ1 norm holds
    assert 0 < abs(float(np.sum(tilts))) < 1e-14
    found = make(name, risk).minimise(WeightedRisk(risk, np.zeros(20), tilts), np.zeros(4), 1e-8)
    pull = risk.rows.T @ tilts
    ridge = penalty.parts().ridge
    least = -float(pull[:3] @ pull[:3]) / (2 * ridge) if ridge else 0.0
    assert found.value == pytest.approx(least + float(tilts @ risk.margins(np.zeros(4))), abs=1e-6)


def test_tilts_of_0_count_as_none_for_cvxpy() -> None:
    X, y = samples(3, 40)
    risk = Risk(dc.residual_rows(X * np.r_[1e4, np.ones(39)], y), dc.square(), penalty=dc.l2(100.0))
    start = np.random.default_rng(0).standard_normal(41)
    problem = WeightedRisk(risk, np.zeros(3), np.zeros(3))
    assert make("cvxpy", risk).minimise(problem, start, 1e-8).value == 0.0


def test_screening_ends_where_no_sample_holds_the_intercept() -> None:
    """Most weights are 0, so the samples that bend never are half of all."""
    X, score = samples(10_000, 6)
    risk = Risk(dc.binary_margins(X, score > 0), dc.hinge())
    weights = np.where(np.random.default_rng(0).random(10_000) < 0.3, 1.0, 0.0)
    solver = make("multipliers", risk)
    first = solver.minimise(WeightedRisk(risk, weights), np.zeros(7), 1e-8)
    tilts = np.where(score > 0, -1.0, 1.0)
    with pytest.raises(SubproblemError, match="unbounded"):
        solver.minimise(WeightedRisk(risk, weights, tilts), first.coefficients, 1e-8, 30.0)


@pytest.mark.parametrize(("n", "p"), [(400, 1000), (100, 300)])
def test_multipliers_leave_envelopes_that_are_too_narrow(n: int, p: int) -> None:
    X, score = samples(n, p)
    risk = Risk(dc.binary_margins(X, score > 0), dc.hinge())
    problem, zero = WeightedRisk(risk, np.ones(n)), np.zeros(p + 1)
    ours, theirs = (
        make(name, risk).minimise(problem, zero, 1e-8) for name in ("multipliers", "interior")
    )
    assert ours.value == pytest.approx(theirs.value, abs=1e-7)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "base", [dc.hinge(), dc.squared_hinge(), dc.absolute(), dc.huber(0.5)], ids=repr
)
def test_dual_coordinate_descent_ends_on_few_samples(base: Any, seed: int) -> None:
    X, score = samples(8, 5, seed)
    rows = dc.binary_margins(X, score > 0) if "hinge" in repr(base) else dc.residual_rows(X, score)
    risk = Risk(rows, base)
    problem, zero = WeightedRisk(risk, np.ones(8)), np.zeros(6)
    ours, theirs = (
        make(name, risk).minimise(problem, zero, 1e-8) for name in ("dual_coordinate", "cvxpy")
    )
    assert ours.value == pytest.approx(theirs.value, abs=1e-6)


def test_features_whose_program_fails_give_way_to_all_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, score = samples(40, 120)
    risk = Risk(dc.residual_rows(X, score), dc.absolute(), penalty=dc.l1(3.0))
    problem, zero = WeightedRisk(risk, np.ones(40)), np.zeros(121)
    whole = interior._whole

    def of_all(program: Any, *rest: Any) -> Any:
        if program.design.d < 121:
            raise SubproblemError("failed", "a part of the features")
        return whole(program, *rest)

    monkeypatch.setattr(interior, "_whole", of_all)
    ours, theirs = (make(n, risk).minimise(problem, zero, 1e-8) for n in ("interior", "simplex"))
    assert ours.value == pytest.approx(theirs.value, rel=1e-7)


def kernel_machine(n: int) -> Risk:
    X, score = samples(n, 3)
    K = np.exp(-np.sum((X[:, None] - X) ** 2, axis=2))
    return Risk(dc.kernel_margins(K, score > 0), dc.hinge(), penalty=dc.l2(1e-3))


def line(n: int) -> Risk:
    X, y = samples(n, 30)
    return Risk(dc.residual_rows(X, y), dc.absolute())


@pytest.mark.parametrize(
    ("name", "risk", "before"),
    [("smo", kernel_machine(400), 4), ("pivoting", line(2000), 1)],
    ids=["smo", "pivoting"],
)
def test_a_time_limit_leaves_the_point_reached(
    name: str, risk: Risk, before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock stands still for the first readings, and the limit passes then."""
    problem, zero = WeightedRisk(risk, np.ones(risk.n_groups)), np.zeros(risk.rows.shape[1])
    make(name, risk).minimise(problem, zero, 1e-8)  # compiled loops are compiled
    clock = iter([0.0] * before)
    monkeypatch.setattr("dcprog.foundation.deadline.time.perf_counter", lambda: next(clock, 100.0))
    with pytest.raises(SubproblemError, match="time limit") as caught:
        make(name, risk).minimise(problem, zero, 1e-12, 1.0)
    assert problem.value(caught.value.point) < problem.value(zero)


def test_an_interrupt_leaves_no_half_filled_gram_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = samples(50, 30)
    first, risk = (Risk(dc.residual_rows(X, y), dc.square(), penalty=dc.l1(1.0)) for _ in range(2))
    problem, zero = WeightedRisk(risk, np.ones(50)), np.zeros(31)
    expected = make("proximal_newton", first).minimise(problem, zero, 1e-10).value

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("dcprog.solvers.smooth.weighted_lasso.dense", interrupted)
        with pytest.raises(KeyboardInterrupt):
            make("proximal_newton", risk).minimise(problem, zero, 1e-10)
    again = make("proximal_newton", risk).minimise(problem, zero, 1e-10)
    assert again.value == pytest.approx(expected, rel=1e-9)


def test_a_gram_matrix_of_many_columns_is_begun_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dcprog.solvers.smooth.weighted_lasso.MOST_UNKNOWNS", 20)
    X, _ = samples(10, 100)
    gram = ColumnGram(X, np.ones(10), centred=True)
    Z = X - X.mean(axis=0)
    for first in range(0, 100, 15):
        some = np.arange(first, min(first + 15, 100))
        np.testing.assert_allclose(gram.block(some), Z[:, some].T @ Z[:, some], atol=1e-12)
        np.testing.assert_allclose(gram.times(some, np.ones(some.size)), X[:, some].sum(axis=1))
        np.testing.assert_allclose(gram.means(some), X[:, some].mean(axis=0), atol=1e-12)
        assert gram.size <= 20


def test_an_interrupt_leaves_no_solver_half_done(monkeypatch: pytest.MonkeyPatch) -> None:
    x = cp.Variable(3)
    compiled = CompiledProblem(cp.Problem(cp.Minimize(cp.sum_squares(x - 1)), [x >= 2]), "OSQP")
    compiled.minimise(1e-8)
    assert compiled._cache

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(compiled._chain.solver, "solve_via_data", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compiled.minimise(1e-8)
    assert not compiled._cache
