"""A bad value for every parameter of every public function and class, and what is raised."""

from __future__ import annotations

import inspect
import traceback
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import dcprog as dc
from dcprog.losses import excess
from dcprog.moves.registry import MOVES
from dcprog.solvers.registry import SOLVERS
from dcprog.starts.registry import STARTS

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
HOLED = np.array([[0.0, np.nan], [1.0, 0.0], [2.0, 2.0]])
LABELS = ["a", "b", "a"]
NUMBERS = (0.0, -1.0, np.nan, np.inf, "1")  # none of them is a positive number
K = X @ X.T

# By name: arguments that are right, and for each of them values that are wrong.
Case = tuple[dict[str, Any], dict[str, tuple[Any, ...]]]


def scalar_loss(**wrong: tuple[Any, ...]) -> Case:
    """A combinator: its loss, and numbers."""
    right = {"loss": dc.hinge(), "p": 0.5, "s": 0.5, "fraction": 0.1, "delta": 0.1}
    names = ("loss", *wrong)
    return {n: right.get(n, 1.0) for n in names}, {"loss": ("hinge", None, 1.0), **wrong}


def numbers(**wrong: tuple[Any, ...]) -> Case:
    """Numbers alone."""
    right = {"fraction": 0.1, "p": 0.5, "tau": 0.3, "a": 3.7, "gamma": 3.0, "s": 0.5}
    return {n: right.get(n, 1.0) for n in wrong}, wrong


FAMILY: Case = (
    {
        "X": X,
        "y": [1.0, 2.0, 4.0],
        "loss": dc.square(),
        "penalty": dc.mcp(1.0),
        "parameter": "lam",
        "fit_intercept": True,
        "sample_weight": None,
        "scale": 2.0,
    },
    {
        "X": (HOLED, X[0], X[:2], dc.Risk(X, dc.hinge())),
        "y": (None, ["a", "b", "c"], [1.0, 2.0], [1.0, np.nan, 2.0]),
        "loss": ("cube", 1.0, dc.l1()),
        "penalty": ("l3", 1.0, dc.square(), dc.l2()),
        "parameter": ("gamma", "weight", 1.0),
        "fit_intercept": ("no", None, 2),
        "sample_weight": ([1.0, 1.0], [-1.0, 1.0, 1.0], "balanced"),
        "scale": ("mda", 0.0, -1.0, np.nan, True, [1.0]),
    },
)
ROWS: Case = (
    {"X": X, "y": LABELS, "fit_intercept": True, "classes": ["a", "b"]},
    {
        "X": (HOLED, X[0], [["a", "b"]] * 3, X[:2]),
        "y": (["a", "b"], ["a", "a", "c"], [LABELS]),
        "fit_intercept": ("no", None, 2),
        "classes": (["a"], ["a", "c"]),
    },
)
KERNEL_ROWS: Case = (
    {"K": K, "y": LABELS, "fit_intercept": True, "classes": ["a", "b"]},
    {
        "K": (K[:2], -K, K * np.nan, np.triu(K)),
        **{name: ROWS[1][name] for name in ("y", "fit_intercept", "classes")},
    },
)
KERNEL_RESIDUALS: Case = (
    {"K": K, "y": [1.0, 2.0, 3.0], "fit_intercept": True},
    {"K": (K[:2], -K), "y": ([1.0], [1.0, np.nan, 2.0]), "fit_intercept": ("no", None)},
)


class Own(cp.log):
    """An atom from outside."""


CAPPED = dc.Risk.from_loss(X, dc.cap(dc.hinge(), 1.0))
AT = (np.nan, np.inf, "1")

