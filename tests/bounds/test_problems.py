"""Bounds of cvxpy problems."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from cvxpy.atoms.elementwise.hyperbolic import asinh, sinh
from cvxpy.atoms.elementwise.trig import cos, sin

import dcprog as dc
from dcprog.factorable import search, terms
from dcprog.factorable.problem import FactorableProblem
from dcprog.foundation.deadline import interrupts_held

GAP = 1e-3


def circles(n: int) -> cp.Problem:
    """The largest radius of n equal circles in the unit square."""
    centre, radius = cp.Variable((n, 2)), cp.Variable(nonneg=True)
    apart = [cp.norm(centre[i] - centre[j]) >= 2 * radius for i in range(n) for j in range(i)]
    return cp.Problem(cp.Maximize(radius), [centre >= radius, centre <= 1 - radius, *apart])


def square(n: int) -> cp.Problem:
    """The smallest square around n unit circles."""
    centre, side = cp.Variable((n, 2)), cp.Variable()
    apart = [cp.norm(centre[i] - centre[j]) >= 2 for i in range(n) for j in range(i)]
    return cp.Problem(cp.Minimize(side), [centre >= 1, centre <= side - 1, *apart])


def ball(inner: float) -> cp.Problem:
    """A point between two spheres."""
    x = cp.Variable(2)
    return cp.Problem(cp.Minimize(x[0] + x[1]), [cp.sum_squares(x) <= 1, cp.norm(x) >= inner])


def bilinear(unit: float = 1.0, factor: float = 1.0) -> cp.Problem:
    """The product of two numbers and a square: −1.6 at (2, −1)."""
    x, y = cp.Variable(), cp.Variable()
    value = x / unit * y + 0.1 * cp.square(x / unit)
    return cp.Problem(cp.Minimize(factor * value), [x >= -unit, x <= 2 * unit, y >= -1, y <= 1])


def quotient() -> cp.Problem:
    u = cp.Variable(2)
    return cp.Problem(cp.Minimize(u[0] / (1 + cp.square(u[1]))), [u >= -2, u <= 2])


def on_a_circle() -> cp.Problem:
    x = cp.Variable(2)
    return cp.Problem(cp.Minimize(x[0] + x[1]), [cp.sum_squares(x) == 1])


def phases() -> cp.Problem:
    x = cp.Variable(2, bounds=[-2, 2])
    rows = np.random.default_rng(0).normal(size=(8, 2))
    seen = np.square(rows @ [1.0, -0.5])
    return cp.Problem(cp.Minimize(cp.sum_squares(cp.square(rows @ x) - seen)))


KNOWN: dict[str, tuple[cp.Problem, float]] = {
    "two circles": (circles(2), 1 / (2 + np.sqrt(2))),
    "three circles": (circles(3), 0.2543330950),
    "two in a square": (square(2), 2 + np.sqrt(2)),
    "three in a square": (square(3), 2 + (np.sqrt(6) + np.sqrt(2)) / 2),
    "between two spheres": (ball(0.9), -np.sqrt(2)),
    "bilinear": (bilinear(), -1.6),
    "quotient": (quotient(), -2.0),
    "on a circle": (on_a_circle(), -np.sqrt(2)),
    "phases": (phases(), 0.0),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_optima_are_enclosed(name: str) -> None:
    problem, optimum = KNOWN[name]
    bound = dc.lower_bound(problem)
    sign = -1 if isinstance(problem.objective, cp.Maximize) else 1
    assert bound.status == "proved"
    assert sign * bound.value <= sign * optimum + 1e-6 * abs(optimum)
    assert bound.objective == pytest.approx(optimum, rel=2 * GAP, abs=1e-6)
    assert sign * (bound.objective - bound.value) <= GAP * bound.scale * (1 + 1e-9)


def random_form(rng: np.random.Generator, n: int) -> tuple[cp.Problem, np.ndarray]:
    """A quadratic form of both signs in a box: its minimum is on a grid of faces."""
    form = rng.normal(size=(n, n))
    form, tilt = form + form.T, rng.normal(size=n)
    x = cp.Variable(n)
    value = cp.quad_form(x, form, assume_PSD=False) + tilt @ x
    axes = [np.linspace(-1, 1, 21)] * n
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, n)
    found = np.einsum("ka,ab,kb->k", grid, form, grid) + grid @ tilt
    return cp.Problem(cp.Minimize(value), [x >= -1, x <= 1]), found


@pytest.mark.parametrize("seed", range(3))
def test_quadratic_forms_in_a_box(seed: int) -> None:
    problem, grid = random_form(np.random.default_rng(seed), 2 + seed % 3)
    bound = dc.lower_bound(problem)
    assert bound.status == "proved"
    assert bound.value <= np.min(grid) + 1e-9 * bound.scale
    assert bound.objective <= np.min(grid) + GAP * bound.scale


def test_both_doors_agree() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = np.where(X @ [1.0, -2.0] > 0, 1.0, -1.0)
    y[:5] *= -1
    w, b = cp.Variable(2), cp.Variable()
    margins = cp.multiply(y, X @ w + b)
    loss = cp.sum(cp.minimum(cp.pos(1 - margins), 1))
    problem = cp.Problem(cp.Minimize(loss + 0.05 * cp.sum_squares(w)))
    risk = dc.Risk.from_loss(dc.binary_margins(X, y), dc.cap(dc.hinge(), 1.0), dc.l2(0.1))
    ours, theirs = dc.lower_bound(problem), dc.lower_bound(risk)
    assert ours.status == theirs.status == "proved"
    assert ours.value == pytest.approx(theirs.value, rel=2.5 * GAP)


@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_bounds_have_no_units(size: float) -> None:
    plain = dc.lower_bound(bilinear())
    for problem, factor in ((bilinear(unit=size), 1.0), (bilinear(factor=size), size)):
        bound = dc.lower_bound(problem)
        assert bound.status == "proved"
        assert bound.value == pytest.approx(plain.value * factor, rel=2e-3)
        assert bound.nodes <= 2 * plain.nodes + 20


def test_what_no_point_meets_is_infeasible() -> None:
    bound = dc.lower_bound(ball(1.2))
    assert bound.status == "infeasible"
    assert bound.value == np.inf
    assert bound.x is None


def test_infeasible_by_ranges_is_said_where_ranges_of_the_objective_are_infinite() -> None:
    x = cp.Variable(3)
    far = cp.square(cp.xexp(0.02 * x[1] + 2.2 * x[2]))
    rows = [cp.sum_squares(x) <= 89.2**2, x[2] >= 90.092]
    bound = dc.lower_bound(cp.Problem(cp.Minimize(-far), rows))
    assert (bound.status, bound.value) == ("infeasible", np.inf)


def test_a_point_is_inside_its_bounds_beside_entries_of_other_sizes() -> None:
    x, y = cp.Variable(2), cp.Variable()
    rise = sinh(0.9 * x[1] + 0.9 * y / 1e-6 + 0.6 * x[0])
    lower, upper = np.array([0, -1.66]), np.array([2.18, 1])
    limits = [cp.quad_over_lin(y, 1.0) <= 1e-12, lower <= x, x <= upper]
    bound = dc.lower_bound(cp.Problem(cp.Minimize(1.1 * rise), limits))
    assert np.all((bound.variables[x] >= lower) & (bound.variables[x] <= upper))


def test_the_problem_is_left_as_it_was() -> None:
    problem = circles(2)
    for variable in problem.variables():
        variable.value = np.full(variable.shape, 0.25)
    bound = dc.lower_bound(problem)
    assert all(np.all(v.value == 0.25) for v in problem.variables())
    assert problem.status is None
    found = {v.shape: a for v, a in bound.variables.items()}
    assert found[()] == pytest.approx(bound.objective)
    assert pickle.loads(pickle.dumps(bound)).value == bound.value


def test_parameters_have_their_values() -> None:
    x, p = cp.Variable(), cp.Parameter(value=2.0)
    problem = cp.Problem(cp.Minimize(-p * cp.square(x)), [x >= -1, x <= 2])
    assert dc.lower_bound(problem).value == pytest.approx(-8.0, rel=2 * GAP)
    p.value = 3.0
    assert dc.lower_bound(problem).value == pytest.approx(-12.0, rel=2 * GAP)


def pooling() -> cp.Problem:
    """Haverly's second pooling problem: −600."""
    A, B, px, py, cx, cy = (cp.Variable(nonneg=True) for _ in range(6))
    p = cp.Variable(bounds=[1, 3])
    cost = 6 * A + 16 * B + 10 * (cx + cy) - 9 * (px + cx) - 15 * (py + cy)
    return cp.Problem(
        cp.Minimize(cost),
        [
            A + B == px + py,
            p * (px + py) == 3 * A + B,
            p * px + 2 * cx <= 2.5 * (px + cx),
            p * py + 2 * cy <= 1.5 * (py + cy),
            px + cx <= 600,
            py + cy <= 200,
        ],
    )


