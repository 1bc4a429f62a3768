"""The claims on the capped SVM's theory fail where a step, a constant or a measure is broken."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from examples.capped_svm import degenerate, descent, gap, passes, stationarity
from examples.capped_svm.model import Model
from examples.capped_svm.runs import Run, blobs, descend
from tests.examples.verdicts import unexpected

SHIFTED = np.random.default_rng(0).normal(0, 0.1, 15)


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    """A run for p = 1 and one for p = 1.5."""
    return [
        descend("", Model(*blobs(40, 4, 3, 0.3, 0), p, 1.0, 0.5, 1e-8), "exact") for p in (1.0, 1.5)
    ]


def missed_descent(run: Run) -> list[str]:
    return unexpected(descent.descent_claims("", [descent.measure_descent(run)]))


# ---- theorem 1 -----------------------------------------------------------------------------------


def test_a_run_taken_backwards_does_not_descend(runs: list[Run]) -> None:
    assert missed_descent(runs[0]) == []
    missed = missed_descent(replace(runs[0], points=runs[0].points[::-1]))
    assert {": J_δ never rises", ": J_δ falls by ≥ γ‖W⁺ − W‖²"} <= set(missed)
    assert any("⟨d,g(x)⟩" in text for text in missed)


def test_weights_that_are_no_slope_break_the_proof(
    runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = Model.weights
    monkeypatch.setattr(Model, "weights", lambda self, g: 0.5 * weights(self, g))
    assert ": h(g⁺) ≤ h(g) + d(g⁺ − g)" in missed_descent(runs[0])


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_another_cap_of_the_unsmoothed_function_is_noticed(
    runs: list[Run], factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = property(lambda self: replace(self, delta=0.0, eps=factor * self.eps))
    monkeypatch.setattr(Model, "unsmoothed", other)
    assert missed_descent(runs[0]) == [": J ≤ J_δ ≤ J + nδ^(p/2)"]


def test_equal_values_of_uncapped_samples_refute_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        descent, "Model", lambda X, y, p, eps, *rest: Model(X, y, p, 36 * eps, *rest)
    )
    assert not descent.equality_claim().as_expected


# ---- theorem 2 -----------------------------------------------------------------------------------


def test_runs_that_end_early_are_not_stationary(
    runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = [stationarity.measure_stationarity(run) for run in runs]
    assert unexpected(stationarity.stationarity_claims(runs, ends)) == []
    early = [replace(run, points=[*run.points, run.points[0] + SHIFTED]) for run in runs]
    ends = [stationarity.measure_stationarity(run) for run in early]
    right = stationarity.descend

    def stopped(*given: Any) -> Run:
        run = right(*given)
        return replace(run, points=[run.points[0] + SHIFTED])

    monkeypatch.setattr(stationarity, "descend", stopped)
    missed = unexpected(stationarity.stationarity_claims(runs, ends))
    for text in ("∇J_δ = 0", "p ≠ 1.5", "as δ → 0", "local minimum"):
        assert any(text in one for one in missed)


def test_an_end_at_the_cap_and_a_start_that_is_critical_are_noticed(runs: list[Run]) -> None:
    ends = [stationarity.measure_stationarity(run) for run in runs]
    ends[0] = replace(ends[0], to_cap=0.0, at_start=0.0)
    missed = unexpected(stationarity.stationarity_claims(runs, ends))
    assert missed == [
        "theorem 2: every run ends off the cap",
        "theorem 2: it is not 0 where a run starts",
    ]


def test_another_cap_has_no_kink_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(degenerate.Kink, "eps", property(lambda self: 1.5 * (1 - self.point) ** 2))
    missed = unexpected(degenerate.kink_claims())
    assert "kink: slope to the left is −2γ/(1 + γ)" in missed
    assert "kink: a fixed point is stationary (as printed)" in missed


# ---- algorithms 1 and 2 --------------------------------------------------------------------------


def test_another_dual_value_is_not_the_reported_gap(
    runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert unexpected(gap.gap_claims(runs[:1])) == []
    dual = gap.dual_value
    monkeypatch.setattr(gap, "dual_value", lambda *given: dual(*given) - 1e-3)
    assert len(unexpected(gap.gap_claims(runs[:1]))) == 2


def test_with_smoothing_no_weight_is_infinite(
    runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    far = replace(runs[0], points=[10 * runs[0].points[-1]])  # most are beyond their margins
    assert unexpected(degenerate.infinite_weight_claims([far] * 3)) == []
    monkeypatch.setattr(Model, "unsmoothed", property(lambda self: self))
    assert len(unexpected(degenerate.infinite_weight_claims([far] * 3))) == 2


def test_a_closed_form_without_its_division_is_finite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(degenerate, "published_step", lambda model, x: x)
    assert unexpected(degenerate.all_capped_claims()) == [
        "there the closed form is finite (as printed)"
    ]
    start = degenerate.Model.split
    monkeypatch.setattr(degenerate.Model, "split", lambda self, x: (start(self, x)[0] + 1, x))
    assert "all samples capped: W = 0 and b is kept" in unexpected(degenerate.all_capped_claims())


def judged(label: str, p: float, value: float, off: float, steps: int) -> passes.Judged:
    """A made-up run that is at its end after so many steps."""
    values = np.where(np.arange(100) < steps, 10.0, 1.0)
    made: Any = SimpleNamespace(
        model=SimpleNamespace(p=p), result=SimpleNamespace(gap=1e-9, n_iter=100), values=values
    )
    return passes.Judged(label, made, value, off)


def comparison(stalled: float, cured: float, single_steps: int = 90) -> list[passes.Judged]:
    """J of the stalled and of the cured single passes over that of exact steps, for p ≤ 1."""
    rows = []
    for p in (0.5, 1.0, 2.0):
        late = 1.0 if p == 2 else stalled
        rows.append(judged("exact", p, 1.0, 0.0, 40 if p < 1 else 5))
        rows.append(judged(passes.STALLED, p, late, late - 1, single_steps))
        for delta in ("0.0001", "0.001", "0.01"):
            rows.append(judged(f"single, δ={delta}", p, cured if p == 1 else 1.2, 0.0, 5))
    return rows


def test_where_the_single_pass_ends_decides_its_claims() -> None:
    assert unexpected(passes.pass_claims(comparison(1.5, 1.01))) == []
    assert len(unexpected(passes.pass_claims(comparison(1.0, 1.01)))) == 2  # it does not stall
    assert unexpected(passes.pass_claims(comparison(1.5, 1.1))) == [
        "p=1: with δ = 1e-4, 1e-3, 1e-2 the single pass ends within 5%"
    ]
    rows = comparison(1.5, 1.01)
    assert unexpected(passes.speed_claims([], rows)) == []
    fast = unexpected(passes.speed_claims([], comparison(1.5, 1.01, single_steps=5)))
    assert fast == [
        "single pass, as published: J_δ is usually within 1e-4 of its end after 20 iterations"
    ]
    half = {c.text: c.holds for c in passes.speed_claims([], rows)}
    assert list(half.values()) == [True, None, False]
