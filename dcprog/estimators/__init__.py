"""scikit-learn estimators: for any loss and penalty, and base classes of published models."""

from dcprog.estimators.classifier import RobustClassifier
from dcprog.estimators.cross_validated import RobustClassifierCV, RobustRegressorCV
from dcprog.estimators.declared_estimator import parameter
from dcprog.estimators.paper_classifier import PaperClassifier
from dcprog.estimators.regressor import RobustRegressor

__all__ = [
    "PaperClassifier",
    "RobustClassifier",
    "RobustClassifierCV",
    "RobustRegressor",
    "RobustRegressorCV",
    "parameter",
]
