"""The library's own theorems: the scripts' claims hold, and fail where something is broken."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog.majorants import rules
from examples.library import verify_loop as loop
from examples.library import verify_points as points
from examples.library.enumeration import KINDS
from examples.library.problems import Case, D, cases
from tests.examples.verdicts import unexpected


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture(scope="module")
def few() -> list[Case]:
    return cases()[::6]


def test_majorants_of_all_rules() -> None:
    assert unexpected(loop.majorant_claims(cases(), 2, 4)) == []


def test_every_rule_of_the_table_has_a_term(monkeypatch: pytest.MonkeyPatch) -> None:
    """But ``own``, what a user registers."""
    used = set()

    def noted(rule: Any) -> Any:
        def applied(*given: Any) -> Any:
            piece = rule(*given)
            if piece is not None:
                used.add(rule.__name__)
            return piece

        return applied

    names = {rule.__name__ for rule in rules.RULES}
    monkeypatch.setattr(rules, "RULES", tuple(map(noted, rules.RULES)))
    for case in cases():
        case.x.value = np.ones(D)
        dc.majorize(case.F)
    assert names - used == {"own"}


def test_theorems_that_hold_are_seen_and_a_modulus_too_large_is_noticed() -> None:
    names = "difference of maxima", "concave of convex, nondecreasing"
    found = [case for case in cases() if case.name in names]
    assert unexpected(loop.theorem_claims(found, 1)) == []
    assert len(unexpected(loop.theorem_claims(found, 1, more=1.5))) == 1


def test_a_majorant_of_something_smaller_is_noticed(few: list[Case]) -> None:
    def smaller(F: cp.Expression) -> Any:
        return dc.majorize(0.99 * F)

    missed = unexpected(loop.majorant_claims(few, 2, 4, smaller))
    assert missed[0] == "M(x; x₀) ≥ F(x)"
    assert missed[1].startswith("M(x₀; x₀) = F(x₀)")


def test_a_majorant_that_stays_where_it_was_is_noticed(few: list[Case]) -> None:
    class Stale:
        def __init__(self, F: cp.Expression) -> None:
            self.expression = dc.majorize(F).expression

        def tighten(self) -> None:
            pass

    assert any("M(x₀; x₀)" in text for text in unexpected(loop.majorant_claims(few, 2, 4, Stale)))


def test_runs_descend_to_critical_points(few: list[Case]) -> None:
    assert unexpected(loop.run_claims(few, 1)) == []


def test_a_step_up_and_an_early_end_are_noticed(
    few: list[Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = loop.run

    def up(case: Case, start: np.ndarray) -> Any:
        path, result = right(case, start)
        return [path[-1], *path], result

    def early(case: Case, start: np.ndarray) -> Any:
        path, result = right(case, start)
        return path[:2], result

    monkeypatch.setattr(loop, "run", up)
    assert "F never rises along a run" in unexpected(loop.run_claims(few[:3], 1))
    monkeypatch.setattr(loop, "run", early)
    assert "there Clarabel does not lower the majorant" in unexpected(loop.run_claims(few[:3], 1))


def test_stationarity(monkeypatch: pytest.MonkeyPatch) -> None:
    assert unexpected(loop.stationarity_claims(4, 50)) == []
    right = dc.solve

    def stuck(problem: Any, **options: Any) -> dc.Result:
        """Ends where the convex relaxation does."""
        return right(problem, **options | {"escape": False, "n_starts": 1, "max_iter": 1})

    monkeypatch.setattr(loop.dc, "solve", stuck)
    missed = unexpected(loop.stationarity_claims(4, 50))
    assert any(text.startswith("a default run does not stop there") for text in missed)


def test_graduation() -> None:
    assert unexpected(points.graduation_claims(8)) == []


def test_wrong_slopes_of_graduation_are_noticed() -> None:
    """Half of the slope, and that of the last stage in place of the stage's own."""
    half = points.graduation_claims(8, lambda risk, t: 0.5 * risk.transform.slope(t))
    assert any("each stage's majorant" in text for text in unexpected(half))
    wrong = points.graduation_claims(8, lambda risk, t: risk.transform.slope(3 * t))
    assert any("each stage's majorant" in text for text in unexpected(wrong))


def test_bounds_and_bounds_that_are_too_high() -> None:
    assert unexpected(points.bound_claims(6)) == []
    raised = unexpected(points.bound_claims(2, raised=2e-3))
    assert "no bound exceeds the optimum found by enumeration" in raised
    lowered = unexpected(points.bound_claims(2, raised=-1e-2))
    assert lowered == ["and all are within the gap asked for"]


@pytest.mark.parametrize("kind", KINDS)
def test_no_random_point_is_below_enumeration(kind: Any) -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        risk, least = kind(rng)
        values = [risk(rng.normal(size=risk.rows.shape[1]) * 2) for _ in range(200)]
        assert min(values) >= least - 1e-9
        near = dc.solve(risk, random_state=0).value
        assert near == pytest.approx(least, rel=1e-2, abs=1e-2)


def test_breakdown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(points, "SHARES", np.array([0.0, 0.1, 0.3, 0.45, 0.55]))
    monkeypatch.setattr(points, "stands", cache(points.stands))
    claims, curves = points.breakdown_claims(2)
    assert unexpected(claims) == []
    assert all(raced[1] > plain[1] for plain, raced in curves.values())
    plain = points.stands
    monkeypatch.setattr(points, "stands", lambda *case: (plain(*case)[0],) * 2 + (False,))
    missed = unexpected(points.breakdown_claims(2)[0])
    assert any("the raced starts withstand" in text for text in missed)
    assert any("the loss is to blame" in text for text in missed)
