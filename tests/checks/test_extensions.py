"""A loss, a transform and penalties from outside the library: how short they are, that they fit."""

from __future__ import annotations

import inspect
import pickle
from copy import deepcopy
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from sklearn.base import clone

import dcprog as dc
from dcprog.penalties import ConcavePenalty

# ---- as they would stand in a user's file ------------------------------------------------------


class log_cosh(dc.ConvexLoss):
    """δ·log cosh(u/δ): a parabola near 0, |u| far out."""

    is_smooth = True

    def __init__(self, delta: float = 1.0) -> None:
        self.delta = delta

    def __call__(self, u: Any) -> Any:
        return self.delta * (np.logaddexp(u / self.delta, -u / self.delta) - np.log(2))

    def slope(self, u: Any) -> Any:
        return np.tanh(u / self.delta)

    def curvature(self, u: Any) -> Any:
        return (1 - np.tanh(u / self.delta) ** 2) / self.delta

    def expression(self, u: Any) -> Any:
        return self.delta * (cp.logistic(2 * u / self.delta) - u / self.delta - np.log(2))


class saturated(dc.Transform):
    """φ(t) = t/(1 + t/top), Geman and McClure's of a square."""

    def __init__(self, top: float) -> None:
        self.top = top

    @property
    def limit(self) -> float:  # type: ignore[override]
        return self.top

    def __call__(self, t: Any) -> Any:
        return t / (1 + t / self.top)

    def slope(self, t: Any) -> Any:
        return 1 / (1 + t / self.top) ** 2

    def expression(self, t: Any) -> Any:
        return self.top * (1 - cp.inv_pos(1 + t / self.top))


class largest(dc.Penalty):
    """max_j |w_j|, convex."""

    def __call__(self, w: Any) -> float:
        return float(np.max(np.abs(w)))

    def slope(self, w: Any) -> Any:
        return np.sign(w) * (np.arange(w.size) == np.argmax(np.abs(w)))

    def expression(self, w: Any) -> Any:
        return cp.norm_inf(w)


class exponential(ConcavePenalty):
    """Σ_j (1 − e^{−|w_j|}), concave in the sizes."""

    def of_size(self, t: Any) -> Any:
        return 1 - np.exp(-t)

    def rate(self, t: Any) -> Any:
        return np.exp(-t)

    def expression_of_size(self, t: Any) -> Any:
        return 1 - cp.exp(-t)


class plain_log_cosh(dc.ConvexLoss):
    """log cosh u by value and slope alone."""

    is_smooth = True

    def __call__(self, u: Any) -> Any:
        return np.logaddexp(u, -u) - np.log(2)

    def slope(self, u: Any) -> Any:
        return np.tanh(u)


class plain_exponential(ConcavePenalty):
    """Σ_j (1 − e^{−|w_j|}) by value and rate alone."""

    def of_size(self, t: Any) -> Any:
        return 1 - np.exp(-t)

    def rate(self, t: Any) -> Any:
        return np.exp(-t)


class plain_largest(dc.Penalty):
    """max_j |w_j| by value and slope alone."""

    def __call__(self, w: Any) -> float:
        return float(np.max(np.abs(w)))

    def slope(self, w: Any) -> Any:
        return np.sign(w) * (np.arange(w.size) == np.argmax(np.abs(w)))


# ---- what they cost, and what they are worth ---------------------------------------------------


@pytest.mark.parametrize(
    ("extension", "most"), [(log_cosh, 15), (saturated, 12), (largest, 8), (exponential, 8)]
)
def test_an_extension_is_short(extension: type, most: int) -> None:
    lines = inspect.getsource(extension).replace(f'"""{extension.__doc__}"""', "").splitlines()
    assert len([line for line in lines if line.strip()]) <= most


ROBUST = dc.compose(saturated(2.0), log_cosh(0.5))
LOSSES = [
    plain_log_cosh(),
    log_cosh(),
    log_cosh(0.1),
    dc.cap(log_cosh(), 1.0),
    ROBUST,
    2 * ROBUST + log_cosh(0.5),
]
PENALTIES = [
    plain_exponential(),
    plain_largest(),
    largest(),
    exponential(),
    0.3 * largest() + dc.l2(0.1),
    2 * (exponential() * 0.5),
]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_losses_pass_the_checks(loss: dc.Loss) -> None:
    dc.check_loss(loss)


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_penalties_pass_the_checks(penalty: dc.Penalty) -> None:
    dc.check_penalty(penalty)


@pytest.mark.parametrize("thing", [*LOSSES, saturated(2.0), *PENALTIES], ids=repr)
def test_extensions_are_copied(thing: Any) -> None:
    u = np.array([-1.0, 0.0, 0.5])
    for copied in (clone(thing), pickle.loads(pickle.dumps(thing))):
        assert repr(copied) == repr(thing)
        np.testing.assert_array_equal(copied(np.abs(u)), thing(np.abs(u)))


