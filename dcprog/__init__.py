"""Convex programming for problems that are almost convex."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dcprog.bounds.lower_bound import Bound, lower_bound
from dcprog.checks.declarations import check_loss, check_penalty
from dcprog.engine.certificate import Certificate, Claim
from dcprog.engine.rate import Rate
from dcprog.engine.result import Result
from dcprog.engine.theorems import Theorem, Theorems
from dcprog.engine.track import History, Progress
from dcprog.foundation.errors import (
    FisherConsistencyWarning,
    NotBoundable,
    NotMajorizable,
    SubproblemError,
    TrivialSolutionWarning,
    WrongBound,
)
from dcprog.foundation.versions import __version__, show_versions
from dcprog.losses import (
    ConvexLoss,
    Loss,
    absolute,
    andrews,
    cap,
    compose,
    epsilon_insensitive,
    erf,
    hinge,
    huber,
    huberize,
    log,
    log_ratio,
    logistic,
    pade_hinge,
    pinball,
    power,
    rational,
    rescale,
    sigmoid_hinge,
    square,
    squared,
    squared_hinge,
    trim,
    truncate,
    tukey,
    welsch,
)
from dcprog.majorants.majorant import Majorant, majorize
from dcprog.majorants.register_atom import register_atom
from dcprog.moves.registry import register_move
from dcprog.penalties import (
    Penalty,
    capped_l1,
    elastic_net,
    group_lasso,
    l1,
    l2,
    log_sum,
    lp,
    mcp,
    scad,
)
from dcprog.risk.risk import Risk
from dcprog.rows.angle import angle_differences, angle_margins, simplex_vertices
from dcprog.rows.kernel import (
    expansion_margins,
    expansion_residuals,
    kernel_angle_differences,
    kernel_angle_margins,
    kernel_margins,
    kernel_residuals,
)
from dcprog.rows.linear import binary_margins, class_margins, residual_rows
from dcprog.solvers.registry import explain_choice, register_solver
from dcprog.solving.doors import Compiled, compile
from dcprog.solving.driver import solve
from dcprog.solving.examiner import which_theorem
from dcprog.solving.explained import explain, is_majorizable
from dcprog.starts.registry import register_start
from dcprog.transforms import (
    Transform,
    andrews_by,
    cap_at,
    cap_largest,
    concave,
    erf_by,
    huberize_by,
    log_of,
    log_ratio_by,
    power_of,
    rational_by,
    rescale_by,
    trim_of,
    tukey_by,
    welsch_by,
)

if TYPE_CHECKING:
    from dcprog.display import ConvergenceDisplay, LossDisplay, OutlierDisplay
    from dcprog.estimators import (
        RobustClassifier,
        RobustClassifierCV,
        RobustRegressor,
        RobustRegressorCV,
    )
    from dcprog.estimators.penalty_path import PenaltyPath, lambda_max, penalty_path

__all__ = [
    "Bound",
    "Certificate",
    "Claim",
    "Compiled",
    "ConvergenceDisplay",
    "ConvexLoss",
    "FisherConsistencyWarning",
    "History",
    "Loss",
    "LossDisplay",
    "Majorant",
    "NotBoundable",
    "NotMajorizable",
    "OutlierDisplay",
    "Penalty",
    "PenaltyPath",
    "Progress",
    "Rate",
    "Result",
    "Risk",
    "RobustClassifier",
    "RobustClassifierCV",
    "RobustRegressor",
    "RobustRegressorCV",
    "SubproblemError",
    "Theorem",
    "Theorems",
    "Transform",
    "TrivialSolutionWarning",
    "WrongBound",
    "__version__",
    "absolute",
    "andrews",
    "andrews_by",
    "angle_differences",
    "angle_margins",
    "binary_margins",
    "cap",
    "cap_at",
    "cap_largest",
    "capped_l1",
    "check_loss",
    "check_penalty",
    "class_margins",
    "compile",
    "compose",
    "concave",
    "elastic_net",
    "epsilon_insensitive",
    "erf",
    "erf_by",
    "expansion_margins",
    "expansion_residuals",
    "explain",
    "explain_choice",
    "group_lasso",
    "hinge",
    "huber",
    "huberize",
    "huberize_by",
    "is_majorizable",
    "kernel_angle_differences",
    "kernel_angle_margins",
    "kernel_margins",
    "kernel_residuals",
    "l1",
    "l2",
    "lambda_max",
    "log",
    "log_of",
    "log_ratio",
    "log_ratio_by",
    "log_sum",
    "logistic",
    "lower_bound",
    "lp",
    "majorize",
    "mcp",
    "pade_hinge",
    "penalty_path",
    "pinball",
    "power",
    "power_of",
    "rational",
    "rational_by",
    "register_atom",
    "register_move",
    "register_solver",
    "register_start",
    "rescale",
    "rescale_by",
    "residual_rows",
    "scad",
    "show_versions",
    "sigmoid_hinge",
    "simplex_vertices",
    "solve",
    "square",
    "squared",
    "squared_hinge",
    "trim",
    "trim_of",
    "truncate",
    "tukey",
    "tukey_by",
    "welsch",
    "welsch_by",
    "which_theorem",
]

# Imported at the first use: they need scikit-learn, whose import takes a third of cvxpy's time.
LATE = {
    "ConvergenceDisplay": "dcprog.display",
    "LossDisplay": "dcprog.display",
    "OutlierDisplay": "dcprog.display",
    "PenaltyPath": "dcprog.estimators.penalty_path",
    "RobustClassifier": "dcprog.estimators",
    "RobustClassifierCV": "dcprog.estimators",
    "RobustRegressor": "dcprog.estimators",
    "RobustRegressorCV": "dcprog.estimators",
    "lambda_max": "dcprog.estimators.penalty_path",
    "penalty_path": "dcprog.estimators.penalty_path",
}


def __getattr__(name: str) -> Any:
    """The module ``dc.models``, or a name of :data:`LATE`, at its first use."""
    if name == "models":
        return import_module("dcprog.models")
    if name in LATE:
        found = globals()[name] = getattr(import_module(LATE[name]), name)
        return found
    raise AttributeError(f"module 'dcprog' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, and ``models``."""
    return sorted([*__all__, "models"])
