"""Plots, drawn with matplotlib where it is installed."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcprog.result import History

__all__ = ["plot_history"]


def plot_history(history: History, ax: Any = None) -> Any:
    """Objective (left axis) and criticality gap (right axis, logarithmic) by iteration.

    Parameters
    ----------
    history : History
    ax : matplotlib Axes, optional
        A new figure's by default.

    Returns
    -------
    matplotlib Axes
        The left one.

    Raises
    ------
    ImportError
        matplotlib is not installed: ``pip install "dcprog[plots]"``.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('plots need matplotlib: pip install "dcprog[plots]"') from error
    if ax is None:
        _, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    steps = np.arange(len(history))
    (line,) = ax.plot(steps, history.value, "o-", color="C0", label="objective")
    ax.set_xlabel("outer iteration")
    ax.set_ylabel("objective", color="C0")
    twin = ax.twinx()
    measured = np.isfinite(history.gap)
    floor = 1e-16  # a gap of exactly 0 has no place on a logarithmic axis
    (other,) = twin.semilogy(
        steps[measured],
        np.maximum(history.gap[measured], floor),
        "s--",
        color="C1",
        label="criticality gap",
    )
    twin.set_ylabel("criticality gap", color="C1")
    ax.legend(handles=[line, other], loc="best")
    return ax
