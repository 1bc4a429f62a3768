"""The shipped checks find what is wrong with a loss or a penalty, and name the point."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog.checks.declarations import check_loss, check_penalty
from dcprog.losses import ConvexLoss, Loss, Pieces, cap, compose, hinge, square, truncate
from dcprog.penalties import ConcavePenalty, Penalty
from dcprog.transforms import Transform


class cubic(ConvexLoss):
    """|u|³, right in every respect."""

    is_smooth = True

    def __call__(self, u: Any) -> Any:
        return np.abs(np.asarray(u, dtype=float)) ** 3

    def slope(self, u: Any) -> Any:
        u = np.asarray(u, dtype=float)
        return 3 * u * np.abs(u)

    def curvature(self, u: Any) -> Any:
        return 6 * np.abs(np.asarray(u, dtype=float))

    def expression(self, u: cp.Expression) -> cp.Expression:
        return cp.power(cp.abs(u), 3)


def test_a_right_loss_passes() -> None:
    check_loss(cubic())
    check_loss(cap(cubic(), 2.0))
    check_loss(cubic() - hinge())


class wrong_slope(cubic):
    def slope(self, u: Any) -> Any:
        return 2.5 * np.asarray(u) * np.abs(u)


class wrong_curvature(cubic):
    def curvature(self, u: Any) -> Any:
        return 5 * np.abs(u)


class not_convex(cubic):
    def __call__(self, u: Any) -> Any:
        return np.cos(u)

    def slope(self, u: Any) -> Any:
        return -np.sin(u)


class wrong_expression(cubic):
    def expression(self, u: cp.Expression) -> cp.Expression:
        return cp.square(u)


class hidden_curvature(cubic):
    def expression(self, u: cp.Expression) -> cp.Expression:
        return cp.multiply(cp.abs(u), cp.square(u))


class wrong_lower(cubic):
    def __call__(self, u: Any) -> Any:
        return super().__call__(u) - 1

    def expression(self, u: cp.Expression) -> cp.Expression:
        return super().expression(u) - 1


class changes_its_argument(cubic):
    def __call__(self, u: Any) -> Any:
        value = super().__call__(u)
        if isinstance(u, np.ndarray) and u.flags.writeable and u.ndim:
            u[0] = 0.0
        return value


class mixes_its_entries(cubic):
    def __call__(self, u: Any) -> Any:
        return super().__call__(u) + 0.0 * np.sum(u) + (np.size(u) < 10)


class forgets_a_parameter(cubic):
    def __init__(self, at: float = 0.0) -> None:
        self.at = at
        self.shift = 0.0

    def __call__(self, u: Any) -> Any:
        return super().__call__(u) + self.shift

    def expression(self, u: cp.Expression) -> cp.Expression:
        return super().expression(u) + self.shift


class twice_its_pieces(square):
    pieces = Pieces((), (2.0,), (0.0,), (0.0,))


class does_not_store(square):
    def __init__(self, width: float = 1.0) -> None:
        super().__init__()


class parts_that_do_not_add_up(Loss):
    base = square()
    subtracted = hinge()

    def __call__(self, u: Any) -> Any:
        return square()(u)


class subtracts_what_is_not_convex(Loss):
    base = square()
    subtracted = not_convex()


class wrong_weight(Loss):
    base = square()

    @property
    def transform(self) -> Transform:
        return cap(square(), 1.0).transform

    def surrogate(self, u: Any, edge: float = 0.0) -> Any:
        return 0.5 * np.ones_like(u), np.zeros_like(u)


class tilted(wrong_weight):
    def surrogate(self, u: Any, edge: float = 0.0) -> Any:
        return np.ones_like(u), np.full_like(u, np.nan)


class negative_weight(wrong_weight):
    def surrogate(self, u: Any, edge: float = 0.0) -> Any:
        return -np.ones_like(u), np.zeros_like(u)


class convex_transform(Transform):
    def __call__(self, t: Any) -> Any:
        return np.asarray(t, dtype=float) ** 2

    def slope(self, t: Any) -> Any:
        return 2 * np.asarray(t, dtype=float)

    def expression(self, t: cp.Expression) -> cp.Expression:
        return cp.square(t)


class decreasing_transform(convex_transform):
    def __call__(self, t: Any) -> Any:
        return -np.asarray(t, dtype=float)

    def slope(self, t: Any) -> Any:
        return -np.ones_like(np.asarray(t, dtype=float))


class of_a_convex_transform(Loss):
    base = square()
    transform = convex_transform()


class of_a_decreasing_transform(Loss):
    base = square()
    transform = decreasing_transform()


class share(Transform):
    """t/(1 + t), right but for its limit, which is 1; its formula has no number at ∞."""

    def __call__(self, t: Any) -> Any:
        return np.asarray(t, dtype=float) / (1 + np.asarray(t))

    def slope(self, t: Any) -> Any:
        return 1 / (1 + np.asarray(t, dtype=float)) ** 2


class right_share(share):
    limit = 1.0


class exceeded(share):
    limit = 0.9


class never_approached(share):
    limit = 1.001


class nan_limit(share):
    limit = np.nan


class limit_without_property(share):
    def limit(self) -> float:  # type: ignore[override]
        return 1.0


class slow(Transform):
    """√(1 + t) − 1, which has no limit."""

    def __call__(self, t: Any) -> Any:
        t = np.asarray(t, dtype=float)
        return np.sqrt(1 + t) - 1

    def slope(self, t: Any) -> Any:
        return 0.5 / np.sqrt(1 + np.asarray(t, dtype=float))


class bounded_slow(slow):
    limit = 1e6


def test_a_stated_limit_passes() -> None:
    check_loss(compose(right_share(), square()))
    check_loss(compose(slow(), hinge()))
    check_loss(compose(right_share(), truncate(hinge(), 0.0)))


@pytest.mark.parametrize(
    ("transform", "words"),
    [
        (share(), r"limit is inf, but it settles at 1 as far as numbers tell; state the supremum"),
        (exceeded(), r"0\.9\d* at t=\d.* is beyond its limit, 0.9"),
        (never_approached(), r"limit is 1.001, but it settles at 1 as far"),
        (nan_limit(), r"limit is nan; state the supremum"),
        (limit_without_property(), r"limit is <bound method"),
        (bounded_slow(), r"limit is 1000000, but it settles nowhere"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Transform) else "",
)
@pytest.mark.parametrize("inner", [hinge(), truncate(hinge(), 0.0)], ids=["hinge", "ramp"])
def test_a_wrong_limit_is_named(transform: Transform, words: str, inner: Loss) -> None:
    with pytest.raises(AssertionError, match=words):
        check_loss(compose(transform, inner))


class nan_bound(cubic):
    bound = np.nan


class nan_lower(cubic):
    lower = np.nan


def _shifted() -> Loss:
    loss = forgets_a_parameter()
    loss.shift = 1.0
    return loss


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (wrong_slope(), r"slope\(-6\) = -90 is no subgradient: .* at u=-?\d"),
        (wrong_curvature(), r"curvature\(-6\) = 30, but differences give 36"),
        (not_convex(), r"slope\(.*\) = .* not convex"),
        (wrong_expression(), "expression is 36 at u=-6, the value is 216"),
        (hidden_curvature(), "cvxpy does not see that its expression is convex"),
        (wrong_lower(), "beyond lower, 0"),
        (changes_its_argument(), "it changes its argument|subgradient"),
        (mixes_its_entries(), "the value among others"),
        (twice_its_pieces(), r"pieces\(u\) is 72 at u=-6, the value is 36"),
        (does_not_store(), "let __init__ store each parameter"),
        (_shifted(), "a clone gives other values"),
        (parts_that_do_not_add_up(), r"loss\(u\) is 36 at u=-6, transform.* is 29"),
        (subtracts_what_is_not_convex(), r"not_convex\(\): slope"),
        (wrong_weight(), r"weight 0.5, tilt 0.* below the value"),
        (tilted(), "tilt not finite at u=-6"),
        (negative_weight(), "negative weight at u=-6"),
        (nan_bound(), "bound is NaN"),
        (nan_lower(), "lower is NaN"),
        (of_a_convex_transform(), "it is not concave"),
        (of_a_decreasing_transform(), r"slope\(0\) = -1 is negative"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Loss) else "",
)
def test_a_wrong_loss_is_named_with_the_point(loss: Loss, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        check_loss(loss)


@pytest.mark.parametrize(
    "loss",
    [
        *(dc.pade_hinge(eta) for eta in (1e3, 1e5)),
        *(dc.sigmoid_hinge(1e8), dc.huber(1e-9), dc.huber(1e4)),
        *(dc.log_ratio(dc.hinge(), sigma) for sigma in (19.0, 50.0, 800.0)),
    ],
    ids=repr,
)
def test_narrow_and_wide_losses_pass(loss: Loss) -> None:
    dc.check_loss(loss)


def test_only_losses_are_checked() -> None:
    with pytest.raises(TypeError, match="loss=3"):
        check_loss(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="penalty=3"):
        check_penalty(3)  # type: ignore[arg-type]


class ridge(Penalty):
    """‖w‖²/2, right in every respect."""

    def __call__(self, w: Any) -> float:
        return 0.5 * float(w @ w)

    def slope(self, w: Any) -> Any:
        return w

    def expression(self, w: cp.Expression) -> cp.Expression:
        return 0.5 * cp.sum_squares(w)


class root(ConcavePenalty):
    """Σ√(1 + |w|) − 1, right in every respect."""

    def of_size(self, t: Any) -> Any:
        return np.sqrt(1 + t) - 1

    def rate(self, t: Any) -> Any:
        return 0.5 / np.sqrt(1 + t)

    def expression_of_size(self, t: cp.Expression) -> cp.Expression:
        return cp.sqrt(1 + t) - 1


def test_a_right_penalty_passes() -> None:
    check_penalty(ridge())
    check_penalty(root())
    check_penalty(root() + ridge())


class wrong_gradient(ridge):
    def slope(self, w: Any) -> Any:
        return 2 * w


class wrong_written(ridge):
    def expression(self, w: cp.Expression) -> cp.Expression:
        return cp.sum_squares(w)


class unwritable(ridge):
    def expression(self, w: cp.Expression) -> cp.Expression:
        return 0.5 * cp.sum(cp.multiply(w, w))


class not_convex_at_all(ridge):
    def __call__(self, w: Any) -> float:
        return float(np.sum(np.sqrt(np.abs(w))))

    def expression(self, w: cp.Expression) -> cp.Expression:
        return cp.sum(cp.sqrt(cp.abs(w)))


class of_two_parameters(ridge):
    def expression(self, w: cp.Expression) -> cp.Expression:
        one, other = (cp.Parameter(nonneg=True, value=value) for value in (0.25, 2.0))
        return one * other * cp.sum_squares(w)


class concave_in_disguise(ridge):
    def __call__(self, w: Any) -> float:
        return float(np.sum(np.log1p(np.abs(w))))

    def slope(self, w: Any) -> Any:
        return np.sign(w) / (1 + np.abs(w))

    def expression(self, w: cp.Expression) -> cp.Expression:
        return cp.norm1(w)


class not_a_number(ridge):
    def __call__(self, w: Any) -> float:
        return float("nan")


class a_vector(ridge):
    def __call__(self, w: Any) -> Any:
        return 0.5 * w**2


class convex_in_size(root):
    def of_size(self, t: Any) -> Any:
        return t**2

    def rate(self, t: Any) -> Any:
        return 2 * t

    def expression_of_size(self, t: cp.Expression) -> cp.Expression:
        return cp.square(t)


class wrong_rate(root):
    def weights(self, w: Any, edge: float = 0.0) -> Any:
        return 0.5 * super().weights(w)


class negative_rate(root):
    def weights(self, w: Any, edge: float = 0.0) -> Any:
        return -super().weights(w)


@pytest.mark.parametrize(
    ("penalty", "words"),
    [
        (wrong_gradient(), r"slope\[0\] = .* but differences give"),
        (wrong_written(), "expression is .* the value"),
        (unwritable(), "does not see that .* is convex"),
        (not_convex_at_all(), "not convex derives from ConcavePenalty"),
        (of_two_parameters(), "not DPP"),
        (concave_in_disguise(), "expression is|below its tangent"),
        (not_a_number(), "value nan"),
        (a_vector(), "not one number"),
        (convex_in_size(), "below .its majorant"),
        (wrong_rate(), "below .its majorant"),
        (negative_rate(), "negative"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Penalty) else "",
)
def test_a_wrong_penalty_is_named_with_the_point(penalty: Penalty, words: str) -> None:
    with pytest.raises((AssertionError, ValueError), match=words):
        check_penalty(penalty)
