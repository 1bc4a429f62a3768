"""Wells of infinite slope that are narrow: a run that ends in one looks over its rim."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dcprog as dc
from dcprog.engine.track import Settings
from dcprog.risk_mm.starts import over_rims
from dcprog.solving.task import Task

# |u|^0.6 of a mean: a well at 0, where one target lies, and a far deeper one at 1, where ten do.
TARGETS = np.r_[0.0, 1.0 + 1e-3 * np.arange(10)]


def mean_of(loss: dc.Loss) -> dc.Risk:
    rows = dc.residual_rows(np.ones((TARGETS.size, 1)), TARGETS, fit_intercept=False)
    return dc.Risk.from_loss(rows, loss, dc.l2(1e-9))


@pytest.mark.parametrize("beside", [3e-3, -5e-3])
def test_a_run_that_starts_in_a_narrow_well_leaves_it(beside: float) -> None:
    risk = mean_of(dc.power(dc.square(), 0.3))
    result = dc.solve(risk, start=np.array([beside]), n_starts=1)
    assert result.status == "converged"
    assert result.value < 0.1 * risk(np.zeros(1)) + risk(np.ones(1))
    assert result.x is not None
    assert abs(result.x[0] - 1) < 1e-2


def test_the_loop_alone_stays_there() -> None:
    risk = mean_of(dc.power(dc.square(), 0.3))
    task: Task[Any] = Task(risk, None, Settings(escape=False))
    run = task(np.array([3e-3]), np.random.SeedSequence(0))
    assert run is not None
    assert run.x is not None
    assert abs(run.x[0]) < 1e-2


def test_where_slopes_are_finite_there_are_no_rims() -> None:
    risk = mean_of(dc.cap(dc.square(), 0.5))
    assert not list(over_rims(risk, np.zeros(1), lambda problem, centre, aim: centre))
