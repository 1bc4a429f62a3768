"""Claims, what was measured of them, and whether they came out as expected."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

# Where print_claims leaves the claims as rows of docs/claims.md; set by examples.reproduce.
ROWS = "CLAIMS_FILE"
VERDICTS = ("holds as printed", "holds as corrected", "refuted", "open")


@dataclass(frozen=True)
class Claim:
    """A statement, the number that decides it, and whether it was expected to hold.

    ``holds=None`` is a question left open. ``item`` is the numbered statement of the paper it
    belongs to, a key of examples/papers.toml; ``corrected`` says that the text is not what is
    printed but what should be; ``evidence`` names seeds and figures. A claim that could not be
    tested here, as its data are absent, has ``ran=False`` (:func:`left_out`).
    """

    text: str
    measured: str
    holds: bool | None
    expected: bool | None = True
    item: str = ""
    corrected: bool = False
    evidence: str = ""
    ran: bool = True

    @property
    def as_expected(self) -> bool:
        return self.holds == self.expected or not self.ran

    @property
    def verdict(self) -> str:
        """One of VERDICTS; it follows from the measurement, not from what was expected."""
        printed, corrected, refuted, unknown = VERDICTS
        if self.holds is None:
            return unknown
        if not self.holds:
            return refuted
        return corrected if self.corrected else printed

    def row(self) -> dict[str, Any]:
        """What the page shows of it, besides the script."""
        answers = {"holds": self.holds, "expected": self.expected, "as_expected": self.as_expected}
        plain = {name: None if a is None else bool(a) for name, a in answers.items()}
        return {**asdict(self), **plain, "verdict": self.verdict}


def at_most(text: str, number: float, tolerance: float, item: str = "") -> Claim:
    """A claim that a number is within a tolerance."""
    shown = f"{number:.1e} (tolerance {tolerance:.0e})"
    return Claim(text, shown, bool(number <= tolerance), item=item)


def left_out(text: str, why: str, item: str = "") -> Claim:
    """A claim that cannot be tested here; the page keeps its last row."""
    return Claim(text, f"not run: {why}", None, None, item, ran=False)


def under(item: str, claims: Sequence[Claim]) -> list[Claim]:
    """The claims as evidence on one numbered item of the paper."""
    return [claim if claim.item else replace(claim, item=item) for claim in claims]


def print_claims(claims: Sequence[Claim], evidence: str = "") -> int:
    """Print the table of claims; the number of those that did not come out as expected."""
    claims = [c if c.evidence else replace(c, evidence=evidence) for c in claims]
    width = max([66, *(len(claim.text) + 1 for claim in claims)])
    print(f"\n{'claim':<{width}}{'verdict':<20}measured")
    for claim in claims:
        note = "" if claim.as_expected else "   <-- not as expected"
        print(f"{claim.text:<{width}}{claim.verdict:<20}{claim.measured}{note}")
    wrong = sum(not claim.as_expected for claim in claims)
    print(f"\n{len(claims) - wrong} of {len(claims)} claims as expected")
    if ROWS in os.environ:
        rows = [claim.row() for claim in claims]
        Path(os.environ[ROWS]).write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    return wrong
