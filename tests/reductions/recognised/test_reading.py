"""A problem is read as a risk however it is written, and never as another function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import dcprog as dc
from dcprog.foundation.arrays import Array
from dcprog.foundation.parameters import same
from dcprog.reductions.recognised import recognise
from dcprog.reductions.recognised.recognise import Reading, recognised

RNG = np.random.default_rng(0)
N, P = 40, 3
X, Y, T = RNG.normal(size=(N, P)), RNG.choice([-1.0, 1.0], N), RNG.normal(size=N)
S = RNG.random(N)

W, B = cp.Variable(P, name="w"), cp.Variable(name="b")
M = cp.multiply(Y, X @ W + B)
R = T - X @ W - B
RIDGE = 0.05 * cp.sum_squares(W)


def hinged(t: Array) -> Array:
    return np.maximum(t, 0)


def ramp(w: Array, b: float) -> Array:
    return np.minimum(hinged(1 - Y * (X @ w + b)), 1)


# The same ramp: Σ min((1 − u)₊, 1) + 0.05‖w‖².
RAMPS: dict[str, cp.Expression] = {
    "pos": cp.sum(cp.minimum(cp.pos(1 - M), 1)) + RIDGE,
    "maximum": cp.sum(cp.minimum(1, cp.maximum(0, 1 - M))) + RIDGE,
    "neg": cp.sum(cp.minimum(cp.neg(M - 1), 1)) + RIDGE,
    "two caps": cp.sum(cp.minimum(cp.pos(1 - M), 1, 2)) + RIDGE,
    "difference": cp.sum(cp.pos(1 - M) - cp.pos(-M)) + RIDGE,
    "two sums": cp.sum(cp.pos(1 - M)) - cp.sum(cp.pos(-cp.multiply(Y, B + X @ W))) + RIDGE,
    "weights": np.ones(N) @ cp.minimum(cp.pos(1 - M), 1) + RIDGE,
    "mean": N * cp.mean(cp.minimum(cp.pos(1 - M), 1)) + RIDGE,
    "inside": cp.sum(cp.minimum(3 * cp.pos(1 - M), 3)) / 3 + RIDGE,
    "moved": cp.sum(cp.minimum(cp.pos(1 - M) + 2, 3)) + RIDGE - 2 * N,
    "premultiplied": cp.sum(cp.minimum(cp.pos(1 - ((Y[:, None] * X) @ W + Y * B)), 1)) + RIDGE,
    "sparse": cp.sum(
        cp.minimum(cp.pos(1 - sp.diags_array(Y) @ (sp.csr_array(X) @ W + B)), 1)
    ) + RIDGE,
    "intercept first": cp.sum(cp.minimum(cp.pos(1 - cp.multiply(Y, B + X @ W)), 1)) + RIDGE,
    "penalty first": RIDGE + cp.sum(cp.minimum(cp.pos(1 - M), 1)),
    "squares": cp.sum(cp.minimum(cp.pos(1 - M), 1)) + cp.sum(cp.square(W)) / 20,
    "norm": cp.sum(cp.minimum(cp.pos(1 - M), 1)) + 0.05 * cp.norm(W) ** 2,
    "quadratic form": cp.sum(cp.minimum(cp.pos(1 - M), 1)) + cp.quad_form(W, 0.05 * np.eye(P)),
    "constants": cp.sum(cp.minimum(cp.pos(1 - M), 1) + 1) + RIDGE - N,
}  # fmt: skip


@pytest.mark.parametrize("name", RAMPS)
def test_spellings_of_one_ramp_are_one_risk(name: str) -> None:
    found = recognised(cp.Problem(cp.Minimize(RAMPS[name])))
    assert found is not None
    risk = found.risk
    assert same(risk.loss, dc.cap(dc.hinge(), 1.0))
    assert same(risk.penalty, dc.l2(0.1))
    assert [v.name() for v in found.points.variables] == ["w", "b"]
    assert risk.penalized.tolist() == [True] * P + [False]
    assert risk.rows.fit_intercept
    np.testing.assert_allclose(np.abs(risk.rows.signs), 1)
    for size in (0.1, 1.0, 10.0):
        theta = size * RNG.normal(size=P + 1)
        w, b = theta[:P], theta[P]
        expected = ramp(w, b).sum() + 0.05 * w @ w
        assert risk(theta) + found.constant == pytest.approx(expected, rel=1e-12)


def absolute(t: Array) -> Array:
    return np.abs(t)


# Objective, and the same in NumPy of the margins u, residuals r and coefficients w.
Formula = Callable[[Array, Array, Array], Any]
OTHERS: dict[str, tuple[cp.Expression, Formula]] = {
    "caps": (
        cp.sum(cp.minimum(cp.pos(1 - M), 1 + S)) + RIDGE,
        lambda u, r, w: np.minimum(hinged(1 - u), 1 + S).sum() + 0.05 * w @ w,
    ),
    "sample weights": (
        7 + S @ cp.minimum(cp.pos(1 - M), 1) / 3 + 0.3 * cp.norm1(W),
        lambda u, r, w: 7 + S @ np.minimum(hinged(1 - u), 1) / 3 + 0.3 * np.abs(w).sum(),
    ),
    "elastic net": (
        cp.sum(cp.minimum(cp.square(cp.pos(1 - M)), 2)) + cp.norm(W, 1) + RIDGE,
        lambda u, r, w: np.minimum(hinged(1 - u) ** 2, 2).sum() + np.abs(w).sum() + 0.05 * w @ w,
    ),
    "weighted lasso": (
        cp.sum(cp.minimum(cp.abs(R), 1)) + cp.norm1(cp.multiply(np.array([1.0, 2, 3]), W)),
        lambda u, r, w: np.minimum(np.abs(r), 1).sum() + np.abs(w) @ [1, 2, 3],
    ),
    "capped square": (
        cp.sum(cp.minimum(cp.square(X @ W + B - T), 4)) + RIDGE,
        lambda u, r, w: np.minimum(r**2, 4).sum() + 0.05 * w @ w,
    ),
    "capped Huber": (
        cp.sum(cp.minimum(cp.huber(R, 0.7), 2)) + RIDGE,
        lambda u, r, w: (
            np.minimum(np.where(absolute(r) < 0.7, r**2, 1.4 * absolute(r) - 0.49), 2).sum()
            + 0.05 * w @ w
        ),
    ),
    "capped logistic": (
        cp.sum(cp.minimum(cp.logistic(-M), 2)) + RIDGE,
        lambda u, r, w: np.minimum(np.logaddexp(0, -u), 2).sum() + 0.05 * w @ w,
    ),
    "Cauchy": (
        cp.sum(cp.log1p(cp.square(R) / 3)) + RIDGE,
        lambda u, r, w: np.log1p(r**2 / 3).sum() + 0.05 * w @ w,
    ),
    "logarithm": (
        cp.sum(cp.log(2 + cp.abs(R))) + RIDGE,
        lambda u, r, w: np.log(2 + np.abs(r)).sum() + 0.05 * w @ w,
    ),
    "root": (
        cp.sum(cp.sqrt(cp.abs(R))) + RIDGE,
        lambda u, r, w: np.sqrt(np.abs(r)).sum() + 0.05 * w @ w,
    ),
    "power": (
        cp.sum(cp.power(2 * cp.square(R) + 0.1, 0.25)) + RIDGE,
        lambda u, r, w: ((2 * r**2 + 0.1) ** 0.25).sum() + 0.05 * w @ w,
    ),
    "rescaled": (
        cp.sum(1 - cp.exp(-0.5 * cp.pos(1 - M))) + RIDGE,
        lambda u, r, w: (1 - np.exp(-0.5 * hinged(1 - u))).sum() + 0.05 * w @ w,
    ),
    "quantile": (
        cp.sum(cp.minimum(cp.maximum(0.3 * R, -0.7 * R), 2)) + RIDGE,
        lambda u, r, w: np.minimum(np.maximum(0.3 * r, -0.7 * r), 2).sum() + 0.05 * w @ w,
    ),
    "tube": (
        cp.sum(cp.minimum(cp.pos(cp.abs(R) - 0.1), 2)) + RIDGE,
        lambda u, r, w: np.minimum(hinged(np.abs(r) - 0.1), 2).sum() + 0.05 * w @ w,
    ),
    "differences": (
        cp.sum(cp.abs(R)) - cp.sum(cp.pos(cp.abs(R) - 1)) + RIDGE,
        lambda u, r, w: np.minimum(np.abs(r), 1).sum() + 0.05 * w @ w,
    ),
    "no penalty": (
        cp.sum(cp.minimum(cp.square(R), 4)),
        lambda u, r, w: np.minimum(r**2, 4).sum(),
    ),
    "trimmed": (
        cp.sum(cp.square(R)) - cp.sum_largest(cp.square(R), 7) + RIDGE,
        lambda u, r, w: np.sort(r**2)[:-7].sum() + 0.05 * w @ w,
    ),
    "smallest": (
        cp.sum_smallest(cp.square(R), 29) / 29,
        lambda u, r, w: np.sort(r**2)[:29].mean(),
    ),
    "smallest of all": (
        cp.sum_smallest(cp.square(R), 99) + RIDGE,
        lambda u, r, w: (r**2).sum() + 0.05 * w @ w,
    ),
    "trimmed, capped": (
        3 * cp.sum_smallest(cp.minimum(cp.pos(1 - M), 2), 30) + cp.norm1(W),
        lambda u, r, w: 3 * np.sort(np.minimum(hinged(1 - u), 2))[:30].sum() + np.abs(w).sum(),
    ),
    "capped l1": (
        cp.sum_squares(R) + 2 * cp.sum(cp.minimum(cp.abs(W), 0.5)),
        lambda u, r, w: r @ r + 2 * np.minimum(np.abs(w), 0.5).sum(),
    ),
    "log sum": (
        cp.sum_squares(R) + cp.sum(cp.log(cp.abs(W) + 0.1)) + RIDGE,
        lambda u, r, w: r @ r + np.log(np.abs(w) + 0.1).sum() + 0.05 * w @ w,
    ),
    "lp": (
        cp.sum_squares(R) + cp.sum(cp.sqrt(cp.abs(W))),
        lambda u, r, w: r @ r + np.sqrt(np.abs(w)).sum(),
    ),
}


@pytest.mark.parametrize("goal", [cp.Minimize, cp.Maximize])
@pytest.mark.parametrize("name", OTHERS)
def test_losses_and_penalties_are_those_of_the_formula(name: str, goal: Any) -> None:
    expression, formula = OTHERS[name]
    sign = -1 if goal is cp.Maximize else 1
    found = recognised(cp.Problem(goal(sign * expression)))
    assert found is not None
    assert found.sign == sign
    for size in (0.1, 1.0, 10.0):
        theta = size * RNG.normal(size=P + 1)
        w, scores = theta[:P], X @ theta[:P] + theta[P]
        expected = formula(Y * scores, T - scores, w)
        assert found.risk(theta) + found.constant == pytest.approx(expected, rel=1e-10)


LOSS = cp.sum(cp.minimum(cp.pos(1 - M), 1))


def declared(**attributes: Any) -> cp.Expression:
    w = cp.Variable(P, **attributes)
    return cp.sum(cp.minimum(cp.pos(1 - cp.multiply(Y, X @ w)), 1)) + cp.sum_squares(w)


NO_RISKS: dict[str, cp.Problem] = {
    name: cp.Problem(cp.Minimize(expression))
    for name, expression in {
        "convex": cp.sum(cp.pos(1 - M)) + RIDGE,
        "linear term": LOSS + RIDGE + W[0],
        "ridge by coefficient": LOSS + cp.sum_squares(cp.multiply(np.array([1.0, 2, 3]), W)),
        "ridge of a part": LOSS + cp.sum_squares(W[1:]) + cp.norm1(W),
        "ridge elsewhere": LOSS + cp.sum_squares(W - 1),
        "norm": LOSS + cp.norm(W),
        "quadratic form": LOSS + cp.quad_form(W, np.diag([1.0, 2.0, 3.0])),
        "other rows": LOSS + cp.sum(cp.minimum(cp.abs(X[:, ::-1] @ W), 1)) + RIDGE,
        "other weights": LOSS - S @ cp.pos(-M) + RIDGE,
        "signs of weights": Y @ cp.minimum(cp.pos(1 - M), 1) + RIDGE,
        "another variable": LOSS + RIDGE + cp.minimum(cp.square(cp.Variable() - 1), 2),
        "free coefficient": LOSS + RIDGE + 0 * cp.Variable(),
        "thresholds": cp.sum(cp.minimum(cp.huber(R), 1) + cp.minimum(cp.abs(R - S), 1)) + RIDGE,
        "nonconvex base": cp.sum(cp.minimum(cp.square(cp.square(M) - 1), 1)) + RIDGE,
        "two losses inside": cp.sum(cp.minimum(cp.pos(1 - M), cp.pos(1 + M))) + RIDGE,
        "largest of others": cp.sum(cp.abs(R)) - cp.sum_largest(cp.square(R), 3) + RIDGE,
        "all of the largest": cp.sum(cp.abs(R)) - cp.sum_largest(cp.abs(R), R.size) + RIDGE,
        "more than all": cp.sum(cp.abs(R)) - cp.sum_largest(cp.abs(R), R.size + 3) + RIDGE,
        "largest, capped far away": cp.sum(cp.abs(R))
        - cp.sum_largest(cp.minimum(cp.abs(R), 1e9), 3),
        "largest, with caps": cp.sum(cp.abs(R)) - cp.sum_largest(cp.minimum(cp.abs(R), 1e9 + S), 3),
        "largest, with a floor": cp.sum(cp.abs(R)) - cp.sum_largest(cp.maximum(cp.abs(R), 1e-9), 3),
        "a part of an entry": cp.sum(cp.abs(R)) - cp.sum_largest(cp.abs(R), 2.5) + RIDGE,
        "largest twice": cp.sum_smallest(cp.abs(R), 30) - cp.sum_largest(cp.abs(R), 3) + RIDGE,
        "largest, added": LOSS + cp.sum_largest(cp.pos(1 - M), 3) + RIDGE,
        "trimmed, with weights": S @ cp.abs(R) - cp.sum_largest(cp.multiply(S, cp.abs(R)), 3),
        "trimmed, with caps": cp.sum_smallest(cp.minimum(cp.abs(R), 1 + S), 30) + RIDGE,
        "product": LOSS + RIDGE + B * W[0],
        "nonneg": declared(nonneg=True),
        "bounds": declared(bounds=[-1, 1]),
        "penalties alone": cp.sum(cp.minimum(cp.abs(W), 1)) + RIDGE,
    }.items()
}
NO_RISKS["constraint"] = cp.Problem(cp.Minimize(LOSS + RIDGE), [W >= 0])
NO_RISKS["unknown"] = cp.Problem(cp.Minimize(LOSS + cp.Parameter(nonneg=True) * RIDGE))


@pytest.mark.parametrize("name", NO_RISKS)
def test_near_misses_are_none(name: str) -> None:
    assert recognised(NO_RISKS[name]) is None


def test_a_divisor_is_no_number_though_its_variables_have_values() -> None:
    x = cp.Variable(1)
    u, slow = np.array([-1.4]) @ x - 1.1, cp.square(np.array([-0.0004]) @ x + 0.5)
    quotient = slow / (1 + slow / 1000)
    x.value = [-715.0]
    assert recognised(cp.Problem(cp.Minimize(cp.pos(u - 1000) - cp.pos(u) + quotient))) is None


def test_a_wrong_reading_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = cp.Problem(cp.Minimize(LOSS + RIDGE))
    real = recognise.risk_of
    for wrong in (dc.l2(0.1 + 1e-7), dc.l1(0.1)):
        changed: list[Any] = [wrong]

        def other(*args: Any, changed: list[Any] = changed) -> Any:
            risk, points = real(*args)
            return risk.with_penalty(changed[0]), points

        monkeypatch.setattr(recognise, "risk_of", other)
        assert recognised(problem) is None


def test_shared_nodes_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    real = Reading._read

    def noted(self: Reading, node: cp.Expression) -> Any:
        read.append(id(node))
        return real(self, node)

    monkeypatch.setattr(Reading, "_read", noted)
    w = cp.Variable()
    argument: cp.Expression = w
    loss: cp.Expression = cp.square(w - 1)
    for _ in range(8):
        argument = (argument + argument) / 2
        loss = (loss + loss) / 2
    both = cp.minimum(loss + cp.square(argument - 1), 2)
    assert recognised(cp.Problem(cp.Minimize(both + cp.square(w)))) is not None
    assert len(read) < 100


def test_terms_written_in_a_loop_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a term was looked at")

    monkeypatch.setattr(recognise, "Lines", refuse)
    loop = sum(cp.minimum(cp.pos(1 - Y[i] * (X[i] @ W)), 1) for i in range(N))
    assert recognised(cp.Problem(cp.Minimize(loop + RIDGE))) is None


def test_the_variables_keep_their_values() -> None:
    W.value, B.value = np.ones(P), None
    assert recognised(cp.Problem(cp.Minimize(LOSS + RIDGE))) is not None
    np.testing.assert_array_equal(W.value, np.ones(P))
    assert B.value is None


def test_sparse_data_stay_sparse() -> None:
    A = sp.random_array((200, 50), density=0.05, random_state=0, format="csr")
    w = cp.Variable(50)
    loss = cp.sum(cp.minimum(cp.pos(1 - A @ w), 1))
    found = recognised(cp.Problem(cp.Minimize(loss + cp.sum_squares(w))))
    assert found is not None
    assert sp.issparse(found.risk.rows.X)
