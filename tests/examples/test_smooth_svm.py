"""The Padé smooth SVM's examples at sizes that take seconds."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dcprog.losses import convex as smooth
from examples.smooth_svm import outlier_filter, pade_table
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


@pytest.mark.filterwarnings("ignore:every solver failed")  # with slopes of another function
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


@pytest.mark.parametrize(
    ("wrong", "texts"),
    [
        (lambda P, t, gap: P + t**2 / 100, ["exactly", "P > t₊ for every t", "is even"]),
        (lambda P, t, gap: P * 9 / 10, ["exactly", "P − t₊ ≤ 0.1/η", "P ≥ t₊"]),
        (lambda P, t, gap: P - gap, ["exactly", "not five times"]),
        (lambda P, t, gap: P + 10 * gap * t, ["exactly", "P is convex"]),
        (lambda P, t, gap: P + max(0, Fraction(1, 10) - abs(t)) ** 3, ["four times"]),
    ],
)
def test_another_smoothing_is_noticed(
    wrong: Any, texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = pade.pade

    def other(t: Fraction, eta: Fraction, *coefficient: int) -> Fraction:
        P = right(t, eta, *coefficient)
        return Fraction(wrong(P, t, P - max(t, Fraction(0))))

    monkeypatch.setattr(pade, "pade", other)
    missed = unexpected(pade.smoothing_claims(20))
    assert [text for text in texts if not any(text in one for one in missed)] == []


def test_the_library_minimises_what_is_written() -> None:
    assert unexpected(pade.objective_claims()) == []


def test_a_sigmoid_as_near_to_the_hinge_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = pade.accuracy_claim(200)
    assert claim.holds
    assert claim.turns == "an η of the sigmoid more than 6.93 times that of P"  # 10·log 2
    gap = pade.smoothed_gap
    monkeypatch.setattr(pade, "smoothed_gap", lambda t, eta, kind: gap(t, eta, "pade"))
    assert not pade.accuracy_claim(200).holds


def test_another_filter_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert unexpected(outlier_filter.filter_claims(2)) == []
    with monkeypatch.context() as patch:
        patch.setattr(outlier_filter, "PERCENTILE", 50)
        assert len(unexpected(outlier_filter.filter_claims(2))) == 2
    monkeypatch.setattr(outlier_filter, "RATIOS", (0.051,))  # 5 samples, as for 0.05
    assert unexpected(outlier_filter.filter_claims(4)) == []
    once = outlier_filter.SmoothSVC

    def many(**given: Any) -> Any:
        return once(**given | {"filtering": "trimmed", "n_starts": 1})

    monkeypatch.setattr(outlier_filter, "SmoothSVC", many)
    assert len(unexpected(outlier_filter.filter_claims(4))) == 2


def test_newton_without_armijos_rule_or_to_another_end_is_noticed(
    limits: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(pade, "armijo", lambda line: 1.0)
        missed = unexpected(pade.newton_claims(limits)[0])
        assert "Newton: F falls at every step by Armijo's rule" in missed
    slope = pade.slope
    monkeypatch.setattr(pade, "slope", lambda *given: 2 * slope(*given))
    monkeypatch.setattr(pade, "start_spread", lambda limit: 1.0)
    missed = unexpected(pade.newton_claims(limits)[0])
    assert "Newton: begins with −∇F if η > 1" in missed
    assert "the minimiser does not depend on the start" in missed


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
    monkeypatch.setattr(tables, "SPLITS", 3)
    monkeypatch.setattr(tables, "STYLES", (("k-", 1.0),) * 4)
    scores, largest = tables.cross_validate(1, 200, list(tables.MODELS))
    assert largest <= 1e-7
    assert scores["I", "Padé SSVM1"].shape == (1, 3, 2)
    assert np.all(scores["I", "sigmoid SSVM2"].mean() < scores["I", "Padé SSVM1"].mean())
    displacements = np.array([60.0, 75.0, 90.0])
    curves = tables.sweep(displacements, 200, 1)
    claims = tables.sweep_claims(displacements, curves)
    assert [claim.holds for claim in claims] == [True, True, True, False]
    tables.draw(tmp_path, displacements, curves, scores)
    assert {p.name for p in tmp_path.iterdir()} == {"lines.png", "displacement.png", "folds.png"}


def test_filters_below_and_above_the_break_down() -> None:
    found = tables.filters("Padé, one-step filter", 400, 1)
    assert unexpected(tables.filter_claims("one step", found)) == []
    assert [one.hits for one in found] == [10, 10, 0, 0]


# ---- verdicts on made-up accuracies --------------------------------------------------------------


def scores(levels: dict[str, float], names: Any = tables.MODELS, spread: float = 0.1) -> Any:
    """Ten draws of ten splits around a level; 97 where none is given."""
    rng = np.random.default_rng(0)
    return {
        (table, name): levels.get(name, 97.0) + spread * rng.standard_normal((10, 10, 2))
        for table in tables.TABLES
        for name in names
    }


OURS = {"sigmoid SSVM2": 52.0, "sigmoid SSVM1": 83.0, "Padé SSVM1": 84.0, "exact SVM": 84.0}
OURS |= {"Padé, one-step filter": 86.0, "Padé, trimmed": 88.0}


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"exact SVM": 90.0}, "table I: Padé does as the exact SVM does"),
        ({"Padé, 10 starts": 90.0}, "table I: the trimmed loss from 10 starts gets 97"),
    ],
)
def test_verdicts_on_the_tables_follow_the_accuracies(changed: dict[str, float], text: str) -> None:
    assert unexpected(tables.table_claims(scores(OURS), 1e-9)) == []
    assert text in unexpected(tables.table_claims(scores(OURS | changed), 1e-9))
    (unsolved,) = unexpected(tables.table_claims(scores(OURS), 1e-3))
    assert unsolved == "all fits are solved to the end"


def test_printed_digits_are_of_whole_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    assert unexpected(tables.digit_claims()) == []
    monkeypatch.setattr(tables, "COUNTED", {"I": (4750, 250), "II": (4755, 250)})
    assert len(unexpected(tables.digit_claims())) == 2


def verdicts(found: Any) -> dict[str, str]:
    """By a claim's end, of both tables."""
    claims = tables.reading_claims({"": found})
    return {claim.text.removeprefix(", "): claim.verdict for claim in claims}


