"""Later papers: declarations agree with their formulas, no way from the points found leads down."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import dcprog as dc
from examples.later_papers import (
    NAMES,
    capped_twin,
    circle,
    extended_robust,
    general_robust_loss,
    generalized_cross_entropy,
    mean_shift_outliers,
    ramp_linear_programming,
    rescaled_squared_hinge,
    semi_supervised,
    support_matrix,
    taylor_cross_entropy,
    trimmed_lasso,
    truncated_pinball,
)

Array = np.ndarray
Function = Callable[[Array], float]
SCRIPTS = [import_module(f"examples.later_papers.{name}") for name in NAMES]
STEP = 1e-4  # far above the solvers' 1e-8 or so, and short against the distances of kinks
SLOPE = 0.05  # of 1 + |objective|; a stop at a relative decrease of 1e-6 leaves about 1e-3


def point(theta: Array | None) -> Array:
    assert theta is not None
    return theta


def values(problem: Any) -> Array:
    """The values of a cvxpy problem's variables, in the order of their names."""
    found = sorted(problem.variables(), key=lambda v: str(v.name()))
    return np.concatenate([np.ravel(one.value) for one in found])


def place(problem: Any, x: Array) -> float:
    """The problem's objective at a point."""
    for variable in sorted(problem.variables(), key=lambda v: str(v.name())):
        variable.value, x = x[: variable.size].reshape(variable.shape), x[variable.size :]
    return float(problem.objective.value)


def steepest(f: Function, x: Array, feasible: Callable[[Array], Array] = lambda z: z) -> float:
    """The least slope of f over directions, relative to 1 + |f|."""
    rng = np.random.default_rng(0)
    random = rng.normal(size=(100, x.size))
    ways = np.vstack(
        [np.eye(x.size), -np.eye(x.size), random / np.linalg.norm(random, axis=1)[:, None]]
    )
    here = f(x)
    slopes = [(f(feasible(x + STEP * way)) - here) / STEP for way in ways]
    return min(slopes) / (1 + abs(here))


# ---- losses on margins and residuals -------------------------------------------------------------


def pinball() -> tuple[dc.Risk, Function]:
    X, y = truncated_pinball.drawn(0, n=30)
    loss = truncated_pinball.truncated(0.3, 0.7)
    formula = lambda t: truncated_pinball.reference(X, y, 0.3, 0.7, t)  # noqa: E731
    return truncated_pinball.declare(X, y, loss), formula


def generalized(q: float) -> tuple[dc.Risk, Function]:
    X, _, y = generalized_cross_entropy.drawn(0, n=30)
    formula = lambda t: generalized_cross_entropy.reference(X, y, q, t)  # noqa: E731
    return generalized_cross_entropy.declare(X, y, q), formula


def taylor(order: int) -> tuple[dc.Risk, Function]:
    H, _, y = taylor_cross_entropy.drawn(0, n=30, hidden=5)
    loss = taylor_cross_entropy.taylor(order)
    formula = lambda t: taylor_cross_entropy.reference(H, y, order, t, 0.1)  # noqa: E731
    return taylor_cross_entropy.declare(H, y, loss, 0.1), formula


def general(alpha: float) -> tuple[dc.Risk, Function]:
    X, y = general_robust_loss.drawn(0, n=30)
    formula = lambda t: general_robust_loss.reference(X, y, alpha, 1.5, t)  # noqa: E731
    return general_robust_loss.declare(X, y, alpha, 1.5), formula


def shifts(hard: bool) -> tuple[dc.Risk, Function]:
    X, y = mean_shift_outliers.drawn(0, n=20)
    lam = mean_shift_outliers.LAMBDA
    penalty = dc.mcp(lam, 1.0) if hard else dc.l1(lam)
    formula = lambda t: mean_shift_outliers.reference(X, y, t, hard)  # noqa: E731
    return mean_shift_outliers.declare(X, y, penalty), formula


