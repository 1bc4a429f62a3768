"""Every public estimator, whichever there are, keeps scikit-learn's contract without exception.

Those with other parameters are checked beside their own tests.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

import dcprog as dc

QUICK: dict[str, dict[str, Any]] = {
    "AngleSVCCV": {"lams": [0.1, 1.0], "cv": 2},
    "RobustClassifierCV": {"lambdas": [0.1, 1.0], "cv": 2},
    "RobustRegressorCV": {"lambdas": [0.1, 1.0], "cv": 2},
}


def estimators() -> dict[str, type[BaseEstimator]]:
    """What the package and its models export, and can be fitted."""
    public = {name: getattr(room, name) for room in (dc, dc.models) for name in room.__all__}
    return {
        name: value
        for name, value in public.items()
        if isinstance(value, type) and issubclass(value, BaseEstimator) and hasattr(value, "fit")
    }


@parametrize_with_checks([cls(**QUICK.get(name, {})) for name, cls in estimators().items()])
def test_scikit_learn_contract(estimator: Any, check: Any) -> None:
    check(estimator)


def test_the_walk_finds_them() -> None:
    found = estimators()
    assert {"RobustClassifier", "RobustRegressorCV", "MMRegressor", "CappedSVC"} <= set(found)
    assert set(QUICK) <= set(found)
