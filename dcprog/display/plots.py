"""Plots as scikit-learn display objects, drawn with matplotlib where it is installed.

A display holds the numbers it draws; ``plot`` draws them, again if asked to, and keeps what it
drew in ``ax_``, ``figure_`` and ``lines_``. The colours are Okabe and Ito's, told apart under all
common kinds of colour blindness. Decision regions are scikit-learn's own
``sklearn.inspection.DecisionBoundaryDisplay``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from dcprog.foundation.arrays import Array
from dcprog.foundation.parameters import check_number
from dcprog.losses.loss import Loss, check_is_loss

__all__ = ["ConvergenceDisplay", "LossDisplay", "OutlierDisplay", "plot_history"]

BLACK, ORANGE, GREEN, BLUE, RED = "#000000", "#E69F00", "#009E73", "#0072B2", "#D55E00"
PURPLE, SKY = "#CC79A7", "#56B4E9"
MAJORANTS = [(RED, "-."), (GREEN, ":"), (PURPLE, (0, (5, 1))), (ORANGE, "--"), (SKY, "-")]
SMALLEST_GAP = 1e-16  # a gap of exactly 0 has no place on a logarithmic axis
HEADROOM = 2.5
HORIZONTAL = {"iteration": "outer iteration", "time": "time (s)"}
ORDERS = {"sorted": "samples, by weight", "index": "sample"}


@dataclass(repr=False, eq=False)
class LossDisplay:
    """A loss, its convex base, and the majorants weight·base(v) + tilt·v + const that touch it.

    Parameters
    ----------
    u : array of shape (m,)
        Margins or residuals.
    loss, base : arrays of shape (m,)
        Values at u.
    at : array of shape (k,)
        Where the majorants touch.
    touched : array of shape (k,)
        The loss there.
    majorants : array of shape (k, m)
        Their values at u.
    name, base_name : str
        What the loss and the base are called in the legend.

    Attributes
    ----------
    ax_, figure_
        Of matplotlib.
    lines_ : list of matplotlib lines
        The loss, the majorants, and the base if it is shown.
    points_ : list of matplotlib lines
        The points of contact, one a majorant.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from dcprog.display.plots import LossDisplay
    >>> from dcprog.losses import cap, hinge
    >>> ax = Figure().subplots()  # without it: a new figure of matplotlib's pyplot
    >>> display = LossDisplay.from_loss(cap(hinge(), 1.0), at=[0.5, -1.0], ax=ax)
    >>> [line.get_label() for line in display.lines_]
    ['cap(c=1.0, loss=hinge())', 'majorant at 0.5', 'majorant at −1', 'base hinge()']
    """

    u: Array
    loss: Array
    base: Array
    at: Array
    touched: Array
    majorants: Array
    name: str = "loss"
    base_name: str = "base"
    ax_: Any = field(init=False, default=None)
    figure_: Any = field(init=False, default=None)
    lines_: list[Any] = field(init=False, default_factory=list)
    points_: list[Any] = field(init=False, default_factory=list)

    @classmethod
    def from_loss(
        cls,
        loss: Loss,
        at: npt.ArrayLike = (),
        *,
        low: float = -3.0,
        high: float = 3.0,
        points: int = 601,
        name: str | None = None,
        ax: Any = None,
        show_base: bool = True,
        **kwargs: Any,
    ) -> LossDisplay:
        """Evaluate a loss and its majorants, and plot them.

        Parameters
        ----------
        loss : Loss
            A trimmed one is a function of all samples at once and has no curve; its inner loss
            ``loss.loss`` has one.
        at : array of shape (k,), default ()
            Margins or residuals in [low, high] where majorants touch.
        low, high : float
            Between which margins or residuals to draw.
        points : int, default 601
            Of an even grid; the points of `at` are added to it.
        name : str, optional
            For the legend; the loss's repr by default.
        ax, show_base, **kwargs
            As for :meth:`plot`.

        Returns
        -------
        LossDisplay

        Raises
        ------
        TypeError
            Not a loss.
        ValueError
            A trimmed loss, an empty interval, points of contact that lie outside.
        """
        check_is_loss("loss", loss)
        if loss.is_joint:
            raise ValueError(
                f"{loss!r} is a function of all samples at once and has no curve; "
                "plot its inner loss, loss.loss"
            )
        grid = _grid(low, high, points)
        places = _places(at, low, high)
        u = np.unique(np.concatenate([grid, places]))
        base = np.asarray(loss.base(u))
        display = cls(
            u,
            np.asarray(loss(u)),
            base,
            places,
            np.asarray(loss(places)),
            _majorants(loss, places, u),
            _line(loss) if name is None else name,
            f"base {_line(loss.base)}",
        )
        return display.plot(ax, show_base=show_base, **kwargs)

    def plot(self, ax: Any = None, *, show_base: bool = True, **kwargs: Any) -> LossDisplay:
        """Draw the curves; the vertical axis ends at 2.5 times the range of the loss.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure's by default.
        show_base : bool, default True
            Whether the base is drawn.
        **kwargs
            Of matplotlib's ``plot``, for the loss.

        Returns
        -------
        LossDisplay
            Itself.

        Raises
        ------
        ImportError
            matplotlib is not installed.
        """
        self.ax_ = ax = axes(ax)
        self.figure_ = ax.figure
        self.lines_ = ax.plot(
            self.u,
            self.loss,
            **{"color": BLUE, "linewidth": 4.5, "alpha": 0.6, "label": self.name} | kwargs,
        )
        self.points_ = []
        for k, (place, curve) in enumerate(zip(self.at, self.majorants, strict=True)):
            colour, style = MAJORANTS[k % len(MAJORANTS)]
            label = f"majorant at {_signed(place)}"
            self.lines_ += ax.plot(self.u, curve, color=colour, linestyle=style, label=label)
            self.points_ += ax.plot(place, self.touched[k], "o", color=colour)
        if show_base:
            look = {"color": BLACK, "linestyle": "--", "linewidth": 1.0, "label": self.base_name}
            self.lines_ += ax.plot(self.u, self.base, **look)
        self._set_limits()
        ax.set(xlabel="margin or residual u", ylabel="loss")
        ax.legend(loc="best")
        return self

    def _set_limits(self) -> None:
        low, size = float(np.min(self.loss)), float(np.ptp(self.loss))
        if size > 0:
            lowest = min(float(np.min(line.get_ydata())) for line in self.lines_)
            top = min(self.ax_.get_ylim()[1], low + HEADROOM * size)
            self.ax_.set_ylim(lowest - 0.05 * size, top)


@dataclass(repr=False, eq=False)
class ConvergenceDisplay:
    """Objective (left axis) and criticality gap (right axis, logarithmic) of a run.

    A gap that was not measured is left out; one below 1e-16 is drawn there.

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
        Of matplotlib; the left axis.
    gap_ax_
        The right one.
    lines_ : list of matplotlib lines
        The objective and the gap.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> import dcprog as dc
    >>> from dcprog.display.plots import ConvergenceDisplay
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
            What the horizontal axis shows.
        ax, **kwargs
            As for :meth:`plot`.

        Returns
        -------
        ConvergenceDisplay

        Raises
        ------
        TypeError
            Not a result.
        ValueError
            Another x.
        """
        if not hasattr(result, "history"):
            raise TypeError(
                f"result={result!r}: a Result is needed, from solve(...) or an estimator's result_"
            )
        return cls._of(result.history, x).plot(ax, **kwargs)

    @classmethod
    def _of(cls, history: Any, x: str = "iteration") -> ConvergenceDisplay:
        _check_choice("x", x, HORIZONTAL)
        steps = np.arange(len(history), dtype=float) if x == "iteration" else history.time
        return cls(steps, history.value, history.gap, HORIZONTAL[x])

    def plot(self, ax: Any = None, **kwargs: Any) -> ConvergenceDisplay:
        """Draw both curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure's by default.
        **kwargs
            Of matplotlib's ``plot``, for both curves.

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
        look = {"color": BLUE, "marker": "o", "markersize": 4, "label": "objective"}
        self.lines_ = ax.plot(self.x, self.objective, **look | kwargs)
        measured = np.isfinite(self.gap)
        gap = np.maximum(self.gap[measured], SMALLEST_GAP)
        look = {"color": RED, "marker": "s", "markersize": 4, "linestyle": "--"}
        look["label"] = "criticality gap"
        self.lines_ += twin.semilogy(self.x[measured], gap, **look | kwargs)
        ax.set_xlabel(self.x_name)
        ax.set_ylabel("objective", color=self.lines_[0].get_color())
        twin.set_ylabel("criticality gap", color=self.lines_[1].get_color())
        twin.spines["right"].set_visible(True)
        twin.grid(False)
        for side in (ax, twin):
            side.margins(y=0.15)  # leaves room for the legend
        twin.legend(handles=self.lines_, loc="upper center", ncols=2)
        if self.x_name == HORIZONTAL["iteration"]:
            ax.xaxis.get_major_locator().set_params(integer=True)
        return self


