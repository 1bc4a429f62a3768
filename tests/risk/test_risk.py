"""The declaration and its majorant: pieces, structure, and the surrogate's promises."""

from __future__ import annotations

import pickle
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

import dcprog as dc
from dcprog.losses import (
    ConvexLoss,
    absolute,
    cap,
    hinge,
    rescale,
    sigmoid_hinge,
    square,
    squared_hinge,
    trim,
)
from dcprog.penalties import elastic_net, group_lasso, l1, l2, mcp
from dcprog.risk.risk import Risk
from dcprog.rows.angle import angle_differences, angle_margins, simplex_vertices
from dcprog.rows.kernel import (
    kernel_angle_differences,
    kernel_angle_margins,
    kernel_margins,
    kernel_residuals,
)
from dcprog.rows.linear import binary_margins, class_margins, residual_rows
from dcprog.transforms import Transform, cap_at, cap_largest, identity, power_of

LOSSES: list[ConvexLoss] = [hinge(), hinge(at=-0.5), squared_hinge(), squared_hinge(at=2.0)]
TRANSFORMS: list[Transform] = [
    identity(),
    power_of(0.5, 1e-3),
    power_of(0.25, 0.1),
    power_of(1.0),
    cap_at(1.0),
    cap_at(np.inf, power_of(0.5, 1e-2)),
    cap_at(1.2, power_of(0.75, 1e-8)),
]


def _names(pieces: list[Any]) -> list[str]:
    return [repr(piece) for piece in pieces]


def _data(n: int = 30, d: int = 3, c: int = 3) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = np.arange(n) % c
    return rng.standard_normal((n, d)) + 1.5 * np.eye(c, d)[y], y


def _risk(**change: Any) -> Risk:
    options: dict[str, Any] = {
        "rows": class_margins(*_data()),
        "base": squared_hinge(),
        "aggregate": "sum",
        "transform": cap_at(1.5, power_of(0.5, 1e-4)),
        "penalty": l2(0.6),
    }
    return Risk(**options | change)


# ---- losses, transforms, penalties ---------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES, ids=_names(LOSSES))
def test_loss_is_convex_with_that_slope_and_expression(loss: ConvexLoss) -> None:
    u, v = np.random.default_rng(1).uniform(-3, 3, (2, 500))
    assert np.all(loss(v) >= loss(u) + loss.slope(u) * (v - u) - 1e-12)
    np.testing.assert_allclose(loss.expression(cp.Constant(u)).value, loss(u), atol=1e-12)
    weight, tilt = loss.surrogate(u)
    np.testing.assert_array_equal(weight * loss(v) + tilt * v, loss.base(v))


@pytest.mark.parametrize("transform", TRANSFORMS, ids=_names(TRANSFORMS))
def test_transform_is_concave_nondecreasing_with_that_expression(transform: Transform) -> None:
    s, t = np.random.default_rng(2).uniform(0, 4, (2, 500))
    slope = transform.slope(s)
    assert np.all(slope >= 0)
    assert np.all(transform(t) <= transform(s) + slope * (t - s) + 1e-12)
    np.testing.assert_allclose(transform.expression(cp.Constant(t)).value, transform(t), atol=1e-9)


def test_a_loss_at_the_cap_keeps_its_slope() -> None:
    assert cap_at(2.0, power_of(0.5)).slope(4.0) == 0.25
    assert cap_at(1.0).slope(1.0) == 1.0


def test_share_of_largest_losses_sets_the_cap() -> None:
    losses = np.arange(1.0, 11.0)
    assert cap_largest(0.0).fixed(losses).c == 10
    assert cap_largest(0.1).fixed(losses).c == 9
    assert cap_largest(0.25, power_of(0.5)).fixed(losses).c == np.sqrt(8)


def test_share_with_too_few_losses_does_not_cap_everything() -> None:
    losses = np.r_[np.zeros(9), 5.0]
    assert cap_largest(0.1, power_of(0.5, 1e-8)).fixed(losses).c == np.sqrt(1 + 1e-8)


