"""What a fit takes beside its data."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import dcprog as dc

N, D = 100_000, 20
MOST = 1.3  # times X


@pytest.mark.parametrize(
    ("base", "solver"),
    [
        (dc.hinge(), "multipliers"),
        pytest.param(
            dc.hinge(),
            "dual_coordinate",
        ),
        (dc.squared_hinge(), None),
    ],
    ids=["multipliers", "dual coordinate", "squared hinge"],
)
def test_few_vectors_as_long_as_the_data(base: dc.ConvexLoss, solver: str | None) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D))
    y = X[:, 0] + X[:, 1] + rng.standard_normal(N) > 0
    y[: N // 10] ^= True

    def fit(n: int) -> dc.Result:
        rows = dc.binary_margins(X[:n], y[:n])
        risk = dc.Risk.from_loss(rows, dc.cap(base, 1.0), dc.l2(1.0))
        return dc.solve(risk, solver=solver, start="convex", n_starts=1, max_iter=4)

    fit(200)  # compiles and imports
    tracemalloc.start()
    try:
        fit(N)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= MOST * X.nbytes
