"""Rows formatted by moving entries are those that cvxpy's own formatting gives."""

import cvxpy as cp
import numpy as np
import pytest
from cvxpy.reductions.solvers.solving_chain import resolve_and_build_chain

from dcprog.foundation.arrays import dense
from dcprog.solvers.conic.compiled import installed_solvers, with_direct_formatting

x, P, t = cp.Variable(3), cp.Variable((2, 2), symmetric=True), cp.Variable()
a, B = cp.Parameter(3, value=[1.0, -2.0, 3.0]), cp.Parameter((2, 3), value=np.eye(2, 3) + 0.5)
s = cp.Parameter(nonneg=True, value=2.0)

PROBLEMS = {
    "linear": cp.Problem(cp.Minimize(a @ x), [B @ x >= 1, x <= 4, cp.sum(x) == s]),
    "second order": cp.Problem(cp.Minimize(t), [cp.norm(B @ x - 1) <= t, cp.norm(x) <= s]),
    "rows of cones": cp.Problem(
        cp.Minimize(cp.sum(cp.norm(cp.multiply(s, cp.vstack([x, x + 1, 2 * x])), axis=1) ** 3) + t),
        [t >= 0, x >= 0.3],
    ),
    "exponential": cp.Problem(
        cp.Minimize(cp.sum(cp.exp(s * x)) - s * cp.sum(cp.log(x + 5))), [x <= 2]
    ),
    "power": cp.Problem(cp.Minimize(-cp.sum(cp.power(x, 0.3, approx=False)) + s * cp.sum(x))),
    "semidefinite": cp.Problem(
        cp.Minimize(cp.trace(P) + s * t), [P >> s * np.eye(2), t >= P[0, 1]]
    ),
    "no constraint": cp.Problem(cp.Minimize(cp.sum_squares(x - a))),
}


@pytest.mark.parametrize("solver", ["CLARABEL", "SCS", "ECOS"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_same_data_as_by_cvxpy(name: str, solver: str) -> None:
    problem = PROBLEMS[name]
    if solver not in installed_solvers() or (
        solver == "ECOS" and name in ("power", "semidefinite")
    ):
        pytest.skip(f"{solver} does not take it")
    answers = []
    for change in (lambda chain: chain, with_direct_formatting):
        chain = change(resolve_and_build_chain(problem, solver=solver, enforce_dpp=True))
        data, _ = chain.apply(problem)
        again, _ = chain.solver.apply(data["param_prob"])  # once more, by the compiled program
        answers.append((data, again))
    for one, other in zip(*answers, strict=True):
        assert one.keys() == other.keys()
        for key in one.keys() & {"A", "G", "P", "b", "h", "c", "q"}:
            if one[key] is None:
                assert other[key] is None
                continue
            np.testing.assert_array_equal(dense(one[key]), dense(other[key]))


def test_cvxpys_own_solver_objects_stay_as_they_are() -> None:
    problem = cp.Problem(cp.Minimize(t), [cp.norm(x - 1) <= t])
    chain = resolve_and_build_chain(problem, solver="CLARABEL", enforce_dpp=True)
    own = chain.solver
    assert with_direct_formatting(chain).solver is not own
    assert "format_constraints" not in vars(own)
