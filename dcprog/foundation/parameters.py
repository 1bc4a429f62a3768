"""Checks of what a user writes: names, numbers, and the parameters of losses and penalties."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache, wraps
from inspect import Parameter, signature
from itertools import chain
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from dcprog.foundation.arrays import Array

P = ParamSpec("P")
R = TypeVar("R")
NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
# Names elsewhere of the weight of a penalty, as it is written here.
WEIGHTS = {"C": "dc.l2(1 / C)", "alpha": "dc.l2(alpha)", "lam": "dc.l2(lam)"}
# Estimators that take weights of samples, as told by one that takes none.
WEIGHTED = "dc.RobustRegressor and dc.RobustClassifier take weights"
NEAR = 0.65  # share of equal letters of a misspelt name; "best" and "beside" have 0.6


def nearest(value: Any, known: Iterable[str]) -> str | None:
    """The known name that is nearest to a value, in any case of letters; None if none is near."""
    names = {name.lower(): name for name in known}
    written = value.lower() if isinstance(value, str) else ""
    close = get_close_matches(written, names, n=1, cutoff=NEAR)
    return names[close[0]] if close else None


def meant(value: Any, known: Iterable[str]) -> str:
    """Advice on an unknown name: the nearest known one, or all of them.

    Examples
    --------
    >>> meant("hugh", ["low", "high"]), meant("any", ["low", "high"]), meant(3, ["low"])
    ("is 'high' meant?", "choose one of 'low', 'high'", "choose one of 'low'")
    """
    names = list(known)
    close = nearest(value, names)
    if close is None:
        return f"choose one of {', '.join(map(repr, names))}"
    return f"is {close!r} meant?"


def check_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """Raise an error unless the value is one of the choices.

    Raises
    ------
    ValueError
        It is none of them; the error names the nearest.
    """
    listed = list(choices)
    if not (isinstance(value, str) and value in listed):
        raise ValueError(f"{name}={value!r}: {meant(value, listed)}")


def unknown_keyword(call: Callable[..., Any], given: Mapping[str, Any], called: str) -> str | None:
    """The error message for the first keyword that a function does not have; None without one."""
    parameters = signature(call).parameters.values()
    if any(p.kind == p.VAR_KEYWORD for p in parameters):
        return None
    known = [p.name for p in parameters if p.kind in NAMED and p.name != "self"]
    for name in given:
        if name not in known:
            told = meant(name, known) if known else "it has none"
            if name == "sample_weight" and called.endswith(".fit"):
                told = WEIGHTED
            elif name in WEIGHTS and "penalty" in known:
                told = f"write penalty={WEIGHTS[name]}"
            elif name.partition("__")[0] in known:
                told = f"write {called}(…).set_params({name}=…)"
            elif "estimator" in known and told.startswith("choose"):
                told += "; the estimator has its own"
            return f"{called}() has no parameter {name!r}: {told}"
    return None


def names_nearest(call: Callable[P, R]) -> Callable[P, R]:
    """The function, whose TypeError for an unknown keyword names the nearest known one.

    Examples
    --------
    >>> @names_nearest
    ... def solve(problem, *, effort="default"):
    ...     return effort
    >>> solve(1, efort="high")
    Traceback (most recent call last):
    TypeError: solve() has no parameter 'efort': is 'effort' meant?
    """
    known = frozenset(signature(call).parameters)

    @wraps(call)
    def checked(*args: P.args, **options: P.kwargs) -> R:
        if not known.issuperset(options):
            owner, _, called = call.__qualname__.removesuffix(".__init__").rpartition(".")
            if owner and args:  # a method, maybe inherited: the user knows the object's own class
                called = f"{type(args[0]).__name__}.{called}"
            message = unknown_keyword(call, options, called)
            if message is not None:
                raise TypeError(message)
        return call(*args, **options)

    return checked


# ----------------------------------------------------------------------------------------------


LONGEST = 700  # characters of a repr


class Declared:
    """An object of parameters that its constructor checks; so does ``set_params``.

    It has the methods by which scikit-learn clones an object and sets nested parameters, and does
    not derive from its class, whose import takes a third of cvxpy's time.
    If an argument is missing, the error of the constructor shows how the call is written; for an
    unknown one it names the nearest.
    """

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """A parameter of some subclass."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            cls.__init__ = _told(cls.__init__)  # type: ignore[method-assign]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; with `deep` also those of a part, as ``loss__c``."""
        kind: Any = type(self)
        found = {name: getattr(self, name) for name, _ in _defaults(kind)}
        parts = [(k, v) for k, v in found.items() if deep and isinstance(v, Declared)]
        for name, part in parts:
            found |= {f"{name}__{key}": value for key, value in part.get_params().items()}
        return found

    def set_params(self, **params: Any) -> Any:
        """Set parameters, nested ones by ``loss__c``.

        Raises
        ------
        TypeError, ValueError
            As from the constructor, or there is no such parameter; the object then keeps its former
            parameters.
        """
        before = self.get_params(deep=False)
        unknown = [key for key in params if key.partition("__")[0] not in before]
        if unknown:
            told = meant(unknown[0], before) if before else "it has none"
            raise ValueError(f"{self!r} has no parameter {unknown[0]!r}: {told}")
        nested: dict[str, dict[str, Any]] = {}
        for key, value in params.items():
            name, _, inner = key.partition("__")
            if inner:
                nested.setdefault(name, {})[inner] = value
            else:
                setattr(self, name, value)
        parts: dict[str, Any] = {name: getattr(self, name) for name in nested}
        inside = {
            name: part.get_params() for name, part in parts.items() if isinstance(part, Declared)
        }
        try:
            for name, inner_params in nested.items():
                if name not in inside:
                    raise ValueError(f"{name}={parts[name]!r} has no parameters {[*inner_params]}")
                parts[name].set_params(**inner_params)
            type(self)(**self.get_params(deep=False))
        except (TypeError, ValueError):
            for name, former_inside in inside.items():
                parts[name].set_params(**former_inside)
            for name, former in before.items():
                setattr(self, name, former)
            raise
        return self

    def __repr__(self) -> str:
        kind: Any = type(self)
        given = ((name, getattr(self, name), usual) for name, usual in _defaults(kind))
        changed = (f"{name}={value!r}" for name, value, usual in given if repr(value) != usual)
        text = f"{kind.__name__}({', '.join(changed)})"
        return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}...{text[-LONGEST // 2 :]}"


@cache
def _defaults(kind: Any) -> list[tuple[str, str]]:
    """The names of the constructor's parameters and the reprs of their defaults, sorted."""
    parameters = signature(kind.__init__).parameters.values()
    named = (p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD))
    return sorted((p.name, repr(p.default)) for p in named if p.name != "self")


def _told(init: Callable[..., None]) -> Callable[..., None]:
    """The constructor, whose error for wrong arguments tells how the call is written."""

    @wraps(init)
    def checked(self: Any, *args: Any, **parameters: Any) -> None:
        try:
            init(self, *args, **parameters)
        except TypeError:
            unknown = unknown_keyword(init, parameters, type(self).__name__)
            message = unknown or _missing(type(self), init, args, parameters)
            if message is None:
                raise
            raise TypeError(message) from None

    return checked


def _missing(kind: type, init: Any, args: Any, parameters: Any) -> str | None:
    """The error message for missing arguments; None if none is missing."""
    try:
        given = dict(signature(init).bind_partial(None, *args, **parameters).arguments)
    except TypeError:  # arguments that the constructor does not have
        return None
    missing = [name for name in _needed(init) if name not in given]
    if not missing:
        return None
    written = ", ".join(repr(given[n]) if n in given else n for n in _needed(init))
    had = ", ".join(repr(given[n]) for n in _needed(init) if n in given)
    verb = "is" if len(missing) == 1 else "are"
    name = kind.__name__
    return f"{name}({had}): {' and '.join(missing)} {verb} missing; write {name}({written})"


def _needed(init: Any) -> list[str]:
    """The names of the constructor's parameters without a default."""
    found = [p for p in signature(init).parameters.values() if p.kind in NAMED]
    return [p.name for p in found if p.default is p.empty and p.name != "self"]


def parts_of(whole: Any) -> list[Any]:
    """The losses or transforms in the attributes that ``made_of`` names, those in tuples too."""
    values = (getattr(whole, name) for name in whole.made_of)
    flat = chain.from_iterable(v if isinstance(v, tuple) else (v,) for v in values)
    return [part for part in flat if part is not None]


def usage(kind: Any) -> str:
    """The call that makes an instance of a class, as text.

    Examples
    --------
    >>> from dcprog.losses import cap, hinge
    >>> usage(hinge), usage(cap)
    ('dc.hinge()', 'dc.cap(loss, c)')
    """
    own = "dc." if kind.__module__.split(".")[0] == "dcprog" else ""
    return f"{own}{kind.__name__}({', '.join(_needed(kind.__init__))})"


def advice(value: Any, kind: type, example: str) -> str:
    """Advice on a value of the wrong kind: the call of the class that was meant, or an example.

    Examples
    --------
    >>> from dcprog.losses import Loss, hinge
    >>> advice("hinge", Loss, "dc.hinge()"), advice(hinge, Loss, "dc.hinge()")
    ('write dc.hinge()', 'write dc.hinge()')
    >>> advice(1.0, Loss, "dc.hinge()")
    'such as dc.hinge()'
    """
    if isinstance(value, type) and issubclass(value, kind):
        return f"write {usage(value)}"
    if hasattr(value, "is_dcp"):
        return "expressions of cvxpy's stay in cvxpy: dc.solve takes sums of cp.minimum(e, 1)"
    meant = [one for one in _below(kind) if one.__name__ == value]
    return f"write {usage(meant[0])}" if meant else f"such as {example}"


def _below(kind: Any) -> Iterator[type]:
    for one in kind.__subclasses__():
        yield one
        yield from _below(one)


def check_number(
    name: str,
    value: Any,
    low: float = -np.inf,
    high: float = np.inf,
    *,
    closed: bool = False,
) -> Any:
    """The value, after a check that it is finite and in (low, high), or [low, high) if `closed`.

    Raises
    ------
    TypeError
        Not a number.
    ValueError
        NaN, infinite or outside.
    """
    bracket = "[" if closed else "("
    wanted = "a finite number"
    if np.isfinite(low) or np.isfinite(high):
        wanted += f" in {bracket}{low:g}, {high:g})"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name}={value!r}: {wanted} is needed, not {type(value).__name__}")
    number = float(value)
    inside = number >= low if closed else number > low
    if not (inside and number < high and np.isfinite(number)):
        raise ValueError(f"{name}={value!r}: {wanted} is needed")
    return value


