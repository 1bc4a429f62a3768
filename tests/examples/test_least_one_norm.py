"""The example scripts of the rescaled hinge and the least 1-norm SVM at sizes of seconds."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest


def _script(name: str) -> Any:
    path = Path(__file__).parents[2] / "examples" / f"{name}.py"
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
    claims = [*script.loss_claims(), *script.conjugacy_claims()]
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
    assert len(claims) == 3
    assert all(np.all(np.diff(values) <= 1e-9) for values in curves["pima"].values())
    assert script.draw(tmp_path, curves).stat().st_size > 10_000


def test_least_one_norm_claims_come_out_as_expected(tmp_path: Path) -> None:
    script = _script("verify_least_one_norm")
    distances = np.array([1.0, 8.0, 32.0])
    sizes = script.influence(distances)
    claims = [
        *script.optimality_claims(2),
        *script.smo_claims([script.problem(0)[1:], script.problem(1)[1:]]),
        *script.label_claims(2),
    ]
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
    assert "Heart: steps of the paper's order, least 1-norm" in shown
    assert "figure 1: the LS-SVM line turns more" in shown
    for name in ("figure_1.png", "steps.png"):
        assert (tmp_path / name).stat().st_size > 10_000
    arguments = ["--data", str(tmp_path / "none"), "--sets", "ida_heart", "german_numeric"]
    assert script.main(arguments) == 0
    assert capsys.readouterr().out.count("left out") == 2


def test_titanic_is_the_published_table() -> None:
    X, y = _script("titanic").titanic()
    assert X.shape == (2201, 3)
    assert np.count_nonzero(y == 1) == 711
    assert [np.count_nonzero(X[:, 0] == k) for k in (1, 2, 3, 4)] == [325, 285, 706, 885]
    assert X[:, 1:].sum(axis=0).tolist() == [109, 1731]  # children, men and boys
    survivors = [np.count_nonzero(X[y == 1, 0] == k) for k in (1, 2, 3, 4)]
    assert survivors == [203, 118, 178, 212]


def test_titanics_line_of_table_2_is_reproduced() -> None:
    script = _script("reproduce_least_one_norm")
    X, y, splits = script.splits_of("titanic", None, 3)
    assert [part.size for part in splits[0]] == [150, 2051]
    K = script.gaussian(script.euclidean_distances(X, squared=True), 1.0)
    steps: dict[str, list[int]] = {"LS-SVM": [], "least 1-norm": []}
    for name, counts in steps.items():
        for train, _ in splits:
            end = script.descent(name, K[np.ix_(train, train)], y[train], 1.0)
            counts.append(end.steps)
    assert np.mean(steps["LS-SVM"]) == pytest.approx(390, rel=0.1)
    assert 40 < np.mean(steps["least 1-norm"]) < 120  # 54 ± 6 in the paper


@pytest.mark.parametrize("name", ["LS-SVM", "least 1-norm"])
def test_the_papers_smo_ends_at_the_minimiser(name: str) -> None:
    machines = _script("least_one_norm_machines")
    rng = np.random.default_rng(0)
    y = np.where(rng.random(50) < 0.5, 1.0, -1.0)
    X = rng.standard_normal((50, 3)) + y[:, None]
    K = np.exp(-0.5 * np.sum((X[:, None] - X) ** 2, axis=2))
    end = machines.MACHINES[name](K, y, 3.0)
    stopped = machines.descent(name, K, y, 3.0, stop=1e-7)
    np.testing.assert_allclose(K @ stopped.a + stopped.b, K @ end.a + end.b, atol=1e-5)
    assert machines.descent(name, K, y, 3.0).steps < stopped.steps


def _broken(claims: list[Any]) -> list[str]:
    return [claim.text for claim in claims if claim.holds != claim.expected]


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # steps of length 0
def test_the_claims_on_smo_fail_for_another_pair_and_for_shorter_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problems = [_script("verify_least_one_norm").problem(seed)[1:] for seed in (0, 1)]
    script = _script("smo_steps")
    problem = problems[1]
    descend = script.loops().descend

    class OtherPair:
        @staticmethod
        def descend(*given: Any) -> int:
            return int(descend(*given[:8], True, *given[9:]))

    class HalfStep:
        @staticmethod
        def descend(*given: Any) -> int:
            K, _, q, _, _, v, g = given[:7]
            before = v.copy()
            moved = int(descend(*given))
            v[:] = (v + before) / 2
            g[:] = K @ v - q
            return moved

    monkeypatch.setattr(script, "loops", lambda: OtherPair)
    assert any("most violating" in text for text in _broken(script.smo_claims(problems)))
    monkeypatch.setattr(script, "loops", lambda: HalfStep)
    found = _broken(script.smo_claims([problem]))
    assert all(any(name in text for text in found) for name in ("by λ'", "a free step (", "bound"))


def test_proposition_2_fails_for_other_weights_and_another_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script = _script("verify_half_quadratic")
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
        found = _broken(script.loop_claims(1, 4))
        assert all(any(name in text for text in found) for name in names)
