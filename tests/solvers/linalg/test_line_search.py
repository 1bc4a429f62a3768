"""Line searches end where the floating-point numbers do."""

from __future__ import annotations

from dcprog.solvers.linalg.line_search import bottom


class _Kink:
    """A line whose slope jumps at 1/3 from −1 to 1e9, with no flat point in between."""

    size = 1.0
    seen = 0

    def rise(self, t: float) -> float:
        return -t if t < 1 / 3 else -1 / 3 + 1e9 * (t - 1 / 3)

    def slope(self, t: float) -> float:
        self.seen += 1
        return -1.0 if t < 1 / 3 else 1e9

    def breaks(self) -> None:
        return None


def test_a_jump_of_the_slope_is_bracketed_to_rounding_and_no_further() -> None:
    line = _Kink()
    assert 1 / 3 - 1e-15 <= bottom(line) <= 1 / 3
    assert line.seen < 200
