"""The interior point method's optima satisfy the optimality conditions in the program's units."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError
from dcprog.solvers.conic.arrow import Arrowhead
from dcprog.solvers.linalg.interior_point import Program, primal_dual


@pytest.mark.parametrize("unit", [1.0, 1e-6, 1e5])
def test_multipliers_are_in_the_units_of_the_program(unit: float) -> None:
    """The hinge SVM with a slack t_i a sample: unit·(Σ t_i + |x|²/2), t ≥ 1 − Ax, t ≥ 0."""
    n, d = 20, 3
    A = np.random.default_rng(0).normal(size=(n, d)) + 0.5
    local = -np.repeat(np.eye(n), 2, axis=0)
    dense = np.zeros((2 * n, d))
    dense[::2] = -A
    none = np.zeros(0)
    program = Program(
        Arrowhead(sp.csr_array(local), sp.csr_array(dense)),
        unit * np.eye(d),
        np.full(n, unit),
        np.zeros(d),
        none,
        none,
        np.tile([-1.0, 0.0], n),
    )
    found = primal_dual(program, 1e-10)
    assert np.all(found.multipliers >= 0)
    assert np.max(found.multipliers * found.slacks) <= 1e-6 * unit
    np.testing.assert_allclose(local.T @ found.multipliers, -unit, rtol=1e-6)
    pull = unit * found.x + dense.T @ found.multipliers
    np.testing.assert_allclose(pull / unit, 0, atol=1e-6)


def test_it_ends_where_rounding_errors_leave_the_residuals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a column of size 1e9 no step lowers the dual residual to 1e-12."""
    n = 20
    A = 1e9 * (np.random.default_rng(0).normal(size=(n, 1)) + 0.2)
    dense = np.zeros((2 * n, 1))
    dense[::2] = -A
    rows = Arrowhead(sp.csr_array(-np.repeat(np.eye(n), 2, axis=0)), sp.csr_array(dense))
    factor, factored = rows.factor, [0]

    def counted(w: Array, Q: Array) -> Any:
        factored[0] += 1
        return factor(w, Q)

    monkeypatch.setattr(rows, "factor", counted)
    none = np.zeros(0)
    edges = np.tile([-1.0, 0.0], n)
    program = Program(rows, np.eye(1), np.ones(n), np.zeros(1), none, none, edges)
    with pytest.raises(SubproblemError, match="no convergence"):
        primal_dual(program, 1e-12)
    assert factored[0] < 100
