"""Gradients through trees whose affine parts are a matrix."""

import cvxpy as cp
import numpy as np
import pytest

from dcprog.majorants.gradients import Tape
from dcprog.majorants.user_problem import Points

x, y = cp.Variable((3, 2), name="x"), cp.Variable(3, name="y")
EXPRESSIONS = {
    "affine": [2 * x[0] - y[:2] + 1],
    "affine above products": [cp.sum(cp.multiply(y, cp.sum(x, axis=1))) - 3 * y[0]],
    "distances": [cp.sum(cp.inv_pos(cp.norm(x[[0, 0, 1]] - x[[1, 2, 2]], 2, axis=1)))],
    "matrices": [cp.sum(cp.square(x.T @ cp.diag(y) @ x)), cp.exp(y / 5)],
    "shared parts": [cp.log_sum_exp(y) * cp.max(y), cp.log_sum_exp(y), y],
    "products of matrices": [
        x @ x.T,
        x.T @ y,
        y @ x,
        y @ cp.exp(y / 5),
        np.ones((2, 3)) @ cp.square(x),
        cp.norm(x, 2, axis=0),
        cp.maximum(x, y[0]),
        cp.max(x, axis=1),
    ],
    "constants of other shapes": [
        cp.maximum(x, 0.1),
        cp.pos(y),
        cp.minimum(0.2, x, np.ones((1, 2))),
    ],
    "cumulative": [cp.cumsum(cp.square(x), axis=1), cp.square(cp.cumsum(cp.exp(y)))],
    "a constant": [cp.Constant(3.0), cp.square(y)],
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_a_tape_agrees_with_differences(name: str) -> None:
    roots, points = EXPRESSIONS[name], Points([x, y])
    tape, rng = Tape(roots, points), np.random.default_rng(0)
    weights = [rng.normal(size=root.shape) for root in roots]

    def total(at: np.ndarray) -> float:
        values = tape.values(at)
        return sum(float(np.sum(w * values.array(r))) for w, r in zip(weights, roots, strict=True))

    for _ in range(3):
        at = rng.normal(size=points.size)
        slope = tape.gradient(weights, tape.values(at))
        step = 1e-6 * np.eye(points.size)
        differences = [(total(at + s) - total(at - s)) / 2e-6 for s in step]
        np.testing.assert_allclose(slope, differences, atol=1e-6 * (1 + np.abs(slope).max()))


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_jacobians_are_gradients_row_by_row(name: str) -> None:
    roots, points = EXPRESSIONS[name], Points([x, y])
    tape, rng = Tape(roots, points), np.random.default_rng(1)
    values = tape.values(rng.normal(size=points.size))
    for place, (root, lines) in enumerate(zip(roots, tape.jacobians(values), strict=True)):
        assert lines.shape == (root.size, points.size)
        for line, one in zip(lines, np.eye(root.size), strict=True):
            weights = tape.alone(place, one.reshape(root.shape, order="F"))
            np.testing.assert_allclose(line, tape.gradient(weights, values), atol=1e-12)


def test_a_jacobian_is_not_finite_where_there_is_no_slope() -> None:
    points = Points([y])
    tape = Tape([cp.sqrt(y), cp.square(y)], points)
    first, second = tape.jacobians(tape.values(np.array([0.0, 1.0, 4.0])))
    assert not np.any(np.isfinite(first))
    np.testing.assert_allclose(second, np.diag([0.0, 2.0, 8.0]))
    inside, _ = tape.jacobians(tape.values(np.array([0.0, 1.0, 4.0])), edge=1e-4)
    np.testing.assert_allclose(inside, np.diag([50, 0.5, 0.25]))


def test_infinite_slopes_are_refused_or_taken_inside() -> None:
    points = Points([y])
    tape = Tape([cp.sum(cp.sqrt(y))], points)
    values = tape.values(np.array([0.0, 1.0, 4.0]))
    with pytest.raises(ValueError, match="slope"):
        tape.gradient([np.array(1.0)], values)
    slope = tape.gradient([np.array(1.0)], values, edge=1e-4)
    np.testing.assert_allclose(slope, [50, 0.5, 0.25])