@dataclass(repr=False, eq=False)
class OutlierDisplay:
    """The final weight of each training sample, with those given up (at most `threshold`) crossed.

    Parameters
    ----------
    weight : array of shape (n,)
        1 for a sample that counts as in the base loss, 0 for one that is ignored.
    order : int array of shape (n,)
        The samples from left to right.
    threshold : float
        Up to which weight a sample counts as given up.
    highlight : bool array of shape (n,), optional
        Samples to put a halo around, such as those known to be wrong.
    x_name : str
        Label of the horizontal axis.

    Attributes
    ----------
    given_up : bool array of shape (n,)
    ax_, figure_
        Of matplotlib.
    lines_ : list of matplotlib lines
        The samples kept, those given up, and the halos if any are asked for.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from dcprog.display.plots import OutlierDisplay
    >>> from dcprog.estimators import RobustRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [0.0, 1.0, 2.0, 3.0, -9.0]
    >>> fitted = RobustRegressor().fit(X, y)
    >>> display = OutlierDisplay.from_estimator(fitted, ax=Figure().subplots())
    >>> display.given_up
    array([False, False, False, False,  True])
    """

    weight: Array
    order: npt.NDArray[np.intp]
    threshold: float = 1e-6
    highlight: npt.NDArray[np.bool_] | None = None
    x_name: str = ORDERS["sorted"]
    ax_: Any = field(init=False, default=None)
    figure_: Any = field(init=False, default=None)
    lines_: list[Any] = field(init=False, default_factory=list)

    @property
    def given_up(self) -> npt.NDArray[np.bool_]:
        """Which samples have a weight of at most `threshold`."""
        return self.weight <= self.threshold

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        order: str = "sorted",
        threshold: float = 1e-6,
        highlight: npt.ArrayLike | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> OutlierDisplay:
        """Plot the ``outlier_weight_`` of a fitted estimator.

        Parameters
        ----------
        estimator : RobustClassifier or RobustRegressor
            Fitted. Of a pipeline take the last step.
        order : {"sorted", "index"}, default "sorted"
            From left to right: by weight, or as in the training data.
        threshold : float, default 1e-6
            Up to which weight a sample counts as given up, 0 or more.
        highlight : bool array of shape (n,), optional
            Samples to put a halo around, such as those known to be wrong.
        ax, **kwargs
            As for :meth:`plot`.

        Returns
        -------
        OutlierDisplay

        Raises
        ------
        TypeError
            Not an estimator, or a threshold that is no number.
        ValueError
            Another order, a negative threshold, a mask of another shape.
        sklearn.exceptions.NotFittedError
            The estimator has no weights yet.
        """
        _check_choice("order", order, ORDERS)
        check_number("threshold", threshold, 0, closed=True)
        check_is_fitted(estimator, "outlier_weight_")
        weight = np.asarray(estimator.outlier_weight_, dtype=float)
        mask = None if highlight is None else _mask(highlight, weight.size)
        places = np.argsort(weight, kind="stable") if order == "sorted" else np.arange(weight.size)
        return cls(weight, places, float(threshold), mask, ORDERS[order]).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> OutlierDisplay:
        """Draw the weights.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure's by default.
        **kwargs
            Of matplotlib's ``plot``, for the samples that are kept.

        Returns
        -------
        OutlierDisplay
            Itself.

        Raises
        ------
        ImportError
            matplotlib is not installed.
        """
        self.ax_ = ax = axes(ax)
        self.figure_ = ax.figure
        out = self.given_up
        look = {"color": BLUE, "marker": "o", "markersize": 4, "linestyle": "none"}
        self.lines_ = self._dots(~out, look | {"label": f"kept ({np.sum(~out)})"} | kwargs)
        look |= {"color": RED, "marker": "x", "markersize": 6}
        self.lines_ += self._dots(out, look | {"label": f"given up ({np.sum(out)})"})
        if self.highlight is not None:
            halo = {"marker": "o", "markersize": 11, "color": ORANGE, "alpha": 0.5, "zorder": 1}
            halo |= {"linestyle": "none", "markeredgewidth": 0.0}
            label = f"highlighted ({np.sum(self.highlight)})"
            self.lines_ += self._dots(self.highlight, halo | {"label": label})
        ax.set(xlabel=self.x_name, ylabel="weight in the final majorant")
        ax.legend(loc="best")
        return self

    def _dots(self, mask: npt.NDArray[np.bool_], look: dict[str, Any]) -> list[Any]:
        """The samples of a mask at their places."""
        shown = mask[self.order]
        return self.ax_.plot(np.flatnonzero(shown), self.weight[self.order][shown], **look)


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
        The left one.

    Raises
    ------
    ImportError
        matplotlib is not installed: ``pip install "dcprog[plots]"``.
    """
    return ConvergenceDisplay._of(history).plot(ax).ax_


# ---- parts ---------------------------------------------------------------------------------------


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


def _check_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    listed = list(choices)
    if value not in listed:
        raise ValueError(f"{name}={value!r}: choose one of {listed}")


def _grid(low: float, high: float, points: int) -> Array:
    check_number("low", low)
    check_number("high", high)
    if not low < high:
        raise ValueError(f"low={low!r}, high={high!r}: low must lie below high")
    if isinstance(points, bool) or not isinstance(points, int | np.integer):
        raise TypeError(f"points={points!r}: an integer is needed")
    if points < 2:
        raise ValueError(f"points={points!r}: 2 or more are needed")
    return np.linspace(low, high, points)


def _places(at: npt.ArrayLike, low: float, high: float) -> Array:
    places = np.atleast_1d(np.asarray(at, dtype=float))
    if places.ndim != 1 or not np.all((places >= low) & (places <= high)):
        raise ValueError(f"at={at!r}: numbers between low={low!r} and high={high!r} are needed")
    return places


def _mask(highlight: npt.ArrayLike, n: int) -> npt.NDArray[np.bool_]:
    mask = np.asarray(highlight)
    if mask.dtype != bool or mask.shape != (n,):
        raise ValueError(
            f"highlight has dtype {mask.dtype} and shape {mask.shape}: booleans of shape ({n},) "
            "are needed, one a training sample"
        )
    return mask


def _majorants(loss: Loss, at: Array, u: Array) -> Array:
    """Values at u of the majorants that touch at `at`, of shape (k, m)."""
    weight, tilt = (np.asarray(part)[:, None] for part in loss.surrogate(at))
    t = np.asarray(loss.base(at))
    carried = loss.transform.extended()(t) - loss.transform(t)  # 0 unless a slope is infinite
    touched = np.asarray(loss(at)) + carried
    rise = weight * (loss.base(u) - t[:, None]) + tilt * (u - at[:, None])
    return touched[:, None] + rise


def _line(loss: Loss) -> str:
    """The repr on one line."""
    return " ".join(repr(loss).split())


def _signed(number: float) -> str:
    return f"{number:g}".replace("-", "−")