def complementarity() -> cp.Problem:
    z = cp.Variable(2)
    return cp.Problem(cp.Minimize(cp.sum_squares(z - 1)), [z >= 0, z <= 3, z[0] * z[1] <= 0])


def test_the_upper_side_rises_too() -> None:
    bound = dc.lower_bound(pooling(), time_limit=30)
    assert bound.status == "proved"
    assert bound.objective == pytest.approx(-600, rel=1e-6)
    assert -600 - 1e-5 * bound.scale <= bound.value <= -600


@pytest.mark.parametrize("factor", [1e-9, 1.0, 1e9])
def test_the_gap_of_an_objective_that_is_0_has_its_units(factor: float) -> None:
    x = cp.Variable(bounds=[-0.8, 0])
    share = cp.sqrt(cp.abs(0 * x)) / (1 + cp.maximum(0.6 * x - 0.8, 0))
    bound = dc.lower_bound(cp.Problem(cp.Minimize(factor * cp.maximum(share, -0.4 * x - 1.1))))
    assert bound.status == "proved"
    assert bound.scale <= 1e-3 * factor


def test_a_converged_point_is_the_incumbent() -> None:
    problem = complementarity()
    result = dc.solve(problem)
    assert result.status == "converged"
    bound = dc.lower_bound(problem, start=result, time_limit=10)
    assert bound.status == "proved"
    assert bound.objective <= result.value + 1e-6
    assert bound.value == pytest.approx(1.0, abs=2e-3)


