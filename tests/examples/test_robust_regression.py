"""The theory and the published fits of least trimmed squares and MM-estimates, as examples run."""

from __future__ import annotations

import pytest

from examples.least_trimmed_squares import reproduce_sets as lts_sets
from examples.least_trimmed_squares import verify_theory as lts_theory
from examples.mm_regression import reproduce_sets as mm_sets
from examples.mm_regression import verify_theory as mm_theory


def test_published_sets_come_out_as_expected(capsys: pytest.CaptureFixture[str]) -> None:
    assert lts_sets.main([]) == mm_sets.main([]) == 0
    printed = capsys.readouterr().out
    assert "15 of 15 claims as expected" in printed
    assert "10 of 10 claims as expected" in printed


def test_theory_comes_out_as_expected(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What needs many repeats is left to ``make reproduce``."""
    monkeypatch.setattr(lts_theory, "normal_claims", lambda repeats: [])
    for name in ("normal_claims", "error_claims"):
        monkeypatch.setattr(mm_theory, name, lambda repeats: [])
    assert lts_theory.main([]) == mm_theory.main([]) == 0
    assert "6 of 6 claims as expected" in capsys.readouterr().out
