"""Scripts without the library's warnings of trivial solutions, which their claims are about."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import dcprog as dc


@contextmanager
def quiet() -> Iterator[None]:
    """Ignore TrivialSolutionWarning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dc.TrivialSolutionWarning)
        yield