@pytest.mark.parametrize("piece", [*LOSSES, *TRANSFORMS, cap_largest(0.2), l2(3.0)], ids=repr)
def test_pieces_are_estimators(piece: Any) -> None:
    assert repr(clone(piece)) == repr(piece)
    assert repr(pickle.loads(pickle.dumps(piece))) == repr(piece)


@pytest.mark.parametrize(
    "make",
    [
        lambda: power_of(0.0),
        lambda: power_of(1.5),
        lambda: power_of(0.5, -1.0),
        lambda: power_of(np.nan),
        lambda: cap_at(-1.0),
        lambda: cap_at(np.nan),
        lambda: cap_largest(1.0),
        lambda: cap_largest(-0.1),
        lambda: l2(-1.0),
        lambda: l2(np.nan),
    ],
)
def test_pieces_refuse_bad_numbers(make: Any) -> None:
    with pytest.raises(ValueError, match="="):
        make()


# ---- rows ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("sparse", [False, True])
def test_margins_are_the_kronecker_rows(sparse: bool, intercept: bool) -> None:
    X, y = _data()
    rows = class_margins(sp.csr_array(X) if sparse else X, y, intercept)
    rng = np.random.default_rng(3)
    theta, u = rng.standard_normal(rows.shape[1]), rng.standard_normal(rows.shape[0])
    coef, b = rows.unpack(theta)
    slow = [rows.signs[i, k] * (coef[k] @ X[i] + b[k]) for i in range(30) for k in range(3)]
    np.testing.assert_allclose(rows @ theta, slow)
    np.testing.assert_allclose(rows.matrix() @ theta, slow)
    np.testing.assert_allclose(rows.T @ u, rows.matrix().T @ u)
    np.testing.assert_array_equal(rows.pack(coef, b), theta)
    assert rows.penalized.sum() == 9


def test_rows_name_a_strange_label() -> None:
    with pytest.raises(ValueError, match="'z'"):
        class_margins(np.eye(2), ["a", "z"], classes=["a", "b"])
    with pytest.raises(ValueError, match="exactly two"):
        binary_margins(np.eye(3), [0, 1, 2])
    with pytest.raises(ValueError, match="two classes"):
        class_margins(np.eye(3), [1, 1, 1])


# ---- the declaration -----------------------------------------------------------------------------


@pytest.mark.parametrize("aggregate", [None, "sum", "max"])
@pytest.mark.parametrize("weights", [None, np.linspace(0, 2, 90)])
def test_value_equals_a_plain_loop_and_the_cvxpy_problem(aggregate: Any, weights: Any) -> None:
    risk = _risk(aggregate=aggregate, weights=weights)
    theta = np.random.default_rng(4).standard_normal(12)
    dense = risk.rows.matrix().toarray()
    groups = [[r] for r in range(90)] if aggregate is None else np.arange(90).reshape(30, 3)
    total = 0.3 * sum(theta[:9] ** 2)
    for group in groups:
        losses = [
            (1 if weights is None else weights[r]) * max(0, 1 - dense[r] @ theta) ** 2
            for r in group
        ]
        joined = max(losses) if aggregate == "max" else sum(losses)
        total += min((joined + 1e-4) ** 0.5, 1.5)
    assert risk(theta) == pytest.approx(total, rel=1e-12)
    problem = risk.problem()
    problem.variables()[0].value = theta
    assert problem.objective.value == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("kind", ["array", "sparse", "operator"])
def test_rows_may_be_anything_linear(kind: str) -> None:
    dense = np.random.default_rng(5).standard_normal((20, 4))
    rows = {"array": dense, "sparse": sp.csr_array(dense), "operator": aslinearoperator(dense)}
    risk = Risk(rows[kind], hinge(), transform=cap_at(1.0))
    theta = np.ones(4)
    assert risk(theta) == pytest.approx(Risk(dense, hinge(), transform=cap_at(1.0))(theta))
    assert dc.solve(risk).status == "converged"
    assert risk.problem().is_dcp() is False