ODD: list[tuple[str, Any, float]] = [
    ("x3 == -1", lambda x: (x[0], [cp.power(x[0], 3) == -1]), -1.0),
    ("x3 - x2", lambda x: (cp.power(x[0], 3) - cp.square(x[0]), []), -12.0),
    ("sum of cubes", lambda x: (x[0], [cp.power(x[0], 3) + cp.power(x[1], 3) == -1]), -2.0),
    ("on an edge", lambda x: (x[0], [cp.power(x[0], 3) - x[1] == -9]), -2.0),
    ("x x x", lambda x: (x[0], [x[0] * x[0] * x[0] == -1]), -1.0),
    ("x3 <= -1", lambda x: (x[0] - 1e-3 * cp.square(x[0]), [cp.power(x[0], 3) <= -1]), -2.004),
    ("fifth", lambda x: (1 / (1 + cp.square(x[0])) + cp.power(x[1], 5), []), -31.8),
    ("xexp", lambda x: (cp.xexp(x[0]) + 0 * x[1], []), -np.exp(-1)),
]


@pytest.mark.parametrize(("make", "optimum"), [one[1:] for one in ODD], ids=[one[0] for one in ODD])
def test_odd_powers_have_both_sides(make: Any, optimum: float) -> None:
    x = cp.Variable(2)
    goal, constraints = make(x)
    bound = dc.lower_bound(cp.Problem(cp.Minimize(goal), [*constraints, cp.abs(x) <= 2]))
    assert bound.status == "proved"
    assert bound.value <= optimum + 1e-9
    assert bound.objective == pytest.approx(optimum, abs=2e-3 * bound.scale)


def test_crests_of_a_cosine_are_not_cut_off() -> None:
    """SCIP's own planes above cos(q) exclude q = 4π where q is between 6.289 and 12.627."""
    a = [2.71087606, 0.00442321, -1.58108962, 0.28375566, 0.43514271, -1.35246411]
    x = cp.Variable(2, bounds=[[-1.45186323, 0.91489376], [0.82307333, 3.32835651]])
    q = a[0] * cp.square(x[0]) + a[1] * cp.square(x[1]) + a[2] * x[0] * x[1]
    q = q + a[3] * x[0] + a[4] * x[1] + a[5]
    bound = dc.lower_bound(cp.Problem(cp.Minimize(0.1 * x[0] - cos(q))), gap=1e-5)
    assert bound.status == "proved"
    assert bound.value <= -1.145186  # at q = 4π, on the edge of x[0]


