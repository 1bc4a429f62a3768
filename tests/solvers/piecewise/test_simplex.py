"""The simplex method ends."""

from __future__ import annotations

import numpy as np

import dcprog as dc
from dcprog.rows.linear import Samples


def test_where_highs_goes_in_circles() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(20, 60)), 5 * rng.normal(size=20)
    y[:6] += 20
    risk = dc.Risk.from_loss(Samples(X), dc.cap(dc.absolute(), 1.0), dc.l2(0.0), offset=-y)
    result = dc.solve(risk, time_limit=60)
    assert result.status == "converged"
    assert result.value <= 1e-9
