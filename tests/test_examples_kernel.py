"""The example scripts of the rescaled hinge and the least 1-norm SVM at sizes of seconds."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np


def _script(name: str) -> Any:
    path = Path(__file__).parents[1] / "examples" / f"{name}.py"
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def _as_expected(claims: list[Any]) -> None:
    assert [claim.text for claim in claims if claim.holds != claim.expected] == []


def test_half_quadratic_claims_come_out_as_expected() -> None:
    script = _script("verify_half_quadratic")
    claims = [*script.loss_claims(), script.conjugacy_claim()]
    claims += [*script.loop_claims(1, 3), *script.end_claims(1)]
    _as_expected(claims)
    assert sum(not claim.expected for claim in claims) == 2


def test_table_2_of_a_set_at_hand_and_of_none(tmp_path: Path, capsys: Any) -> None:
    script = _script("verify_half_quadratic")
    assert script.table_2(tmp_path, False) == ([], {})
    assert "left out" in capsys.readouterr().out
    rng = np.random.default_rng(0)
    y = np.where(rng.random(80) < 0.5, 1, -1)
    np.savez(tmp_path / "pima.npz", X=rng.standard_normal((80, 3)) + y[:, None], y=y)
    claims, curves = script.table_2(tmp_path, False)
    assert len(claims) == 1
    assert all(np.all(np.diff(values) <= 1e-9) for values in curves["pima"].values())
    assert all(path.stat().st_size > 10_000 for path in script.draw(tmp_path, curves))


def test_least_one_norm_claims_come_out_as_expected(tmp_path: Path) -> None:
    script = _script("verify_least_one_norm")
    distances = np.array([1.0, 8.0, 32.0])
    sizes = script.influence(distances)
    claims = [*script.optimality_claims(2), *script.smo_claims(2), script.label_claim(2)]
    _as_expected([*claims, *script.influence_claims(2, distances, sizes)])
    assert script.draw(tmp_path, distances, sizes).stat().st_size > 10_000


def test_least_one_norm_tables_at_a_tiny_size(tmp_path: Path, capsys: Any) -> None:
    script = _script("reproduce_least_one_norm")
    rng = np.random.default_rng(0)
    y = np.where(rng.random(60) < 0.5, 1, -1)
    splits = np.array([rng.permutation(60) for _ in range(3)])
    np.savez(
        tmp_path / "ida_heart.npz",
        X=rng.standard_normal((60, 3)) + y[:, None],
        y=y,
        gen_train_idx=splits[:, :40],
        gen_test_idx=splits[:, 40:],
    )
    arguments = ["--data", str(tmp_path), "--sets", "ida_heart", "--splits", "2"]
    script.main([*arguments, "--output", str(tmp_path)])
    shown = capsys.readouterr().out
    assert "least 1-norm" in shown
    assert "figure 1: the LS-SVM line rotates more" in shown
    assert (tmp_path / "figure_1.png").stat().st_size > 10_000
    assert script.main(["--data", str(tmp_path / "none"), "--splits", "1"]) == 0
