"""The half-quadratic theory of the rescaled hinge SVM, as its example measures it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples.rescaled_hinge import verify_half_quadratic as script
from tests.examples.verdicts import unexpected


def test_half_quadratic_claims_come_out_as_expected() -> None:
    claims = [*script.loss_claims(), *script.conjugacy_claims()]
    claims += [*script.loop_claims(1, 3), *script.end_claims(1)]
    assert unexpected(claims) == []
    assert sum(not claim.expected for claim in claims) == 2


def test_table_2_of_a_set_at_hand_and_of_none(tmp_path: Path, capsys: Any) -> None:
    assert script.table_2(tmp_path, False) == ([], {})
    assert "left out" in capsys.readouterr().out
    rng = np.random.default_rng(0)
    y = np.where(rng.random(80) < 0.5, 1, -1)
    np.savez(tmp_path / "pima.npz", X=rng.standard_normal((80, 3)) + y[:, None], y=y)
    claims, curves = script.table_2(tmp_path, False)
    assert len(claims) == 3
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
