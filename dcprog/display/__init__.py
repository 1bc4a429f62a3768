"""Plots as scikit-learn display objects, drawn with matplotlib where it is installed.

A display holds the numbers it draws; ``plot`` draws them, as often as it is called, and keeps the
drawn objects in ``ax_``, ``figure_`` and ``lines_``. For decision regions use scikit-learn's
``sklearn.inspection.DecisionBoundaryDisplay``.
"""

from dcprog.display.convergence_display import ConvergenceDisplay, plot_history
from dcprog.display.loss_display import LossDisplay
from dcprog.display.outlier_display import OutlierDisplay

__all__ = ["ConvergenceDisplay", "LossDisplay", "OutlierDisplay", "plot_history"]
