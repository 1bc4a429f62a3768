"""Newton's method with Armijo's rule: descent, full steps that cycle, softer losses on the way."""

from __future__ import annotations

from itertools import islice, pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError
from dcprog.foundation.tolerances import SUMMED
from dcprog.losses import ConvexLoss, logistic, pade_hinge, sigmoid_hinge, squared
from dcprog.penalties import l2
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.rows.linear import binary_margins
from dcprog.solvers.linalg.line_search import armijo
from dcprog.solvers.smooth.newton import NewtonScore, NewtonSolver, Weighted, softer_first

BASES: list[ConvexLoss] = [
    logistic(),
    pade_hinge(10.0),
    pade_hinge(1e4),
    sigmoid_hinge(1e3),
    squared(sigmoid_hinge(10.0)),
]
SHAPES = [(60, 4), (15, 40)]


def _risk(base: ConvexLoss, shape: tuple[int, int] = (60, 4), held: bool = True) -> Risk:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal(shape), np.arange(shape[0]) % 2
    X[y == 1, 0] += 1
    penalized = np.ones(shape[1] + 1) if held else None
    return Risk.from_loss(binary_margins(X, y), base, l2(0.5), penalized=penalized)


def _score(risk: Risk, weight: float, search: Any = armijo) -> NewtonScore:
    solver = NewtonSolver(risk)
    losses = Weighted(risk.base, np.full(solver.scores.X.shape[0], weight))
    zero = np.zeros(solver.scores.X.shape[0])
    return NewtonScore(
        solver.scores.ridge, losses, solver.scores.signs[:, 0], zero, zero, search=search
    )


def _gradient(risk: Risk, weights: Array, theta: Array) -> Array:
    slopes = weights * risk.base.slope(risk.margins(theta))
    return 0.5 * risk.penalized * theta + risk.rows.T @ slopes


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("base", BASES, ids=repr)
def test_gradient_vanishes_and_the_start_does_not_matter(
    base: ConvexLoss, shape: tuple[int, int], held: bool
) -> None:
    risk = _risk(base, shape, held)
    weights = np.random.default_rng(1).uniform(0, 3, shape[0])
    solver = NewtonSolver(risk)
    rng = np.random.default_rng(2)
    values = []
    for size in (0.0, 1.0, 100.0):
        start = size * rng.standard_normal(shape[1] + 1)
        solution = solver.minimise(WeightedRisk(risk, weights), start, 1e-10)
        gradient = _gradient(risk, weights, solution.coefficients)
        assert np.linalg.norm(gradient) <= 1e-8 * (1 + weights.sum())
        values.append(solution.value)
    np.testing.assert_allclose(values, values[0], rtol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("base", [pade_hinge(10.0), squared(sigmoid_hinge(5.0))], ids=repr)
def test_agrees_with_a_generic_minimiser(base: ConvexLoss, shape: tuple[int, int]) -> None:
    risk = _risk(base, shape)
    ones = np.ones(shape[0])
    solution = NewtonSolver(risk).minimise(WeightedRisk(risk, ones), np.zeros(shape[1] + 1), 1e-10)
    generic: Any = minimize(  # type: ignore[call-overload]
        risk,
        np.zeros(shape[1] + 1),
        jac=lambda theta: _gradient(risk, ones, theta),
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 10_000},
    )
    assert solution.value == pytest.approx(generic.fun, rel=1e-9)
    assert solution.value <= generic.fun * (1 + 1e-12)


@pytest.mark.parametrize("weight", [0.01, 100.0])
@pytest.mark.parametrize("eta", [1.0, 1e3])
@pytest.mark.parametrize("make", [pade_hinge, sigmoid_hinge])
def test_every_step_obeys_armijo_and_goes_down(make: Any, eta: float, weight: float) -> None:
    risk = _risk(make(eta))
    score = _score(risk, weight)
    places = list(islice(score.path(np.zeros(5), 0.0), 80))
    assert places[-1].promise <= 1e-12 * places[-1].size
    rough = [place for place in places if place.promise > 1e-12 * place.size]
    for here, there in pairwise(rough):
        spare = 2 * SUMMED * here.size
        moved = float(np.linalg.norm(there.w - here.w))
        length = moved / (float(np.linalg.norm(here.step)) or 1.0)
        assert there.value <= here.value - 2e-4 * length * here.promise + spare
        assert np.log2(length) == pytest.approx(round(np.log2(length)), abs=1e-6)


def test_without_curvature_the_step_is_a_gradient_step() -> None:
    risk = _risk(pade_hinge(10.0))  # at θ = 0 every margin is 0, the band is [0.9, 1.1]
    place = next(_score(risk, 2.0).path(np.zeros(5), 0.0))
    gradient = _gradient(risk, np.full(60, 2.0), np.zeros(5))
    np.testing.assert_allclose(place.step, -gradient / 0.5, rtol=1e-12)


def test_full_steps_cycle_where_armijo_does_not() -> None:
    risk = _risk(pade_hinge(100.0))
    full = list(islice(_score(risk, 1.0, lambda line: 1.0).path(np.zeros(5), 0.0), 400))
    assert min(place.promise for place in full[200:]) > 1e-3
    ends = NewtonSolver(risk).minimise(WeightedRisk(risk, np.ones(60)), np.zeros(5), 1e-10)
    assert ends.value < min(place.value for place in full) - 1e-3


def test_sharp_losses_take_fewer_steps_by_way_of_softer_ones() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((2000, 10)), rng.random(2000) < 0.5
    X[y, 0] += 1
    base = pade_hinge(1e4)
    risk = Risk.from_loss(binary_margins(X, y), base, l2(1.0), penalized=np.ones(11))
    assert [repr(loss) for loss in softer_first(base)] == [
        "pade_hinge(eta=19.53125)",
        "pade_hinge(eta=156.25)",
        "pade_hinge(eta=1250.0)",
    ]
    steps = {}
    for name, bases in (("at once", [base]), ("by way", [*softer_first(base), base])):
        w, b, steps[name] = np.zeros(11), 0.0, 0
        for loss in bases:
            score = _score(Risk.from_loss(risk.rows, loss, risk.penalty, penalized=np.ones(11)), 1)
            enough = 1e-15 if loss is base else 1e-5
            for place in score.path(w, b):
                steps[name] += 1
                if place.promise <= enough * place.size:
                    break
            w, b = place.w, place.b
    assert steps["by way"] < 0.7 * steps["at once"]


@pytest.mark.parametrize("shape", SHAPES)
def test_sparse_rows_equal_dense_rows(shape: tuple[int, int]) -> None:
    dense = _risk(pade_hinge(10.0), shape)
    y = dense.rows.signs[:, 0]
    sparse = Risk.from_loss(
        binary_margins(sp.csr_array(dense.rows.X), y),
        dense.base,
        dense.penalty,
        penalized=np.ones(shape[1] + 1),
    )
    ends = [
        NewtonSolver(risk).minimise(
            WeightedRisk(risk, np.ones(shape[0])), np.zeros(shape[1] + 1), 1e-9
        )
        for risk in (dense, sparse)
    ]
    np.testing.assert_allclose(ends[0].coefficients, ends[1].coefficients, atol=1e-9)


def test_a_tilt_without_end_is_reported() -> None:
    risk = _risk(logistic(), held=False)
    with pytest.raises(SubproblemError) as caught:
        NewtonSolver(risk).minimise(
            WeightedRisk(risk, np.zeros(60), np.ones(60) * risk.rows.signs[:, 0]), np.zeros(5), 1e-8
        )
    assert caught.value.status == "unbounded"
