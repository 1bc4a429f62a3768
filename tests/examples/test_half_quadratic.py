"""The half-quadratic theory of the rescaled hinge SVM, as its example measures it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples.rescaled_hinge import figure_2
from examples.rescaled_hinge import half_quadratic_table as script_table
from examples.rescaled_hinge import verify_half_quadratic as script
from tests.examples.verdicts import unexpected


def test_half_quadratic_claims_come_out_as_expected() -> None:
    claims = [*script.loss_claims(), *script.conjugacy_claims()]
    claims += [*script.loop_claims(1, 3), *script.end_claims(1)]
    assert unexpected(claims) == []
    assert sum(not claim.expected for claim in claims) == 1


def test_other_first_weights_and_another_loss_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert unexpected([*script.shape_claims(), *script.start_claims(2)]) == []
    weights = script.class_centre_weights
    monkeypatch.setattr(script, "class_centre_weights", lambda *given: weights(*given) ** 2)
    assert len(unexpected(script.start_claims(1))) == 1
    monkeypatch.setattr(script.dc, "rescale", lambda base, eta: 1.1 * base)
    assert len(unexpected(script.shape_claims())) == 2


def test_table_2_of_a_set_at_hand_and_of_none(tmp_path: Path, capsys: Any) -> None:
    absent, none = script.table_2(tmp_path, False)
    assert [(claim.ran, claim.item) for claim in absent] == [(False, "table 2")] * 4
    assert none == {}
    assert "left out" in capsys.readouterr().out
    rng = np.random.default_rng(0)
    y = np.where(rng.random(80) < 0.5, 1, -1)
    np.savez(tmp_path / "pima.npz", X=rng.standard_normal((80, 3)) + y[:, None], y=y)
    claims, curves = script.table_2(tmp_path, False)
    assert sum(claim.ran for claim in claims) == 4  # two of Pima's row, two of shares
    assert all(np.all(np.diff(values) <= 1e-9) for values in curves["pima"].values())
    assert script.draw(tmp_path, curves).stat().st_size > 10_000


def test_proposition_2_fails_for_other_weights_and_another_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    published = script.Toy.published

    def shuffled(self: Any, rounds: int) -> Any:
        points, weights = published(self, rounds)
        return points, [np.roll(v, k) for k, v in enumerate(weights)]

    def backwards(self: Any, rounds: int) -> Any:
        points, weights = published(self, rounds)
        return points[::-1], weights[::-1]

    for loop, names in (
        (shuffled, ("step of v", "maximises R₃")),
        (backwards, ("(w, b)", "rises")),
    ):
        monkeypatch.setattr(script.Toy, "published", loop)
        found = unexpected(script.loop_claims(1, 4))
        assert all(any(name in text for text in found) for name in names)


def test_another_supremum_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    search = script.minimize_scalar

    def beside(f: Any, bounds: tuple[float, float], options: Any) -> Any:
        return search(f, bounds=(bounds[0] + 6, bounds[1]), options=options)

    monkeypatch.setattr(script, "minimize_scalar", beside)
    missed = unexpected(script.conjugacy_claims())
    assert len(missed) == 2  # value and place


def test_another_bound_is_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    beta, model = script.beta, script.RescaledHingeSVC
    monkeypatch.setattr(script, "beta", lambda eta: 1.1 * beta(eta))
    monkeypatch.setattr(
        script, "RescaledHingeSVC", lambda **given: model(**given | {"eta": given["eta"] / 100})
    )
    missed = unexpected(script.end_claims(1))
    for text in ("round 1 is a plain SVM", "Clarke's condition", "lose their weight"):
        assert any(text in one for one in missed)
    assert any("R₁ + R₂" in one for one in unexpected(script.loop_claims(1, 2)))


def test_r1_unlike_the_printed_one_is_noticed() -> None:
    printed = np.repeat(script_table.TABLE_2["pima", 1.0], [9, 20, 1])
    assert unexpected(script_table.row_claims("pima", 1.0, printed, printed)) == []
    other = 1.001 * printed
    assert len(unexpected(script_table.row_claims("pima", 1.0, other, other))) == 2
    late = {"pima": {1.0: np.linspace(330.0, 294.0, 30)}}
    assert unexpected(script_table.share_claims(late)) == [
        "table 2: 10 of 30 rounds bring 97–100 %"
    ]


@pytest.mark.parametrize("far", [True, False])
def test_the_order_of_the_lines_of_figure_2_decides(far: bool) -> None:
    found = {name: 10 + 0.1 * np.arange(20.0) for name in figure_2.MACHINES}
    for shift, holds in ((-3.0, True), (3.0, False)):
        found["rescaled"] = found["SVM"] + shift
        claim = figure_2.angle_claim(found, far)
        assert claim.holds == holds
        assert claim.as_expected == (holds == far)
    found["rescaled, centre"] = found["rescaled"] + np.linspace(0.9, 1.1, 20)
    assert figure_2.start_claim(found, far).verdict == "refuted"
    assert not figure_2.start_claim(found, far).as_expected
    found["rescaled, centre"] = found["rescaled"] + np.linspace(-1.1, 1.0, 20)
    assert figure_2.start_claim(found, far).verdict == "open"
