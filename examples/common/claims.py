"""Claims, what was measured of them, and whether they came out as expected."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import t

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

    def __str__(self) -> str:
        return f"{self.mean:+.2f} ± {self.error:.2f}".replace("-", "−")


def paired(values: npt.ArrayLike) -> Difference:
    """The mean of repeated differences, with Student's 95% interval, infinite of a single one."""
    found = np.asarray(values, dtype=float)
    if found.size == 1:
        return Difference(float(found[0]), np.inf)
    error = float(np.std(found, ddof=1) / np.sqrt(found.size))
    return Difference(float(found.mean()), error, float(t.ppf(0.975, found.size - 1)))


def together(verdicts: Iterable[bool | None]) -> bool | None:
    """False if one is, True if all are."""
    found = list(verdicts)
    return False if False in found else (None if None in found else True)


def shift(
    apart: Sequence[Difference],
    verdict: Callable[[Sequence[Difference]], bool | None],
    *bounds: float,
) -> str:
    """The least common shift of the means that gives another verdict."""
    ends = [bound - end for one in apart for bound in bounds for end in one.ends]
    for step in sorted(filter(np.isfinite, ends), key=abs):
        beyond = step + np.copysign(1e-9, step)
        if verdict([replace(one, mean=one.mean + beyond) for one in apart]) != verdict(apart):
            return f"a shift by {step:+.2f}".replace("-", "−")
    return "no common shift"


def same(
    text: str,
    apart: Difference | Sequence[Difference],
    margin: float,
    expected: bool | None = True,
    measured: str = "",
) -> Claim:
    """A claim that differences are 0 up to a margin, each as its interval shows it.

    It holds if all intervals are inside ± margin, is refuted if one is outside, and is open
    otherwise.
    """
    apart = [apart] if isinstance(apart, Difference) else apart
    verdicts = [one.within(margin) for one in apart]
    n, inside, beyond = len(apart), verdicts.count(True), verdicts.count(False)
    counts = f"{inside} of {n} within ±{margin:.3g}, {beyond} beyond"
    shown = f"{apart[0]}, margin {margin:g}" if n == 1 else counts
    turns = shift(apart, lambda of: together(one.within(margin) for one in of), -margin, margin)
    if n == 1 and str(apart[0]) in measured:
        shown = f"margin {margin:g}"
    measured = "; ".join(filter(None, (measured, shown)))
    return Claim(text, measured, together(verdicts), expected, turns=turns)


def greater(
    text: str,
    apart: Difference | Sequence[Difference],
    margin: float = 0.0,
    expected: bool | None = True,
    measured: str = "",
) -> Claim:
    """A claim that differences exceed a margin, each as its interval shows it.

    It holds if all intervals are above the margin, is refuted if one is below, and is open
    otherwise.
    """
    apart = [apart] if isinstance(apart, Difference) else apart
    verdicts = [one.above(margin) for one in apart]
    n, more, less = len(apart), verdicts.count(True), verdicts.count(False)
    shown = f"{apart[0]}" if n == 1 else f"{more} of {n} above {margin:g}, {less} below"
    turns = shift(apart, lambda of: together(one.above(margin) for one in of), margin)
    if n == 1 and str(apart[0]) in measured:
        shown = ""
    measured = "; ".join(filter(None, (measured, shown)))
    return Claim(text, measured, together(verdicts), expected, turns=turns)


def left_out(text: str, why: str, item: str = "") -> Claim:
    """A claim that cannot be tested here; the page keeps its last row."""
    return Claim(text, f"not run: {why}", None, None, item, ran=False)


def word(verdict: str, ours: bool) -> str:
    """The verdict as it is shown: of a claim that no paper makes nothing is printed."""
    return "holds" if ours and verdict == VERDICTS[0] else verdict


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
        print(f"{claim.text:<{width}}{word(claim.verdict, claim.ours):<20}{claim.measured}{note}")
    wrong = sum(not claim.as_expected for claim in claims)
    absent = sum(not claim.ran for claim in claims)
    ran = len(claims) - absent
    end = f"; {absent} left out, not run" if absent else ""
    print(f"\n{ran - wrong} of {ran} claims as expected{end}")
    if ROWS in os.environ:
        rows = [claim.row() for claim in claims]
        Path(os.environ[ROWS]).write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    return wrong
