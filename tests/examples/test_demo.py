"""The demo, on two parameters: its tables have their rows, its plots are there."""

import re
from pathlib import Path

import numpy as np
import pytest

from examples.guides import demo
from tests.examples.verdicts import is_png


def test_tables_and_plots(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taking_part = [demo.contenders()[k] for k in (0, 1, 3, 7)]  # both baselines, p = 1 and p = 2
    monkeypatch.setattr(demo, "contenders", lambda: taking_part)
    folder = tmp_path / "new" / "plots"
    arguments = ["--output", str(folder), "--repeats", "2", "--jobs", "1", "--grid", "0.1", "1"]
    demo.main(arguments)
    printed = capsys.readouterr().out
    accuracy = printed[printed.index("Accuracy") : printed.index("less SVM:")]
    for contender in taking_part:
        (row,) = [line for line in accuracy.splitlines() if line.startswith(contender.name + " ")]
        means = [float(mean) for mean in re.findall(r" (\d+\.\d) ± ", row)]
        assert len(means) == (2 if contender.only_flipped else 4)
        assert min(means) > 90, row
    assert re.search(r"gave up \d+ samples, \d+ of them flipped", printed)
    assert re.search(r"criticality gap +\S+ +\S+ +yes", printed)
    for name in ("losses", "convergence", "accuracy"):
        assert str(folder / f"{name}.png") in printed
        assert is_png(folder / f"{name}.png")


def test_a_share_of_the_labels_changes_class() -> None:
    y = np.arange(100) % 3
    flipped = demo.flip(y, 0.2, np.random.default_rng(0))
    assert np.sum(flipped != y) == 20
    assert set(flipped) == {0, 1, 2}
    assert np.array_equal(y, np.arange(100) % 3)


def test_one_repeat_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        demo.main(["--repeats", "1"])
    assert "standard error" in capsys.readouterr().err