def test_an_entropy_at_its_edge_is_not_cut_off() -> None:
    n = cp.Variable(integer=True)
    problem = cp.Problem(cp.Minimize(-n), [cp.norm(cp.entr(2 - n)) <= 0.5, n >= -2, n <= 5])
    bound = dc.lower_bound(problem)
    assert (bound.status, bound.objective) == ("proved", -2.0)


@pytest.mark.parametrize("width", [60.0, 200.0])
def test_a_log_of_what_scip_takes_for_infinite_is_not_cut_off(width: float) -> None:
    x, y = cp.Variable(bounds=[0, width]), cp.Variable(bounds=[0, 1])
    bound = dc.lower_bound(cp.Problem(cp.Minimize(-cp.log(cp.exp(x) + cp.exp(y)))))
    assert bound.value <= -np.logaddexp(width, 1.0)
    bound = dc.lower_bound(cp.Problem(cp.Minimize(y - cp.log(1 + (x * 1e6) ** 4))))
    assert bound.value <= -np.log1p((width * 1e6) ** 4)


@pytest.mark.parametrize(("low", "high"), [(1e-5, 1e9), (1e-3, 1e12), (1.0, 1e14)])
def test_a_log_near_the_small_end_of_a_wide_range_is_not_cut_off(low: float, high: float) -> None:
    """SCIP has the argument in the unit of its larger end, and takes less than 1e-9 of it for 0."""
    x = cp.Variable(bounds=[low, high])
    bound = dc.lower_bound(cp.Problem(cp.Minimize(cp.log(x))))
    assert bound.value <= np.log(low)
    assert bound.value == pytest.approx(np.log(low), abs=1e-3)
    bound = dc.lower_bound(cp.Problem(cp.Minimize(cp.log(x) + 1e-3 * cp.square(x))))
    assert bound.value <= np.log(low) + 1e-3 * low**2


def test_an_inverse_sinh_of_what_scip_takes_for_infinite_is_not_cut_off() -> None:
    x, y = cp.Variable(bounds=[-1e9, 1e9]), cp.Variable(bounds=[-1, 1])
    bound = dc.lower_bound(cp.Problem(cp.Minimize(y - asinh(x**3))))
    assert bound.value <= -1 - np.arcsinh(1e27)


@pytest.mark.parametrize(
    ("make", "least"),
    [
        (lambda x: cp.minimum(x**7, cp.Variable(bounds=[-1, 1])) - x / 1000, -1e28),
        (lambda _: -(cp.Variable(bounds=[1e-7, 2]) ** -3), -1e21),
    ],
)
def test_values_that_scip_takes_for_infinite_are_bounded(make: Any, least: float) -> None:
    """The first tree has F in its usual unit, and ends as unbounded beyond 1e20 of it."""
    bound = dc.lower_bound(cp.Problem(cp.Minimize(make(cp.Variable(bounds=[-1e4, 1e4])))))
    assert bound.status == "proved"
    assert bound.value <= least * (1 - 1e-9)
    assert bound.value == pytest.approx(least, rel=GAP)


def test_rounding_at_the_edge_of_a_root_moves_no_bound() -> None:
    x = cp.Variable(2)
    mean = cp.geo_mean(cp.hstack([2.99 - x[0], cp.exp(-x[1] - 0.6)]), p=[1, 3])
    bound = dc.lower_bound(cp.Problem(cp.Minimize(mean), [cp.sum_squares(x) <= 2.99**2]))
    assert bound.value <= 1e-9
    assert bound.objective <= 1e-3


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_bounds_of_roots_do_not_depend_on_the_unit(unit: float) -> None:
    """SCIP's tolerances are absolute: the equation of a root is written in its argument's unit."""
    x = cp.Variable(2)
    parts = cp.hstack([2.99 * unit - x[0], unit * cp.exp(-x[1] / unit - 0.6)])
    ball = cp.sum_squares(x) <= (2.99 * unit) ** 2
    bound = dc.lower_bound(cp.Problem(cp.Minimize(cp.geo_mean(parts, p=[1, 3])), [ball]))
    assert bound.value <= 1e-9 * unit  # the minimum is 0, at x[0] = 2.99 units
    x = cp.Variable(3, bounds=[-4 * unit, 4 * unit])
    cubes = cp.hstack([x[0] ** 3 / unit**2, x[1] ** 3 / unit**2, x[2]])
    goal = -x[0] - 0.5 * x[1] - 0.2 * x[2]
    bound = dc.lower_bound(cp.Problem(cp.Minimize(goal), [cp.norm(cubes) <= 10 * unit]))
    assert bound.status == "proved"
    assert -3.6322 * unit <= bound.value <= -3.62808 * unit