LOSSES: dict[str, Callable[[], tuple[dc.Risk, Function]]] = {
    "pinball": pinball,
    "generalized 0.1": lambda: generalized(0.1),
    "generalized 1": lambda: generalized(1.0),
    "taylor 1": lambda: taylor(1),
    "taylor 5": lambda: taylor(5),
    "general 2": lambda: general(2.0),
    "general 1": lambda: general(1.0),
    "general 0": lambda: general(0.0),
    "general -2": lambda: general(-2.0),
    "shifts, l1": lambda: shifts(False),
    "shifts, hard": lambda: shifts(True),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", LOSSES)
def test_losses(name: str) -> None:
    risk, formula = LOSSES[name]()
    x = np.random.default_rng(1).normal(size=risk.rows.shape[1])
    assert risk(x) == pytest.approx(formula(x), rel=1e-12)
    found = point(dc.solve(risk, random_state=0).x)
    assert steepest(formula, found) > -SLOPE > steepest(formula, x)


def test_rescaled_squared_hinge() -> None:
    X, _, y = circle.drawn(0, n=25)
    K = circle.gram(X, X)
    risk = rescaled_squared_hinge.declare(K, y, dc.rescale(dc.squared_hinge(), 0.5))

    def formula(theta: Array) -> float:
        a = risk.rows.dual_coef(theta).ravel()
        return rescaled_squared_hinge.reference(K, y, 0.5, a, theta[-1])

    x = np.random.default_rng(1).normal(size=risk.rows.shape[1])
    assert risk(x) == pytest.approx(formula(x), rel=1e-9)
    found = point(dc.solve(risk, random_state=0).x)
    assert steepest(formula, found) > -SLOPE > steepest(formula, x)


# ---- problems written in cvxpy -------------------------------------------------------------------

Case = tuple[Any, Function, Callable[[Array], Array]]


def ramp() -> Case:
    X, _, y = circle.drawn(0, n=20)
    K = circle.gram(X, X)
    problem = ramp_linear_programming.declare(K, y, 0.02)
    formula = lambda x: ramp_linear_programming.reference(K, y, 0.02, x[:-1], x[-1])  # noqa: E731
    return problem, formula, lambda x: np.append(np.maximum(x[:-1], 0), x[-1])


def unlabelled() -> Case:
    X, y, U, _ = semi_supervised.drawn(0, n=30, d=3)
    row = np.append(U.mean(axis=0), 1.0)

    def balanced(x: Array) -> Array:
        """The nearest point, in the order (b, w), with the mean score y's mean."""
        theta = np.roll(x, -1)
        theta = theta + row * (y.mean() - row @ theta) / (row @ row)
        return np.roll(theta, 1)

    formula = lambda x: semi_supervised.reference(X, y, U, np.roll(x, -1))  # noqa: E731
    return semi_supervised.declare(X, y, U), formula, balanced


def twin() -> Case:
    own, others = capped_twin.drawn(0, n=15)
    formula = lambda x: capped_twin.reference(own, others, np.roll(x, -1))  # noqa: E731
    return capped_twin.declare(own, others), formula, lambda x: x


def matrix() -> Case:
    M, labels = support_matrix.drawn(0, n=18, outliers=2)
    formula = lambda x: support_matrix.reference(M, labels, x.reshape(2, 5, 5))  # noqa: E731
    return support_matrix.declare(M, labels), formula, lambda x: x


def middle(extended: bool) -> Case:
    X, y = extended_robust.drawn(0, n=20, outliers=2)
    k = 4 if extended else 12

    def in_range(x: Array) -> Array:
        size = np.linalg.norm(x[1:])
        return x / size if (size < 1) == extended else x

    formula = lambda x: extended_robust.reference(X, y, k, 2, np.roll(x, -1))  # noqa: E731
    return extended_robust.declare(X, y, k, 2, extended), formula, in_range


def lasso(k: int) -> Case:
    X, y = trimmed_lasso.drawn(0)
    formula = lambda x: trimmed_lasso.reference(X, y, 0.3, k, x)  # noqa: E731
    return trimmed_lasso.declare(X, y, 0.3, k), formula, lambda x: x


PROBLEMS: dict[str, Callable[[], Case]] = {
    "ramp": ramp,
    "semi-supervised": unlabelled,
    "twin": twin,
    "matrix": matrix,
    "middle": lambda: middle(False),
    "extended": lambda: middle(True),
    "lasso 1": lambda: lasso(1),
    "lasso 5": lambda: lasso(5),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROBLEMS)
def test_problems(name: str) -> None:
    problem, formula, feasible = PROBLEMS[name]()
    size = sum(variable.size for variable in problem.variables())
    x = feasible(np.random.default_rng(1).normal(size=size))
    assert place(problem, x) == pytest.approx(formula(x), rel=1e-9)
    dc.solve(problem, start="convex", n_starts=1)
    found = values(problem)
    assert steepest(formula, found, feasible) > -SLOPE > steepest(formula, x, feasible)


# ---- claims --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.__name__.split(".")[-1])
def test_claims(script: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run: Callable[[list[str]], int] = script.main
    assert run([]) == 0
    assert "claims as expected" in capsys.readouterr().out
