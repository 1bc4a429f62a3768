"""A solver that is named is the one that runs; where another steps in, the result says so."""

import re
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog import models
from dcprog.foundation.errors import SubproblemError
from dcprog.solvers.conic.compiled import CompiledProblem

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
SIGNS = np.sign(X[:, 0] + 0.3 * RNG.normal(size=40))
CLASSES = np.arange(40) % 3
NAMED = ("CLARABEL", "ECOS", "HIGHS", "OSQP", "SCS")
ROWS = dc.binary_margins(X, SIGNS)
PENALTIES: dict[str, Callable[[Any], Any]] = {
    "LP": cp.norm1,
    "QP": lambda w: cp.sum_squares(w) / 2,
    "elastic net": lambda w: cp.norm1(w) / 2 + cp.sum_squares(w) / 4,
}


def ramp(penalty: str) -> cp.Problem:
    w, b = cp.Variable(3), cp.Variable()
    hinge = cp.pos(1 - cp.multiply(SIGNS, X @ w + b))
    return cp.Problem(cp.Minimize(cp.sum(cp.minimum(hinge, 1)) + PENALTIES[penalty](w)))


def risk(penalty: dc.Penalty) -> dc.Risk:
    return dc.Risk.from_loss(ROWS, dc.cap(dc.hinge(), 1.0), penalty)


CASES: dict[str, Callable[[], Any]] = {
    **{name: partial(ramp, name) for name in PENALTIES},
    "risk, l1": lambda: risk(dc.l1(1.0)),
    "risk, l2": lambda: risk(dc.l2(1.0)),
    "risk, elastic net": lambda: risk(dc.elastic_net(0.5, 0.5)),
    "AngleSVC": lambda: models.AngleSVC().spec(X, CLASSES),
    "CappedSVC": lambda: models.CappedSVC(eps=1.0).spec(X, CLASSES),
    "RescaledHingeSVC": lambda: models.RescaledHingeSVC(kernel="linear").spec(X, SIGNS),
    "LeastOneNormSVC": lambda: models.LeastOneNormSVC(kernel="linear").spec(X, SIGNS),
}


@pytest.mark.parametrize("solver", NAMED)
@pytest.mark.parametrize("case", CASES)
def test_the_result_names_who_solved(
    case: str, solver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    called, minimise = set(), CompiledProblem.minimise

    def noted(self: CompiledProblem, *args: Any) -> Any:
        called.add(self.solver)
        return minimise(self, *args)

    monkeypatch.setattr(CompiledProblem, "minimise", noted)
    problem = CASES[case]()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        result = dc.solve(problem, solver=solver, start="random", n_starts=1, random_state=0)
    assert result.status == "converged"
    names = set(re.findall("[A-Z]+", result.solver))
    assert solver in called
    assert names <= called
    stepped_in = [str(w.message) for w in told if "stepped in" in str(w.message)]
    assert len(stepped_in) == (names != {solver})
    if (case, solver) not in {("LP", "OSQP"), ("risk, l1", "OSQP")}:  # which OSQP does not solve
        assert names == {solver}
    reference = dc.solve(CASES[case](), start="random", n_starts=1, random_state=0)
    assert result.value <= reference.value * (1 + 1e-4) or reference.n_iter != result.n_iter


@pytest.mark.parametrize("declare", [ramp, lambda name: risk(dc.l2(1.0))])
def test_a_solver_that_steps_in_is_counted(
    declare: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    minimise, calls = CompiledProblem.minimise, []

    def lame(self: CompiledProblem, *args: Any) -> Any:
        if self.solver == "ECOS":
            calls.append(1)
            if len(calls) > 2:
                raise SubproblemError("failed", "ECOS is made to fail")
        return minimise(self, *args)

    monkeypatch.setattr(CompiledProblem, "minimise", lame)
    with pytest.warns(UserWarning, match=r"solver='ECOS' failed or was inaccurate.*\(\d step"):
        result = dc.solve(declare("QP"), solver="ECOS", start="random", n_starts=1, random_state=0)
    assert re.fullmatch(r"[A-Z]+ \(\d+ steps?\), [A-Z]+ \(\d+ steps?\)", result.solver)
    assert "ECOS" in result.solver


def test_automatic_choices_warn_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for solver in (None, "auto", "cvxpy"):
            dc.solve(ramp("LP"), solver=solver, n_starts=1)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("solver", NAMED)
def test_the_least_one_norm_machine_takes_solvers_by_name(kernel: str, solver: str) -> None:
    reference = models.LeastOneNormSVC(kernel=kernel).fit(X, SIGNS)
    model = models.LeastOneNormSVC(kernel=kernel, solver=solver).fit(X, SIGNS)
    assert model.result_.solver == solver
    assert model.objective_ == pytest.approx(reference.objective_, rel=1e-5)


def test_a_loss_without_an_expression_refuses_a_solver_of_cvxpys() -> None:
    with pytest.raises(ValueError, match="no cvxpy expression"):
        models.SmoothSVC(solver="ECOS").fit(X, SIGNS)
