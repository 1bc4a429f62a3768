"""Parameters of estimators: declared in one line each, losses and penalties also by name."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, dataclass, field, fields
from inspect import cleandoc
from itertools import chain
from numbers import Integral, Real
from typing import Any, ClassVar, dataclass_transform

from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, InvalidParameterError, Options, StrOptions

from dcprog.foundation.parameters import advice, meant, names_nearest, nearest
from dcprog.losses import Loss
from dcprog.losses.compositions import MARGIN_LOSSES, RESIDUAL_LOSSES, is_of_residuals, named_loss
from dcprog.penalties import Penalty, l2
from dcprog.penalties.names import PENALTIES, named_penalty

POSITIVE = Interval(Real, 0, None, closed="neither")
NONNEGATIVE = Interval(Real, 0, None, closed="left")
COUNT = Interval(Integral, 1, None, closed="left")
WIDTH = (StrOptions({"scale", "auto"}), POSITIVE)  # γ of a kernel
JOBS = (Integral, None)  # a number of joblib processes


def one_of(*values: Any) -> Any:
    """The constraint that a parameter is one of the given strings, or of the given integers."""
    named = all(isinstance(value, str) for value in values)
    return StrOptions(set(values)) if named else Options(Integral, set(values))


def between(low: float | None, high: float | None, closed: str = "both") -> Any:
    """The constraint that a parameter is a number in a range, whose ends None leaves open.

    `closed` names the ends that belong to it: ``"both"``, ``"left"``, ``"right"`` or ``"neither"``.
    """
    return Interval(Real, low, high, closed=closed)


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
        one: a type, ``"boolean"``, ``None``, …; common ones are ``POSITIVE``, ``COUNT``,
        ``between(…)`` and ``one_of(…)`` of :mod:`dcprog.estimators`.
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
                close = nearest(key, self.get_params())  # penalty_lam: 'penalty__lam'
                told = meant(name, known if close is None else [close])
                raise ValueError(f"{type(self).__name__} has no parameter {key!r}: {told}")
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


# ----------------------------------------------------------------------------------------------


# The class of each part, its instances by name, the maker of new ones, and an example.
PARTS: dict[str, tuple[Any, Mapping[str, Any], Callable[[str], Any], str]] = {
    "loss": (Loss, MARGIN_LOSSES | RESIDUAL_LOSSES, named_loss, "dc.hinge()"),
    "penalty": (Penalty, PENALTIES, named_penalty, "dc.l2(1.0)"),
}

# What R, statsmodels and scikit-learn call some of them.
OTHER_NAMES = {
    "bisquare": "tukey",
    "biweight": "tukey",
    "tukeybiweight": "tukey",
    "lad": "absolute",
    "squared_error": "square",
    "quantile": "pinball",
    "log_loss": "logistic",
    "lasso": "l1",
    "ridge": "l2",
}

AUTO = "auto"  # the value of a parameter that the data determine


def part_of(which: str, value: Any) -> Any:
    """The loss or the penalty itself, or the one of the given name.

    Raises
    ------
    ValueError
        None has this name.
    TypeError
        The argument is neither such an object nor a string.
    """
    kind, known, make, example = PARTS[which]
    if isinstance(value, kind):
        return value
    if not isinstance(value, str):
        told = advice(value, kind, example)
        raise TypeError(f"{which}={value!r}: a {kind.__name__} or a name is needed; {told}")
    if value in known:
        return make(value)
    told = advice(value, kind, "")
    if not told.startswith("write"):  # otherwise the named function needs arguments
        told = meant(OTHER_NAMES.get(value.lower(), value), known)
    raise ValueError(f"{which}={value!r}: no {which} has this name; {told}")


class NamedParts(DeclaredEstimator):
    """An estimator with a loss and a penalty, given as objects or by name.

    Parameters of a named or default loss or penalty are parameters of the estimator too, such as
    ``loss__c``; setting one replaces the name by the object.

    Parameters
    ----------
    penalty : str or Penalty, optional
        ``"l2"``, which is ½‖w‖², by default; a name is one of
        :func:`dcprog.penalties.names.named_penalty`. ``penalty__lam`` sets its weight; it is
        ``"auto"`` where the default penalty takes its weight from the data.
    """

    _of_residuals: ClassVar[bool]
    _by_data: ClassVar[tuple[str, ...]] = ()  # parameters of a default that the data determine

    loss: Loss | str | None = parameter(object, default=None)
    penalty: Penalty | str | None = parameter(object, default=None)

    @abstractmethod
    def _default_loss(self) -> Loss:
        """The loss for ``loss=None``."""

    def _default_penalty(self) -> Penalty:
        """The penalty for ``penalty=None``."""
        return l2(1.0)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; with `deep` also those of the loss and the penalty."""
        params: dict[str, Any] = super().get_params(deep)
        if not deep:
            return params
        for name, named in self._named(params).items():
            inner = named.get_params(deep=True)
            params |= {f"{name}__{key}": value for key, value in inner.items()}
        return params | dict.fromkeys(self._left_to_data(params), AUTO)

    def set_params(self, **params: Any) -> Any:
        """Set parameters; those of the loss and the penalty have names such as ``loss__c``.

        Raises
        ------
        ValueError
            There is no such parameter, or ``"auto"`` is the value of one of a part that is not the
            default.
        """
        given = super().get_params(deep=False) | params
        left = [key for key in self._left_to_data(given) if params.get(key) == AUTO]
        params = {key: value for key, value in params.items() if key not in left}
        for key in self._by_data:
            if isinstance(params.get(key), str) and params[key] == AUTO:
                part = key.split("__")[0]
                raise ValueError(f"{key}={AUTO!r} goes with {part}=None, not {given[part]!r}")
        nested = {key.split("__")[0] for key in params if "__" in key}
        named = self._named({name: given.get(name) for name in nested & {"loss", "penalty"}})
        return super().set_params(**params | named)

    def _left_to_data(self, params: Mapping[str, Any]) -> list[str]:
        """The nested parameters, of parts that are None, that the data determine."""
        return [name for name in self._by_data if params[name.split("__")[0]] is None]

    def _named(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The loss and penalty objects for values that are None or a known name."""
        found: dict[str, Any] = {}
        for which, (_, known, make, _) in PARTS.items():
            value = params.get(which, "")
            if value is None:
                found[which] = getattr(self, f"_default_{which}")()
            elif isinstance(value, str) and value in known:
                found[which] = make(value)
        return found

    def _loss(self) -> Loss:
        return self._default_loss() if self.loss is None else part_of("loss", self.loss)

    def _penalty(self) -> Penalty:
        return self._default_penalty() if self.penalty is None else part_of("penalty", self.penalty)

    def _validate_params(self) -> None:
        super()._validate_params()
        try:
            self._penalty()
            reason = self._refused(self._loss())
        except (TypeError, ValueError) as error:
            raise InvalidParameterError(_of_estimator(self, str(error))) from None
        if reason is not None:
            raise InvalidParameterError(_of_estimator(self, reason))

    def _refused(self, loss: Loss) -> str | None:
        """The error message for a loss of the wrong kind (margins or residuals), otherwise None."""
        if is_of_residuals(loss) == self._of_residuals:
            return None
        names = RESIDUAL_LOSSES if self._of_residuals else MARGIN_LOSSES
        listed = ", ".join(map(repr, names))
        if self._of_residuals:
            return (
                f"loss={self.loss!r} is a loss of margins y·f(x), for RobustClassifier; of "
                f"residuals y − f(x) there are {listed}"
            )
        moved = any(key.split("__")[-1] == "at" for key in loss.get_params())
        return (
            f"loss={self.loss!r} is a loss of residuals y − f(x), for RobustRegressor; of margins "
            f"y·f(x) there are {listed}{', and this one with at=1.0' if moved else ''}"
        )


def _of_estimator(estimator: Any, message: str) -> str:
    name = message.split("=")[0]
    return f"The {name!r} parameter of {type(estimator).__name__} is wrong: {message}"
