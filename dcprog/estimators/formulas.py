"""Features and targets from a DataFrame by a formula, with the package formulaic."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import has_fit_parameter

from dcprog.estimators.parameters import DeclaredEstimator
from dcprog.foundation.parameters import WEIGHTED, meant

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
    left_out : int
        The number of rows of the fit's data that have missing values.
    """

    formula: str
    spec: Any
    values: dict[str, Any] = field(default_factory=dict)
    modules: dict[str, str] = field(default_factory=dict)
    left_out: int = 0

    @property
    def has_intercept(self) -> bool:
        """Whether the formula has a constant, as it has without ``0 +``."""
        return CONSTANT in self.spec.column_names

    @property
    def names(self) -> list[str]:
        """The names of the features."""
        return [name for name in self.spec.column_names if name != CONSTANT]

    def columns_of(self, term: Any) -> list[Any]:
        """The names of the columns that a term makes, such as a factor; of no term, itself."""
        made = {str(known): places for known, places in self.spec.term_indices.items()}
        return [self.spec.column_names[k] for k in made[term]] if term in made else [term]

    def features(self, X: Any) -> Any:
        """The features of a DataFrame of variables; X itself if it has the features."""
        if not (isinstance(X, Mapping) or hasattr(X, "columns")):
            return X
        X = table(X)
        if list(X.columns) == self.names:
            return X
        return X[self.names] if {*X.columns} == {*self.names} else self(X)

    def __call__(self, data: Any) -> Any:
        """The features, without the constant, as a DataFrame.

        Raises
        ------
        ValueError
            A variable or values are missing, or there are categories that the data of the fit do
            not have.
        """
        from formulaic.errors import DataMismatchWarning

        data = table(data)
        missing = sorted(set(map(str, self.spec.required_variables)).difference(data.columns))
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
            except ValueError as error:
                if "null values" not in str(error):
                    raise
                told = str(error.__cause__ or error).removesuffix(".")
                raise ValueError(
                    f"formula={self.formula!r}: {told}: leave such rows out, as the fit does "
                    "(data.dropna()), or fill them"
                ) from error
        return self.without_constant(matrix)

    def without_constant(self, matrix: Any) -> Any:
        """The columns of a model matrix but for the constant."""
        return matrix.drop(columns=CONSTANT) if self.has_intercept else matrix

    def __repr__(self) -> str:
        return f"Design({self.formula!r})"


def designed(
    formula: str, data: Any, scope: Any, sample_weight: Any = None, *, of_labels: bool
) -> tuple[Design, Any, Any, Any]:
    """The design of a formula, with the features, the targets and the weights of complete rows.

    Parameters
    ----------
    formula : str
        Such as ``"y ~ age + C(group)"``.
    data : DataFrame or dict of columns
    scope : mapping
        The functions and numbers that the formula may use.
    sample_weight : str, Series or array of shape (rows,), optional
        A column of the data, weights by the data's index, or one for each row.
    of_labels : bool
        Whether the targets are labels, which are a column of the data.

    Returns
    -------
    design : Design
    X : DataFrame of shape (n, d)
    y : array of shape (n,)
    weights : array of shape (n,) or None

    Raises
    ------
    ImportError
        formulaic is not installed.
    ValueError
        The formula has no single target, has no feature, has a variable named "Intercept", or
        cannot be read; the weights are no column and not one a row; or two columns of the data
        have one name.
    """
    try:
        from formulaic import model_matrix
        from formulaic.errors import FormulaicError
        from formulaic.transforms import TRANSFORMS
    except ImportError as error:
        raise ImportError('formulas need formulaic: pip install "dcprog[formulas]"') from error
    data = table(data)
    weights = None if sample_weight is None else _weights(sample_weight, data)
    data = data.reset_index(drop=True)
    rows = len(data)
    if weights is not None:
        data = data[weights.notna()]
    scope = {
        name: one for name, one in scope.items() if callable(one) or name not in TRANSFORMS
    }  # a number named C hides C(…) no more than in R
    try:
        matrices = model_matrix(formula, data, context=scope)
    except (FormulaicError, SyntaxError) as error:
        told = str(error).splitlines()[0]  # the others colour the place for a terminal
        raise ValueError(f"formula={formula!r}: {told}") from error
    features: Any = getattr(matrices, "rhs", None)
    if isinstance(features, tuple):
        raise ValueError(
            f"formula={formula!r} has {len(features)} parts: write one right side without '|'"
        )
    y = (_labels if of_labels else _numbers)(formula, data, getattr(matrices, "lhs", None))
    if features is not None and CONSTANT in features.model_spec.required_variables:
        raise ValueError(
            f"formula={formula!r}: {CONSTANT!r} is the constant's name: rename this variable"
        )
    design = _design(formula, features.model_spec, scope, rows - len(features))
    X = design.without_constant(features)
    if X.shape[1] == 0:
        raise ValueError(f"formula={formula!r} has no feature: one is needed, as in 'y ~ a + b'")
    return design, X, y, None if weights is None else np.asarray(weights[X.index])


def table(data: Any) -> Any:
    """The data as a DataFrame of pandas, text as Python objects, which formulaic encodes."""
    import pandas as pd

    data = data.to_pandas() if hasattr(data, "to_pandas") else pd.DataFrame(data)
    twice = data.columns[data.columns.duplicated()]
    if len(twice):
        raise ValueError(f"the data have two columns of the name {twice[0]!r}: rename one")
    return data.astype({name: object for name in data.select_dtypes("string").columns})


