"""Theorems on convergence: declarations whose answer is known, and runs that must show it."""

import pickle
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog import models
from dcprog.rows.kernel import expansion_margins

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
SIGNS = np.sign(X[:, 0] + 0.3 * RNG.normal(size=40)) * np.where(np.arange(40) < 5, -1, 1)
CLASSES = np.arange(40) % 3
TARGETS = X @ [1.0, -1.0, 0.5] + np.where(np.arange(40) < 5, 6.0, 0.1 * RNG.normal(size=40))

MARGINS = dc.binary_margins(X, SIGNS, fit_intercept=False)
WITH_INTERCEPT = dc.binary_margins(X, SIGNS)
RESIDUALS = dc.residual_rows(X, TARGETS, fit_intercept=False)

DESCENT, STRONG, CRITICAL = "descent", "strong decrease", "critical limits"
FINITE, RATE, STATIONARY = "finite convergence", "convergence with a rate", "d-stationary limits"

RAMP, SMOOTH = dc.cap(dc.hinge(), 1.0), dc.rescale(dc.hinge(), 0.5)


def risk(loss: dc.Loss, penalty: dc.Penalty, rows: Any = MARGINS) -> dc.Risk:
    return dc.Risk.from_loss(rows, loss, penalty)


def squares(penalty: dc.Penalty, rows: Any = RESIDUALS) -> dc.Risk:
    return risk(dc.square(), penalty, rows)


class steep(dc.Transform):  # √(1 + t) − 1, of which the class says nothing
    def __call__(self, t: Any) -> Any:
        return np.sqrt(1 + np.asarray(t)) - 1

    def slope(self, t: Any) -> Any:
        return 0.5 / np.sqrt(1 + np.asarray(t))


def of_problem(kind: str) -> cp.Problem:
    x = cp.Variable(3, name="x")
    ramp = cp.sum(cp.minimum(cp.pos(1 - X @ x), 1)) + cp.sum(cp.abs(x))
    bowl = cp.sum_squares(x)
    objective, constraints = {
        "ramp in a box": (ramp, [x <= 2, x >= -2]),
        "ramp and ridge in a box": (ramp + bowl, [x <= 2, x >= -2]),
        "largest square in a box": (-bowl, [x <= 1, x >= -1]),
        "smooth, in a box": (bowl - cp.sum(cp.exp(-cp.square(x - 1))), [x <= 2, x >= -2]),
        "distance under a minus": (bowl - 2 * cp.norm(x - 1), [x <= 2, x >= -2]),
        "root": (bowl + cp.sum(cp.sqrt(x)), [x >= 0, x <= 2]),
        "root away from 0": (bowl + cp.sum(cp.sqrt(1 + x)), [x >= 0, x <= 2]),
        "product": (x[0] * x[1] + bowl, [x <= 2, x >= -2]),
        "away from a ball": (bowl, [cp.norm(x - 0.1) >= 1]),
        "convex": (bowl + cp.sum(cp.pos(1 - X @ x)), [x <= 2]),
        "two bowls of three": (cp.sum_squares(x[:2]) - cp.abs(x[2]), [x <= 2, x >= -2]),
    }[kind]
    return cp.Problem(cp.Minimize(objective), constraints)


KERNEL = np.exp(-np.sum((X[:, None] - X) ** 2, axis=2))

