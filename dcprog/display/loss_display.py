"""Plot of a loss and of majorants that touch it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dcprog.display.canvas import BLACK, BLUE, GREEN, MARGIN, ORANGE, PURPLE, RED, SKY, axes, legend
from dcprog.foundation.arrays import Array
from dcprog.foundation.parameters import check_count, check_number
from dcprog.losses.loss import Loss, check_is_loss

MAJORANTS = [(RED, "-."), (GREEN, ":"), (PURPLE, "--"), (ORANGE, "--"), (SKY, "-")]
HEADROOM = 2.5  # of the loss's range, above which a steeper base is cut off


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
        Points at which the majorants touch the loss.
    touched : array of shape (k,)
        Values of the loss at `at`.
    majorants : array of shape (k, m)
        Values of the majorants at u.
    name, base_name : str
        Names of the loss and the base in the legend.

    Attributes
    ----------
    ax_, figure_
        The matplotlib Axes and their Figure.
    lines_ : list of matplotlib lines
        The loss, the majorants, and the base if it is shown.
    points_ : list of matplotlib lines
        The points of contact, one per majorant.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from dcprog.display import LossDisplay
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
            A trimmed loss is a function of all samples at once and has no curve; its inner loss
            ``loss.loss`` has one.
        at : array of shape (k,), default ()
            Margins or residuals in [low, high] where majorants touch.
        low, high : float
            Least and largest margin or residual to draw.
        points : int, default 601
            Number of points of an even grid; the points of `at` are added to it.
        name : str, optional
            Name in the legend; the loss's repr by default.
        ax, show_base, **kwargs
            As for :meth:`plot`.

        Returns
        -------
        LossDisplay

        Raises
        ------
        TypeError
            `loss` is not a Loss.
        ValueError
            The loss is trimmed, the interval empty, or a point of contact outside it.
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
            Options of matplotlib's ``plot``, for the loss.

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
            **{"color": BLUE, "linewidth": 4.5, "alpha": 0.5, "label": self.name} | kwargs,
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
        legend(ax)
        return self

    def _set_limits(self) -> None:
        low, size = float(np.min(self.loss)), float(np.ptp(self.loss))
        if size > 0:
            lowest = min(float(np.min(line.get_ydata())) for line in self.lines_)
            top = min(self.ax_.get_ylim()[1], low + HEADROOM * size)
            self.ax_.set_ylim(lowest - MARGIN * size, top)


def _grid(low: float, high: float, points: int) -> Array:
    check_number("low", low)
    check_number("high", high)
    if not low < high:
        raise ValueError(f"low={low!r}, high={high!r}: low must lie below high")
    check_count("points", points, 2)
    return np.linspace(low, high, points)


def _places(at: npt.ArrayLike, low: float, high: float) -> Array:
    places = np.atleast_1d(np.asarray(at, dtype=float))
    if places.ndim != 1 or not np.all((places >= low) & (places <= high)):
        raise ValueError(f"at={at!r}: numbers between low={low!r} and high={high!r} are needed")
    return places


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
