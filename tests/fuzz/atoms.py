"""Tables of cvxpy's atoms, by what they make of an argument's shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

__all__ = [
    "AFFINE_INSIDE",
    "AXIS",
    "BINARY",
    "ELEMENTWISE",
    "MATRIX",
    "RARE",
    "SQUARE",
    "TOTAL",
    "VECTOR",
]

Unary = Callable[[Any], Any]
Binary = Callable[[Any, Any], Any]

# any shape to the same shape
ELEMENTWISE: dict[str, Unary] = {
    "neg": lambda e: -e,
    "scaled": lambda e: -1.7 * e,
    "divided": lambda e: e / 2.5,
    "abs": cp.abs,
    "pos": cp.pos,
    "negative part": cp.neg,
    "square": cp.square,
    "cube of pos": lambda e: cp.power(cp.pos(e), 3),
    "power 1.5": lambda e: cp.power(cp.abs(e), 1.5),
    "power 4": lambda e: cp.power(e, 4),
    "power 0.7": lambda e: cp.power(cp.pos(e), 0.7),
    "power 0.3": lambda e: cp.power(cp.abs(e), 0.3),
    "power -0.5": lambda e: cp.power(1 + cp.abs(e), -0.5),
    "sqrt": lambda e: cp.sqrt(cp.abs(e)),
    "sqrt, open": lambda e: cp.sqrt(e + 4),
    "huber": lambda e: cp.huber(e, 0.8),
    "wide huber": lambda e: cp.huber(e, 100),
    "logistic": cp.logistic,
    "exp": lambda e: cp.exp(cp.minimum(e, 1)),
    "exp of minus": lambda e: cp.exp(-cp.square(e)),
    "log": lambda e: cp.log(1 + cp.pos(e)),
    "log, open": lambda e: cp.log(e + 4),
    "log1p": lambda e: cp.log1p(cp.abs(e)),
    "log1p of square": lambda e: cp.log1p(cp.square(e)),
    "xexp": lambda e: cp.xexp(cp.pos(cp.minimum(e, 1))),
    "inv_pos": lambda e: cp.inv_pos(1 + cp.pos(e)),
    "inv_pos, open": lambda e: cp.inv_pos(e + 5),
    "loggamma": lambda e: cp.loggamma(1 + cp.abs(e)),
    "log_normcdf": cp.log_normcdf,
    "cap": lambda e: cp.minimum(e, 0.6),
    "floor": lambda e: cp.maximum(e, -0.2),
    "truncated": lambda e: cp.pos(1 - e) - cp.pos(-e),
    "rescaled": lambda e: 1 - cp.exp(-0.7 * cp.pos(e)),
    "well": lambda e: cp.square(cp.square(e) - 1),
    "times itself": lambda e: cp.multiply(e, e),
    "flat": lambda e: 0 * e,
    "cube": lambda e: cp.power(cp.minimum(e, 2), 3),
    "cube, both sides": lambda e: 0.2 * cp.power(e, 3),
    "sixth power": lambda e: 0.1 * cp.power(e, 6),
    "xexp, both sides": lambda e: cp.xexp(cp.minimum(e, 1)),
    "cube less square": lambda e: 0.1 * cp.power(e, 3) - cp.square(e),
    "sin": cp.nlp.sin,
    "cos": lambda e: cp.nlp.cos(2 * e - 1),
    "tan": lambda e: cp.nlp.tan(cp.minimum(cp.abs(e), 1)),
    "tanh": cp.nlp.tanh,
    "asinh": cp.nlp.asinh,
    "sinh": lambda e: cp.nlp.sinh(cp.minimum(e, 1)),
    "atanh": lambda e: cp.nlp.atanh(cp.minimum(cp.abs(e), 0.7)),
    "normcdf": cp.nlp.normcdf,
    "sigmoid": lambda e: 1 / (1 + cp.exp(-e)),
    "share": lambda e: e / (1 + cp.abs(e)),
    "inverse": lambda e: -1 / (1 + cp.square(e)),
    "rate": lambda e: cp.log(1 + cp.pos(e) / (1 + cp.square(e))),
}

# the same, for affine arguments alone: neither even nor monotone
AFFINE_INSIDE: dict[str, Unary] = {
    "entr": lambda e: cp.entr(cp.abs(e)),
    "entr, open": lambda e: cp.entr(e + 4),
    "kl_div": lambda e: cp.kl_div(1 + cp.pos(e), 2 + cp.square(e)),
    "rel_entr": lambda e: cp.rel_entr(1.5, 1 + cp.pos(e)),
}

# two arguments that broadcast
BINARY: dict[str, Binary] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - 0.5 * b,
    "minimum": cp.minimum,
    "maximum": cp.maximum,
    "minimum of three": lambda a, b: cp.minimum(a, b, 0.5),
    "maximum of three": lambda a, b: cp.maximum(-a, 0.1, b),
    "product": cp.multiply,
    "product of capped": lambda a, b: cp.multiply(cp.minimum(a, 2), cp.maximum(b, -1)),
    "product with an inverse": lambda a, b: cp.multiply(a, cp.inv_pos(1 + cp.square(b))),
    "quotient": lambda a, b: a / (1 + cp.abs(b)),
    "quotient of squares": lambda a, b: cp.square(a) / (1 + cp.square(b)),
    "quotient of roots": lambda a, b: cp.sqrt(cp.abs(a)) / (1 + cp.pos(b)),
    "rate of two": lambda a, b: cp.log(1 + cp.pos(a) / (0.5 + cp.abs(b))),
    "product of three": lambda a, b: cp.multiply(
        cp.multiply(1 + cp.pos(a), 1 + cp.abs(b)), 2 + cp.pos(a)
    ),
}

# anything with entries to a scalar
TOTAL: dict[str, Unary] = {
    "sum": cp.sum,
    "mean": cp.mean,
    "sum_squares": cp.sum_squares,
    "max": cp.max,
    "min": cp.min,
    "norm1": cp.norm1,
    "norm_inf": cp.norm_inf,
    "norm2": lambda e: cp.norm(cp.vec(e, order="F"), 2),
    "pnorm 3": lambda e: cp.pnorm(cp.vec(e, order="F"), 3),
    "pnorm 1.5": lambda e: cp.pnorm(cp.vec(e, order="F"), 1.5),
    "pnorm 0.5": lambda e: cp.pnorm(1 + cp.abs(cp.vec(e, order="F")), 0.5),
    "sum_largest": lambda e: cp.sum_largest(e, 2),
    "sum_largest 1.5": lambda e: cp.sum_largest(e, 1.5),
    "sum_smallest": lambda e: cp.sum_smallest(e, 1),
    "log_sum_exp": lambda e: cp.log_sum_exp(cp.minimum(e, 3)),
    "quad_over_lin": lambda e: cp.quad_over_lin(e, 2.0),
    "geo_mean": lambda e: cp.geo_mean(1 + cp.pos(cp.vec(e, order="F"))),
    "harmonic_mean": lambda e: cp.harmonic_mean(1 + cp.abs(cp.vec(e, order="F"))),
    "variance": lambda e: cp.var(cp.vec(e, order="F")),
    "deviation": lambda e: cp.std(cp.vec(e, order="F")),
    "cvar": lambda e: cp.cvar(cp.vec(e, order="F"), 0.5),
    "dotsort": lambda e: cp.dotsort(cp.vec(e, order="F"), np.linspace(0, 1, e.size)),
    "weighted": lambda e: cp.sum(cp.multiply(e, np.linspace(-1, 1, e.size).reshape(e.shape))),
    "ptp": cp.ptp,
    "entry": lambda e: cp.vec(e, order="F")[-1],
}

# vectors of at least two entries to a scalar
VECTOR: dict[str, Unary] = {
    "tv": cp.tv,
    "geo_mean, weighted": lambda e: cp.geo_mean(1 + cp.abs(e), list(range(1, e.size + 1))),
    "quadratic form": lambda e: cp.quad_form(e, np.diag(np.linspace(-1, 1, e.size))),
    "convex form": lambda e: cp.quad_form(e, np.eye(e.size) + 0.1),
    "dot": lambda e: e @ e[::-1],
    "perspective": lambda e: cp.quad_over_lin(e, 1 + cp.pos(e[0])),
    "convolved": lambda e: cp.sum(cp.abs(cp.convolve(np.array([1.0, -0.5]), e))),
    "matrix_frac": lambda e: cp.matrix_frac(e, np.eye(e.size) + 0.2),
    "last of diff": lambda e: cp.norm_inf(cp.diff(e)),
    "prod": cp.prod,
    "prod of positive": lambda e: cp.prod(0.5 + cp.abs(e)),
    "softmax": lambda e: cp.max(cp.exp(cp.minimum(e, 2)) / cp.sum(cp.exp(cp.minimum(e, 2)))),
    "shares": lambda e: cp.sum(cp.abs(e) / (1 + cp.sum(cp.abs(e)))),
}

# matrices to a scalar
MATRIX: dict[str, Unary] = {
    "sigma_max": cp.sigma_max,
    "nuclear": cp.normNuc,
    "mixed": lambda e: cp.mixed_norm(e, 2, 1),
    "tv of a matrix": cp.tv,
    "frobenius": lambda e: cp.norm(e, "fro"),
    "gram": lambda e: cp.trace(e.T @ e),
    "sparse product": lambda e: cp.sum(sp.csr_array(np.eye(e.shape[0])) @ e),
}

# symmetric matrices (affine) to a scalar
SQUARE: dict[str, Unary] = {
    "lambda_max": cp.lambda_max,
    "lambda_min": cp.lambda_min,
    "lambda_sum_largest": lambda e: cp.lambda_sum_largest(e, 2),
    "log_det": lambda e: cp.log_det(e + 9 * np.eye(e.shape[0])),
    "log_det, open": lambda e: cp.log_det(e + 4 * np.eye(e.shape[0])),
    "tr_inv": lambda e: cp.tr_inv(e + 9 * np.eye(e.shape[0])),
    "diagonal": lambda e: cp.sum(cp.abs(cp.diag(e))),
    "trace": cp.trace,
}

# along an axis; the third argument says whether the axis is kept
AXIS: dict[str, Callable[[Any, Any, bool], Any]] = {
    "sums": lambda e, axis, keep: cp.sum(e, axis=axis, keepdims=keep),
    "means": lambda e, axis, keep: cp.mean(e, axis=axis, keepdims=keep),
    "maxima": lambda e, axis, keep: cp.max(e, axis=axis, keepdims=keep),
    "minima": lambda e, axis, keep: cp.min(e, axis=axis, keepdims=keep),
    "norms": lambda e, axis, keep: cp.norm(e, 2, axis=axis, keepdims=keep),
    "norms 1": lambda e, axis, keep: cp.norm(e, 1, axis=axis, keepdims=keep),
    "norms inf": lambda e, axis, keep: cp.norm(e, "inf", axis=axis, keepdims=keep),
    "log_sum_exp": lambda e, axis, keep: cp.log_sum_exp(cp.minimum(e, 3), axis=axis, keepdims=keep),
}

# what has no rule, or may have none: refused, or solved
RARE: dict[str, Unary] = {
    "ceil": lambda e: cp.sum(cp.ceil(e)),
    "sign": lambda e: cp.sum(cp.sign(e)),
    "cummax": lambda e: cp.sum(cp.cummax(cp.vec(e, order="F"))),
    "cumprod": lambda e: cp.sum(cp.cumprod(1 + cp.abs(cp.vec(e, order="F")))),
    "length": lambda e: cp.length(cp.vec(e, order="F")),
    "parameter exponent": lambda e: cp.sum(cp.power(cp.abs(e), cp.Parameter(value=0.5, pos=True))),
}
