"""What the tests of the examples ask of a script's claims and of its plots."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from examples.common.claims import Claim


def unexpected(claims: Iterable[Claim]) -> list[str]:
    """The claims that did not come out as expected."""
    return [claim.text for claim in claims if not claim.as_expected]


def is_png(path: Path) -> bool:
    return path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