def test_a_failed_run_of_scip_leaves_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """SCIP may state a wrong bound of a troubled linear program while an error ends its run."""
    take, failures = search.GlobalSearch._take, list[str]()

    def wrong(self: search.GlobalSearch, built: search.ScipModel) -> None:
        take(self, built)
        if not failures:
            self.lower = 0.0  # the minimum is −15.86466

    @contextmanager
    def failing(handler: Callable[[], None]) -> Iterator[None]:
        with interrupts_held(handler):
            yield
        if not failures:
            failures.append("LP")
            raise RuntimeError("SCIP: error in LP solver!")

    monkeypatch.setattr(search.GlobalSearch, "_take", wrong)
    monkeypatch.setattr(search, "interrupts_held", failing)
    x = cp.Variable(2, bounds=[-2, 2])
    bound = dc.lower_bound(cp.Problem(cp.Minimize(x[0] ** 3 * x[1] + cp.exp(x[1]))))
    assert failures == ["LP"]
    assert bound.value <= -15.8646


def test_points_at_a_root_s_edge_have_a_value_in_cvxpy() -> None:
    """Maximise −(1.3x − .3)^¼: at 3/13, where rounding decides on which side of 0 it is."""
    x = cp.Variable(2, bounds=[0, [0.34, 0.96]])
    goal = -0.4 * cp.sqrt(cp.sqrt(1.3 * x[1] - 0.3))
    bound = dc.lower_bound(cp.Problem(cp.Maximize(goal)))
    x.value = bound.variables[x]
    assert bound.value >= 0
    assert float(goal.value) == pytest.approx(bound.objective, abs=1e-12)


@pytest.mark.parametrize("seed", range(2))
def test_infeasible_problems_are(seed: int) -> None:
    """The least value of one function of two is above what is asked of it; just above it is not."""
    rng = np.random.default_rng(seed)
    c = rng.normal(size=2)
    x = cp.Variable(2, bounds=[-2, 2])
    g = cp.sum_squares(x - c) + cp.exp(-cp.sum(x)) + sin(3 * x[0])
    least = dc.lower_bound(cp.Problem(cp.Minimize(g)), gap=1e-5)
    asked = [g <= least.value - 1e-3], [g <= least.objective + 1e-3]
    found = [dc.lower_bound(cp.Problem(cp.Minimize(x[0] * x[1]), one)) for one in asked]
    assert [bound.status for bound in found] == ["infeasible", "proved"]
    assert (found[0].value, found[0].x) == (np.inf, None)


def test_the_violation_tells_how_a_point_can_be_below_the_minimum() -> None:
    """x = 1 is the only feasible point; a violation of 1e-6 allows 0.998."""
    x = cp.Variable(bounds=[-3, 3])
    bound = dc.lower_bound(cp.Problem(cp.Minimize(x), [cp.square(x) - 2 * x + 1 == 0]))
    assert bound.value <= 1
    assert 0.998 <= bound.objective < 1
    assert 0 < bound.relative_violation <= 1e-6
    assert f"violation  {bound.relative_violation:.3g}" in repr(bound)


def test_complex_variables_are_bounded() -> None:
    z = cp.Variable(2, complex=True)
    a = np.array([1.0, 1j])
    constraints = [cp.norm(z) <= 1, cp.imag(z[0]) == 0]  # one phase: a search of all takes a minute
    problem = cp.Problem(cp.Maximize(cp.square(cp.abs(a @ z))), constraints)
    bound = dc.lower_bound(problem, start=dc.solve(problem))
    assert bound.value == pytest.approx(2.0, rel=2 * GAP)
    assert np.abs(a @ bound.variables[z]) ** 2 == pytest.approx(bound.objective, rel=1e-6)


def test_a_second_order_cone_is_bounded() -> None:
    x, t = cp.Variable(2), cp.Variable()
    problem = cp.Problem(cp.Minimize(x[0] * x[1] + t), [cp.SOC(t, x), cp.norm(x) >= 1, t <= 3])
    bound = dc.lower_bound(problem)
    assert bound.status == "proved"
    assert bound.objective == pytest.approx(-1.5, abs=2e-3)


