"""Estimated costs of the solvers, by which the cheapest suitable one is chosen."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["COSTS", "Cost"]


@dataclass(frozen=True)
class Cost:
    """The estimated cost seconds·(n/1000)^rows·(p/100)^columns for n rows and p coefficients.

    The estimate ignores sparsity and the difficulty of the problem. It is right up to a factor, and
    meant for comparisons.

    Parameters
    ----------
    seconds : float
        The cost for 1000 rows and 100 coefficients.
    rows, columns : float
        The exponents.
    kernel : float, default 1
        A factor for the rows of a kernel matrix, of low effective rank.

    Examples
    --------
    >>> from dcprog.solvers.cost import Cost
    >>> Cost(0.1, rows=1, columns=0.5)(2000, 400)
    0.4
    """

    seconds: float
    rows: float
    columns: float
    kernel: float = 1.0

    def __call__(self, n_rows: int, p: int, is_kernel: bool = False) -> float:
        """The estimated seconds of a short run."""
        seconds = self.seconds * (n_rows / 1e3) ** self.rows * (p / 1e2) ** self.columns
        return self.kernel * seconds if is_kernel else seconds


# Costs of a short run of three weighted subproblems on one core, fitted by
# benchmarks/bench_solver_choice.py (--fit). The exponents are rounded, so that solvers that differ
# by a factor keep their order at all sizes. The factors are adjusted to the measured break-even
# points: simplex and interior at 300 rows, multipliers and interior at p = 0.8·n^0.72, pivoting and
# multipliers at 1000 rows and 100 columns, newton and block_newton at n = 50 000 and p = 20. If two
# solvers are within the noise, the one that was chosen before has the lower cost.
COSTS = {
    "newton": Cost(0.014, 0.5, 0.5),
    "weighted_lasso": Cost(0.02, 0.5, 0.5),
    "block_newton": Cost(0.053, 0.3, 0.8),
    "proximal_newton": Cost(0.03, 0.5, 0.5),
    "smo": Cost(0.02, 1.0, 0.0),
    "smo_first_order": Cost(0.02, 1.0, 0.0),
    "libsvm": Cost(0.035, 1.0, 0.0),
    "dual_qp": Cost(2.0, 1.85, 0.0),
    "dual_coordinate": Cost(0.1, 0.3, -0.2, kernel=10.0),
    "multipliers": Cost(0.1, 0.5, 0.5, kernel=0.2),
    "interior": Cost(0.11, 0.86, 0.0),
    "pivoting": Cost(0.11, 0.75, 0.9, kernel=10.0),
    "simplex": Cost(0.197, 1.38, 0.05),
    "coordinate": Cost(1.0, 0.5, 0.8),
    "alternating_linearization": Cost(4.0, 0.5, 0.8),
    "alternating": Cost(0.005, 0.5, 0.5),
    "cvxpy": Cost(0.23, 0.5, 0.4),
}
