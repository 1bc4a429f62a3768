"""The quality profile's formulas are those of the problems, and its best values are sound."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from benchmarks.optima.classification import ramp_tiny, squared_hinge_tiny
from benchmarks.optima.concave import Cap, Tukey
from benchmarks.optima.enumeration import Enumerated
from benchmarks.optima.families import FAMILIES
from benchmarks.optima.folded import Folded, Half, LogSum, Mcp
from benchmarks.optima.instance import Array, Instance
from benchmarks.optima.methods import METHODS, Timed, TooLong, apart, at_most, attempt
from benchmarks.optima.quadratic import box_quadratic
from benchmarks.optima.references import References
from benchmarks.optima.robust_fit import RobustFit

Make = Callable[[int], RobustFit]
PENALTIES = (LogSum(0.7, 0.1), Half(0.6), Mcp(0.8, 2.0), Mcp(0.8, 0.3))
# Radii of equal circles in the unit square (E. Specht, packomania.com), 3 to 10 circles.
RADII = (0.254333, 0.25, 0.207107, 0.187681, 0.174458, 0.170541, 0.166667, 0.148204)


def point_of(instance: Instance, seed: int) -> Array:
    """Positive where a logarithm wants it."""
    positive = hasattr(instance, "bend")
    draw = np.random.default_rng(seed).normal(size=instance.size)
    return np.abs(draw) if positive else draw


def enumerated(instance: Instance) -> float:
    """The global minimum of a family that has one."""
    value = instance.exact()
    assert value is not None
    return value


def theirs(instance: Instance, x: Array) -> float:
    """F of dcprog's statement."""
    form = instance.form()
    if isinstance(form.problem, dc.Risk):
        return float(form.problem(x))
    for variable, value in form.start(x).items():
        variable.value = value
    assert np.array_equal(form.read(), x)
    value = float(form.problem.objective.value)
    return -value if isinstance(form.problem.objective, cp.Maximize) else value


@pytest.mark.parametrize("name", FAMILIES)
def test_objectives_are_those_of_the_statements(name: str) -> None:
    instance = FAMILIES[name].make(3)
    for seed in range(5):
        x = point_of(instance, seed)
        assert instance.objective(x) == pytest.approx(theirs(instance, x), rel=1e-9)


@pytest.mark.parametrize("name", FAMILIES)
def test_violations_are_those_of_the_statements(name: str) -> None:
    instance = FAMILIES[name].make(1)
    form = instance.form()
    constraints = [] if isinstance(form.problem, dc.Risk) else form.problem.constraints
    for scale in (1e-3, 0.2, 1e2):
        x = scale * point_of(instance, 0)
        if form.parts:
            theirs_at = form.start(x)
            for variable, value in theirs_at.items():
                variable.value = value
        violated = any(np.any(constraint.violation() > 0) for constraint in constraints)
        assert (instance.violation(x) > 0) == violated


@pytest.mark.parametrize("name", FAMILIES)
def test_every_instance_has_a_best_known_value(name: str) -> None:
    references = References()
    for seed in (0, 19):
        instance = FAMILIES[name].make(seed)
        known = references.get(FAMILIES[name].key, seed, instance)
        assert known is not None
        assert np.isfinite(known.value)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("make", [ramp_tiny, squared_hinge_tiny])
def test_enumeration_is_the_minimum_over_all_sets(make: Make, seed: int) -> None:
    instance = make(seed)
    assert isinstance(instance, Enumerated)
    n = len(instance.t)
    every = (kept for size in range(n + 1) for kept in combinations(range(n), size))
    brute = min(instance.objective(instance.convex_fit(np.array(kept, int))) for kept in every)
    assert instance.exact() == pytest.approx(brute, rel=1e-9)
    name = "ramp_tiny" if make is ramp_tiny else "squared_hinge_tiny"
    known = References().get(name, seed, instance)
    assert known is not None
    assert known.value == pytest.approx(brute, rel=1e-7)
    assert known.by == "enumeration"


@pytest.mark.parametrize("make", [ramp_tiny, squared_hinge_tiny])
def test_no_point_of_a_fine_grid_is_below_the_enumeration(make: Make) -> None:
    instance = make(5)
    axis = np.linspace(-4, 4, 81)
    grid = np.stack(np.meshgrid(axis, axis, axis)).reshape(3, -1)
    lowest = instance.values(grid).min()
    assert enumerated(instance) <= lowest <= 1.2 * enumerated(instance)


def test_no_point_of_the_box_beats_the_vertices() -> None:
    instance = box_quadratic(0)
    inside = np.random.default_rng(0).uniform(-1, 1, (20_000, instance.size))
    values = -np.einsum("vi,ij,vj->v", inside, instance.S, inside)
    assert enumerated(instance) < values.min() < 0.5 * enumerated(instance)


