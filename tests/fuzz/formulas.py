"""Losses and penalties with their formulas written out a second time, in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

import dcprog as dc
from tests.fuzz.landscape import Array

__all__ = ["Formula", "Function", "carried_on_from", "random_loss", "random_penalty"]

Function = Callable[[Array], Array]
EDGE = 1e-10
POWER, LP = 2, 7  # places in the tables below
SQUARED, JOINED = (4, 5, 6, 7), (9, 10)


@dataclass
class Formula:
    """A loss or penalty of the library and what it should be worth.

    `value` is of all rows (or coefficients) at once and gives one number an entry; `size` is what
    its terms add up to, where that is more; `extended` is what a run descends on where the slope
    at 0 is infinite: carried on along its tangent below 1e-10, as the library documents. `width`
    is that of its narrowest well in the rows, about.
    """

    declared: Any
    value: Function
    size: Function
    joint: bool = False
    extended: Function | None = None
    width: float = np.inf

    @property
    def descended(self) -> Function:
        """What a run descends on."""
        return self.value if self.extended is None else self.extended


def parameter(rng: np.random.Generator) -> float:
    """A positive number: mostly of the order of 1, seldom from 1e-8 to 1e8."""
    if rng.uniform() < 0.75:
        return float(10.0 ** rng.uniform(-1, 1))
    return float(10.0 ** rng.integers(-8, 9))


def random_loss(rng: np.random.Generator, margin: bool) -> Formula:
    """A random loss of a margin or a residual."""
    base, at = _base(rng, margin)
    kind = rng.integers(10)
    if kind == 0:
        return base
    if kind == 1 and at is not None:
        return _truncated(rng, base, at, margin)
    made = _transformed(rng, base)
    if kind == 2:
        made = _transformed(rng, made)
    if kind == 3:
        c = parameter(rng)
        made = Formula(
            c * made.declared,
            _times(c, made.value),
            _times(c, made.size),
            extended=_times(c, made.descended),
            width=made.width,
        )
    if kind == 4:
        return _trimmed(rng, made)
    return made


def _times(c: float, f: Function) -> Function:
    return lambda u: c * f(u)


@contextmanager
def carried_on_from(edge: float) -> Iterator[None]:
    """Infinite slopes are left at another distance: the runs' own is relative to sizes."""
    global EDGE
    usual, EDGE = EDGE, edge
    try:
        yield
    finally:
        EDGE = usual


def _carried_on(p: float) -> Function:
    """t^p, along its tangent at 1e-10 below."""
    return lambda t: np.maximum(t, EDGE) ** p + p * EDGE ** (p - 1) * np.minimum(t - EDGE, 0.0)


def _same(declared: Any, value: Function) -> Formula:
    return Formula(declared, value, lambda u: np.abs(value(u)))


def _softplus(x: Array) -> Array:
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


def _pade(t: Array, eta: float) -> Array:
    """(1 + x)⁵/(2η(5 + 10x² + x⁴)) with x = ηt: the form that cancels no digits at x = −1."""
    x = np.clip(eta * t, -1.0, 1.0)
    inside = (1 + x) ** 5 / (2 * eta * (5 + 10 * x**2 + x**4))
    return np.where(np.abs(t) < 1 / eta, inside, np.maximum(t, 0.0))


def _base(rng: np.random.Generator, margin: bool) -> tuple[Formula, float | None]:
    """A convex loss, and where it starts if it can be truncated."""
    a = parameter(rng)
    at = 1.0 if rng.uniform() < 0.7 else float(rng.normal())
    eta = max(a, 1e-3)
    tau = float(rng.uniform(0.05, 0.95))
    if margin:
        choices: list[tuple[Any, Function, float | None]] = [
            (dc.hinge(at), lambda u: np.maximum(at - u, 0.0), at),
            (dc.hinge(), lambda u: np.maximum(1.0 - u, 0.0), 1.0),
            (dc.squared_hinge(at), lambda u: np.maximum(at - u, 0.0) ** 2, at),
            (dc.logistic(), lambda u: _softplus(-u), None),
            (dc.sigmoid_hinge(eta), lambda u: _softplus(eta * (1 - u)) / eta, 1.0),
            (dc.pade_hinge(eta), lambda u: _pade(1 - u, eta), 1.0),
            (dc.square(at=1.0), lambda u: (1 - u) ** 2, None),
        ]
    else:
        choices = [
            (dc.absolute(), np.abs, 0.0),
            (dc.square(), np.square, None),
            (
                dc.huber(a),
                lambda u: np.where(np.abs(u) <= a, u * u / 2, a * np.abs(u) - a * a / 2),
                None,
            ),
            (dc.pinball(tau), lambda u: np.maximum(tau * u, (tau - 1) * u), None),
            (dc.epsilon_insensitive(a), lambda u: np.maximum(np.abs(u) - a, 0.0), None),
        ]
    declared, value, starts = choices[int(rng.integers(len(choices)))]
    return _same(declared, value), starts


def _truncated(rng: np.random.Generator, base: Formula, at: float, margin: bool) -> Formula:
    """base(u) minus the base moved to s; for |u| that is min(|u|, s)."""
    gap = parameter(rng)
    if not margin:
        return Formula(
            dc.truncate(base.declared, gap),
            lambda u: np.minimum(np.abs(u), gap),
            lambda u: np.abs(u) + np.maximum(np.abs(u) - gap, 0.0),
        )
    s = at - gap
    return Formula(
        dc.truncate(base.declared, s),
        lambda u: base.value(u) - base.value(u + (at - s)),
        lambda u: base.value(u) + base.value(u + (at - s)),
    )