def test_numbers_are_whole_where_they_must_be() -> None:
    """A knapsack of six: 18, by the second and the last."""
    take = cp.Variable(6, boolean=True)
    worth, weight = np.array([3, 5, 6, 10, 11, 13]), np.array([3, 4, 5, 8, 9, 10])
    bound = dc.lower_bound(cp.Problem(cp.Maximize(worth @ take), [weight @ take <= 14]))
    assert (bound.status, bound.objective) == ("proved", 18.0)
    assert bound.variables[take].tolist() == [0, 1, 0, 0, 0, 1]
    some = cp.Variable((2, 2), integer=[(0, 1), (0, 1)])  # the diagonal alone
    goal = cp.sum_squares(some - np.array([[0.4, 0.6], [1.3, 2.5]]))
    bound = dc.lower_bound(cp.Problem(cp.Minimize(goal), [cp.abs(some) <= 5]))
    assert bound.objective == pytest.approx(0.41, abs=1e-6)


@pytest.mark.parametrize(("low", "wide"), [(5e8, 1e8), (-1.6e9, 1e9)])
def test_whole_numbers_may_be_large(low: float, wide: float) -> None:
    x = cp.Variable(integer=True)
    share = (x - low) / wide
    both = [x >= low, x <= low + wide]
    square = cp.square(2 * share + 0.1) - cp.abs(share - 0.7)
    bound = dc.lower_bound(cp.Problem(cp.Maximize(square), both))
    assert bound.status == "proved"
    assert bound.objective == pytest.approx(4.11)
    assert bound.value >= 4.11
    tiny = dc.lower_bound(cp.Problem(cp.Minimize(cp.nlp.cos(1 + share) - 5e-10 * x), both))
    least = np.cos(2.0) - 5e-10 * (low + wide)
    assert tiny.value <= least + 1e-12
    assert tiny.objective == pytest.approx(least)


def test_an_equation_of_large_whole_numbers_cuts_off_no_point() -> None:
    """The least of 41 points, at (5499, 2668)."""
    x, y = cp.Variable(integer=True), cp.Variable(integer=True)
    box = [x >= 0, x <= 1e4, y >= 0, y <= 1e4]
    goal = cp.Minimize(cp.nlp.sin(20 * x / 1e4) + y / 1e4)
    bound = dc.lower_bound(cp.Problem(goal, [*box, 185 * x - 169 * y == 566423]))
    assert bound.value <= np.sin(20 * 0.5499) + 0.2668


def test_a_search_that_is_closed_before_its_first_node_ends_in_silence(
    capfd: pytest.CaptureFixture[str],
) -> None:
    x = cp.Variable(integer=True)
    share = 0.89 * (x + 2) / 100 - 1.21
    cap = cp.minimum(cp.square(0.76 - 0.84 * x), 0.5)
    goal = 4.3 * share * (share - 1) + 0.8 * cap + 1.8 * cp.nlp.sin(1.67 * x + 1.09)
    bound = dc.lower_bound(cp.Problem(cp.Maximize(goal), [x >= -54, x <= 46]))
    assert bound.status == "proved"
    assert capfd.readouterr().err == ""


