"""Which solver is chosen for which risk, and what is said about it."""

from __future__ import annotations

import pickle
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

import dcprog as dc
from dcprog.engine.track import Settings
from dcprog.foundation.arrays import Array
from dcprog.losses import (
    absolute,
    cap,
    hinge,
    huber,
    log,
    logistic,
    pade_hinge,
    pinball,
    power,
    sigmoid_hinge,
    square,
    squared,
    squared_hinge,
    truncate,
)
from dcprog.penalties import elastic_net, l1, l2, scad
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.rows.angle import angle_margins
from dcprog.rows.kernel import expansion_margins, kernel_margins
from dcprog.rows.linear import Samples, binary_margins, class_margins, residual_rows
from dcprog.solvers import registry
from dcprog.solvers.protocol import ExactSolver, Solution
from dcprog.solvers.registry import SOLVERS, choose, explain_choice, make, refusal
from dcprog.solvers.smooth.proximal_newton import LARGE as LARGE_COLUMNS
from dcprog.solvers.smooth.proximal_newton import ProximalNewtonSolver
from dcprog.solving.task import Task

RNG = np.random.default_rng(0)
X = RNG.standard_normal((12, 3))
Y = np.arange(12) % 2
BINARY = binary_margins(X, Y)
TARGETS = residual_rows(X, X[:, 0])
KERNEL = kernel_margins(X @ X.T, Y)
LARGE = LinearOperator((10**5, 10**5), matvec=lambda v: v, dtype=float)  # never formed
EXPANSION = expansion_margins(X @ X.T, Y)

CHOICES: list[tuple[Risk, str]] = [
    (Risk.from_loss(TARGETS, cap(square(), 1.0)), "newton"),
    (Risk.from_loss(TARGETS, log(huber(1.0), 2.0)), "newton"),
    (Risk.from_loss(BINARY, squared(sigmoid_hinge(3.0))), "newton"),
    (Risk.from_loss(TARGETS, pinball(0.3)), "pivoting"),
    (Risk.from_loss(TARGETS, square(), l1(1.0)), "proximal_newton"),
    (Risk.from_loss(TARGETS, square(), l2(0.0)), "proximal_newton"),
    (Risk.from_loss(TARGETS, square(), scad(1.0, 3.7)), "proximal_newton"),
    (Risk.from_loss(TARGETS, square(), l2(1.0) + l2(2.0)), "newton"),
    (Risk.from_loss(TARGETS, square(), elastic_net(0.0, 1.0)), "newton"),
    (Risk.from_loss(BINARY, logistic()), "newton"),
    (Risk.from_loss(BINARY, pade_hinge(3.0)), "newton"),
    (Risk.from_loss(BINARY, cap(pade_hinge(3.0), 1.0), l1(1.0)), "proximal_newton"),
    (Risk.from_loss(angle_margins(X, Y), pade_hinge(3.0)), "proximal_newton"),
    (Risk.from_loss(BINARY, logistic(), penalized=[1, 0, 1, 0]), "proximal_newton"),
    (Risk.from_loss(BINARY, cap(squared_hinge(), 1.0)), "newton"),
    (Risk.from_loss(BINARY, power(hinge(), 0.5)), "pivoting"),
    (Risk.from_loss(BINARY, truncate(hinge(), 0.0)), "pivoting"),
    (Risk.from_loss(BINARY, hinge(), penalized=np.ones(4)), "pivoting"),
    (Risk.from_loss(BINARY, hinge(), penalized=[1, 0, 1, 0]), "pivoting"),
    (Risk.from_loss(KERNEL, hinge()), "smo"),
    (Risk.from_loss(KERNEL, truncate(hinge(), 0.0)), "smo"),
    (Risk.from_loss(KERNEL, cap(absolute(at=1.0), 1.0)), "smo"),
    (Risk.from_loss(KERNEL, squared_hinge()), "newton"),
    (Risk.from_loss(EXPANSION, hinge(), EXPANSION.norm(2.0)), "smo"),
    (Risk.from_loss(EXPANSION, squared_hinge(), EXPANSION.norm(2.0)), "cvxpy"),
    (Risk.from_loss(EXPANSION, hinge(), l2(2.0)), "multipliers"),
    (Risk.from_loss(X, hinge()), "pivoting"),
    (Risk.from_loss(angle_margins(X, Y), hinge()), "pivoting"),
    (Risk.from_loss(angle_margins(X, Y), hinge(), elastic_net(0.1, 1.0)), "pivoting"),
    (Risk.from_loss(angle_margins(X, Y), hinge(), l1(0.1)), "pivoting"),
    (Risk.from_loss(TARGETS, pinball(0.3), l1(0.1)), "pivoting"),
    (Risk.from_loss(TARGETS, pinball(0.3), scad(1.0, 3.7)), "pivoting"),
    (
        Risk.from_loss(residual_rows(np.ones((2000, 1)), np.arange(2e3)), pinball(0.3), l1(0.1)),
        "pivoting",
    ),
    (Risk(class_margins(X, Y), hinge(), aggregate="sum"), "interior"),
    (Risk(class_margins(X, Y), hinge(), aggregate="max"), "interior"),
]


