"""What the breakdown benchmark says of a fit: recovered, elsewhere by proof, or open."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dcprog as dc
from benchmarks.bench_breakdown import Trial, classification, regression, verdict


@pytest.fixture(scope="module")
def trial() -> Trial:
    return classification(40, 2, 0, False)


def test_a_point_that_recovers_needs_no_bound(trial: Trial) -> None:
    easy = replace(trial, recovers=lambda found, clean: True)
    assert verdict(easy, 1e-6)[0] == "recovered"


def test_elsewhere_needs_a_closed_gap(trial: Trial) -> None:
    never = replace(trial, recovers=lambda found, clean: False)
    word, (found, near, bound) = verdict(never, 60.0)
    assert word == "elsewhere"
    assert bound <= found <= bound * (1 + 1e-5)
    assert found <= near * (1 + 1e-6)
    assert verdict(never, 1e-6)[0] == "open"


def test_a_default_above_the_minimum_is_told(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    solve = dc.solve

    def worse(problem: Any, **options: Any) -> dc.Result:
        result = solve(problem, **options)
        return replace(result, x=np.zeros(3), value=problem(np.zeros(3)))

    monkeypatch.setattr(dc, "solve", worse)
    assert verdict(trial, 60.0)[0].endswith("not the minimum")


@pytest.mark.parametrize("together", [False, True])
def test_the_clean_fit_recovers_itself_and_its_opposite_does_not(together: bool) -> None:
    for trial in (
        classification(60, 2, 1, together),
        regression(60, 2, 1, together, False),
        regression(60, 2, 1, together, True),
    ):
        clean = np.asarray(dc.solve(trial.clean).x)
        assert trial.recovers(clean, clean)
        assert not trial.recovers(-clean, clean)
