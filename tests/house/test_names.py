"""An unknown name of an option or of its value: the error tells the nearest known one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc

X = np.random.default_rng(0).normal(size=(20, 2))
Y = X[:, 0]
RISK = dc.Risk.from_loss(dc.residual_rows(X, Y), dc.square(), dc.l1())
PROBLEM = cp.Problem(cp.Minimize(cp.sum_squares(cp.Variable(2))))
CURVED = cp.Problem(cp.Minimize(-cp.sum(Z := cp.Variable(2))), [cp.square(Z) == 1])
SOLVE: Any = dc.solve
BOUND: Any = dc.lower_bound
REGRESSOR: Any = dc.RobustRegressor
MCP: Any = dc.mcp
CASES: dict[str, tuple[Callable[[], object], type[Exception]]] = {
    "graduated": (lambda: SOLVE(PROBLEM, start="graduatd"), ValueError),
    "high": (lambda: SOLVE(PROBLEM, effort="hihg"), ValueError),
    "CLARABEL": (lambda: SOLVE(PROBLEM, solver="clarabell"), ValueError),
    "proximal_newton": (lambda: SOLVE(RISK, solver="proximal_newtn"), ValueError),
    "squarem": (lambda: SOLVE(RISK, acceleration="squarm"), ValueError),
    "n_starts": (lambda: SOLVE(PROBLEM, n_start=3), TypeError),
    "max_iter": (lambda: PROBLEM.solve(method="dc", max_iters=3), TypeError),
    "effort": (lambda: CURVED.solve(method="dc", solver="CLARABEL", efort="low"), ValueError),
    "time_limit": (lambda: BOUND(PROBLEM, time_limt=3), TypeError),
    "scale": (lambda: REGRESSOR(scales="mad"), TypeError),
    "covariance": (lambda: REGRESSOR().set_params(covarianc="lmrob"), ValueError),
    "mad": (lambda: REGRESSOR(scale="mda").fit(X, Y), ValueError),
    "rbf": (lambda: REGRESSOR(kernel="rbff").fit(X, Y), ValueError),
    "lam": (lambda: MCP(lamb=1.0), TypeError),
    "n_lambdas": (lambda: dc.penalty_path(X, Y, n_lambda=3), TypeError),
    "tol": (lambda: dc.penalty_path(X, Y, tool=3), TypeError),
    "sum": (lambda: dc.Risk(X, dc.hinge(), aggregate="summ"), ValueError),
}


@pytest.mark.parametrize("name", CASES)
def test_the_nearest_name_is_told(name: str) -> None:
    call, kind = CASES[name]
    with pytest.raises(kind, match=f"(?i)is '{name}' meant"):
        call()


def test_a_name_that_is_not_near_is_not_guessed() -> None:
    with pytest.raises(ValueError, match=r"choose one of 'auto', .*keeps the best of many"):
        SOLVE(PROBLEM, start="best")


def test_parameters_of_none_are_refused() -> None:
    with pytest.raises(ValueError, match="set estimator first"):
        dc.RobustRegressorCV().set_params(estimator__scale="s")
