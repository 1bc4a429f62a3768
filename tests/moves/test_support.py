"""Support: coefficients are freed, left out or replaced, where it leads lower."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

import dcprog as dc
from dcprog.engine.protocol import centre
from dcprog.foundation.arrays import dense
from dcprog.foundation.deadline import Deadline
from dcprog.moves.swap import NO_ONE, Support, _Quadratic, _supports
from dcprog.risk.weighted import WeightedRisk
from dcprog.risk_mm.surrogate import RiskSurrogate
from dcprog.starts.protocol import Budget


def classes(seed: int, penalty: dc.Penalty, n: int = 40, p: int = 40) -> dc.Risk:
    """Three features matter; classes are nearly separable in a few features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = np.sign(X[:, :3] @ [2.0, -2.0, 1.5] + rng.normal(size=n))
    return dc.Risk.from_loss(dc.binary_margins(X, y), dc.logistic(), penalty)


def residuals(seed: int, penalty: dc.Penalty, loss: dc.Loss, n: int = 30, p: int = 12) -> dc.Risk:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = X[:, :3] @ [2.0, -2.0, 1.5] + rng.normal(size=n)
    return dc.Risk.from_loss(dc.residual_rows(X, y), loss, penalty)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_the_model_of_squares_tells_the_minimum_after_each_change(seed: int, scale: float) -> None:
    """A cap of 0 or nearly, so that F is the squares and a price for each coefficient."""
    flat = dc.capped_l1(1e9 / scale, 1e-9 * scale)
    risk = residuals(seed, flat, 0.5 * dc.square())
    A, y = dense(risk.scores.matrix()), -risk.margins(np.zeros(13))

    def fitted(live: list[int]) -> np.ndarray:
        x = np.zeros(13)
        columns = [*live, 12]
        x[columns] = np.linalg.lstsq(A[:, columns], y, rcond=None)[0]
        return x

    x = fitted([0, 1, 5])
    surrogate = RiskSurrogate(risk)
    centre(surrogate, x)
    model = _Quadratic(surrogate, x)
    changes = [*model.singles(), *model.pairs()]
    assert len(changes) == 9 + 3 + 3 * 9
    for change in changes:
        live = {0, 1, 5, change.freed} - {change.out, NO_ONE}
        assert risk(x) + change.rise == pytest.approx(risk(fitted(sorted(live))), rel=1e-6)
    rises = [change.rise for change in model.pairs()]
    assert rises == sorted(rises)


@pytest.mark.parametrize(
    "penalty",
    [dc.mcp(0.5), dc.log_sum(1.0, 0.1), dc.capped_l1(1.0, 0.5), dc.lp(1.0, 0.5)],
    ids=repr,
)
def test_majorants_that_free_a_coefficient_lie_above_f(
    penalty: dc.Penalty, monkeypatch: pytest.MonkeyPatch
) -> None:
    risk = classes(0, penalty, p=6)
    surrogate = RiskSurrogate(risk)
    rng = np.random.default_rng(0)
    x = np.array([1.0, -1.0, 0.0, 0.0, 0.3, 0.0, 0.1])
    centre(surrogate, x)
    solved: list[WeightedRisk] = []

    def solve(problem: WeightedRisk, begin: np.ndarray, tolerance: float) -> np.ndarray:
        solved.append(problem)
        return begin

    monkeypatch.setattr(surrogate, "solver", lambda deadline: solve)
    freed = list(_Quadratic(surrogate, x).singles())
    for minimiser in islice(_supports(surrogate, Budget(), x), 2 * len(freed)):
        minimiser()
    assert len(solved) == 2 * len(freed)  # those of one coefficient are every second one
    for change, problem in zip(freed, solved[::2], strict=True):
        assert problem.shrinkage is not None
        size = max(change.size, 1.0)
        assert np.flatnonzero(problem.shrinkage != surrogate.problem.shrinkage) == [change.freed]
        at = np.abs(x[:6])
        at[change.freed] = size
        shift = risk.penalty(at) - problem.penalty(np.append(at, 0.0))
        for z in x + rng.normal(size=(20, 7)):
            assert problem.value(z) + shift >= risk(z) - 1e-9


@pytest.mark.parametrize(
    ("seed", "penalty", "best"),
    [(1, dc.mcp(1.107), 11.029041), (2, dc.mcp(1.171), 8.227446)],
    ids=["1", "2"],
)
def test_a_sparse_separation_of_classes_is_found(
    seed: int, penalty: dc.Penalty, best: float
) -> None:
    assert dc.solve(classes(seed, penalty)).value <= best * (1 + 1e-6)


def test_points_are_lower_and_found_for_kinks_and_caps_too() -> None:
    losses = [dc.absolute(), dc.huber(1.0), dc.cap(dc.square(), 4.0), dc.square()]
    found = 0
    for seed in range(3):
        for loss in losses:
            risk = residuals(seed, dc.capped_l1(2.0, 0.5), loss, p=40)
            x = dc.solve(risk, effort="low").x
            assert x is not None
            surrogate = RiskSurrogate(risk)
            points = list(Support().points(surrogate, x, Budget()))
            assert all(risk(point) < risk(x) for point in points)
            found += len(points)
    assert found >= 4


def test_what_it_refuses() -> None:
    mcp = dc.mcp(1.0)
    taken = RiskSurrogate(classes(0, mcp))
    assert Support().takes(taken) is None
    assert not list(Support().points(taken, np.zeros(41), Budget(deadline=Deadline(0.0))))
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 5)), rng.integers(3, size=30)
    several = dc.Risk(dc.angle_margins(X, y), dc.hinge(), penalty=mcp, aggregate="max")
    wide = residuals(0, mcp, dc.square(), n=5, p=1001)
    for risk, why in [
        (classes(0, dc.l1(1.0)), "no concave function"),
        (several, "no sum"),
        (wide, "many coefficients"),
    ]:
        assert why in (Support().takes(RiskSurrogate(risk)) or "")
