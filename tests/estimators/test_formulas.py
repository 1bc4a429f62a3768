"""Fits by formulas: columns and names of formulaic, features of other data, messages."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dcprog as dc
from dcprog.models import (
    AngleSVC,
    LeastOneNormSVC,
    MMRegressor,
    RescaledHingeSVC,
    SmoothSVC,
)

pytest.importorskip("formulaic")


def _frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.uniform(1, 9, 60), "site": np.tile(["u", "v", "w"], 20)})
    frame["loss"] = 2 * np.log(frame["age"]) + (frame["site"] == "v") + rng.normal(0, 0.1, 60)
    return frame


@pytest.fixture(scope="module")
def fitted() -> MMRegressor:
    return MMRegressor.from_formula("loss ~ log(age) + C(site)", _frame())


@pytest.fixture
def model(fitted: MMRegressor) -> MMRegressor:
    """A copy, which a test may fit again."""
    return pickle.loads(pickle.dumps(fitted))


def test_a_formula_is_the_fit_to_its_columns(model: MMRegressor) -> None:
    frame = _frame()
    columns = {
        "log(age)": np.log(frame["age"]),
        "C(site)[T.v]": frame["site"] == "v",
        "C(site)[T.w]": frame["site"] == "w",
    }
    X = pd.DataFrame(columns).astype(float)
    usual = MMRegressor().fit(X, frame["loss"])
    np.testing.assert_array_equal(model.coef_, usual.coef_)
    assert model.summary().names == [*columns, "intercept"]
    small = MMRegressor.from_formula("loss ~ log(age)", frame)
    assert model.wald_test(small).names == ("C(site)[T.v]", "C(site)[T.w]")
    assert model.wald_test(small).p_value < 1e-6
    assert model.wald_test("C(site)") == model.wald_test(small)
    assert model.wald_test(["log(age)", "C(site)"]).df == 3


def test_other_data_have_the_categories_of_the_fit(model: MMRegressor) -> None:
    other = pd.DataFrame({"age": [1.0, 1.0], "site": ["w", "v"]})
    np.testing.assert_allclose(model.predict(model.design_(other)), [0, 1], atol=0.2)
    assert repr(model.design_) == "Design('loss ~ log(age) + C(site)')"
    with pytest.raises(ValueError, match=r"formula=.*null values.*: leave such rows out"):
        model.design_(pd.DataFrame({"age": [1.0, np.nan], "site": ["w", "v"]}))


def test_methods_take_the_variables_of_the_formula(model: MMRegressor) -> None:
    frame = _frame()
    columns, y = model.design_(frame), frame["loss"]
    np.testing.assert_array_equal(model.predict(frame), model.predict(columns))
    np.testing.assert_array_equal(model.predict_interval(frame), model.predict_interval(columns))
    for method in (model.score, model.score_robust, model.objective):
        assert method(frame, y) == method(columns, y)
    np.testing.assert_array_equal(model.outlier_weights(frame, y), model.outlier_weight_)
    with pytest.raises(ValueError, match="the data have no site"):
        model.predict(frame[["age"]])


def test_the_summary_tells_of_rows_left_out(model: MMRegressor) -> None:
    frame = _frame()
    frame.loc[:4, "age"] = np.nan
    gaps = MMRegressor.from_formula("loss ~ log(age)", frame)
    two = frame[frame["site"] != "w"]
    labels = dc.RobustClassifier.from_formula("site ~ age", two, loss="logistic")
    assert "55 samples (5 rows with missing values left out)" in gaps.summary().title
    assert "36 samples (4 rows with missing values left out)" in labels.summary().title
    assert "left out" not in model.summary().title


@pytest.mark.parametrize("as_column", [True, False])
def test_weights_are_a_column_or_one_a_row(as_column: bool) -> None:
    frame = _frame().set_index(np.zeros(60)).assign(w=np.tile([1.0, 2.0, 0.5], 20))
    frame.iloc[3, 0] = np.nan
    frame.iloc[7, 3] = np.nan
    model = dc.RobustRegressor.from_formula(
        "loss ~ age", frame, sample_weight="w" if as_column else frame["w"]
    )
    known = frame.dropna()
    usual = dc.RobustRegressor().fit(known[["age"]], known["loss"], sample_weight=known["w"])
    np.testing.assert_array_equal(model.coef_, usual.coef_)
    assert model.outlier_weight_.size == 58
    labels = dc.RobustClassifier.from_formula("site ~ age", frame, sample_weight="w")
    known_labels = dc.RobustClassifier().fit(known[["age"]], known["site"], known["w"])
    np.testing.assert_array_equal(labels.coef_, known_labels.coef_)


def test_a_series_of_weights_goes_by_its_index() -> None:
    frame = _frame().assign(w=np.random.default_rng(1).uniform(0.1, 5, 60))
    usual = dc.RobustRegressor.from_formula("loss ~ age", frame, sample_weight="w").coef_
    shuffled = frame.sample(frac=1, random_state=0)["w"]
    found = dc.RobustRegressor.from_formula("loss ~ age", frame, sample_weight=shuffled)
    np.testing.assert_array_equal(found.coef_, usual)
    part = dc.RobustRegressor.from_formula("loss ~ age", frame[:40], sample_weight=shuffled)
    first = dc.RobustRegressor.from_formula("loss ~ age", frame[:40], sample_weight="w")
    np.testing.assert_array_equal(part.coef_, first.coef_)
    for wrong, told in (
        (shuffled[:30], "has none for the row"),
        (shuffled.set_axis(np.arange(60) + 5), "has none for the row 0"),
        (pd.concat([shuffled, shuffled]), "one is not unique"),
    ):
        with pytest.raises(ValueError, match=told):
            dc.RobustRegressor.from_formula("loss ~ age", frame, sample_weight=wrong)


def test_names_of_columns_and_weights_are_told() -> None:
    frame = _frame().assign(w=np.tile([1.0, 2.0, 0.5], 20))
    twice = pd.concat([frame, frame["age"]], axis=1)
    with pytest.raises(ValueError, match="two columns of the name 'age'"):
        dc.RobustRegressor.from_formula("loss ~ age", twice, sample_weight="w")
    with pytest.raises(TypeError, match="'weights': write sample_weight"):
        dc.RobustRegressor.from_formula("loss ~ age", frame, weights="w")
    for formula, names in (("loss ~ . - w", ["age"]), ("loss ~ .", ["age", "w"])):
        model = dc.RobustRegressor.from_formula(
            formula, frame.drop(columns="site"), sample_weight="w"
        )
        assert model.design_.names == names


def test_weights_that_do_not_fit_are_named() -> None:
    for wrong, told in (("ages", "is 'age' meant"), (np.ones(3), "each of the 60 rows")):
        with pytest.raises(ValueError, match=told):
            dc.RobustRegressor.from_formula("loss ~ age", _frame(), sample_weight=wrong)
    with pytest.raises(TypeError, match=r"LeastOneNormSVC takes no sample_weight: dc\.RobustReg"):
        LeastOneNormSVC.from_formula("site ~ age", _frame(), sample_weight="age")


def test_a_dot_is_all_other_variables() -> None:
    frame = _frame()
    model = MMRegressor.from_formula("loss ~ .", frame)
    usual = MMRegressor.from_formula("loss ~ age + site", frame)
    assert model.summary().names == usual.summary().names
    np.testing.assert_array_equal(
        model.predict(frame[["site", "age"]]), usual.predict(frame[["age", "site"]])
    )


def test_a_fit_to_columns_forgets_the_formula(model: MMRegressor) -> None:
    X = pd.DataFrame({"age": np.arange(9.0)})
    assert model.fit(X, 2 * X["age"]).predict(X[:2]) == pytest.approx([0, 2], abs=1e-6)


def twice(x: pd.Series) -> pd.Series:
    return 2 * x


def test_functions_and_modules_of_the_caller() -> None:
    frame, shift = _frame(), 1.0
    model = MMRegressor.from_formula("loss ~ np.log(age) + twice(age) + I(age + shift > 4)", frame)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    assert shift == model.design_.values["shift"]


def test_columns_of_the_formula_in_another_order(model: MMRegressor) -> None:
    frame = _frame()
    columns = model.design_(frame)
    np.testing.assert_array_equal(
        model.predict(columns[columns.columns[::-1]]), model.predict(frame)
    )


@pytest.mark.parametrize("classifier", [dc.RobustClassifier, AngleSVC, SmoothSVC])
def test_classifiers_take_the_labels_of_a_column(classifier: Any) -> None:
    frame = _frame().set_index(np.zeros(60))
    frame.loc[frame["loss"] < 0.1, "age"] = np.nan
    model = classifier.from_formula("site ~ age + loss", frame)
    known = frame.dropna()
    usual = classifier().fit(known[["age", "loss"]], known["site"])
    np.testing.assert_array_equal(model.classes_, ["u", "v", "w"])
    np.testing.assert_array_equal(model.coef_, usual.coef_)
    np.testing.assert_array_equal(model.predict(known), usual.predict(known[["age", "loss"]]))
    assert model.score(known, known["site"]) == usual.score(known[["age", "loss"]], known["site"])


def test_classifiers_without_labels_or_without_an_intercept() -> None:
    for formula in ("~ age", "log(age) ~ loss", "site + loss ~ age"):
        with pytest.raises(ValueError, match="the labels must be a column"):
            dc.RobustClassifier.from_formula(formula, _frame())
    assert not dc.RobustClassifier.from_formula("site ~ 0 + age", _frame()).fit_intercept
    with pytest.raises(ValueError, match="SmoothSVC always has an intercept"):
        SmoothSVC.from_formula("site ~ 0 + age", _frame())


@pytest.mark.parametrize(
    "formula",
    ["loss ~ age |  site", "loss ~ age +", "loss ~ unknown(age)", "loss ~ I(age 3)"],
)
def test_a_formula_that_cannot_be_read_is_named(formula: str) -> None:
    with pytest.raises(ValueError, match=r"formula=.* (2 parts|Operator|Unable|invalid syntax)"):
        MMRegressor.from_formula(formula, _frame())


def test_missing_values_and_constants() -> None:
    frame = _frame()
    frame.loc[3, "age"] = np.nan
    model = dc.RobustRegressor.from_formula("loss ~ 0 + age", frame, loss="huber")
    assert model.outlier_weight_.size == 59
    assert model.intercept_ == 0
    assert not model.fit_intercept


@pytest.mark.parametrize("formula", ["~ age", "site ~ age", "loss + age ~ site"])
def test_a_formula_has_one_target(formula: str) -> None:
    with pytest.raises(ValueError, match="one numeric target is needed"):
        MMRegressor.from_formula(formula, _frame())


def test_without_the_package_the_message_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "formulaic", None)
    with pytest.raises(ImportError, match="formulas need formulaic"):
        MMRegressor.from_formula("loss ~ age", _frame())


def test_a_formula_has_a_feature_and_tells_of_the_intercept() -> None:
    with pytest.raises(ValueError, match="has no feature"):
        MMRegressor.from_formula("loss ~ 1", _frame())
    with pytest.raises(TypeError, match="the formula determines it"):
        MMRegressor.from_formula("loss ~ age", _frame(), fit_intercept=False)


def test_categories_that_the_fit_has_not_seen_are_an_error() -> None:
    model = MMRegressor.from_formula("loss ~ age + C(site)", _frame())
    with pytest.raises(ValueError, match=r"categories .* {'q'}"):
        model.design_(pd.DataFrame({"age": [1.0], "site": ["q"]}))


def test_a_number_of_the_caller_hides_no_function_of_formulaic() -> None:
    C, log = 3.0, "a name"  # noqa: F841
    model = MMRegressor.from_formula("loss ~ log(age) + C(site)", _frame())
    assert model.summary().names[:2] == ["log(age)", "C(site)[T.v]"]


def test_a_function_of_the_caller_is_taken_for_that_of_formulaic() -> None:
    def log(x: pd.Series) -> pd.Series:
        return np.log(x) + 1

    model = MMRegressor.from_formula("loss ~ log(age)", _frame())
    features = model.design_(_frame())["log(age)"]
    np.testing.assert_allclose(features, np.log(_frame()["age"]) + 1)


def test_columns_in_a_dict() -> None:
    frame = _frame()
    columns = {name: list(frame[name]) for name in frame}
    model = MMRegressor.from_formula("loss ~ age + site", columns)
    usual = MMRegressor.from_formula("loss ~ age + site", frame)
    given: Any = columns
    np.testing.assert_array_equal(model.predict(given), usual.predict(frame))


@pytest.mark.parametrize("dtype", ["string", "category", "object"])
def test_text_of_every_type_has_categories(dtype: str) -> None:
    frame = _frame().astype({"site": dtype})
    model = MMRegressor.from_formula("loss ~ age + site", frame)
    assert model.summary().names == ["age", "site[T.v]", "site[T.w]", "intercept"]
    assert model.predict(frame).shape == (60,)


@pytest.mark.parametrize("formula", ["loss ~ Intercept", "loss ~ 0 + Intercept + site", "loss ~ ."])
def test_a_variable_with_the_name_of_the_constant(formula: str) -> None:
    with pytest.raises(ValueError, match="rename this variable"):
        MMRegressor.from_formula(formula, _frame().rename(columns={"age": "Intercept"}))


@pytest.mark.parametrize(
    "settings",
    [
        (dc.RobustClassifierCV, {"lambdas": [1.0], "cv": 2}),
        (LeastOneNormSVC, {"kernel": "linear"}),
        (RescaledHingeSVC, {"kernel": "linear"}),
    ],
)
def test_searches_and_machines_take_formulas(settings: Any) -> None:
    estimator, given = settings
    frame = _frame().query("site != 'w'")
    model = estimator.from_formula("site ~ age + loss", frame, **given)
    usual = estimator(**given).fit(frame[["age", "loss"]], frame["site"])
    np.testing.assert_array_equal(model.predict(frame), usual.predict(frame[["age", "loss"]]))


def test_a_search_without_an_intercept() -> None:
    given = dc.RobustRegressor("huber")
    search = dc.RobustRegressorCV.from_formula(
        "loss ~ 0 + age + site", _frame(), estimator=given, lambdas=[1.0], cv=2
    )
    assert search.intercept_ == 0
    assert given.fit_intercept
    weights = search.outlier_weights(_frame(), _frame()["loss"])
    np.testing.assert_allclose(weights, search.outlier_weight_)
