"""What is compared: a method takes an instance and hands back a point.

DCCP (``pip install dccp``) and cvxpy's nonlinear path with UNO (``pip install unopy``) take part
where they are installed and the family has a statement for them.
"""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import multiprocessing
import os
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import dcprog as dc
from benchmarks.optima.instance import Array, Form, Instance

Method = Callable[[Instance, int], "Array | None"]  # None: it takes no such problem
FEASIBLE = 1e-5  # of what a constraint bounds


@dataclass(frozen=True)
class Attempt:
    """What a method reached, ∞ where it failed, and how long it took."""

    value: float
    seconds: float
    why: str = ""


class TooLong(Exception):
    """A method is over its time."""


def solved(instance: Instance, seed: int, **options: Any) -> Array:
    """dcprog with some options."""
    form = instance.form()
    return form.point(dc.solve(form.problem, **options))


def convex_concave(instance: Instance, seed: int) -> Array | None:
    """DCCP from its own random start."""
    form = instance.convex_concave()
    if form is None:
        return None
    form.problem.solve(method="dccp", seed=seed, solver="CLARABEL")
    return form.read()


def nonlinear(instance: Instance, seed: int, solver: str) -> Array | None:
    """cvxpy's nonlinear path."""
    form: Form | None = instance.smooth()
    if form is None:
        return None
    options = {"logger": "SILENT"} if solver == "UNO" else {}
    form.problem.solve(nlp=True, solver=solver, **options)
    return form.read()


def _all() -> dict[str, Method]:
    methods: dict[str, Method] = {
        "plain": partial(solved, start="convex", n_starts=1),
        "default": solved,
        "starts20": partial(solved, start="convex", n_starts=20),
    }
    if "effort" in inspect.signature(dc.solve).parameters:
        methods |= {effort: partial(solved, effort=effort) for effort in ("low", "high")}
    if importlib.util.find_spec("dccp"):
        importlib.import_module("dccp")  # it registers itself
        methods["dccp"] = convex_concave
    for package, solver in (("unopy", "UNO"), ("cyipopt", "IPOPT")):
        if importlib.util.find_spec(package):
            methods[solver.lower()] = partial(nonlinear, solver=solver)
    return methods


METHODS = _all()
FOREIGN = ("dccp", "uno", "ipopt")


def attempt(name: str, instance: Instance, seed: int, limit: float) -> Attempt | None:
    """Run a method; F and feasibility are judged by the instance alone."""
    run = apart if name in FOREIGN else at_most
    begin = time.perf_counter()
    try:
        with _quiet():
            point, seconds = run(limit, METHODS[name], instance, seed)
    except Exception as failure:  # whatever a method raises is its answer
        why = f"{type(failure).__name__}: {failure}".splitlines()[0]
        return Attempt(np.inf, time.perf_counter() - begin, why)
    if point is None:
        return None
    return Attempt(*_judged(instance, point, seconds))


def _judged(instance: Instance, point: Array, seconds: float) -> tuple[float, float, str]:
    if point.shape != (instance.size,) or not np.all(np.isfinite(point)):
        return np.inf, seconds, "no finite point"
    violation = instance.violation(point)
    if not violation <= FEASIBLE:
        return np.inf, seconds, f"violation {violation:.1e}"
    value = instance.objective(point)
    return (value if np.isfinite(value) else np.inf), seconds, ""


Timed = tuple["Array | None", float]


def _timed(method: Method, instance: Instance, seed: int) -> Timed:
    begin = time.process_time()  # other work on the machine is nobody's time
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        point = method(instance, seed)
    return point, time.process_time() - begin


def at_most(limit: float, method: Method, instance: Instance, seed: int) -> Timed:
    """A point and its time; interrupted, once Python is back in charge, where that is too long."""

    def stop(*_: object) -> None:
        raise TooLong(f"more than {limit:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        return _timed(method, instance, seed)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def apart(limit: float, method: Method, instance: Instance, seed: int) -> Timed:
    """The same in a process of its own: compiled solvers that hang can only be killed."""

    def work() -> None:
        try:
            sender.send(_timed(method, instance, seed))
        except Exception as failure:  # it goes to whoever asked
            sender.send(RuntimeError(f"{type(failure).__name__}: {failure}"))

    fork = multiprocessing.get_context("fork")
    receiver, sender = fork.Pipe(duplex=False)
    child = fork.Process(target=work)
    child.start()
    sender.close()
    try:
        if not receiver.poll(limit):
            raise TooLong(f"more than {limit:g} s")
        answer = receiver.recv()
    finally:
        child.kill()
        child.join()
    if isinstance(answer, Exception):
        raise answer
    return answer


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """What compiled solvers write goes nowhere."""
    kept = [os.dup(stream) for stream in (1, 2)]
    with open(os.devnull, "w") as nowhere:
        for stream in (1, 2):
            os.dup2(nowhere.fileno(), stream)
        try:
            yield
        finally:
            for stream, copy in zip((1, 2), kept, strict=True):
                os.dup2(copy, stream)
                os.close(copy)
