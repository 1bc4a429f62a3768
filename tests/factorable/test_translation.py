"""Rows of terms against the expressions they were made of: values, ranges and SCIP's own sums."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dcprog as dc
from dcprog.factorable import translation
from dcprog.factorable.problem import FactorableProblem
from dcprog.factorable.search import ScipModel
from dcprog.majorants.tree import nodes
from tests.factorable.atoms import FORMS, Form

Array = npt.NDArray[np.float64]
ENTRIES = 7
POINTS = 40


def variables() -> tuple[cp.Variable, cp.Variable]:
    return cp.Variable(3), cp.Variable((2, 2))


def boxes(rng: np.random.Generator, form: Form, count: int) -> tuple[Array, Array]:
    """Boxes inside the form's: wide, narrow and of no width, some with an edge at the domain's."""
    lo = rng.uniform(form.lo, form.hi, size=(count, ENTRIES))
    width = rng.choice([0.0, 1e-6, 0.1, 1.0], size=(count, 1))
    hi = lo + rng.random((count, ENTRIES)) * width * (form.hi - lo)
    edge = rng.random((count, ENTRIES)) < 0.1
    return np.where(edge, form.lo, lo), hi


def used(problem: cp.Problem, x: cp.Variable, z: Array) -> Array:
    """The entries of z that belong to the variables of a problem."""
    ids = [v.id for v in problem.variables()]
    parts = [z[:3]] * (x.id in ids) + [z[3:]] * (len(ids) > (x.id in ids))
    return np.concatenate(parts)


def values(x: cp.Variable, y: cp.Variable, expression: cp.Expression, z: Array) -> Array:
    x.value, y.value = z[:3], z[3:].reshape(2, 2, order="F")
    return np.ravel(np.asarray(expression.value, dtype=float), order="F")


@pytest.mark.parametrize("name", FORMS)
def test_values_and_ranges_are_the_expressions(name: str) -> None:
    x, y = variables()
    form = FORMS[name]
    expression = form.make(x, y)
    made = translation.Translation([x, y])
    rows = made(expression)
    assert len(rows) == expression.size
    rng = np.random.default_rng(0)
    lo, hi = boxes(rng, form, 30)
    ranges = made.terms.ranges(lo, hi)
    assert not np.any(ranges.empty)
    sides = [ranges.of(row) for row in rows]
    low, high = (np.transpose([side[k] for side in sides]) for k in (0, 1))
    assert not np.any(np.isnan(low) | np.isnan(high))
    for trial in range(12):
        z = lo + rng.random(lo.shape) * (hi - lo)
        if trial < 4:
            z = np.where(rng.random(lo.shape) < 0.5, lo, hi)
        at = made.terms.ranges(z, z)
        for k in range(lo.shape[0]):
            value = values(x, y, expression, z[k])
            slack = 1e-9 * (1 + np.abs(value))
            assert np.all(low[k] - slack <= value)
            assert np.all(value <= high[k] + slack)
            found = np.array([at.of(row)[0][k] for row in rows])
            assert found == pytest.approx(value, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", FORMS)
def test_scip_computes_the_same_values(name: str) -> None:
    """The least and the largest value of an expression on a box of no width is its value."""
    x, y = variables()
    form = FORMS[name]
    rng = np.random.default_rng(1)
    z = rng.uniform(form.lo + 0.05, form.hi, size=ENTRIES)
    entry = cp.vec(form.make(x, y), order="F")[-1]
    value = values(x, y, entry, z)[0]
    for sense in (cp.Minimize, cp.Maximize):
        problem = cp.Problem(sense(entry))
        here = used(problem, x, z)
        bound = dc.lower_bound(problem, box=(here, here))
        assert bound.status == "proved"
        assert bound.value == pytest.approx(value, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("name", FORMS)
def test_bounds_on_a_box_are_below_all_values(name: str) -> None:
    """One entry of each form, least and largest on a narrow box, against random points of it."""
    x, y = variables()
    form = FORMS[name]
    rng = np.random.default_rng(2)
    lo = rng.uniform(form.lo, form.hi, size=ENTRIES)
    hi = lo + rng.random(ENTRIES) * 0.3 * (form.hi - lo)
    entry = cp.vec(form.make(x, y), order="F")[0]
    drawn = lo + rng.random((POINTS, ENTRIES)) * (hi - lo)
    drawn[: POINTS // 2] = np.where(rng.random((POINTS // 2, ENTRIES)) < 0.5, lo, hi)
    seen = np.array([values(x, y, entry, z)[0] for z in drawn])
    for sense, side in ((cp.Minimize, 1.0), (cp.Maximize, -1.0)):
        problem = cp.Problem(sense(entry))
        box = used(problem, x, lo), used(problem, x, hi)
        bound = dc.lower_bound(problem, box=box, time_limit=5)
        assert bound.status == "proved"
        assert side * bound.value <= np.min(side * seen) + 1e-9 * bound.scale
        assert abs(bound.objective - bound.value) <= 1e-3 * bound.scale * (1 + 1e-9)


def test_every_rule_of_the_table_has_a_form() -> None:
    x, y = variables()
    kinds = {type(node) for form in FORMS.values() for node in nodes(form.make(x, y))}
    twins = {"PowerApprox": "Power", "PnormApprox": "Pnorm", "GeoMeanApprox": "GeoMean"}
    names = {twins.get(kind.__name__, kind.__name__) for kind in kinds}
    for kind in translation.RULES:
        assert twins.get(kind.__name__, kind.__name__) in names, kind


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(FORMS)),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 1e-9, 1e-3, 0.3, 1.0]),
)
def test_ranges_of_random_boxes_hold(name: str, seed: int, width: float) -> None:
    x, y = variables()
    form = FORMS[name]
    expression = form.make(x, y)
    made = translation.Translation([x, y])
    rows = made(expression)
    rng = np.random.default_rng(seed)
    lo = rng.uniform(form.lo, form.hi, size=ENTRIES)
    hi = lo + rng.random(ENTRIES) * width * (form.hi - lo)
    ranges = made.terms.ranges(lo[None], hi[None])
    z = np.clip(lo + rng.random(ENTRIES) * (hi - lo), lo, hi)
    value = values(x, y, expression, z)
    low, high = (np.array([ranges.of(row)[k][0] for row in rows]) for k in (0, 1))
    slack = 1e-9 * (1 + np.abs(value))
    assert np.all(low - slack <= value)
    assert np.all(value <= high + slack)


def test_infinite_boxes_have_ranges_without_nan() -> None:
    x, y = variables()
    made = translation.Translation([x, y])
    forms = [cp.square(x[0]) - x[1], x[0] * x[1], cp.exp(x[0]) - cp.exp(x[1]), 1 / x[0]]
    rows = [made(form)[0] for form in forms]
    lo = np.full((2, ENTRIES), -np.inf)
    hi = np.full((2, ENTRIES), np.inf)
    lo[1, :2], hi[0, 1] = 0.0, 1.0
    found = made.terms.ranges(lo, hi)
    for row in rows:
        low, high = found.of(row)
        assert not np.any(np.isnan(low) | np.isnan(high))
        assert np.all(low <= high)


def test_a_range_outside_the_domain_is_empty() -> None:
    x = cp.Variable()
    made = translation.Translation([x])
    made(cp.log(x) + cp.sqrt(1 - x))
    lo, hi = np.array([[-2.0], [0.5], [1.5]]), np.array([[-1.0], [2.0], [2.0]])
    assert made.terms.ranges(lo, hi).empty.tolist() == [True, False, True]


def test_terms_that_are_the_same_are_one() -> None:
    x = cp.Variable(2)
    made = translation.Translation([x])
    made(
        cp.exp(x[0]) + 2 * cp.exp(x[0]) - x[0] * x[1] + x[1] * x[0] + x[0] * x[0] - cp.square(x[0])
    )
    assert len(made.terms.operations) == 3


def test_products_that_differ_by_a_factor_are_one_term() -> None:
    x = cp.Variable(3, bounds=[-1, 1])
    form = sum((1.0 + i + 2 * j) * x[i] * x[j] for i in range(3) for j in range(3))
    terms = FactorableProblem(cp.Problem(cp.Minimize(form))).terms
    assert len(terms.operations) == 6  # three squares, three products


def test_a_model_is_in_its_problems_units() -> None:
    """The same numbers for SCIP, whatever the units of the variables and of the objective."""
    written = []
    for unit, factor in ((1.0, 1.0), (2.0**30, 2.0**-20)):
        x = cp.Variable(2, name="x")
        form = factor * cp.sum(cp.square(x / unit - 0.3) - cp.power(x / unit, 4))
        problem = FactorableProblem(cp.Problem(cp.Minimize(form), [x >= -unit, x <= 2 * unit]))
        ranges = problem.terms.ranges(problem.lo[None], problem.hi[None])
        model = ScipModel(problem, ranges.lo[0], ranges.hi[0], None).model
        model.optimize()
        written.append(model.getDualbound())
    assert written[0] == pytest.approx(written[1], rel=1e-6)
