"""What every test shares: the tables that users extend are restored after each test."""

from __future__ import annotations

import gc
from collections.abc import Generator, Iterator
from typing import Any

import pytest

import dcprog.models  # noqa: F401, registers the published solvers before any test
from dcprog.majorants.atoms import TABLE
from dcprog.moves.registry import MOVES
from dcprog.solvers.registry import SOLVERS
from dcprog.starts.registry import STARTS

REGISTRIES: tuple[dict[Any, Any], ...] = (TABLE, SOLVERS, STARTS, MOVES)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Nothing that is collected is garbage: searches for it were a third of a worker's start."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.fixture(autouse=True)
def _registries_restored() -> Iterator[None]:
    """Atoms, solvers, starts and moves registered by a test are gone after it."""
    before = [dict(table) for table in REGISTRIES]
    yield
    for table, entries in zip(REGISTRIES, before, strict=True):
        if table != entries:
            table.clear()
            table.update(entries)