@pytest.mark.parametrize("seed", range(8))
def test_packings_are_the_published_ones(seed: int) -> None:
    instance = FAMILIES["packing_equal"].make(seed)
    known = References().get("packing_equal", seed, instance)
    assert known is not None
    assert known.value == pytest.approx(0.5 / RADII[seed], rel=1e-5)


@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
def test_one_coefficient_is_minimised_exactly(penalty: Folded) -> None:
    grid = np.linspace(-6, 6, 240_001)
    for z, h in [(0.1, 1.0), (0.9, 1.0), (-1.7, 1.0), (4.0, 1.5), (-2.0, 3.0)]:
        best = np.min(h * grid**2 / 2 - z * grid + penalty.value(np.abs(grid)))
        w = penalty.minimiser(np.array([z]), np.array(h))
        value = h * w**2 / 2 - z * w + penalty.value(np.abs(w))
        assert value[0] == pytest.approx(best, abs=1e-7)


@pytest.mark.parametrize("phi", [Cap(1.5), Tukey(2.0)], ids=str)
def test_the_bilinear_form_has_the_same_minimum(phi: Cap | Tukey) -> None:
    v = np.linspace(0, 1, 10_001)
    conjugate = phi.conjugate(cp.Constant(v)).value
    for t in (0.0, 0.4, 1.4, 1.9, 7.0):
        assert np.min(v * t + conjugate) == pytest.approx(phi.total(np.array([t])), abs=1e-6)


@pytest.mark.parametrize("penalty", PENALTIES[2:], ids=str)
def test_the_bilinear_form_of_a_penalty_has_the_same_minimum(penalty: Mcp) -> None:
    for size in (0.0, 0.1, 0.5, 3.0):
        t = cp.Variable(1, value=[size])
        total, _ = penalty.smooth(t)
        (v,) = [one for one in total.variables() if one is not t]
        values = []
        for trial in np.linspace(0, 1, 1001):
            v.value = np.array([trial])
            values.append(total.value)
        assert min(values) == pytest.approx(penalty.value(np.array([size]))[0], abs=1e-6)


@pytest.mark.parametrize("name", ["ramp_tiny", "capped_lp_multiclass", "trimmed_regression"])
def test_the_search_ends_where_nothing_is_lower_nearby(name: str) -> None:
    instance = FAMILIES[name].make(0)
    rng = np.random.default_rng(0)
    found = min(instance.search(rng, 400), key=instance.objective)
    around = found + 1e-2 * rng.normal(size=(200, instance.size))
    assert instance.objective(found) < min(map(instance.objective, around))


def test_points_outside_count_as_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = box_quadratic(0)
    monkeypatch.setitem(METHODS, "liar", lambda *_: np.full(instance.size, 1.1))
    monkeypatch.setitem(METHODS, "thrower", lambda *_: 1 / 0)
    monkeypatch.setitem(METHODS, "corner", lambda *_: np.ones(instance.size))
    liar, thrower, corner = (
        attempt(name, instance, 0, limit=5.0) for name in ("liar", "thrower", "corner")
    )
    assert liar is not None
    assert (liar.value, liar.why) == (np.inf, "violation 1.0e-01")
    assert thrower is not None
    assert (thrower.value, thrower.why) == (np.inf, "ZeroDivisionError: division by zero")
    assert corner is not None
    assert corner.value == pytest.approx(-instance.S.sum())


@pytest.mark.parametrize("run", [at_most, apart])
def test_methods_are_stopped(run: Callable[..., Timed]) -> None:
    instance = box_quadratic(0)
    point, _ = run(5.0, lambda *_: np.ones(2), instance, 0)
    assert point is not None
    assert point.tolist() == [1, 1]
    with pytest.raises(TooLong, match=r"more than 0\.1 s"):
        run(0.1, lambda *_: time.sleep(20), instance, 0)
    with pytest.raises(Exception, match="division by zero"):
        run(5.0, lambda *_: 1 / 0, instance, 0)


def test_a_value_below_a_global_minimum_is_refused(tmp_path: Path) -> None:
    references, instance = References(tmp_path / "known.json"), ramp_tiny(0)
    best = enumerated(instance)
    assert references.offer("ramp_tiny", 0, instance, best, "enumeration")
    assert not references.offer("ramp_tiny", 0, instance, best * (1 + 1e-6), "plain")
    with pytest.raises(ValueError, match="below the global minimum"):
        references.offer("ramp_tiny", 0, instance, best * 0.9, "plain")
    with pytest.raises(ValueError, match="other data"):
        references.get("ramp_tiny", 0, ramp_tiny(1))
    references.save()
    assert References(tmp_path / "known.json").known == references.known
