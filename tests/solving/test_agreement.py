"""Four robust losses as written: every solver, NumPy's own value, and a loop written by hand."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog.foundation.arrays import Array

RNG = np.random.default_rng(0)
N, P = 200, 5
X = RNG.normal(size=(N, P))
Y = np.sign(X @ RNG.normal(size=P) + 0.5 * RNG.normal(size=N))
Y[RNG.random(N) < 0.15] *= -1


@dataclass(frozen=True)
class Loss:
    """Σ loss(u) in cvxpy, loss(u) in NumPy, and its majorant: weights and tilts at u."""

    expression: Callable[[cp.Expression], cp.Expression]
    value: Callable[[Array], Array]
    weight: Callable[[Array], Array]
    tilt: Callable[[Array], Array] = np.zeros_like


def hinge(u: Array) -> Array:
    return np.maximum(1 - u, 0)


LOSSES = {
    "capped": Loss(
        lambda u: cp.sum(cp.minimum(cp.pos(1 - u), 1)),
        lambda u: np.minimum(hinge(u), 1),
        lambda u: (hinge(u) < 1).astype(float),
    ),
    "rescaled": Loss(
        lambda u: cp.sum(1 - cp.exp(-2 * cp.pos(1 - u))),
        lambda u: 1 - np.exp(-2 * hinge(u)),
        lambda u: 2 * np.exp(-2 * hinge(u)),
    ),
    "truncated": Loss(
        lambda u: cp.sum(cp.pos(1 - u) - cp.pos(-u)),
        lambda u: hinge(u) - np.maximum(-u, 0),
        np.ones_like,
        lambda u: (u < 0).astype(float),
    ),
    "logarithmic": Loss(
        lambda u: cp.sum(cp.log(1 + cp.pos(1 - u))),
        lambda u: np.log1p(hinge(u)),
        lambda u: 1 / (1 + hinge(u)),
    ),
}
PENALTIES = {
    "l2": (lambda w: 0.05 * cp.sum_squares(w), lambda w: 0.05 * float(w @ w)),
    "l1": (lambda w: 0.5 * cp.norm1(w), lambda w: 0.5 * float(np.sum(np.abs(w)))),
}
SOLVERS = {
    "l2": [None, "CLARABEL", "OSQP", "ECOS", "PIQP"],
    "l1": [None, "CLARABEL", "ECOS", "PIQP", "HIGHS"],
}
# The automatic choice and Clarabel with every loss, each other solver with two of them.
SHARED = (None, "CLARABEL")
CASES = [
    (name, penalty, solver)
    for penalty, solvers in SOLVERS.items()
    for k, solver in enumerate(solvers)
    for name in (list(LOSSES) if solver in SHARED else list(LOSSES)[k % 2 :: 2])
]

w, b = cp.Variable(P), cp.Variable()
MARGINS = {"premultiplied": (Y[:, None] * X) @ w + Y * b, "multiply": cp.multiply(Y, X @ w + b)}


def objective(loss: Loss, penalty: str, coefficients: Array, intercept: float) -> float:
    u = Y * (X @ coefficients + intercept)
    return float(np.sum(loss.value(u))) + PENALTIES[penalty][1](coefficients)


@cache
def by_hand(name: str, penalty: str, steps: int = 60) -> float:
    """Problem rebuilt at every step, explicit slacks; from the convex problem."""
    loss = LOSSES[name]
    weights, tilts = loss.weight(np.full(N, 1.0)), np.zeros(N)
    value = np.inf
    for _ in range(steps):
        v, c, slack = cp.Variable(P), cp.Variable(), cp.Variable(N, nonneg=True)
        margins = (Y[:, None] * X) @ v + Y * c
        objective_now = weights @ slack + tilts @ margins + PENALTIES[penalty][0](v)
        cp.Problem(cp.Minimize(objective_now), [slack >= 1 - margins]).solve(solver=cp.CLARABEL)
        before, value = value, objective(loss, penalty, v.value, float(c.value))
        if before - value < 1e-7:
            break
        u = Y * (X @ v.value + c.value)
        weights, tilts = loss.weight(u), loss.tilt(u)
    return value


@pytest.mark.parametrize(("name", "penalty", "solver"), CASES)
def test_every_solver_gives_the_value_of_the_loop_written_by_hand(
    name: str, penalty: str, solver: str | None
) -> None:
    if solver is not None and solver not in cp.installed_solvers():
        pytest.skip(f"{solver} is not installed")
    loss = LOSSES[name]
    for margins in list(MARGINS.values())[: 2 if solver is None else 1]:
        goal = loss.expression(margins) + PENALTIES[penalty][0](w)
        result = dc.solve(cp.Problem(cp.Minimize(goal)), start="convex", solver=solver)
        scale = 1 + abs(result.value)
        assert result.status == "converged"
        assert solver in (None, result.solver)
        assert np.all(np.diff(result.history.value) <= 1e-8 * scale)
        assert 0 <= result.gap <= 1e-6 * scale
        assert result.violation == 0
        recomputed = objective(loss, penalty, w.value, float(b.value))
        assert result.value == pytest.approx(recomputed, rel=1e-12)
        assert result.value == pytest.approx(by_hand(name, penalty), rel=2e-6)


def test_both_ways_to_write_a_ramp_agree() -> None:
    values = [
        dc.solve(
            cp.Problem(cp.Minimize(LOSSES[name].expression(u) + PENALTIES["l2"][0](w))),
            start="convex",
        ).value
        for name in ("capped", "truncated")
        for u in MARGINS.values()
    ]
    np.testing.assert_allclose(values, values[0], rtol=1e-6)
