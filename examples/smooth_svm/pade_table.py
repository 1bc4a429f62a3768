"""The Padé table of √(1 − v), in rational numbers, part of verify_pade.py, not run by itself.

The series of |x| with v = 1 − η²x² is f(v) = √(1 − v) = Σ c_i vⁱ. Definition 3.1: the entry [m/n]
of the table is a quotient p/q̃ with f·q̃ − p = O(v^{m+n+1}); q has degree n and p degree m, which
is printed the other way round. Definition 3.2: the formal orthogonal polynomial q of degree n has
L(xⁱq(x)) = 0 for i < n, with the functional L(xⁱ) = c_{m−n+1+i}. Theorem 3.3: q̃(v) = vⁿq(1/v) with
q as a determinant, and p is the part of f·q̃ up to the degree m.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product
from math import comb

from examples.common.claims import Claim, under

Poly = list[Fraction]  # coefficients of 1, v, v², …
PRINTED = {"numerator": (1, 10, 5), "denominator": (5, 11, 1)}  # of P, in z = 1 − v


def series(terms: int) -> Poly:
    """c_0, c_1, …: 1, −1/2 and −(2n − 3)!!/(2n)!!."""
    c = [Fraction(1)]
    for n in range(1, terms):
        c.append(c[-1] * Fraction(2 * n - 3, 2 * n))
    return c


def times(a: Poly, b: Poly) -> Poly:
    product_ = [Fraction(0)] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            product_[i + j] += x * y
    return product_


def determinant(rows: Sequence[Sequence[Fraction]]) -> Fraction:
    if not rows:
        return Fraction(1)
    head, *rest = rows
    found = Fraction(0)
    for j, x in enumerate(head):
        if x:
            found += (-1) ** j * x * determinant([[*row[:j], *row[j + 1 :]] for row in rest])
    return found


def orthogonal(c: Poly, m: int, n: int) -> Poly:
    """q of degree n by its determinant: n rows of moments, and 1, x, …, xⁿ below."""
    moments = [[_at(c, m - n + 1 + i + j) for j in range(n + 1)] for i in range(n)]
    minors = [determinant([[*row[:j], *row[j + 1 :]] for row in moments]) for j in range(n + 1)]
    return [(-1) ** (n + j) * minor for j, minor in enumerate(minors)]


def entry(c: Poly, m: int, n: int) -> tuple[Poly, Poly]:
    """Numerator and denominator of [m/n], by theorem 3.3."""
    denominator = orthogonal(c, m, n)[::-1]
    return times(c[: m + 1], denominator)[: m + 1], denominator


def swapped(c: Poly, m: int, n: int) -> tuple[Poly, Poly]:
    """As definition 3.1 is printed: q of degree m by the same functional, p up to the degree n."""
    denominator = orthogonal(c, 2 * m - n, m)[::-1]
    return times(c[: n + 1], denominator)[: n + 1], denominator


def order(c: Poly, p: Poly, q: Poly) -> int:
    """The first power of v at which f·q and p differ."""
    rest = times(c, q)[: len(c)]
    return next((i for i, x in enumerate(rest) if x != (p[i] if i < len(p) else 0)), len(rest))


def in_z(p: Poly) -> Poly:
    """A polynomial in v as one in z = 1 − v."""
    found = [Fraction(0)] * len(p)
    for i, x in enumerate(p):
        for j in range(i + 1):
            found[j] += x * comb(i, j) * (-1) ** j
    return found


def binomial(n: int) -> tuple[Poly, Poly]:
    """The even and the odd terms of (1 + w)^{2n+1}, in z = w²."""
    even = [Fraction(comb(2 * n + 1, 2 * j)) for j in range(n + 1)]
    odd = [Fraction(comb(2 * n + 1, 2 * j + 1)) for j in range(n + 1)]
    return even, odd


def _at(c: Poly, i: int) -> Fraction:
    return c[i] if i >= 0 else Fraction(0)


def _same(a: tuple[Poly, Poly], b: tuple[Poly, Poly]) -> bool:
    return times(a[0], b[1]) == times(a[1], b[0])


def table_claims(size: int = 4, coefficients: Sequence[int] = (5, 10, 1)) -> list[Claim]:
    c = series(3 * size + 6)
    square = times(c, c)[: len(c)]
    entries = {(m, n): entry(c, m, n) for m, n in product(range(size + 1), repeat=2)}
    moments = [
        sum((x * _at(c, m - n + 1 + i + j) for j, x in enumerate(q[::-1])), Fraction(0))
        for (m, n), (_, q) in entries.items()
        for i in range(n)
    ]
    orders = {(m, n): order(c, p, q) - m - n for (m, n), (p, q) in entries.items()}
    misprinted = {key: swapped(c, *key) for key in entries}
    kept = [key for key, (p, q) in misprinted.items() if any(q) and order(c, p, q) > sum(key)]
    diagonal = {n: tuple(map(in_z, entries[n, n])) for n in range(1, size + 1)}
    binomials = [_same((p, q), binomial(n)) for n, (p, q) in diagonal.items()]
    tops = ", ".join(f"[{n}/{n}] {p[0] / q[0] / 2}" for n, (p, q) in diagonal.items())
    ours = ([Fraction(x) for x in (1, 10, 5)], [Fraction(x) for x in coefficients])
    printed = tuple([Fraction(x) for x in PRINTED[part]] for part in ("numerator", "denominator"))
    misses = order(c, in_z(printed[0]), in_z(printed[1]))
    p, q = diagonal[2]
    shown = f"({_text(p, p[0])})/({_text(q, p[0])})"
    return [
        *under(
            "equations (6)–(17)",
            [
                Claim(
                    "the series is that of √(1 − v), v = 1 − η²x²",
                    f"its square is 1 − v up to v^{len(c) - 1}",
                    square[:2] == [1, -1] and not any(square[2:]),
                    turns="another sign of one of its terms",
                ),
                Claim(
                    "P is built from the entry [2/2]",
                    shown,
                    _same((p, q), ours),
                    corrected=True,
                    turns="11 for 10",
                ),
                Claim(
                    "the entry has 11 in its denominator (as printed)",
                    f"then it differs from the series at v^{misses}, not first at v⁵",
                    misses >= 5,
                    expected=False,
                    turns="10 for 11",
                ),
                Claim(
                    "[n/n] is the even by the odd terms of (1 + w)^{2n+1}, w = η|x|; 0.1/η at 0",
                    f"n ≤ {size}; gaps·η at 0: {tops}",
                    all(binomials) and p[0] / q[0] == Fraction(1, 5),
                    ours=True,
                    turns="another coefficient in one of the entries",
                ),
            ],
        ),
        *under(
            "definition 3.1",
            [
                Claim(
                    "f·q̃ − p = O(v^{m+n+1}), and no better, for q of degree n and p of degree m",
                    f"first apart at v^{{m+n+a}}, a = {_range(orders.values())}, m, n ≤ {size}",
                    set(orders.values()) == {1},
                    corrected=True,
                    turns="moments that begin at another c",
                ),
                Claim(
                    "the same for q of degree m and p of degree n (as printed)",
                    f"in {len(kept)} of {len(entries)} entries, {size + 1} with m = n among them",
                    len(kept) == len(entries),
                    expected=False,
                    turns="m and n exchanged",
                ),
            ],
        ),
        *under(
            "definition 3.2",
            [
                Claim(
                    "the determinant has degree n, and is orthogonal to 1, x, …, x^{n−1}",
                    f"{len(moments)} moments, all 0, of {len(entries)} polynomials",
                    not any(moments) and all(q[0] != 0 for _, q in entries.values()),
                    turns="moments that begin at another c",
                )
            ],
        ),
        *under(
            "theorem 3.3",
            [
                Claim(
                    "its determinants give the entries of the table, in the variable x",
                    f"{sum(x == 1 for x in orders.values())} of {len(entries)}",
                    set(orders.values()) == {1},
                    corrected=True,
                    turns="moments that begin at another c",
                )
            ],
        ),
    ]


def _range(values: Iterable[int]) -> str:
    """The different values."""
    return ", ".join(map(str, sorted(set(values))))


def _text(p: Poly, scale: Fraction) -> str:
    whole = zip((x / scale for x in p), ("", "z", "z²"), strict=False)
    return " + ".join(f"{x}{power}" if x != 1 or not power else power for x, power in whole)
