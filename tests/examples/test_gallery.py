"""Every piece of the gallery runs, is short, draws a figure and asserts what it shows."""

from __future__ import annotations

import ast
import runpy
import warnings
from collections.abc import Iterator
from pathlib import Path

import matplotlib
import pytest
from matplotlib import pyplot as plt

PIECES = sorted((Path(__file__).resolve().parents[2] / "examples" / "gallery").glob("plot_*.py"))
NAMES = [piece.stem.removeprefix("plot_") for piece in PIECES]
LINES = 60


@pytest.fixture
def canvas() -> Iterator[None]:
    """A backend without windows, and no figure left behind."""
    before = matplotlib.get_backend()
    plt.switch_backend("agg")
    plt.close("all")
    yield
    plt.close("all")
    plt.switch_backend(before)


def test_there_are_enough() -> None:
    assert len(PIECES) >= 16


@pytest.mark.slow  # make docs runs them all
@pytest.mark.parametrize("piece", PIECES, ids=NAMES)
@pytest.mark.usefixtures("canvas")
def test_what_it_asserts_holds(piece: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a reader who copies it sees no warning either
        runpy.run_path(str(piece), run_name="__main__")
    assert plt.get_fignums()


def test_they_are_short_and_assert() -> None:
    for piece in PIECES:
        text = piece.read_text(encoding="utf-8")
        tree = ast.parse(text)
        assert text.count("\n") <= LINES, piece.name
        assert any(isinstance(node, ast.Assert) for node in tree.body), piece.name
        title, underline = (ast.get_docstring(tree) or "").splitlines()[:2]
        assert underline == "=" * len(title), piece.name
