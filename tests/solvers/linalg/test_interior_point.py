"""The interior point method's optima satisfy the optimality conditions in the program's units."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

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