# What is shown, and of what is not a word of the reason.
RISKS: dict[str, tuple[dc.Risk, set[str], dict[str, str]]] = {
    "ramp, ridge": (
        risk(RAMP, dc.l2(1.0)),
        {DESCENT, STRONG, CRITICAL, FINITE},
        {STATIONARY: "Lipschitz slope", RATE: "cap_at"},
    ),
    "ramp, no ridge": (
        risk(RAMP, dc.l1(1.0)),
        {DESCENT, CRITICAL, FINITE},
        {STRONG: "no ridge"},
    ),
    "ramp by differences": (
        risk(dc.truncate(dc.hinge(), 0.0), dc.l2(1.0)),
        {DESCENT, STRONG, CRITICAL, FINITE},
        {STATIONARY: "hinge"},
    ),
    "rescaled hinge": (
        risk(SMOOTH, dc.l2(1.0)),
        {DESCENT, STRONG, CRITICAL, RATE, STATIONARY},
        {FINITE: "piecewise linear"},
    ),
    "rescaled hinge, intercept": (
        risk(SMOOTH, dc.l2(1.0), WITH_INTERCEPT),
        {DESCENT, STRONG, CRITICAL, STATIONARY},
        {RATE: "intercept"},
    ),
    "smooth truncation": (
        risk(dc.tukey(0.5 * dc.square(), 2.0), dc.l2(0.5), RESIDUALS),
        {DESCENT, STRONG, CRITICAL, RATE, STATIONARY},
        {FINITE: "tukey_by"},
    ),
    "root of the loss": (
        risk(dc.power(dc.absolute(), 0.5), dc.l2(1.0), RESIDUALS),
        {DESCENT, STRONG, CRITICAL},
        {FINITE: "power_of", STATIONARY: "power_of"},
    ),
    "trimmed squares": (
        risk(dc.trim(dc.square(), 0.2), dc.l2(1.0), RESIDUALS),
        {DESCENT, STRONG, CRITICAL, FINITE},
        {STATIONARY: "trim_of"},
    ),
    "own transform": (
        risk(dc.compose(steep(), dc.hinge()), dc.l2(1.0)),
        {DESCENT, STRONG, CRITICAL},
        {FINITE: "steep", RATE: "steep", STATIONARY: "steep"},
    ),
    "squares, log-sum": (
        squares(dc.log_sum(1.0, 0.5)),
        {DESCENT, STRONG, CRITICAL, RATE, STATIONARY},
        {FINITE: "log_sum"},
    ),
    "squares, MCP": (
        squares(dc.mcp(1.0, 3.0)),
        {DESCENT, STRONG, CRITICAL, RATE, STATIONARY},
        {FINITE: "mcp"},
    ),
    "squares, capped l1": (
        squares(dc.capped_l1(2.0, 0.5)),
        {DESCENT, STRONG, CRITICAL, FINITE},
        {STATIONARY: "capped_l1"},
    ),
    "squares, root of the coefficients": (
        squares(dc.lp(1.0, 0.5)),
        {DESCENT, STRONG, CRITICAL},
        {FINITE: "lp", STATIONARY: "lp"},
    ),
    "squares of too few rows, log-sum": (
        squares(dc.log_sum(1.0, 0.5), dc.residual_rows(X[:2], TARGETS[:2], fit_intercept=False)),
        {DESCENT, CRITICAL, STATIONARY},
        {STRONG: "no ridge", RATE: "no ridge"},
    ),
    "convex": (
        risk(dc.hinge(), dc.l2(1.0)),
        {DESCENT, STRONG, CRITICAL, FINITE, RATE, STATIONARY},
        {},
    ),
    "in a kernel": (
        risk(
            SMOOTH,
            expansion_margins(KERNEL, SIGNS, False).norm(1.0),
            expansion_margins(KERNEL, SIGNS, False),
        ),
        {DESCENT, STRONG, CRITICAL, RATE, STATIONARY},
        {FINITE: "rescale_by"},
    ),
}
PROBLEMS: dict[str, tuple[set[str], dict[str, str]]] = {
    "ramp in a box": ({DESCENT, CRITICAL, FINITE}, {STRONG: "quadratic", STATIONARY: "minimum"}),
    "ramp and ridge in a box": ({DESCENT, STRONG, CRITICAL, FINITE}, {RATE: "minimum"}),
    "largest square in a box": ({DESCENT, CRITICAL, STATIONARY}, {FINITE: "quad_over_lin"}),
    "smooth, in a box": ({DESCENT, STRONG, CRITICAL, RATE, STATIONARY}, {FINITE: "exp"}),
    "distance under a minus": ({DESCENT, STRONG, CRITICAL}, {FINITE: "norm", STATIONARY: "norm"}),
    "root": ({DESCENT, STRONG}, {CRITICAL: "slopes", FINITE: "power"}),
    "root away from 0": ({DESCENT, STRONG, CRITICAL, RATE, STATIONARY}, {FINITE: "power"}),
    "product": ({DESCENT, STRONG}, {CRITICAL: "x[0] * x[1]"}),
    "away from a ball": ({DESCENT}, {CRITICAL: "qualification", STRONG: "quadratic"}),
    "convex": ({DESCENT, STRONG, CRITICAL, FINITE, RATE, STATIONARY}, {}),
    "two bowls of three": ({DESCENT, CRITICAL, FINITE}, {STRONG: "quadratic"}),
}


