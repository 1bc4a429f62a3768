"""The command line of a script on one paper: its claims, and its figure with ``--output``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from examples.common.claims import Claim, Difference, paired, print_claims
from examples.common.plots import parser_of


def mean_of(values: Sequence[float] | np.ndarray, unit: float = 100.0) -> Difference:
    """The mean over draws with its standard error, in points unless another unit is given."""
    return replace(paired(unit * np.asarray(values)), width=2.0)


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
