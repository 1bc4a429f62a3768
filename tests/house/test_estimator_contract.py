"""Every public estimator, whichever there are, keeps scikit-learn's contract without exception.

Once with its default parameters but a single start, and where others lead to other code (another
solver, another way of coding classes, a kernel, the race of starts) by the checks that depend on
what is fitted. Forms of input are read by the base that classes share: one class of each base.
"""

from __future__ import annotations

from collections.abc import Iterator
from inspect import isabstract
from typing import Any

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import estimator_checks_generator

import dcprog as dc

# Paths of several λ have tests of their own, and the estimators searched are themselves below.
PATH = {"lambdas": [1.0], "cv": 2}
QUICK: dict[str, dict[str, Any]] = {
    "AngleSVCCV": {"estimator": dc.models.AngleSVC(n_starts=1), "lams": [1.0], "cv": 2},
    "RobustClassifierCV": PATH | {"estimator": dc.RobustClassifier("squared_hinge", n_starts=1)},
    "RobustRegressorCV": PATH | {"estimator": dc.RobustRegressor("huber", scale=1.0, n_starts=1)},
}
# RobustEstimator, PathSearch, PaperClassifier, PaperRegressor, KernelMachine
READ_EVERY_FORM = {"RobustClassifier", "RobustRegressor", "RobustRegressorCV"}
READ_EVERY_FORM |= {"CappedSVC", "MMRegressor", "LeastOneNormSVC"}
FORMS = ("check_estimator_sparse_", "check_classifiers_train(readonly", "check_regressors_train(r")
OTHERS = [
    dc.RobustClassifier(dc.truncate(dc.hinge(), 0.0), dc.l1(0.1), multiclass="ovr", n_starts=1),
    dc.RobustRegressor(),
    dc.RobustClassifier(dc.cap(dc.logistic(), 3.0), n_starts=1),
    dc.RobustRegressor(dc.welsch(dc.square(), 1.0), dc.l2(0.1), kernel="rbf", n_starts=1),
    dc.models.AngleSVC(2, penalty="elasticnet", lam=0.01, n_starts=1),
    dc.models.AngleSVC(kernel="rbf", n_starts=1),
    dc.models.CappedSVC(2.0, algorithm="alternating", max_iter=200, tol=1e-3, n_starts=1),
    dc.models.LeastOneNormSVC(solver="smo", kernel="linear"),
    dc.models.SmoothSVC(outlier_ratio=0.05, filtering="trimmed", n_starts=1),
]
OF_THE_FIT = {
    "check_classifiers_classes",
    "check_classifiers_one_label",
    "check_classifiers_one_label_sample_weights",
    "check_classifiers_train",
    "check_dict_unchanged",
    "check_estimators_dtypes",
    "check_estimators_overwrite_params",
    "check_estimators_pickle",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_fit_idempotent",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_n_features_in",
    "check_non_transformer_estimators_n_iter",
    "check_readonly_memmap_input",
    "check_regressors_train",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weights_not_overwritten",
}


def estimators() -> dict[str, type[BaseEstimator]]:
    """What the package and its models export, and can be fitted."""
    public = {name: getattr(room, name) for room in (dc, dc.models) for name in room.__all__}
    return {
        name: value
        for name, value in public.items()
        if isinstance(value, type) and issubclass(value, BaseEstimator) and not isabstract(value)
    }


def single_start(name: str, cls: type[BaseEstimator]) -> BaseEstimator:
    estimator = cls(**QUICK.get(name, {}))
    return estimator.set_params(n_starts=1) if "n_starts" in estimator.get_params() else estimator


def label(check: Any) -> str:
    """The name of a check, with its parameters if it has some."""
    given = ",".join(f"{key}={value}" for key, value in check.keywords.items())
    return f"{check.func.__name__}({given})" if given else str(check.func.__name__)


def cases() -> Iterator[Any]:
    for name, cls in estimators().items():
        for made, check in estimator_checks_generator(single_start(name, cls), legacy=True):
            what = label(check)
            if name in READ_EVERY_FORM or not what.startswith(FORMS):
                yield pytest.param(made, check, id=f"{name}-{what}")
    for number, other in enumerate(OTHERS):
        name = f"{number}-{type(other).__name__}"
        for made, check in estimator_checks_generator(other, legacy=True):
            if label(check) in OF_THE_FIT:
                yield pytest.param(made, check, id=f"{name}-{label(check)}")


@pytest.mark.parametrize(("estimator", "check"), list(cases()))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_contract(estimator: Any, check: Any) -> None:
    check(estimator)


def test_the_walk_finds_them() -> None:
    found = estimators()
    assert {"RobustClassifier", "RobustRegressorCV", "MMRegressor", "CappedSVC"} <= set(found)
    assert set(QUICK) | READ_EVERY_FORM <= set(found)


def test_the_named_checks_are_there() -> None:
    listed = [label(c) for e in OTHERS[:2] for _, c in estimator_checks_generator(e, legacy=True)]
    assert set(listed) >= OF_THE_FIT
    assert all(any(name.startswith(form) for name in listed) for form in FORMS)