def _weights(sample_weight: Any, data: Any) -> Any:
    """One weight for each row of the data, as a Series by the row's number."""
    import pandas as pd

    if isinstance(sample_weight, str):
        if sample_weight not in data.columns:
            told = meant(sample_weight, map(str, data.columns))
            raise ValueError(f"sample_weight={sample_weight!r} is no column of the data: {told}")
        return data[sample_weight].reset_index(drop=True)
    if isinstance(sample_weight, pd.Series):
        return _by_index(sample_weight, data.index).reset_index(drop=True)
    found = np.asarray(sample_weight)
    if found.shape != (len(data),):
        told = f"one weight for each of the {len(data)} rows is needed"
        raise ValueError(f"sample_weight has the shape {found.shape}: {told}")
    return pd.Series(found)


def _by_index(weights: Any, index: Any) -> Any:
    """The weights in the order of the data's index."""
    if weights.index.equals(index):
        return weights
    missing = index[~index.isin(weights.index)]
    if len(missing) or not (index.is_unique and weights.index.is_unique):
        told = f"it has none for the row {missing[0]!r}" if len(missing) else "one is not unique"
        raise ValueError(
            f"sample_weight is a Series, matched with the data by their indices, but {told}; "
            "weights in the order of the rows are passed by sample_weight.to_numpy()"
        )
    return weights.reindex(index)


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


def _design(formula: str, spec: Any, scope: Any, left_out: int) -> Design:
    """The design, with the names of the scope that its features use."""
    used = {name.partition(".")[0] for name in spec.variables_by_source.get("context", ())}
    found = {name: scope[name] for name in sorted(used)}
    modules = {name: one.__name__ for name, one in found.items() if isinstance(one, ModuleType)}
    values = {name: one for name, one in found.items() if name not in modules}
    return Design(formula, spec, values, modules, left_out)


def _scope_of_caller() -> dict[str, Any]:
    """The names that the caller of a public method sees."""
    frame: Any = sys._getframe(2)
    return frame.f_globals | frame.f_locals


# ----------------------------------------------------------------------------------------------


class FormulaFit(DeclaredEstimator):
    """An estimator that can be fitted by a formula, too.

    Attributes
    ----------
    design_ : Design
        The features by the formula, if the estimator is one of :meth:`from_formula`.
    """

    @classmethod
    def from_formula(
        cls, formula: str, data: Any, *, sample_weight: Any = None, **parameters: Any
    ) -> Self:
        """The estimator fitted to a DataFrame by a formula; formulaic must be installed.

        Rows with missing values are left out; ``summary()`` tells how many. Names of coefficients
        are those of the formula's columns. The formula may use functions and numbers of the place
        where this is called; numbers must not have the name of a function of formulaic's, such as
        ``C`` or ``log``. The methods of the fitted estimator take a DataFrame of the formula's
        variables, or of its columns, which the attribute ``design_`` makes:
        ``model.design_(other)``.

        Parameters
        ----------
        formula : str
            Such as ``"loss ~ flow + log(acid) + C(site)"``; ``"loss ~ 0 + flow"`` has no intercept.
            The left side of a classifier is the column of the labels.
        data : DataFrame or dict of columns
        sample_weight : str, Series or array of shape (n,), optional
            A column of the data by name, a Series whose index has those of the data's n rows, or a
            weight for each row in their order. A row whose weight is NaN is left out. As in R, a
            column of weights is a variable too: ``"y ~ ."`` makes a feature of it, ``"y ~ . - w"``
            does not.
        **parameters
            Parameters of the estimator but for ``fit_intercept``, which the formula determines, of
            the ``estimator`` of a cross-validation too.

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
            right side has no feature, several parts or a variable named "Intercept", the estimator
            always has an intercept and the formula has none, the weights are no column or not one
            for each row, two columns of the data have one name, or as from ``fit``.
        TypeError
            ``fit_intercept`` is given, or weights to an estimator whose ``fit`` takes none.

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
        if "weights" in parameters:
            raise TypeError("from_formula() has no parameter 'weights': write sample_weight=…")
        scope = _scope_of_caller()
        model = cls(**parameters)
        if sample_weight is not None and not has_fit_parameter(model, "sample_weight"):
            raise TypeError(f"{cls.__name__} takes no sample_weight: {WEIGHTED}")
        design, X, y, weights = designed(
            formula, data, scope, sample_weight, of_labels=is_classifier(model)
        )
        model._set_intercept(design)
        model.fit(X, y, **({} if weights is None else {"sample_weight": weights}))
        model.design_ = design
        return model

    def _set_intercept(self, design: Design) -> None:
        """Fit an intercept if the formula has one."""
        if "fit_intercept" in self._get_param_names():
            self.set_params(fit_intercept=design.has_intercept)
        elif not design.has_intercept:
            name = type(self).__name__
            raise ValueError(f"formula={design.formula!r}: {name} always has an intercept")

    def _by_formula(self, X: Any, reset: bool) -> Any:
        """The features that the formula makes of X; X itself in a fit, or without a formula."""
        if reset:
            self.__dict__.pop("design_", None)  # of the formula of a former fit
            return X
        return self.design_.features(X) if hasattr(self, "design_") else X
