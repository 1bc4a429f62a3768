"""Call scikit-learn's callbacks at every step of a fit."""

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
        An instance of scikit-learn's ``CallbackSupportMixin``.
    point : callable
        Maps θ to the fitted attributes, from which a callback may rebuild the estimator mid-fit.
    X, y, sample_weight
        The training data.
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
        """Report a step to the callbacks; True if one of them asks to stop."""
        if not self.is_needed:
            return False
        inner = self.context.subcontext(task_name="step").call_on_fit_task_begin(**self.data)
        return inner.call_on_fit_task_end(
            **self.data, reconstruction_attributes=lambda: self.point(progress.x)
        )

    def end(self) -> None:
        """Report the end of the fit to the callbacks."""
        self.context.call_on_fit_task_end(**self.data, reconstruction_attributes={})