def test_a_wrong_bound_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that says too much: a point that contradicts it is found, and nothing is claimed."""
    wrong = terms.Abs
    monkeypatch.setattr(wrong, "expression", lambda self, arg: (arg.expression * 3, arg.factor))
    x = cp.Variable(2, bounds=[[1, 1], [4, 4]])
    with pytest.raises(dc.WrongBound, match="was said to bound") as caught:
        dc.lower_bound(cp.Problem(cp.Minimize(cp.sum(cp.abs(x)) - 0.1 * x[0])))
    assert caught.value.value < caught.value.claim


def test_without_pyscipopt_the_message_names_the_install_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pyscipopt", None)
    with pytest.raises(ImportError, match="pip install pyscipopt"):
        dc.lower_bound(bilinear())


def test_starts_and_resuming() -> None:
    problem = circles(3)
    centre, radius = sorted(problem.variables(), key=lambda v: -v.size)
    start: dict[cp.Variable, Any] = {
        centre: np.array([[0.2, 0.2], [0.8, 0.2], [0.5, 0.8]]),
        radius: 0.1,
    }
    stopped = dc.lower_bound(problem, start=start, time_limit=0.05)
    assert stopped.status == "time_limit"
    assert stopped.objective >= 0.1
    assert stopped.value >= 0.2543
    resumed = dc.lower_bound(problem, start=stopped)
    assert resumed.status == "proved"
    assert resumed.nodes > stopped.nodes
    with pytest.raises(ValueError, match="no value for variable"):
        dc.lower_bound(problem, start={centre: start[centre]})


def test_a_box_restricts_a_problem() -> None:
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(x[0] * x[1]))
    with pytest.raises(dc.NotBoundable, match="entry 0"):
        dc.lower_bound(problem)
    bound = dc.lower_bound(problem, box=([-1.0, -2.0], [3.0, 1.0]))
    assert bound.status == "proved"
    assert bound.value == pytest.approx(-6.0, rel=2 * GAP)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda x: (cp.lambda_max(cp.diag(x)), []), "lambda_max"),
        (lambda x: (x[0], [cp.diag(x) >> 0]), "PSD"),
        (lambda x: (x[0], [cp.FiniteSet(x[0], [0, 1])]), "finitely many"),
        (lambda x: (cp.Variable((2, 2), NSD=True)[0, 0], []), "NSD"),
        (lambda x: (cp.log(x[0] + 1), []), "range of a Log"),
        (lambda x: (1 / x[0], []), "range of a Power"),
        (lambda x: (cp.sum(cp.Variable(2, integer=True, name="n")), []), "`n .entry 0.`"),
        (lambda x: (x[0] * np.nan, []), "NaN"),
    ],
)
def test_what_cannot_be_bounded_is_named(make: Any, words: str) -> None:
    x = cp.Variable(2, bounds=[-1, 1])
    objective, constraints = make(x)
    with pytest.raises(ValueError, match=words):
        dc.lower_bound(cp.Problem(cp.Minimize(objective), constraints))


def test_sums_that_round_do_not_empty_a_box() -> None:
    """v ≥ .1 and v² ≤ .01 leave v = .1, where .1² is above .01 by rounding."""
    u, v = cp.Variable(bounds=[-3, 3]), cp.Variable(bounds=[0.1, 1])
    w = cp.Variable(2)
    sums = [w >= np.array([0.1, 0.2]), cp.sum(w) <= 0.3]
    numbers = [cp.Constant((0.1 + 0.2) * 1e9) == 0.3e9]
    for held in ([cp.square(v) <= 0.01], sums, numbers):
        bound = dc.lower_bound(cp.Problem(cp.Minimize(cp.power(u, 4) - cp.square(u)), held))
        assert bound.status == "proved"
        assert bound.objective == pytest.approx(-0.25, abs=1e-3)


def test_a_box_holds_for_every_point() -> None:
    x, y = cp.Variable(bounds=[-2, 3]), cp.Variable(bounds=[-1, 1])
    bound = dc.lower_bound(cp.Problem(cp.Minimize(cp.power(x, 3) + y)), box=(0, 1))
    assert bound.objective == pytest.approx(0, abs=1e-9)
    assert bound.x is not None
    assert np.all(bound.x >= 0)


def test_a_start_that_is_infeasible_by_now_is_not_taken() -> None:
    x, y, least = cp.Variable(bounds=[-2, 3]), cp.Variable(bounds=[-1, 1]), cp.Parameter(value=-5.0)
    problem = cp.Problem(cp.Minimize(x * y + x), [x + y >= least])
    before = dc.solve(problem)
    bounded = dc.lower_bound(problem)
    least.value = 1.5
    for start in (before, bounded):
        bound = dc.lower_bound(problem, start=start)
        assert bound.objective == pytest.approx(0, abs=1e-6)
        assert bound.value <= 0


def test_a_bound_that_moved_is_not_resumed() -> None:
    top = cp.Parameter(nonneg=True, value=2.0)
    x, y = cp.Variable(bounds=[-1, top]), cp.Variable(bounds=[1, 2])
    problem = cp.Problem(cp.Minimize(-x * y), [])
    before = dc.lower_bound(problem)
    top.value = 1.0
    assert dc.lower_bound(problem, start=before).objective == pytest.approx(-2.0, abs=1e-2)


def test_a_search_is_not_resumed_while_it_runs() -> None:
    problem = circles(6)
    before = dc.lower_bound(problem, time_limit=0.5)
    inner = []

    def again(bound: dc.Bound) -> bool:
        inner.append(dc.lower_bound(problem, start=before, time_limit=0.2))
        return True

    stopped = dc.lower_bound(problem, start=before, callback=again, time_limit=60)
    assert stopped.status == "stopped"
    assert inner[0].value >= 0.187


def test_small_coefficients_within_squares_count() -> None:
    # in SCIP's units, taken at the best point 0, a product has the coefficient 2e-7; squared out
    # it was dropped, and 0 "proved" optimal
    X = np.random.default_rng(400).normal(size=(5, 7))
    d, a = cp.Variable((5, 1)), cp.Variable((1, 7))
    objective = cp.Minimize(cp.sum_squares(X - d @ a) + 1.5 * cp.norm1(a))
    problem = cp.Problem(objective, [cp.norm(d, "fro") <= 1])
    bound = dc.lower_bound(
        problem, start={d: np.zeros(d.shape), a: np.zeros(a.shape)}, time_limit=1
    )
    u, sizes, v = np.linalg.svd(X)
    d.value, a.value = u[:, :1], 0.6 * sizes[0] * v[:1]
    assert objective.value < 33
    assert bound.value <= objective.value


def test_where_an_exponential_is_wild_nothing_is_proved_by_its_size() -> None:
    # e^709 at the other end of the box was the scale of the gap: "proved", with a bound of −1e105
    x = cp.Variable()
    objective = cp.Minimize(cp.exp(-x) + 2 * cp.abs(x) + 0.3 * x)
    bound = dc.lower_bound(cp.Problem(objective, [x <= 0]), time_limit=20)
    assert bound.value <= 1
    assert bound.status != "proved" or bound.value >= 1 - 1e-3


@pytest.mark.parametrize(("away", "power"), [(1e-7, -3), (1e-8, -2)])
def test_a_sum_that_cancels_under_a_steep_power_has_a_weaker_bound(
    away: float, power: float
) -> None:
    x = cp.Variable(bounds=[-10000, -9000])
    problem = cp.Problem(cp.Minimize(-cp.power(x + 10000 + away, power)))
    bound = dc.lower_bound(problem, time_limit=30)
    x.value = -10000.0
    least = float(problem.objective.value)
    assert least * (1 + 1e-2) <= bound.value <= least
    assert bound.status == "inaccurate"


@pytest.mark.parametrize("whole", [False, True])
def test_a_term_that_is_finite_on_every_part_of_the_box_is_bounded(whole: bool) -> None:
    # the ranges of x² and −x add up to one across 0; 1/x² has its pole between two whole numbers
    x = cp.Variable(integer=whole)
    goal = cp.log(cp.square(x) - x + 1) + (-cp.inv_pos(cp.square(x - 0.5)) if whole else 0)
    bound = dc.lower_bound(cp.Problem(cp.Minimize(goal), [x >= -2, x <= 3]))
    least = -4.0 if whole else np.log(0.75)
    assert bound.status == "proved"
    assert bound.objective == pytest.approx(least)


@pytest.mark.parametrize("is_declared", [True, False])
def test_log_sum_exp_of_what_exp_takes_to_infinity_is_bounded(is_declared: bool) -> None:
    x = cp.Variable(2, bounds=[-1e6, 1e6] if is_declared else None)
    inside = [] if is_declared else [cp.abs(x) <= 1e6]
    bound = dc.lower_bound(cp.Problem(cp.Minimize(cp.log_sum_exp(x) - 0.3 * x[0]), inside))
    assert bound.value == pytest.approx(-0.7e6 + np.log(2), rel=1e-3)
    assert bound.value <= -0.7e6 + np.log(2)


def test_log_sum_exp_of_small_arguments_is_one_sum_where_constraints_bound_the_variables() -> None:
    rng = np.random.default_rng(2)
    A, B = rng.normal(size=(8, 3)), rng.normal(size=(8, 3))
    x = cp.Variable(3)
    difference = cp.log_sum_exp(A @ x) - cp.log_sum_exp(B @ x)  # by pairs the bound is 50% off
    problem = cp.Problem(cp.Minimize(difference), [x >= -2, x <= 2])
    operations = FactorableProblem(problem).terms.operations
    assert not any(isinstance(operation, terms.Logistic) for operation, _ in operations)
    assert dc.lower_bound(problem).status == "proved"
