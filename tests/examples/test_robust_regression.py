"""The theory and the published fits of least trimmed squares and MM-estimates, as examples run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dcprog.models import LeastTrimmedSquares, MMRegressor
from examples.least_trimmed_squares import reproduce_sets as lts_sets
from examples.least_trimmed_squares import verify_theory as lts_theory
from examples.mm_regression import reproduce_sets as mm_sets
from examples.mm_regression import verify_theory as mm_theory
from tests.examples.verdicts import unexpected


def test_published_sets_come_out_as_expected(capsys: pytest.CaptureFixture[str]) -> None:
    assert lts_sets.main([]) == mm_sets.main([]) == 0
    printed = capsys.readouterr().out
    assert "18 of 18 claims as expected" in printed
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


# ---- claims that are broken on purpose -----------------------------------------------------------


class LeastSquares:
    """What no outlier may be near, in the place of either estimator."""

    coef_: np.ndarray
    intercept_: float

    def __init__(self, **options: Any) -> None:
        self.power = options.pop("power", 1.0)

    def fit(self, X: np.ndarray, y: np.ndarray) -> LeastSquares:
        A = np.column_stack([X, np.ones(len(y))])
        *coef, self.intercept_ = np.linalg.lstsq(A, y, rcond=None)[0]
        self.coef_ = np.sign(coef) * np.abs(coef) ** self.power
        return self


@pytest.mark.parametrize("theory", [lts_theory, mm_theory])
def test_least_squares_breaks_down_at_once_and_a_rock_never(
    theory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(theory, "movement", lambda model, X, y, count, far: float(count) * far)
    assert "do not carry it off" in unexpected(theory.breakdown_claims())[0]
    monkeypatch.setattr(theory, "movement", lambda *given: 0.0)
    (missed,) = unexpected(theory.breakdown_claims())
    assert missed.endswith(" do")


def test_a_smaller_share_of_trimming_breaks_the_claims_of_least_trimmed_squares(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def kept(**options: Any) -> LeastTrimmedSquares:
        return LeastTrimmedSquares(**options | {"support_fraction": 0.9, "reweight": False})

    monkeypatch.setattr(lts_theory, "LeastTrimmedSquares", kept)
    assert len(unexpected(lts_theory.breakdown_claims())) == 1
    assert len(unexpected(lts_theory.exact_fit_claims())) == 1
    monkeypatch.setattr(lts_theory, "LeastTrimmedSquares", lambda: LeastSquares(power=0.5))
    assert len(unexpected(lts_theory.equivariance_claims())) == 1


def test_trimming_a_fifth_is_told_from_trimming_half(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit that keeps 80% of the samples is 0.32 as efficient as least squares, not 0.13."""

    def four_fifths(**options: Any) -> LeastTrimmedSquares:
        return LeastTrimmedSquares(**options | {"support_fraction": 0.8})

    monkeypatch.setattr(lts_theory, "LeastTrimmedSquares", four_fifths)
    missed = unexpected(lts_theory.normal_claims(20))
    assert "efficiency of the raw fit at n = 100 is below 0.2" in missed


def test_a_fit_that_misses_the_best_subset_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    sums = lts_theory._sum_of_squares
    monkeypatch.setattr(lts_theory, "_sum_of_squares", lambda *given: 0.99 * sums(*given))
    assert unexpected(lts_theory.optimum_claims(1)) == ["the best of all subsets is found"]


def test_other_published_fits_are_noticed() -> None:
    one = lts_sets.PUBLISHED["wood"]
    other = replace(one, best=one.best.replace("20", "19"), outliers=(4, 6, 8))
    assert len(unexpected(lts_sets.set_claims("wood", other))) == 2
    (differs,) = (
        c
        for c in lts_sets.set_claims("stackloss", lts_sets.PUBLISHED["stackloss"])
        if "published 1 3 4 21, here 1 2 3 4 21" in c.measured
    )
    assert differs.verdict == "refuted"
    odd = replace(lts_sets.PUBLISHED["stackloss"], outliers=(1, 3, 4, 13))
    assert (
        "stackloss: another raw scale leaves out the published samples"
        in unexpected(lts_sets.set_claims("stackloss", odd))[0]
    )
    moved = replace(one, coef=(one.coef[0] + 1e-3, *one.coef[1:]))
    assert unexpected(lts_sets.set_claims("wood", moved)) == ["wood: the fit"]
    mm = mm_sets.PUBLISHED["stackloss"]
    shifted = mm_sets.Published((mm.coef[0] + 1e-3, *mm.coef[1:]), mm.scale + 1e-2, (4, 21))
    assert len(unexpected(mm_sets.mm_claims("stackloss", shifted))) == 3


def test_other_constants_break_the_claims_of_mm_estimates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mm_theory, "CHI", 1.56)
    assert unexpected(mm_theory.constant_claims()) == ["E ρ_1 = ½ at the normal"]
    assert "σ̂ solves" in unexpected(mm_theory.scale_claims())[0]
    monkeypatch.setattr(mm_theory, "EFFICIENCIES", {4.6: 0.95})
    assert len(unexpected(mm_theory.constant_claims())) == 2


def test_an_efficiency_of_the_next_level_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fit of c = 3.88 in the place of that of c = 4.69: 90 for 95%."""
    monkeypatch.setattr(mm_theory, "EFFICIENCIES", {4.685061: 0.95})
    assert unexpected(mm_theory.normal_claims(10)) == []
    monkeypatch.setattr(mm_theory, "MMRegressor", lambda c: MMRegressor(c=3.882662))
    (missed,) = unexpected(mm_theory.normal_claims(10))
    assert missed == "efficiency at c = 4.685061 is nearer to 95% than to another level"


def test_standard_errors_of_another_size_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Halved(MMRegressor):
        @property
        def standard_errors_(self) -> np.ndarray:
            return 0.5 * super().standard_errors_

    monkeypatch.setattr(mm_theory, "MMRegressor", Halved)
    assert len(unexpected(mm_theory.error_claims(8))) == 2
