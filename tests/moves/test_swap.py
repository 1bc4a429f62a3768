"""Swaps: another choice of the largest or least terms or of samples, where it leads lower."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog.engine.protocol import centre
from dcprog.foundation.deadline import Deadline
from dcprog.moves.swap import Swap, _samples
from dcprog.problem.choices import other_choices, relocations
from dcprog.problem.surrogate import ProblemSurrogate
from dcprog.risk.weighted import WeightedRisk
from dcprog.risk_mm.surrogate import RiskSurrogate
from dcprog.starts.protocol import Budget
from examples.later_papers.trimmed_lasso import best_subset, declare, drawn, exact_from


def trimmed_lasso(seed: int, strength: float) -> cp.Problem:
    return declare(*drawn(seed, n=12, p=4), strength, 2)


def nearest_centre(seed: int, strength: float) -> cp.Problem:
    points = np.random.default_rng(seed).normal(size=(5, 2))
    centres = [cp.Variable(2) for _ in range(2)]
    terms = [cp.minimum(*(cp.sum_squares(c - p) for c in centres)) for p in points]
    return cp.Problem(cp.Minimize(strength * sum(terms)))


def least_of_entries(seed: int, strength: float) -> cp.Problem:
    rng = np.random.default_rng(seed)
    x = cp.Variable(2)
    costs = cp.square(rng.normal(size=(4, 2)) @ x - rng.normal(size=4))
    return cp.Problem(cp.Minimize(strength * cp.min(costs) + cp.sum_squares(x)))


def capped(seed: int, strength: float) -> cp.Problem:
    rng = np.random.default_rng(seed)
    x = cp.Variable(2)
    misses = cp.square(rng.normal(size=(6, 2)) @ x - rng.normal(size=6))
    return cp.Problem(cp.Minimize(strength * cp.sum(cp.minimum(misses, 1))), [cp.norm1(x) <= 3])


@pytest.mark.parametrize("make", [trimmed_lasso, nearest_centre, least_of_entries, capped])
def test_majorants_of_other_choices_are_nowhere_below(make: Any) -> None:
    surrogate = ProblemSurrogate(make(0, 2.0))
    rng = np.random.default_rng(0)
    x = surrogate.starts.inside(rng.normal(size=surrogate.points.size))
    centre(surrogate, x)
    problem = surrogate.majorised
    others = list(other_choices(problem, x))
    assert len(others) > 1
    for other in [*others, *relocations(problem, x)]:
        problem.points.load(x)
        values = problem.context.values(problem.edge)
        for node, value in other.values.items():
            values.assume(node, value)
        problem.update(values)
        assert problem.majorant(x) - problem.exact(x) >= 2.0 * other.cost - 1e-9
        for z in rng.normal(size=(10, x.size)):
            assert problem.majorant(z) >= problem.exact(z) - 1e-9 * (1 + abs(problem.exact(z)))


@pytest.mark.parametrize("form", ["minimum", "entries", "rows", "columns", "largest"])
def test_a_centre_moves_to_another_cluster(form: str) -> None:
    spread = np.array([0.0, 1.0, 2.0, 3.0])
    points, c = np.concatenate([spread, 100 + spread, 200 + spread]), cp.Variable(3)
    distances = cp.abs(np.ones((12, 1)) @ cp.reshape(c, (1, 3), order="C") - points[:, None])
    terms = {
        "minimum": cp.minimum(*(distances[:, k] for k in range(3))),
        "entries": cp.hstack([cp.min(distances[i]) for i in range(12)]),
        "rows": cp.min(distances, axis=1),
        "columns": cp.min(distances.T, axis=0),
        "largest": -cp.max(-distances, axis=1),
    }[form]
    surrogate = ProblemSurrogate(cp.Problem(cp.Minimize(cp.sum(terms))))
    stuck = np.array([0.5, 2.5, 150.0])
    (point,) = Swap().points(surrogate, stuck, Budget())
    assert surrogate.value(point) == pytest.approx(12.0, abs=1e-4)


def test_minimisers_of_other_choices_meet_constraints_and_are_best_for_them() -> None:
    x, a = cp.Variable(4), np.array([1.0, -2.0, 3.0, -4.0])
    sparse = cp.norm1(x) - cp.sum_largest(cp.abs(x), 1) <= 0
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - a)), [sparse])
    surrogate = ProblemSurrogate(problem)
    begun = np.array([1.0, 0.0, 0.0, 0.0])
    centre(surrogate, begun)
    found = []
    for other in other_choices(surrogate.majorised, begun):
        point = surrogate.nearby.otherwise(begun, other.values, 1e-8, surrogate.solvers[0])
        assert surrogate.domain.violation(point) <= 1e-5
        found.append(float(np.sum((point - a) ** 2)))
    assert min(found) == pytest.approx(1 + 4 + 9, abs=1e-3)
    (point,) = Swap().points(surrogate, begun, Budget())
    assert point == pytest.approx([0, 0, 0, -4], abs=1e-3)


def test_a_fixed_cost_written_for_all_entries_at_once_is_given_up() -> None:
    """min(x/δ, 1): one number is the cap of all entries."""
    x = cp.Variable(3, nonneg=True)
    cost = cp.sum(cp.minimum(x / 1e-3, 1)) + cp.sum_squares(x)
    surrogate = ProblemSurrogate(cp.Problem(cp.Minimize(cost), [cp.sum(x) == 1]))
    begun = np.array([0.4, 0.3, 0.3])
    (point,) = Swap().points(surrogate, begun, Budget())
    assert surrogate.value(point) == pytest.approx(2, abs=1e-2)


def test_outliers_are_exchanged_until_the_others_fit() -> None:
    t = np.arange(8.0)
    y = np.where(np.isin(t, [1.0, 6.0]), 20.0, 2 * t)
    x = cp.Variable()
    u = y - t * x
    misfit = cp.norm1(u) - cp.sum_largest(cp.abs(u), 2)
    surrogate = ProblemSurrogate(cp.Problem(cp.Minimize(misfit), [cp.abs(x) <= 9]))
    (point,) = Swap().points(surrogate, np.array([5.0]), Budget())
    assert point == pytest.approx([2.0], abs=1e-3)


@pytest.mark.parametrize("seed", [11])
def test_the_best_subset_is_found(seed: int) -> None:
    X, y = drawn(seed)
    best = best_subset(X, y, 2)
    result = dc.solve(declare(X, y, 1.01 * exact_from(X, y), 2), random_state=0)
    assert result.value == pytest.approx(best, rel=1e-5)


def test_an_empty_cluster_takes_the_farthest_point() -> None:
    points = np.array([0.0, 1.0, 10.0, 11.0])
    a, b = cp.Variable(), cp.Variable()
    terms = [cp.minimum(cp.square(a - p), cp.square(b - p)) for p in points]
    surrogate = ProblemSurrogate(cp.Problem(cp.Minimize(sum(terms))))
    (point,) = Swap().points(surrogate, np.array([5.5, 1e3]), Budget())
    assert np.sort(point) == pytest.approx([0.5, 10.5], abs=1e-3)


def test_none_without_choices_time_or_gain() -> None:
    x = cp.Variable(2)
    smooth = cp.Problem(cp.Minimize(cp.sum(cp.square(cp.square(x) - 1))))
    assert Swap().takes(ProblemSurrogate(smooth)) is not None
    convex = cp.Problem(cp.Minimize(cp.sum_largest(cp.abs(x), 1)))
    assert Swap().takes(ProblemSurrogate(convex)) is not None
    problem = trimmed_lasso(0, 1.0)
    surrogate = ProblemSurrogate(problem)
    assert Swap().takes(surrogate) is None
    assert not list(Swap().points(surrogate, np.ones(4), Budget(deadline=Deadline(0.0))))
    best = dc.solve(problem, random_state=0).x
    assert best is not None
    assert not list(Swap().points(surrogate, best, Budget()))


def test_parts_of_odd_powers_are_no_choices() -> None:
    """A cubic equation took 40 majorants of other signs: half the time of HS 80."""
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [x[0] ** 3 + x[1] ** 3 == -1])
    assert "no largest" in (Swap().takes(ProblemSurrogate(problem)) or "")


# ---- samples of risks ----------------------------------------------------------------------------


def crowded(seed: int, loss: dc.Loss, n: int = 20, p: int = 20) -> dc.Risk:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, p)), 5 * rng.normal(size=n)
    y[: n // 4] += 20
    return dc.Risk.from_loss(dc.residual_rows(X, y), loss, penalty=dc.l2(0.1))


CAPPED = [
    dc.cap(dc.absolute(), 1.0),
    dc.cap(dc.square(), 2.0),
    dc.welsch(dc.square(), 2.0),
    dc.tukey(dc.square(), 2.0),
]


@pytest.mark.parametrize("loss", CAPPED, ids=repr)
def test_samples_at_weights_0_and_full_give_majorants(
    loss: dc.Loss, monkeypatch: pytest.MonkeyPatch
) -> None:
    risk = crowded(0, loss)
    surrogate, rng = RiskSurrogate(risk), np.random.default_rng(0)
    x = 0.3 * rng.normal(size=risk.rows.shape[1])
    centre(surrogate, x)
    solved: list[WeightedRisk] = []

    def solve(problem: WeightedRisk, start: Any, tolerance: float) -> Any:
        solved.append(problem)
        return start + 1

    monkeypatch.setattr(surrogate, "solver", lambda deadline: solve)
    for k, (cost, minimiser) in enumerate(_samples(surrogate, x, Budget())):
        assert minimiser() == pytest.approx(x + k + 1)  # each begins where the last has ended
        problem = solved[k]
        assert np.flatnonzero(problem.weights != surrogate.problem.weights) == [k]
        assert problem.weights[k] in (0.0, risk.transform.steepest)
        assert cost >= 0
        shift = risk(x) + cost - problem.value(x)
        for z in x + rng.normal(size=(10, x.size)):
            assert problem.value(z) + shift >= risk(z) - 1e-9
    assert len(solved) == risk.n_groups


@pytest.mark.parametrize("loss", CAPPED, ids=repr)
def test_samples_lead_lower_where_others_are_fitted_exactly(loss: dc.Loss) -> None:
    lower = 0
    for seed in range(4):
        surrogate = RiskSurrogate(crowded(seed, loss))
        plain = dc.solve(surrogate.declared, effort="low").x
        assert plain is not None
        points = list(Swap().points(surrogate, plain, Budget()))
        lower += len(points)
        assert all(surrogate.value(point) < surrogate.value(plain) for point in points)
    assert lower >= 2


def test_a_race_ends_where_no_sample_leads_lower() -> None:
    risk = crowded(1, CAPPED[1])
    result = dc.solve(risk, effort="high", random_state=0)
    assert result.x is not None
    assert "swapped" in [one.kind for one in result.starts]
    assert not list(Swap().points(RiskSurrogate(risk), result.x, Budget()))


def test_no_samples_are_swapped_where_it_does_not_pay() -> None:
    loss = CAPPED[0]
    taken = RiskSurrogate(crowded(0, loss))
    assert Swap().takes(taken) is None
    assert not list(Swap().points(taken, np.zeros(21), Budget(deadline=Deadline(0.0))))
    for risk, why in [
        (crowded(0, dc.absolute()), "no weights"),
        (crowded(0, dc.trim(dc.absolute(), 0.2)), "no weights"),
        (crowded(0, loss, n=20, p=120), "few coefficients"),
        (crowded(0, loss, n=40, p=10), "many samples"),
        (crowded(0, loss, n=60, p=60), "many samples"),
    ]:
        assert why in (Swap().takes(RiskSurrogate(risk)) or "")
