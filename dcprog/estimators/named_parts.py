"""The loss and the penalty of an estimator, given as objects or by name."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from sklearn.utils._param_validation import InvalidParameterError

from dcprog.estimators.parameters import DeclaredEstimator, parameter
from dcprog.foundation.names import meant
from dcprog.foundation.parameters import advice
from dcprog.losses import Loss
from dcprog.losses.compositions import MARGIN_LOSSES, RESIDUAL_LOSSES, is_of_residuals, named_loss
from dcprog.penalties import Penalty, l2
from dcprog.penalties.names import PENALTIES, named_penalty

# The class of each part, its instances by name, the maker of new ones, and an example.
PARTS: dict[str, tuple[Any, Mapping[str, Any], Callable[[str], Any], str]] = {
    "loss": (Loss, MARGIN_LOSSES | RESIDUAL_LOSSES, named_loss, "dc.hinge()"),
    "penalty": (Penalty, PENALTIES, named_penalty, "dc.l2(1.0)"),
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
        told = meant(value, known)
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
