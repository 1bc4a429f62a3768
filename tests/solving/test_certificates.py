"""Certificates: they pass at solutions and fail beside them, in any units."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog.engine.result import Result
from dcprog.foundation.arrays import Array

TOL = 1e-9  # at which a step of 1e-3 shows in smooth functions, too
RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 4))
LABELS = np.where(RNG.random(50) < 0.15, -1, 1) * np.sign(X @ np.ones(4))
RESPONSES = X @ np.ones(4) + RNG.standard_t(1.5, size=50)
MARGINS, RESIDUALS = dc.binary_margins(X, LABELS), dc.residual_rows(X, RESPONSES)

CLASSIFY = {
    "hinge": dc.hinge(),
    "capped": dc.cap(dc.hinge(), 1.0),
    "truncated": dc.truncate(dc.hinge(), -0.5),
    "trimmed": dc.trim(dc.hinge(), 0.1),
    "capped square": dc.cap(dc.squared_hinge(), 2.0),
    "rescaled": dc.rescale(dc.hinge(), 0.5),
    "log of logistic": dc.log(dc.logistic(), 1.0),
    "root": dc.power(dc.hinge(), 0.5),
}
REGRESS = {
    "capped absolute": dc.cap(dc.absolute(), 1.0),
    "tukey": dc.tukey(dc.square(), 4.0),
    "trimmed squares": dc.trim(dc.square(), 0.2),
    "huber": dc.huber(1.0),
    "capped pinball": dc.cap(dc.pinball(0.2), 1.0),
}
PENALTIES = {
    "l2": dc.l2(1.0),
    "l1": dc.l1(1.0),
    "elastic net": dc.elastic_net(0.5, 0.5),
    "mcp": dc.mcp(2.0, 3.0),
    "groups": dc.group_lasso(2.0, [0, 0, 1, 2]),
    "lp": dc.lp(1.0, 0.5),
    "capped l1": dc.capped_l1(1.0, 0.5),
}
SEVERAL = dc.angle_margins(X, np.digitize(X[:, 0], [-0.5, 0.5]))
PAIRS = dc.angle_differences(X, np.digitize(X[:, 0], [-0.5, 0.5]))
ROWS = {
    "a sum of rows": dc.Risk(SEVERAL, dc.squared_hinge(), aggregate="sum", transform=dc.cap_at(4)),
    "a maximum of rows": dc.Risk(PAIRS, dc.hinge(), aggregate="max", transform=dc.cap_at(1.5)),
    "a kernel": dc.Risk.from_loss(
        dc.kernel_margins(np.exp(-((X[:, None] - X) ** 2).sum(-1)), LABELS),
        dc.cap(dc.squared_hinge(), 1.0),
    ),
}


def beside(result: Result, seed: int) -> Result:
    assert result.x is not None
    noise = np.random.default_rng(seed).standard_normal(result.x.size)
    return replace(result, x=result.x * (1 + 1e-3 * noise))


def check(result: Result, value: Callable[[Array], float] | None = None) -> None:
    """It holds at the end, and at no point beside it, but where `value` is as low there."""
    assert result.status == "converged"
    certificate = result.certificate(tol=TOL)
    assert certificate.holds, str(certificate)
    assert certificate.d_stationary is not False
    for seed in range(3):
        moved = beside(result, seed)
        is_as_low = value is not None and moved.x is not None and value(moved.x) <= result.value
        assert is_as_low or not moved.certificate(tol=TOL).holds


def solved(problem: Any, **options: Any) -> Result:
    return dc.solve(problem, start="convex", n_starts=1, tol=TOL, max_iter=3000, **options)


# Every loss with two penalties, every penalty with at least three losses.
PAIRED = [
    (loss, list(PENALTIES)[(k + shift) % len(PENALTIES)])
    for k, loss in enumerate([*CLASSIFY, *REGRESS])
    for shift in (0, 3)
]


@pytest.mark.parametrize(("loss", "penalty"), PAIRED)
def test_risks(loss: str, penalty: str) -> None:
    rows = MARGINS if loss in CLASSIFY else RESIDUALS
    declared = (CLASSIFY | REGRESS)[loss]
    risk = dc.Risk.from_loss(rows, declared, PENALTIES[penalty])
    # where all is capped or straight, F may be flat
    check(solved(risk), risk)


@pytest.mark.parametrize("name", ROWS)
def test_groups_of_rows_and_kernels(name: str) -> None:
    check(solved(ROWS[name]))


w = cp.Variable(4)
u, r = cp.multiply(LABELS, X @ w), X @ w - RESPONSES
RIDGE = 0.5 * cp.sum_squares(w)
RAMP = cp.sum(cp.minimum(cp.pos(1 - LABELS[:, None] * X @ w), 1)) + RIDGE
PROBLEMS = {
    "ramp": cp.Problem(cp.Minimize(RAMP)),
    "capped squares": cp.Problem(cp.Minimize(cp.sum(cp.minimum(cp.square(r), 2)) + RIDGE)),
    "capped absolute": cp.Problem(cp.Minimize(cp.sum(cp.minimum(cp.abs(r), 1)) + cp.norm1(w))),
    "trimmed": cp.Problem(
        cp.Minimize(cp.sum(cp.square(r)) - cp.sum_largest(cp.square(r), 6) + RIDGE)
    ),
    "logarithms": cp.Problem(cp.Minimize(cp.sum_squares(r) + 3 * cp.sum(cp.log(1 + cp.abs(w))))),
    "in a box": cp.Problem(cp.Minimize(-cp.sum_squares(X @ w)), [cp.norm_inf(w) <= 1]),
    "outside a ball": cp.Problem(cp.Minimize(cp.sum_squares(w - 0.1)), [cp.norm(w) >= 1]),
    "on a sphere": cp.Problem(cp.Minimize(RESPONSES[:4] @ w), [cp.sum_squares(w) == 1]),
    "under equations": cp.Problem(cp.Minimize(RAMP), [cp.sum(w) == 0.3, w <= 0.5]),
    "maximised": cp.Problem(cp.Maximize(cp.sum(cp.log(1 + cp.abs(w))) - cp.sum_squares(w - 1))),
    "convex": cp.Problem(cp.Minimize(cp.norm1(r) + RIDGE)),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_cvxpy_problems(name: str) -> None:
    check(solved(PROBLEMS[name]))


@pytest.mark.parametrize("factor", [1e-12, 1e12])
def test_certificates_have_no_units(factor: float) -> None:
    loss = CLASSIFY["capped square"]
    result = solved(dc.Risk.from_loss(MARGINS, loss, dc.l2(1.0)))
    scaled = solved(dc.Risk.from_loss(MARGINS, factor * loss, dc.l2(factor)))
    goal = PROBLEMS["capped squares"].objective.args[0]
    one, other = (solved(cp.Problem(cp.Minimize(f * goal))) for f in (1.0, factor))
    for pair in ((result, scaled), (one, other)):
        ours, theirs = (beside(r, 0).certificate(tol=TOL) for r in pair)
        assert ours.residual is not None
        assert theirs.residual is not None
        assert theirs.residual.measured == pytest.approx(ours.residual.measured, rel=1e-2)
        for found in pair:
            assert found.certificate(tol=TOL).holds


def test_variables_keep_their_values() -> None:
    result = solved(PROBLEMS["ramp"])
    w.value = np.arange(4.0)
    assert result.certificate(tol=TOL).holds
    np.testing.assert_array_equal(w.value, np.arange(4.0))


def test_a_cap_that_the_run_has_set_stays() -> None:
    risk = dc.Risk(MARGINS, dc.squared_hinge(), transform=dc.cap_largest(0.1))
    for result in (solved(risk), dc.solve(risk, tol=TOL)):
        assert result.certificate(tol=TOL).gap.holds


def test_what_is_pickled_has_what_the_run_said(monkeypatch: pytest.MonkeyPatch) -> None:
    again = pickle.loads(pickle.dumps(solved(PROBLEMS["ramp"])))
    certificate = again.certificate(tol=TOL)
    assert certificate.holds
    assert certificate.residual is None
    assert certificate.d_stationary is None
    monkeypatch.setattr(Result, "_lower_bound", staticmethod(lambda *args, **options: None))
    with pytest.raises(ValueError, match="does not hold its problem"):
        again.certificate(bound=True)


def test_without_a_maker_of_bounds_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Result, "_lower_bound", None)
    with pytest.raises(ValueError, match="bound=True"):
        solved(PROBLEMS["ramp"]).certificate(bound=True)


def test_a_bound_is_asked_for_with_the_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def lower_bound(problem: Any, **options: Any) -> Any:
        asked.append((problem, options))
        return SimpleNamespace(value=1.0, gap=0.1)

    monkeypatch.setattr(Result, "_lower_bound", staticmethod(lower_bound))
    result = solved(PROBLEMS["ramp"])
    assert result.certificate().bound is None
    assert not asked
    certificate = result.certificate(bound=True, time_limit=3.0)
    assert str(certificate).endswith(str(certificate.bound))
    assert (certificate.bound.value, certificate.bound.gap) == (1.0, 0.1)
    assert asked[0][0] is PROBLEMS["ramp"]
    assert asked[0][1] == {"start": result, "time_limit": 3.0}


def test_no_time_leaves_what_is_known() -> None:
    result = solved(dc.Risk.from_loss(MARGINS, CLASSIFY["capped"], dc.l2(1.0)))
    certificate = result.certificate(time_limit=1e-9)
    assert certificate.gap.holds
    assert certificate.d_stationary is not False


def test_a_penalty_of_unknown_form_leaves_the_residual_open() -> None:
    class largest(dc.Penalty):
        def __call__(self, w: Any) -> float:
            return float(np.max(np.abs(w)))

        def slope(self, w: Any) -> Any:
            return np.sign(w) * (np.arange(w.size) == np.argmax(np.abs(w)))

        def expression(self, w: cp.Expression) -> cp.Expression:
            return cp.norm_inf(w)

    certificate = solved(dc.Risk.from_loss(MARGINS, dc.hinge(), largest())).certificate(tol=TOL)
    assert certificate.residual is None
    assert certificate.d_stationary is None


@pytest.mark.parametrize("options", [{"tol": 0}, {"tol": "fine"}, {"time_limit": -1.0}])
def test_bad_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError), match=next(iter(options))):
        solved(PROBLEMS["ramp"]).certificate(**options)


def test_a_proximal_step_asks_no_solver_that_takes_seconds_to_miss_it() -> None:
    t = np.linspace(0, 1, 20)
    a, b, c = cp.Variable(), cp.Variable(), cp.Variable()
    misfit = a * cp.nlp.tanh(b * t + c) - np.tanh(3 * t - 1)
    result = dc.solve(cp.Problem(cp.Minimize(cp.sum_squares(misfit))))
    assert result.value <= 1e-6
    near = [attempt.solver for attempt in result.history.attempts if "near" in attempt.outcome]
    assert "SCS" not in near
