"""Losses as estimators, what they refuse, and how they say so."""

from __future__ import annotations

import inspect
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from dcprog.foundation.errors import NotMajorizable
from dcprog.losses import (
    Loss,
    absolute,
    andrews,
    cap,
    compose,
    convex_sum,
    epsilon_insensitive,
    erf,
    hinge,
    huber,
    huberize,
    log,
    log_ratio,
    logistic,
    pade_hinge,
    pinball,
    power,
    rational,
    rescale,
    sigmoid_hinge,
    square,
    squared,
    squared_hinge,
    trim,
    truncate,
    tukey,
    welsch,
)
from dcprog.transforms import (
    Transform,
    andrews_by,
    concave,
    erf_by,
    huberize_by,
    log_of,
    log_ratio_by,
    power_of,
    rational_by,
    rescale_by,
    trim_of,
    tukey_by,
    welsch_by,
)

GRID = np.linspace(-4, 4, 161)


def share(t: Any) -> Any:
    return t / (1 + t)


def share_slope(t: Any) -> Any:
    return 1 / (1 + t) ** 2


SHARE = concave(value=share, slope=share_slope)

# A new loss is one entry here.
LOSSES: list[Loss] = [
    *(hinge(), squared_hinge(), logistic(), pade_hinge(2.0), sigmoid_hinge(2.0, at=0.5)),
    *(squared(sigmoid_hinge(2.0)), squared(hinge())),
    *(absolute(), square(at=1.0), huber(1.0), pinball(0.3), epsilon_insensitive(0.1)),
    *(cap(hinge(), 1.0), truncate(hinge(), 0.0), rescale(hinge(), 0.5), power(hinge(), 0.5)),
    *(log(hinge(), 2.0), trim(hinge(), 0.1), compose(SHARE, hinge()), huberize(hinge(), 1.0)),
    *(andrews(hinge(), 1.0), tukey(hinge(), 1.0), welsch(hinge(), 1.0), log_ratio(hinge(), 1.0)),
    *(rational(hinge(), 0.5, 0.1), erf(hinge(), 1.0, 0.1), convex_sum((hinge(),), (2.0,))),
    *(2 * hinge(), hinge() + absolute(), hinge() - square(), trim(cap(hinge(), 2.0), 0.2)),
]


# ---- estimators --------------------------------------------------------------------------------


def test_loss_is_an_estimator() -> None:
    u = GRID[::7]
    for loss in LOSSES:
        for copied in (clone(loss), pickle.loads(pickle.dumps(loss))):
            assert repr(copied) == repr(loss)
            np.testing.assert_array_equal(copied(u), loss(u), err_msg=repr(loss))
        rebuilt = type(loss)(**loss.get_params(deep=False))
        np.testing.assert_array_equal(rebuilt(u), loss(u), err_msg=repr(loss))


def test_parameters_are_reached_by_name() -> None:
    loss = cap(rescale(hinge(), 0.5), 1.0)
    assert loss.get_params()["loss__loss__at"] == 1.0
    loss.set_params(c=0.5, loss__eta=2.0, loss__loss__at=0.0)
    assert repr(loss) == "cap(c=0.5, loss=rescale(eta=2.0, loss=hinge(at=0.0)))"
    grid = ParameterGrid({"c": [0.5, 1.0], "loss__loss": [hinge(), square(1.0)]})
    assert len({repr(clone(loss).set_params(**point)) for point in grid}) == 4
    ramp = truncate(hinge(), 0.0).set_params(s=-1.0, base__at=2.0)
    assert ramp.bound == 3


def test_a_refused_parameter_leaves_the_loss_as_it_was() -> None:
    loss = cap(hinge(), 1.0)
    with pytest.raises(ValueError, match="c=-1"):
        loss.set_params(c=-1.0)
    with pytest.raises(TypeError, match="at='x'"):
        loss.set_params(loss__at="x")
    assert repr(loss) == "cap(c=1.0, loss=hinge())"


