"""The people on board the Titanic, from the published table of counts.

Dawson (1995), The "unusual episode" data revisited, Journal of Statistics Education 3(3), counts
the 2201 people by class, sex, age and survival; R has the table as ``datasets::Titanic``. With the
classes numbered 1, 2, 3, crew 4, and the features standardised, these are the values of the
benchmark set of that name (2201 × 3).
"""

from __future__ import annotations

import numpy as np

__all__ = ["titanic"]

Array = np.ndarray
# By survival, age and sex: first, second, third class, crew.
COUNTS = {
    (-1, "child", "male"): (0, 0, 35, 0),
    (-1, "child", "female"): (0, 0, 17, 0),
    (-1, "adult", "male"): (118, 154, 387, 670),
    (-1, "adult", "female"): (4, 13, 89, 3),
    (1, "child", "male"): (5, 11, 13, 0),
    (1, "child", "female"): (1, 13, 14, 0),
    (1, "adult", "male"): (57, 14, 75, 192),
    (1, "adult", "female"): (140, 80, 76, 20),
}


def titanic() -> tuple[Array, Array]:
    """Class, child or not, male or not, of shape (2201, 3); 1 for the 711 who survived, else −1."""
    cells: list[tuple[float, ...]] = []
    counts: list[int] = []
    for (survived, age, sex), by_class in COUNTS.items():
        cells += [(k, age == "child", sex == "male", survived) for k in (1, 2, 3, 4)]
        counts += by_class
    rows = np.repeat(np.array(cells, dtype=float), counts, axis=0)
    return rows[:, :3], rows[:, 3]
