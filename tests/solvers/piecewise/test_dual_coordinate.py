"""Dual coordinate descent against the other solvers of the same weighted risks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import dcprog as dc
from dcprog.foundation.errors import SubproblemError
from dcprog.losses import (
    ConvexLoss,
    absolute,
    epsilon_insensitive,
    hinge,
    logistic,
    pinball,
    squared_hinge,
)
from dcprog.penalties import l1, l2
from dcprog.risk.duality import duality_gap
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.rows.linear import binary_margins, class_margins, residual_rows
from dcprog.solvers.piecewise import dual_coordinate
from dcprog.solvers.piecewise.dual_coordinate import DualCoordinateSolver
from dcprog.solvers.registry import choose, make

BASES = [
    hinge(),
    squared_hinge(),
    absolute(),
    absolute(at=1.0),
    epsilon_insensitive(0.3),
    pinball(0.2),
]
TIGHT = 1e-9


def data(n: int, p: int, seed: int = 0, share: float = 1.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * (rng.random((n, p)) < share)
    score = X @ rng.standard_normal(p) + rng.standard_normal(n) + 0.5
    return X, score


def declared(base: ConvexLoss, X: Any, score: Any, lam: float = 1.0, **options: Any) -> Risk:
    if "hinge" in repr(base):
        return Risk(binary_margins(X, score > 0), base, penalty=l2(lam), **options)
    return Risk(residual_rows(X, score), base, penalty=l2(lam), **options)


def weighted(risk: Risk, seed: int = 1, tilted: bool = True) -> WeightedRisk:
    """Some weights 0, some twice the others, and tilts that keep the problem bounded."""
    rng = np.random.default_rng(seed)
    weights = rng.choice([0.0, 1.0, 2.0], risk.n_groups, p=[0.2, 0.6, 0.2])
    tilts = 0.1 * weights * rng.random(weights.size) if tilted else None
    return WeightedRisk(risk, weights, tilts)


def solved(risk: Risk, problem: WeightedRisk, solver: str) -> Any:
    start = np.zeros(risk.rows.shape[1])
    return make(solver, risk).minimise(problem, start, TIGHT)


def value_in_numpy(risk: Risk, problem: WeightedRisk, X: Any, theta: Any) -> float:
    """The weighted risk from the definition, without the library's own values."""
    rows = risk.scores
    assert rows.signs is not None
    offset = 0.0 if risk.offset is None else risk.offset
    u = rows.signs[:, 0] * (X @ theta[:-1] + theta[-1]) + offset
    tilts = 0.0 if problem.tilts is None else problem.tilts
    lam = problem.penalty_weights[1][0]
    return float(
        problem.weights @ risk.base(u) + np.sum(tilts * u) + lam / 2 * theta[:-1] @ theta[:-1]
    )


