"""One file a paper: a spec, its estimator, and the equations it came from."""

from dcprog.models.angle_consistency import fisher_gamma, is_fisher_consistent
from dcprog.models.angle_svm import AngleSVC
from dcprog.models.capped_svm import CappedSVC
from dcprog.models.smooth_svm import SmoothSVC

__all__ = ["AngleSVC", "CappedSVC", "SmoothSVC", "fisher_gamma", "is_fisher_consistent"]
