"""The Padé smooth SVM's examples at sizes that take seconds."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dcprog.losses import smooth_hinges as smooth
from examples.smooth_svm import pade_table
from examples.smooth_svm import reproduce as tables
from examples.smooth_svm import verify_pade as pade
from examples.smooth_svm.pade_table import orthogonal, series, table_claims
from tests.examples.verdicts import unexpected


@pytest.fixture(scope="module")
def limits() -> list[Any]:
    rng = np.random.default_rng(0)
    y = np.where(np.arange(60) % 2, 1.0, -1.0)
    X = rng.standard_normal((60, 3)) + y[:, None]
    return [pade.Limit(X, y, C, *pade.exact_svm(X, y, C)) for C in (0.1, 1.0)]


# ---- verify_pade ---------------------------------------------------------------------------------


def test_claims_about_the_smoothing_come_out_as_expected() -> None:
    claims = [*pade.smoothing_claims(40), *pade.library_claims(40)]
    assert unexpected(claims) == []
    assert sum(not claim.expected for claim in claims) == 5


def test_rational_smoothing_by_hand() -> None:
    assert pade.pade(Fraction(0), Fraction(10)) == Fraction(1, 100)
    assert pade.pade(Fraction(1, 10), Fraction(10)) == Fraction(1, 10)
    assert pade.pade(Fraction(1, 10), Fraction(10), 11) == Fraction(1, 10) - Fraction(1, 340)
    assert pade.pade(Fraction(-3), Fraction(10)) == 0
    assert pade.gap(Fraction(0), Fraction(10)) == Fraction(1, 100)
    assert float(pade.derivative(1, Fraction(0), Fraction(10), 1)) == pytest.approx(0.5, abs=1e-5)
    assert float(pade.derivative(2, Fraction(0), Fraction(10), 1)) == pytest.approx(1.6, abs=1e-4)


def test_claims_about_the_minimiser_come_out_as_expected(limits: list[Any]) -> None:
    claims, curves = pade.rate_claims(limits)
    assert unexpected(claims) == []
    assert curves["pade"].shape == (2, len(pade.ETAS))
    assert np.all(np.median(curves["pade"], axis=0)[1:] <= np.median(curves["sigmoid"], axis=0)[1:])


def test_eleven_for_ten_is_noticed(limits: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """In the script, in the table's entry, and in the library."""
    with monkeypatch.context() as patch:
        patch.setattr(pade, "COEFFICIENT", 11)
        missed = unexpected(pade.rate_claims(limits[:1])[0])
        assert any("minimises F_η as written" in text for text in missed)
    missed = unexpected(table_claims(3, (5, 11, 1)))
    assert missed == ["P is built from the entry [2/2]"]
    with monkeypatch.context() as patch:
        patch.setattr(smooth, "_denominator", lambda x: 5 + 11 * x**2 + x**4)
        missed = unexpected([*pade.rate_claims(limits[:1])[0], *pade.library_claims(20)])
        assert any("minimises F_η as written" in text for text in missed)
        assert any(text.startswith("library: P") for text in missed)
        assert len(unexpected(pade.objective_claims())) == 1


def test_a_smaller_gap_breaks_the_sharp_bounds(
    limits: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    gap = pade.smoothed_gap
    monkeypatch.setattr(pade, "smoothed_gap", lambda *args: 0.1 * gap(*args))
    missed = unexpected(pade.rate_claims(limits)[0])
    assert any("CΣ(gap(tᵢ*) − gap(tᵢ))" in text for text in missed)
    assert any("min F_η − min F" in text for text in missed)


def test_a_wrong_series_or_degree_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = series(12)
    with monkeypatch.context() as patch:
        patch.setattr(pade_table, "series", lambda terms: [*right[:3], -right[3], *right[4:]])
        assert len(unexpected(table_claims(3))) >= 3
    patch = monkeypatch
    patch.setattr(pade_table, "orthogonal", lambda c, m, n: orthogonal(c, m + 1, n))
    items = {claim.item for claim in table_claims(3) if not claim.as_expected}
    assert {"definition 3.1", "definition 3.2", "theorem 3.3"} <= items


def test_claims_about_newton_and_the_plots(limits: list[Any], tmp_path: Path) -> None:
    claims, paths = pade.newton_claims(limits)
    assert unexpected(claims) == []
    assert len(paths["Armijo"]) < 60 < len(paths["full steps"])
    pade.draw(tmp_path, {"pade": np.ones((2, 5)), "sigmoid": np.ones((2, 5))}, paths)
    assert {path.name for path in tmp_path.iterdir()} == {"pade.png", "rate.png", "newton.png"}


# ---- reproduce -----------------------------------------------------------------------------------


def test_data_are_as_described() -> None:
    for both, expected in ((False, [25, 0]), (True, [13, 12])):
        X, y, moved = tables.gaussians(75.0, both, 1000, 0)
        assert [int(np.sum(y[moved] == label)) for label in (1, -1)] == expected
        clean = np.setdiff1d(np.arange(1000), moved)
        np.testing.assert_allclose(np.mean(y[clean, None] * X[clean], axis=0), 2, atol=0.1)
        np.testing.assert_allclose(np.mean(y[moved, None] * X[moved], axis=0), -73, atol=0.6)


def test_every_model_is_solved_to_the_end() -> None:
    X, y, _ = tables.gaussians(75.0, True, 400, 1)
    for name in tables.MODELS:
        end = tables.fit(name, X, y)
        assert end.gradient <= 1e-7
        assert end.outlier.sum() == (10 if "filter" in name or "tr" in name or "10" in name else 0)


def test_claims_of_a_small_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {n: tables.MODELS[n] for n in ("sigmoid SSVM2", "Padé SSVM1", "Padé, one-step filter")}
    monkeypatch.setattr(tables, "MODELS", few | {"Padé, 10 starts": few["Padé, one-step filter"]})
    monkeypatch.setattr(tables, "ONE_NORM", ("Padé SSVM1",))
    monkeypatch.setattr(tables, "STYLES", (("k-", 1.0),) * 4)
    scores, largest = tables.cross_validate(1, 400, list(tables.MODELS))
    assert largest <= 1e-7
    assert scores["I", "Padé SSVM1"].shape == (1, 10, 2)
    assert np.all(scores["I", "sigmoid SSVM2"].mean() < scores["I", "Padé SSVM1"].mean())
    displacements = np.array([60.0, 75.0, 90.0])
    curves = tables.sweep(displacements, 800)
    claims = tables.sweep_claims(displacements, curves)
    assert [claim.holds for claim in claims] == [True, True, True, False]
    tables.draw(tmp_path, displacements, curves, scores)
    assert {p.name for p in tmp_path.iterdir()} == {"lines.png", "displacement.png", "folds.png"}


def test_filters_below_and_above_the_break_down() -> None:
    found = tables.filters("Padé, one-step filter", 1, 400)
    assert unexpected(tables.filter_claims("one step", found)) == []
    assert [one.hits for one in found] == [10, 10, 0, 0]
