"""Numbers of one form as a vector: the same values, the same solutions, the same multipliers."""

from itertools import combinations
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog.problem.split_constraints import form_of, split, stacked

RNG = np.random.default_rng(5)
x = cp.Variable((4, 2), name="x")
y = cp.Variable(3, name="y")
PAIRS = list(combinations(range(4), 2))
ROWS = RNG.normal(size=(6, 3))
NUMBERS = RNG.uniform(1, 2, size=6)

FORMS: dict[str, Any] = {
    "norms": lambda i, a, b: NUMBERS[i] - cp.norm(x[a] - x[b]),
    "norms 1": lambda i, a, b: NUMBERS[i] - cp.norm1(x[a] - NUMBERS[i] * x[b]),
    "norms inf": lambda i, a, b: NUMBERS[i] - cp.norm_inf(x[a] + 1),
    "squares": lambda i, a, b: NUMBERS[i] - cp.sum(cp.square(x[a] - x[b])),
    "sums of squares": lambda i, a, b: NUMBERS[i] - cp.sum_squares(x[a] - x[b]),
    "products": lambda i, a, b: NUMBERS[i] - x[a, 0] * (x[b, 1] + 2),
    "numbers": lambda i, a, b: cp.log(1 + cp.square(ROWS[i] @ y)) - NUMBERS[i],
    "maxima": lambda i, a, b: NUMBERS[i] - cp.max(cp.abs(x[a] - y[:2])),
    "numbers beside vectors": lambda i, a, b: 1 - cp.log_sum_exp(cp.multiply(y[0], x[a]) + x[b]),
}


@pytest.mark.parametrize("name", FORMS)
def test_the_vector_has_the_values_of_the_numbers(name: str) -> None:
    numbers = [FORMS[name](i, a, b) for i, (a, b) in enumerate(PAIRS)]
    assert len({form_of(number) for number in numbers}) == 1
    vector = stacked(numbers)
    assert vector.shape == (len(numbers),)
    for _ in range(3):
        x.value, y.value = RNG.normal(size=(4, 2)), RNG.normal(size=3)
        np.testing.assert_allclose(vector.value, [n.value for n in numbers], rtol=1e-12)


def test_other_forms_are_others() -> None:
    t = cp.Parameter(value=1.0)
    alone = [cp.norm(y), cp.norm(y, 1), cp.norm(x[0]), cp.square(y[0]), y[0] ** 3]
    assert len({form_of(one) for one in alone}) == len(alone)
    assert form_of(cp.lambda_max(cp.Variable((2, 2), symmetric=True))) is None
    assert form_of(t * cp.norm(y)) is None
    assert form_of(cp.quad_over_lin(y, 2.0)) is None
    assert form_of(cp.pnorm(y, 3)) is None


def test_constants_of_other_sizes_stay_apart() -> None:
    sizes = [1.0, 1.1, 1.2, 1.3, 1.1e6, 1.2e6, 1.3e6, 1.4e6, 1e-6]
    parts = split([cp.norm(y - i) >= size for i, size in enumerate(sizes)])
    assert [e.size for e in parts.nonconvex] == [4, 4, 1]
    assert [len(origins) for origins in parts.origins] == [4, 4, 1]


def test_many_constraints_are_solved_as_their_vector() -> None:
    centres = cp.Variable((6, 2))
    i, j = (list(ends) for ends in zip(*combinations(range(6), 2), strict=True))
    side = cp.max(cp.abs(centres) + 1)
    one = [cp.norm(centres[i] - centres[j], axis=1) >= 2]
    many = [cp.norm(centres[a] - centres[b]) >= 2 for a, b in zip(i, j, strict=True)]
    start = {centres: np.random.default_rng(0).uniform(-3, 3, (6, 2))}
    found = []
    for constraints in (one, many):
        problem = cp.Problem(cp.Minimize(side + 0.01 * cp.sum_squares(centres)), constraints)
        result = dc.solve(problem, start=start)
        duals = np.hstack([np.ravel(c.dual_value) for c in constraints])
        found.append((result.value, result.n_iter, duals))
    assert found[1][0] == pytest.approx(found[0][0], rel=1e-6)
    assert found[1][1] == found[0][1]
    np.testing.assert_allclose(found[1][2], found[0][2], atol=1e-4)
