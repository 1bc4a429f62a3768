"""scikit-learn estimators: for any loss and penalty, and base classes of published models."""

from dcprog.estimators.classifier import PaperClassifier, RobustClassifier
from dcprog.estimators.cross_validated import RobustClassifierCV, RobustRegressorCV
from dcprog.estimators.parameters import COUNT, NONNEGATIVE, POSITIVE, between, one_of, parameter
from dcprog.estimators.regressor import PaperRegressor, RobustRegressor

__all__ = [
    "COUNT",
    "NONNEGATIVE",
    "POSITIVE",
    "PaperClassifier",
    "PaperRegressor",
    "RobustClassifier",
    "RobustClassifierCV",
    "RobustRegressor",
    "RobustRegressorCV",
    "between",
    "one_of",
    "parameter",
]
