"""Parameters that move after a problem was frozen: the same numbers as from constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog.majorants.rules import Context, Frame, fresh_context
from dcprog.majorants.tree import Values
from dcprog.majorants.user_problem import Frozen, freeze
from dcprog.problem.surrogate import ProblemSurrogate
from dcprog.solvers.conic.compiled import CompiledProblem

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(6, 3)), RNG.normal(size=6)
Y = np.sign(B)

Make = Callable[[cp.Variable, cp.Parameter, cp.Parameter, cp.Parameter], cp.Expression]

# s ≥ 0, t of any sign, v ≥ 0 with an entry for each of six terms
EXPRESSIONS: dict[str, Make] = {
    "capped at s": lambda x, s, t, v: cp.sum(cp.minimum(cp.pos(1 - cp.multiply(Y, A @ x)), s)),
    "price s": lambda x, s, t, v: cp.sum(cp.sqrt(1 + cp.abs(A @ x))) + s * cp.sum_squares(x),
    "negative price": lambda x, s, t, v: cp.sum(cp.square(A @ x)) - s * cp.norm1(x),
    "weights of concave": lambda x, s, t, v: v @ cp.log(1 + cp.square(A @ x - B)),
    "weights of convex": lambda x, s, t, v: v @ cp.abs(A @ x - B) - cp.norm(x),
    "shifted": lambda x, s, t, v: cp.sum(cp.minimum(cp.abs(A @ x - t), 1)),
    "shifted entries": lambda x, s, t, v: cp.sum(cp.minimum(cp.abs(A @ x - v), 1)),
    "tilted": lambda x, s, t, v: t * cp.sum(x) + cp.sum(cp.minimum(cp.square(x), s)),
    "square of a parameter": lambda x, s, t, v: s**2 * cp.sum(cp.minimum(cp.square(x), 1)),
    "product of parameters": lambda x, s, t, v: s * t * cp.sum(x) - s * cp.norm(x),
    "inside a concave function": lambda x, s, t, v: cp.sum(cp.log(1 + s * cp.abs(A @ x))),
    "twice": lambda x, s, t, v: s * cp.sum(cp.minimum(s * cp.abs(x), 1)),
    "nested": lambda x, s, t, v: s * (cp.norm1(x) + s * cp.sum(cp.sqrt(1 + cp.square(x)))),
    "quotient": lambda x, s, t, v: cp.sum(cp.minimum(cp.abs(A @ x - B) / s, 1)),
    "quotients": lambda x, s, t, v: cp.sum(cp.minimum(cp.square((A @ x) / (1 + v)), 1)),
    "product of variables": lambda x, s, t, v: s * x[0] * x[1] + cp.sum_squares(x),
    "distance": lambda x, s, t, v: s - cp.norm(A @ x),
    "huber": lambda x, s, t, v: cp.sum(cp.minimum(cp.huber(A @ x - B, s), 2)),
    "power": lambda x, s, t, v: cp.sum(cp.power(cp.abs(x), s)),
    "no parameter": lambda x, s, t, v: cp.sum(cp.minimum(cp.abs(A @ x), 1)),
    "mixed weights": lambda x, s, t, v: (v - 0.6) @ cp.abs(A @ x - B) + 9 * cp.sum_squares(x),
    "affine of mixed weights": lambda x, s, t, v: (v - 0.6) @ (A @ x) + cp.minimum(x[0], s),
}
OF_ITS_PAST = {"product of variables"}  # split by the sizes its factors had
MADE_ANEW = {"huber", "power", "mixed weights"}


def parameters() -> tuple[cp.Parameter, cp.Parameter, cp.Parameter]:
    return cp.Parameter(nonneg=True), cp.Parameter(), cp.Parameter(6, nonneg=True)


def move(given: tuple[cp.Parameter, cp.Parameter, cp.Parameter], seed: int) -> None:
    rng = np.random.default_rng(seed)
    for parameter in given:
        parameter.value = 0.3 + rng.random(parameter.shape)


def majorant(problem: cp.Problem) -> tuple[Frame, Context]:
    context = fresh_context()
    return Frame(problem.objective.args[0], context, gather=True), context


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_a_moved_majorant_is_that_of_the_constants(name: str) -> None:
    x, given = cp.Variable(3), parameters()
    move(given, 0)
    problem = cp.Problem(cp.Minimize(EXPRESSIONS[name](x, *given)))
    frozen = Frozen(problem)
    frame, context = majorant(frozen.problem)
    rng = np.random.default_rng(1)
    for seed in (1, 2):
        move(given, seed)
        assert frozen.refresh() == (name not in MADE_ANEW)
        if name in MADE_ANEW:
            frozen = Frozen(problem)
            frame, context = majorant(frozen.problem)
        fixed = freeze(problem)
        assert not fixed.parameters()
        other, its = majorant(fixed)
        x.value = rng.standard_normal(3)
        frame.update(context.values())
        other.update(its.values())
        for _ in range(5):
            x.value = rng.standard_normal(3)
            moving = float(np.sum(Values(context.definitions).array(frame.expression)))
            constant = float(np.sum(Values(its.definitions).array(other.expression)))
            value = float(np.sum(problem.objective.value))
            assert moving >= value - 1e-9 * (1 + abs(value))
            if name not in OF_ITS_PAST:
                assert moving == pytest.approx(constant, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_a_moving_problem_is_solved_as_the_constant_one(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, given = cp.Variable(3), parameters()
    move(given, 3)
    objective = EXPRESSIONS[name](x, *given)
    problem = cp.Problem(cp.Minimize(objective), [cp.abs(x) <= given[0] + 1])
    at, least = np.array([0.3, -0.2, 0.5]), []
    for moving in (False, True):
        monkeypatch.setattr(
            "dcprog.problem.majorised_problem.Frozen", lambda p, m=moving: Frozen(p, m)
        )
        surrogate = ProblemSurrogate(problem)
        surrogate.begin(at)
        surrogate.tighten(at)
        reached = surrogate.minimise(at, 1e-9, surrogate.solvers[0])
        least.append(surrogate.majorant_value(reached))
        assert surrogate.majorised.modes.problem("feasible").is_dpp()
        assert np.isfinite(dc.solve(problem, max_iter=20, n_starts=1).value)
    if name not in OF_ITS_PAST:
        assert least[1] == pytest.approx(least[0], rel=1e-6, abs=1e-7)


def test_signs_and_constants_are_watched() -> None:
    x, p, q = cp.Variable(), cp.Parameter(value=1.0), cp.Parameter(value=2.0)
    frozen = Frozen(cp.Problem(cp.Minimize(p * cp.square(x) + cp.power(cp.abs(x), q))))
    assert frozen.moves
    p.value = 3.0
    assert frozen.refresh()
    p.value = -3.0
    assert not frozen.refresh()
    p.value, q.value = 3.0, 3.0
    assert not frozen.refresh()
    q.value = 2.0
    assert frozen.refresh()
    p.save_value(np.nan)
    assert not frozen.refresh()


def test_large_parameters_become_constants() -> None:
    x, p = cp.Variable(3), cp.Parameter((500, 3), value=np.ones((500, 3)))
    frozen = Frozen(cp.Problem(cp.Minimize(cp.sum(cp.minimum(cp.abs(p @ x), 1)))))
    assert not frozen.moves
    assert not frozen.problem.parameters()
    assert frozen.refresh()
    p.value = 2 * np.ones((500, 3))
    assert not frozen.refresh()


def test_without_parameters_the_problem_is_the_users() -> None:
    problem = cp.Problem(cp.Minimize(cp.norm(cp.Variable(2))))
    assert Frozen(problem).problem is problem
    assert Frozen(problem).refresh()


def test_what_stands_twice_is_frozen_once() -> None:
    x, p = cp.Variable(), cp.Parameter(value=1.0)
    e: Any = cp.abs(x) + p
    for _ in range(6):
        e = cp.minimum(e, 2) + cp.sqrt(e)
    frozen = Frozen.__new__(Frozen)
    frozen._room, frozen._own, frozen._fixed, frozen._seen = 9, {}, {}, {}
    kept = frozen._both(e)[1]
    assert kept.args[0].args[0] is kept.args[1].args[0]


def test_a_parameter_without_a_value() -> None:
    x, p = cp.Variable(), cp.Parameter(name="weight")
    with pytest.raises(ValueError, match="'weight' has no value"):
        Frozen(cp.Problem(cp.Minimize(p * x)))


# ----------------------------------------------------------------------------------------------
# compiled once


def problems() -> dict[str, tuple[cp.Problem, cp.Parameter]]:
    x, t = cp.Variable(3), cp.Parameter(nonneg=True, value=1.0)
    residuals = A @ x - B
    capped = cp.sum(cp.minimum(cp.abs(residuals), t))
    return {
        "bounded": (cp.Problem(cp.Minimize(capped), [cp.norm(x) <= 1]), t),
        "far": (cp.Problem(cp.Minimize(cp.sum_squares(residuals)), [cp.norm(x) >= t]), t),
        "curved": (cp.Problem(cp.Minimize(cp.sum_squares(residuals)), [x[0] ** 2 + x[1] == t]), t),
    }


@pytest.mark.parametrize("name", ["bounded", "far", "curved"])
def test_what_is_compiled_is_compiled_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    made_before = CompiledProblem.__init__

    def counted(self: CompiledProblem, problem: cp.Problem, solver: str, asked: Any = None) -> None:
        made.append(solver)
        made_before(self, problem, solver, asked)

    problem, t = problems()[name]
    anew = {v: dc.solve(problems_at(name, v), start="convex", n_starts=1) for v in (1.0, 1.5)}
    monkeypatch.setattr(CompiledProblem, "__init__", counted)
    compiled = dc.compile(problem)
    assert made
    assert compiled.compile_time > 0
    assert all(v.value is None for v in problem.variables())
    made.clear()
    for v in (1.0, 1.5):
        t.value = v
        assert compiled.solve(start="convex", n_starts=1).value == anew[v].value
    assert made == []


def problems_at(name: str, value: float) -> cp.Problem:
    problem, t = problems()[name]
    t.value = value
    return problem


def test_a_risk_has_nothing_to_compile() -> None:
    x = cp.Variable(3)
    loss = cp.sum(cp.minimum(cp.abs(A @ x - B), 1)) + cp.sum_squares(x)
    compiled = dc.compile(cp.Problem(cp.Minimize(loss)))
    assert compiled.compile_time == 0
    assert compiled.solve().value == dc.solve(cp.Problem(cp.Minimize(loss))).value


def test_what_cannot_be_majorised_is_not_compiled() -> None:
    x = cp.Variable()
    with pytest.raises(dc.NotMajorizable):
        dc.compile(cp.Problem(cp.Minimize(cp.ceil(x))))


@pytest.mark.parametrize("kind", [{"PSD": True}, {"NSD": True}])
def test_the_matrix_of_a_quadratic_form_moves(kind: dict[str, bool]) -> None:
    """A Parameter of our own in its place would not be symmetric to cvxpy."""
    sign = 1 if "PSD" in kind else -1
    x, P = cp.Variable(3), cp.Parameter((3, 3), **kind)
    form = cp.quad_form(x - 1, P) + sign * cp.sum(cp.minimum(cp.square(x), 1))
    problem = cp.Problem(cp.Minimize(form) if sign > 0 else cp.Maximize(form))
    for seed in (1, 2):
        factor = np.random.default_rng(seed).normal(size=(3, 3))
        P.value = sign * (factor @ factor.T + np.eye(3))
        constant = cp.quad_form(x - 1, P.value) + sign * cp.sum(cp.minimum(cp.square(x), 1))
        again = cp.Problem(cp.Minimize(constant) if sign > 0 else cp.Maximize(constant))
        moved, fixed = (p.solve(method="dc", n_starts=1) for p in (problem, again))
        assert moved == pytest.approx(fixed, abs=1e-6)
