"""‖v‖² ≤ g² with affine v and g ≥ 0 is the convex ‖v‖ ≤ g."""

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog.majorants.affine import Box
from dcprog.majorants.rules.products import exact_form

X, L = cp.Variable((2, 4)), cp.Variable(nonneg=True)
V, FREE = cp.Variable(3), cp.Variable()
ASKED = {
    "columns": cp.sum(cp.square(X[:, 1:] - X[:, :-1]), axis=0) <= (L / 4) ** 2,
    "one sum": cp.sum_squares(V - 1) <= cp.square(L + 1),
    "two sums": cp.sum_squares(V) + cp.square(X[0, 0]) <= cp.square(L),
    "entries": cp.square(V) <= cp.square(L),
    "a multiple": 2 * cp.sum_squares(V) <= cp.square(L),
}


@pytest.mark.parametrize("name", ASKED)
def test_it_is_the_same_set_and_convex(name: str) -> None:
    asked = ASKED[name]
    form = exact_form(asked.expr, Box())
    assert form is not None
    assert form.expression.is_convex()
    rng = np.random.default_rng(0)
    for _ in range(50):
        for variable in (X, V):
            variable.value = rng.normal(size=variable.shape)
        L.value = abs(rng.normal()) * 3
        np.testing.assert_array_equal(form.expression.value <= 0, asked.expr.value <= 0)


@pytest.mark.parametrize(
    "asked",
    [
        cp.sum_squares(V) <= cp.square(FREE),  # a cone on either side
        cp.sum_squares(V) + 1 <= cp.square(L),
        cp.sum_squares(V) <= cp.square(L) + cp.square(FREE),
    ],
)
def test_others_stay(asked: cp.Constraint) -> None:
    assert exact_form(asked.expr, Box()) is None


def test_multipliers_are_those_of_the_squares() -> None:
    x, g = cp.Variable(2), cp.Variable(nonneg=True)
    asked = cp.sum_squares(x - np.array([3.0, 4.0])) <= cp.square(g)
    problem = cp.Problem(cp.Minimize(2 * cp.square(g) + cp.sum_squares(x)), [asked])
    assert dc.solve(problem).value == pytest.approx(50 / 3, rel=1e-6)
    # 4g = λ·2g at the optimum
    assert float(asked.dual_value) == pytest.approx(2.0, rel=1e-3)
