"""Plot of the objective and the criticality gap of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dcprog.display.canvas import BLUE, RED, axes, legend
from dcprog.foundation.arrays import Array
from dcprog.foundation.parameters import check_choice

SMALLEST_GAP = 1e-16  # a gap of 0 cannot be drawn on a logarithmic axis
HORIZONTAL = {"iteration": "outer iteration", "time": "time (s)"}


@dataclass(repr=False, eq=False)
class ConvergenceDisplay:
    """Objective (left axis) and criticality gap (right axis, logarithmic) of a run.

    A gap that was not measured is left out; one below 1e-16 is drawn at 1e-16.

    Parameters
    ----------
    x : array of shape (n_iter + 1,)
        Iterations or seconds.
    objective, gap : arrays of shape (n_iter + 1,)
    x_name : str
        Label of the horizontal axis.

    Attributes
    ----------
    ax_, figure_
        The matplotlib Axes with the left axis, and their Figure.
    gap_ax_
        The matplotlib Axes with the right axis.
    lines_ : list of matplotlib lines
        The objective and the gap.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> import dcprog as dc
    >>> from dcprog.display import ConvergenceDisplay
    >>> rows = np.array([[1.0], [2.0], [-9.0]])
    >>> result = dc.solve(dc.Risk(rows, dc.hinge(), transform=dc.cap_at(1.0)))
    >>> display = ConvergenceDisplay.from_result(result, ax=Figure().subplots())
    >>> bool(np.all(display.lines_[0].get_ydata() == result.history.value))
    True
    """

    x: Array
    objective: Array
    gap: Array
    x_name: str = HORIZONTAL["iteration"]
    ax_: Any = field(init=False, default=None)
    gap_ax_: Any = field(init=False, default=None)
    figure_: Any = field(init=False, default=None)
    lines_: list[Any] = field(init=False, default_factory=list)

    @classmethod
    def from_result(
        cls, result: Any, x: str = "iteration", *, ax: Any = None, **kwargs: Any
    ) -> ConvergenceDisplay:
        """Plot the run that gave a result.

        Parameters
        ----------
        result : Result
            Of :func:`dcprog.solve`; an estimator's ``result_``.
        x : {"iteration", "time"}, default "iteration"
            The quantity on the horizontal axis.
        ax, **kwargs
            As for :meth:`plot`.

        Returns
        -------
        ConvergenceDisplay

        Raises
        ------
        TypeError
            `result` is not a Result.
        ValueError
            `x` is neither "iteration" nor "time".
        """
        if not hasattr(result, "history"):
            raise TypeError(
                f"result={result!r}: a Result is needed, from solve(...) or an estimator's result_"
            )
        return cls._of(result.history, x).plot(ax, **kwargs)

    @classmethod
    def _of(cls, history: Any, x: str = "iteration") -> ConvergenceDisplay:
        check_choice("x", x, HORIZONTAL)
        steps = np.arange(len(history), dtype=float) if x == "iteration" else history.time
        return cls(steps, history.value, history.gap, HORIZONTAL[x])

    def plot(self, ax: Any = None, **kwargs: Any) -> ConvergenceDisplay:
        """Draw both curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure's by default.
        **kwargs
            Options of matplotlib's ``plot``, for both curves.

        Returns
        -------
        ConvergenceDisplay
            Itself.

        Raises
        ------
        ImportError
            matplotlib is not installed.
        """
        self.ax_ = ax = axes(ax)
        self.figure_ = ax.figure
        self.gap_ax_ = twin = ax.twinx()
        look = {"color": BLUE, "marker": ".", "label": "objective"}
        self.lines_ = ax.plot(self.x, self.objective, **look | kwargs)
        measured = np.isfinite(self.gap)
        gap = np.maximum(self.gap[measured], SMALLEST_GAP)
        look = {"color": RED, "marker": "x", "linestyle": "--"}
        look["label"] = "criticality gap"
        self.lines_ += twin.semilogy(self.x[measured], gap, **look | kwargs)
        ax.set_xlabel(self.x_name)
        ax.set_ylabel("objective", color=self.lines_[0].get_color())
        twin.set_ylabel("criticality gap", color=self.lines_[1].get_color())
        twin.spines["right"].set_visible(True)
        twin.grid(False)
        for side in (ax, twin):
            side.margins(y=0.15)  # leaves room for the legend
        legend(twin, handles=self.lines_, loc="upper center", ncols=2)
        if self.x_name == HORIZONTAL["iteration"]:
            ax.xaxis.get_major_locator().set_params(integer=True)
        return self


def plot_history(history: Any, ax: Any = None) -> Any:
    """Objective (left axis) and criticality gap (right axis, logarithmic) by iteration.

    Parameters
    ----------
    history : History
    ax : matplotlib Axes, optional
        A new figure's by default.

    Returns
    -------
    matplotlib Axes
        The Axes with the left axis.

    Raises
    ------
    ImportError
        matplotlib is not installed: ``pip install "dcprog[plots]"``.
    """
    return ConvergenceDisplay._of(history).plot(ax).ax_
