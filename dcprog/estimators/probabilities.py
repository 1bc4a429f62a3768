"""Probabilities of classes from the scores of a logistic loss, truncated or not."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from types import MethodType
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_softmax, softmax

from dcprog.estimators.covariances import transform_of
from dcprog.foundation.arrays import Array
from dcprog.risk.risk import Risk
from dcprog.transforms import Transform

# The multiplier of the scores lies between 1/MOST, below which all probabilities are equal, and
# MOST, above which those of separated samples are 0 and 1.
MOST = 1e3
INFINITE = 1e8  # a loss beyond those of samples


class available_unless:
    """A method that an object has unless there is a reason against it.

    As scikit-learn's ``available_if``, but the AttributeError tells the reason.

    Parameters
    ----------
    reason : callable
        Maps the object to the reason why it lacks the method, None if it has it.

    Examples
    --------
    >>> from dcprog.estimators.probabilities import available_unless
    >>> class Bird:
    ...     @available_unless(lambda bird: "a penguin does not fly")
    ...     def fly(self): ...
    >>> hasattr(Bird(), "fly")
    False
    """

    def __init__(self, reason: Callable[[Any], str | None]) -> None:
        self.reason = reason

    def __call__(self, method: Callable[..., Any]) -> Any:
        """Decorate the method."""
        self.method = method
        return update_wrapper(self, method)

    def __get__(self, obj: Any, owner: type | None = None) -> Any:
        """The method, bound to the object."""
        if obj is None:
            return self.method
        reason = self.reason(obj)
        if reason is not None:
            raise AttributeError(reason)
        return MethodType(self.method, obj)


def probabilities(scores: Array, multiplier: float) -> Array:
    """The probabilities of the classes, (n, k), from their scores: softmax of their multiples."""
    return np.asarray(softmax(multiplier * scores, axis=1))


def has_finite_odds(transform: Transform, k: int) -> bool:
    """True if the truncated loss of k equally likely classes is least at equal scores.

    Equal scores cost φ((k − 1)·log 2), infinite ones of one class (1 − 1/k)·φ(∞). Where these are
    less, scores are infinite at all odds and tell nothing of them: a cap of two classes must be
    above 2·log 2.

    Parameters
    ----------
    transform : Transform
        The truncation φ of a sample's loss.
    k : int
        The number of classes.

    Returns
    -------
    bool
    """
    even, far = transform(np.array([(k - 1) * np.log(2), INFINITE]))
    return bool(even < (1 - 1 / k) * far)


def multiplier_of(risk: Risk, theta: Array, repeats: float = 1.0) -> float:
    r"""The multiplier a of scores g that makes softmax(a·g) the probabilities of the classes.

    The logistic loss, summed over the other classes j of a sample of class y as
    log(1 + exp(g_j − g_y)), is least in expectation where g_y − g_j are the log odds of y against
    j, hence a = 1. A truncation φ of the loss of a sample weighs it by
    :math:`\omega_y = \varphi'(\sum_j \log(1 + e^{g_j - g_y}))`, and the weight depends on its
    class: samples with large scores count if their class agrees with the scores and not otherwise.
    Where the scores are large, they grow beyond the log odds. Among the samples as they are
    weighed, the probability of class k is proportional to :math:`\omega_k e^{a g_k}` if a·g are the
    log odds. The multiplier is the one of the largest likelihood of that,

    .. math::
        \max_a \; \sum_i \omega_{i y_i} \log \frac{\omega_{i y_i} e^{a g_{i y_i}}}
                                                   {\sum_k \omega_{ik} e^{a g_{ik}}}
        - \tfrac12 (a - 1)^2 .

    For a cap these are the samples of two classes whose loss would be below the cap with either
    label: others tell nothing of a. The last term determines a where no sample does.

    Parameters
    ----------
    risk : Risk
        A risk of the logistic loss on the margins of two classes, or on differences of scores.
    theta : array of shape (p,)
    repeats : float, default 1.0
        The number of samples that a weight of 1 represents.

    Returns
    -------
    float
        Between 0.001 and 1000; 1 if the truncation weighs all alike.
    """
    shares = repeats * risk.shares
    gaps = np.asarray(risk.margins(theta)).reshape(len(shares), -1)
    g = np.column_stack([np.zeros(len(gaps)), -gaps])  # of a sample's own class, then the others
    # the loss of every class k: Σ_j log(1 + exp(g_j − g_k)) over j ≠ k
    losses = np.logaddexp(0.0, g[:, None] - g[:, :, None]).sum(axis=2) - np.log(2)
    weights = transform_of(risk, theta).slope(losses)
    if np.all(weights == weights[0, 0]):
        return 1.0
    kept = weights[:, 0] > 0
    g, weights, counts = g[kept], weights[kept], (shares * weights[:, 0])[kept]
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(weights, 0.0))

    def rise(a: float) -> float:
        """The derivative of the likelihood with its last term."""
        expected = np.sum(np.exp(log_softmax(a * g + logs, axis=1)) * g, axis=1)
        return float(-counts @ expected) + 1 - a

    if rise(1 / MOST) <= 0:
        return 1 / MOST
    return float(brentq(rise, 1 / MOST, MOST)) if rise(MOST) < 0 else MOST
