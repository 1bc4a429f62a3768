"""What the README shows runs as it stands, one block after the other, and says what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.examples.verdicts import is_png

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
Told = tuple[list[str], dict[str, Any]]
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.S)


@pytest.fixture(scope="module")
def told() -> Told:
    """What each block prints, and the names that they leave."""
    names: dict[str, Any] = {"__name__": "readme"}
    printed = []
    for block in BLOCKS:
        lines: list[str] = []
        names["print"] = lambda *words, out=lines: out.append(" ".join(map(str, words)))
        exec(compile(block, "README.md", "exec"), names)
        printed.append("\n".join(lines))
    return printed, names


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"\d+\.\d*", text)]


def test_convex_is_wrong_and_ours_is_right(told: Told) -> None:
    convex, ours = numbers(told[0][0])
    assert convex < 0.75
    assert ours > 0.93
    assert [round(convex, 2), round(ours, 2)] == numbers(BLOCKS[0].rpartition("#")[2])


def test_packing_is_the_best_there_is(told: Told) -> None:
    best = (np.sqrt(2) - 1) / 2
    assert numbers(told[0][1])[0] == pytest.approx(best, abs=1e-4)
    assert numbers(BLOCKS[1].rpartition("#")[2])[0] == pytest.approx(best, abs=1e-4)


def test_pipeline_gives_up_the_slips(told: Told) -> None:
    accuracy = numbers(told[0][2])[0]
    assert round(accuracy, 2) == numbers(BLOCKS[2].partition("# ")[2])[0]
    assert accuracy > 0.93
    slipped = np.flatnonzero(told[1]["seen"][:, 0] != told[1]["X"][:, 0])
    given_up = np.flatnonzero(told[1]["search"].best_estimator_[-1].outlier_weight_ == 0)
    assert set(slipped) <= set(given_up)
    all_slipped, more = map(int, re.findall(r"the (\d+) and (\d+) more", BLOCKS[2])[0])
    assert slipped.size == all_slipped
    assert abs(given_up.size - all_slipped - more) <= 3  # ties may fall otherwise elsewhere


def test_own_loss_is_certified_and_bounded(told: Told) -> None:
    line = told[1]["line"]
    assert line.predict([[10]]) == pytest.approx(19, abs=1e-4)
    assert "no" not in re.findall(r"(?:yes|no)$", told[0][3], re.M)
    assert "Bound: proved" in told[0][3]


def test_every_block_is_looked_at() -> None:
    assert len(BLOCKS) == 4
    assert all(len(block.strip().splitlines()) <= 10 for block in BLOCKS[1:])


def test_readme_names_files_that_exist() -> None:
    found = re.findall(r"[`(]((?:examples|docs|benchmarks)/[\w./]+|[A-Z]+\.\w+)[`)]", README)
    assert len(found) > 6
    for name in found:
        assert (ROOT / name).exists(), name


def test_picture_is_small() -> None:
    path = ROOT / re.findall(r"!\[.*?\]\((.*?)\)", README)[0]
    assert is_png(path)
    assert path.stat().st_size < 200_000
