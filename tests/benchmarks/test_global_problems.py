"""Optima of the global problems: points have them, and searches find nothing lower."""

from __future__ import annotations

import itertools
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from benchmarks import bench_global
from benchmarks.global_problems import CONTINUOUS, INTEGER, GlobalProblem
from tests.fuzz.batched import Batched
from tests.fuzz.evaluation import Evaluation
from tests.fuzz.landscape import Array
from tests.fuzz.programs import descended

ALL = {known.name: known for known in CONTINUOUS + INTEGER}
FEASIBLE = 1e-8  # of the terms
SAME = 1e-8  # of the optimum, or absolutely where that is less than 1
LOWER = 1e-6  # the same, for points of a search, which miss constraints a little
DRAWN, STARTS = 5000, 4
WHOLE = 200  # the integers that are not boolean go that far


class Stated:
    """A problem as a function of a flat point: F of the minimisation, and its constraints' rows."""

    def __init__(self, known: GlobalProblem) -> None:
        self.problem = known.make()
        self.variables = known.variables(self.problem)
        stated = Evaluation(self.problem, 1.0, [])
        self.sign = stated.sign
        rows = [stated.objective, *stated.inequalities, *stated.equations]
        self.batched = Batched(rows, self.variables)
        self.equal = np.repeat(
            [False] * len(stated.inequalities) + [True] * len(stated.equations),
            [e.size for e in rows[1:]],
        )
        self.lo, self.hi = (
            np.concatenate([self._side(v, k) for v in self.variables]) for k in (0, 1)
        )
        discrete = [v.attributes["boolean"] or v.attributes["integer"] for v in self.variables]
        self.whole = np.repeat(discrete, [v.size for v in self.variables])

    @staticmethod
    def _side(variable: cp.Variable, side: int) -> Array:
        most = WHOLE if variable.attributes["integer"] else 1
        discrete = variable.attributes["integer"] or variable.attributes["boolean"]
        bounds = (0, most) if discrete else variable.bounds
        return np.broadcast_to(bounds[side], variable.shape).ravel(order="F").astype(float)

    def levels(self, points: Array) -> tuple[Array, Array]:
        """F, and the violations as shares of the terms."""
        values, rows = self.rows(points)
        sizes = np.concatenate(self.batched.terms(points), axis=1)[:, 1:]
        shares = rows / np.maximum(sizes, 1e-12)
        return values, np.where(self.equal, np.abs(shares), shares)

    def lowest(self, points: Array) -> float:
        """The lowest value of those that are feasible."""
        values, missed = self.levels(points)
        usable = np.isfinite(values) & np.all(missed <= FEASIBLE, axis=1)
        return float(np.min(values[usable], initial=np.inf))

    def rows(self, points: Array) -> tuple[Array, Array]:
        """F, and the constraints' rows."""
        objective, *rest = self.batched(points)
        rows = np.concatenate([np.zeros((len(points), 0)), *rest], axis=1)
        return self.sign * objective[:, 0], rows

    def descended(self, start: Array) -> Array:
        """Where sequential quadratic programs end; whole numbers stay."""
        sizes = np.concatenate(self.batched.terms(start[None]), axis=1)[0]
        sizes = np.where(np.isfinite(sizes) & (sizes > 0), sizes, 1.0)
        lo, hi = (np.where(self.whole, start, side) for side in (self.lo, self.hi))
        return descended(self.rows, sizes, self.equal, lo, hi, start)


def test_there_are_many_and_they_are_small() -> None:
    assert len(CONTINUOUS) >= 40
    assert len(INTEGER) >= 6
    assert len(ALL) == len(CONTINUOUS) + len(INTEGER)
    for known in CONTINUOUS:
        problem = known.make()
        assert sum(v.size for v in problem.variables()) <= 8
        assert all(v.attributes["bounds"] is not None for v in problem.variables())
        assert not problem.is_mixed_integer()
    assert all(known.make().is_mixed_integer() for known in INTEGER)