class TestAgreement:
    @pytest.mark.parametrize("base", BASES, ids=repr)
    @pytest.mark.parametrize(("n", "p"), [(120, 6), (40, 90)])
    def test_the_minimum_is_that_of_cvxpy(self, base: ConvexLoss, n: int, p: int) -> None:
        X, score = data(n, p)
        risk = declared(base, X, score)
        problem = weighted(risk)
        found, other = (solved(risk, problem, name) for name in ("dual_coordinate", "cvxpy"))
        mine, theirs = (value_in_numpy(risk, problem, X, s.coefficients) for s in (found, other))
        assert found.value == pytest.approx(mine, rel=1e-10)
        assert mine <= theirs + 1e-6 * abs(theirs)
        gap = duality_gap(problem, found.coefficients, found.dual)
        assert gap <= 1e-6 * (1 + abs(mine))

    @pytest.mark.parametrize("base", BASES, ids=repr)
    @pytest.mark.parametrize(("n", "p"), [(120, 6), (40, 90)])
    def test_sparse_samples_give_what_dense_ones_give(
        self, base: ConvexLoss, n: int, p: int
    ) -> None:
        X, score = data(n, p, share=0.3)
        values = []
        for samples in (X, sp.csr_array(X)):
            risk = declared(base, samples, score)
            problem = weighted(risk)
            theta = solved(risk, problem, "dual_coordinate").coefficients
            values.append(value_in_numpy(risk, problem, X, theta))
        assert values[0] == pytest.approx(values[1], rel=1e-7)

    @pytest.mark.parametrize("shift", [0.0, 3.0, 20.0])
    def test_a_common_offset_of_the_features_changes_nothing(self, shift: float) -> None:
        X, score = data(150, 5)
        risks = [declared(hinge(), X + s, score) for s in (0.0, shift)]
        values = [
            solved(risk, WeightedRisk(risk, np.ones(150)), "dual_coordinate").value
            for risk in risks
        ]
        assert values[0] == pytest.approx(values[1], rel=1e-7)

    def test_repeated_samples_count_as_often_as_they_stand_there(self) -> None:
        X, score = data(60, 4)
        once = declared(hinge(), X, score)
        thrice = declared(hinge(), np.tile(X, (3, 1)), np.tile(score, 3))
        problems = WeightedRisk(once, 3 * np.ones(60)), WeightedRisk(thrice, np.ones(180))
        values = [
            solved(risk, problem, "dual_coordinate").value
            for risk, problem in zip((once, thrice), problems, strict=True)
        ]
        assert values[0] == pytest.approx(values[1], rel=1e-7)

    def test_samples_of_weight_0_do_not_count(self) -> None:
        X, score = data(80, 4)
        kept = np.arange(80) % 3 > 0
        whole, part = declared(hinge(), X, score), declared(hinge(), X[kept], score[kept])
        values = [
            solved(risk, WeightedRisk(risk, weights), "dual_coordinate").value
            for risk, weights in ((whole, kept.astype(float)), (part, np.ones(kept.sum())))
        ]
        assert values[0] == pytest.approx(values[1], rel=1e-7)

    @pytest.mark.parametrize("lam", [1e-4, 1e2])
    def test_weak_and_strong_penalties(self, lam: float) -> None:
        X, score = data(300, 5)
        risk = declared(hinge(), X, score, lam)
        problem = WeightedRisk(risk, np.ones(300))
        values = [solved(risk, problem, name).value for name in ("dual_coordinate", "interior")]
        assert values[0] == pytest.approx(values[1], rel=1e-6)

    def test_several_scores_and_penalised_intercepts(self) -> None:
        X, score = data(90, 4)
        labels = np.digitize(score, [-0.5, 0.8])
        for penalized in (None, np.ones(15)):
            rows = class_margins(X, labels)
            risk = Risk(rows, hinge(), penalty=l2(1.0), penalized=penalized)
            problem = WeightedRisk(risk, np.ones(risk.n_groups))
            values = [solved(risk, problem, s).value for s in ("dual_coordinate", "multipliers")]
            assert values[0] == pytest.approx(values[1], rel=1e-6)


