"""Ctrl-C in a loop of solves: the first ends a solve, the second ends the loop."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import os, signal
import cvxpy as cp, dcprog as dc

x = cp.Variable(2)
problem = cp.Problem(cp.Minimize(cp.sum_squares(x - 3)), [cp.norm(x) >= 1, cp.norm(x - 3) >= 1])

def loop(presses):
    seen = []
    def press(progress):
        if len(seen) in presses:
            os.kill(os.getpid(), signal.SIGINT)
    try:
        for _ in range(4):
            seen.append(dc.solve(problem, start="convex", callback=press).status)
    except KeyboardInterrupt:
        seen.append("raised" if x.value is not None else "lost")
    print(*seen)

loop({1, 2})
loop({0, 2})
"""


def test_the_second_press_raises() -> None:
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    in_turn, apart = told.stdout.splitlines()
    assert in_turn == "converged interrupted raised"
    assert apart == "interrupted converged interrupted converged"
