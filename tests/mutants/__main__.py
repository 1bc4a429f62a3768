"""Does a test fail for each mutant? ``python -m tests.mutants [WORD ...]`` or ``make mutants``.

Each mutant is put into a temporary copy of the tree, and the tests that must catch it run there.
With words, only mutants whose names hold one of them. Ends with 1 if a mutant survives, or if its
text is not in the sources exactly once.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def copy_tree(folder: str) -> None:
    """Copy what git knows of the tree, with uncommitted changes."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        source, target = ROOT / name, Path(folder, name)
        if source.exists() or source.is_symlink():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)


def main(words: list[str]) -> int:
    """The exit status of the trial in a copy."""
    with tempfile.TemporaryDirectory() as folder:
        copy_tree(folder)
        trial = [sys.executable, "-m", "tests.mutants.trial", *words]
        return subprocess.run(trial, cwd=folder, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