def test_the_printed_tables_have_the_printed_verdicts() -> None:
    """In any reading of 75: the smoothings apart, and Padé with the filter the best."""
    noise = 0.1 * np.random.default_rng(0).standard_normal((10, 10, 1))
    printed = {
        (table, name): np.array(paper) + noise for (table, name), paper in tables.PUBLISHED.items()
    }
    filtered = {
        (table, name): printed[table, name.removesuffix(", filter")] + (1 + ("Padé" in name))
        for table in tables.TABLES
        for name in tables.FILTERED
    }
    found = verdicts(printed | filtered)
    assert len(found) == 22
    lower = "table II: Padé SSVM1 is more accurate than the sigmoid SSVM2"
    assert set(found.values()) == {"holds as printed"}, found
    swapped = printed | {(t, "sigmoid SSVM2"): printed[t, "Padé SSVM1"] + 1 for t in tables.TABLES}
    found = verdicts(swapped | filtered)
    assert found[lower] == "refuted"
    assert found["table II: sigmoid SSVM2 as printed"] == "refuted"
    assert found["table II: Padé SSVM1 as printed"] == "holds as printed"


def test_draws_that_scatter_leave_a_printed_number_open() -> None:
    ours = scores({"sigmoid SSVM1": 52.8, "sigmoid SSVM2": 50.0}, tables.PAPERS, spread=20.0)
    found = verdicts(ours)
    assert found["table II: Padé SSVM1 as printed"] == "open"
    assert found["table II: Padé SSVM1 with the filter is the best of all"] == "open"
    assert found["table II: Padé SSVM1 is more accurate than the sigmoid SSVM1"] != "open"


def test_flips_that_nothing_foretells_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Drawn:
        """Half of the fits flip, by the samples' number of draws alone."""

        def __init__(self) -> None:
            self.count = 0

        def accuracy(self, X: Any, y: Any) -> float:
            self.count += 1
            return 0.5 if self.count % 2 else 0.97

    drawn = Drawn()
    monkeypatch.setattr(tables, "fit", lambda name, X, y: drawn)
    assert len(unexpected(tables.fold_claims(400))) == 1


def test_curves_that_break_down_elsewhere_are_noticed() -> None:
    D = np.array([60.0, 75.0, 80.0, 82.0, 90.0])
    right = {name: np.where(D < 80, 97.0, 50.0) * np.ones((3, 1)) for name in tables.MODELS}
    right["Padé, 10 starts"] = np.full((3, 5), 97.0)
    assert unexpected(tables.sweep_claims(D, right)) == []
    early = right | {"Padé SSVM1": np.where(D < 75, 97.0, 50.0) * np.ones((3, 1))}
    assert len(unexpected(tables.sweep_claims(D, early))) == 2
    early["Padé SSVM1"][:2] = right["Padé SSVM1"][:2]  # in the last draw alone
    assert len(unexpected(tables.sweep_claims(D, early))) == 2
    assert {claim.evidence for claim in tables.sweep_claims(D, early)} == {
        "seeds 0–2; figure displacement.png"
    }
    never = right | {"exact SVM": np.full((3, 5), 97.0)}
    assert "and break down beyond D = 2/r = 80" in unexpected(tables.sweep_claims(D, never))
    fallen = right | {"Padé, 10 starts": right["exact SVM"]}
    assert len(unexpected(tables.sweep_claims(D, fallen))) == 1


def test_a_filter_that_misses_outliers_is_noticed() -> None:
    def found(near: int, far: int, accuracy: float) -> list[tables.Filtered]:
        return [tables.Filtered(75, near, 25, accuracy), tables.Filtered(150, far, 25, accuracy)]

    assert unexpected(tables.filter_claims("Padé, 10 starts", found(25, 25, 99.5))) == []
    assert len(unexpected(tables.filter_claims("Padé, 10 starts", found(24, 0, 98.0)))) == 3
    assert unexpected(tables.filter_claims("Padé, trimmed", found(25, 0, 99.5))) == []
    assert len(unexpected(tables.filter_claims("Padé, trimmed", found(24, 0, 99.5)))) == 1
