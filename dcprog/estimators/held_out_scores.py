"""Scores on held-out samples along warm-started penalty paths."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import _safe_split

from dcprog.estimators.penalty_family import USUAL
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import TrivialSolutionWarning

__all__ = ["path_scores", "weight_name"]


def weight_name(model: Any) -> str:
    """The name of the parameter that is the penalty's weight, such as ``penalty__lam``."""
    names = [name for name in model.get_params() if name.startswith("penalty__")]
    found = [name for name in names if name.split("__")[-1] in USUAL]
    if not found:
        raise ValueError(f"penalty={model.penalty!r}: it has no parameter lam to choose")
    return min(found, key=lambda name: name.count("__"))


def path_scores(
    model: Any,
    name: str,
    lambdas: Array,
    scorer: Any,
    X: Any,
    y: Any,
    weights: Array | None,
    fold: tuple[Any, Any],
) -> list[float]:
    """The scores on the held-out part of a fold, one for each λ in order."""
    train, test = fold
    X_train, y_train = _safe_split(model, X, y, train)
    X_test, y_test = _safe_split(model, X, y, test, train)
    given = {} if weights is None else {"sample_weight": weights[test]}
    own = None if weights is None else weights[train]
    return [
        float(scorer(fitted, X_test, y_test, **given))
        for fitted in _path(model, name, lambdas, X_train, y_train, own)
    ]


def _path(
    model: Any, name: str, lambdas: Array, X: Any, y: Any, weights: Array | None
) -> Iterator[Any]:
    """Yield the estimator fitted for each λ in order, warm-started from the previous fit."""
    model.set_params(warm_start=True)
    for lam in lambdas:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TrivialSolutionWarning)  # expected at large λ
            warnings.simplefilter("ignore", ConvergenceWarning)  # the final fit warns
            fitted = model.set_params(**{name: float(lam)}).fit(X, y, sample_weight=weights)
        if getattr(model, "scale", None) == "mad":
            model.set_params(scale=fitted.scale_)  # it does not depend on λ
        yield fitted
