"""What stands many times in a tree costs what it costs once."""

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog.majorants.tree import short, variables

Step = Callable[[Any], Any]

STEPS: dict[str, Step] = {
    "times its maximum": lambda e: cp.multiply(e, cp.max(e, keepdims=True)),
    "times its minimum with 1": lambda e: cp.multiply(e, cp.minimum(e, 1)),
    "plus a root of itself": lambda e: e + cp.sqrt(1 + cp.abs(e)),
    "times another": lambda e: cp.multiply(e, cp.Variable(4, value=np.linspace(0.9, 1.1, 4))),
    "square minus absolute": lambda e: cp.minimum(0.5 * e + 0.1 * cp.square(e), 1) - cp.abs(e) / 9,
    "its entries": lambda e: cp.minimum(cp.square(cp.hstack([e[1:], e[0]])) - e, 2),
    "passed through": lambda e: 0.5 * cp.minimum(e, 2) + 0.5 * cp.cumsum(e) - 0.1 * cp.square(e),
}


def nest(step: Step, depth: int) -> cp.Expression:
    e: Any = cp.Variable(4, value=np.linspace(0.2, 0.5, 4))
    for _ in range(depth):
        e = step(e)
    return e


def written_size(majorant: dc.Majorant) -> int:
    """Nodes of the majorant's expression and constraints, as often as cvxpy meets them."""
    context = majorant._context

    def size(node: Any) -> int:
        return 1 + sum(map(size, node.args))

    return size(majorant._inner) + sum(map(size, (*context.constraints, *context.domain)))


@pytest.mark.parametrize("name", STEPS)
def test_size_is_linear_in_depth(name: str) -> None:
    sizes = []
    for depth in (3, 5, 7):
        shared = nest(STEPS[name], depth)
        sizes.append(written_size(dc.majorize(cp.norm1(shared))))
    growth = np.diff(sizes)
    assert growth[-1] <= 1.1 * growth[0] + 10, sizes


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("total", [True, False])
def test_shared_majorant_touches_and_is_above(name: str, depth: int, total: bool) -> None:
    shared = nest(STEPS[name], depth)
    expression = cp.sum(cp.multiply([1, -1, 2, 0], shared)) if total else shared
    rng = np.random.default_rng(depth)
    majorant = dc.majorize(expression)
    assert majorant.expression.is_dcp(dpp=True)
    for _ in range(5):
        for variable in variables(expression):
            variable.value = variable.value + 0.2 * rng.normal(size=4)
        majorant.tighten()
        here = np.asarray(expression.value)
        np.testing.assert_allclose(majorant.value, here, rtol=1e-9, atol=1e-9)
        centre = [v.value for v in variables(expression)]
        for size in (1e-3, 0.1, 1.0):
            for variable, middle in zip(variables(expression), centre, strict=True):
                variable.value = middle + size * rng.normal(size=4)
            below, above = np.asarray(expression.value), majorant.value
            inside = np.isfinite(above)
            assert np.all((above - below)[inside] >= -1e-9 * (1 + np.abs(below[inside])))
        for variable, middle in zip(variables(expression), centre, strict=True):
            variable.value = middle


def test_stand_ins_take_the_majorants_value_in_a_solver() -> None:
    """The minimum over the stand-ins, found by a solver, is what the library computes."""
    shared = nest(STEPS["times its minimum with 1"], 4)
    majorant = dc.majorize(cp.norm1(shared))
    assert majorant._context.auxiliaries
    (x,) = variables(shared)
    point = x.value
    pinned = cp.Problem(cp.Minimize(majorant.expression), [x == point])
    pinned.solve(solver=cp.CLARABEL)
    x.value = point
    assert pinned.value == pytest.approx(float(majorant.value), rel=1e-5)


def test_where_little_is_shared_nothing_is_added() -> None:
    x = cp.Variable(4, value=np.ones(4))
    loss = cp.minimum(cp.pos(1 - x), 1)
    for expression in (
        cp.sum(loss) + 2 * cp.max(cp.square(x)) - cp.norm1(x),
        cp.sum(loss) + 0.5 * cp.sum(loss[:2]),
        x[0] * x[1] - cp.max(x),
    ):
        assert not dc.majorize(expression)._context.auxiliaries


def test_a_solve_of_nested_products_ends() -> None:
    x = cp.Variable(4)
    e: Any = x
    for _ in range(4):
        e = cp.multiply(e, cp.max(e, keepdims=True))
    objective = cp.norm1(e) + cp.sum_squares(x - 1)
    result = dc.solve(cp.Problem(cp.Minimize(objective), [cp.abs(x) <= 2]), max_iter=3, n_starts=1)
    assert np.isfinite(result.value)
    assert result.value <= 4.0  # at x = 0


def test_explain_and_text_of_a_deep_tree_are_short() -> None:
    shared = nest(STEPS["times its maximum"], 12)
    assert len(short(shared)) <= 90
    assert len(dc.explain(cp.norm1(shared)).splitlines()) < 5000


def test_variables_in_linear_time() -> None:
    x = cp.Variable(4)
    e: Any = x
    for _ in range(60):
        e = cp.square(e) + cp.abs(e)
    for expression in (cp.sum(e), cp.transforms.indicator([x >= 0]), x):
        assert [v.id for v in variables(expression)] == [x.id]
