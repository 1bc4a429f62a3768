"""The reproduction of the capped SVM's table, on two parameters."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from examples.capped_svm import reproduce as example
from tests.examples.verdicts import is_png


def test_tables_and_plots(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(example, "GRID", (0.1, 1.0))
    monkeypatch.setattr(example, "SHARES", (0.0, 0.3))
    kept = ("1-nearest neighbour", "linear SVM", "capped, p = 1")
    monkeypatch.setattr(example, "METHODS", {name: example.METHODS[name] for name in kept})
    example.main(["--output", str(tmp_path), "--repeats", "2", "--jobs", "1"])
    printed = capsys.readouterr().out
    rows: dict[str, Any] = {}
    for name in example.METHODS:
        (line,) = (line for line in printed.splitlines() if line.startswith(name + "  "))
        rows[name] = [float(number) for number in re.findall(r"(\d+\.\d) ± ", line)]
        assert len(rows[name]) == 4, line  # best and nested, clean and noisy
        assert rows[name][0] >= rows[name][1] - 1e-9
    assert rows["capped, p = 1"][1] > 95
    assert rows["capped, p = 1"][3] > rows["1-nearest neighbour"][3] + 10
    exact, single = (
        float(re.findall(rf"p = 1, {a} +(\S+)", printed)[0]) for a in ("exact", "alternating")
    )
    assert exact < single - 5  # the single pass stalls
    for name in ("accuracy", "descent"):
        assert is_png(tmp_path / f"{name}.png")


def test_a_missing_set_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert set(example.load(["Wine", "ALLAML"], tmp_path)) == {"Wine"}
    assert "ALLAML".lower() in capsys.readouterr().out
