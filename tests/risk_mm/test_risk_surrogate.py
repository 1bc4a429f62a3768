"""The majorant of a risk: above and touching, minimised, settled; and the path to both doors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dcprog as dc
from dcprog.rows.linear import class_margins
from dcprog.transforms import cap_at, cap_largest, power_of
from tests.risk.declarations import capped_risk, class_data


@pytest.mark.parametrize("solver", ["newton", "alternating", "cvxpy"])
def test_majorant_lies_above_and_touches(solver: str) -> None:
    risk = capped_risk()
    surrogate = risk.surrogate(solver)
    rng = np.random.default_rng(6)
    for size in (0.1, 1.0, 10.0):
        centre = size * rng.standard_normal(12)
        surrogate.tighten(centre)
        assert surrogate.majorant_value(centre) == pytest.approx(risk(centre), rel=1e-12)
        for other in centre + size * rng.standard_normal((50, 12)):
            assert surrogate.majorant_value(other) >= risk(other) - 1e-9 * risk(other)


@pytest.mark.parametrize("solver", ["newton", "alternating", "cvxpy"])
def test_minimiser_is_the_majorants(solver: str) -> None:
    surrogate = capped_risk().surrogate(solver)
    rng = np.random.default_rng(7)
    centre = rng.standard_normal(12)
    surrogate.tighten(centre)
    best = surrogate.minimise(centre, 1e-9, surrogate.solvers[0])
    lowest = surrogate.majorant_value(best)
    for size in (1e-4, 1e-2, 1.0):
        for other in best + size * rng.standard_normal((50, 12)):
            assert surrogate.majorant_value(other) >= lowest - 1e-8 * abs(lowest)


def test_unchanged_weights_are_reported() -> None:
    surrogate = capped_risk(transform=cap_at(1e6)).surrogate()
    assert surrogate.tighten(np.zeros(12)) is True
    assert surrogate.tighten(np.ones(12)) is False


def test_infinite_slope_comes_in_gradually_and_the_value_is_the_declared_one() -> None:
    risk = capped_risk(transform=power_of(0.5))
    surrogate = risk.surrogate()
    theta = surrogate.starts("convex", np.random.default_rng(0))
    surrogate.begin(theta)
    settled = []
    for _ in range(12):
        surrogate.tighten(theta)
        settled.append(surrogate.settled)
        value = surrogate.value(theta)
        assert value >= surrogate.objective(theta)
        assert surrogate.majorant_value(theta) == pytest.approx(value, rel=1e-12)
        theta = surrogate.minimise(theta, 1e-8, surrogate.solvers[0])
        assert surrogate.value(theta) <= value + 1e-9 * value
    assert settled[0] is False
    assert settled[-1] is True
    assert surrogate.objective(theta) == risk(theta)


def test_unknown_solver_names_the_choices() -> None:
    with pytest.raises(ValueError, match="'newton'"):
        capped_risk().surrogate("barrier")


def test_adapting_cap_settles_after_its_rounds() -> None:
    surrogate = capped_risk(transform=cap_largest(0.2, rounds=2)).surrogate()
    theta = np.zeros(12)
    seen = []
    for _ in range(3):
        seen.append(surrogate.settled)
        surrogate.tighten(theta)
        theta = surrogate.minimise(theta, 1e-8, "newton")
    assert seen == [False, False, True]
    assert isinstance(surrogate.risk.transform, cap_at)
    surrogate.begin(theta)
    assert not surrogate.settled


# ---- both front doors ----------------------------------------------------------------------------


@pytest.mark.parametrize("aggregate", ["sum", "max"])
def test_both_front_doors_reach_the_same_value(aggregate: str) -> None:
    risk = capped_risk(aggregate=aggregate, rows=class_margins(*class_data(n=12)))
    fast = dc.solve(risk, tol=1e-6, max_iter=500, n_starts=1)
    assert fast.status == "converged"
    assert fast.x is not None
    assert fast.value == pytest.approx(risk(fast.x), rel=1e-12)
    problem = risk.problem()
    slow = dc.solve(problem, start={problem.variables()[0]: fast.x}, tol=1e-6)
    assert slow.value == pytest.approx(fast.value, rel=1e-5)


@pytest.mark.parametrize("solver", ["newton", "cvxpy", "CLARABEL"])
def test_solvers_follow_the_same_path(solver: str) -> None:
    risk = capped_risk()
    options: dict[str, Any] = {"tol": 1e-6, "max_iter": 100, "n_starts": 1}
    reference = dc.solve(risk, **options)
    other = dc.solve(risk, solver=solver, **options)
    assert other.value == pytest.approx(reference.value, rel=1e-6)
    assert np.max(other.history.rise) <= 1e-7 * reference.value


def test_restarts_never_make_it_worse() -> None:
    risk = capped_risk()
    one, many = dc.solve(risk), dc.solve(risk, n_starts=4, random_state=0)
    assert many.value <= one.value + 1e-9
    assert len([s for s in many.starts if s.status != "dropped"]) == 4


def test_the_best_point_is_so_under_the_cap_that_is_set_last() -> None:
    """While the cap moves, values of different functions are no measure of points."""
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(90, 3))
    classes = np.argmax(samples + 0.5 * rng.normal(size=samples.shape), axis=1)
    margins = dc.class_margins(samples, classes)
    cap = cap_largest(0.1, power_of(0.5, 1e-8))
    risk = dc.Risk(margins, dc.squared_hinge(), aggregate="sum", transform=cap, penalty=dc.l2(2.0))
    seen: list[dc.Progress] = []
    result = dc.solve(risk, start="convex", max_iter=4, callback=seen.append)
    final = risk.fixed(seen[-1].x)
    assert result.status == "max_iter"
    assert result.x is not None
    assert result.value == pytest.approx(final(result.x), rel=1e-12)
    assert result.value == pytest.approx(min(final(point.x) for point in seen), rel=1e-12)


def test_no_run_of_ours_ends_above_zero() -> None:
    """The convex start of capped absolute losses may lie above F(0), and its run as well."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((500, 125))
    y = X[:, :100].sum(axis=1) + rng.standard_normal(500)
    y[rng.random(500) < 0.15] += 20
    risk = dc.Risk.from_loss(dc.residual_rows(X, y), dc.cap(dc.absolute(), 1.0), penalty=dc.l1(2.5))
    plain = dc.solve(risk, start="convex")
    bare = dc.solve(risk, start="convex", escape=False)
    assert plain.value <= risk(np.zeros(126)) < bare.value


