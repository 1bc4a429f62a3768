"""The ℓ1, squared ℓ2 and elastic net penalties."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.parameters import check_number
from dcprog.penalties.penalty import Parts, Penalty


class l1(Penalty):
    """The ℓ1 penalty λ‖w‖₁.

    Parameters
    ----------
    lam : float, default 1.0
        λ ≥ 0.

    Raises
    ------
    TypeError, ValueError
        λ is not a finite number of at least 0.

    References
    ----------
    Tibshirani (1996), Regression shrinkage and selection via the lasso, JRSS B 58.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.penalties import l1
    >>> l1(2.0)(np.array([1.0, -2.0]))
    6.0
    """

    def __init__(self, lam: float = 1.0) -> None:
        self.lam = check_number("lam", lam, 0, closed=True)

    def __call__(self, w: Array) -> float:
        """λ‖w‖₁."""
        return self.lam * float(np.sum(np.abs(w)))

    def slope(self, w: Array) -> Array:
        """λ sign(w)."""
        return self.lam * np.sign(w)

    def expression(self, w: cp.Expression) -> cp.Expression:
        """``lam * norm1(w)``."""
        return self.lam * cp.norm1(w)

    def in_units(self, unit: float, factor: float = 1.0) -> Penalty:
        """The penalty with λ replaced by factor·unit·λ."""
        return l1(factor * unit * self.lam)

    def parts(self) -> Parts:
        """The ℓ1 weight λ."""
        return Parts(l1=float(self.lam))


class l2(Penalty):
    """The squared ℓ2 penalty (λ/2)‖w‖².

    Parameters
    ----------
    lam : float, default 1.0
        λ ≥ 0.

    Raises
    ------
    TypeError, ValueError
        λ is not a finite number of at least 0.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.penalties import l2
    >>> l2(2.0)(np.array([1.0, 2.0]))
    5.0
    """

    def __init__(self, lam: float = 1.0) -> None:
        self.lam = check_number("lam", lam, 0, closed=True)

    def __call__(self, w: Array) -> float:
        """(λ/2)‖w‖²."""
        return 0.5 * self.lam * float(w @ w)

    def slope(self, w: Array) -> Array:
        """λw."""
        return self.lam * w

    def expression(self, w: cp.Expression) -> cp.Expression:
        """``lam / 2 * sum_squares(w)``."""
        return 0.5 * self.lam * cp.sum_squares(w)

    def in_units(self, unit: float, factor: float = 1.0) -> Penalty:
        """The penalty with λ replaced by factor·unit²·λ."""
        return l2(factor * unit**2 * self.lam)

    def parts(self) -> Parts:
        """The ridge λ."""
        return Parts(ridge=float(self.lam))


class elastic_net(Penalty):
    """The elastic net penalty l1·‖w‖₁ + (l2/2)‖w‖².

    Parameters
    ----------
    l1, l2 : float
        Weights of at least 0.

    Raises
    ------
    TypeError, ValueError
        A weight is not a finite number of at least 0.

    References
    ----------
    Zou, Hastie (2005), Regularization and variable selection via the elastic net, JRSS B 67.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.penalties import elastic_net
    >>> elastic_net(1.0, 2.0)(np.array([1.0, -2.0]))
    8.0
    """

    def __init__(self, l1: float, l2: float) -> None:
        self.l1 = check_number("l1", l1, 0, closed=True)
        self.l2 = check_number("l2", l2, 0, closed=True)

    def __call__(self, w: Array) -> float:
        """l1·‖w‖₁ + (l2/2)‖w‖²."""
        return self.l1 * float(np.sum(np.abs(w))) + 0.5 * self.l2 * float(w @ w)

    def slope(self, w: Array) -> Array:
        """l1·sign(w) + l2·w."""
        return self.l1 * np.sign(w) + self.l2 * w

    def expression(self, w: cp.Expression) -> cp.Expression:
        """``l1 * norm1(w) + l2 / 2 * sum_squares(w)``."""
        return self.l1 * cp.norm1(w) + 0.5 * self.l2 * cp.sum_squares(w)

    def in_units(self, unit: float, factor: float = 1.0) -> Penalty:
        """The penalty with the weights factor·unit·l1 and factor·unit²·l2."""
        return elastic_net(factor * unit * self.l1, factor * unit**2 * self.l2)

    def parts(self) -> Parts:
        """The ℓ1 weight and the ridge."""
        return Parts(l1=float(self.l1), ridge=float(self.l2))
