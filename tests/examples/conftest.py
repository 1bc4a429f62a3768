"""Runs of the examples in tests keep nothing between them."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.common import parts


@pytest.fixture(autouse=True)
def own_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "FOLDER", tmp_path / "parts")
