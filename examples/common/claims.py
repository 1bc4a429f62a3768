"""Claims, what was measured of them, and whether they came out as expected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """A statement, the number that decides it, and whether it was expected to hold."""

    text: str
    measured: str
    holds: bool
    expected: bool = True


def at_most(text: str, number: float, tolerance: float) -> Claim:
    """A claim that a number is within a tolerance."""
    return Claim(text, f"{number:.1e} (tolerance {tolerance:.0e})", number <= tolerance)


def print_claims(claims: Sequence[Claim]) -> int:
    """Print the table of claims; the number of those that did not come out as expected."""
    width = max(66, *(len(claim.text) + 1 for claim in claims))
    print(f"\n{'claim':<{width}}{'holds':<7}measured")
    for claim in claims:
        verdict = "yes" if claim.holds else "no"
        note = "" if claim.holds == claim.expected else "   <-- not as expected"
        print(f"{claim.text:<{width}}{verdict:<7}{claim.measured}{note}")
    wrong = sum(claim.holds != claim.expected for claim in claims)
    print(f"\n{len(claims) - wrong} of {len(claims)} claims as expected")
    return wrong
