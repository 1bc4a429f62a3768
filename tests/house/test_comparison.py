"""The table of who does what: its cells, asked of the packages where they are installed."""

from __future__ import annotations

import inspect
import re
from importlib.metadata import metadata

import cvxpy as cp
import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import SGDClassifier
from sklearn.utils import all_estimators

import dcprog as dc

x, z = cp.Variable(3), cp.Variable(2, complex=True)
hinge = cp.pos(1 - x)
LOSSES = {
    "capped": cp.sum(cp.minimum(hinge, 1)),
    "truncated": cp.sum(hinge) - cp.sum(cp.pos(-x)),
    "trimmed": cp.sum(hinge) - cp.sum_largest(hinge, 1),
}
APART = cp.Problem(cp.Minimize(cp.sum(x)), [cp.norm(x) >= 1, x >= 0])
SQUARED = cp.Problem(cp.Minimize(cp.sum(x)), [cp.sum_squares(x) >= 1, x >= 0])
COMPLEX = cp.Problem(cp.Minimize(cp.real(cp.sum(z))), [cp.abs(z) >= 1, cp.abs(z) <= 2])


@pytest.mark.parametrize("name", LOSSES)
def test_losses_in_cvxpy(name: str) -> None:
    problem = cp.Problem(cp.Minimize(LOSSES[name]))
    assert dc.is_majorizable(problem)
    assert not problem.is_dnlp()


def test_constraints() -> None:
    assert dc.is_majorizable(APART)
    assert SQUARED.is_dnlp()
    assert not APART.is_dnlp()


def test_complex_variables() -> None:
    assert dc.is_majorizable(COMPLEX)
    assert not COMPLEX.is_dnlp()


def test_dccp() -> None:
    dccp = pytest.importorskip("dccp")
    assert not any(dccp.is_dccp(cp.Problem(cp.Minimize(loss))) for loss in LOSSES.values())
    assert dccp.is_dccp(APART)
    assert dccp.is_dccp(COMPLEX)
    assert inspect.signature(dccp.dccp).parameters["k_ccp"].default == 1
    t = cp.Variable(3)
    parts = cp.Problem(cp.Minimize(cp.sum(t)), [hinge <= t + cp.pos(-x)])
    assert dccp.is_dccp(parts)


def test_scikit_learn() -> None:
    robust = ("Huber", "RANSAC", "TheilSen", "Quantile")
    found = {name for name, kind in all_estimators("regressor") if name.startswith(robust)}
    assert found == {"HuberRegressor", "RANSACRegressor", "TheilSenRegressor", "QuantileRegressor"}
    allowed = SGDClassifier._parameter_constraints
    margins = {"hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron"}
    regressions = {"squared_error", "huber", "epsilon_insensitive"}
    assert allowed["loss"][0].options == margins | regressions | {"squared_epsilon_insensitive"}
    assert allowed["penalty"][0].options == {"l1", "l2", "elasticnet"}
    assert issubclass(dc.RobustClassifier, BaseEstimator)


def test_skglm() -> None:
    skglm = pytest.importorskip("skglm")
    datafits, penalties = skglm.datafits, skglm.penalties

    assert issubclass(skglm.GeneralizedLinearEstimator, BaseEstimator)
    for name in ("MCPenalty", "SCAD", "LogSumPenalty", "L0_5"):
        assert hasattr(penalties, name)
    robust = {"Tukey", "Biweight", "Welsch", "Cauchy", "Capped", "Ramp"}
    assert not [name for name in dir(datafits) if any(word in name for word in robust)]
    assert inspect.isclass(datafits.BaseDatafit)
    estimators = inspect.getmodule(skglm.MCPRegression)
    assert estimators is not None
    source = inspect.getsource(estimators)  # a fit compiles for long
    assert "self.stop_crit_ = " in source or ".stop_crit_" in source
    assert re.search(r"\b(bse|standard_errors)\w*", source) is None


def test_statsmodels() -> None:
    pytest.importorskip("statsmodels.robust.resistant_linear_model")
    robust = pytest.importorskip("statsmodels.robust")
    norms, RLM = robust.norms, robust.robust_linear_model.RLM

    assert issubclass(norms.TukeyBiweight, norms.RobustNorm)
    assert not issubclass(RLM, BaseEstimator)
    assert hasattr(robust.resistant_linear_model, "RLMDetS")
    X = np.column_stack([np.ones(9), np.arange(9.0)])
    assert RLM(X @ [1, 2] + [0, 1, 0] * 3, X, M=norms.TukeyBiweight()).fit().bse.shape == (2,)


def test_standard_errors_are_ours_too() -> None:
    X = np.arange(40.0)[:, None]
    model = dc.RobustRegressor().fit(X, 2 * X[:, 0] + np.sin(X[:, 0]))
    assert np.all(model.standard_errors_ > 0)


@pytest.mark.parametrize(
    ("package", "licence"),
    [
        ("dcprog", "Apache-2.0"),
        ("dccp", "GPLv3"),
        ("cvxpy", "Apache-2.0"),
        ("skglm", "BSD"),
        ("statsmodels", "BSD-3-Clause"),
        ("scikit-learn", "BSD-3-Clause"),
    ],
)
def test_licences(package: str, licence: str) -> None:
    if package not in ("dcprog", "cvxpy", "scikit-learn"):
        pytest.importorskip(package)
    told = {name: metadata(package)[name] for name in metadata(package)}
    assert licence in told.get("License-Expression", told.get("License", ""))
