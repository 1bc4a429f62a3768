"""A loose convex start is near the least value of its own problem, however small that is."""

from __future__ import annotations

import numpy as np

import dcprog as dc
from dcprog.rows.linear import binary_margins


def test_a_start_far_below_zero_may_be_far_above_its_minimum() -> None:
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(450, 450))
    X = Z * np.logspace(-3, 3, 450)  # dual coordinates leave a quarter of the value at θ = 0
    y = np.sign(Z @ rng.normal(size=450))
    loss = dc.cap(dc.hinge(), 1.0)
    risk = dc.Risk.from_loss(binary_margins(X, y), loss, penalty=dc.l2(1e-4))
    result = dc.solve(risk, n_starts=1)
    assert result.status == "converged"
    assert result.value < 1e-3  # all samples are fitted
