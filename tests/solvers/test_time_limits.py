"""Solvers cut short, by the clock or as the data are lost: calls not begun, and points kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import dcprog as dc
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import DataLost, SubproblemError
from dcprog.risk.weighted import WeightedRisk
from dcprog.rows.angle import angle_differences
from dcprog.solvers.conic.reference import ReferenceSolver
from dcprog.solvers.piecewise import interior
from dcprog.solvers.piecewise.dual_coordinate import DualCoordinateSolver
from dcprog.solvers.piecewise.interior import interior_candidate
from dcprog.solvers.piecewise.polyhedral import Polyhedral, Subproblem


def _problem(n: int, d: int) -> WeightedRisk:
    rng = np.random.default_rng(0)
    rows = angle_differences(rng.standard_normal((n, d)), np.arange(n) % 3)
    return WeightedRisk(dc.Risk(rows, dc.hinge(), aggregate="max", penalty=dc.l2(1.0)), np.ones(n))


def test_a_large_conic_program_is_not_begun() -> None:
    problem = _problem(600, 700)
    solver, start = ReferenceSolver(problem.risk), np.zeros(problem.risk.rows.shape[1])
    with pytest.raises(SubproblemError, match=r"s are too many for 0\.\d+ s"):
        solver.minimise(problem, start, 1e-6, time_limit=0.1)


def test_a_sparse_one_whose_factors_fill_in_is_not_begun() -> None:
    rng = np.random.default_rng(0)
    X = sp.random_array((4000, 4000), density=0.01, rng=rng, data_sampler=rng.standard_normal)
    risk = dc.Risk(dc.binary_margins(X.tocsr(), np.arange(4000) % 2), dc.hinge())
    problem, start = WeightedRisk(risk, np.ones(4000)), np.zeros(4001)
    with pytest.raises(SubproblemError, match="s are too many for"):
        ReferenceSolver(risk).minimise(problem, start, 1e-6, time_limit=10.0)


def test_weighted_squares_beyond_cvxpys_memory_are_refused() -> None:
    rows = dc.binary_margins(np.ones((20_000, 1)), np.arange(20_000) % 2)
    with pytest.raises(ValueError, match="weighted squares is more than 1 GB"):
        dc.solve(dc.Risk(rows, dc.squared_hinge()), solver="cvxpy")


def test_a_small_one_is() -> None:
    problem = _problem(30, 4)
    start = np.zeros(problem.risk.rows.shape[1])
    found = ReferenceSolver(problem.risk).minimise(problem, start, 1e-6, time_limit=60.0)
    assert problem.value(found.coefficients) < problem.value(start)


def test_a_deadline_between_subsets_of_features_leaves_the_last_point(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2000))
    risk = dc.Risk(dc.binary_margins(X, X[:, 0] > 0), dc.hinge(), penalty=dc.l1(0.5))
    weighted = WeightedRisk(risk, np.ones(40))
    problem, deadline = Subproblem.of(Polyhedral(risk), weighted), Deadline(1000.0)
    whole = interior._whole

    def last(*rest: Any) -> Any:
        found = whole(*rest)
        deadline.end = 0.0
        return replace(found, duals=3 * found.duals)  # under which more features are needed

    monkeypatch.setattr(interior, "_whole", last)
    with pytest.raises(SubproblemError, match="time limit") as caught:
        interior_candidate(problem, 1e-8, deadline)
    assert caught.value.point.shape == (2001,)
    assert weighted.value(caught.value.point) < weighted.value(np.zeros(2001))


def test_a_run_whose_solver_has_no_time_for_a_step_ends_at_the_time_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X = np.random.default_rng(0).standard_normal((40, 200))
    risk = dc.Risk(dc.binary_margins(X, X[:, 0] > 0), dc.hinge(), penalty=dc.l1(0.5))
    monkeypatch.setattr(interior, "RATE", 1e-3)
    result = dc.solve(risk, solver="interior", time_limit=100.0)
    assert result.status == "time_limit"
    assert result.value == risk(np.zeros(201))


def test_data_lost_after_the_last_score_leave_its_point(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    risk = dc.Risk(dc.binary_margins(X, X[:, 0] > 0), dc.hinge(), penalty=dc.l2(1.0))
    problem = WeightedRisk(risk, np.ones(60))
    kept = DualCoordinateSolver(risk).minimise(problem, np.zeros(3), 1e-6).coefficients

    def lost(*_: Any) -> float:
        raise DataLost("the cluster is gone")

    monkeypatch.setattr(WeightedRisk, "value", lost)
    with pytest.raises(DataLost) as told:
        DualCoordinateSolver(risk).minimise(problem, np.zeros(3), 1e-6)
    np.testing.assert_array_equal(told.value.point, kept)
