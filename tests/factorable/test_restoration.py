"""Points are moved to the constraints that they miss, also where a constraint has one term."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog.factorable.problem import FactorableProblem, restored


@pytest.mark.parametrize("start", [0.7, 1.3])
def test_a_row_of_one_term_is_met_after_restoration(start: float) -> None:
    x = cp.Variable(bounds=[0.5, 2])
    problem = FactorableProblem(cp.Problem(cp.Minimize(x), [cp.entr(x) == 0]))
    found = restored(problem, np.array([start]))
    assert found == pytest.approx([1.0], rel=1e-12)
    assert problem.at(found).is_exact


def test_points_are_ranked_by_their_distance_from_a_row_of_one_term() -> None:
    x = cp.Variable(bounds=[0.5, 2])
    problem = FactorableProblem(cp.Problem(cp.Minimize(x), [cp.entr(x) == 0]))
    _, missed = problem.values(np.array([[1.01], [1.1], [1.9]]))
    assert missed[0] < missed[1] < missed[2]


@pytest.mark.parametrize("seconds", [0.05, 0.2])
def test_a_bound_of_a_set_in_two_parts_is_below_both(seconds: float) -> None:
    # entr(a) = 0 at 0 and at 1; SCIP's cuts lost the part at 1, where the objective is lower
    a, b = cp.Variable(bounds=[0, 2]), cp.Variable(bounds=[0, 2.16])
    rows = np.array([[-1.3, -0.9], [0.6, -0.1], [1.3, -0.7]]) @ cp.hstack([a, b])
    least = cp.abs(cp.min(rows + np.array([0.1, 0.4, 1.0])))
    problem = cp.Problem(
        cp.Minimize(0.001 * (0.4 * least + 0.3 * cp.power(-1.3 * b - 0.3 * a, 3))),
        [
            -0.0001 <= cp.xexp(a) - 0.52 * b * ((b - 1.08) / 1.08),
            cp.minimum(cp.entr(a), 0.3) == 0,
        ],
    )
    bound = dc.lower_bound(problem, time_limit=seconds, start={a: 0.0, b: 0.0})
    assert bound.value <= -0.00774907


def test_a_constraint_missed_on_the_way_is_none_to_be_met_as_an_equation() -> None:
    # the steeper one holds where the other one does, and both are missed at the start
    x = cp.Variable(bounds=[-2, 2])
    steep = cp.multiply(cp.power(cp.abs(x), 0.25), cp.power(x + 2.06, 0.75))
    limits = np.array([4.18e-7, 0.30845])
    problem = FactorableProblem(
        cp.Problem(cp.Minimize(x), [cp.hstack([cp.square(x), steep]) <= limits])
    )
    found = restored(problem, np.array([-0.0015]))
    assert abs(found[0]) <= np.sqrt(limits[0]) * (1 + 1e-9)
