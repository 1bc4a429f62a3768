"""Ctrl-C in a loop of solves: the first ends a solve, the second ends the loop."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import pytest

import dcprog as dc

X = cp.Variable(2)
PROBLEM = cp.Problem(cp.Minimize(cp.sum_squares(X - 3)), [cp.norm(X) >= 1, cp.norm(X - 3) >= 1])


@pytest.fixture(autouse=True)
def _a_program_of_its_own() -> Iterator[None]:
    """Python's own handler, which a background process may lack, and no press before."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    dc.solve(cp.Problem(cp.Minimize(cp.square(X[0]))))
    yield
    signal.signal(signal.SIGINT, handler)


def loop(presses: set[int]) -> list[str]:
    """The statuses of four solves, in some of which Ctrl-C is pressed."""
    seen: list[str] = []

    def press(progress: Any) -> None:
        if len(seen) in presses:
            signal.raise_signal(signal.SIGINT)

    try:
        for _ in range(4):
            seen.append(dc.solve(PROBLEM, start="convex", callback=press).status)
    except KeyboardInterrupt:
        seen.append("raised")
    return seen


def test_the_second_press_raises_and_keeps_the_point() -> None:
    assert loop({1, 2}) == ["converged", "interrupted", "raised"]
    assert X.value is not None


def test_presses_apart_end_a_solve_each() -> None:
    assert loop({0, 2}) == ["interrupted", "converged", "interrupted", "converged"]
