"""M-estimates of regression against statsmodels' RLM, on the same norm at the same scale.

``RobustRegressor(loss, l2(0.0), scale=1.0, n_starts=1)`` and ``RLM(M=norm)`` with a fixed scale of
1 minimise the same sum from least squares, or near it; a tenth of the targets are outliers. The
note says how far the coefficients are apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import dcprog as dc
from benchmarks.runner import Case, Competitor, is_installed

Array = np.ndarray
SIZES = ((200, 5), (1000, 10), (10_000, 20), (100_000, 20))
NORMS: dict[str, tuple[dc.Loss, str]] = {
    "Huber": (dc.huber(1.345), "HuberT"),
    "Tukey": (dc.tukey(0.5 * dc.square(), 4.685), "TukeyBiweight"),
}
OPTIONS: dict[str, Any] = {
    "update_scale": False,
    "start_scale": 1.0,
    "conv": "coefs",
    "tol": 1e-10,
    "maxiter": 200,
}


def cases(full: bool) -> Iterator[Case]:
    """Every size and norm; the largest size only if `full`."""
    if is_installed("statsmodels"):
        for n, p in SIZES if full else SIZES[:-1]:
            for name in NORMS:
                yield of_norm(name, n, p)


def of_norm(name: str, n: int, p: int) -> Case:
    import statsmodels.api as sm

    loss, norm = NORMS[name]
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    y = X.sum(axis=1) + rng.standard_normal(n)
    y[: n // 10] += 15
    A = np.column_stack([X, np.ones(n)])
    model = dc.RobustRegressor(loss, dc.l2(0.0), scale=1.0, n_starts=1)
    peer = sm.RLM(y, A, M=getattr(sm.robust.norms, norm)())

    def ours() -> Array:
        model.fit(X, y)
        return np.append(model.coef_, model.intercept_)

    def note(found: Array, reference: Array) -> str:
        apart = np.abs(found - reference).max()
        return f"coefficients {apart:.0e} apart, {model.n_iter_} steps"

    return Case(
        f"{name}, {n} × {p}",
        ours,
        (Competitor("statsmodels RLM", lambda: peer.fit(**OPTIONS).params, 1.0),),
        lambda theta: float(np.sum(loss(y - A @ theta))),
        note,
        repeats=5,
    )
