"""The loss and the penalty of an estimator, given as objects or by name."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, ClassVar

from sklearn.utils._param_validation import InvalidParameterError

from dcprog.estimators.declared_estimator import DeclaredEstimator, parameter
from dcprog.foundation.parameters import advice
from dcprog.losses import Loss
from dcprog.losses.names import MARGIN_LOSSES, RESIDUAL_LOSSES, is_of_residuals, named_loss
from dcprog.penalties import Penalty, l2
from dcprog.penalties.names import PENALTIES, named_penalty

__all__ = ["NamedParts", "loss_of", "penalty_of"]


def loss_of(loss: Any) -> Loss:
    """The loss itself, or the loss of the given name.

    Raises
    ------
    ValueError
        No loss has this name.
    TypeError
        The argument is neither a loss nor a string.
    """
    return _part("loss", loss, Loss, MARGIN_LOSSES | RESIDUAL_LOSSES, "dc.hinge()")


def penalty_of(penalty: Any) -> Penalty:
    """The penalty itself, or the penalty of the given name.

    Raises
    ------
    ValueError
        No penalty has this name.
    TypeError
        The argument is neither a penalty nor a string.
    """
    return _part("penalty", penalty, Penalty, PENALTIES, "dc.l2(1.0)")


def _part(what: str, value: Any, kind: type, names: Mapping[str, Any], example: str) -> Any:
    if isinstance(value, kind):
        return value
    if isinstance(value, str) and value in names:
        return named_loss(value) if kind is Loss else named_penalty(value)
    if isinstance(value, str):
        told = _meant(value, names)
        if advice(value, kind, "").startswith("write"):
            told = advice(value, kind, "")  # the named function needs arguments
        raise ValueError(f"{what}={value!r}: no {what} has this name; {told}")
    told = advice(value, kind, example)
    raise TypeError(f"{what}={value!r}: a {kind.__name__} or a name is needed; {told}")


def _meant(name: str, names: Mapping[str, Any]) -> str:
    close = get_close_matches(name, names, n=1)
    listed = ", ".join(map(repr, names))
    return f"is {close[0]!r} meant?" if close else f"choose one of {listed}"


class NamedParts(DeclaredEstimator):
    """An estimator with a loss and a penalty, given as objects or by name.

    Parameters of a named or default loss or penalty are parameters of the estimator too, such as
    ``loss__c``; setting one replaces the name by the object.

    Parameters
    ----------
    penalty : str or Penalty, optional
        ``"l2"``, which is ½‖w‖², by default; a name is one of
        :func:`dcprog.penalties.names.named_penalty`. ``penalty__lam`` sets its weight.
    """

    _of_residuals: ClassVar[bool]

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
        for name, named in self._named(params).items() if deep else ():
            inner = named.get_params(deep=True)
            params |= {f"{name}__{key}": value for key, value in inner.items()}
        return params

    def set_params(self, **params: Any) -> Any:
        """Set parameters; those of the loss and the penalty have names such as ``loss__c``."""
        nested = {key.split("__")[0] for key in params if "__" in key}
        given = super().get_params(deep=False) | params
        named = self._named({name: given.get(name) for name in nested & {"loss", "penalty"}})
        return super().set_params(**params | named)

    def _named(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The loss and penalty objects for values that are None or a known name."""
        found: dict[str, Any] = {}
        for name, usual, known, make in (
            ("loss", self._default_loss, MARGIN_LOSSES | RESIDUAL_LOSSES, named_loss),
            ("penalty", self._default_penalty, PENALTIES, named_penalty),
        ):
            value = params.get(name, "")
            if value is None:
                found[name] = usual()
            elif isinstance(value, str) and value in known:
                found[name] = make(value)
        return found

    def _names(self) -> dict[str, Loss]:
        return RESIDUAL_LOSSES if self._of_residuals else MARGIN_LOSSES

    def _loss(self) -> Loss:
        return self._default_loss() if self.loss is None else loss_of(self.loss)

    def _penalty(self) -> Penalty:
        return self._default_penalty() if self.penalty is None else penalty_of(self.penalty)

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
        listed = ", ".join(map(repr, self._names()))
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
