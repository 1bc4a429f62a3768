"""Claims, what was measured of them, and whether they came out as expected."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

# Where print_claims leaves the claims as rows of docs/claims.md; set by examples.reproduce.
ROWS = "CLAIMS_FILE"
VERDICTS = ("holds as printed", "holds as corrected", "refuted", "open")


@dataclass(frozen=True)
class Claim:
    """A statement, the number that decides it, and whether it was expected to hold.

    ``holds=None`` is a question left open. ``item`` is the numbered statement of the paper it
    belongs to, a key of examples/papers.toml; ``corrected`` says that the text is not what is
    printed but what should be; ``ours`` that no paper states it, only this library; ``evidence``
    names seeds and figures; ``turns`` is the smallest change that turns the verdict. A claim that
    could not be tested here, as its data are absent, has ``ran=False`` (:func:`left_out`).
    """

    text: str
    measured: str
    holds: bool | None
    expected: bool | None = True
    item: str = ""
    corrected: bool = False
    evidence: str = ""
    ran: bool = True
    ours: bool = False
    turns: str = ""

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
    turns = f"more than {tolerance:.0e}" if number <= tolerance else f"at most {tolerance:.0e}"
    return Claim(text, shown, bool(number <= tolerance), item=item, turns=turns)


@dataclass(frozen=True)
class Difference:
    """An estimated difference with its standard error, in points unless said otherwise."""

    mean: float
    error: float
    width: float = 2.0  # standard errors on either side

    @property
    def ends(self) -> tuple[float, float]:
        return self.mean - self.width * self.error, self.mean + self.width * self.error

    def within(self, margin: float) -> bool | None:
        """True if the whole interval is inside ± margin, False if it is outside, None between."""
        low, high = self.ends
        if low >= -margin and high <= margin:
            return True
        return False if low > margin or high < -margin else None

    def above(self, margin: float = 0.0) -> bool | None:
        """True if the whole interval is above the margin, False if it is below, None between."""
        low, high = self.ends
        return True if low > margin else (False if high < margin else None)

    def turn(self, verdict: Callable[[Difference], bool | None], *bounds: float) -> str:
        """The least shift of the mean that gives another verdict."""
        shifts = [bound - end for bound in bounds for end in self.ends]
        beyond = [shift + np.copysign(1e-9, shift) for shift in sorted(shifts, key=abs)]
        moved = [s for s in beyond if verdict(replace(self, mean=self.mean + s)) != verdict(self)]
        return f"a shift by {moved[0]:+.2f}".replace("-", "−")

    def __str__(self) -> str:
        return f"{self.mean:+.2f} ± {self.error:.2f}".replace("-", "−")


def same(
    text: str, apart: Difference, margin: float, expected: bool | None = True, measured: str = ""
) -> Claim:
    """A claim of equality up to a margin, open if the interval is too wide to tell."""
    shown = f"{measured or apart}; margin {margin:g}"
    turns = apart.turn(lambda other: other.within(margin), -margin, margin)
    return Claim(text, shown, apart.within(margin), expected, turns=turns)


def greater(
    text: str, apart: Difference, margin: float, expected: bool | None = True, measured: str = ""
) -> Claim:
    """A claim that a difference exceeds a margin, open if the interval holds the margin."""
    turns = apart.turn(lambda other: other.above(margin), margin)
    return Claim(text, measured or str(apart), apart.above(margin), expected, turns=turns)


def left_out(text: str, why: str, item: str = "") -> Claim:
    """A claim that cannot be tested here; the page keeps its last row."""
    return Claim(text, f"not run: {why}", None, None, item, ran=False)


def under(item: str, claims: Sequence[Claim]) -> list[Claim]:
    """The claims as evidence on one numbered item of the paper."""
    return [claim if claim.item else replace(claim, item=item) for claim in claims]


def own(claims: Sequence[Claim]) -> list[Claim]:
    """The claims as ones that no paper makes."""
    return [replace(claim, ours=True) for claim in claims]


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
