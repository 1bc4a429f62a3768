"""Data and declarations that tests of rows, risks and surrogates share."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcprog.losses import squared_hinge
from dcprog.penalties import l2
from dcprog.risk.risk import Risk
from dcprog.rows.linear import class_margins
from dcprog.transforms import cap_at, power_of


def class_data(n: int = 30, d: int = 3, c: int = 3) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = np.arange(n) % c
    return rng.standard_normal((n, d)) + 1.5 * np.eye(c, d)[y], y


def capped_risk(**change: Any) -> Risk:
    options: dict[str, Any] = {
        "rows": class_margins(*class_data()),
        "base": squared_hinge(),
        "aggregate": "sum",
        "transform": cap_at(1.5, power_of(0.5, 1e-4)),
        "penalty": l2(0.6),
    }
    return Risk(**options | change)


def simplex(k: int) -> Any:
    W = np.full((k, k - 1), (k - 1) ** -0.5)
    for j in range(1, k):
        W[j] = -(1 + np.sqrt(k)) / (k - 1) ** 1.5
        W[j, j - 1] += np.sqrt(k / (k - 1))
    return W
