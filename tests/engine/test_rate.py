"""Rates read off histories whose rate is known, and off runs."""

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog.engine.rate import rate_of
from dcprog.engine.track import History


def history(values: Any, unchanged: int = 0) -> History:
    """A history of values of one F, whose last majorants were unchanged."""
    values = np.asarray(values, dtype=float)
    zero = np.zeros(len(values))
    kept = np.arange(len(values)) >= len(values) - unchanged
    rise = np.diff(values, prepend=values[0])
    return History(values, zero, zero, zero, zero, zero, rise, kept)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("n", [12, 60])
def test_a_linear_rate_and_its_factor(q: float, n: int) -> None:
    rate = rate_of(history(3 + q ** np.arange(n)), 4.0)
    assert rate.kind == "linear"
    assert rate.interval[0] <= q <= rate.interval[1]
    assert rate.value == pytest.approx(q, rel=1e-3)


@pytest.mark.parametrize("p", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("n", [40, 200])
def test_a_power_of_t_and_its_exponent(p: float, n: int) -> None:
    rate = rate_of(history(1 + (np.arange(n) + 3.0) ** -p), 2.0)
    assert rate.kind == "sublinear"
    assert rate.interval[0] <= p <= rate.interval[1]


@pytest.mark.parametrize("seed", range(10))
def test_the_interval_holds_the_truth_under_noise(seed: int) -> None:
    rng = np.random.default_rng(seed)
    falls = 0.6 ** np.arange(40) * np.exp(0.05 * rng.normal(size=40))
    values = np.cumsum(falls[::-1])[::-1]
    rate = rate_of(history(values), 3.0)
    assert rate.kind == "not shown" or rate.interval[0] <= 0.6 <= rate.interval[1]


def test_a_superlinear_rate() -> None:
    assert rate_of(history(1e-2 ** (1.3 ** np.arange(11.0))), 1e-9).kind == "superlinear"


@pytest.mark.parametrize("n", [1, 5, 9])
def test_few_steps_show_nothing(n: int) -> None:
    rate = rate_of(history(0.5 ** np.arange(n)), 1.0)
    assert rate.kind == "not shown"
    assert "too few steps" in str(rate)


def test_without_a_history_nothing_is_shown() -> None:
    assert rate_of(History.empty(), 1.0).kind == "not shown"


@pytest.mark.parametrize("n", [10, 12, 14, 16])
def test_a_change_of_two_rates_is_not_taken_for_a_power(n: int) -> None:
    t = np.arange(n)
    assert rate_of(history(0.5**t + 0.3 * 0.8**t), 2.0).kind != "sublinear"


def test_rounding_is_not_read() -> None:
    t = np.arange(60.0)
    rounding = 1e-15 * np.random.default_rng(0).normal(size=60)
    rate = rate_of(history(1 + 0.3**t + rounding), 2.0)
    assert rate.kind == "linear"
    assert rate.value == pytest.approx(0.3, rel=1e-2)


def test_the_end_of_a_smooth_limit_is_not_called_finite() -> None:
    """Quick linear convergence ends in F's rounding, where the majorant repeats as well."""
    rate = rate_of(history([1 + 1e-4**t for t in range(6)], unchanged=1), 1.0)
    assert rate.kind == "not shown"


def test_a_finite_run_counts_its_steps() -> None:
    rate = rate_of(history([3.0, 2.0, 1.5, 1.5], unchanged=2), 3.0)
    assert (rate.kind, rate.value) == ("finite", 2)
    assert str(rate).startswith("finite, after 2 steps")


def test_only_values_of_one_function_are_compared() -> None:
    """A price of violations that moves makes the first steps values of other functions."""
    run = history(np.r_[5.0, 4.0, 1 + 0.5 ** np.arange(14)])
    run.rise[2] = -7.0
    rate = rate_of(run, 1.0)
    assert rate.kind == "linear"
    assert rate.decreases == 13


# ---- runs ----------------------------------------------------------------------------------------


def proximal(extra: float) -> dc.Result:
    """F = x⁴ + extra·x², majorised with a proximal term: min F + (x − x₀)²."""
    x = cp.Variable()
    x.value = 1.0
    convex = cp.power(x, 4) + (1 + extra) * cp.square(x)
    problem = cp.Problem(cp.Minimize(convex - cp.square(x)))
    return dc.solve(problem, start="current", n_starts=1, escape=False, tol=1e-8, max_iter=120)


def test_the_proximal_point_method_on_a_quartic() -> None:
    """8x⁴⁺³ + 2x⁺ = 2x: x ~ t^−½, hence F ~ t^−2."""
    rate = proximal(0.0).rate()
    assert rate.kind == "sublinear"
    assert rate.value == pytest.approx(2, abs=0.1)


def test_the_proximal_point_method_on_a_quadratic() -> None:
    """2.2x⁺ = 2x near 0: F ~ (2/2.2)^2t."""
    rate = proximal(0.1).rate()
    assert rate.kind == "linear"
    assert rate.value == pytest.approx((2 / 2.2) ** 2, abs=0.01)


def plain(risk: dc.Risk) -> dc.Result:
    return dc.solve(risk, n_starts=1, start=3 * np.ones(6), escape=False)


def test_a_capped_loss_ends_and_a_smooth_one_does_not() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = X[:, 0] * np.sign(X[:, 0] + 0.3 * rng.normal(size=200))
    y[:30] *= -1
    rows = dc.residual_rows(X, y)
    losses = dc.cap(dc.square(), 1.0), dc.welsch(0.5 * dc.square(), 1.0)
    capped, smooth = (plain(dc.Risk.from_loss(rows, loss, dc.l2(0.1))) for loss in losses)
    assert capped.rate().kind == "finite"
    assert capped.rate().value == capped.n_iter
    assert smooth.rate().kind == "linear"
