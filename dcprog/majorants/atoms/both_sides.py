"""Odd powers and ``xexp`` of arguments of either sign, which cvxpy compiles for x ≥ 0 alone."""

from __future__ import annotations

import cvxpy as cp
from cvxpy.atoms import Power

__all__ = ["OddPower", "SignedXexp"]


class OddPower(Power):
    """x³, x⁵, x⁷, … on both sides of 0: increasing, neither convex nor concave."""

    def sign_from_args(self) -> tuple[bool, bool]:
        """The sign of the argument."""
        return self.args[0].is_nonneg(), self.args[0].is_nonpos()

    def is_atom_convex(self) -> bool:
        """False: the atom is not convex."""
        return False

    def is_atom_concave(self) -> bool:
        """False: the atom is not concave."""
        return False

    def _domain(self) -> list[cp.Constraint]:
        return []

    def name(self) -> str:
        """The name of the power that the atom replaces."""
        return f"Power({self.args[0].name()}, {self.p.value})"


class SignedXexp(cp.xexp):
    """x·eˣ on both sides of 0: decreasing up to −1, increasing beyond, convex from −2 on."""

    def is_atom_convex(self) -> bool:
        """False: the atom is not convex."""
        return False

    def is_incr(self, idx: int) -> bool:
        """False: the atom is not monotone."""
        return False

    def _domain(self) -> list[cp.Constraint]:
        return []

    def name(self) -> str:
        """The name of the atom that it replaces."""
        return f"xexp({self.args[0].name()})"