def ascending(name: str, values: Any, *, zero: bool = False) -> Array:
    """Numbers in increasing order, after a check that they are finite and positive.

    Parameters
    ----------
    name : str
        The name for the error.
    values : array of shape (m,) or float
    zero : bool, default False
        Whether they may be 0.

    Raises
    ------
    ValueError
        There is none, or one is out of range.
    """
    found = np.sort(np.atleast_1d(np.asarray(values, dtype=float)))
    in_range = np.isfinite(found) & (found >= 0 if zero else found > 0)
    if found.ndim != 1 or found.size == 0 or not np.all(in_range):
        kind = "nonnegative" if zero else "positive"
        raise ValueError(f"{name}={values!r}: {kind} finite numbers are needed")
    return found


def check_count(name: str, value: Any, least: int) -> Any:
    """The value, after a check that it is a whole number of at least `least`.

    Raises
    ------
    TypeError
        Not a whole number.
    ValueError
        Below `least`.
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name}={value!r}: a whole number of at least {least} is needed")
    if value < least:
        raise ValueError(f"{name}={value!r}: at least {least} is needed")
    return value


def check_flag(name: str, value: Any) -> None:
    """Raise an error unless the value is True or False.

    Raises
    ------
    TypeError
        Neither True nor False.
    """
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name}={value!r}: True or False is needed")


def same(a: Any, b: Any) -> bool:
    """True if two objects are of one class and have the same parameters."""
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, Declared):
        ours, theirs = a.get_params(deep=False), b.get_params(deep=False)
        return all(same(ours[name], theirs[name]) for name in ours)
    return a is b or bool(np.array_equal(a, b))
