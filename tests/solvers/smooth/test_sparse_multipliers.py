"""The method of multipliers by proximal Newton steps, for kinks under ℓ1 on sparse samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import dcprog as dc
from dcprog.foundation.errors import SubproblemError
from dcprog.losses import ConvexLoss, hinge, huber, pinball
from dcprog.penalties import Penalty
from dcprog.risk.duality import duality_gap
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.solvers import registry
from dcprog.solvers.piecewise.interior import InteriorSolver
from dcprog.solvers.registry import choose
from dcprog.solvers.smooth import proximal_newton
from dcprog.solvers.smooth.multipliers import MultipliersSolver, SparseMultipliers


def _problem(base: ConvexLoss, penalty: Penalty) -> WeightedRisk:
    rng = np.random.default_rng(0)
    X = sp.random_array((120, 30), density=0.2, rng=rng, data_sampler=rng.standard_normal).tocsr()
    rows = dc.binary_margins(X, rng.integers(0, 2, 120))
    weights = rng.random(120)
    weights[:10] = 0.0
    return WeightedRisk(Risk(rows, base, penalty=penalty), weights)


@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("penalty", [dc.l1(0.5), dc.elastic_net(0.5, 0.5)], ids=repr)
@pytest.mark.parametrize("base", [hinge(), pinball(0.3)], ids=repr)
def test_it_agrees_with_the_interior_point_method(
    base: ConvexLoss, penalty: Penalty, by_columns: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if by_columns:
        monkeypatch.setattr(proximal_newton, "MOST_OF_SPARSE", 5)
    problem = _problem(base, penalty)
    start = np.zeros(31)
    exact = InteriorSolver(problem.risk).minimise(problem, start, 1e-9)
    found = MultipliersSolver(problem.risk).minimise(problem, start, 1e-5)
    assert exact.value - 1e-8 <= found.value <= exact.value + 1e-5 * (1 + exact.value)
    gap = duality_gap(problem, found.coefficients, found.dual, start)
    assert gap <= 1e-4 * (1 + found.value)


def test_samples_that_a_step_puts_beyond_all_knots_come_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(proximal_newton, "MOST_OF_SPARSE", 10)
    rng = np.random.default_rng(1)
    X = sp.random_array((40, 200), density=0.1, rng=rng, data_sampler=rng.standard_normal).tocsr()
    rows = dc.binary_margins(X, X.toarray() @ rng.standard_normal(200) > 0)
    problem = WeightedRisk(Risk(rows, hinge(), penalty=dc.l1(0.3)), np.ones(40))
    found = MultipliersSolver(problem.risk).minimise(problem, np.zeros(201), 1e-4)
    exact = InteriorSolver(problem.risk).minimise(problem, np.zeros(201), 1e-9)
    assert found.value == pytest.approx(exact.value, rel=1e-4)


def test_an_l1_hinge_on_large_sparse_samples_is_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proximal_newton, "LARGE", 10)
    monkeypatch.setattr(registry, "SPARSE_SHORT", 1)
    monkeypatch.setattr(registry, "NARROW", 1)
    problem = _problem(hinge(), dc.l1(0.5))
    assert choose(problem.risk)[:2] == ("multipliers", "interior")
    result = dc.solve(problem.risk)
    assert result.status == "converged"


def test_the_interior_point_method_ends_with_its_point(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = _problem(hinge(), dc.l2(0.5))
    ticks = iter(range(10_000))
    # each look at the clock takes a second
    monkeypatch.setattr("time.perf_counter", lambda: float(next(ticks)))
    with pytest.raises(SubproblemError, match="time limit ended the interior") as caught:
        InteriorSolver(problem.risk).minimise(problem, np.zeros(31), 1e-12, time_limit=30.0)
    assert caught.value.point is not None
    assert caught.value.point.shape == (31,)
    assert np.any(caught.value.point)


def test_a_step_that_would_pass_the_deadline_is_not_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dcprog.solvers.piecewise.interior.RATE", 1.0)
    problem = _problem(hinge(), dc.l2(0.5))
    with pytest.raises(SubproblemError, match="time limit ended the interior"):
        InteriorSolver(problem.risk).minimise(problem, np.zeros(31), 1e-9, time_limit=60.0)
    found = InteriorSolver(problem.risk).minimise(problem, np.zeros(31), 1e-9)
    assert np.any(found.coefficients)


def test_rounds_end_where_rounding_hides_what_they_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = []
    plain = SparseMultipliers._round

    def counting(*args: Any) -> Any:
        place, steps = plain(*args)
        counted.append(steps)
        return place, steps

    monkeypatch.setattr(SparseMultipliers, "_round", counting)
    rng = np.random.default_rng(0)
    rows = dc.residual_rows(rng.normal(size=(17, 6)), rng.normal(size=17), False)
    weights = 1e12 * rng.random(17)
    problem = WeightedRisk(Risk(rows, huber(1e-14), penalty=dc.l1(1e-4)), weights)
    with pytest.raises(SubproblemError, match="duality gap stayed"):
        MultipliersSolver(problem.risk).minimise(problem, np.zeros(6), 1e-8)
    assert len(counted) <= 6  # each repeats the last one: 30 took most of a fit's time
