"""Parts of long runs are kept, and made again when what they depend on has changed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from examples.common.parts import kept


def test_a_part_is_made_once_for_each_of_what_it_depends_on(tmp_path: Path) -> None:
    source = tmp_path / "source.py"
    source.write_text("one")
    made = []

    def compute() -> np.ndarray:
        made.append(1)
        return np.arange(3.0) * len(made)

    data = np.ones(4)
    first = kept("part", compute, source, data)
    np.testing.assert_array_equal(kept("part", compute, source, data.copy()), first)
    assert len(made) == 1
    kept("part", compute, source, data, "an argument")
    kept("another", compute, source, data)
    kept("part", compute, source, 2 * data)
    kept("part", compute, source, data.reshape(2, 2))
    source.write_text("two")
    kept("part", compute, source, data)
    assert len(made) == 6


def test_a_part_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        kept("part", lambda: np.array(1 / 0))
    np.testing.assert_array_equal(kept("part", lambda: np.ones(2)), np.ones(2))
