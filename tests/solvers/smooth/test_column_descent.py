"""Descent by single columns lowers the model, and stands in for Hessians that are too large."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import dcprog as dc
from dcprog.foundation.deadline import Deadline
from dcprog.penalties import Penalty
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.rows.angle import angle_margins
from dcprog.solvers.smooth import proximal_newton
from dcprog.solvers.smooth.column_descent import ColumnDescent
from dcprog.solvers.smooth.proximal_newton import ProximalNewtonSolver


def _risk(penalty: Penalty, classes: int = 2, n: int = 200, p: int = 80) -> Risk:
    rng = np.random.default_rng(0)
    X = sp.random_array((n, p), density=0.1, rng=rng, data_sampler=rng.standard_normal).tocsr()
    y = np.arange(n) % classes
    rows = dc.binary_margins(X, y) if classes == 2 else angle_margins(X, y)
    return Risk(rows, dc.logistic(), penalty=penalty)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_step_falls_by_what_it_says(classes: int) -> None:
    risk = _risk(dc.l1(1.0), classes)
    p, n = risk.rows.shape[1], risk.rows.shape[0]
    rng = np.random.default_rng(1)
    c, g, theta = rng.random(n), rng.standard_normal(p), rng.standard_normal(p)
    l1, l2 = np.where(risk.penalized, 0.3, 0.0), np.full(p, 0.1)
    some = np.arange(1, p)
    d, fall = ColumnDescent(risk).step(c, (g, l2, l1), theta, some, Deadline())
    moved = risk.rows @ d
    model = g @ d + (c @ moved**2 + l2 @ d**2) / 2
    model += l1 @ np.abs(theta + d) - l1 @ np.abs(theta)
    assert d[0] == 0
    assert fall > 0
    assert model == pytest.approx(-fall)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("penalty", [dc.l1(1.0), dc.l2(0.5)], ids=repr)
def test_it_finds_the_minimiser(
    classes: int, penalty: Penalty, monkeypatch: pytest.MonkeyPatch
) -> None:
    risk = _risk(penalty, classes)
    problem = WeightedRisk(risk, np.ones(risk.n_groups))
    start = np.zeros(risk.rows.shape[1])
    exact = ProximalNewtonSolver(risk).minimise(problem, start, 1e-8)
    monkeypatch.setattr(proximal_newton, "MOST_OF_SPARSE", 10)
    monkeypatch.setattr(proximal_newton, "SignSearch", None)
    found = ProximalNewtonSolver(risk).minimise(problem, start, 1e-8)
    assert found.value <= exact.value * (1 + 1e-8)
    if isinstance(penalty, dc.l1):
        np.testing.assert_array_equal(found.coefficients == 0, exact.coefficients == 0)


def test_many_entries_that_are_not_0_end_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proximal_newton, "MOST_OF_SPARSE", 10)
    monkeypatch.setattr("dcprog.solvers.smooth.smooth_problem.MOST_UNKNOWNS", 10)
    risk = Risk.from_loss(_risk(dc.l1(0.2)).rows, dc.cap(dc.logistic(), 2.0), dc.l1(0.2))
    result = dc.solve(risk, solver="proximal_newton")
    assert result.status == "converged"
    assert result.x is not None
    assert np.count_nonzero(result.x) > 10


def test_a_flat_model_falls_to_zeros_where_l1_alone_pulls() -> None:
    risk = _risk(dc.l1(1.0))
    n, p = risk.rows.shape
    theta, g = np.linspace(-1, 1, p), np.zeros(p)
    g[:3] = 2.0
    l1 = np.where(risk.penalized, 1.0, 0.0)
    model = g, np.zeros(p), l1
    d, fall = ColumnDescent(risk).step(np.zeros(n), model, theta, np.arange(p), Deadline())
    held = (l1 == 0) | (g > l1)
    np.testing.assert_array_equal(d, np.where(held, 0.0, -theta))
    assert fall == pytest.approx(np.sum(np.abs(theta[~held])))
