"""Estimators as dataclasses: each parameter is declared in one line of the class body."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import Field, dataclass, field, fields
from inspect import cleandoc
from itertools import chain
from numbers import Integral, Real
from typing import Any, dataclass_transform

from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, InvalidParameterError, StrOptions

from dcprog.foundation.names import meant, names_nearest, nearest

POSITIVE = Interval(Real, 0, None, closed="neither")
NONNEGATIVE = Interval(Real, 0, None, closed="left")
COUNT = Interval(Integral, 1, None, closed="left")
WIDTH = (StrOptions({"scale", "auto"}), POSITIVE)  # γ of a kernel
JOBS = (Integral, None)  # a number of joblib processes


def one_of(*names: str) -> Any:
    """The constraint that a parameter is one of the given strings."""
    return StrOptions(set(names))


# ----------------------------------------------------------------------------------------------


SECTIONS = ("Parameters", "Attributes", "Warns")  # in this order
HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)


def completed(doc: str, bases: Iterable[str]) -> str:
    r"""A numpydoc docstring with the parameters, attributes and warnings that it inherits.

    Parameters
    ----------
    doc : str
    bases : iterable of str
        Docstrings of the base classes, the nearest first. Of several entries for one name the first
        is kept.

    Returns
    -------
    str
        The completed docstring, without indentation.

    Examples
    --------
    >>> base = "Base.\n\nWarns\n-----\na : int\n    One.\nb : int\n    Two."
    >>> completed("Child.", [base]).splitlines()[-4:]
    ['a : int', '    One.', 'b : int', '    Two.']
    """
    head, found = _sections(doc)
    told = {name: _entries(found.pop(name, "")) for name in SECTIONS}
    for base in bases:
        behind = _sections(base)[1]
        for name, entries in told.items():
            known = {word for entry in entries for word in _names(entry)}
            entries += [e for e in _entries(behind.get(name, "")) if not known & _names(e)]
    bodies = {name: "\n".join(entries) for name, entries in told.items() if entries} | found
    parts = [head, *(f"{name}\n{'-' * len(name)}\n{body}" for name, body in bodies.items())]
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def _sections(doc: str) -> tuple[str, dict[str, str]]:
    """The text before the first heading, and the body below each heading."""
    head, *rest = HEADING.split(cleandoc(doc))
    return head, dict(zip(rest[::2], rest[1::2], strict=True))


def _entries(body: str) -> list[str]:
    """The entries of a section: an unindented line and the indented lines below it."""
    return [entry.rstrip() for entry in re.split(r"\n(?=\S)", body.strip("\n")) if entry]


def _names(entry: str) -> set[str]:
    """The names that an entry describes: those before its colon."""
    return {name.strip() for name in entry.split("\n")[0].split(" : ")[0].split(",")}


# ----------------------------------------------------------------------------------------------


def parameter(*constraints: Any, default: Any) -> Any:
    """Declare a parameter in the body of an estimator class: ``C: float = parameter(…)``.

    Parameters
    ----------
    *constraints
        Constraints of scikit-learn's parameter validation, of which a value must satisfy at least
        one: an ``Interval``, ``StrOptions``, a type, ``"boolean"``, ``None``, …; common ones are
        ``POSITIVE``, ``COUNT`` and ``one_of(…)`` of :mod:`dcprog.estimators`.
    default
        The default value: None, a number, a string, a bool, a tuple or a function.

    Returns
    -------
    dataclasses.Field

    Raises
    ------
    TypeError
        No constraint is given.
    """
    if not constraints:
        raise TypeError(f"parameter(default={default!r}): a constraint is needed, such as POSITIVE")
    return field(default=default, metadata={"constraints": constraints})


@dataclass_transform(eq_default=False, field_specifiers=(parameter,))
class DeclaredEstimator(BaseEstimator):
    """A scikit-learn estimator that is a dataclass of its parameters.

    Each ``name: type = parameter(…)`` in the body of a subclass defines an argument of the
    constructor, which stores it unchanged as scikit-learn requires, and the check before ``fit``.
    Parameters of base classes are inherited. Parameters below ``_: KW_ONLY`` are keyword-only.
    Entries of the base classes' docstrings for parameters, attributes and warnings are added to the
    subclass's docstring unless it has its own.

    Examples
    --------
    >>> from dcprog.estimators.parameters import POSITIVE, DeclaredEstimator, parameter
    >>> class Ridge(DeclaredEstimator):
    ...     lam: float = parameter(POSITIVE, default=1.0)
    >>> Ridge(lam=3.0).get_params()
    {'lam': 3.0}
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        told = vars(cls).get("__doc__") or ""
        dataclass(eq=False, repr=False, match_args=False)(cls)
        cls.__init__ = names_nearest(cls.__init__)  # type: ignore[method-assign]
        cls._parameter_constraints = {f.name: _constraints(cls, f) for f in fields(cls)}
        behind = [vars(base).get("__doc__") or "" for base in cls.__mro__[1:] if _is_ours(base)]
        cls.__doc__ = completed(told, behind)

    def set_params(self, **params: Any) -> Any:
        """Set parameters, nested ones by names such as ``loss__c``.

        Raises
        ------
        ValueError
            There is no such parameter; the error names the nearest.
        """
        known = self._get_param_names()
        for key in params:
            name, _, inner = key.partition("__")
            if name not in known:
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}: {meant(name, known)}"
                )
            part = params.get(name, getattr(self, name))
            if inner and not hasattr(part, "set_params"):
                raise ValueError(f"{name}={part!r} has no parameter {inner!r}: set {name} first")
        return super().set_params(**params)

    def _validate_params(self) -> None:
        try:
            super()._validate_params()
        except InvalidParameterError as error:
            raise InvalidParameterError(f"{error}{self._advice(str(error))}") from None

    def _advice(self, message: str) -> str:
        """A question for the option that was meant, for the message of scikit-learn's check."""
        for name, constraints in self._parameter_constraints.items():
            if f"The {name!r} parameter of" in message:
                options = (c.options for c in constraints if isinstance(c, StrOptions))
                close = nearest(getattr(self, name), chain.from_iterable(options))
                return "" if close is None else f" Is {close!r} meant?"
        return ""


def _constraints(cls: type, declared: Field[Any]) -> list[Any]:
    if "constraints" not in declared.metadata:
        raise TypeError(
            f"{cls.__name__}.{declared.name}: a parameter is declared by "
            f"{declared.name}: type = parameter(…, default=…); other names are ClassVars"
        )
    return [*declared.metadata["constraints"]]


def _is_ours(base: type) -> bool:
    """True if subclasses inherit the docstring entries of the class."""
    return issubclass(base, DeclaredEstimator) and base is not DeclaredEstimator
