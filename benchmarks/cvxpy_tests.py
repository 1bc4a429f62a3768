"""A pytest plugin: every nonlinear solve of cvxpy's own tests, by ``dc.solve`` as well.

It prints how often ``dc.solve`` ends as low, within 1e-4 relative to max(1, |value|), as the solver
that the test names, and the tests in which it does not. cvxpy's tests are in its wheel; they need
UNO or IPOPT (``pip install unopy cyipopt``).

    python -m pytest -q -p benchmarks.cvxpy_tests PATH/cvxpy/tests/nlp_tests
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc

NEAR, FEASIBLE = 1e-4, 1e-4
LIMIT = 60.0  # seconds a problem
MARKERS = ("knitro", "copt")  # of cvxpy's configuration

_solve = cp.Problem.solve
_compared: list[tuple[str, bool, str]] = []
_now = {"test": "", "busy": ""}


def pytest_configure(config: pytest.Config) -> None:
    """Compare from now on."""
    for name in MARKERS:
        config.addinivalue_line("markers", f"{name}: a solver of cvxpy's")
    cp.Problem.solve = _both  # type: ignore[method-assign]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Note the test that runs."""
    _now["test"] = item.nodeid
    yield


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the counts and the losers."""
    good = sum(1 for _, as_good, _ in _compared if as_good)
    terminalreporter.write_line(f"as good: {good} of {len(_compared)}")
    for test, as_good, told in _compared:
        if not as_good:
            terminalreporter.write_line(f"  {test}: {told}")


def _both(problem: cp.Problem, *args: Any, **options: Any) -> Any:
    if not options.get("nlp") or _now["busy"]:
        return _solve(problem, *args, **options)
    _now["busy"] = "yes"  # best_of solves again and again
    try:
        saved = [(v, deepcopy(v._value)) for v in problem.variables()]  # sparse where v is
        ours, told = _ours(problem)
        for variable, value in saved:
            variable._value = value
        found = _solve(problem, *args, **options)
        if problem.status in cp.settings.SOLUTION_PRESENT:
            sign = -1 if isinstance(problem.objective, cp.Maximize) else 1
            above = ours - sign * float(problem.value)
            as_good = above <= NEAR * max(1.0, abs(float(problem.value)))
            _compared.append((_now["test"], bool(as_good), f"{told}, {problem.value:.7g}"))
        return found
    finally:
        _now["busy"] = ""


def _ours(problem: cp.Problem) -> tuple[float, str]:
    """The value of the minimisation by ``dc.solve``, infinite at an infeasible point."""
    try:
        result = dc.solve(problem, time_limit=LIMIT)
    except Exception as error:
        return np.inf, f"{type(error).__name__}: {error}"
    if any(v.value is None for v in problem.variables()):
        return np.inf, str(result.status)
    missed = max([0.0, *(float(np.max(np.abs(c.violation()))) for c in problem.constraints)])
    sign = -1 if isinstance(problem.objective, cp.Maximize) else 1
    value = sign * float(result.value) if missed <= FEASIBLE else np.inf
    return value, f"{result.status}: {result.value:.7g}"
