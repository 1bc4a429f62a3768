"""What is known of a concave function besides its concavity, for theorems on convergence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Regularity:
    """Facts about a function on its whole domain; False means "not known", never "refuted".

    Attributes
    ----------
    is_piecewise_linear : bool
        It has finitely many pieces, all affine.
    is_smooth : bool
        Its slope is finite and locally Lipschitz.
    is_subanalytic : bool
        Over bounded sets its graph is a subanalytic set: functions that are made of polynomials,
        analytic functions on closed bounded sets, and comparisons.
    """

    is_piecewise_linear: bool = False
    is_smooth: bool = False
    is_subanalytic: bool = False

    @staticmethod
    def of_all(parts: Iterable[Regularity]) -> Regularity:
        """The facts that hold for every part, and so for their sums and compositions."""
        known = list(parts)
        return Regularity(*(all(getattr(p, f.name) for p in known) for f in fields(Regularity)))


UNKNOWN = Regularity()
LINEAR = Regularity(is_piecewise_linear=True, is_smooth=True, is_subanalytic=True)
KINKED = Regularity(is_piecewise_linear=True, is_subanalytic=True)
SMOOTH = Regularity(is_smooth=True, is_subanalytic=True)
STEEP = Regularity(is_subanalytic=True)  # with an infinite slope, or kinks between curves
