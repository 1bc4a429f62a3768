"""Odd powers and ``xexp`` of arguments of either sign, which cvxpy compiles for x ≥ 0 alone."""

from __future__ import annotations

import cvxpy as cp
from cvxpy.atoms import Power

__all__ = ["OddPower", "SignedXexp"]


class OddPower(Power):
    """x³, x⁵, x⁷, … on both sides of 0: increasing, neither convex nor concave."""

    def sign_from_args(self) -> tuple[bool, bool]:
        """The argument's."""
        return self.args[0].is_nonneg(), self.args[0].is_nonpos()

    def is_atom_convex(self) -> bool:
        """No."""
        return False

    def is_atom_concave(self) -> bool:
        """No."""
        return False

    def _domain(self) -> list[cp.Constraint]:
        return []

    def name(self) -> str:
        """As the power that it stands for."""
        return f"Power({self.args[0].name()}, {self.p.value})"


class SignedXexp(cp.xexp):
    """x·eˣ on both sides of 0: it falls up to −1 and rises then, and bends upwards from −2 on."""

    def is_atom_convex(self) -> bool:
        """No."""
        return False

    def is_incr(self, idx: int) -> bool:
        """No."""
        return False

    def _domain(self) -> list[cp.Constraint]:
        return []

    def name(self) -> str:
        """As the atom that it stands for."""
        return f"xexp({self.args[0].name()})"
