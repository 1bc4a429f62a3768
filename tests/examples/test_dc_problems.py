"""The guide to nonconvex problems: each of them is solved, the table and the picture are there."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest

from examples.guides import dc_problems as example
from tests.examples.verdicts import is_png


@pytest.mark.slow
def test_all_four_are_solved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(example, "circle_packing", partial(example.circle_packing, 3))
    example.main(["--output", str(tmp_path)])
    printed = capsys.readouterr().out
    assert printed.count("converged") == 4
    for said in (r"sparse recovery.* error (\S+)", r"phase retrieval.* up to sign (\S+)"):
        found = re.search(said, printed)
        assert found is not None
        assert float(found[1]) < 1e-6
    assert is_png(tmp_path / "packing.png")
