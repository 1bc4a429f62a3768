"""Folded concave penalties Σ_j ψ(|w_j|), which shrink large coefficients less than ℓ1."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.parameters import check_number
from dcprog.foundation.regularity import KINKED, SMOOTH, STEEP
from dcprog.penalties.concave_penalty import ConcavePenalty


class capped_l1(ConcavePenalty):
    """The capped ℓ1 penalty λ Σ_j min(|w_j|, θ).

    Parameters
    ----------
    lam : float
        λ ≥ 0.
    theta : float
        θ > 0.

    Raises
    ------
    TypeError, ValueError
        λ or θ is not a number in its range.

    Notes
    -----
    Objectives are sums. The publications' ‖y − Xw‖²/(2n) + penalty is equivalent to ‖y −
    Xw‖² + ``2 * n * capped_l1(lam, theta)``, which is ``capped_l1(2 * n * lam, theta)``, or
    ``capped_l1(lam, theta)`` with ``RobustRegressor(0.5 * square(), …, normalize="mean")``. θ is a
    size of coefficients: scale the columns of X to a common size first.

    References
    ----------
    Zhang (2010), Analysis of multi-stage convex relaxation for sparse regularization, JMLR 11.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.penalties import capped_l1
    >>> capped_l1(2.0, 1.0)(np.array([0.5, -3.0]))
    3.0
    """

    regularity = KINKED

    def __init__(self, lam: float, theta: float) -> None:
        self.lam = check_number("lam", lam, 0, closed=True)
        self.theta = check_number("theta", theta, 0)

    def of_size(self, t: Array) -> Array:
        """λ min(t, θ)."""
        return self.lam * np.minimum(t, self.theta)

    def rate(self, t: Array) -> Array:
        """λ up to θ, 0 beyond."""
        return np.where(t <= self.theta, float(self.lam), 0.0)

    def expression_of_size(self, t: cp.Expression) -> cp.Expression:
        """``lam * minimum(t, theta)``."""
        return self.lam * cp.minimum(t, self.theta)


class scad(ConcavePenalty):
    """The SCAD penalty (smoothly clipped absolute deviation): slope λ up to λ, falling to 0 at aλ.

    ψ(t) = λt up to λ, (2aλt − t² − λ²)/(2(a − 1)) up to aλ, then λ²(a + 1)/2.

    Parameters
    ----------
    lam : float
        λ ≥ 0.
    a : float, default 3.7
        a > 2 in the publication; any a > 1 is accepted, which suffices for concavity.

    Raises
    ------
    TypeError, ValueError
        λ or a is not a number in its range.

    Notes
    -----
    Objectives are sums. The publications' ‖y − Xw‖²/(2n) + penalty is equivalent to ‖y −
    Xw‖² + ``2 * n * scad(lam, a)``, which is not a scad with another λ, or to ``scad(lam, a)`` with
    ``RobustRegressor(0.5 * square(), …, normalize="mean")``. λ and aλ are sizes of coefficients
    too: scale the columns of X to a common size first.

    References
    ----------
    Fan, Li (2001), Variable selection via nonconcave penalized likelihood, JASA 96.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.penalties import scad
    >>> scad(1.0, 3.0).weights(np.array([0.0, 2.0, 5.0]))
    array([1. , 0.5, 0. ])
    """

    regularity = SMOOTH

    def __init__(self, lam: float, a: float = 3.7) -> None:
        self.lam = check_number("lam", lam, 0, closed=True)
        self.a = check_number("a", a, 1)

    def of_size(self, t: Array) -> Array:
        """The minimum of λt and λ²(a + 1)/2 − (aλ − max(t, λ))₊²/(2(a − 1))."""
        lam, a = self.lam, self.a
        rest = np.maximum(a * lam - np.maximum(t, lam), 0.0)
        return np.minimum(lam * t, lam**2 * (a + 1) / 2 - rest**2 / (2 * (a - 1)))

    def rate(self, t: Array) -> Array:
        """λ for t ≤ λ, then (aλ − t)₊/(a − 1)."""
        rest = np.maximum(self.a * self.lam - np.maximum(t, self.lam), 0.0)
        return rest / (self.a - 1)

    def expression_of_size(self, t: cp.Expression) -> cp.Expression:
        """``minimum(lam * t, top - square(pos(a * lam - maximum(t, lam))) / (2 * (a - 1)))``."""
        lam, a = self.lam, self.a
        rest = cp.pos(a * lam - cp.maximum(t, lam))
        return cp.minimum(lam * t, lam**2 * (a + 1) / 2 - cp.square(rest) / (2 * (a - 1)))


class mcp(ConcavePenalty):
    """The minimax concave penalty (MCP): ψ(t) = λt − t²/(2γ) up to γλ, then γλ²/2.

    Parameters
    ----------
    lam : float
        λ ≥ 0.
    gamma : float, default 3.0
        γ > 0. The publication requires γ > 1, with which some penalised problems are convex.

    Raises
    ------
    TypeError, ValueError
        λ or γ is not a number in its range.

    Notes
    -----
    Objectives are sums. The publications' ‖y − Xw‖²/(2n) + penalty is equivalent to ‖y −
    Xw‖² + ``2 * n * mcp(lam, gamma)``, which is ``mcp(2 * n * lam, gamma / (2 * n))``, or
    ``mcp(lam, gamma)`` with ``RobustRegressor(0.5 * square(), …, normalize="mean")``. γλ is a size
    of coefficients: scale the columns of X to a common size first.

    References
    ----------
    Zhang (2010), Nearly unbiased variable selection under minimax concave penalty, Ann. Statist.
    38.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.penalties import mcp
    >>> mcp(1.0, 2.0)(np.array([1.0, -5.0]))
    1.75
    """

    regularity = SMOOTH

    def __init__(self, lam: float, gamma: float = 3.0) -> None:
        self.lam = check_number("lam", lam, 0, closed=True)
        self.gamma = check_number("gamma", gamma, 0)

    def of_size(self, t: Array) -> Array:
        """m(λ − m/(2γ)) with m = min(t, γλ)."""
        m = np.minimum(t, self.gamma * self.lam)
        return m * (self.lam - m / (2 * self.gamma))

    def rate(self, t: Array) -> Array:
        """(λ − t/γ)₊."""
        return np.maximum(self.lam - t / self.gamma, 0.0)

    def expression_of_size(self, t: cp.Expression) -> cp.Expression:
        """``gamma * lam**2 / 2 - square(pos(gamma * lam - t)) / (2 * gamma)``."""
        rest = cp.pos(self.gamma * self.lam - t)
        return self.gamma * self.lam**2 / 2 - cp.square(rest) / (2 * self.gamma)


class log_sum(ConcavePenalty):
    """The log-sum penalty λ Σ_j log(1 + |w_j|/ε).

    Parameters
    ----------
    lam : float
        λ ≥ 0.
    eps : float
        ε > 0.

    Raises
    ------
    TypeError, ValueError
        λ or ε is not a number in its range.

    Notes
    -----
    Objectives are sums. The publications' ‖y − Xw‖²/(2n) + penalty is equivalent to ‖y −
    Xw‖² + ``2 * n * log_sum(lam, eps)``, which is ``log_sum(2 * n * lam, eps)``, or
    ``log_sum(lam, eps)`` with ``RobustRegressor(0.5 * square(), …, normalize="mean")``. ε is a size
    of coefficients: scale the columns of X to a common size first.

    References
    ----------
    Candès, Wakin, Boyd (2008), Enhancing sparsity by reweighted ℓ1 minimization, J. Fourier Anal.
    Appl. 14.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.penalties import log_sum
    >>> log_sum(1.0, 0.5).weights(np.array([0.0, 0.5]))
    array([2., 1.])
    """

    regularity = SMOOTH

    def __init__(self, lam: float, eps: float) -> None:
        self.lam = check_number("lam", lam, 0, closed=True)
        self.eps = check_number("eps", eps, 0)

    def of_size(self, t: Array) -> Array:
        """λ log(1 + t/ε)."""
        return self.lam * np.log1p(t / self.eps)

    def rate(self, t: Array) -> Array:
        """λ/(ε + t)."""
        return self.lam / (self.eps + t)

    def expression_of_size(self, t: cp.Expression) -> cp.Expression:
        """``lam * log1p(t / eps)``."""
        return self.lam * cp.log1p(t / self.eps)


class lp(ConcavePenalty):
    """The ℓp penalty λ Σ_j |w_j|^p.

    The slope at 0 is infinite for p < 1; the weight of such a coefficient is the slope at 1e-10
    instead. The majorant still lies above, and at a coefficient of 0 misses by (1 − p)·λ·1e-10^p.

    Parameters
    ----------
    lam : float
        λ ≥ 0.
    p : float
        0 < p ≤ 1.

    Raises
    ------
    TypeError, ValueError
        λ or p is not a number in its range.

    Notes
    -----
    Objectives are sums. The publications' ‖y − Xw‖²/(2n) + penalty is equivalent to ‖y −
    Xw‖² + ``2 * n * lp(lam, p)``, which is ``lp(2 * n * lam, p)``, or ``lp(lam, p)`` with
    ``RobustRegressor(0.5 * square(), …, normalize="mean")``. Large coefficients cost less than they
    do in ℓ1: scale the columns of X to a common size first.

    References
    ----------
    Frank, Friedman (1993), A statistical view of some chemometrics regression tools,
    Technometrics 35.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.penalties import lp
    >>> lp(1.0, 0.5)(np.array([4.0, -9.0]))
    5.0
    """

    regularity = STEEP

    def __init__(self, lam: float, p: float) -> None:
        self.lam = check_number("lam", lam, 0, closed=True)
        self.p = check_number("p", p, 0)
        if not p <= 1:
            raise ValueError(f"p={p!r}: 0 < p <= 1 is needed; for p = 2 take l2")

    def of_size(self, t: Array) -> Array:
        """λt^p."""
        return self.lam * t**self.p

    def rate(self, t: Array) -> Array:
        """λpt^{p−1}."""
        factor = self.lam * self.p
        with np.errstate(divide="ignore"):
            return factor * t ** (self.p - 1) if factor > 0 else 0.0 * t

    def expression_of_size(self, t: cp.Expression) -> cp.Expression:
        """``lam * power(t, p)``."""
        return self.lam * (t if self.p == 1 else cp.power(t, self.p))
