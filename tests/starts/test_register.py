"""Starts and moves from outside: they join the race, are named, and cannot harm it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog.foundation.arrays import Array
from dcprog.moves.registry import MOVES
from dcprog.starts.protocol import Candidate
from dcprog.starts.registry import STARTS

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
Y = np.where(X[:, 0] + 0.5 * RNG.standard_normal(60) > 0, 1, -1)
Y[:8] *= -1
RAMP = dc.Risk.from_loss(dc.binary_margins(X, Y), dc.cap(dc.hinge(), 1.0), dc.l2(0.1))
PLAIN: dict[str, Any] = {"start": "convex", "n_starts": 1}


class Known:
    """A point that is known to be good, as a start and as a move."""

    point = np.asarray(dc.solve(RAMP, effort="high").x)

    def takes(self, surrogate: Any) -> str | None:
        return None if isinstance(surrogate.declared, dc.Risk) else "it is no risk"

    def points(self, surrogate: Any, *_: Any) -> Iterator[Array]:
        yield self.point


class Broken(Known):
    """A useless point, and then an error."""

    def points(self, surrogate: Any, *_: Any) -> Iterator[Array]:
        yield np.full(4, np.nan)
        raise RuntimeError("broken")


def test_a_start_by_name_begins_at_its_first_point() -> None:
    dc.register_start("known", Known)
    found = dc.solve(RAMP, start=["known", "convex"], n_starts=2)
    assert [start.kind for start in found.starts] == ["known", "convex"]
    assert found.starts[0].value <= dc.solve(RAMP, **PLAIN).value
    assert found.value <= RAMP(Known.point) + 1e-9


def test_the_points_of_a_start_and_of_a_move_join_every_race() -> None:
    best = RAMP(Known.point)
    dc.register_start("known", Known)
    assert dc.solve(RAMP).value <= best + 1e-9
    del STARTS["known"]
    dc.register_move("known", Known)
    assert dc.solve(RAMP).value <= best + 1e-9


def test_what_they_raise_leaves_the_race_as_it_was() -> None:
    before = dc.solve(RAMP)
    dc.register_start("broken", Broken)
    dc.register_move("broken", Broken)
    after = dc.solve(RAMP)
    assert after.status == "converged"
    assert after.value <= before.value + 1e-9 * abs(before.value)


class Late:
    """The minimum of two wells, when there is no time left to run from it."""

    def takes(self, surrogate: Any) -> str | None:
        return None

    def points(self, surrogate: Any, budget: Any) -> Iterator[Candidate]:
        while budget.deadline.left:
            time.sleep(0.01)
        yield Candidate("late", np.array([-3.0]), 0.0)


def test_a_lower_point_is_kept_where_the_time_is_over() -> None:
    x = cp.Variable()
    wells = cp.minimum(cp.square(x - 3) + 1, cp.square(x + 3))
    problem = cp.Problem(cp.Minimize(wells), [x >= -5, x <= 5])
    assert dc.solve(problem, start={x: 2.0}).value == pytest.approx(1)
    STARTS.clear()
    dc.register_start("late", Late)
    result = dc.solve(problem, start=[{x: 2.0}], time_limit=0.5)
    assert result.value == 0
    assert result.total_time < 5


class Short(Known):
    """A point of another problem."""

    def points(self, surrogate: Any, *_: Any) -> Iterator[Array]:
        yield np.zeros(3)
        yield self.point


class Guarded(dc.ConvexLoss):
    """A hinge that raises far from the data: no candidate is worth the plain run."""

    def __call__(self, u: Any) -> Array:
        if np.any(np.abs(u) > 1e3):
            raise RuntimeError("far out")
        return np.maximum(1 - np.asarray(u), 0.0)

    def slope(self, u: Any) -> Array:
        return -(np.asarray(u) < 1.0).astype(float)

    def expression(self, u: Any) -> Any:
        return cp.pos(1 - u)


class Far(Known):
    """A point at which the loss raises."""

    point = np.full(4, 1e6)


@pytest.mark.parametrize("register", [dc.register_start, dc.register_move])
def test_a_loss_that_raises_at_their_points_leaves_the_plain_run(register: Any) -> None:
    risk = dc.Risk.from_loss(RAMP.rows, dc.cap(Guarded(), 1.0), dc.l2(0.1))
    register("far", Far)
    assert dc.solve(risk).value <= dc.solve(risk, **PLAIN).value + 1e-9


@pytest.mark.parametrize("register", [dc.register_start, dc.register_move])
def test_a_point_of_wrong_size_is_named_and_skipped(register: Any) -> None:
    register("short", Short)
    with pytest.warns(UserWarning, match=r"'short' has given a point of shape \(3,\)"):
        result = dc.solve(RAMP)
    assert result.value <= RAMP(Known.point) + 1e-9


def test_a_start_that_does_not_take_a_problem_says_why() -> None:
    dc.register_start("known", Known)
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.norm(x, 1) - cp.norm(x)), [x >= -1, x <= 1])
    with pytest.raises(ValueError, match="does not take this problem: it is no risk"):
        dc.solve(problem, start="known")
    with pytest.raises(ValueError, match="is 'known' meant"):
        dc.solve(problem, start="unknown")


def test_zero_is_a_start_where_the_penalty_outweighs_the_losses() -> None:
    """Absolute losses of 30 samples and 40 coefficients under log-sum: F(0) is a good point."""
    rng = np.random.default_rng(1)
    A, b = rng.standard_normal((30, 40)), rng.standard_normal(30)
    risk = dc.Risk.from_loss(dc.residual_rows(A, b), dc.cap(dc.absolute(), 1.0), dc.l2(50.0))
    zero = dc.solve(risk, start="zero", n_starts=1)
    assert [start.kind for start in zero.starts] == ["zero"]
    assert zero.value <= risk(np.zeros(41)) + 1e-9
    assert dc.solve(risk).value <= risk(np.zeros(41)) + 1e-9


@pytest.mark.parametrize("register", [dc.register_start, dc.register_move])
@pytest.mark.parametrize(
    ("name", "strategy", "error", "reason"),
    [
        (3, Known, TypeError, "a string is needed"),
        ("mine", Known(), TypeError, "a class with takes and points"),
        ("mine", int, TypeError, "it has no takes, points"),
        ("auto", Known, ValueError, "taken"),
        ("convex", Known, ValueError, "taken"),
    ],
)
def test_what_is_no_strategy_is_refused(
    register: Any, name: Any, strategy: Any, error: type[Exception], reason: str
) -> None:
    with pytest.raises(error, match=reason):
        register(name, strategy)
    assert "mine" not in STARTS
    assert "mine" not in MOVES
