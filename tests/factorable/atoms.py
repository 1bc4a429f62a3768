"""One expression an atom, with boxes in its domain: what the tests of the translation go over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
from cvxpy.atoms.elementwise.hyperbolic import asinh, atanh, sinh, tanh
from cvxpy.atoms.elementwise.trig import cos, sin, tan

A = np.random.default_rng(7).normal(size=(4, 3))
P = np.array([[1.0, 2.0, 0.0], [2.0, -1.0, 0.5], [0.0, 0.5, 0.3]])
D = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 3.0]])


@dataclass(frozen=True)
class Form:
    """An expression of x (3,) and Y (2, 2), and the box of all entries that boxes are drawn in."""

    make: Callable[[cp.Variable, cp.Variable], cp.Expression]
    lo: float = -2.5
    hi: float = 2.5


FORMS: dict[str, Form] = {
    "affine": Form(lambda x, y: A @ x + 1),
    "hstack, trace, transpose": Form(lambda x, y: cp.hstack([x, cp.trace(y), (y.T)[0]])),
    "cumulative sum": Form(lambda x, y: cp.cumsum(cp.square(x))),
    "kron and diag": Form(lambda x, y: cp.kron(np.ones((1, 2)), cp.diag(cp.exp(x)))),
    "convolution": Form(lambda x, y: cp.convolve([1.0, -2.0], cp.square(x))),
    "upper triangle": Form(lambda x, y: cp.upper_tri(cp.square(y))),
    "product": Form(lambda x, y: x[0] * x[1]),
    "broadcast product": Form(lambda x, y: cp.multiply(x[0], y)),
    "same twice": Form(lambda x, y: cp.multiply(x, -2 * x)),
    "inner product": Form(lambda x, y: cp.exp(x) @ x),
    "matrix products": Form(lambda x, y: cp.max(y @ y, axis=0) + y @ x[:2] + x[1:] @ y),
    "product of all": Form(lambda x, y: cp.prod(x) + cp.sum(cp.prod(y, axis=1))),
    "cumulative product": Form(lambda x, y: cp.cumprod(y, axis=0)),
    "quotient": Form(lambda x, y: x[0] / (3 + x[1])),
    "quotient of negatives": Form(lambda x, y: x / (cp.square(x[1]) - 9)),
    "constant quotient": Form(lambda x, y: cp.square(x) / 4),
    "whole powers": Form(lambda x, y: cp.power(x, 3) - cp.power(x, 4) + cp.power(x, 5)),
    "powers from 0": Form(lambda x, y: cp.power(x, 1.5) + cp.sqrt(x), lo=0.0),
    "negative powers": Form(lambda x, y: cp.power(x, -2) + cp.inv_pos(x) + cp.power(x, -3), lo=0.2),
    "negative root": Form(lambda x, y: cp.power(x, -0.5), lo=0.2),
    "exponential": Form(lambda x, y: cp.exp(x)),
    "logarithm": Form(lambda x, y: cp.log(x), lo=0.1),
    "log1p": Form(lambda x, y: cp.log1p(x), lo=-0.9),
    "entropy": Form(lambda x, y: cp.entr(x), lo=0.0),
    "x log x as written": Form(lambda x, y: cp.multiply(x, cp.log(2 * x)), lo=0.1),
    "relative entropy": Form(lambda x, y: cp.rel_entr(x, y[0, 0]), lo=0.1),
    "divergence": Form(lambda x, y: cp.kl_div(x, y[0, 0]) + cp.kl_div(2, x), lo=0.1),
    "logistic": Form(lambda x, y: cp.logistic(x)),
    "wide logistic": Form(lambda x, y: cp.logistic(20 * x) - cp.logistic(9 * x - 20)),
    "absolute": Form(lambda x, y: cp.abs(x - 0.5)),
    "Huber": Form(lambda x, y: cp.huber(x, 0.7)),
    "xexp": Form(lambda x, y: cp.xexp(x)),
    "sines": Form(lambda x, y: sin(3 * x) + cos(2 * x)),
    "tangent": Form(lambda x, y: tan(x / 2)),
    "hyperbolic": Form(lambda x, y: tanh(x) + sinh(x) + asinh(2 * x) + atanh(x / 3)),
    "wide tanh": Form(lambda x, y: tanh(20 * x) + tanh(20 * x + 60) + tanh(20 * x - 60)),
    "ramp": Form(lambda x, y: cp.sum(cp.minimum(cp.pos(1 - A @ x), 1))),
    "maximum of three": Form(lambda x, y: cp.maximum(x, -x[0], 0.5)),
    "extremes by axis": Form(lambda x, y: cp.max(y, axis=1) - cp.min(y, axis=0)),
    "norm": Form(lambda x, y: cp.norm(A @ x)),
    "norms by axis": Form(lambda x, y: cp.norm(cp.vstack([x, 2 * x - 1]), axis=1)),
    "norms 1 and inf": Form(lambda x, y: cp.norm1(x) - cp.norm_inf(x)),
    "norm of order 3": Form(lambda x, y: cp.pnorm(x, 3) + cp.norm(y, "fro")),
    "mean of order 1/2": Form(lambda x, y: cp.pnorm(x, 0.5), lo=0.1),
    "quadratic form": Form(lambda x, y: cp.quad_form(x, P, assume_PSD=False)),
    "squares over": Form(lambda x, y: cp.quad_over_lin(x, 4 + x[1]) - cp.sum_squares(A @ x)),
    "matrix fraction": Form(lambda x, y: cp.matrix_frac(x, D)),
    "geometric mean": Form(lambda x, y: cp.geo_mean(x, [1, 2, 1]), lo=0.0),
    "log-sum-exp": Form(lambda x, y: cp.log_sum_exp(cp.square(x)) + cp.log_sum_exp(y, axis=0)),
    "sorted": Form(lambda x, y: cp.sum_largest(cp.square(x), 2) - cp.sum_smallest(x, 2)),
    "largest two and a half": Form(lambda x, y: cp.sum_largest(x, 2.5)),
    "nested": Form(lambda x, y: cp.log(1 + cp.minimum(cp.square(x), 2)) + cp.sqrt(cp.abs(x[1]))),
}
