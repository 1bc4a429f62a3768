"""Complementarity constraints: a verdict where no constraint qualification holds."""

from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from benchmarks.further_problems import FURTHER
from dcprog.engine.descent import descend
from dcprog.engine.track import Run
from dcprog.majorants.affine import Box
from dcprog.problem.surrogate import ProblemSurrogate
from dcprog.solving import branches
from dcprog.solving.branches import PROVED, _is_nonneg

KNOWN = {known.name: known for known in FURTHER}


@pytest.mark.parametrize("name", ["ralph1", "scholtes4"])
def test_points_without_multipliers_have_a_verdict(name: str) -> None:
    result = dc.solve(KNOWN[name].make(), start="convex")
    assert result.status == "converged"
    assert result.value == pytest.approx(KNOWN[name].optimum, abs=1e-4)
    assert result.relative_violation <= 1e-6
    if name == "scholtes4":  # solvers fail, and branches give the verdict
        assert result.message == PROVED
        assert result.value == pytest.approx(0, abs=1e-7)


def test_what_factors_near_0_gain_by_their_product_s_miss_does_not_outweigh_branches() -> None:
    """Where F is 0 at the minimum, the gain of 1e-7 is more than any share of F's scale."""
    problem = KNOWN["ralph1"].make()
    x, y = problem.variables()
    result = dc.solve(problem, start={x: 0.0058, y: 0.0116}, n_starts=1)
    assert result.message == PROVED
    assert result.status == "converged"
    assert result.value == pytest.approx(0, abs=1e-9)


def test_a_maximum_keeps_its_sign() -> None:
    x, y = cp.Variable(nonneg=True), cp.Variable(nonneg=True)
    problem = cp.Problem(cp.Maximize(y - 2 * x + 3), [y - x >= 0, y * (y - x) <= 0])
    result = dc.solve(problem, start="convex")
    assert result.status == "converged"
    assert result.value == pytest.approx(3, abs=1e-3)
    assert float(problem.value) == pytest.approx(result.value, abs=1e-6)


def test_vectors_of_pairs() -> None:
    a, b = cp.Variable(3, nonneg=True), cp.Variable(3, nonneg=True)
    aim = np.array([1.0, -1.0, 2.0])
    problem = cp.Problem(
        cp.Minimize(cp.sum_squares(a - b - aim) - cp.sum(a + b)), [cp.multiply(a, b) <= 0, a <= 5]
    )
    result = dc.solve(problem, start="convex")
    best = sum(min((t - v) ** 2 - abs(t) for t in np.linspace(-6, 5, 110_001)) for v in aim)
    assert result.status == "converged"
    assert result.value == pytest.approx(best, abs=1e-4)
    assert float(np.max(np.minimum(a.value, b.value))) <= 1e-3


def test_a_factor_is_nonnegative_only_if_a_constraint_of_its_own_numbers_says_so() -> None:
    """The names of two large matrices are alike where they are cut short."""
    A = np.arange(3600.0).reshape(60, 60)
    B = A.copy()
    B[30, 30] += 1
    x = cp.Variable(60)
    problem = cp.Problem(cp.Minimize(0), [A @ x >= 0])
    assert str(A @ x) == str(B @ x)
    assert _is_nonneg(A.copy() @ x, problem, Box(problem.constraints))
    assert not _is_nonneg(B @ x, problem, Box(problem.constraints))


def test_an_interrupt_in_a_branch_ends_the_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []

    def interrupted(*given: Any) -> Run:
        begun.append(given)
        return replace(descend(*given), status="interrupted")

    monkeypatch.setattr(branches, "descend", interrupted)
    result = dc.solve(KNOWN["scholtes4"].make(), n_starts=1)
    assert result.status == "interrupted"
    assert len(begun) == 1
    assert result.x is not None


def test_branches_are_solved_by_the_named_solver() -> None:
    x = cp.Variable(nonneg=True)
    made = ProblemSurrogate(cp.Problem(cp.Minimize(x)), "CLARABEL", 1e-5)
    other = made.like(cp.Problem(cp.Minimize(2 * x)))
    other.tighten(np.ones(1))
    assert other.facts.verifiers[0] == made.facts.verifiers[0] == "CLARABEL"
    assert other.majorised.tolerance == 1e-5
