"""Features and targets from a DataFrame by a formula, with the package formulaic."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcprog.foundation.arrays import Array

CONSTANT = "Intercept"  # formulaic's name of the column of ones


@dataclass(frozen=True)
class Design:
    """The features that the right side of a formula makes of a DataFrame.

    Categories, centres and other values learnt from the data are those of the fit.

    Attributes
    ----------
    formula : str
    spec : formulaic.ModelSpec
    """

    formula: str
    spec: Any

    @property
    def has_intercept(self) -> bool:
        """Whether the formula has a constant, as it has without ``0 +``."""
        return CONSTANT in self.spec.column_names

    @property
    def names(self) -> list[str]:
        """The names of the features."""
        return [name for name in self.spec.column_names if name != CONSTANT]

    def features(self, X: Any) -> Any:
        """The features of a DataFrame of variables; X itself if it has the features."""
        columns = getattr(X, "columns", None)
        return X if columns is None or list(columns) == self.names else self(X)

    def __call__(self, data: Any) -> Any:
        """The features, without the constant, as a DataFrame.

        Raises
        ------
        ValueError
            A variable or values are missing, or there are categories that the data of the fit do
            not have.
        """
        from formulaic.errors import DataMismatchWarning

        known = getattr(data, "columns", data)
        missing = sorted(set(map(str, self.spec.required_variables)).difference(known))
        if missing:
            raise ValueError(f"formula={self.formula!r}: the data have no {', '.join(missing)}")
        with warnings.catch_warnings():
            warnings.simplefilter("error", DataMismatchWarning)
            try:
                matrix = self.spec.get_model_matrix(data, na_action="raise")
            except DataMismatchWarning as error:
                told = str(error).partition(". ")[0]  # what follows is of a result
                raise ValueError(f"formula={self.formula!r}: {told}") from error
        return self.without_constant(matrix)

    def without_constant(self, matrix: Any) -> Any:
        """The columns of a model matrix but for the constant."""
        return matrix.drop(columns=CONSTANT) if self.has_intercept else matrix

    def __repr__(self) -> str:
        return f"Design({self.formula!r})"


def designed(formula: str, data: Any) -> tuple[Design, Any, Array]:
    """The design of a formula, with the features and the targets of complete rows.

    Parameters
    ----------
    formula : str
        Such as ``"y ~ age + C(group)"``.
    data : DataFrame

    Returns
    -------
    design : Design
    X : DataFrame of shape (n, d)
    y : array of shape (n,)

    Raises
    ------
    ImportError
        formulaic is not installed.
    ValueError
        The left side of the formula is not one number a row, or the right side has no feature.
    """
    try:
        from formulaic import model_matrix
    except ImportError as error:
        raise ImportError('formulas need formulaic: pip install "dcprog[formulas]"') from error
    matrices = model_matrix(formula, data, context=None)
    targets = getattr(matrices, "lhs", None)
    if targets is None or targets.shape[1] != 1:
        found = "no target" if targets is None else f"the targets {list(targets.columns)}"
        raise ValueError(
            f"formula={formula!r} has {found}: one numeric target is needed, as in 'y ~ a + b'"
        )
    design = Design(formula, matrices.rhs.model_spec)
    X = design.without_constant(matrices.rhs)
    if X.shape[1] == 0:
        raise ValueError(f"formula={formula!r} has no feature: one is needed, as in 'y ~ a + b'")
    return design, X, np.ravel(targets)
