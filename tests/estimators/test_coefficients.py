"""Coefficients and starts as tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import dcprog as dc
from dcprog import models

IRIS = load_iris(as_frame=True)
NAMES = [*IRIS.data.columns, "intercept"]


@pytest.mark.parametrize(
    "model",
    [
        dc.RobustClassifier("hinge", multiclass="ovr"),
        dc.RobustClassifier("hinge", multiclass="angle"),
        dc.RobustClassifier("hinge"),
        models.CappedSVC(),
        models.AngleSVC(),
    ],
)
def test_columns_are_the_scores_of_the_classes(model: Any) -> None:
    y = IRIS.target_names[IRIS.target]
    table = model.fit(IRIS.data, y).summary().to_frame()
    assert list(table.index) == NAMES
    assert list(table.columns) == list(model.classes_)
    scores = IRIS.data.to_numpy() @ table.to_numpy()[:-1] + table.loc["intercept"].to_numpy()
    np.testing.assert_array_equal(
        model.classes_[np.argmax(scores, axis=1)], model.predict(IRIS.data)
    )


def test_of_two_classes_the_second_has_a_column() -> None:
    X, y = IRIS.data[:100], IRIS.target[:100]
    model = dc.RobustClassifier().fit(X, y)
    table = model.summary().to_frame()
    assert list(table.columns) == ["1"]
    np.testing.assert_array_equal(table["1"], [*model.coef_[0], model.intercept_[0]])
    assert repr(model.summary()).startswith("RobustClassifier, scores by class, objective ")
    for name in NAMES:
        assert name in model.summary()._repr_html_()


def test_without_names_features_are_numbered() -> None:
    model = dc.RobustClassifier().fit(IRIS.data.to_numpy()[:100], IRIS.target[:100])
    assert model.summary().names == ["x0", "x1", "x2", "x3", "intercept"]


@pytest.mark.parametrize("multiclass", ["angle", "crammer_singer", "weston_watkins", "ovr"])
def test_rounding_is_shown_as_0(multiclass: str) -> None:
    """By symmetry the first class has no coefficient of x1; sums leave 1e-16 there."""
    X = [[2.0, 0], [2.5, 0], [-1, 1], [-1, 2], [-1, -1], [-1, -2]]
    model = dc.RobustClassifier("hinge", "l2", multiclass=multiclass).fit(X, [0, 0, 1, 1, 2, 2])
    table = model.summary().to_frame()
    assert table.loc["x1", "0"] == 0
    assert np.all(table.loc["x0"] != 0)
    assert np.all(table.loc["x1", ["1", "2"]] != 0)


def test_an_intercept_that_is_not_fitted_has_no_row() -> None:
    model = dc.RobustClassifier(fit_intercept=False).fit(IRIS.data, IRIS.target)
    assert model.summary().names == NAMES[:-1]


def test_a_kernel_machine_has_no_table() -> None:
    model = dc.RobustClassifier(kernel="rbf").fit(IRIS.data[:100], IRIS.target[:100])
    with pytest.raises(AttributeError, match="kernel machine"):
        model.summary()


def test_the_starts_of_a_result_are_a_table() -> None:
    model = dc.RobustClassifier(n_starts=3, random_state=0).fit(IRIS.data[50:], IRIS.target[50:])
    summary = model.result_.summary()
    starts = summary.to_frame()
    assert isinstance(starts, pd.DataFrame)
    assert list(starts.index) == [start.kind for start in model.result_.starts]
    assert list(starts.columns) == ["value", "status", "steps", "gap", "violation"]
    assert starts["value"].min() == pytest.approx(model.result_.value)
    assert repr(summary).startswith(repr(model.result_))
    assert repr(summary).count("\n") == repr(model.result_).count("\n") + 1 + len(starts)


@pytest.mark.parametrize(
    "model",
    [
        dc.RobustClassifier(kernel="rbf"),
        dc.RobustRegressor(kernel="rbf"),
        models.AngleSVC(kernel="rbf"),
        models.RescaledHingeSVC(kernel="rbf"),
        models.LeastOneNormSVC(kernel="rbf"),
    ],
)
def test_a_kernel_machine_says_why_it_has_no_coefficients(model: Any) -> None:
    assert not hasattr(model, "coef_")
    with pytest.raises(AttributeError, match="no coef_ before it is fitted"):
        _ = model.coef_
    X, y = IRIS.data.to_numpy()[50:], IRIS.target.to_numpy()[50:]
    model.fit(X, y)
    with pytest.raises(AttributeError, match="linear kernel: with kernel='rbf'"):
        _ = model.coef_
    assert model.set_params(kernel="linear").fit(X, y).coef_.size == 4
