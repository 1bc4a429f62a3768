"""The look of the examples' plots."""

from __future__ import annotations

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
