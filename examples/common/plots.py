"""The look of the examples' plots."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Okabe and Ito's palette, told apart under all common kinds of colour blindness.
BLACK, ORANGE, GREEN, BLUE, RED = "#000000", "#E69F00", "#009E73", "#0072B2", "#D55E00"
STYLE: dict[Any, Any] = {
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "0.9",
    "legend.frameon": False,
    "savefig.dpi": 130,
}


def parser_of(doc: str | None) -> ArgumentParser:
    """Arguments of a script that may leave a plot."""
    parser = ArgumentParser(description=(doc or "").splitlines()[0])
    parser.add_argument("--output", type=Path, help="a folder for a plot")
    return parser


@contextmanager
def plotted(folder: Path, name: str) -> Iterator[Any]:
    """Axes, whose figure is saved in the end."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.5, 4.2), layout="constrained")
        axes = figure.subplots()
        yield axes
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(folder / f"{name}.png")
