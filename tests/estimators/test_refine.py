"""What a fit keeps: point, value, status and history of one and the same run."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import dcprog as dc
from dcprog import losses, penalties
from dcprog.engine.result import Result
from dcprog.estimators import RobustClassifier, RobustRegressor
from dcprog.estimators.loop import refined
from dcprog.estimators.robust import nearest
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import DataLost
from dcprog.models import AngleSVC, SmoothSVC
from dcprog.risk.risk import Risk
from tests.fuzz.cases import judged

TOL = 1e-6


def _data(seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((11, 3))
    y = X @ rng.standard_normal(3) + 0.3 * rng.standard_normal(11)
    y[:2] += 20
    return X, y


CASES = [
    lambda: RobustRegressor(
        losses.erf(losses.pinball(0.9), 1.0, delta=0.1), penalties.log_sum(0.7, 7.0), scale=None
    ),
    lambda: RobustRegressor(losses.cap(losses.square(), 1.0), penalties.l1(30.0), scale=None),
    lambda: RobustRegressor(
        losses.welsch(losses.absolute(), 4.5),
        penalties.group_lasso(3.0, [0, 0, 1]),
        scale=None,
    ),
    lambda: RobustClassifier(losses.cap(losses.sigmoid_hinge(0.3), 1.0), penalties.l1(1e4)),
    lambda: RobustClassifier(losses.cap(losses.squared_hinge(), 0.2), penalties.scad(5.0)),
    lambda: RobustClassifier(losses.rational(losses.hinge(), 0.4, delta=1e-4), penalties.mcp(5.0)),
    lambda: AngleSVC(penalty="l1", lam=30.0),
]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("case", range(len(CASES)))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_ends_where_its_run_does(case: int, seed: int) -> None:
    model: Any = CASES[case]()
    X, y = _data(seed)
    model.fit(X, y if isinstance(model, RobustRegressor) else np.where(y > np.median(y), 1, -1))
    risk, result = model.spec_, model.result_
    slack = 3 * TOL * risk.magnitude(result.x)
    assert model.objective_ == result.value == pytest.approx(risk(result.x), rel=1e-12)
    assert abs(result.history.value[-1] - result.value) <= slack
    assert result.n_iter == len(result.history) - 1
    coef, intercept = risk.rows.unpack(result.x)
    np.testing.assert_array_equal(np.ravel(model.coef_), np.ravel(coef))
    np.testing.assert_array_equal(np.ravel(model.intercept_), np.ravel(intercept))
    if result.status == "converged":
        again = dc.solve(risk, start=result.x, escape=False)
        assert again.value >= result.value - slack


@pytest.mark.parametrize("number", [485, 573, 1050, 1138, 1364, 1481, 1513, 1660, 1736, 1934])
def test_zeros_that_lower_the_objective_are_gone_on_from(number: int) -> None:
    """All random fits whose specks, set to 0, once took the point away from where the run ended."""
    assert judged(f"fits:{number}").failures == []


def _kinked(start: Array, max_iter: int) -> tuple[Risk, Result]:
    risk = Risk(np.ones((1, 1)), losses.hinge(), penalty=penalties.l1(0.5))
    return risk, dc.solve(risk, start=start, max_iter=max_iter, escape=False)


def test_the_steps_of_all_runs_count() -> None:
    risk, result = _kinked(np.zeros(1), 5)
    assert result.x is not None
    worse = replace(result, x=result.x + 1.0, value=result.value + 0.5)

    def tidy(theta: Array) -> Array:
        return theta - 1.0 if theta[0] > 1.5 else theta

    def resume(theta: Array, max_iter: int) -> Result:
        return _kinked(theta, max_iter)[1]

    kept = refined(worse, risk, tidy, resume, tol=TOL, max_iter=10)
    assert kept.status == "converged"
    assert kept.n_iter == len(kept.history) - 1 > result.n_iter
    assert kept.x is not None
    assert kept.value == risk(kept.x) < worse.value
    assert np.all(np.diff(kept.history.time) >= 0)
    short = refined(worse, risk, tidy, resume, tol=TOL, max_iter=result.n_iter)
    assert (short.status, short.n_iter) == ("max_iter", result.n_iter)
    assert short.x is not None
    assert short.value == risk(short.x) < worse.value

    def lost(theta: Array, max_iter: int) -> Result:
        raise DataLost("the cluster is gone")

    kept = refined(worse, risk, tidy, lost, tol=TOL, max_iter=10)
    assert (kept.status, kept.message) == ("interrupted", "the cluster is gone")
    assert kept.x is not None
    assert kept.value == risk(kept.x) < worse.value

    def lost_later(theta: Array) -> Array:
        if result.x is not None and theta[0] == result.x[0]:
            raise DataLost("the cluster is gone")
        return theta - 0.5

    kept = refined(worse, risk, lost_later, resume, tol=TOL, max_iter=10)
    assert kept.status == "interrupted"
    assert kept.value == pytest.approx(result.value)


@pytest.mark.filterwarnings("ignore::dcprog.TrivialSolutionWarning")
def test_a_run_goes_on_from_another_intercept_that_is_as_good() -> None:
    """At b = −1 two margins hold w; at the start's b another sample is trimmed, and none does."""
    rows = dc.binary_margins(np.array([[1.0], [0.0], [0.0]]), np.array([1.0, -1.0, 1.0]))
    risk = dc.Risk.from_loss(rows, dc.trim(dc.hinge(), 1 / 3), dc.lp(0.5, 0.3))
    corner = np.array([2.0, -1.0])
    result = replace(dc.solve(risk, effort="low"), x=corner, value=risk(corner))

    def level(theta: Array) -> Array:
        return nearest(risk, theta, np.array([0.0, 3.0]))

    def resume(theta: Array, max_iter: int) -> Result:
        return dc.solve(risk, start=theta, max_iter=max_iter, n_starts=1)

    kept = refined(result, risk, np.asarray, resume, level=level, tol=TOL, max_iter=100)
    assert kept.status == "converged"
    assert kept.x is not None
    assert kept.value == risk(kept.x) == 0.0 < result.value
    short = refined(result, risk, np.asarray, resume, level=level, tol=TOL, max_iter=1)
    assert (short.status, short.value) == ("converged", result.value)


@pytest.mark.parametrize("size", [1e200, 1e300])
def test_data_beyond_all_sizes_are_refused_by_name_or_have_a_point(size: float) -> None:
    X, y = _data(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match=r"targets go up to .*scale the data"):
            RobustRegressor(losses.square(), penalties.l1(1.0), scale=None).fit(X, size * y)
        labels = np.where(y > np.median(y), 1, -1)
        for model in (RobustClassifier(losses.cap(losses.logistic(), 1.0)), SmoothSVC()):
            assert np.all(np.isfinite(model.fit(size * X, labels).coef_))


def test_where_no_solver_finds_a_start_zero_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("injected")

    monkeypatch.setattr("dcprog.risk_mm.surrogate.make", fail)
    X, y = _data(0)
    with pytest.warns(ConvergenceWarning, match="injected"):
        model = RobustRegressor(
            losses.cap(losses.square(), 1.0), penalties.l1(1.0), n_starts=1
        ).fit(X, y)
    assert model.result_.status == "solver_failed"
    np.testing.assert_array_equal(model.coef_, 0.0)