@pytest.mark.parametrize("name", RISKS)
def test_the_theorems_of_a_risk(name: str) -> None:
    declared, shown, missing = RISKS[name]
    theorems = dc.which_theorem(declared)
    assert set(theorems.holding) == shown
    for theorem, word in missing.items():
        assert word in theorems[theorem].because


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_theorems_of_a_problem(name: str) -> None:
    problem = of_problem(name)
    problem.variables()[0].value = start = np.array([0.1, 0.2, 0.3])
    shown, missing = PROBLEMS[name]
    theorems = dc.which_theorem(problem)
    assert set(theorems.holding) == shown
    for theorem, word in missing.items():
        assert word in theorems[theorem].because
    np.testing.assert_array_equal(problem.variables()[0].value, start)


def test_the_modulus_is_that_of_the_hessian() -> None:
    ridge = dc.which_theorem(squares(0.5 * dc.l2(0.1) + dc.mcp(1.0)))
    assert ridge.modulus == pytest.approx(np.linalg.eigvalsh(2 * X.T @ X)[0] + 0.05)
    rows, trimmed = dc.residual_rows(X, TARGETS), dc.trim(dc.square(), 0.0)
    by_nothing = dc.which_theorem(dc.Risk.from_loss(rows, trimmed))
    assert by_nothing.modulus == dc.which_theorem(dc.Risk.from_loss(rows, dc.square())).modulus > 1
    x = cp.Variable(3)
    bowl = cp.sum_squares(X @ x - TARGETS) + 0.5 * cp.sum_squares(x)
    problem = cp.Problem(cp.Minimize(bowl - cp.norm(x)), [x <= 1, x >= -1])
    assert dc.which_theorem(problem).modulus == pytest.approx(
        np.linalg.eigvalsh(2 * X.T @ X)[0] + 1
    )


# ---- against runs --------------------------------------------------------------------------------


def points_of(problem: Any) -> tuple[list[np.ndarray], dc.Result]:
    """A plain run from a start that is not good, and the points it went through."""
    points: list[np.ndarray] = []
    found = dc.solve(
        problem,
        n_starts=1,
        start="random",
        escape=False,
        tol=1e-8,
        random_state=1,
        max_iter=500,
        callback=lambda progress: points.append(np.array(progress.x)),
    )
    return points, found


MODELS = {
    "angle": models.AngleSVC().spec(X, CLASSES),
    "capped": models.CappedSVC(eps=1.0).spec(X, CLASSES),
    "smooth": models.SmoothSVC().spec(X, SIGNS),
    "rescaled": models.RescaledHingeSVC(kernel="linear").spec(X, SIGNS),
    "least 1-norm": models.LeastOneNormSVC(kernel="linear").spec(X, SIGNS),
}
RUN = {name: declared for name, (declared, *_) in RISKS.items()} | MODELS


@pytest.mark.parametrize("name", RUN)
def test_runs_of_risks_show_what_holds(name: str) -> None:
    declared = RUN[name]
    check_run(declared, declared.penalized, declared)


@pytest.mark.parametrize("name", PROBLEMS)
def test_runs_of_problems_show_what_holds(name: str) -> None:
    problem = of_problem(name)
    variable = problem.variables()[0]

    def F(x: np.ndarray) -> float:
        variable.value = x
        return float(problem.objective.value)

    check_run(problem, np.ones(3, dtype=bool), F)


