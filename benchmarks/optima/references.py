"""The best values known, kept in best_known.json, and the search that improves them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import dcprog as dc
from benchmarks.optima.instance import Array, Instance
from benchmarks.optima.methods import FEASIBLE

FILE = Path(__file__).with_name("best_known.json")
SAME = 1e-9  # fingerprints of the same data
LOWER = 1e-7  # what counts as an improvement


@dataclass(frozen=True)
class Known:
    """A value, how it was found, and F at a fixed point."""

    value: float
    by: str
    fingerprint: float


class References:
    """Best known values by family and seed."""

    def __init__(self, path: Path = FILE) -> None:
        self.path = path
        stored = json.loads(path.read_text()) if path.exists() else {}
        self.known = {
            family: {int(seed): Known(**entry) for seed, entry in entries.items()}
            for family, entries in stored.items()
        }

    def get(self, family: str, seed: int, instance: Instance) -> Known | None:
        """What is known of this very instance.

        Raises
        ------
        ValueError
            The family's data are no longer those of the stored value.
        """
        known = self.known.get(family, {}).get(seed)
        if known is None:
            return None
        now = instance.fingerprint()
        if abs(now - known.fingerprint) > SAME * abs(known.fingerprint):
            raise ValueError(
                f"{family}, seed {seed}: best_known.json holds the value of other data (F is {now} "
                f"where it was {known.fingerprint}); run with --forget {family} --search 1000"
            )
        return known

    def offer(self, family: str, seed: int, instance: Instance, value: float, by: str) -> bool:
        """Keep a value that is lower than what is known, and say whether it was."""
        known = self.get(family, seed, instance)
        if not np.isfinite(value) or (known and not is_lower(value, known.value)):
            return False
        if known and known.by == "enumeration":
            raise ValueError(f"{family}, seed {seed}: {by} has {value}, below the global minimum")
        entry = Known(float(value), by, instance.fingerprint())
        self.known.setdefault(family, {})[seed] = entry
        return True

    def forget(self, family: str) -> None:
        """Drop a family whose data changed."""
        self.known.pop(family, None)

    def save(self) -> None:
        """Write the file, a line a seed."""
        families = [
            f'  "{family}": {{\n'
            + ",\n".join(f'    "{s}": {json.dumps(asdict(e))}' for s, e in sorted(entries.items()))
            + "\n  }"
            for family, entries in sorted(self.known.items())
        ]
        self.path.write_text("{\n" + ",\n".join(families) + "\n}\n")


def is_lower(value: float, than: float) -> bool:
    """Beyond rounding and the tolerance of solvers."""
    return value < than - LOWER * abs(than)


def searched(instance: Instance, seed: int, starts: int) -> tuple[float, str]:
    """The best value by enumeration or, from the family's own search, after a descent."""
    exact = instance.exact()
    if exact is not None:
        return exact, "enumeration"
    rng = np.random.default_rng([seed, starts])
    points = [x for found in instance.search(rng, starts) for x in (found, *_end(instance, found))]
    feasible = [x for x in points if instance.violation(x) <= FEASIBLE / 100]
    return min(map(instance.objective, feasible), default=np.inf), f"search of {starts} starts"


def _end(instance: Instance, point: Array) -> Iterator[Array]:
    """Where dcprog's loop ends from a point."""
    form = instance.form()
    try:
        result = dc.solve(form.problem, start=form.start(point), n_starts=1)
    except ValueError:  # a point that is no start, such as one outside a domain
        return
    yield form.point(result)