@pytest.mark.parametrize(
    ("loss", "transform"),
    [
        *((rescale, rescale_by), (power, power_of), (log, log_of), (trim, trim_of)),
        *((huberize, huberize_by), (andrews, andrews_by), (tukey, tukey_by), (welsch, welsch_by)),
        *((log_ratio, log_ratio_by), (rational, rational_by), (erf, erf_by)),
    ],
)
def test_a_composition_takes_what_its_transform_takes(
    loss: type[Loss], transform: type[Transform]
) -> None:
    ours, theirs = (list(inspect.signature(c).parameters.values()) for c in (loss, transform))
    assert ours[0].name == "loss"
    assert ours[1:] == theirs


# ---- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: hinge() - cap(hinge(), 1.0), "must be convex.*a - 2 \\* hinge"),
        (lambda: cap(trim(hinge(), 0.1), 1.0), "Try: trim last"),
        (lambda: trim(trim(hinge(), 0.1), 0.1), "Try: trim last"),
        (lambda: trim(trim(hinge(), 0.1) - absolute(), 0.1), "Try: trim last"),
        (lambda: rescale(hinge() - square(), 1.0), "goes down to -inf"),
        (lambda: power(rational(square(), 3.0, 1.0), 0.5), "goes down to -0.02"),
        (lambda: power(truncate(hinge(), 0.0), 0.5), "infinite.*delta"),
        (lambda: power(hinge(), 0.5) + square(), "infinite.*delta"),
        (lambda: compose(power_of(0.5), truncate(hinge(), 0.0)), "infinite.*delta"),
        (lambda: truncate(square(), 1.0), "no place where it starts.*cap\\(square\\(\\), level"),
        (lambda: truncate(logistic(), 1.0), "Try: cap\\(logistic\\(\\), level\\), or logistic"),
        (lambda: truncate(huber(1.0), 1.0), "no place where it starts"),
        (lambda: truncate(pinball(0.5), 1.0), "no place where it starts"),
    ],
)
def test_what_has_no_majorant_is_refused(make: Callable[[], Loss], words: str) -> None:
    with pytest.raises(NotMajorizable, match=words):
        make()


def test_negative_factors_are_refused_with_advice() -> None:
    with pytest.raises(ValueError, match=r"factor=-1.*a - b subtracts"):
        -1 * hinge()
    with pytest.raises(ValueError, match="factor=0"):
        0 * hinge()
    with pytest.raises(TypeError):
        hinge() + 1
    with pytest.raises(TypeError):
        hinge() * hinge()


def refusal(make: Callable[..., Any], parameters: dict[str, Any]) -> Exception | None:
    try:
        make(**parameters)
    except (TypeError, ValueError) as error:
        return error
    return None


NAN = float("nan")
BAD_NUMBERS: list[tuple[Callable[..., Any], dict[str, Any], str, list[Any]]] = [
    (hinge, {}, "at", [NAN, np.inf, "1", None]),
    (squared_hinge, {}, "at", [NAN, "1"]),
    (absolute, {}, "at", [NAN, "1"]),
    (square, {}, "at", [NAN, "1"]),
    (huber, {}, "delta", [0.0, -1.0, NAN, np.inf, "1", True]),
    (pinball, {}, "tau", [0.0, 1.0, -1.0, NAN, "1"]),
    (epsilon_insensitive, {}, "eps", [-0.1, NAN, "1"]),
    (epsilon_insensitive, {"eps": 0.1}, "at", [NAN, "1"]),
    (pade_hinge, {}, "eta", [0.0, -1.0, NAN, "1"]),
    (pade_hinge, {"eta": 1.0}, "at", [NAN, "1"]),
    (sigmoid_hinge, {}, "eta", [0.0, -1.0, NAN, "1"]),
    (sigmoid_hinge, {"eta": 1.0}, "at", [NAN, "1"]),
    (cap, {"loss": hinge()}, "c", [0.0, -1.0, NAN, "1"]),
    (truncate, {"base": hinge()}, "s", [1.0, 2.0, NAN, "1"]),
    (truncate, {"base": absolute()}, "s", [0.0, -1.0, NAN, "1"]),
    (truncate, {"base": epsilon_insensitive(0.5)}, "s", [0.5, 0.1, NAN, "1"]),
    (rescale, {"loss": hinge()}, "eta", [0.0, -1.0, NAN, "1"]),
    (power, {"loss": hinge()}, "p", [0.0, -1.0, 1.5, NAN, "1"]),
    (power, {"loss": hinge(), "p": 0.5}, "delta", [-1.0, NAN, np.inf, "1"]),
    (log, {"loss": hinge()}, "scale", [0.0, -1.0, NAN, "1"]),
    (trim, {"loss": hinge()}, "fraction", [-0.1, 1.0, NAN, "1"]),
    *((f, {"loss": hinge()}, "sigma", [0.0, -1.0, NAN, "1"]) for f in (huberize, andrews, tukey)),
    *((f, {"loss": hinge()}, "sigma", [0.0, -1.0, NAN, "1"]) for f in (welsch, log_ratio)),
    (rational, {"loss": hinge(), "delta": 0.1}, "s", [0.0, -1.0, NAN, "1"]),
    (rational, {"loss": hinge(), "s": 0.5}, "delta", [0.0, -1.0, NAN, "1"]),
    (rational, {"loss": hinge(), "s": 2.0}, "delta", [0.4]),
    (erf, {"loss": hinge(), "delta": 0.1}, "s", [0.0, -1.0, NAN, "1"]),
    (erf, {"loss": hinge(), "s": 0.5}, "delta", [0.0, -1.0, NAN, "1"]),
    (convex_sum, {"losses": (hinge(),)}, "factors", [(0.0,), (-1.0,), (NAN,), ("1",)]),
]


