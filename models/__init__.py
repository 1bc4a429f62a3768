"""Published models, one per module: the risk, its estimator, and the paper's equations.

The bases ``PaperClassifier`` and ``PaperRegressor`` make an estimator of a declared risk.
The solvers that a paper publishes stand beside its model, which registers them by name.
"""

from dcprog.estimators import PaperClassifier, PaperRegressor
from dcprog.models.angle_consistency import fisher_gamma, is_fisher_consistent
from dcprog.models.angle_path import AnglePath, AngleSVCCV, angle_path
from dcprog.models.angle_svm import AngleSVC
from dcprog.models.capped_svm import CappedSVC
from dcprog.models.least_one_norm import LeastOneNormSVC
from dcprog.models.least_trimmed_squares import LeastTrimmedSquares
from dcprog.models.mm_regression import MMRegressor
from dcprog.models.rescaled_hinge import RescaledHingeSVC
from dcprog.models.smooth_svm import SmoothSVC

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