@pytest.mark.parametrize("name", ALL)
def test_a_point_has_the_optimum(name: str) -> None:
    known = ALL[name]
    stated = Stated(known)
    x = np.array(known.point)
    values, missed = stated.levels(x[None])
    assert np.max(missed, initial=0.0) <= FEASIBLE
    assert np.all((x >= stated.lo) & (x <= stated.hi))
    assert np.array_equal(x[stated.whole], np.round(x[stated.whole]))
    tolerance = SAME * max(1.0, abs(known.optimum))
    assert stated.sign * values[0] == pytest.approx(known.optimum, abs=tolerance)
    ends = np.cumsum([v.size for v in stated.variables])[:-1]
    for variable, piece in zip(stated.variables, np.split(x, ends), strict=True):
        variable.save_value(piece.reshape(variable.shape, order="F"))
    assert float(stated.problem.objective.value) == pytest.approx(known.optimum, abs=tolerance)
    for constraint in stated.problem.constraints:
        assert np.max(constraint.violation()) <= 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("name", [known.name for known in CONTINUOUS])
def test_nothing_lower_is_found(name: str) -> None:
    known = ALL[name]
    stated = Stated(known)
    rng = np.random.default_rng(0)
    drawn = rng.uniform(stated.lo, stated.hi, size=(DRAWN, stated.lo.size))
    starts = drawn[np.argsort(np.max(stated.levels(drawn)[1], axis=1, initial=0.0))[:STARTS]]
    ends = np.array([stated.descended(x) for x in starts])
    floor = stated.sign * known.optimum - LOWER * max(1.0, abs(known.optimum))
    assert stated.lowest(np.vstack([drawn, ends])) >= floor


@pytest.mark.slow
@pytest.mark.parametrize("name", [known.name for known in INTEGER])
def test_no_integers_are_better(name: str) -> None:
    known = ALL[name]
    stated = Stated(known)
    sides = zip(stated.lo[stated.whole], stated.hi[stated.whole], strict=True)
    lines = [np.arange(lo, hi + 1) for lo, hi in sides]
    found = np.inf
    if np.all(stated.whole):
        found = stated.lowest(np.array(list(itertools.product(*lines))))
    else:
        rng = np.random.default_rng(0)
        for integers in itertools.product(*lines):
            start = rng.uniform(stated.lo, stated.hi)
            start[stated.whole] = integers
            found = min(found, stated.lowest(stated.descended(start)[None]))
    optimum = stated.sign * known.optimum
    tolerance = LOWER * max(1.0, abs(known.optimum))
    assert found >= optimum - tolerance
    if np.all(stated.whole):
        assert found <= optimum + tolerance


def test_the_benchmark_tells_wrong_bounds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line of a right bound, of one above the optimum, of "infeasible", and of a refusal."""
    known = ALL["st_e09"]
    assert bench_global.line(known, 10.0).is_fast

    def bounded(value: float, status: str) -> Any:
        bound = dc.lower_bound(known.make(), time_limit=10.0)
        object.__setattr__(bound, "value", value)
        object.__setattr__(bound, "status", status)
        return lambda *args, **options: bound

    for value, status, wrong in (
        (known.optimum - 1e-4, "proved", False),
        (known.optimum + 1e-4, "proved", True),
        (np.inf, "infeasible", True),
    ):
        answer = bounded(value, status)
        with monkeypatch.context() as patch:
            patch.setattr(dc, "lower_bound", answer)
            assert bench_global.line(known, 10.0).wrong == wrong

    def refuse(*args: Any, **options: Any) -> Any:
        raise dc.NotBoundable("f(x)", "it has no rule", "g(x)")

    monkeypatch.setattr(dc, "lower_bound", refuse)
    bench_global.measured([known], 10.0)
    printed = capsys.readouterr().out
    assert "refused" in printed
    assert "0 of 1" in printed
