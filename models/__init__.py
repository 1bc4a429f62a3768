"""Published models, one per module: the risk, its estimator, and the paper's equations.

The bases ``PaperClassifier`` and ``PaperRegressor`` make an estimator of a declared risk.
The solvers that a paper publishes stand beside its model and are registered here by name.
"""

from dcprog.estimators import PaperClassifier, PaperRegressor
from dcprog.models.angle_consistency import fisher_gamma, is_fisher_consistent
from dcprog.models.angle_path import AnglePath, AngleSVCCV, angle_path
from dcprog.models.angle_svm import AngleSVC
from dcprog.models.capped_single_pass import SinglePassSolver
from dcprog.models.capped_svm import CappedSVC
from dcprog.models.least_one_norm import LeastOneNormSVC
from dcprog.models.least_one_norm_solvers import (
    DualQpSolver,
    FirstOrderSmoSolver,
    LibsvmSolver,
)
from dcprog.models.least_trimmed_squares import LeastTrimmedSquares
from dcprog.models.mm_regression import MMRegressor
from dcprog.models.rescaled_hinge import RescaledHingeSVC
from dcprog.models.smooth_svm import SmoothSVC
from dcprog.solvers.registry import register_solver

__all__ = [
    "AnglePath",
    "AngleSVC",
    "AngleSVCCV",
    "CappedSVC",
    "LeastOneNormSVC",
    "LeastTrimmedSquares",
    "MMRegressor",
    "PaperClassifier",
    "PaperRegressor",
    "RescaledHingeSVC",
    "SmoothSVC",
    "angle_path",
    "fisher_gamma",
    "is_fisher_consistent",
]

register_solver("alternating", SinglePassSolver)
register_solver("dual_qp", DualQpSolver)
register_solver("libsvm", LibsvmSolver)
register_solver("smo_first_order", FirstOrderSmoSolver)
