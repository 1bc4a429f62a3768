"""x·log(x/s) is the relative entropy: a convex problem in which cvxpy sees a product."""

from collections.abc import Callable

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog.majorants.affine import Box
from dcprog.majorants.rewrites import Rewriting

# Free energies less −log of the pressure; White, Johnson, Dantzig (1958), Chemical equilibrium in
# complex mixtures, with the numbers of problem 112 of Hock, Schittkowski (1981).
COSTS = np.array(
    [-6.089, -17.164, -34.054, -5.914, -24.721, -14.986, -24.1, -10.708, -26.662, -22.179]
)


def test_chemical_equilibrium() -> None:
    atoms = np.zeros((3, 10))
    atoms[0, [0, 2, 5]], atoms[0, 9], atoms[0, 1] = 1, 1, 2
    atoms[1, [3, 5, 6]], atoms[1, 4] = 1, 2
    atoms[2, [2, 6, 7, 9]], atoms[2, 8] = 1, 2
    x = cp.Variable(10, bounds=[1e-6, None])
    goal = cp.sum(cp.multiply(x, COSTS + cp.log(x / cp.sum(x))))
    result = dc.solve(cp.Problem(cp.Minimize(goal), [atoms @ x == np.array([2, 1, 1])]))
    y = cp.Variable(10)
    convex = cp.sum(cp.rel_entr(y, cp.sum(y))) + COSTS @ y
    expected = cp.Problem(
        cp.Minimize(convex), [atoms @ y == np.array([2, 1, 1]), y >= 1e-6]
    ).solve()
    assert result.status == "converged"
    assert result.value == pytest.approx(expected, rel=1e-6)


X = cp.Variable(3, nonneg=True)
S = cp.Variable(nonneg=True)
Written = Callable[[], cp.Expression]
SEEN: dict[str, Written] = {
    "ratio": lambda: cp.multiply(X, cp.log(X / S)),
    "turned round": lambda: -cp.multiply(cp.log(S / X), X),
    "in a sum": lambda: cp.multiply(X, 2 - cp.log(S / X) + X),
    "entries": lambda: X[0] * cp.log(X[0] / S),
    "sums": lambda: cp.sum(X[:2]) * cp.log(cp.sum(X[:2]) / S),
}


@pytest.mark.parametrize("name", SEEN)
def test_it_is_seen_and_equal(name: str) -> None:
    written = SEEN[name]()
    new = Rewriting(Box()).of(written)
    assert any(isinstance(n, cp.rel_entr) for n in nodes_of(new))
    rng = np.random.default_rng(0)
    for _ in range(5):
        X.value, S.value = rng.uniform(0.1, 2, 3), rng.uniform(0.1, 2)
        np.testing.assert_allclose(new.value, written.value, rtol=1e-12)


def nodes_of(expression: cp.Expression) -> list[cp.Expression]:
    return [expression, *(n for arg in expression.args for n in nodes_of(arg))]


def test_nothing_else_is() -> None:
    free = cp.Variable(3)
    for other in (
        cp.multiply(X, cp.log(X)),
        cp.multiply(free, cp.log(free / S)),
        cp.multiply(X, cp.log(S / cp.sum(X))),
        X[0] * cp.log(X[1] / S),
        cp.multiply(X, cp.log(X[[0, 2, 1]] / S)),
    ):
        assert Rewriting(Box()).of(other) is other