@pytest.mark.parametrize(("risk", "expected"), CHOICES, ids=[repr(risk) for risk, _ in CHOICES])
def test_choice_and_what_is_said_of_it(risk: Risk, expected: str) -> None:
    names = choose(risk)
    assert names[0] == expected
    said = dict(line.split(": ", 1) for line in explain_choice(risk).splitlines())
    assert set(said) == set(SOLVERS)
    assert tuple(said)[: len(names)] == names
    assert said[expected] == "chosen"
    for name in set(SOLVERS) - set(names):
        assert said[name].startswith("not chosen: ")
    result = dc.solve(risk)
    assert result.solver == expected
    assert isinstance(make(expected, risk).minimise(*_plain(risk)), Solution)


def _plain(risk: Risk) -> tuple[Any, ...]:
    p = int(risk.penalized.sum())
    weights = risk.penalty.weights(np.ones(p))
    assert weights.shape == (p,)
    return WeightedRisk(risk, np.ones(risk.n_groups)), np.zeros(risk.rows.shape[1]), 1e-6


class Undeclared(dc.ConvexLoss):
    """Smooth, though it does not say so."""

    def __call__(self, u: Any) -> Array:
        return np.logaddexp(0, -np.asarray(u))

    def slope(self, u: Any) -> Array:
        return -1 / (1 + np.exp(np.asarray(u)))


@pytest.mark.parametrize("solver", ["CLARABEL", "clarabel", "cvxpy", "multipliers"])
def test_a_solver_asked_for_is_the_only_one(solver: str) -> None:
    risk = Risk.from_loss(BINARY, hinge(), l2(5.0))
    assert [name.lower() for name in choose(risk, solver)] == [solver.lower()]


@pytest.mark.parametrize(
    ("risk", "solver", "reason"),
    [
        (Risk.from_loss(BINARY, hinge()), "newton", "slope jumps"),
        (
            Risk.from_loss(BINARY, Undeclared()),
            "newton",
            "or which does not declare is_smooth = True",
        ),
        (Risk.from_loss(BINARY, Undeclared()), "proximal_newton", "does not declare is_smooth"),
        (Risk.from_loss(BINARY, logistic()), "multipliers", "not piecewise"),
        (Risk.from_loss(BINARY, hinge(), l1(1.0)), "dual_coordinate", "penalty"),
        (Risk.from_loss(BINARY, hinge()), "libsvm", "kernel machine"),
        (Risk.from_loss(KERNEL, hinge(0.5)), "libsvm", "base"),
        (Risk.from_loss(KERNEL, squared_hinge()), "smo", "not piecewise linear"),
        (Risk.from_loss(KERNEL, hinge(), l1(1.0)), "smo", "penalty"),
        (Risk.from_loss(EXPANSION, hinge(), l2(1.0)), "smo", "penalty"),
        (Risk.from_loss(KERNEL, hinge(), penalized=np.ones(4)), "smo", "free intercept"),
        (Risk.from_loss(BINARY, hinge()), "smo", "kernel machine"),
        (Risk.from_loss(KERNEL, truncate(hinge(), 0.0)), "libsvm", "tilts"),
        (Risk.from_loss(KERNEL, hinge(), penalized=np.ones(4)), "libsvm", "free intercept"),
        (Risk.from_loss(BINARY, pade_hinge(3.0)), "cvxpy", "no cvxpy expression"),
        (Risk.from_loss(LARGE, hinge()), "cvxpy", "pass an array"),
        (Risk.from_loss(BINARY, hinge()), "alternating", "not squared_hinge"),
    ],
)
def test_refusals_name_the_reason(risk: Risk, solver: str, reason: str) -> None:
    with pytest.raises(ValueError, match=f"cannot take this risk: .*{reason}"):
        dc.solve(risk, solver=solver)


