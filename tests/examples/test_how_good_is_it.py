"""Local optima, certificate and bound, from few runs: the tables and the plots are there."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.guides import how_good_is_it as example
from tests.examples.verdicts import is_png


def test_how_good_is_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example.main(["--output", str(tmp_path / "new"), "--runs", "4", "--samples", "30"])
    printed = capsys.readouterr().out
    rows = {line.split()[0]: line.split() for line in printed.splitlines() if line}
    assert rows["race"][2] == "100%"
    assert float(rows["convex"][3]) >= float(rows["race"][3])
    assert [int(rows[kind][1]) for kind in example.COLOURS] == [1, 1, 4, 4]
    assert printed.count("Bound: proved") == 2
    claims = printed[printed.index("claim") : printed.index("Bound")].splitlines()
    assert not any(line.endswith(" no") or "not seen" in line for line in claims)
    for name in ("landscape", "basins", "bound"):
        assert is_png(tmp_path / "new" / f"{name}.png")
