"""The time limit of a fit counts the estimator's own passes, and no solver is asked after it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import dcprog as dc
from dcprog.engine.descent import descend
from dcprog.engine.track import Settings
from dcprog.estimators import loop
from dcprog.foundation import deadline
from dcprog.risk_mm.surrogate import Subproblems
from dcprog.solvers.piecewise.dual_coordinate import DualSteps


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock of deadlines that stands still; `now` moves it."""
    clock = SimpleNamespace(now=0.0)
    clock.perf_counter = lambda: clock.now
    monkeypatch.setattr(deadline, "time", clock)
    return clock


def _data() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    return X, X[:, 0] + 0.5 * rng.standard_normal(60) > 0


def test_the_declaration_counts(monkeypatch: pytest.MonkeyPatch, clock: SimpleNamespace) -> None:
    declared, limits = dc.RobustClassifier._declared, []

    def slowly(*rest: Any) -> Any:
        clock.now += 4.0
        return declared(*rest)

    def solve(*rest: Any, **options: Any) -> Any:
        limits.append(options["time_limit"])
        return dc.solve(*rest, **options)

    monkeypatch.setattr(dc.RobustClassifier, "_declared", slowly)
    monkeypatch.setattr(loop, "solve", solve)
    dc.RobustClassifier(time_limit=10.0).fit(*_data())
    assert limits == [6.0]


def test_a_declaration_of_all_the_time_leaves_a_point(
    monkeypatch: pytest.MonkeyPatch, clock: SimpleNamespace
) -> None:
    declared = dc.RobustClassifier._declared

    def slowly(*rest: Any) -> Any:
        clock.now += 40.0
        return declared(*rest)

    monkeypatch.setattr(dc.RobustClassifier, "_declared", slowly)
    X, y = _data()
    assert dc.RobustClassifier(time_limit=10.0).fit(X, y).score(X, y) > 0.8


def test_no_solver_is_asked_after_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = _data()
    risk = dc.Risk.from_loss(dc.binary_margins(X, y), dc.cap(dc.hinge(), 1.0), dc.l2(1.0))
    surrogate = risk.surrogate()
    calls: list[Any] = []
    monkeypatch.setattr(Subproblems, "solve", lambda *rest: calls.append(rest))
    run = descend(surrogate, np.ones(6), Settings(time_limit=0.0))
    assert run.status == "time_limit"
    assert not calls
    np.testing.assert_array_equal(run.x, np.ones(6))


def test_joint_steps_end_at_the_limit(
    monkeypatch: pytest.MonkeyPatch, clock: SimpleNamespace
) -> None:
    X, y = _data()
    risk = dc.Risk(dc.binary_margins(sp.csr_array(X), y), dc.hinge(), penalty=dc.l2(1.0))
    projected, calls = DualSteps._projected, []

    def slowly(*rest: Any) -> Any:
        clock.now += 10.0
        calls.append(rest)
        return projected(*rest)

    monkeypatch.setattr(DualSteps, "_projected", slowly)
    dc.solve(risk, solver="dual_coordinate", time_limit=5.0, start=np.zeros(6))
    assert len(calls) == 1
