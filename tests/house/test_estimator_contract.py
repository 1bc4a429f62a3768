"""Every public estimator, whichever there are, keeps scikit-learn's contract without exception.

Once with its default parameters, and once more where others lead to other code: another solver,
another way of coding classes, a kernel. The race is that of RobustRegressor alone: of four classes
it takes seconds a fit.
"""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

import dcprog as dc

PATH = {"lambdas": [1.0], "cv": 2}  # paths of several λ have tests of their own
QUICK: dict[str, dict[str, Any]] = {
    "RobustClassifier": {"n_starts": 1},
    "AngleSVCCV": {"estimator": dc.models.AngleSVC(n_starts=1), "lams": [1.0], "cv": 2},
    "RobustClassifierCV": PATH | {"estimator": dc.RobustClassifier(n_starts=1)},
    "RobustRegressorCV": PATH | {"estimator": dc.RobustRegressor(n_starts=1)},
}


def estimators() -> dict[str, type[BaseEstimator]]:
    """What the package and its models export, and can be fitted."""
    public = {name: getattr(room, name) for room in (dc, dc.models) for name in room.__all__}
    return {
        name: value
        for name, value in public.items()
        if isinstance(value, type) and issubclass(value, BaseEstimator) and hasattr(value, "fit")
    }


OTHERS = [
    dc.RobustClassifier(dc.truncate(dc.hinge(), 0.0), dc.l1(0.1), multiclass="ovr", n_starts=1),
    dc.RobustRegressor(dc.welsch(dc.square(), 1.0), dc.l2(0.1), kernel="rbf", n_starts=1),
    dc.models.AngleSVC(2, penalty="elasticnet", lam=0.01, n_starts=1),
    dc.models.AngleSVC(kernel="rbf", n_starts=1),
    dc.models.CappedSVC(2.0, algorithm="alternating", max_iter=2000, n_starts=1),
    dc.models.LeastOneNormSVC(solver="smo", kernel="linear"),
    dc.models.SmoothSVC(outlier_ratio=0.05, filtering="trimmed", n_starts=1),
]


@parametrize_with_checks(
    [cls(**QUICK.get(name, {})) for name, cls in estimators().items()] + OTHERS
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_contract(estimator: Any, check: Any) -> None:
    check(estimator)


def test_the_walk_finds_them() -> None:
    found = estimators()
    assert {"RobustClassifier", "RobustRegressorCV", "MMRegressor", "CappedSVC"} <= set(found)
    assert set(QUICK) <= set(found)
