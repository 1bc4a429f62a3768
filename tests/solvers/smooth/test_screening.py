"""Leaving samples out of a subproblem changes nothing but the time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dcprog as dc
from dcprog.foundation.arrays import Array
from dcprog.losses import absolute, epsilon_insensitive, hinge, pinball
from dcprog.penalties import l2
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.rows.linear import binary_margins, class_margins, residual_rows
from dcprog.solvers.smooth import augmented_lagrangian
from dcprog.solvers.smooth.augmented_lagrangian import AugmentedLagrangianSolver

N, P = 400, 6


def _data(seed: int) -> tuple[Any, Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, P))
    return rng, X, X @ rng.standard_normal(P) + rng.standard_normal(N)


def _risk(base: Any, kind: str, seed: int = 0) -> Risk:
    _, X, score = _data(seed)
    rows = {
        "margins": lambda: binary_margins(X, score > 0),
        "no intercept": lambda: binary_margins(X, score > 0, fit_intercept=False),
        "three classes": lambda: class_margins(X, np.digitize(score, [-1, 1])),
        "residuals": lambda: residual_rows(X, score),
    }[kind]()
    return Risk.from_loss(rows, base, l2(0.5))


CASES = [
    (hinge(), "margins"),
    (hinge(), "no intercept"),
    (hinge(0.3), "three classes"),
    (absolute(), "residuals"),
    (pinball(0.2), "residuals"),
    (epsilon_insensitive(0.4), "residuals"),
]


@pytest.mark.parametrize("reach", [0.0, 1e-3, 1.0], ids=str)
@pytest.mark.parametrize(("base", "kind"), CASES, ids=str)
def test_screened_and_whole_problem_have_one_minimum(
    base: Any, kind: str, reach: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    risk = _risk(base, kind)
    rng = np.random.default_rng(1)
    weights = rng.uniform(0, 2, risk.n_groups) * (rng.random(risk.n_groups) < 0.8)
    tilts = rng.uniform(-0.1, 0.1, risk.n_groups)
    start = AugmentedLagrangianSolver(risk).minimise(
        WeightedRisk(risk, weights), np.zeros(risk.rows.shape[1]), 1e-8
    )
    whole = AugmentedLagrangianSolver(risk).minimise(
        WeightedRisk(risk, weights, tilts), start.coefficients, 1e-9
    )

    monkeypatch.setattr(augmented_lagrangian, "PAYS", 0)
    sizes = []
    straightened = augmented_lagrangian._straightened

    def count(self: Any, pieces: Any, u: Any, kept: Any, intercept: bool) -> Any:
        sizes.append(int(np.sum(kept)))
        return straightened(self, pieces, u, kept, intercept)

    monkeypatch.setattr(augmented_lagrangian, "_straightened", count)
    solver = AugmentedLagrangianSolver(risk)
    solver._reach[:] = reach  # as if the margins had moved that far the last time
    part = solver.minimise(WeightedRisk(risk, weights, tilts), start.coefficients, 1e-9)
    assert part.value == pytest.approx(whole.value, rel=3e-9)
    if reach < 1:
        assert sizes, "nothing was left out"
        assert min(sizes) < N / 2
    assert part.dual is not None
    assert part.dual == pytest.approx(whole.dual, abs=1e-4)


def test_a_whole_run_takes_the_same_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    _, X, score = _data(3)
    risk = Risk.from_loss(binary_margins(X, score > 0), dc.cap(hinge(), 1.0), l2(0.1))
    whole = dc.solve(risk)
    monkeypatch.setattr(augmented_lagrangian, "PAYS", 0)
    screened = dc.solve(risk)
    assert screened.status == whole.status == "converged"
    assert screened.n_iter == whole.n_iter
    assert screened.history.value == pytest.approx(whole.history.value, rel=1e-7)