def test_where_no_solver_is_left_all_reasons_are_given() -> None:
    with pytest.raises(ValueError, match=r"no solver takes this risk:\n(.|\n)*cvxpy: not chosen"):
        dc.solve(Risk.from_loss(BINARY, pade_hinge(3.0) + hinge(0.0), l1(1.0)))


def test_unknown_solver_names_the_choices() -> None:
    with pytest.raises(ValueError, match="'multipliers'"):
        choose(Risk.from_loss(BINARY, hinge()), "barrier")


# ---- solvers from outside ------------------------------------------------------------------------


class Copied(ExactSolver):
    """One of ours under another name, from outside."""

    def __init__(self, risk: Risk) -> None:
        self.inner = make("newton", risk)

    @staticmethod
    def refusal(risk: Risk) -> str | None:
        """As for the one it copies."""
        return refusal(SOLVERS["newton"], risk)

    def minimise(
        self, problem: WeightedRisk, start: Array, tolerance: float, time_limit: float | None = None
    ) -> Solution:
        """As the one it copies."""
        return self.inner.minimise(problem, start, tolerance, time_limit)


class Requested(Copied):
    """The same on request."""

    on_request: ClassVar[str | None] = "it is a copy"


@pytest.fixture
def outsider() -> str:
    """A solver from outside, for one test."""
    dc.register_solver("copied", Copied)
    return "copied"


SQUARES = Risk.from_loss(TARGETS, cap(square(), 1.0))


@pytest.mark.usefixtures("outsider")
def test_a_registered_solver_is_chosen_before_the_library_s_own() -> None:
    assert choose(SQUARES)[:2] == ("copied", "newton")
    assert "copied: chosen" in explain_choice(SQUARES)
    result = dc.solve(SQUARES)
    assert result.solver == "copied"
    assert result.value == pytest.approx(dc.solve(SQUARES, solver="newton").value)
    assert dc.solve(SQUARES, solver="copied").solver == "copied"
    with pytest.raises(ValueError, match="slope jumps"):
        dc.solve(Risk.from_loss(BINARY, hinge()), solver="copied")


@pytest.mark.usefixtures("outsider")
def test_a_solver_on_request_says_why() -> None:
    dc.register_solver("requested", Requested)
    assert "requested" not in choose(SQUARES)
    assert "requested: not chosen: it is a copy; on request only" in explain_choice(SQUARES)
    assert choose(SQUARES, "requested") == ("requested",)


def test_other_processes_know_it() -> None:
    dc.register_solver("copied", Copied)
    task = pickle.dumps(Task(SQUARES, None, Settings()))
    del SOLVERS["copied"]
    assert pickle.loads(task).surrogate().solvers[0] == "copied"


class Half(ExactSolver):
    """No solver yet."""


@pytest.mark.parametrize(
    ("name", "solver", "error", "reason"),
    [
        (3, Copied, TypeError, "a string"),
        ("mine", Half, TypeError, "it has no refusal, minimise"),
        ("mine", Copied(SQUARES), TypeError, "the class"),
        ("mine", int, TypeError, "it has no refusal"),
        ("newton", Copied, ValueError, "taken"),
        ("auto", Copied, ValueError, "taken"),
        ("clarabel", Copied, ValueError, "taken"),
    ],
)
def test_what_is_no_solver_is_refused(
    name: Any, solver: Any, error: type[Exception], reason: str
) -> None:
    with pytest.raises(error, match=reason):
        dc.register_solver(name, solver)
    assert "mine" not in SOLVERS


@pytest.mark.parametrize(
    ("n", "p", "penalty", "expected"),
    [
        (1000, 10, l2(1.0), "pivoting"),
        (10_000, 100, l2(1.0), "multipliers"),
        (2000, 500, l2(1.0), "interior"),
        (300, 900, l2(1.0), "dual_coordinate"),
        (300, 300, l2(1.0), "interior"),
        (300, 300, l2(20.0), "dual_coordinate"),
        (300, 10, l1(1.0), "pivoting"),
        (100, 50, l1(1.0), "simplex"),
        (300, 300, l1(1.0), "interior"),
        (1000, 30, l1(1.0), "pivoting"),
    ],
)
def test_the_size_decides(n: int, p: int, penalty: dc.Penalty, expected: str) -> None:
    rows = binary_margins(np.ones((n, p)), np.arange(n) % 2)
    assert choose(Risk(rows, hinge(), penalty=penalty))[0] == expected


