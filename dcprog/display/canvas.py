"""The axes, colours and legends that all plots share.

The colours are Okabe and Ito's, told apart under all common kinds of colour blindness.
"""

from __future__ import annotations

from textwrap import wrap
from typing import Any

BLACK, ORANGE, GREEN, BLUE, RED = "#000000", "#E69F00", "#009E73", "#0072B2", "#D55E00"
PURPLE, SKY = "#CC79A7", "#56B4E9"
LABEL = 44  # characters in a line of a legend
SMALLEST = 4.0  # points: the smallest font size of a legend
MARGIN = 0.05  # of what is drawn, left free above and below: matplotlib's own


def axes(ax: Any) -> Any:
    """The axes given, or those of a new figure."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('plots need matplotlib: pip install "dcprog[plots]"') from error
    if ax is None:
        ax = plt.subplots(layout="constrained")[1]
    if not isinstance(ax, plt.Axes):
        raise TypeError(f"ax={ax!r}: matplotlib Axes are needed, or None for a new figure's")
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(visible=True, color="0.9")
    ax.set_axisbelow(True)
    return ax


def legend(ax: Any, **options: Any) -> Any:
    """A legend inside the axes: long labels are wrapped, the font shrinks until the legend fits."""
    found = ax.legend(**{"loc": "best", "fontsize": "small"} | options)
    for text in found.get_texts():
        text.set_text("\n".join(wrap(text.get_text(), LABEL)))
    figure = ax.figure
    figure.canvas.draw()
    room = ax.get_window_extent()
    while (size := found.get_texts()[0].get_fontsize()) > SMALLEST:
        box = found.get_window_extent()
        if box.width <= room.width and box.height <= room.height:
            break
        for text in found.get_texts():
            text.set_fontsize(size - 1.0)
        figure.canvas.draw()
    return found
