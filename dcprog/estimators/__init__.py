"""Estimators over any loss and any penalty: Σ sample_weight_i·loss(u_i) + penalty(w)."""

from dcprog.estimators.classifier import RobustClassifier
from dcprog.estimators.regressor import RobustRegressor

__all__ = ["RobustClassifier", "RobustRegressor"]