def test_the_bound_of_a_loss_is_the_limit_of_its_transform() -> None:
    assert ROBUST.bound == 2
    assert (3 * ROBUST).bound == 6
    assert dc.cap(ROBUST, 1.5).bound == 1.5
    assert dc.log(ROBUST, 2.0).bound == pytest.approx(2 * np.log(2))
    assert dc.compose(saturated(2.0), dc.truncate(dc.hinge(), 0.0)).bound == pytest.approx(2 / 3)
    assert dc.compose(saturated(2.0), dc.truncate(dc.squared_hinge(), 0.0)).bound == 2


def _data() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((80, 4)), np.array([1.0, -2.0, 0.0, 0.0])
    y = X @ w + 0.1 * rng.standard_normal(80)
    y[:16] += 20
    return X, y, w


def test_the_convex_risk_is_what_cvxpy_finds() -> None:
    X, y, _ = _data()
    penalty = 2 * largest()
    result = dc.solve(dc.Risk(dc.residual_rows(X, y), base=log_cosh(), penalty=penalty))
    w, b = cp.Variable(4), cp.Variable()
    total = cp.sum(log_cosh().expression(y - X @ w - b)) + penalty.expression(w)
    problem = cp.Problem(cp.Minimize(total))
    problem.solve(solver=cp.CLARABEL)
    assert result.status == "converged"
    assert result.value == pytest.approx(problem.value, rel=1e-6)


@pytest.mark.parametrize("penalty", [0.5 * largest(), 0.5 * exponential()], ids=repr)
def test_a_robust_fit_ignores_the_outliers(penalty: dc.Penalty) -> None:
    X, y, w = _data()
    model = dc.RobustRegressor(loss=ROBUST, penalty=penalty, scale=None).fit(X, y)
    assert model.result_.status == "converged"
    np.testing.assert_allclose(model.coef_, w, atol=0.1)
    assert np.all(model.outlier_weight_[:16] < 0.02)
    assert np.all(model.outlier_weight_[16:] > 0.5)


def test_a_robust_classifier_takes_them_too() -> None:
    X, _, w = _data()
    y = np.where(X @ w > 0, 1, -1)
    y[np.argsort(X @ w)[:4]] = 1  # far on the wrong side
    loss = dc.compose(saturated(1.0), dc.squared_hinge())
    model = dc.RobustClassifier(loss=loss, penalty=0.1 * exponential() + dc.l2(0.1)).fit(X, y)
    assert model.result_.status == "converged"
    assert model.score(X, np.where(X @ w > 0, 1, -1)) > 0.95


@pytest.mark.parametrize("penalty", [dc.l2(0.1), dc.l1(1.0), dc.mcp(1.0)], ids=repr)
def test_a_smooth_loss_without_curvature_is_minimised_as_with_it(penalty: dc.Penalty) -> None:
    X, y, _ = _data()
    rows = dc.residual_rows(X, y)
    without, with_it = (
        dc.solve(dc.Risk.from_loss(rows, dc.cap(loss, 2.0), penalty))
        for loss in (plain_log_cosh(), log_cosh())
    )
    assert without.status == "converged"
    assert without.value == pytest.approx(with_it.value, rel=1e-9)


@pytest.mark.parametrize("loss", [dc.square(), dc.cap(dc.absolute(), 2.0), plain_log_cosh()])
def test_a_concave_penalty_needs_no_expression(loss: dc.Loss) -> None:
    X, y, _ = _data()
    rows = dc.residual_rows(X, y)
    without, with_it = (
        dc.solve(dc.Risk.from_loss(rows, loss, 5 * penalty + dc.l2(0.1)))
        for penalty in (plain_exponential(), exponential())
    )
    assert without.status == "converged"
    assert without.value == pytest.approx(with_it.value, rel=1e-9)
    with pytest.raises(ValueError, match=r"plain_exponential\(\) has no cvxpy expression"):
        dc.Risk.from_loss(rows, dc.square(), plain_exponential()).problem()


def test_a_convex_penalty_of_unknown_form_needs_an_expression() -> None:
    X, y, _ = _data()
    risk = dc.Risk.from_loss(dc.residual_rows(X, y), dc.square(), dc.l2(0.1) + plain_largest())
    with pytest.raises(ValueError, match=r"cvxpy: .*plain_largest.* has no cvxpy expression"):
        dc.solve(risk)


def test_lambdas_are_pickled() -> None:
    a = 2.0
    geman = dc.concave(value=lambda t: t / (a + t), slope=lambda t: a / (a + t) ** 2)
    model = dc.RobustRegressor(dc.compose(geman, dc.square()))
    copied = pickle.loads(pickle.dumps(model))
    u = np.linspace(-2.0, 2.0, 5)
    assert callable(copied.loss)
    assert callable(model.loss)
    np.testing.assert_array_equal(copied.loss(u), model.loss(u))
    assert deepcopy(geman).get_params() == geman.get_params()