@pytest.mark.parametrize("factor", [1.0, 100.0])
@pytest.mark.parametrize("margin", [1.0, 5.0])
def test_dual_coordinates_lead_where_their_steps_end_at_bounds(
    factor: float, margin: float
) -> None:
    """In any units of the loss, the margin and the samples: factor·‖x‖²/λ against the margin."""
    X = np.ones((10_000, 25)) * np.sqrt(margin)  # ‖x‖² = 25·margin
    loss = factor * hinge(margin)
    for rows in (binary_margins(X, np.arange(10_000) % 2), Samples(sp.csr_array(X))):
        for lam, expected in ((1.0, "dual_coordinate"), (0.7, "multipliers")):
            risk = Risk.from_loss(rows, dc.cap(loss, 1.0), l2(factor * lam))
            assert choose(risk)[0] == expected
            weighted = Risk.from_loss(rows, loss, l2(factor * lam), np.full(10_000, 0.5))
            assert choose(weighted)[0] == "dual_coordinate"
    # many passes over so many rows cost more than few exact ones
    many = binary_margins(np.ones((200_000, 2)), np.arange(200_000) % 2)
    assert choose(Risk.from_loss(many, hinge(), l2(1e9)))[0] == "multipliers"
    # a residual's knot is at 0: no step ends before it
    absolute = Risk.from_loss(dc.residual_rows(X, np.ones(10_000)), dc.absolute(), l2(1e9))
    assert choose(absolute)[0] == "multipliers"


def test_cvxpy_is_no_fallback_on_large_rows() -> None:
    X = sp.random_array((16_000, 4000), density=1e-4, rng=0).tocsr()
    risk = Risk(binary_margins(X, np.arange(16_000) % 2), hinge())
    names = choose(risk)
    assert names
    assert "cvxpy" not in names
    assert "cvxpy: not chosen: it would take some" in explain_choice(risk)
    assert choose(risk, "cvxpy") == ("cvxpy",)
    # no other solver takes a maximum of a smooth loss over large groups
    alone = Risk(risk.rows, logistic(), groups=np.arange(16_000) // 2, aggregate="max")
    assert choose(alone) == ("cvxpy",)


def test_squares_on_sparse_data_of_many_columns_go_by_single_columns() -> None:
    def solver(columns: int) -> ProximalNewtonSolver:
        X = sp.random_array((20, columns), density=0.05, rng=np.random.default_rng(0)).tocsr()
        risk = dc.Risk.from_loss(dc.residual_rows(X, np.ones(20)), dc.square(), dc.l1(1.0))
        assert choose(risk)[0] == "proximal_newton"
        return ProximalNewtonSolver(risk)

    assert solver(LARGE_COLUMNS).lasso is not None
    assert solver(LARGE_COLUMNS + 1).lasso is None


def test_few_rows_of_many_sparse_columns_go_to_the_simplex_method() -> None:
    def first(rows: int) -> str:
        size = (rows, LARGE_COLUMNS + 1)
        X = sp.random_array(size, density=0.001, rng=np.random.default_rng(0)).tocsr()
        margins = dc.binary_margins(X, np.arange(rows) % 2)
        return choose(dc.Risk.from_loss(margins, dc.hinge(), dc.l1(1.0)))[0]

    assert first(registry.SPARSE_SHORT) == "simplex"
    assert first(registry.SPARSE_SHORT + 1) == "multipliers"


def test_a_smooth_loss_that_does_not_say_so_is_told_how() -> None:
    class Softened(dc.ConvexLoss):
        def __call__(self, u: npt.ArrayLike) -> Array:
            return np.hypot(1.0, u) - 1

        def slope(self, u: npt.ArrayLike) -> Array:
            return np.asarray(u) / np.hypot(1.0, u)

    class Declared(Softened):
        is_smooth = True

    X, y = np.eye(4), np.arange(4.0)
    with pytest.raises(ValueError, match="set is_smooth = True in its class"):
        dc.RobustRegressor(dc.cap(Softened(), 2.0)).fit(X, y)
    dc.RobustRegressor(dc.cap(Declared(), 2.0), dc.l2(1.0)).fit(X, y)
