"""The weighted risk that a tightening hands to a solver, and what solvers refuse of it."""

from __future__ import annotations

import numpy as np
import pytest

import dcprog as dc
from dcprog.foundation.arrays import Array
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.rows.kernel import kernel_margins
from dcprog.rows.linear import binary_margins, class_margins, residual_rows
from dcprog.solvers.registry import make

RNG = np.random.default_rng(0)
X = RNG.standard_normal((20, 3))
Y = np.arange(20) % 2
MARGINS = binary_margins(X, Y)
WEIGHTS = RNG.uniform(0, 2, 20)


def _written_out(problem: WeightedRisk, theta: Array) -> float:
    """The weighted risk term by term, for a ridge or MCP."""
    risk, total = problem.risk, 0.0
    u = np.asarray(risk.rows.matrix().toarray()) @ theta + (
        0 if risk.offset is None else risk.offset
    )
    for r, margin in enumerate(u):
        total += problem.weights[risk.groups[r]] * float(risk.base(np.array([margin]))[0])
        total += 0.0 if problem.tilts is None else problem.tilts[r] * margin
    w = theta[risk.penalized]
    if problem.shrinkage is None:
        return total + risk.penalty.get_params()["lam"] / 2 * float(w @ w)
    return total + float(problem.shrinkage @ np.abs(w))


@pytest.mark.parametrize("tilted", [False, True])
@pytest.mark.parametrize("penalty", [dc.l2(0.7), dc.mcp(0.5, 3.0)], ids=repr)
def test_value_is_the_sum_of_its_terms(penalty: dc.Penalty, tilted: bool) -> None:
    risk = Risk.from_loss(residual_rows(X, X[:, 0]), dc.absolute(), penalty)
    tilts = RNG.standard_normal(20) if tilted else None
    shrinkage = None if penalty.is_convex else RNG.uniform(0, 1, 3)
    problem = WeightedRisk(risk, WEIGHTS, tilts, shrinkage)
    theta = RNG.standard_normal(4)
    assert problem.value(theta) == pytest.approx(_written_out(problem, theta), rel=1e-12)
    assert problem.untilted.value(theta) + problem.linear @ theta + problem.row_tilts @ (
        risk.margins(np.zeros(4))
    ) == pytest.approx(problem.value(theta), rel=1e-12)
    l1, l2 = problem.penalty_weights
    sizes = float(l1 @ np.abs(theta) + l2 @ theta**2 / 2)
    assert sizes == pytest.approx(problem.penalty(theta), rel=1e-12)


def test_a_problem_repeats_another_with_equal_parts() -> None:
    risk = Risk.from_loss(MARGINS, dc.hinge())
    problem = WeightedRisk(risk, WEIGHTS, np.zeros(20))
    assert problem.repeats(WeightedRisk(risk, WEIGHTS.copy(), np.zeros(20)))
    assert not problem.repeats(WeightedRisk(risk, WEIGHTS))
    assert not problem.repeats(WeightedRisk(risk, WEIGHTS, np.zeros(20), np.zeros(3)))
    assert not problem.repeats(WeightedRisk(risk, 2 * WEIGHTS, np.zeros(20)))


CLASSES = Risk(class_margins(X, Y), dc.squared_hinge(), aggregate="sum")
KERNEL = Risk(kernel_margins(X @ X.T, Y), dc.hinge())
NO_SHRINKAGE = {
    "newton": Risk(MARGINS, dc.squared_hinge()),
    "multipliers": Risk(MARGINS, dc.hinge()),
    "smo": KERNEL,
    "smo_first_order": KERNEL,
    "libsvm": KERNEL,
    "dual_qp": KERNEL,
    "alternating": CLASSES,
    "cvxpy": Risk(MARGINS, dc.hinge()),
}


@pytest.mark.parametrize("name", NO_SHRINKAGE)
def test_shrinkage_is_refused_where_it_would_be_ignored(name: str) -> None:
    risk = NO_SHRINKAGE[name]
    start = np.zeros(risk.rows.shape[1])
    shrinkage = np.ones(int(risk.penalized.sum()))
    problem = WeightedRisk(risk, np.ones(risk.n_groups), shrinkage=shrinkage)
    with pytest.raises(ValueError, match="takes no shrinkage"):
        make(name, risk).minimise(problem, start, 1e-8)


def test_tilts_are_refused_where_they_would_be_ignored() -> None:
    problem = WeightedRisk(KERNEL, np.ones(20), 0.1 * np.ones(20))
    with pytest.raises(ValueError, match="libsvm takes no tilts"):
        make("libsvm", KERNEL).minimise(problem, np.zeros(21), 1e-8)


def test_no_shrinkage_is_left_over_from_the_last_problem() -> None:
    risk = Risk.from_loss(residual_rows(X, X[:, 0]), dc.absolute(), dc.mcp(0.5, 3.0))
    solver, start = make("cvxpy", risk), np.zeros(4)
    plain = WeightedRisk(risk, WEIGHTS)
    solver.minimise(WeightedRisk(risk, WEIGHTS, shrinkage=np.full(3, 5.0)), start, 1e-9)
    again = solver.minimise(plain, start, 1e-9)
    assert again.value <= make("simplex", risk).minimise(plain, start, 1e-9).value + 1e-6