def test_the_matrix_of_a_large_operator_is_not_formed() -> None:
    def never(v: Any) -> Any:
        raise AssertionError("formed")

    rows = LinearOperator((10**6, 10**6), matvec=never, dtype=float)
    risk = Risk(rows, hinge())
    with pytest.raises(ValueError, match="pass an array"):
        risk.problem()


def test_uneven_groups() -> None:
    rows, groups = np.eye(4), np.array([1, 0, 1, 1])
    theta = np.array([0.0, -1.0, 0.5, -2.0])
    for aggregate, expected in (("sum", 2.0 + 4.5), ("max", 2.0 + 3.0)):
        risk = Risk(rows, hinge(), groups=groups, aggregate=aggregate, penalty=l2(0.0))
        assert risk(theta) == pytest.approx(expected)
        problem = risk.problem()
        problem.variables()[0].value = theta
        assert problem.objective.value == pytest.approx(expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": np.ones(3)}, "shape"),
        ({"rows": np.full((2, 2), np.nan)}, "NaN"),
        ({"weights": np.ones(3)}, "weights has shape"),
        ({"weights": -np.ones(90)}, "not negative"),
        ({"groups": np.ones(3)}, "groups has shape"),
        ({"groups": np.full(90, 2)}, "without gaps"),
        ({"aggregate": "mean"}, "aggregate='mean'"),
        ({"penalized": np.ones(3)}, "penalized has shape"),
    ],
)
def test_declaration_refuses_what_does_not_fit(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _risk(**change)


# ---- the surrogate -------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["newton", "alternating", "cvxpy"])
def test_majorant_lies_above_and_touches(solver: str) -> None:
    risk = _risk()
    surrogate = risk.surrogate(solver)
    rng = np.random.default_rng(6)
    for size in (0.1, 1.0, 10.0):
        centre = size * rng.standard_normal(12)
        surrogate.tighten(centre)
        assert surrogate.majorant_value(centre) == pytest.approx(risk(centre), rel=1e-12)
        for other in centre + size * rng.standard_normal((50, 12)):
            assert surrogate.majorant_value(other) >= risk(other) - 1e-9 * risk(other)


@pytest.mark.parametrize("solver", ["newton", "alternating", "cvxpy"])
def test_minimiser_is_the_majorants(solver: str) -> None:
    surrogate = _risk().surrogate(solver)
    rng = np.random.default_rng(7)
    centre = rng.standard_normal(12)
    surrogate.tighten(centre)
    best = surrogate.minimise(centre, 1e-9, surrogate.solvers[0])
    lowest = surrogate.majorant_value(best)
    for size in (1e-4, 1e-2, 1.0):
        for other in best + size * rng.standard_normal((50, 12)):
            assert surrogate.majorant_value(other) >= lowest - 1e-8 * abs(lowest)


def test_unchanged_weights_are_reported() -> None:
    surrogate = _risk(transform=cap_at(1e6)).surrogate()
    assert surrogate.tighten(np.zeros(12)) is True
    assert surrogate.tighten(np.ones(12)) is False


def test_infinite_slope_comes_in_gradually_and_the_value_is_the_declared_one() -> None:
    risk = _risk(transform=power_of(0.5))
    surrogate = risk.surrogate()
    theta = surrogate.start("convex", np.random.default_rng(0))
    surrogate.begin(theta)
    settled = []
    for _ in range(12):
        surrogate.tighten(theta)
        settled.append(surrogate.settled)
        value = surrogate.value(theta)
        assert value >= surrogate.objective(theta)
        assert surrogate.majorant_value(theta) == pytest.approx(value, rel=1e-12)
        theta = surrogate.minimise(theta, 1e-8, surrogate.solvers[0])
        assert surrogate.value(theta) <= value + 1e-9 * value
    assert settled[0] is False
    assert settled[-1] is True
    assert surrogate.objective(theta) == risk(theta)


def test_unknown_solver_names_the_choices() -> None:
    with pytest.raises(ValueError, match="'newton'"):
        _risk().surrogate("barrier")


def test_adapting_cap_settles_after_its_rounds() -> None:
    surrogate = _risk(transform=cap_largest(0.2, rounds=2)).surrogate()
    theta = np.zeros(12)
    seen = []
    for _ in range(3):
        seen.append(surrogate.settled)
        surrogate.tighten(theta)
        theta = surrogate.minimise(theta, 1e-8, "newton")
    assert seen == [False, False, True]
    assert isinstance(surrogate.risk.transform, cap_at)
    surrogate.begin(theta)
    assert not surrogate.settled


# ---- both front doors ----------------------------------------------------------------------------


@pytest.mark.parametrize("aggregate", ["sum", "max"])
def test_both_front_doors_reach_the_same_value(aggregate: str) -> None:
    risk = _risk(aggregate=aggregate)
    fast = dc.solve(risk, tol=1e-6, max_iter=500)
    assert fast.status == "converged"
    assert fast.x is not None
    assert fast.value == pytest.approx(risk(fast.x), rel=1e-12)
    problem = risk.problem()
    slow = dc.solve(problem, start={problem.variables()[0]: fast.x}, tol=1e-6)
    assert slow.value == pytest.approx(fast.value, rel=1e-5)


@pytest.mark.parametrize("solver", ["newton", "cvxpy", "CLARABEL"])
def test_solvers_follow_the_same_path(solver: str) -> None:
    risk = _risk()
    reference = dc.solve(risk, tol=1e-6, max_iter=100)
    other = dc.solve(risk, solver=solver, tol=1e-6, max_iter=100)
    assert other.value == pytest.approx(reference.value, rel=1e-6)
    assert np.max(other.history.rise) <= 1e-7 * reference.value


def test_restarts_never_make_it_worse() -> None:
    risk = _risk()
    one, many = dc.solve(risk), dc.solve(risk, n_starts=4, random_state=0)
    assert many.value <= one.value + 1e-9
    assert len(many.starts) == 4


# ---- the five papers -----------------------------------------------------------------------------


def _simplex(k: int) -> Any:
    W = np.full((k, k - 1), (k - 1) ** -0.5)
    for j in range(1, k):
        W[j] = -(1 + np.sqrt(k)) / (k - 1) ** 1.5
        W[j, j - 1] += np.sqrt(k / (k - 1))
    return W


def _paper(name: str) -> tuple[Risk, Any]:
    """A declaration, and the objective as the paper writes it."""
    k, gamma, s, lam = 3, 0.5, -0.5, 0.7
    X, y = _data(24, 3, k)
    rows: Any
    t = np.where(y == 0, -1.0, 1.0)
    H = lambda a, u: np.maximum(a - u, 0)  # noqa: E731
    W = _simplex(k)
    own = np.arange(k) == y[:, None]

    def scores(theta: Any, c: int) -> Any:
        return X @ theta[: 3 * c].reshape(c, 3).T + theta[3 * c :]

    if name == "capped":
        risk = Risk(
            class_margins(X, y),
            squared_hinge(),
            aggregate="sum",
            transform=cap_at(1.2, power_of(0.5, 1e-8)),
            penalty=l2(2 * lam),
        )

        def slow(th: Any) -> float:
            g = np.sum(H(1, np.where(own, 1, -1) * scores(th, k)) ** 2, axis=1)
            return np.sum(np.minimum(np.sqrt(g + 1e-8), 1.2)) + lam * np.sum(th[:9] ** 2)

    elif name in ("rsvm1 capped", "rsvm1 tilted"):
        rows = angle_margins(X, y)
        v = np.where(rows.own, gamma * (k - 1), 1 - gamma)
        part = {"transform": cap_at(v * (1 - s))} if "capped" in name else {"subtracted": hinge(s)}
        risk = Risk(rows, hinge(), weights=v, penalty=l2(lam), penalized=np.ones(8), **part)

        def slow(th: Any) -> float:
            u = scores(th, k - 1) @ W.T
            mine = gamma * (H(k - 1, u) - H((k - 1) * s, u))
            others = (1 - gamma) * (H(1, -u) - H(s, -u))
            return np.sum(np.where(own, mine, others)) + lam / 2 * np.sum(th**2)

    elif name in ("rsvm2 capped", "rsvm2 tilted"):
        part = {"transform": cap_at(1 - s)} if "capped" in name else {"subtracted": hinge(s)}
        rows = angle_differences(X, y)
        risk = Risk(
            rows,
            hinge(),
            aggregate="max",
            penalty=elastic_net(0.1, lam),
            penalized=np.ones(8),
            **part,
        )

        def slow(th: Any) -> float:
            u = scores(th, k - 1) @ W.T
            m = np.min(np.where(own, np.inf, u[own][:, None] - u), axis=1)
            return np.sum(H(1, m) - H(s, m)) + 0.1 * np.sum(abs(th)) + lam / 2 * np.sum(th**2)

    elif name == "smooth":
        rows, C = binary_margins(X, t), 0.8
        risk = Risk.from_loss(rows, C * sigmoid_hinge(4.0), l2(1.0), penalized=np.ones(4))

        def slow(th: Any) -> float:
            return C * np.sum(np.logaddexp(0, 4 * (1 - t * scores(th, 1)[:, 0])) / 4) + th @ th / 2

    elif name == "rescaled":
        C, eta = 0.8, 0.5
        risk = Risk.from_loss(binary_margins(X, t), C * rescale(hinge(), eta), l2(1.0))

        def slow(th: Any) -> float:
            loss = 1 - np.exp(-eta * H(1, t * scores(th, 1)[:, 0]))
            return C * np.sum(loss) / (1 - np.exp(-eta)) + th[:3] @ th[:3] / 2

    else:
        K = np.exp(-np.sum((X[:, None] - X) ** 2, axis=2))
        rows = kernel_margins(K, t)
        risk = Risk.from_loss(rows, 0.8 * absolute(at=1.0), l2(1.0))

        def slow(th: Any) -> float:
            a = rows.dual_coef(th)[0]
            return 0.8 * np.sum(np.abs(1 - t * (K @ a + th[-1]))) + a @ K @ a / 2

    return risk, slow


PAPERS = [
    "capped",
    "rsvm1 capped",
    "rsvm1 tilted",
    "rsvm2 capped",
    "rsvm2 tilted",
    "smooth",
    "rescaled",
    "least 1-norm",
]


@pytest.mark.parametrize("name", PAPERS)
def test_the_papers_objectives(name: str) -> None:
    risk, slow = _paper(name)
    rng = np.random.default_rng(8)
    for size in (0.0, 0.3, 3.0):
        theta = size * rng.standard_normal(risk.rows.shape[1])
        assert risk(theta) == pytest.approx(slow(theta), rel=1e-9)


@pytest.mark.parametrize("name", PAPERS)
def test_the_papers_solutions_equal_front_door_one(name: str) -> None:
    risk, slow = _paper(name)
    start = 0.1 * np.random.default_rng(9).standard_normal(risk.rows.shape[1])
    fast = dc.solve(risk, start=start, max_iter=500)
    problem = risk.problem()
    other = dc.solve(problem, start={problem.variables()[0]: start}, max_iter=500)
    assert fast.status == other.status == "converged"
    assert fast.x is not None
    assert fast.value == pytest.approx(slow(fast.x), rel=1e-9)
    if name == "rsvm1 tilted" or name == "rsvm2 tilted":
        # the tree minus a convex term is majorised at the same tangents
        assert fast.value == pytest.approx(other.value, rel=1e-4)
    else:
        assert fast.value == pytest.approx(other.value, rel=1e-5)


def test_tilt_of_a_maximum_is_one_subgradient() -> None:
    risk, _ = _paper("rsvm2 tilted")
    rng = np.random.default_rng(10)
    surrogate = risk.surrogate()
    for size in (0.1, 1.0, 5.0):
        centre = size * rng.standard_normal(8)
        surrogate.tighten(centre)
        assert surrogate.majorant_value(centre) == pytest.approx(risk(centre), rel=1e-12)
        for other in centre + size * rng.standard_normal((50, 8)):
            assert surrogate.majorant_value(other) >= risk(other) - 1e-9 * risk(other)


# ---- losses on rows ------------------------------------------------------------------------------


def test_sample_weights_are_outside_the_transform() -> None:
    X, y = _data(30, 3, 2)
    rows, weight = binary_margins(X, y), np.arange(30) % 3.0
    theta = np.random.default_rng(11).standard_normal(4)
    risk = Risk.from_loss(rows, cap(hinge(), 1.0), l2(0.1), weight)
    kept = np.repeat(np.arange(30), weight.astype(int))
    twice = Risk.from_loss(binary_margins(X[kept], y[kept]), cap(hinge(), 1.0), l2(0.1))
    assert risk(theta) == pytest.approx(twice(theta), rel=1e-12)
    assert dc.solve(risk).value == pytest.approx(dc.solve(twice).value, rel=1e-8)
    doubled = Risk.from_loss(rows, 2 * cap(hinge(), 1.0), l2(0.2))
    plain = Risk.from_loss(rows, cap(hinge(), 1.0), l2(0.1))
    assert dc.solve(doubled).value == pytest.approx(2 * dc.solve(plain).value, rel=1e-6)


def test_trimmed_losses_and_their_weights() -> None:
    X, y = _data(30, 3, 2)
    rows = binary_margins(X, y)
    risk = Risk.from_loss(rows, trim(cap(hinge(), 2.0), 0.2), l2(0.1), np.full(30, 3.0))
    theta = np.random.default_rng(12).standard_normal(4)
    losses = np.sort(np.minimum(np.maximum(1 - rows @ theta, 0), 2))[:24]
    assert risk(theta) == pytest.approx(3 * losses.sum() + 0.05 * theta[:3] @ theta[:3])
    assert dc.solve(risk).status == "converged"
    problem = risk.problem()
    problem.variables()[0].value = theta
    assert problem.objective.value == pytest.approx(risk(theta))
    with pytest.raises(ValueError, match="trimmed"):
        Risk.from_loss(rows, trim(hinge(), 0.2), l2(0.1), np.arange(30.0))


def test_several_targets_are_separate_problems() -> None:
    rng = np.random.default_rng(13)
    X, Y = rng.standard_normal((25, 3)), rng.standard_normal((25, 2))
    both = dc.solve(Risk.from_loss(residual_rows(X, Y), cap(absolute(), 0.8), l2(0.5)))
    each = [
        dc.solve(Risk.from_loss(residual_rows(X, Y[:, j]), cap(absolute(), 0.8), l2(0.5))).value
        for j in range(2)
    ]
    assert both.value == pytest.approx(sum(each), rel=1e-6)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"base": hinge}, TypeError, "base"),
        ({"base": cap(hinge(), 1.0)}, TypeError, "base"),
        ({"transform": 3.0}, TypeError, "transform"),
        ({"penalty": 1.0}, TypeError, "penalty"),
        ({"penalty": group_lasso(1.0, [0, 0, 1])}, ValueError, "groups do not fit"),
        ({"subtracted": cap(hinge(), 1.0)}, TypeError, "subtracted"),
        ({"sample_weight": np.ones(3)}, ValueError, "sample_weight has shape"),
        ({"sample_weight": -np.ones(30)}, ValueError, "sample_weight must be"),
        ({"sample_weight": np.full(30, np.nan)}, ValueError, "sample_weight holds NaN"),
        ({"offset": np.ones(3)}, ValueError, "offset has shape"),
        ({"offset": np.full(90, np.inf)}, ValueError, "offset holds NaN"),
        ({"weights": np.full(90, np.nan)}, ValueError, "weights holds NaN"),
        ({"groups": np.full(90, 0.5)}, ValueError, "whole numbers"),
        ({"rows": np.ones((0, 3))}, ValueError, "n_rows > 0"),
    ],
)
def test_declaration_refuses_bad_parameters(change: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        _risk(**change)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Risk.from_loss(np.eye(2), hinge),  # type: ignore[arg-type]
        lambda: Risk.from_loss(np.eye(2), l2(1.0)),  # type: ignore[arg-type]
        lambda: Risk.from_loss(np.eye(2), hinge(), hinge()),  # type: ignore[arg-type]
        lambda: Risk.from_loss(np.eye(2), hinge(), sample_weight=[1.0]),
        lambda: Risk.from_loss(np.eye(2), hinge(), offset=[1.0]),
        lambda: Risk.from_loss(np.eye(2), hinge(), penalized=[1.0]),
        lambda: residual_rows(np.eye(2), [1.0]),
        lambda: residual_rows(np.eye(2), [1.0, np.nan]),
        lambda: residual_rows(np.ones(2), [1.0, 2.0]),
        lambda: angle_margins(np.eye(2), [1, 1]),
        lambda: angle_margins(np.eye(2), [1, 2, 3]),
        lambda: angle_differences(np.eye(2), [1, 3], classes=[1, 2]),
        lambda: kernel_margins(np.ones((2, 3)), [0, 1]),
        lambda: kernel_margins([[1.0, 0.5], [0.0, 1.0]], [0, 1]),
        lambda: kernel_margins([[1.0, 2.0], [2.0, 1.0]], [0, 1]),
        lambda: kernel_margins([[1.0, np.nan], [np.nan, 1.0]], [0, 1]),
        lambda: kernel_residuals(np.eye(2), [1.0, np.inf]),
        lambda: binary_margins(np.eye(2), [[0], [1]]),
        lambda: simplex_vertices(1),
    ],
)
def test_bad_losses_and_rows_are_refused(make: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        make()


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("build", [angle_margins, angle_differences])
def test_angle_rows_are_the_kronecker_rows(build: Any, sparse: bool, k: int) -> None:
    X, y = _data(20, 5, k)
    rows = build(sp.csr_array(X) if sparse else X, y)
    W, rng = _simplex(k), np.random.default_rng(14)
    np.testing.assert_allclose(simplex_vertices(k), W)
    theta, u = rng.standard_normal(rows.shape[1]), rng.standard_normal(rows.shape[0])
    coef, b = rows.unpack(theta)
    scores = (X @ coef.T + b) @ W.T
    own = scores[np.arange(20), y][:, None]
    if build is angle_margins:
        slow = np.where(np.arange(k) == y[:, None], own / (k - 1), -scores)
    else:
        slow = (own - scores)[np.arange(k) != y[:, None]]
    np.testing.assert_allclose(rows @ theta, slow.ravel())
    np.testing.assert_allclose(rows.matrix() @ theta, slow.ravel())
    np.testing.assert_allclose(rows.T @ u, rows.matrix().T @ u, atol=1e-12)


@pytest.mark.parametrize(
    ("build", "plain"),
    [(kernel_angle_margins, angle_margins), (kernel_angle_differences, angle_differences)],
)
def test_kernel_angle_rows_are_those_of_the_kernel(build: Any, plain: Any) -> None:
    rng = np.random.default_rng(16)
    F, y = rng.standard_normal((20, 4)), np.arange(20) % 3
    K = F @ F.T
    rows = build(K, y)
    assert rows.X.shape == (20, 4)
    theta = rng.standard_normal(rows.shape[1])
    a, b = rows.dual_coef(theta), rows.unpack(theta)[1]
    expected = plain(K, y) @ np.concatenate([a.ravel(), b])
    np.testing.assert_allclose(rows @ theta, expected, atol=1e-10)
    np.testing.assert_allclose(rows.matrix() @ theta, expected, atol=1e-10)
    assert np.sum(a @ K * a) == pytest.approx(np.sum(theta[:8] ** 2))
    assert (rows.own is None) == (build is kernel_angle_differences)


@pytest.mark.parametrize("rank", [2, 20])
def test_kernel_rows_reproduce_the_kernel(rank: int) -> None:
    rng = np.random.default_rng(15)
    F = rng.standard_normal((20, rank))
    rows = kernel_margins(F @ F.T, np.arange(20) % 2)
    assert rows.X.shape == (20, rank)
    theta = rng.standard_normal(rows.shape[1])
    a = rows.dual_coef(theta)
    np.testing.assert_allclose(rows.coordinates(a)[0], theta[:-1], atol=1e-8)
    np.testing.assert_allclose(rows.signs[:, 0] * (F @ F.T @ a[0] + theta[-1]), rows @ theta)
    assert a[0] @ F @ F.T @ a[0] == pytest.approx(theta[:-1] @ theta[:-1])


def test_a_risk_that_remembers_has_the_same_values_and_forgets_other_points() -> None:
    rng = np.random.default_rng(15)
    risk = Risk.from_loss(residual_rows(rng.standard_normal((9, 3)), np.arange(9.0)), hinge())
    remembering = risk.remembering()
    theta, other = rng.standard_normal((2, 4))
    for point in (theta, theta, other, theta):
        np.testing.assert_array_equal(remembering.margins(point), risk.margins(point))
        assert remembering(point) == risk(point)
    kept = remembering.margins(theta)
    theta[0] += 1.0  # a point that is changed in place is another point
    assert not np.array_equal(remembering.margins(theta), kept)
    with pytest.raises(ValueError, match="read-only"):
        kept[0] = 0.0


# ---- rows of every kind --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrap",
    [sp.csr_array, sp.csr_matrix, sp.coo_matrix, sp.csc_matrix, aslinearoperator],
    ids=lambda kind: kind.__name__,
)
@pytest.mark.parametrize("base", [hinge(), squared_hinge(), absolute(at=1.0)], ids=repr)
def test_rows_of_every_kind_are_solved_alike(wrap: Any, base: Any) -> None:
    rows = np.random.default_rng(0).standard_normal((40, 4))
    plain = dc.solve(Risk(rows, base, transform=cap_at(1.0)))
    result = dc.solve(Risk(wrap(rows), base, transform=cap_at(1.0)))
    assert result.status == "converged"
    assert result.value == pytest.approx(plain.value, rel=1e-7)