@pytest.mark.parametrize("lam", [1e4, 1e7])
@pytest.mark.filterwarnings("ignore::dcprog.TrivialSolutionWarning")
def test_the_scale_does_not_count_the_extension_of_an_infinite_slope(lam: float) -> None:
    """Below ε λ|w|^p is extended by a line, above 0 at w = 0: tolerances must not follow λ."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    y = X[:, 0] + rng.normal(size=30)
    risk = dc.Risk.from_loss(dc.residual_rows(X, y), dc.cap(dc.absolute(), 2.0), dc.lp(lam, 0.48))
    result = dc.solve(risk)
    assert result.scale == pytest.approx(result.value)


@pytest.mark.parametrize("start", [32.0, 45.0])
def test_no_run_ends_above_its_start_where_slopes_are_too_steep_to_follow(start: float) -> None:
    # the losses at the start are 1e-14 and less, slopes are followed from 1e-10 of the usual on
    signs = np.append(np.ones(10), -1.0)
    rows = dc.binary_margins(np.ones((11, 1)), signs, fit_intercept=False)
    weights = np.append(np.ones(10), 1e-9)
    loss = dc.power(dc.logistic(), 0.2)
    risk = dc.Risk.from_loss(rows, loss, dc.l2(1e-5), sample_weight=weights)
    result = dc.solve(risk, start=[start])
    assert result.value <= risk(np.array([start]))
    assert result.status != "converged"
