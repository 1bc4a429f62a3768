"""The declaration of a risk: its pieces, its structure, its value, and what is refused."""

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
from dcprog.losses import ConvexLoss, absolute, cap, hinge, square, squared_hinge, trim
from dcprog.penalties import elastic_net, group_lasso, l1, l2, mcp
from dcprog.risk.risk import Risk
from dcprog.rows.angle import angle_differences, angle_margins, simplex_vertices
from dcprog.rows.kernel import kernel_margins, kernel_residuals
from dcprog.rows.linear import binary_margins, residual_rows
from dcprog.transforms import Transform, cap_at, cap_largest, identity, power_of
from tests.risk.declarations import capped_risk, class_data

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
    assert cap_largest(0.25, power_of(0.5), least=9.0).fixed(losses).c == 3
    assert cap_largest(0.1, least=9.5).graduated(2.0).least == 9.5


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


# ---- the declaration -----------------------------------------------------------------------------


@pytest.mark.parametrize("aggregate", [None, "sum", "max"])
@pytest.mark.parametrize("weights", [None, np.linspace(0, 2, 90)])
def test_value_equals_a_plain_loop_and_the_cvxpy_problem(aggregate: Any, weights: Any) -> None:
    risk = capped_risk(aggregate=aggregate, weights=weights)
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
        capped_risk(**change)


# ---- losses on rows ------------------------------------------------------------------------------


def test_sample_weights_are_outside_the_transform() -> None:
    X, y = class_data(30, 3, 2)
    rows, weight = binary_margins(X, y), np.arange(30) % 3.0
    theta = np.random.default_rng(11).standard_normal(4)
    risk = Risk.from_loss(rows, cap(hinge(), 1.0), l2(0.1), weight)
    kept = np.repeat(np.arange(30), weight.astype(int))
    twice = Risk.from_loss(binary_margins(X[kept], y[kept]), cap(hinge(), 1.0), l2(0.1))
    assert risk(theta) == pytest.approx(twice(theta), rel=1e-12)
    assert dc.solve(risk).value == pytest.approx(dc.solve(twice).value, rel=1e-7)
    doubled = Risk.from_loss(rows, 2 * cap(hinge(), 1.0), l2(0.2))
    plain = Risk.from_loss(rows, cap(hinge(), 1.0), l2(0.1))
    assert dc.solve(doubled).value == pytest.approx(2 * dc.solve(plain).value, rel=1e-6)


def test_trimmed_losses_and_their_weights() -> None:
    X, y = class_data(30, 3, 2)
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
        capped_risk(**change)


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


def test_copies_of_a_risk_that_remembers_have_values_of_their_own_parts() -> None:
    rng = np.random.default_rng(16)
    rows = residual_rows(rng.standard_normal((9, 3)), np.arange(9.0))
    risk = Risk.from_loss(rows, cap(hinge(), 1.0), mcp(1.0, 3.0))
    theta, remembering = rng.standard_normal(4), risk.remembering()
    for copies in (lambda r: r, lambda r: r.with_penalty(l2(2.0)), lambda r: r.graduated(3.0)):
        for _ in range(2):
            assert copies(remembering)(theta) == copies(risk)(theta)
            assert copies(remembering).magnitude(theta) == copies(risk).magnitude(theta)
    spoiled = remembering.losses(theta)
    spoiled[:] = 0.0
    assert remembering(theta) == risk(theta)


class _Buffered(ConvexLoss):
    """The logistic loss, written to one array whatever the margins."""

    is_smooth = True

    def __init__(self) -> None:
        self.buffer = np.empty(1000)

    def __call__(self, u: Any) -> Any:
        found = self.buffer[: np.size(u)]
        np.log1p(np.exp(-np.asarray(u)), out=found)
        return found

    def slope(self, u: Any) -> Any:
        return -1 / (1 + np.exp(u))

    def curvature(self, u: Any) -> Any:
        p = 1 / (1 + np.exp(u))
        return p * (1 - p)


class _InPlace(Transform):
    """min(t, 2), written over t."""

    limit = 2.0

    def __call__(self, t: Any) -> Any:
        np.minimum(t, 2.0, out=t)
        return t

    def slope(self, t: Any) -> Any:
        return (np.asarray(t) < 2.0).astype(float)


def test_a_users_functions_may_write_into_arrays_of_their_own() -> None:
    rng = np.random.default_rng(17)
    X = rng.standard_normal((80, 3))
    score = X @ [1.0, -2.0, 0.5] + 0.5 * rng.standard_normal(80)
    margins = dc.binary_margins(X, np.sign(score))
    found, same = (
        dc.solve(Risk(margins, f, penalty=l2(1.0))) for f in (_Buffered(), dc.logistic())
    )
    assert found.status == "converged"
    assert found.value == pytest.approx(same.value)
    rows = residual_rows(X, score)
    found, same = (
        dc.solve(Risk(rows, square(), transform=f, penalty=l2(1.0)), n_starts=1)
        for f in (_InPlace(), cap_at(2.0))
    )
    assert found.status == "converged"
    assert found.value == pytest.approx(same.value)


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


RNG = np.random.default_rng(0)
SIDES = {
    "a cap a sample": Risk(
        RNG.normal(size=(20, 3)),
        hinge(),
        transform=cap_at(np.linspace(0.5, 2, 20)),
        penalty=l1(0.1),
    ),
    "weighted and subtracted": Risk(
        RNG.normal(size=(20, 3)),
        squared_hinge(),
        subtracted=hinge(at=-0.5),
        weights=RNG.uniform(size=20),
        sample_weight=RNG.uniform(size=20),
        offset=RNG.normal(size=20),
    ),
    "groups": capped_risk(),
    "joint": Risk.from_loss(RNG.normal(size=(20, 3)), trim(square(), 0.2), l2(0.1)),
}


@pytest.mark.parametrize("risk", SIDES.values(), ids=list(SIDES))
def test_values_on_either_side_are_those_of_the_risk(risk: Risk) -> None:
    theta, ways = np.ones(risk.rows.shape[1]), RNG.normal(size=(4, risk.rows.shape[1]))
    plain = [[risk(theta + way), risk(theta - way)] for way in ways]
    np.testing.assert_allclose(risk.either_side(theta, ways), plain, rtol=1e-12)
    assert risk.either_side(theta, ways[:0]).shape == (0, 2)