def _transformed(rng: np.random.Generator, inner: Formula) -> Formula:
    """A concave function of a loss."""
    c = parameter(rng)
    p = float(rng.uniform(0.2, 1.0))
    delta = float(rng.choice([0.0, 1e-6, 0.1]))
    s, low = float(rng.uniform(0.3, 1.0)), float(rng.choice([1e-4, 0.1]))
    k = -np.expm1(-c)
    loss, v = inner.declared, _at_least_0(inner.value)

    def rational(t: Array) -> Array:
        slope = (low / (1 + low)) ** (s - 1) / (1 + low) ** 2
        above = (np.maximum(t, low) / (1 + np.maximum(t, low))) ** s / s
        return above - slope * np.maximum(low - t, 0.0)

    def erf(t: Array) -> Array:
        slope = np.exp(-low / c) / np.sqrt(np.pi * c * low)
        above = special.erf(np.sqrt(np.maximum(t, low) / c))
        return np.asarray(above - slope * np.maximum(low - t, 0.0))

    choices: list[tuple[Callable[[], Any], Function]] = [
        (lambda: dc.cap(loss, c), lambda t: np.minimum(t, c)),
        (lambda: dc.rescale(loss, c), lambda t: -np.expm1(-c * t) / k),
        (lambda: dc.power(loss, p, delta), lambda t: (t + delta) ** p),
        (lambda: dc.log(loss, c), lambda t: c * np.log1p(t / c)),
        (
            lambda: dc.huberize(loss, c),
            lambda t: np.where(
                t <= c * c / 2, t, c * np.sqrt(2 * np.maximum(t, c * c / 2)) - c * c / 2
            ),
        ),
        (
            lambda: dc.andrews(loss, c),
            lambda t: 2 * c * c * np.sin(np.minimum(np.sqrt(2 * t) / c, np.pi) / 2) ** 2,
        ),
        (lambda: dc.tukey(loss, c), lambda t: c * c / 6 * _biweight(np.minimum(2 * t / c**2, 1))),
        (lambda: dc.welsch(loss, c), lambda t: -c * c * np.expm1(-t / c**2)),
        (lambda: dc.log_ratio(loss, c), lambda t: (np.log1p(t) - np.log1p(t * np.exp(-c))) / k),
        (lambda: dc.rational(loss, s, low), rational),
        (lambda: dc.erf(loss, c, low), erf),
    ]
    place = int(rng.integers(len(choices)))
    build, outer = choices[place]
    carried = _carried_on(p) if place == POWER and delta == 0 else outer
    w = _at_least_0(inner.descended)
    made = _same(build(), lambda u: outer(v(u)))
    made.extended = lambda u: carried(w(u))
    made.width = min(inner.width, c, 1 / c)
    if place in SQUARED:
        made.width = min(made.width, c * c)
    if place in JOINED:
        made.width = min(made.width, low)
    return made


def _at_least_0(f: Function) -> Function:
    """A loss that rounding may have left below 0, where roots have no value."""
    return lambda u: np.maximum(f(u), 0.0)


def _biweight(x: Array) -> Array:
    return x * (3 - 3 * x + x * x)


def _trimmed(rng: np.random.Generator, inner: Formula) -> Formula:
    fraction = float(rng.choice([0.1, 0.25, 0.5]))

    def kept(f: Function) -> Function:
        def value(u: Array) -> Array:
            losses = f(u).ravel()
            return np.sort(losses)[: losses.size - int(np.floor(fraction * losses.size + 1e-9))]

        return value

    declared = dc.trim(inner.declared, fraction)
    descended = kept(inner.descended)
    return Formula(declared, kept(inner.value), inner.value, True, descended, inner.width)


def random_penalty(rng: np.random.Generator, size: int) -> Formula:
    """A random penalty on so many coefficients."""
    lam, other, gamma = parameter(rng), parameter(rng), float(rng.uniform(1.1, 5))
    p = float(rng.uniform(0.2, 1))
    groups = np.minimum(np.arange(size) // 2, max(size // 2, 1) - 1)

    def mcp(t: Array) -> Array:
        m = np.minimum(t, gamma * lam)
        return m * (lam - m / (2 * gamma))

    def scad(t: Array) -> Array:
        a = gamma + 1
        middle = (2 * a * lam * t - t * t - lam * lam) / (2 * (a - 1))
        return np.where(t <= lam, lam * t, np.where(t <= a * lam, middle, lam * lam * (a + 1) / 2))

    def group(w: Array) -> Array:
        return np.array([lam * np.linalg.norm(w[groups == g]) for g in np.unique(groups)])

    choices: list[tuple[Callable[[], Any], Function]] = [
        (lambda: dc.l2(lam), lambda w: lam / 2 * w * w),
        (lambda: dc.l2(lam), lambda w: lam / 2 * w * w),
        (lambda: dc.l1(lam), lambda w: lam * np.abs(w)),
        (lambda: dc.elastic_net(lam, other), lambda w: lam * np.abs(w) + other / 2 * w * w),
        (lambda: dc.group_lasso(lam, groups), group),
        (lambda: dc.capped_l1(lam, other), lambda w: lam * np.minimum(np.abs(w), other)),
        (lambda: dc.log_sum(lam, other), lambda w: lam * np.log1p(np.abs(w) / other)),
        (lambda: dc.lp(lam, p), lambda w: lam * np.abs(w) ** p),
        (lambda: dc.mcp(lam, gamma), lambda w: mcp(np.abs(w))),
        (lambda: dc.scad(lam, gamma + 1), lambda w: scad(np.abs(w))),
    ]
    place = int(rng.integers(len(choices)))
    build, value = choices[place]
    made = _same(build(), value)
    if place == LP:
        made.extended = lambda w: lam * _carried_on(p)(np.abs(w))
    return made
