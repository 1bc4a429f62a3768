"""scikit-learn's callbacks around a fit, told of every step of the loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dcprog.engine.track import Progress
from dcprog.foundation.arrays import Array

__all__ = ["Watch"]


class Watch:
    """The callbacks that ``set_callbacks`` gave to an estimator, during one fit.

    Parameters
    ----------
    estimator
        Of scikit-learn's ``CallbackSupportMixin``.
    point : callable
        Fitted attributes at θ, with which a callback may look at the estimator half-way.
    X, y, sample_weight
        What it is fitted to.
    """

    def __init__(
        self,
        estimator: Any,
        point: Callable[[Array], dict[str, Any]],
        X: Any,
        y: Any,
        sample_weight: Any = None,
    ) -> None:
        self.point = point
        self.data: dict[str, Any] = {"estimator": estimator, "X": X, "y": y}
        if sample_weight is not None:
            self.data["metadata"] = {"sample_weight": sample_weight}
        self.is_needed = hasattr(estimator, "_skl_callbacks")
        context = estimator._init_callback_context(max_subtasks=None)
        self.context = context.call_on_fit_task_begin(**self.data)

    def step(self, progress: Progress) -> bool:
        """Tell of a step; True if a callback asks to stop."""
        if not self.is_needed:
            return False
        inner = self.context.subcontext(task_name="step").call_on_fit_task_begin(**self.data)
        return inner.call_on_fit_task_end(
            **self.data, reconstruction_attributes=lambda: self.point(progress.x)
        )

    def end(self) -> None:
        """Tell of the end; the estimator is fitted."""
        self.context.call_on_fit_task_end(**self.data, reconstruction_attributes={})
