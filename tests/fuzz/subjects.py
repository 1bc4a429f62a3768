"""A dozen problems of both doors whose solvers are broken on purpose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

import dcprog as dc
from tests.fuzz.data import Data
from tests.fuzz.evaluation import Evaluation
from tests.fuzz.formulas import Formula
from tests.fuzz.landscape import Landscape
from tests.fuzz.run_fits import landscape_of

__all__ = ["SUBJECTS", "Subject"]


@dataclass
class Subject:
    """What is solved, and what its values should be."""

    target: Any
    landscape: Landscape


def _data(margin: bool) -> Data:
    rng = np.random.default_rng(0)
    y = rng.choice([-1.0, 1.0], 30)
    X = rng.normal(size=(30, 3)) + y[:, None]
    X[:4] *= -10
    if not margin:
        y = X @ np.array([1.0, -2.0, 0.0]) + 0.1 * rng.normal(size=30)
        y[:4] += 20
    kind = "margin" if margin else "residual"
    return Data(X, y, None, X, y, 1.0, "plain", kind, False)


def _risk(margin: bool, loss: Formula, penalty: Formula) -> Callable[[], Subject]:
    def build() -> Subject:
        data = _data(margin)
        rows = (dc.binary_margins if margin else dc.residual_rows)(data.X, data.y)
        risk = dc.Risk.from_loss(rows, loss.declared, penalty.declared)
        return Subject(risk, landscape_of(data, loss, penalty, True))

    return build


def _plain(declared: Any, value: Any) -> Formula:
    return Formula(declared, value, lambda u: np.abs(value(u)))


def _hinge(u: Any) -> Any:
    return np.maximum(1 - u, 0)


L2 = _plain(dc.l2(1.0), lambda w: w * w / 2)
L1 = _plain(dc.l1(0.5), lambda w: np.abs(w) / 2)
CAPPED = _plain(dc.cap(dc.hinge(), 1.0), lambda u: np.minimum(_hinge(u), 1))
SQUARED = _plain(dc.cap(dc.squared_hinge(), 1.0), lambda u: np.minimum(_hinge(u) ** 2, 1))
RESCALED = _plain(
    dc.rescale(dc.logistic(), 0.5),
    lambda u: np.expm1(-0.5 * np.logaddexp(0, -u)) / np.expm1(-0.5),
)
ABSOLUTE = _plain(dc.cap(dc.absolute(), 2.0), lambda u: np.minimum(np.abs(u), 2))
CAUCHY = _plain(dc.log(dc.square(), 2.0), lambda u: 2 * np.log1p(u * u / 2))
WELSCH = _plain(dc.welsch(dc.huber(1.0), 2.0), lambda u: -4 * np.expm1(-_huber(u) / 4))
MCP = _plain(
    dc.mcp(0.5, 3.0),
    lambda w: np.minimum(np.abs(w), 1.5) * (0.5 - np.minimum(np.abs(w), 1.5) / 6),
)


def _huber(u: Any) -> Any:
    return np.where(np.abs(u) <= 1, u * u / 2, np.abs(u) - 0.5)


def _problem(build: Callable[[], cp.Problem]) -> Callable[[], Subject]:
    def subject() -> Subject:
        problem = build()
        rng = np.random.default_rng(1)
        references = [
            {v.id: rng.normal(size=v.shape) for v in problem.variables()} for _ in range(3)
        ]
        return Subject(problem, Evaluation(problem, 1.0, references).landscape)

    return subject


def _ramp() -> cp.Problem:
    data, w = _data(True), cp.Variable(3)
    loss = cp.sum(cp.minimum(cp.pos(1 - cp.multiply(data.targets, data.dense @ w)), 1))
    return cp.Problem(cp.Minimize(loss + 0.5 * cp.sum_squares(w)))


def _sparse() -> cp.Problem:
    data, w = _data(False), cp.Variable(3)
    fit = cp.sum(cp.huber(data.targets - data.dense @ w, 1.0))
    return cp.Problem(cp.Minimize(fit + 2 * cp.sum(cp.log(0.1 + cp.abs(w)))))


def _outside() -> cp.Problem:
    x = cp.Variable(2)
    away = [cp.norm(x - np.array([1.0, 0.5])) >= 1, cp.norm_inf(x) <= 5]
    return cp.Problem(cp.Minimize(cp.sum_squares(x - np.array([1.2, 0.4]))), away)


def _boxed() -> cp.Problem:
    x = cp.Variable(4, bounds=[-1, 2])
    concave = cp.sum_squares(x - np.array([0.3, 0.2, 0.1, 0.6]))
    return cp.Problem(cp.Maximize(concave - cp.norm1(x)), [cp.sum(x) <= 3])


def _equation() -> cp.Problem:
    x = cp.Variable(2)
    return cp.Problem(cp.Minimize(cp.norm1(x - np.array([2.0, 0.5]))), [cp.sum_squares(x) == 2])


SUBJECTS: dict[str, Callable[[], Subject]] = {
    "capped hinge, l2": _risk(True, CAPPED, L2),
    "capped hinge, l1": _risk(True, CAPPED, L1),
    "capped squared hinge, l2": _risk(True, SQUARED, L2),
    "rescaled logistic, l1": _risk(True, RESCALED, L1),
    "capped absolute, l1": _risk(False, ABSOLUTE, L1),
    "Cauchy, l2": _risk(False, CAUCHY, L2),
    "Welsch of Huber, mcp": _risk(False, WELSCH, MCP),
    "ramp": _problem(_ramp),
    "sparse": _problem(_sparse),
    "outside a disc": _problem(_outside),
    "concave in a box": _problem(_boxed),
    "on a circle": _problem(_equation),
}
