"""Losses and penalties by name: what the names are, what can be set, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale

import dcprog
from dcprog.foundation.parameters import same
from dcprog.losses.compositions import MARGIN_LOSSES, RESIDUAL_LOSSES, is_of_residuals, named_loss
from dcprog.models import MMRegressor, RescaledHingeSVC
from dcprog.penalties.names import PENALTIES, named_penalty

dc: Any = dcprog  # arguments are wrong on purpose

X, CLASSES = load_iris(return_X_y=True)
X = scale(X)
Y = X @ np.array([1.0, -2.0, 0.5, 0.0]) + 0.1 * np.sin(np.arange(150.0))


@pytest.mark.parametrize("name", [*MARGIN_LOSSES, *RESIDUAL_LOSSES])
def test_a_named_loss_is_the_one_its_table_writes(name: str) -> None:
    table = dict(
        part.strip().strip("`").replace("``", "").split(None, 1)
        for part in str(named_loss.__doc__).splitlines()
        if part.strip().startswith("``")
    )
    assert same(named_loss(name), eval(table[name], vars(dc)))
    assert is_of_residuals(named_loss(name)) == (name in RESIDUAL_LOSSES)
    dc.check_loss(named_loss(name))


@pytest.mark.parametrize("name", PENALTIES)
def test_a_named_penalty_is_the_one_its_table_writes(name: str) -> None:
    table = dict(
        part.strip().replace("``", "").split(None, 1)
        for part in str(named_penalty.__doc__).splitlines()
        if part.strip().startswith("``")
    )
    assert same(named_penalty(name), eval(table[name], vars(dc)))
    assert named_penalty(name) is not named_penalty(name)


def test_a_name_fits_as_its_object_does() -> None:
    named = dc.RobustClassifier("capped_logistic", "l2").fit(X, CLASSES)
    given = dc.RobustClassifier(dc.cap(dc.logistic(), 2.0), dc.l2(1.0)).fit(X, CLASSES)
    np.testing.assert_array_equal(named.coef_, given.coef_)


def test_parameters_of_defaults_and_names_are_set_from_the_start() -> None:
    model = dc.RobustClassifier()
    assert model.get_params()["loss__c"] == 2.0
    assert model.get_params()["penalty__lam"] == "auto"
    model.set_params(loss__c=3, penalty__lam=0.1)
    assert (model.loss.c, model.penalty.lam) == (3, 0.1)
    both = dc.RobustRegressor().set_params(loss="tukey", loss__sigma=3.0, penalty="mcp")
    assert both.loss.sigma == 3.0
    assert both.penalty == "mcp"
    assert clone(both).set_params(penalty__gamma=2.0).penalty.gamma == 2.0
    assert dc.RobustClassifier("ramp").get_params()["loss__c"] == 1.0  # the table is untouched
    with pytest.raises(ValueError, match="no parameter 'sigma'"):
        dc.RobustClassifier().set_params(loss__sigma=1.0)


def test_a_grid_over_the_default() -> None:
    grid = {"loss__c": [0.5, 2.0], "penalty__lam": [0.1, 1.0]}
    search = GridSearchCV(dc.RobustClassifier(n_starts=1), grid, cv=2).fit(X, CLASSES)
    assert search.best_score_ > 0.9
    assert isinstance(search.best_estimator_.loss, dc.cap)


@pytest.mark.parametrize(
    ("fit", "words"),
    [
        (lambda: dc.RobustClassifier("huber").fit(X, CLASSES), "for RobustRegressor.*'ramp'"),
        (lambda: dc.RobustRegressor("hinge").fit(X, Y), "for RobustClassifier.*'tukey'"),
        (lambda: dc.RobustRegressor(dc.cap(dc.hinge(), 1.0)).fit(X, Y), "for RobustClassifier"),
        (lambda: dc.RobustRegressor(dc.square(at=1.0)).fit(X, Y), "for RobustClassifier"),
        (lambda: dc.RobustClassifier(dc.absolute()).fit(X, CLASSES), r"this one with at=1\.0"),
        (lambda: dc.RobustClassifier("hing").fit(X, CLASSES), "is 'hinge' meant"),
        (lambda: dc.RobustRegressor("bisquare").fit(X, Y), "is 'tukey' meant"),
        (lambda: dc.RobustClassifier("log_loss").fit(X, CLASSES), "is 'logistic' meant"),
        (lambda: dc.RobustRegressor(penalty="Lasso").fit(X, Y), "is 'l1' meant"),
        (lambda: dc.RobustClassifier("trim").fit(X, CLASSES), r"write dc\.trim\(loss, fraction\)"),
        (lambda: dc.RobustClassifier(dc.cap).fit(X, CLASSES), r"write dc\.cap\(loss, c\)"),
        (lambda: dc.RobustRegressor(penalty="tikhonov").fit(X, Y), "choose one of 'l1', 'l2'"),
        (lambda: dc.RobustRegressor(penalty=dc.scad).fit(X, Y), r"write dc\.scad\(lam\)"),
        (lambda: dc.penalty_path(X, Y, "cube"), "loss='cube'"),
        (lambda: dc.penalty_path(X, Y.astype(str), "ramp"), "pass a Risk"),
        (lambda: dc.RobustClassifier().set_params(penalty_lam=1), "is 'penalty__lam' meant"),
        (lambda: dc.RobustClassifier("ramp").set_params(loss_c=1), "is 'loss__c' meant"),
    ],
)
def test_refusals_name_the_right_one(fit: Callable[[], Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        fit()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: dc.cap(dc.hinge()), r"cap\(hinge\(\)\): c is missing; write cap\(hinge\(\), c\)"),
        (lambda: dc.huber(), r"huber\(\): delta is missing; write huber\(delta\)"),
        (lambda: dc.rational(dc.square()), r"s and delta are missing"),
        (lambda: dc.elastic_net(l2=1.0), r"elastic_net\(1\.0\): l1 is missing"),
        (lambda: dc.cap("hinge", 1.0), r"loss='hinge': a loss is needed; write dc\.hinge\(\)"),
        (lambda: dc.Risk(X, "hinge"), r"base='hinge'.*write dc\.hinge\(\)"),
        (lambda: dc.cap(cp.abs(cp.Variable(2)), 1.0), "expressions of cvxpy's stay in cvxpy"),
        (
            lambda: MMRegressor().fit(X, Y, sample_weight=Y),
            r"MMRegressor\.fit\(\) has no parameter 'sample_weight': dc\.RobustRegressor and",
        ),
        (
            lambda: dc.RobustRegressor().fit(X, Y, sample_weights=Y),
            r"RobustRegressor\.fit\(\) has no parameter 'sample_weights': is 'sample_weight' meant",
        ),
        (lambda: dc.RobustClassifier(C=1.0), r"parameter 'C': write penalty=dc\.l2\(1 / C\)"),
        (lambda: dc.RobustRegressor(alpha=1.0), r"'alpha': write penalty=dc\.l2\(alpha\)"),
        (
            lambda: dc.RobustRegressor(loss__tau=0.9),
            r"RobustRegressor\(…\)\.set_params\(loss__tau=",
        ),
        (lambda: dc.RobustRegressorCV(loss="huber"), "'scoring'; the estimator has its own"),
        (lambda: dc.explain(dc.Risk(X, dc.square())), "explain_choice"),
        (lambda: dc.explain_choice(dc.RobustRegressor()), "a fitted estimator by its spec_"),
        (lambda: dc.hinge(on=1.0), r"hinge\(\) has no parameter 'on': choose one of 'at'"),
    ],
)
def test_messages_say_what_to_write(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        make()


def test_one_class_is_named_as_it_was_given() -> None:
    for label in (1.0, "a", 3):
        with pytest.raises(ValueError, match="class") as caught:
            dc.RobustClassifier().fit(X, np.full(150, label))
        assert str(caught.value).endswith(f"are all of one class, {label!r}")
        with pytest.raises(ValueError, match="class") as caught:
            RescaledHingeSVC().fit(X, np.full(150, label))
        assert str(caught.value).endswith(f"are all of one class, {label!r}")


@pytest.mark.parametrize("model", [dc.RobustRegressor(), MMRegressor(), dc.RobustRegressorCV()])
def test_text_is_no_target(model: Any) -> None:
    with pytest.raises(ValueError, match=r"y holds text.*takes numbers"):
        model.fit(X, CLASSES.astype(str))


@pytest.mark.parametrize("call", [dc.penalty_path, dc.lambda_max])
def test_an_estimator_in_the_place_of_its_risk(call: Callable[..., Any]) -> None:
    model = dc.RobustRegressor("huber", "l1")
    with pytest.raises(TypeError, match=r"pass the risk that it minimises, estimator\.spec"):
        call(model, X, Y)


def test_paths_take_names() -> None:
    named = dc.penalty_path(X, Y, "huber", "mcp", n_lambdas=3)
    given = dc.penalty_path(X, Y, dc.huber(1.345), dc.mcp(1.0), n_lambdas=3)
    np.testing.assert_array_equal(named.coefs, given.coefs)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_residuals_are_told_from_margins_in_any_unit(unit: float) -> None:
    assert is_of_residuals(dc.epsilon_insensitive(0.1 * unit))
    assert is_of_residuals(dc.cap(dc.absolute(), unit))
    assert not is_of_residuals(dc.hinge(at=unit))
    assert not is_of_residuals(dc.absolute(at=unit))
