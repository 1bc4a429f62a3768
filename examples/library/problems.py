"""One nonconvex term a rule of majorisation, and nested ones; not run by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cvxpy as cp
import numpy as np

Array = np.ndarray
D = 4
RNG = np.random.default_rng(11)
A, B = RNG.normal(size=(D, D)).round(2), RNG.normal(size=(D, D)).round(2)
CENTRE = RNG.normal(size=D).round(2)


def _capped(x: cp.Variable) -> cp.Expression:
    return cp.minimum(cp.square(A @ x), 1)


# A majorant has no value where epigraph variables are to be minimised over first: no term here
# needs that. Each is bounded below by a multiple of −(1 + ‖x‖), so that a ridge makes it a problem.
TERMS: dict[str, Callable[[cp.Variable], cp.Expression]] = {
    "concave: tangent": lambda x: -cp.norm(x - 1),
    "sum of both": lambda x: cp.norm1(A @ x) - cp.norm(B @ x),
    "mixed signs through a matrix": lambda x: cp.sum(A @ cp.abs(x)),
    "concave of convex, nondecreasing": lambda x: cp.sum(cp.log(1 + cp.square(A @ x))),
    "concave of convex, capped": lambda x: cp.sum(_capped(x)),
    "concave of affine of convex": lambda x: cp.sum(cp.sqrt(1 + cp.abs(A @ x) + cp.pos(x))),
    "concave atom, nonincreasing": lambda x: cp.sum(cp.log(9 - cp.minimum(cp.abs(x), 5))),
    "convex of nonconvex, nondecreasing": lambda x: cp.sum(cp.exp(_capped(x))),
    "convex of nonconvex, nonincreasing": lambda x: -cp.sum(cp.log(1 + _capped(x))),
    "even convex of nonconvex": lambda x: cp.sum(cp.square(_capped(x) - 0.5)),
    "product of variables": lambda x: x[0] * x[1] - x[2] * x[3],
    "product of nonconvex factors": lambda x: cp.sum(
        cp.multiply(_capped(x), cp.minimum(cp.abs(x), 2))
    ),
    "indefinite quadratic form": lambda x: cp.quad_form(x, np.diag([0.5, -0.4, 0.3, -0.2])),
    "logarithm of a quotient": lambda x: cp.sum(cp.log((1 + cp.square(x)) / (2 + cp.abs(A @ x)))),
    "quotient": lambda x: cp.sum(cp.abs(A @ x)) / (1 + cp.norm(B @ x)),
    "quotient times a factor": lambda x: cp.abs(x[1]) * (cp.abs(x[0]) / (1 + cp.norm(x[1:]))),
    "quotient of exponentials": lambda x: cp.exp(x[0]) / cp.sum(cp.exp(x)),
    "product of all entries": lambda x: cp.prod(0.5 + cp.square(x[:3])),
    "product of three factors, from below": lambda x: (
        -cp.sum(cp.multiply(cp.multiply(1 + _capped(x), 2 + _capped(x)), cp.minimum(cp.abs(x), 2)))
    ),
    "bounded curvature": lambda x: cp.sum(cp.nlp.sin(2 * x)) + cp.sum(cp.nlp.tanh(A @ x)),
    "split in two: sinh of tanh": lambda x: cp.sum(cp.nlp.sinh(cp.nlp.tanh(x))),
    "odd power of either sign": lambda x: cp.sum(cp.power(cp.nlp.tanh(x), 3)),
    "x exp x of nonnegatives": lambda x: cp.sum(cp.xexp(1 + cp.nlp.sin(x))),
    "divergence, term by term": lambda x: cp.sum(
        cp.kl_div(np.ones(D), 2 + cp.log(1 + cp.square(x)))
    ),
    "a number in a vector": lambda x: cp.sum(cp.exp(_capped(x) - cp.norm(x))),
    "largest entries, taken off": lambda x: (
        cp.sum(cp.abs(B @ x)) - cp.sum_largest(cp.abs(B @ x), 2)
    ),
    "difference of maxima": lambda x: cp.max(A @ x) - cp.max(B @ x),
    "nested: log of cap": lambda x: cp.sum(cp.log(1 + 3 * _capped(x))),
    "nested: cap of log": lambda x: cp.sum(cp.minimum(cp.log(1 + cp.square(A @ x)), 0.7)),
    "nested: root of log of cap": lambda x: cp.sum(cp.sqrt(0.1 + cp.log(1 + _capped(x)))),
    "nested: exp of −log of a square": lambda x: cp.sum(cp.exp(-cp.log(1 + cp.square(x)))),
    "nested: cap of a sum of caps": lambda x: cp.minimum(cp.sum(_capped(x)) + cp.norm1(x), 3),
    "nested: norm of caps": lambda x: cp.norm(_capped(x) + cp.abs(x)),
    "nested: maximum of caps and tangents": lambda x: cp.max(_capped(x)) - cp.norm(x, 2),
}


@dataclass(frozen=True)
class Case:
    """F = term + ½‖x − c‖²·weight, without constraints."""

    name: str
    x: cp.Variable
    F: cp.Expression

    def value(self, point: Array) -> float:
        """cvxpy's own evaluation."""
        self.x.value = point
        return float(np.asarray(self.F.value).item())


def cases() -> list[Case]:
    found = []
    for name, term in TERMS.items():
        x = cp.Variable(D)
        found.append(Case(name, x, term(x) + 0.6 * cp.sum_squares(x - CENTRE)))
    return found
