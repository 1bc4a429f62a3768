"""Theorems on the loop's convergence, and the facts about a declaration that they need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dcprog.foundation.parameters import meant

NOT_SHOWN = "not shown"


@dataclass(frozen=True)
class Fact:
    """A hypothesis of a theorem: shown for the declaration, or not.

    Attributes
    ----------
    shown : bool
        False means that it is not known, or fails.
    why : str
        Reasons, separated by semicolons.
    """

    shown: bool
    why: str

    def __and__(self, other: Fact) -> Fact:
        """The fact that both hold, with the reasons of those not shown; of both if both are."""
        told = [f.why for f in (self, other) if f.shown == (self.shown and other.shown)]
        reasons = dict.fromkeys(reason for why in told for reason in why.split("; "))
        return Fact(self.shown and other.shown, "; ".join(reasons))


UNKNOWN = Fact(False, f"{NOT_SHOWN} for problems of this kind")


@dataclass(frozen=True)
class Hypotheses:
    """Facts about F and its majorants M(·; x₀).

    Attributes
    ----------
    above : Fact
        M touches F at x₀ and is nowhere below it.
    strong : Fact
        M(x; x₀) − (μ/2)‖x‖² is convex, where the norm is of the entries that the fact names.
    modulus : float
        μ.
    whole : bool
        True if ``strong`` is about all entries of x.
    continuous : Fact
        F is continuous where it is finite, on a closed convex set, and the slopes that M takes are
        bounded near every point.
    polyhedral : Fact
        The functions that M replaces by tangents are piecewise linear.
    smooth : Fact
        The functions that M replaces have finite slopes that are locally Lipschitz.
    bounded : Fact
        The sets F ≤ c are bounded.
    subanalytic : Fact
        F is subanalytic over bounded sets.
    """

    above: Fact = UNKNOWN
    strong: Fact = UNKNOWN
    modulus: float = 0.0
    whole: bool = False
    continuous: Fact = UNKNOWN
    polyhedral: Fact = UNKNOWN
    smooth: Fact = UNKNOWN
    bounded: Fact = UNKNOWN
    subanalytic: Fact = UNKNOWN


@dataclass(frozen=True)
class Theorem:
    """A theorem, and whether its hypotheses are shown for a declaration.

    Attributes
    ----------
    name : str
    says : str
        The conclusion, for exact steps (x_{t+1} minimises the majorant at x_t).
    source : str
        Author, year, theorem.
    holds : bool
        True if all hypotheses are shown; False if one is not, which refutes nothing.
    because : str
        Why they hold, or which are not shown and why.

    Examples
    --------
    >>> import numpy as np, dcprog as dc
    >>> risk = dc.Risk(np.array([[1.0], [2.0]]), dc.hinge(), penalty=dc.l1(1.0))
    >>> theorem = dc.which_theorem(risk)["strong decrease"]
    >>> theorem.holds, theorem.because.split(",")[0]
    (False, 'no ridge in the penalty')
    """

    name: str
    says: str
    source: str
    holds: bool
    because: str

    def __str__(self) -> str:
        verdict = "holds" if self.holds else NOT_SHOWN
        lines = [f"{self.name}: {verdict}", f"  {self.says}"]
        lines += [f"  {'because' if self.holds else 'missing'}: {self.because}"]
        return "\n".join([*lines, f"  source: {self.source}"])


@dataclass(frozen=True, repr=False)
class Theorems:
    """The theorems for one declaration, by name.

    Attributes
    ----------
    all : tuple of Theorem
    modulus : float
        μ of the strong decrease, 0 where that is not shown.
    whole : bool
        True if the strong decrease is about all entries of x.

    Examples
    --------
    >>> import cvxpy as cp, dcprog as dc
    >>> x = cp.Variable(2)
    >>> bumps = cp.sum_squares(x) - cp.sum(cp.exp(-cp.square(x - 1)))
    >>> theorems = dc.which_theorem(cp.Problem(cp.Minimize(bumps), [x <= 3, x >= -3]))
    >>> [name for name in ("strong decrease", "finite convergence") if theorems[name].holds]
    ['strong decrease']
    """

    all: tuple[Theorem, ...]
    modulus: float = 0.0
    whole: bool = False

    def __iter__(self) -> Iterator[Theorem]:
        return iter(self.all)

    def __len__(self) -> int:
        return len(self.all)

    def __getitem__(self, name: str) -> Theorem:
        for theorem in self.all:
            if theorem.name == name:
                return theorem
        raise KeyError(f"{name!r}: {meant(name, [theorem.name for theorem in self.all])}")

    @property
    def holding(self) -> tuple[str, ...]:
        """The names of the theorems whose hypotheses are shown."""
        return tuple(theorem.name for theorem in self.all if theorem.holds)

    def __str__(self) -> str:
        return "\n".join(map(str, self.all))

    __repr__ = __str__


@dataclass(frozen=True)
class Check:
    """A theorem that holds for the problem, and what the run shows of it.

    Attributes
    ----------
    theorem : Theorem
    seen : bool or None
        True if the run shows the conclusion, False if it contradicts it; None where it does not
        tell, or took steps that are not the theorem's.
    words : str
    """

    theorem: Theorem
    seen: bool | None
    words: str

    def __str__(self) -> str:
        verdict = {True: "seen", False: "contradicted", None: "open"}[self.seen]
        return f"theorem, {self.theorem.name}: {verdict}, {self.words}"


def theorems_of(h: Hypotheses) -> Theorems:
    """The theorems whose hypotheses are facts about the declaration, and the others.

    Parameters
    ----------
    h : Hypotheses

    Returns
    -------
    Theorems
    """
    entries = "all entries" if h.whole else "the penalised entries"
    rates = h.strong & h.smooth & h.bounded & h.subanalytic & h.continuous
    if not h.whole and h.strong.shown:
        rates = rates & Fact(False, "the strong decrease is of the penalised entries only")
    stated = (
        (
            "descent",
            "F(x_{t+1}) ≤ F(x_t)",
            "Hunter and Lange (2004), section 2; Nie, Wang and Huang (2017), theorem 1",
            h.above,
        ),
        (
            "strong decrease",
            f"F(x_t) − F(x_{{t+1}}) ≥ (μ/2)‖x_{{t+1}} − x_t‖² with μ = {h.modulus:.3g}, in "
            f"{entries}: steps tend to 0 if F is bounded from below"
            if h.strong.shown
            else "F(x_t) − F(x_{t+1}) ≥ (μ/2)‖x_{t+1} − x_t‖²: steps tend to 0 if F is bounded "
            "from below",
            "Pham Dinh and Le Thi (1997), theorem 3 (i)",
            h.above & h.strong,
        ),
        (
            "critical limits",
            "every limit point of x_t minimises a majorant centred there: it is critical",
            "Pham Dinh and Le Thi (1997), theorem 3 (iv); Razaviyayn, Hong and Luo (2013), "
            "theorem 1",
            h.above & h.continuous,
        ),
        (
            "finite convergence",
            "after finitely many steps x_t minimises its own majorant, and nothing changes",
            "Pham Dinh and Le Thi (1997), the section on polyhedral d.c. programs",
            h.above & h.polyhedral & h.continuous,
        ),
        (
            "convergence with a rate",
            "x_t converges, and F(x_t) does so after finitely many steps, linearly or like a power "
            "of t, by the exponent of the Kurdyka–Łojasiewicz inequality",
            "Attouch, Bolte and Svaiter (2013), theorem 2.9; Attouch and Bolte (2009), theorem 2; "
            "Bolte, Daniilidis and Lewis (2007), theorem 3.1",
            h.above & rates,
        ),
        (
            "d-stationary limits",
            "no direction leads down from a limit point of x_t: it is d-stationary",
            "Razaviyayn, Hong and Luo (2013), theorem 1; of differences, Pang, Razaviyayn and "
            "Alvarado (2017)",
            h.above & h.continuous & h.smooth,
        ),
    )
    found = tuple(Theorem(a, says, source, f.shown, f.why) for a, says, source, f in stated)
    return Theorems(found, h.modulus if h.strong.shown else 0.0, h.whole)
