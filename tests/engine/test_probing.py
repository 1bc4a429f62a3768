"""Looking around points that seem critical: saddles are left, constraints are heeded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog.engine.descent import descend, downhill
from dcprog.engine.protocol import Nearby, guarded
from dcprog.engine.track import Settings
from dcprog.foundation.arrays import Array
from dcprog.problem.surrogate import ProblemSurrogate

RNG = np.random.default_rng(0)
S = RNG.standard_normal((4, 4))
S = S @ S.T


class Landscape:
    """What ``downhill`` asks of a surrogate."""

    def __init__(
        self,
        function: Callable[[Array], float],
        outside: Callable[[Array], float] = lambda x: 0.0,
        unit: float = 1.0,
        proposed: tuple[Array, ...] = (),
    ) -> None:
        self.value = function
        self.domain = self.nearby = self
        self.outside = outside
        self.unit = unit
        self.proposed = proposed
        self.limits: list[float | None] = []

    def either_side(self, x: Array, ways: Array, leeway: float) -> Array:
        return Nearby(self).either_side(x, ways, leeway)  # type: ignore[arg-type]

    def units(self, x: Array) -> Array:
        return np.full(x.size, self.unit)

    def proposals(self, x: Array, rng: Any, time_limit: float | None = None) -> Iterator[Array]:
        self.limits.append(time_limit)
        return iter(self.proposed)


def look(landscape: Any, x: Array, below: float, **options: Any) -> tuple[Array, float] | None:
    return downhill(landscape, x, below, np.random.default_rng(0), **options)


def saddle(x: Array) -> float:
    return float(x[0] ** 2 - x[1] ** 2)


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_a_saddle_is_left(unit: float) -> None:
    found = look(Landscape(lambda x: saddle(x / unit), unit=unit), np.zeros(2), -1e-6)
    assert found is not None
    point, value = found
    assert value == saddle(point / unit) < -1e-6


def test_at_a_minimum_there_is_nothing() -> None:
    bowl = Landscape(lambda x: float(x @ x))
    assert look(bowl, np.zeros(3), 0.0, wide=True) is None
    assert look(bowl, np.zeros(3), -1e-9) is None
    assert look(Landscape(lambda x: 0.0), np.zeros(0), -1.0) is None


def test_no_point_outside_the_constraints_is_taken() -> None:
    half = Landscape(saddle, outside=lambda x: max(0.0, x[1]))
    found = look(half, np.zeros(2), 0.0)
    assert found is not None
    assert found[0][1] <= 1e-9
    line = Landscape(saddle, outside=lambda x: abs(float(x[1])))
    assert look(line, np.zeros(2), -1e-12) is None


def test_as_far_outside_as_x_is_allowed() -> None:
    slope = Landscape(lambda x: float(x[0]), outside=lambda x: max(0.0, 1 - float(x[0])))
    assert look(slope, np.array([1.0]), 1 - 1e-7) is None
    found = look(slope, np.array([0.5]), 0.5 - 1e-7)
    assert found is None  # every lower point is further outside


def test_far_points_only_when_asked() -> None:
    hollow = Landscape(lambda x: float(min(x @ x, 1 - 1e-3 * (x @ x))))
    assert look(hollow, np.zeros(2), -1e-6) is None
    assert look(hollow, np.zeros(2), -1e-6, wide=True) is not None


@pytest.mark.parametrize("wide", [True, False])
def test_the_surrogates_own_proposals(wide: bool) -> None:
    """On a curve, which no direction follows."""
    low, outside = np.array([2.0, 4.0]), np.array([2.0, 3.0])
    landscape = Landscape(
        lambda x: -float(x[0] ** 2),
        lambda x: abs(float(x[1] - x[0] ** 2)),
        proposed=(outside, low),
    )
    on_curve = look(landscape, np.zeros(2), -1.0, wide=wide, time_limit=3.0)
    assert on_curve is not None
    np.testing.assert_array_equal(on_curve[0], low)
    assert landscape.limits == [3.0]


def test_values_that_are_none() -> None:
    def raises(x: Array) -> float:
        raise np.linalg.LinAlgError

    assert guarded(raises, np.zeros(1)) == np.inf
    assert guarded(lambda x: np.nan, np.zeros(1)) == np.inf
    assert guarded(lambda x: -np.inf, np.zeros(1)) == -np.inf
    assert look(Landscape(raises), np.zeros(2), 0.0, wide=True) is None
    with pytest.raises(KeyboardInterrupt):
        guarded(lambda x: (_ for _ in ()).throw(KeyboardInterrupt), np.zeros(1))


# ----------------------------------------------------------------------------------------------
# from symmetric points


def in_a_box() -> cp.Problem:
    x = cp.Variable(4)
    return cp.Problem(cp.Maximize(cp.quad_form(x, S)), [x >= 0, x <= 1])


def sparse_component() -> cp.Problem:
    x = cp.Variable(4)
    goal = cp.quad_form(x, S) - 0.5 * cp.norm1(x)
    return cp.Problem(cp.Maximize(goal), [cp.norm(x) <= 1])


def squares() -> cp.Problem:
    A = np.random.default_rng(1).standard_normal((20, 4))
    x = cp.Variable(4)
    residuals = cp.square(A @ x) - (A @ [1, -1, 0.5, 2.0]) ** 2
    return cp.Problem(cp.Minimize(cp.sum_squares(residuals) / 20))


def bilinear() -> cp.Problem:
    x = cp.Variable(2)
    return cp.Problem(cp.Minimize(x[0] * x[1]), [cp.abs(x) <= 1])


def wells() -> cp.Problem:
    x = cp.Variable(3)
    return cp.Problem(cp.Minimize(cp.sum_squares(cp.square(x) - 1)))


SYMMETRIC: dict[str, tuple[Callable[[], cp.Problem], float]] = {
    "in a box": (in_a_box, -1e-3),
    "sparse component": (sparse_component, -8.39),
    "squares": (squares, 1e-5),
    "bilinear": (bilinear, -0.999),
    "wells": (wells, 1e-5),
}


@pytest.mark.parametrize("name", SYMMETRIC)
def test_the_default_start_does_not_stay_at_a_symmetric_point(name: str) -> None:
    make, most = SYMMETRIC[name]
    problem = make()
    result = dc.solve(problem)
    assert result.status == "converged"
    lowest = -result.value if isinstance(problem.objective, cp.Maximize) else result.value
    assert lowest <= most


@pytest.mark.parametrize("name", SYMMETRIC)
def test_from_the_symmetric_point_itself(name: str) -> None:
    make, most = SYMMETRIC[name]
    surrogate = ProblemSurrogate(make())
    zero = np.zeros(surrogate.points.size)
    run = descend(surrogate, zero)
    assert run.status == "converged"
    assert surrogate.facts.sign * run.value <= most
    assert run.x is not None
    assert surrogate.domain.is_feasible(run.x)


@pytest.mark.parametrize("name", ["in a box", "squares", "wells"])
def test_without_escapes_the_majorants_have_the_last_word(name: str) -> None:
    make, most = SYMMETRIC[name]
    surrogate = ProblemSurrogate(make())
    zero = np.zeros(surrogate.points.size)
    run = descend(surrogate, zero, Settings(escape=False))
    assert surrogate.facts.sign * run.value > most


@pytest.mark.parametrize("escape", [True, False])
def test_descent_holds_either_way(escape: bool) -> None:
    result = dc.solve(squares(), escape=escape, start="random", random_state=1)
    assert result.status == "converged"
    assert np.all(np.diff(result.history.value) <= 1e-7 * result.history.value[0])


def test_escape_is_a_flag() -> None:
    with pytest.raises(ValueError, match="escape='yes'"):
        dc.solve(wells(), escape="yes")  # type: ignore[arg-type]


def test_a_tie_that_hides_a_slope_is_left() -> None:
    """F = |x| − max(x, 0)·2 falls to the right of 0; the subgradient at the tie says otherwise."""
    x = cp.Variable()
    goal = cp.abs(x) - 2 * cp.pos(x) + 0.1 * cp.square(x)
    result = dc.solve(cp.Problem(cp.Minimize(goal)), start={x: 0.0})
    assert result.status == "converged"
    assert float(result.variables[x]) == pytest.approx(5, rel=1e-5)
