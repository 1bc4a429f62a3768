"""One file a paper: a spec, its estimator, and the equations it came from."""

from dcprog.models.capped_svm import CappedSVC

__all__ = ["CappedSVC"]