CASES: dict[str, Case] = {
    # losses
    "absolute": numbers(at=AT),
    "hinge": numbers(at=AT),
    "square": numbers(at=AT),
    "squared_hinge": numbers(at=AT),
    "huber": numbers(delta=NUMBERS),
    "pinball": numbers(tau=(*NUMBERS, 1.0)),
    "epsilon_insensitive": numbers(eps=NUMBERS[1:], at=AT),
    "pade_hinge": numbers(eta=NUMBERS, at=AT),
    "sigmoid_hinge": numbers(eta=NUMBERS, at=AT),
    "squared": (
        {"loss": dc.hinge()},
        {"loss": ("hinge", dc.cap(dc.hinge(), 1.0), excess(dc.cap_at(1.0), 1.0, dc.hinge()))},
    ),
    # combinators
    "andrews": scalar_loss(sigma=NUMBERS),
    "cap": scalar_loss(c=NUMBERS),
    "erf": scalar_loss(s=NUMBERS, delta=NUMBERS),
    "huberize": scalar_loss(sigma=NUMBERS),
    "log": scalar_loss(scale=NUMBERS),
    "log_ratio": scalar_loss(sigma=NUMBERS),
    "power": scalar_loss(p=(*NUMBERS, 1.5), delta=NUMBERS[1:]),
    "rational": scalar_loss(s=NUMBERS, delta=NUMBERS),
    "rescale": scalar_loss(eta=NUMBERS),
    "trim": scalar_loss(fraction=(-0.1, 1.0, np.nan, "1")),
    "tukey": scalar_loss(sigma=NUMBERS),
    "welsch": scalar_loss(sigma=NUMBERS),
    "truncate": (
        {"base": dc.hinge(), "s": 0.0},
        {"base": ("hinge", dc.cap(dc.hinge(), 1.0)), "s": AT},
    ),
    "compose": (
        {"concave": dc.cap_at(1.0), "loss": dc.hinge()},
        {"concave": (np.sqrt, 1.0), "loss": ("hinge", None)},
    ),
    "concave": (
        {"value": np.log1p, "slope": lambda t: 1 / (1 + t), "expression": cp.log1p},
        {
            "value": (np.exp, 1.0),
            "slope": (np.cos, lambda t: t / t / (1 + t), 1.0),
            "expression": (1.0, "log1p"),
        },
    ),
    # transforms
    "andrews_by": numbers(sigma=NUMBERS),
    "cap_at": ({"c": 1.0, "inner": None}, {"c": (-1.0, np.nan, "1"), "inner": (1.0, dc.l2())}),
    "cap_largest": (
        {"fraction": 0.1, "inner": None, "rounds": 5, "otherwise": 1.0, "least": 0.0},
        {
            "fraction": (-0.1, 1.0, np.nan),
            "inner": (1.0, dc.hinge()),
            "rounds": (0, 1.5, "5"),
            "otherwise": NUMBERS,
            "least": (-1.0, np.nan, "1"),
        },
    ),
    "erf_by": numbers(s=NUMBERS, delta=NUMBERS),
    "huberize_by": numbers(sigma=NUMBERS),
    "log_of": numbers(scale=NUMBERS),
    "log_ratio_by": numbers(sigma=NUMBERS),
    "power_of": numbers(p=(*NUMBERS, 1.5), delta=NUMBERS[1:]),
    "rational_by": numbers(s=NUMBERS, delta=NUMBERS),
    "rescale_by": numbers(eta=NUMBERS),
    "trim_of": numbers(fraction=(-0.1, 1.0, np.nan)),
    "tukey_by": numbers(sigma=NUMBERS),
    "welsch_by": numbers(sigma=NUMBERS),
    # penalties
    "capped_l1": numbers(lam=NUMBERS[1:], theta=NUMBERS),
    "elastic_net": numbers(l1=NUMBERS[1:], l2=NUMBERS[1:]),
    "group_lasso": (
        {"lam": 1.0, "groups": [0, 0, 1]},
        {"lam": NUMBERS[1:], "groups": ([[0], [0]], [0.5, np.nan], [])},
    ),
    "l1": numbers(lam=NUMBERS[1:]),
    "l2": numbers(lam=NUMBERS[1:]),
    "log_sum": numbers(lam=NUMBERS[1:], eps=NUMBERS),
    "lp": numbers(lam=NUMBERS[1:], p=(*NUMBERS, 1.5)),
    "mcp": numbers(lam=NUMBERS[1:], gamma=NUMBERS),
    "scad": numbers(lam=NUMBERS[1:], a=(*NUMBERS, 1.0)),
    # rows
    "angle_differences": ROWS,
    "angle_margins": ROWS,
    "binary_margins": ROWS,
    "class_margins": ROWS,
    "expansion_margins": KERNEL_ROWS,
    "expansion_residuals": KERNEL_RESIDUALS,
    "kernel_angle_differences": KERNEL_ROWS,
    "kernel_angle_margins": KERNEL_ROWS,
    "kernel_margins": KERNEL_ROWS,
    "kernel_residuals": KERNEL_RESIDUALS,
    "residual_rows": (
        {"X": X, "y": [1.0, 2.0, 3.0], "fit_intercept": True},
        {
            "X": (HOLED, X[0], X[:2]),
            "y": ([1.0], [1.0, np.nan, 2.0], ["a", "b", "c"]),
            "fit_intercept": ("no", None),
        },
    ),
    "simplex_vertices": ({"k": 3}, {"k": (1, -2, 2.5, "3", np.nan)}),
    "Risk": (
        {
            "rows": X,
            "base": dc.hinge(),
            "weights": [1.0, 1.0, 2.0],
            "groups": [0, 0, 1],
            "aggregate": "sum",
            "transform": dc.cap_at(1.0),
            "penalty": dc.l2(),
            "penalized": [True, False],
            "sample_weight": [1.0, 2.0],
            "subtracted": None,
            "offset": [0.0, 0.0, 1.0],
        },
        {
            "rows": (HOLED, X[0], "rows", np.zeros((0, 2)), 1j * X, sp.csr_array(1j * X)),
            "base": ("hinge", dc.cap(dc.hinge(), 1.0)),
            "weights": ([1.0], [1.0, -1.0, 1.0], [1.0, np.nan, 1.0]),
            "groups": ([0, 2, 2], [0, 0], [0.5, 0, 1], [-1, 0, 0]),
            "aggregate": ("mean", 1),
            "transform": ("cap", dc.hinge(), dc.cap_at(np.ones(3))),
            "penalty": (1.0, "l2"),
            "penalized": ([True], [True, False, True], [1, 2]),
            "sample_weight": ([1.0, -2.0], [1.0], [np.inf, 1.0]),
            "subtracted": ("hinge", dc.cap_at(1.0)),
            "offset": ([1.0], [np.nan, 0.0, 0.0]),
        },
    ),
    # functions
    "check_loss": (
        {"loss": dc.hinge(), "low": -6.0, "high": 6.0, "points": 241},
        {
            "loss": ("hinge", dc.l2()),
            "low": (6.0, np.nan),
            "high": (-6.0, np.inf),
            "points": (1, 2.5),
        },
    ),
    "check_penalty": (
        {"penalty": dc.l1(), "size": 5, "draws": 50},
        {"penalty": ("l1", dc.hinge()), "size": (0, 1.5), "draws": (0, 1.5)},
    ),
    "compile": (
        {"problem": cp.Problem(cp.Minimize(0))},
        {"problem": (1.0, "x", None, CAPPED), "solver": ("GUROBI_X", 3)},
    ),
    "Compiled": (
        {"problem": cp.Problem(cp.Minimize(0))},
        {"problem": (1.0, "x", None, CAPPED), "solver": ("GUROBI_X", 3)},
    ),
    "explain": ({"problem": cp.Problem(cp.Minimize(0))}, {"problem": (1.0, "x", None)}),
    "explain_choice": ({"risk": CAPPED}, {"risk": (1.0, dc.hinge(), None)}),
    "which_theorem": ({"problem": CAPPED}, {"problem": (1.0, "x", None)}),
    "is_majorizable": ({"problem": cp.Problem(cp.Minimize(0))}, {"problem": (1.0, "x", None)}),
    "majorize": ({"expression": cp.Variable(2)}, {"expression": (1.0, "x", None)}),
    "Majorant": ({"expression": cp.Variable(2)}, {"expression": (1.0, "x", None)}),
    "register_atom": (
        {"kind": Own, "replace": True},
        {
            "kind": (1.0, "log", None, float, cp.log(1.0)),
            "slope": (1.0, "slope"),
            "evaluate": (1.0, "value"),
            "edge": (np.nan, np.inf, "0", True),
            "bottomless": (True, 1, None),  # True says nothing without an edge
            "even": (1, None, "yes"),
            "rule": (1.0, "rule"),
            "replace": (False, 1, None),
        },
    ),
    "register_solver": (
        {"name": "mine", "solver": SOLVERS["newton"]},
        {"name": (3, "newton", "auto"), "solver": (int, "newton", None)},
    ),
    "register_start": (
        {"name": "mine", "start": STARTS["zero"]},
        {"name": (3, "zero", "auto"), "start": (int, "zero", None)},
    ),
    "register_move": (
        {"name": "mine", "move": MOVES["exchange"]},
        {"name": (3, "exchange", "auto"), "move": (int, "exchange", None)},
    ),
    "solve": (
        {"problem": CAPPED},
        {
            "problem": (1.0, dc.hinge(), None),
            "start": (
                "warm",
                ["warm"],
                [np.zeros(7)],
                np.zeros(7),
                np.array([np.nan, 0.0]),
                {cp.Variable(): 1.0},
            ),
            "solver": ("GUROBI_X", "newton"),
            "solver_options": (3, {"max_iter": 5}),
            "tol": NUMBERS,
            "max_iter": (-1, 1.5, "3"),
            "time_limit": NUMBERS,
            "n_starts": (0, 1.5, "many"),
            "effort": ("huge", None, 2),
            "random_state": ("seed", 1.5),
            "n_jobs": (0, 1.5),
            "acceleration": ("nesterov",),
            "escape": ("no", 0.5, None),
            "polish": ("no", 0.5, None),
            "callback": (1.0, "print"),
            "verbose": ("loud", None),
        },
    ),
    "lambda_max": (FAMILY[0], FAMILY[1]),
    "penalty_path": (
        {**FAMILY[0], "lambdas": None, "n_lambdas": 3, "eps": 0.1, "direction": None},
        {
            **FAMILY[1],
            "lambdas": ([], [-1.0], [np.nan], ["a"], "all"),
            "n_lambdas": (0, 1.5, "1", None),
            "eps": (*NUMBERS, 1.0),
            "direction": ("sideways", 1.0),
            "options": (1.0, {}),
        },
    ),
    "lower_bound": (
        {"problem": CAPPED},
        {
            "problem": (1.0, dc.hinge(), None),
            "start": ("warm", np.zeros(7), np.array([np.nan, 0.0]), {cp.Variable(): 1.0}),
            "time_limit": NUMBERS,
            "gap": NUMBERS,
            "box": (1.0, "box", (1.0, 0.0), (np.nan, 1.0), (np.zeros(7), np.ones(7))),
            "callback": (1.0, "print"),
            "verbose": ("loud", None),
        },
    ),
}
# Made by the library, or bases for a user's own class; models and estimators have their own tests.
OTHERS = {
    *(
        "Bound",
        "Certificate",
        "Claim",
        "FisherConsistencyWarning",
        "TrivialSolutionWarning",
        "WrongBound",
        "History",
        "NotBoundable",
        "NotMajorizable",
        "Progress",
        "Rate",
        "Theorem",
        "Theorems",
        "Result",
        "show_versions",
    ),
    *("SubproblemError", "ConvexLoss", "Loss", "Penalty", "PenaltyPath", "Transform", "logistic"),
    *("RobustClassifier", "RobustRegressor"),
    *("RobustClassifierCV", "RobustRegressorCV"),
}


