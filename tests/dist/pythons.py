"""The Pythons of this machine that dcprog runs on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SHOW = "import sys; print('%d.%d' % sys.version_info[:2])"
NEWEST = 20  # the largest minor version that is looked for


def candidates() -> list[Path]:
    """Interpreters by name on the path, and pyenv's."""
    folders = [Path(entry) for entry in os.environ.get("PATH", "").split(os.pathsep) if entry]
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    folders += sorted(root.glob("versions/*/bin"))
    names = [f"python3.{minor}" for minor in range(NEWEST + 1)]
    return [Path(sys.executable), *(folder / name for name in names for folder in folders)]


def version_of(python: Path) -> tuple[int, int] | None:
    """Its version; None where it does not run or cannot make environments."""
    try:
        done = subprocess.run(
            [python, "-c", "import venv, ensurepip; " + SHOW],
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    major, minor = done.stdout.split(".")
    return int(major), int(minor)


def pythons(oldest: tuple[int, int]) -> dict[tuple[int, int], Path]:
    """One interpreter a version, from the oldest allowed on."""
    found: dict[tuple[int, int], Path] = {}
    for python in candidates():
        version = version_of(python) if python.exists() else None
        if version is not None and version >= oldest:
            found.setdefault(version, python)
    return dict(sorted(found.items()))
