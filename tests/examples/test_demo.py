"""The demo, on two parameters: its tables have their rows, its plots are there."""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def demo() -> ModuleType:
    spec = importlib.util.spec_from_file_location("demo", DEMO)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["demo"] = module  # its dataclasses look their annotations up there
    spec.loader.exec_module(module)
    return module


def test_tables_and_plots(
    demo: ModuleType,
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
        assert (folder / f"{name}.png").read_bytes().startswith(PNG)


def test_a_share_of_the_labels_changes_class(demo: ModuleType) -> None:
    y = np.arange(100) % 3
    flipped = demo.flip(y, 0.2, np.random.default_rng(0))
    assert np.sum(flipped != y) == 20
    assert set(flipped) == {0, 1, 2}
    assert np.array_equal(y, np.arange(100) % 3)


def test_one_repeat_is_refused(demo: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        demo.main(["--repeats", "1"])
    assert "standard error" in capsys.readouterr().err
