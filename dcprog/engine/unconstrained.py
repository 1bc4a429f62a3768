"""Members of the protocol for surrogates without constraints."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from dcprog.engine.history import Attempt
from dcprog.engine.protocol import FAR, FAR_DIRECTIONS
from dcprog.engine.stationarity import Stationarity
from dcprog.foundation.arrays import Array

__all__ = ["Unconstrained"]


class Unconstrained:
    """Answers of a surrogate that has no constraints and is not convex."""

    sign = 1.0
    mode = "none"
    is_convex = False
    solver_steps = 0
    may_look_ahead = False
    loosest = 0.0
    resolution = 0.0
    floor = -np.inf
    start_solver = ""
    constant = 0.0
    kinds: tuple[str, ...] = ("convex", "half", "random")

    def minimise_ahead(
        self,
        centre: Array,
        x: Array,
        tolerance: float,
        solver: str,
        time_limit: float | None = None,
    ) -> Array:
        """Not worth a try."""
        raise NotImplementedError

    def further(self, x: Array) -> Array:
        """Nothing is known but the majorant."""
        return x

    def bound_of_start(self) -> float:
        """None."""
        return -np.inf

    def take_attempts(self) -> tuple[Attempt, ...]:
        """None."""
        return ()

    def is_feasible(self, x: Array) -> bool:
        """Yes."""
        return True

    def is_finite(self, x: Array) -> bool:
        """True if the declared function has a finite value at x."""
        return bool(np.isfinite(self.objective(x)))

    def objective(self, x: Array) -> float:
        """The function's value, in the user's sign."""
        raise NotImplementedError

    def inside(self, x: Array) -> Array:
        """The point x itself."""
        return x

    def cleared(self, x: Array) -> Array:
        """The point x itself."""
        return x

    def mismatch(self, x: Array) -> float:
        """None."""
        return 0.0

    def falls_off(self, x: Array) -> bool:
        """No: losses are defined everywhere."""
        return False

    def value(self, x: Array) -> float:
        """F(x)."""
        raise NotImplementedError

    def along(self, x: Array, way: Array) -> Callable[[float], float]:
        """F(x + t·way) as a function of t."""
        return lambda t: self.value(x + t * way)

    def outside(self, x: Array) -> float:
        """Not at all."""
        return 0.0

    def violation(self, x: Array) -> float:
        """None."""
        return 0.0

    def relative_violation(self, x: Array) -> float:
        """None."""
        return 0.0

    def kinks(self, x: Array) -> npt.NDArray[np.bool_]:
        """No kinks are known."""
        return np.zeros(x.size, dtype=bool)

    def proposals(
        self, x: Array, rng: np.random.Generator, time_limit: float | None = None
    ) -> Iterator[Array]:
        """None."""
        return iter(())

    def off_ties(self, x: Array, time_limit: float | None = None) -> Iterator[Array]:
        """None."""
        return iter(())

    def far(self, x: Array, time_limit: float | None = None) -> Iterator[Array]:
        """Along a few random directions."""
        rng = np.random.default_rng(0)
        directions = rng.standard_normal((FAR_DIRECTIONS, x.size))
        for size in FAR:
            yield from (x + size * self.units(x) * d for d in (*directions, *-directions))

    def units(self, x: Array) -> Array:
        """A typical size of every coordinate near x, positive."""
        raise NotImplementedError

    def stationarity(self, x: Array, time_limit: float | None = None) -> Stationarity:
        """Not known."""
        return Stationarity()

    def dual(self, x: Array) -> Array | None:
        """None."""
        return None