def test_bad_numbers_are_refused_by_name() -> None:
    for make, others, name, values in BAD_NUMBERS:
        for value in values:
            wrong_type = value in ("1", None, True, ("1",)) and value != 1.0
            error = TypeError if wrong_type or value is True else ValueError
            said = refusal(make, others | {name: value})
            assert isinstance(said, error), (make, name, value)
            assert re.search(f"{name}=.*(needed|must|only|delta >)", str(said)), (make, said)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: cap(3.0, 1.0), "loss=3.0: a loss is needed"),  # type: ignore[arg-type]
        (lambda: cap(hinge, 1.0), r"write dc\.hinge\(\)"),  # type: ignore[arg-type]
        (lambda: rescale(None, 1.0), "loss=None"),  # type: ignore[arg-type]
        (lambda: welsch(1.0), "loss=1.0: a loss is needed"),  # type: ignore[call-arg, arg-type]
        (lambda: rational(s=1.0, delta=0.1), "loss is missing; write rational"),  # type: ignore[call-arg]
        (lambda: cap(2.0), "loss=2.0"),  # type: ignore[call-arg, arg-type]
        (lambda: tukey(4.685), r"as in dc\.tukey\(0\.5 \* dc\.square\(\), 4\.685\)"),  # type: ignore[call-arg, arg-type]
        (lambda: tukey(sigma=4.685), r"write tukey\(loss, 4\.685\)"),  # type: ignore[call-arg]
        (lambda: trim("hinge", 0.1), "loss='hinge'"),  # type: ignore[arg-type]
        (lambda: truncate(cap(hinge(), 1.0), 0.0), "a convex loss is needed"),  # type: ignore[arg-type]
        (lambda: compose(np.sqrt, hinge()), "a transform is needed"),  # type: ignore[arg-type]
        (lambda: compose(SHARE, 3), "loss=3"),  # type: ignore[arg-type]
        (lambda: convex_sum((cap(hinge(), 1.0),), (1.0,)), "a convex loss is needed"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_loss_is_refused(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        make()


def test_factors_and_losses_come_in_pairs() -> None:
    with pytest.raises(ValueError, match="one each"):
        convex_sum((hinge(),), (1.0, 2.0))


@pytest.mark.parametrize("wrong", [{"c": -1.0}, {"c__x": 1.0}, {"loss__q": 1.0}])
def test_a_refused_call_leaves_the_parameters_of_parts(wrong: dict[str, float]) -> None:
    loss = cap(hinge(), 2.0)
    with pytest.raises(ValueError, match=r"is needed|no parameter"):
        loss.set_params(loss__at=3.0, **wrong)
    assert repr(loss) == "cap(c=2.0, loss=hinge())"
