"""Optima of the further problems: stored points are feasible and attain them."""

import cvxpy as cp
import numpy as np
import pytest

from benchmarks.further_problems import FAMILIES, FURTHER, GlobalProblem, icosahedron

FEASIBLE = 1e-6  # violations
SAME = 1e-6  # of the optimum, or absolutely where that is less than 1


def test_there_are_many_families() -> None:
    assert len(FURTHER) >= 55
    assert len({known.name for known in FURTHER}) == len(FURTHER)
    assert len(set(FAMILIES.values())) >= 12
    assert set(FAMILIES) == {known.name for known in FURTHER}
    assert all(known.source for known in FURTHER)


@pytest.mark.parametrize("known", FURTHER, ids=lambda known: known.name)
def test_a_point_has_the_optimum(known: GlobalProblem) -> None:
    problem = known.make()
    variables = known.variables(problem)
    assert len(known.point) == sum(v.size for v in variables) <= 40
    ends = np.cumsum([v.size for v in variables])[:-1]
    for variable, piece in zip(variables, np.split(np.array(known.point), ends), strict=True):
        variable.save_value(piece.reshape(variable.shape, order="F"))
    for constraint in problem.constraints:
        terms = max(1.0, *(float(np.max(np.abs(arg.value))) for arg in constraint.args))
        assert np.max(constraint.violation()) <= FEASIBLE * terms
    tolerance = SAME * max(1.0, abs(known.optimum))
    assert float(np.sum(problem.objective.value)) == pytest.approx(known.optimum, abs=tolerance)


def test_the_icosahedron_has_thirty_edges_and_its_cut_twenty() -> None:
    edges = icosahedron()
    assert edges.sum() == 60
    assert np.all(edges.sum(axis=0) == 5)
    sides = 1 - 2 * ((np.arange(2**11)[:, None] >> np.arange(11)) & 1)
    sides = np.hstack([np.ones((2**11, 1)), sides])
    cuts = 0.25 * (edges.sum() - np.einsum("ki,ij,kj->k", sides, edges, sides))
    assert cuts.max() == 20
    assert isinstance(FURTHER[0].make(), cp.Problem)
