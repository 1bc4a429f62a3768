"""The start without caps: which caps it drops, and where it leads."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog.starts.uncapped import without_caps

X = cp.Variable(2)
CAP = cp.Parameter(nonneg=True, value=1.0)


@pytest.mark.parametrize(
    ("objective", "expected"),
    [
        (cp.Minimize(cp.sum(cp.minimum(cp.abs(X), 1))), cp.sum(cp.abs(X))),
        (
            cp.Minimize(cp.sum(cp.minimum(cp.abs(X), CAP, X + 2))),
            cp.sum(cp.minimum(cp.abs(X), X + 2)),
        ),
        (cp.Minimize(cp.sum(cp.minimum(X[0], np.ones(2)))), cp.sum(cp.broadcast_to(X[0], (2,)))),
        (cp.Minimize(X[1] - 2 * cp.maximum(-cp.abs(X[0]), -1)), X[1] + 2 * cp.abs(X[0])),
        (cp.Maximize(cp.maximum(-cp.square(X[0]), -1)), -cp.square(X[0])),
    ],
)
def test_caps_that_hold_the_objective_down_are_dropped(
    objective: cp.Minimize | cp.Maximize, expected: cp.Expression
) -> None:
    constraints = [cp.sum(X) == 1]
    free = without_caps(cp.Problem(objective, constraints))
    assert free.constraints == constraints
    for point in np.random.default_rng(0).normal(0, 5, (5, 2)):
        X.value = point
        assert free.objective.value == pytest.approx(expected.value)


@pytest.mark.parametrize(
    "objective",
    [
        cp.Maximize(cp.sum(cp.minimum(X, 1))),  # concave: the cap bounds the maximum
        cp.Minimize(cp.maximum(X[0], 1)),
        cp.Minimize(cp.minimum(X[0], X[1])),
        cp.Minimize(cp.square(cp.minimum(X[0], 1))),  # neither up nor down
    ],
)
def test_other_problems_have_no_caps(objective: cp.Minimize | cp.Maximize) -> None:
    problem = cp.Problem(objective)
    assert without_caps(problem) is problem


def located() -> cp.Problem:
    """A place in the unit square from its exact distances to five anchors: the minimum is 0."""
    rng = np.random.default_rng(0)
    anchors, place = rng.random((5, 2)), rng.random(2)
    x = cp.Variable(2)
    misses = [cp.abs(cp.norm(x - a) - np.linalg.norm(place - a)) for a in anchors]
    return cp.Problem(cp.Minimize(cp.sum(cp.minimum(cp.hstack(misses), 0.05))))


def test_it_leads_where_the_convex_start_sees_caps() -> None:
    problem = located()
    assert dc.solve(problem, start="convex").value > 0.05
    assert dc.solve(problem, start="uncapped").value == pytest.approx(0, abs=1e-5)


def test_a_problem_without_caps_is_refused() -> None:
    problem = cp.Problem(cp.Minimize(-cp.sum_squares(X)), [cp.abs(X) <= 1])
    with pytest.raises(ValueError, match=r"'uncapped' does not take .* no cap"):
        dc.solve(problem, start="uncapped")