def check_run(problem: Any, penalised: Any, F: Any) -> None:
    """Every theorem that holds, on numbers that owe the loop nothing but its points."""
    theorems = dc.which_theorem(problem)
    points, result = points_of(problem)
    scale = result.scale + abs(F(points[-1]))
    values = np.array([F(point) for point in points])
    falls, steps = values[:-1] - values[1:], np.diff(points, axis=0)
    feasible = result.mode != "penalty"
    assert not feasible or np.all(falls >= -1e-6 * scale)
    if theorems[STRONG].holds:
        whole = slice(None) if theorems.whole else penalised
        least = theorems.modulus / 2 * np.sum(steps[:, whole] ** 2, axis=1)
        assert np.all(falls >= least - 0.1 * np.abs(falls) - 1e-4 * scale)
    certificate = result.certificate()
    seen = {check.theorem.name: check for check in certificate.theorems}
    assert set(seen) == set(theorems.holding)
    assert all(check.seen is not False for check in seen.values()), certificate
    if theorems[CRITICAL].holds:
        assert certificate.gap.holds
    if theorems[FINITE].holds:
        assert result.n_iter < 100
        assert result.history.unchanged[-1] or certificate.gap.measured <= 1e-7 * scale
    if theorems[STATIONARY].holds and result.status == "converged":
        assert certificate.d_stationary is not False
        ways = np.random.default_rng(0).normal(size=(20, points[-1].size))
        x, h = np.array(result.x), 1e-5
        if isinstance(problem, dc.Risk):
            slopes = [(F(x + h * way) - F(x)) / h for way in ways]
            assert min(slopes) >= -2e-3 * scale


# ---- facts that classes declare ------------------------------------------------------------------

TRANSFORMS: list[Any] = [
    *(dc.cap_at(1.0), dc.cap_at(1.0, dc.power_of(0.5)), dc.trim_of(0.2), dc.rescale_by(0.5)),
    *(dc.power_of(0.5), dc.power_of(1.0), dc.power_of(0.5, 1e-2), dc.log_of(0.3)),
    *(dc.huberize_by(1.0), dc.andrews_by(1.0), dc.tukey_by(1.0), dc.welsch_by(1.0)),
    *(
        dc.log_ratio_by(2.0),
        dc.rational_by(1.0, 0.0),
        dc.rational_by(2.0, 0.5),
        dc.erf_by(1.0, 0.1),
    ),
    dc.cap_largest(0.2),
]
PENALTIES: list[Any] = [
    *(dc.capped_l1(1.0, 0.5), dc.scad(1.0), dc.mcp(1.0), dc.log_sum(1.0, 0.1), dc.lp(1.0, 0.5)),
    2.0 * dc.mcp(1.0),
]


@pytest.mark.parametrize("made", [*TRANSFORMS, *PENALTIES], ids=repr)
def test_declared_facts_are_seen_in_the_slopes(made: Any) -> None:
    slope = getattr(made, "slope" if isinstance(made, dc.Transform) else "rate", None)
    if slope is None:
        assert made.regularity == dc.mcp(1.0).regularity
        return
    with np.errstate(divide="ignore"):
        coarse, fine = (slope(np.arange(0, 6, h)) for h in (1e-2, 1e-4))
    if made.regularity.is_piecewise_linear:
        assert np.unique(np.round(fine, 12)).size <= 3
    if made.regularity.is_smooth:  # at a jump the second rise is a hundred times the first
        rise = np.max(np.abs(np.diff(coarse))) / 1e-2, np.max(np.abs(np.diff(fine))) / 1e-4
        assert rise[1] <= 20 * rise[0]


def test_a_loss_tells_its_pieces() -> None:
    assert dc.hinge().regularity.is_piecewise_linear
    assert not dc.hinge().regularity.is_smooth
    assert dc.squared_hinge().regularity.is_smooth
    assert not dc.squared(dc.pade_hinge(1.0)).regularity.is_piecewise_linear
    assert dc.logistic().regularity.is_smooth


# ---- what it is asked ----------------------------------------------------------------------------


def test_theorems_print_and_are_found_by_name() -> None:
    theorems = dc.which_theorem(risk(RAMP, dc.l2(1.0)))
    assert len(theorems) == 6
    assert str(theorems).count("source:") == 6
    assert "missing: cap_at" in str(theorems[RATE])
    with pytest.raises(KeyError, match="choose one of"):
        theorems["no such theorem"]


def test_integer_variables_are_refused() -> None:
    whole = cp.Variable(integer=True)
    with pytest.raises(ValueError, match="integer"):
        dc.which_theorem(cp.Problem(cp.Minimize(cp.square(whole)), [whole <= 1, whole >= -1]))


def test_a_pickled_result_checks_no_theorems() -> None:
    result = pickle.loads(pickle.dumps(dc.solve(risk(RAMP, dc.l2(1.0)))))
    assert result.certificate().theorems == ()
