"""Features and targets from a DataFrame by a formula, with the package formulaic."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier

from dcprog.estimators.parameters import DeclaredEstimator

CONSTANT = "Intercept"  # formulaic's name of the column of ones


@dataclass(frozen=True)
class Design:
    """The features that the right side of a formula makes of a DataFrame.

    Categories, centres and other values learnt from the data are those of the fit.

    Attributes
    ----------
    formula : str
    spec : formulaic.ModelSpec
    values : dict of str
        The caller's functions and numbers that the formula has; functions without a name of their
        module, such as a lambda, cannot be pickled.
    modules : dict of str
        The names of modules that the formula has, by the caller's names of them.
    """

    formula: str
    spec: Any
    values: dict[str, Any] = field(default_factory=dict)
    modules: dict[str, str] = field(default_factory=dict)

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
        if columns is None or list(columns) == self.names:
            return X
        return X[self.names] if {*columns} == {*self.names} else self(X)

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
        modules = {name: import_module(module) for name, module in self.modules.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("error", DataMismatchWarning)
            try:
                matrix = self.spec.get_model_matrix(
                    data, context=self.values | modules, na_action="raise"
                )
            except DataMismatchWarning as error:
                told = str(error).partition(". ")[0]  # what follows is of a result
                raise ValueError(f"formula={self.formula!r}: {told}") from error
        return self.without_constant(matrix)

    def without_constant(self, matrix: Any) -> Any:
        """The columns of a model matrix but for the constant."""
        return matrix.drop(columns=CONSTANT) if self.has_intercept else matrix

    def __repr__(self) -> str:
        return f"Design({self.formula!r})"


def designed(formula: str, data: Any, scope: Any, *, of_labels: bool) -> tuple[Design, Any, Any]:
    """The design of a formula, with the features and the targets of complete rows.

    Parameters
    ----------
    formula : str
        Such as ``"y ~ age + C(group)"``.
    data : DataFrame
    scope : mapping
        The functions and numbers that the formula may use.
    of_labels : bool
        Whether the targets are labels, which are a column of the data.

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
        The formula has no single target, has no feature, or cannot be read.
    """
    try:
        from formulaic import model_matrix
        from formulaic.errors import FormulaicError
    except ImportError as error:
        raise ImportError('formulas need formulaic: pip install "dcprog[formulas]"') from error
    data = data.reset_index(drop=True)
    try:
        matrices = model_matrix(formula, data, context=scope)
    except FormulaicError as error:
        told = str(error).splitlines()[0]  # the others colour the place for a terminal
        raise ValueError(f"formula={formula!r}: {told}") from error
    features: Any = getattr(matrices, "rhs", None)
    if isinstance(features, tuple):
        raise ValueError(
            f"formula={formula!r} has {len(features)} parts: write one right side without '|'"
        )
    y = (_labels if of_labels else _numbers)(formula, data, getattr(matrices, "lhs", None))
    design = _design(formula, features.model_spec, scope)
    X = design.without_constant(features)
    if X.shape[1] == 0:
        raise ValueError(f"formula={formula!r} has no feature: one is needed, as in 'y ~ a + b'")
    return design, X, y


def _numbers(formula: str, data: Any, targets: Any) -> Any:
    """The one column of the left side."""
    if targets is None or targets.shape[1] != 1:
        found = "no target" if targets is None else f"the targets {list(targets.columns)}"
        raise ValueError(
            f"formula={formula!r} has {found}: one numeric target is needed, as in 'y ~ a + b'"
        )
    return np.ravel(targets)


def _labels(formula: str, data: Any, targets: Any) -> Any:
    """The column of the data that the left side names, as it is."""
    name = formula.partition("~")[0].strip().strip("`")
    if targets is None or name not in data.columns:
        raise ValueError(
            f"formula={formula!r}: the labels must be a column of the data, as in 'label ~ a + b'"
        )
    return np.asarray(data.loc[targets.index, name])


def _design(formula: str, spec: Any, scope: Any) -> Design:
    """The design, with the names of the scope that its features use."""
    used = {name.partition(".")[0] for name in spec.variables_by_source.get("context", ())}
    found = {name: scope[name] for name in sorted(used)}
    modules = {name: one.__name__ for name, one in found.items() if isinstance(one, ModuleType)}
    return Design(
        formula, spec, {name: one for name, one in found.items() if name not in modules}, modules
    )


def _scope_of_caller() -> dict[str, Any]:
    """The names that the caller of a public method sees."""
    frame: Any = sys._getframe(2)
    return frame.f_globals | frame.f_locals


# ----------------------------------------------------------------------------------------------


class FormulaFit(DeclaredEstimator):
    """An estimator with coefficients by feature, which can be fitted by a formula.

    Attributes
    ----------
    design_ : Design
        The features by the formula, if the estimator is one of :meth:`from_formula`.
    """

    @classmethod
    def from_formula(cls, formula: str, data: Any, **parameters: Any) -> Self:
        """The estimator fitted to a DataFrame by a formula; formulaic must be installed.

        Rows with missing values are left out. Names of coefficients are those of the formula's
        columns. The formula may use functions and numbers of the place where this is called. The
        methods of the fitted estimator take a DataFrame of the formula's variables, or of its
        columns, which the attribute ``design_`` makes: ``model.design_(other)``.

        Parameters
        ----------
        formula : str
            Such as ``"loss ~ flow + log(acid) + C(site)"``; ``"loss ~ 0 + flow"`` has no intercept.
            The left side of a classifier is the column of the labels.
        data : DataFrame
        **parameters
            Parameters of the estimator but for ``fit_intercept``, which the formula determines.

        Returns
        -------
        estimator
            The fitted estimator.

        Raises
        ------
        ImportError
            formulaic is not installed.
        ValueError
            The formula cannot be read, its left side is not one number a row or the labels, its
            right side has no feature or several parts, the estimator always has an intercept and
            the formula has none, or as from ``fit``.
        TypeError
            ``fit_intercept`` is given.

        Examples
        --------
        >>> import pandas as pd
        >>> from dcprog.models import MMRegressor
        >>> data = pd.DataFrame({"y": [1.0, 3.1, 4.9, 7.0, 9.1], "x": [0.0, 1, 2, 3, 4]})
        >>> model = MMRegressor.from_formula("y ~ x", data)
        >>> model.summary().names
        ['x', 'intercept']
        >>> model.predict(pd.DataFrame({"x": [10.0]})).round()
        array([21.])
        """
        if "fit_intercept" in parameters:
            raise TypeError("fit_intercept: the formula determines it; write 'y ~ 0 + …' for False")
        scope = _scope_of_caller()
        design, X, y = designed(formula, data, scope, of_labels=is_classifier(cls(**parameters)))
        if "fit_intercept" in cls._get_param_names():
            parameters["fit_intercept"] = design.has_intercept
        elif not design.has_intercept:
            raise ValueError(f"formula={formula!r}: {cls.__name__} always has an intercept")
        model = cls(**parameters).fit(X, y)
        model.design_ = design
        return model

    def _validated(self, X: Any, *y: Any, reset: bool = True) -> Any:
        if reset:
            self.__dict__.pop("design_", None)  # of the formula of a former fit
        elif hasattr(self, "design_"):
            X = self.design_.features(X)
        return super()._validated(X, *y, reset=reset)
