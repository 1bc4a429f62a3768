"""Published models, one per module: the risk, its estimator, and the paper's equations."""

from dcprog.models.angle_consistency import fisher_gamma, is_fisher_consistent
from dcprog.models.angle_cv import AngleSVCCV
from dcprog.models.angle_path import angle_path
from dcprog.models.angle_solutions import AnglePath
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
    "RescaledHingeSVC",
    "SmoothSVC",
    "angle_path",
    "fisher_gamma",
    "is_fisher_consistent",
]
