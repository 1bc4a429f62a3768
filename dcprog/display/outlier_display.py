"""Plot of the final weight of each training sample."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from dcprog.display.canvas import BLUE, MARGIN, ORANGE, RED, axes, legend
from dcprog.foundation.arrays import Array
from dcprog.foundation.parameters import check_choice, check_number

THRESHOLD = 1e-6  # largest weight of a sample that counts as given up, of 1
ORDERS = {"sorted": "samples, by weight", "index": "sample"}


@dataclass(repr=False, eq=False)
class OutlierDisplay:
    """The final weight of each training sample; samples given up are drawn as crosses.

    Parameters
    ----------
    weight : array of shape (n,)
        1 for a sample that counts as in the base loss, 0 for one that is ignored.
    order : int array of shape (n,)
        The samples from left to right.
    threshold : float
        Largest weight of a sample that counts as given up.
    highlight : bool array of shape (n,), optional
        Samples to put a halo around, such as those known to be wrong.
    x_name : str
        Label of the horizontal axis.

    Attributes
    ----------
    given_up : bool array of shape (n,)
    ax_, figure_
        The matplotlib Axes and their Figure.
    lines_ : list of matplotlib lines
        The samples kept, those given up, and the halos if any are asked for.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from dcprog.display import OutlierDisplay
    >>> from dcprog.estimators import RobustRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [0.0, 1.0, 2.0, 3.0, -9.0]
    >>> fitted = RobustRegressor().fit(X, y)
    >>> display = OutlierDisplay.from_estimator(fitted, ax=Figure().subplots())
    >>> display.given_up
    array([False, False, False, False,  True])
    """

    weight: Array
    order: npt.NDArray[np.intp]
    threshold: float = THRESHOLD
    highlight: npt.NDArray[np.bool_] | None = None
    x_name: str = ORDERS["sorted"]
    ax_: Any = field(init=False, default=None)
    figure_: Any = field(init=False, default=None)
    lines_: list[Any] = field(init=False, default_factory=list)

    @property
    def given_up(self) -> npt.NDArray[np.bool_]:
        """A mask of the samples with a weight of at most `threshold`."""
        return self.weight <= self.threshold

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        order: str = "sorted",
        threshold: float = THRESHOLD,
        highlight: npt.ArrayLike | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> OutlierDisplay:
        """Plot the ``outlier_weight_`` of a fitted estimator, or the weights of other samples.

        The weights are to scale: 1 is the largest that the loss gives, as for a sample whose loss
        is 0.

        Parameters
        ----------
        estimator : RobustClassifier, RobustRegressor, or another with ``outlier_weight_``
            Fitted, or a pipeline that ends in one.
        X, y : arrays, optional
            Samples, weighted by the estimator's ``outlier_weights(X, y)``; by default those of the
            fit.
        order : {"sorted", "index"}, default "sorted"
            From left to right: by weight, or as in the training data.
        threshold : float, default 1e-6
            Largest weight of a sample that counts as given up, 0 or more.
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
            The estimator has no weights or is none, or the threshold is not a number.
        ValueError
            The order is unknown, the threshold negative, or the mask of another shape.
        sklearn.exceptions.NotFittedError
            The estimator has no weights yet.
        """
        check_choice("order", order, ORDERS)
        check_number("threshold", threshold, 0, closed=True)
        weight = _weights(estimator, X, y)
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
            Options of matplotlib's ``plot``, for the samples that are kept.

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
        look = {"color": BLUE, "marker": ".", "linestyle": "none"}
        self.lines_ = self._dots(~out, look | {"label": f"kept ({np.sum(~out)})"} | kwargs)
        look |= {"color": RED, "marker": "x"}
        self.lines_ += self._dots(out, look | {"label": f"given up ({np.sum(out)})"})
        if self.highlight is not None:
            halo = {"marker": "o", "color": ORANGE, "alpha": 0.5, "zorder": 1}
            halo |= {"linestyle": "none", "markeredgewidth": 0.0}
            label = f"highlighted ({np.sum(self.highlight)})"
            self.lines_ += self._dots(self.highlight, halo | {"label": label})
        ax.set(xlabel=self.x_name, ylabel="weight in the final majorant")
        top = max(1.0, float(np.max(self.weight)))
        ax.set_ylim(-MARGIN * top, (1 + MARGIN) * top)
        legend(ax)
        return self

    def _dots(self, mask: npt.NDArray[np.bool_], look: dict[str, Any]) -> list[Any]:
        """Draw the samples of a mask at their places from left to right."""
        shown = mask[self.order]
        return self.ax_.plot(np.flatnonzero(shown), self.weight[self.order][shown], **look)


def _weights(estimator: Any, X: Any, y: Any) -> Array:
    """The weights of the samples, those of the fit by default."""
    if hasattr(estimator, "steps"):
        X = X if X is None else estimator[:-1].transform(X)
        estimator = estimator[-1]
    check_is_fitted(estimator)
    if not hasattr(estimator, "outlier_weight_"):
        name = type(estimator).__name__
        raise TypeError(f"{name} keeps no weights of its samples; RobustClassifier does")
    if (X is None) != (y is None):
        raise ValueError("X and y belong together: pass both, or none for those of the fit")
    if X is not None and not hasattr(estimator, "outlier_weights"):
        name = type(estimator).__name__
        raise TypeError(f"{name} has weights of the samples of the fit only: leave X and y out")
    weight = estimator.outlier_weight_ if X is None else estimator.outlier_weights(X, y)
    return np.asarray(weight, dtype=float)


def _mask(highlight: npt.ArrayLike, n: int) -> npt.NDArray[np.bool_]:
    mask = np.asarray(highlight)
    if mask.dtype != bool or mask.shape != (n,):
        raise ValueError(
            f"highlight has dtype {mask.dtype} and shape {mask.shape}: booleans of shape ({n},) "
            "are needed, one a training sample"
        )
    return mask
