"""The axes and colours that all plots share.

The colours are Okabe and Ito's, told apart under all common kinds of colour blindness.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["BLACK", "BLUE", "GREEN", "ORANGE", "PURPLE", "RED", "SKY", "axes", "check_choice"]

BLACK, ORANGE, GREEN, BLUE, RED = "#000000", "#E69F00", "#009E73", "#0072B2", "#D55E00"
PURPLE, SKY = "#CC79A7", "#56B4E9"


def axes(ax: Any) -> Any:
    """The axes given, or those of a new figure."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('plots need matplotlib: pip install "dcprog[plots]"') from error
    if ax is None:
        return plt.subplots(figsize=(6, 4), layout="constrained")[1]
    if not isinstance(ax, plt.Axes):
        raise TypeError(f"ax={ax!r}: matplotlib Axes are needed, or None for a new figure's")
    return ax


def check_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """Refuse what is none of the choices."""
    listed = list(choices)
    if value not in listed:
        raise ValueError(f"{name}={value!r}: choose one of {listed}")
