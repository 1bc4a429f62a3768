"""Estimators whose parameters are declared, each in one line of their class."""

from __future__ import annotations

from dataclasses import Field, dataclass, field, fields
from typing import Any, dataclass_transform

from sklearn.base import BaseEstimator

from dcprog.estimators.inherited_docs import completed

__all__ = ["DeclaredEstimator", "parameter"]


def parameter(*constraints: Any, default: Any) -> Any:
    """A parameter of an estimator, in the body of its class: ``C: float = parameter(…)``.

    Parameters
    ----------
    *constraints
        What it may be, one of them at least, in the words of scikit-learn's validation: an
        ``Interval``, ``StrOptions``, a type, ``"boolean"``, ``None``, …; many are in
        :mod:`dcprog.estimators.parameter_constraints`.
    default
        None, a number, a string, a bool, a tuple or a function.

    Returns
    -------
    dataclasses.Field

    Raises
    ------
    TypeError
        No constraint is given.
    """
    if not constraints:
        raise TypeError(
            f"parameter(default={default!r}): what it may be is needed, as a constraint"
        )
    return field(default=default, metadata={"constraints": constraints})


@dataclass_transform(eq_default=False, field_specifiers=(parameter,))
class DeclaredEstimator(BaseEstimator):
    """A scikit-learn estimator that is a dataclass of its parameters.

    From each ``name: type = parameter(…)`` in the body of a subclass follow the argument of the
    constructor, which only keeps it as scikit-learn wants, and the check before ``fit``; those of
    the classes behind it are inherited. What stands below ``_: KW_ONLY`` is given by name. What
    the docstrings of the classes behind it say of parameters, attributes and warnings is taken
    over where the subclass's own says nothing.

    Examples
    --------
    >>> from dcprog.estimators.declared_estimator import DeclaredEstimator, parameter
    >>> from dcprog.estimators.parameter_constraints import POSITIVE
    >>> class Ridge(DeclaredEstimator):
    ...     lam: float = parameter(POSITIVE, default=1.0)
    >>> Ridge(lam=3.0).get_params()
    {'lam': 3.0}
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        told = vars(cls).get("__doc__") or ""
        dataclass(eq=False, repr=False, match_args=False)(cls)
        cls._parameter_constraints = {f.name: _constraints(cls, f) for f in fields(cls)}
        behind = [vars(base).get("__doc__") or "" for base in cls.__mro__[1:] if _is_ours(base)]
        cls.__doc__ = completed(told, behind)


def _constraints(cls: type, declared: Field[Any]) -> list[Any]:
    if "constraints" not in declared.metadata:
        raise TypeError(
            f"{cls.__name__}.{declared.name}: a parameter is declared by "
            f"{declared.name}: type = parameter(…, default=…); what is none is a ClassVar"
        )
    return [*declared.metadata["constraints"]]


def _is_ours(base: type) -> bool:
    """True if a class's docstring describes parameters that its subclasses inherit."""
    return issubclass(base, DeclaredEstimator) and base is not DeclaredEstimator
