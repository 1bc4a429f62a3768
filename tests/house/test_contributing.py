"""What the contributor's page shows runs as it stands, and is as short as it says."""

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n# (.*?)\n(.*?)# what it is worth\n(.*?)```", PAGE, re.DOTALL)
# Lines of code of each extension, without imports, docstrings and empty lines.
MOST = {
    "a loss": 15,
    "a transform": 12,
    "a penalty": 8,
    "an atom's rule": 12,
    "a subproblem's solver": 40,
    "a start": 15,
    "a move": 12,
    "a published model": 40,
}


def test_all_extensions_are_there() -> None:
    assert [name for name, _, _ in BLOCKS] == list(MOST)
    assert PAGE.count("```python") == len(MOST)


def test_the_blocks_run_in_their_order() -> None:
    here: dict[str, Any] = {"__name__": "contributing"}
    for _, extension, worth in BLOCKS:
        exec(compile(extension, "contributing.md", "exec"), here)
        exec(compile(worth, "contributing.md", "exec"), here)


@pytest.mark.parametrize("name", MOST)
def test_extensions_are_short(name: str) -> None:
    (extension,) = [text for title, text, _ in BLOCKS if title == name]
    code = re.sub(r'""".*?"""', "", extension, flags=re.DOTALL)
    lines = [line for line in code.split("\n") if line.strip()]
    counted = [line for line in lines if not re.match(r"(from|import) ", line)]
    assert 0 < len(counted) <= MOST[name], len(counted)