@pytest.fixture(autouse=True)
def _own_atom() -> None:
    dc.register_atom(Own)


def refusal(name: str, arguments: dict[str, Any]) -> Exception | None:
    try:
        getattr(dc, name)(**arguments)
    except (ValueError, TypeError) as error:
        return error
    return None


@pytest.mark.parametrize("name", CASES)
def test_bad_values_are_refused_and_the_right_arguments_are_not(name: str) -> None:
    right, wrong = CASES[name]
    for parameter, values in wrong.items():
        for value in values:
            case = f"{name}({parameter}={value!r})"
            error = refusal(name, right | {parameter: value})
            assert error is not None, f"{case} is accepted"
            raised_in = traceback.extract_tb(error.__traceback__)[-1].filename
            ours = str(Path(dc.__file__).parent)
            assert raised_in.startswith(ours) or "sklearn" in raised_in, f"{case}: {error}"
            assert "unexpected keyword" not in str(error), f"{case}: {error}"
    getattr(dc, name)(**right)


def test_no_public_parameter_is_missing_here() -> None:
    public = {name for name in dc.__all__ if callable(getattr(dc, name))}
    assert public - OTHERS - {n for n in public if n.endswith("Display")} == set(CASES)
    for name, (_, wrong) in CASES.items():
        assert set(inspect.signature(getattr(dc, name)).parameters) == set(wrong), name
