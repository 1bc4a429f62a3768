"""The command line of a script on one paper: its claims, and its figure with ``--output``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from examples.common.claims import Claim, Difference, print_claims
from examples.common.plots import parser_of


def mean_of(values: Sequence[float] | np.ndarray, unit: float = 100.0) -> Difference:
    """The mean over draws with its standard error, in points unless another unit is given."""
    scaled = unit * np.asarray(values)
    return Difference(float(scaled.mean()), float(scaled.std(ddof=1) / np.sqrt(scaled.size)))


def run(
    doc: str | None,
    check: Callable[[], list[Claim]],
    draw: Callable[[Path], None],
    seeds: range,
    argv: Sequence[str] | None,
) -> int:
    """Print the claims, after the figure if a folder is given; 1 if one is not as expected."""
    options = parser_of(doc).parse_args(argv)
    if options.output is not None:
        draw(options.output)
    return int(print_claims(check(), evidence=f"seeds {seeds[0]}–{seeds[-1]}") > 0)