class TestRounds:
    @pytest.mark.parametrize("base", [absolute(), epsilon_insensitive(0.3), pinball(0.2)], ids=repr)
    def test_a_round_ends_at_its_target(
        self, base: ConvexLoss, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A round that ends too early costs further rounds, and changes no minimum."""
        monkeypatch.setattr(dual_coordinate, "ROUND", 2000)
        X, score = data(60, 90)
        risk, target = declared(base, X, score), 0.01
        solver = DualCoordinateSolver(risk)
        (problem,) = solver.scores.problems(WeightedRisk(risk, np.ones(60)))
        steps, pieces, alpha = solver._steps, risk.base.pieces, np.zeros(60)
        assert pieces is not None
        w, _ = steps.coefficients(problem, alpha)
        point, places = (alpha, w, 0.0), np.arange(60)
        w, b, _ = steps.descend(problem, pieces, point, places, 0, target)
        assert np.sum(pieces.missed(problem.margins(w, b), alpha)) <= 3 * target


class TestJointSteps:
    @pytest.mark.parametrize("base", [hinge(), absolute(), epsilon_insensitive(0.3)], ids=repr)
    def test_they_end_what_single_multipliers_do_not(self, base: ConvexLoss) -> None:
        X, score = data(400, 120, share=0.1)
        risk = declared(base, sp.csr_array(X), score)
        problem, solver = WeightedRisk(risk, np.ones(400)), make("dual_coordinate", risk)
        found = solver.minimise(problem, np.zeros(121), TIGHT)
        gap = duality_gap(problem, found.coefficients, found.dual)
        assert gap <= 10 * TIGHT * (1 + found.value)
        assert "_finisher" not in vars(solver)  # the method of multipliers was not needed

    def test_the_gap_is_within_the_tolerance_beside_far_targets(self) -> None:
        X, score = data(300, 80, share=0.2)
        score[:3] += [1e5, 1e5, -2e5]
        risk = declared(absolute(), sp.csr_array(X), score)
        problem = WeightedRisk(risk, np.ones(300))
        found = solved(risk, problem, "dual_coordinate")
        gap = duality_gap(problem, found.coefficients, found.dual)
        assert gap <= 1.1 * TIGHT * (1 + found.value)

    def test_more_free_multipliers_than_coefficients(self) -> None:
        """Two copies of each sample: the Gram matrix of the free multipliers is singular."""
        X, score = data(60, 120)
        risk = declared(hinge(), np.tile(X, (2, 1)), np.tile(score, 2))
        once = declared(hinge(), X, score)
        problems = WeightedRisk(risk, np.ones(120)), WeightedRisk(once, 2 * np.ones(60))
        values = [
            solved(r, problem, "dual_coordinate").value
            for r, problem in zip((risk, once), problems, strict=True)
        ]
        assert values[0] == pytest.approx(values[1], rel=1e-8)

    def test_a_run_out_of_time_returns_its_lowest_point(self) -> None:
        X, score = data(400, 120, share=0.1)
        risk = declared(absolute(), sp.csr_array(X), score, 1e-3)
        problem, zero = WeightedRisk(risk, np.ones(400)), np.zeros(121)
        with pytest.raises(SubproblemError, match="time limit") as error:
            make("dual_coordinate", risk).minimise(problem, zero, TIGHT, 1e-9)
        assert problem.value(error.value.point) < problem.value(zero)


class TestSteps:
    """One solver object serves a whole run."""

    def test_weights_that_change_find_the_multipliers_of_before(self) -> None:
        X, score = data(200, 5)
        risk = declared(hinge(), X, score)
        solver, theta = make("dual_coordinate", risk), np.zeros(6)
        for seed in range(4):
            problem = weighted(risk, seed, tilted=seed % 2 == 0)
            theta = solver.minimise(problem, theta, TIGHT).coefficients
            other = solved(risk, problem, "interior")
            assert problem.value(theta) <= other.value + 1e-6 * abs(other.value)

    @pytest.mark.parametrize("sparse", [False, True])
    def test_a_robust_fit_is_certified(self, sparse: bool) -> None:
        X, score = data(400, 5)
        rows = binary_margins(sp.csr_array(X) if sparse else X, score > 0)
        risk = Risk.from_loss(rows, dc.cap(hinge(), 1.0), l2(0.5))
        options: dict[str, Any] = {"start": "convex", "n_starts": 1}
        result = dc.solve(risk, solver="dual_coordinate", **options)
        assert result.status == "converged"
        assert result.x is not None
        margins = rows.signs[:, 0] * (X @ result.x[:-1] + result.x[-1])
        penalty = 0.25 * result.x[:-1] @ result.x[:-1]
        value = np.sum(np.clip(1 - margins, 0, 1)) + penalty
        assert result.value == pytest.approx(value, rel=1e-12)
        again = dc.solve(risk, start=result.x, n_starts=1, solver="interior", max_iter=1)
        assert again.history.gap[0] <= 2e-5 * result.scale
        assert np.all(np.diff(result.history.value) <= 1e-6 * result.scale)


class TestChoice:
    def test_it_is_chosen_for_wide_and_for_sparse_samples(self) -> None:
        y = np.arange(2000) % 2
        sparse = sp.random_array((2000, 4000), density=0.01, rng=np.random.default_rng(0)).tocsr()
        for X in (np.ones((2000, 4000)), sparse):
            assert choose(Risk(binary_margins(X, y), hinge()))[0] == "dual_coordinate"
            assert choose(Risk(binary_margins(X, y), squared_hinge()))[0] == "dual_coordinate"
            assert choose(Risk(binary_margins(X, y), logistic()))[0] == "newton"
        tall = sp.random_array((2000, 300), density=0.01, rng=np.random.default_rng(0)).tocsr()
        assert choose(Risk(binary_margins(tall, y), hinge()))[0] == "dual_coordinate"
        assert choose(Risk(binary_margins(tall, y), squared_hinge()))[0] == "newton"

    def test_small_problems_go_where_they_went(self) -> None:
        risk = Risk(binary_margins(np.ones((1000, 50)), np.arange(1000) % 2), hinge())
        assert choose(risk)[0] == "pivoting"

    def test_what_it_cannot_take(self) -> None:
        risk = Risk(binary_margins(np.eye(4), [0, 1, 0, 1]), hinge(), penalty=l1(1.0))
        with pytest.raises(ValueError, match="l2"):
            choose(risk, "dual_coordinate")

    def test_the_time_limit_ends_it(self) -> None:
        X, score = data(200, 150)
        risk = declared(hinge(), X, score, 1e-6)
        with pytest.raises(SubproblemError, match=r"time limit|duality gap"):
            make("dual_coordinate", risk).minimise(
                WeightedRisk(risk, np.ones(200)), np.zeros(151), 1e-15, 1e-9
            )


def test_columns_of_eight_decades_are_left_to_the_method_of_multipliers() -> None:
    """Rounds alone ended in `solver_failed` at 48."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(240, 120))
    rows = binary_margins(Z * np.logspace(-4, 4, 120), Z @ rng.normal(size=120) > 0)
    risk = Risk.from_loss(rows, dc.cap(hinge(), 1.0), penalty=l2(1e-4))
    named = dc.solve(risk, n_starts=1, solver="dual_coordinate")
    assert named.status == "converged"
    assert named.value == pytest.approx(dc.solve(risk, n_starts=1).value, rel=1e-3)
