"""The simplex method ends, beside other uses of HiGHS in the process."""

from __future__ import annotations

import highspy
import numpy as np

import dcprog as dc
from dcprog.rows.linear import Samples


def test_where_highs_goes_in_circles() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(20, 60)), 5 * rng.normal(size=20)
    y[:6] += 20
    risk = dc.Risk.from_loss(Samples(X), dc.cap(dc.absolute(), 1.0), dc.l2(0.0), offset=-y)
    result = dc.solve(risk, time_limit=60)
    assert result.status == "converged"
    assert result.value <= 1e-9


def test_highs_may_have_been_used_with_more_threads() -> None:
    """Its threads are one pool a process; a solve that asks for another number is refused."""
    highspy.Highs.resetGlobalScheduler(True)
    other = highspy.Highs()
    other.setOptionValue("output_flag", False)
    other.setOptionValue("threads", 2)
    other.addVariable(0.0, 1.0, 1.0)
    other.run()
    try:
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
        risk = dc.Risk.from_loss(Samples(X), dc.absolute(), dc.l1(0.3), offset=-y)
        result = dc.solve(risk, solver="simplex")
    finally:
        highspy.Highs.resetGlobalScheduler(True)
    assert result.status == "converged"
    assert result.solver == "simplex"
