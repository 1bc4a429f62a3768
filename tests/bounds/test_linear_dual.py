"""Bounds of small linear programs, held against HiGHS."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from dcprog.bounds.linear_dual import Cuts, linear_bound, tightened

BOXES, K, M, P = 40, 3, 4, 3


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_bounds_are_below_and_close(unit: float) -> None:
    rng = np.random.default_rng(0)
    lo = rng.normal(size=(BOXES, P))
    hi = lo + rng.uniform(0.0, 2.0, size=(BOXES, P))
    objective = Cuts(rng.normal(size=(BOXES, K)), rng.normal(size=(BOXES, K, P)))
    rules = Cuts(rng.normal(size=(BOXES, M)) - 0.5, rng.normal(size=(BOXES, M, P)))
    big, bigger = (Cuts(unit * c.level, unit * c.slope) for c in (objective, rules))
    lower, x, _ = linear_bound(big, bigger, lo, hi)
    assert np.all((x >= lo) & (x <= hi))
    empty = 0
    for k in range(BOXES):
        rows = np.vstack(
            [
                np.column_stack([objective.slope[k], -np.ones(K)]),
                np.column_stack([rules.slope[k], np.zeros(M)]),
            ]
        )
        right = -np.concatenate([objective.level[k], rules.level[k]])
        sides = [*zip(lo[k], hi[k], strict=True), (None, None)]
        exact = linprog([0.0] * P + [1.0], A_ub=rows, b_ub=right, bounds=sides)
        if exact.status == 2:
            empty += 1
            assert lower[k] == np.inf
        else:
            assert exact.fun is not None
            assert lower[k] / unit == pytest.approx(exact.fun, rel=1e-5, abs=1e-5)
            assert lower[k] / unit <= exact.fun + 1e-9
    assert 0 < empty < BOXES


def test_a_row_moves_edges_and_empties_boxes() -> None:
    lo, hi = np.zeros((2, 2)), np.ones((2, 2))
    rows = Cuts(np.array([[-0.5], [0.5]]), np.ones((2, 1, 2)))  # x + y <= 0.5, then <= -0.5
    low, high = tightened(rows, lo, hi)
    assert high[0] == pytest.approx([0.5, 0.5])
    assert low[0] == pytest.approx([0.0, 0.0])
    assert np.any(low[1] > high[1])
