"""Starts in other processes: the same bits, the user's entries and files, and one that is lost.

In one file, so that the tests share two processes: each pair takes six seconds to begin.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from joblib.externals.loky.process_executor import TerminatedWorkerError

import dcprog as dc
import dcprog.models
from tests.majorants.test_atoms import cbrt, cbrt_slope

RNG = np.random.default_rng(0)
Y = RNG.choice([-1.0, 1.0], 60)
X = RNG.normal(size=(60, 3)) + Y[:, None]
X[:6] *= -8
RAMP = dc.Risk.from_loss(dc.binary_margins(X, Y), dc.cap(dc.hinge(), 1.0), dc.l2())


def test_processes_give_the_same_bits() -> None:
    w, b = cp.Variable(3), cp.Variable()
    hinge = cp.pos(1 - cp.multiply(Y, X @ w + b))
    ramp = cp.Problem(cp.Minimize(cp.sum(cp.minimum(hinge, 1)) + 0.05 * cp.sum_squares(w)))
    adaptive = dc.Risk(
        dc.class_margins(X, RNG.integers(3, size=60)),
        dc.squared_hinge(),
        aggregate="sum",
        transform=dc.cap_largest(0.1, dc.power_of(0.5, 1e-8)),
        penalty=dc.l2(2.0),
    )
    for problem, solver in ((ramp, "cvxpy"), (adaptive, "auto")):
        alone, shared = (
            dc.solve(problem, solver=solver, n_starts=4, random_state=3, n_jobs=n) for n in (1, 2)
        )
        assert [s.value for s in alone.starts] == [s.value for s in shared.starts]
        np.testing.assert_array_equal(alone.x, shared.x)


def test_processes_know_registered_atoms() -> None:
    """Here the slope of a class that they cannot import, which without its entry has none."""

    class Local(cbrt):
        def _grad(self, values: Any) -> Any:
            raise NotImplementedError

    dc.register_atom(Local, edge=0.0, slope=cbrt_slope)
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum(Local(cp.abs(x))) + cp.sum_squares(x - 2)))
    results = [dc.solve(problem, n_starts=3, random_state=0, n_jobs=n) for n in (1, 2)]
    assert [r.status for r in results] == ["converged"] * 2
    assert [s.value for s in results[0].starts] == [s.value for s in results[1].starts]


def test_processes_know_registered_starts() -> None:
    known = dc.solve(RAMP, effort="high").x
    assert known is not None

    class Known:
        def takes(self, surrogate: Any) -> str | None:
            return None

        def points(self, surrogate: Any, *_: Any) -> Iterator[Any]:
            yield known

    dc.register_start("known", Known)
    found = dc.solve(RAMP, start=["known", "convex"], n_starts=2, n_jobs=2)
    assert [start.kind for start in found.starts] == ["known", "convex"]
    assert found.value <= RAMP(known) + 1e-9


def test_processes_read_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dcprog.foundation.blocked_matrix.COPIED", 0)
    data = np.memmap(tmp_path / "X", float, "w+", shape=X.shape)
    data[:] = X
    targets = X.sum(axis=1) + RNG.normal(size=60)
    loss = dc.tukey(0.5 * dc.square(), 4.685)
    values = []
    for jobs in (1, 2):
        risk = dc.Risk.from_loss(dc.residual_rows(data, targets), loss, dc.l2(1.0))
        found = dc.solve(risk, start="random", n_starts=3, max_iter=20, n_jobs=jobs)
        values.append([start.value for start in found.starts])
    assert values[0] == pytest.approx(values[1])


def test_folds_in_processes_have_the_scores_of_one() -> None:
    model, lams = dc.models.AngleSVC(2, n_starts=1), [0.1, 10.0]
    scores = [
        dc.models.AngleSVCCV(model, lams, cv=2, n_jobs=jobs).fit(X, Y).scores_ for jobs in (1, 2)
    ]
    np.testing.assert_array_equal(scores[0], scores[1])


class Dies:
    """A risk whose starts of some kinds no process but the first survives."""

    risk, rows = RAMP, RAMP.rows

    def __init__(self, *kinds: str) -> None:
        self.kinds = kinds
        self.parent = os.getpid()

    def surrogate(self, solver: str | None = None) -> Any:
        return Dying(self.risk.surrogate(solver), self)


class Dying:
    """A surrogate whose starts end the process that asks for them."""

    def __init__(self, surrogate: Any, risk: Dies) -> None:
        self._surrogate, self._risk = surrogate, risk
        self.starts, self.kinds = self, surrogate.starts.kinds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._surrogate, name)

    def __call__(self, kind: str, *rest: Any) -> Any:
        if os.getpid() != self._risk.parent and kind in self._risk.kinds:
            os._exit(9)
        return self._surrogate.starts(kind, *rest)


def test_where_all_processes_are_lost_the_status_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed:
        """A pool whose processes are killed, as those of the test below are."""

        def __init__(self, **options: Any) -> None:
            pass

        def __call__(self, calls: Any) -> Any:
            raise TerminatedWorkerError("killed")

    monkeypatch.setattr("joblib.Parallel", Killed)
    result = dc.solve(Dies().risk, start="convex", n_starts=2, n_jobs=2)
    assert result.status == "solver_failed"
    assert len(result.starts) == 2
    assert result.x is None
    assert "killed" in result.message


@pytest.mark.filterwarnings("ignore")
def test_a_lost_process_loses_its_start_only() -> None:
    result = dc.solve(Dies("half"), start="convex", n_starts=3, n_jobs=2)
    assert [s.kind for s in result.starts] == ["convex", "half", "random"]
    assert [s.status for s in result.starts] == ["converged", "solver_failed", "converged"]
    assert result.status == "converged"
    assert np.isfinite(result.value)
