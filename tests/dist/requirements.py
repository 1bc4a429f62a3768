"""The dependencies that a wheel asks for, and the lowest versions that it allows."""

from __future__ import annotations

import zipfile
from email.parser import Parser
from pathlib import Path

from packaging.requirements import Requirement


def requirements(wheel: Path) -> list[Requirement]:
    """What is installed with it, without extras."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        told = Parser().parsestr(archive.read(name).decode("utf-8"))
    listed = [Requirement(line) for line in told.get_all("Requires-Dist", [])]
    return [one for one in listed if "extra" not in str(one.marker or "")]


def lowest(wheel: Path) -> list[str]:
    """One line a dependency for pip: the lower end of its range, under its own marker."""
    lines = []
    for one in requirements(wheel):
        (least,) = [part.version for part in one.specifier if part.operator == ">="]
        marker = f" ; {one.marker}" if one.marker else ""
        lines.append(f"{one.name}=={least}{marker}")
    return lines