def test_an_objective_without_a_minimum_is_unbounded() -> None:
    rows = np.random.default_rng(0).standard_normal((60, 4))
    falling = Risk(rows, hinge(), subtracted=square(), penalty=l2(1e-3))
    result = dc.solve(falling)
    assert (result.status, result.value) == ("unbounded", -np.inf)


@pytest.mark.parametrize("shift", [0.0, 3000.0])
def test_kernels_of_single_precision_are_taken(shift: float) -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 3))
    y = X[:, 0] > 0
    whole = dc.RobustClassifier(kernel="rbf", gamma=0.3).fit(X, y).objective_
    single = rbf_kernel((X + shift).astype(np.float32 if shift == 0 else float), gamma=0.3)
    model = dc.RobustClassifier(kernel="precomputed").fit(single, y)
    assert model.result_.status == "converged"
    assert model.objective_ == pytest.approx(whole, rel=1e-4)


@pytest.mark.parametrize("scale", [1e-6, 1e-4, 1e5])
@pytest.mark.parametrize("kind", ["l1", "l2", "elastic net", "group lasso", "mcp"])
def test_units_of_the_features_do_not_matter_to_cvxpy(kind: str, scale: float) -> None:
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((45, 4)), np.arange(45) % 3
    X = X + 1.5 * rng.standard_normal((3, 4))[y]

    def risk(unit: float) -> Risk:
        penalty = {
            "l1": l1(2 * unit),
            "l2": l2(2 * unit**2),
            "elastic net": elastic_net(unit, 2 * unit**2),
            "group lasso": group_lasso(2 * unit, np.arange(8) % 4),
            "mcp": mcp(2 * unit, 3.0 / unit**2),
        }[kind]
        rows = angle_margins(unit * X, y, fit_intercept=False)
        return Risk(rows, hinge(), penalty=penalty)

    start = np.zeros(8)
    usual = dc.solve(risk(1.0), solver="CLARABEL", start=start)
    other = dc.solve(risk(scale), solver="CLARABEL", start=start)
    assert other.status == usual.status == "converged"
    assert other.value == pytest.approx(usual.value, rel=1e-6)
