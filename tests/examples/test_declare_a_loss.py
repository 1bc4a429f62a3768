"""Losses of one's own, on two seeds: the tables have their rows, the plots are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from examples.guides import declare_a_loss as example
from tests.examples.verdicts import is_png


@pytest.mark.slow
def test_declare_a_loss(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(example, "LAMBDAS", (0.1, 1.0))
    monkeypatch.setattr(example, "INNER_FOLDS", 2)
    example.main(["--output", str(tmp_path / "new"), "--seeds", "2", "--jobs", "1"])
    printed = capsys.readouterr().out
    accuracy = printed[printed.index("Accuracy") : printed.index("less SVM:")]
    for name in example.contenders():
        (row,) = [line for line in accuracy.splitlines() if line.startswith(name + " ")]
        means = [float(mean) for mean in re.findall(r" (\d+\.\d) ± ", row)]
        assert min(means) > 85, row
    assert printed.count("passes every check") == 3
    for name in ("losses", "outliers", "convergence"):
        assert is_png(tmp_path / "new" / f"{name}.png")
