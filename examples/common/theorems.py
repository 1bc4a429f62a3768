"""Runs held against the theorems on convergence whose hypotheses their declarations show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import dcprog as dc
from examples.common.claims import Claim, own


def contradicted(run: dc.Result) -> list[str]:
    """The names of theorems that hold for a run's declaration and that its certificate denies."""
    return [check.theorem.name for check in run.certificate().theorems if check.seen is False]


def theorem_claims(runs: Sequence[dc.Result]) -> list[Claim]:
    """No run contradicts a theorem that ``dc.which_theorem`` says holds for its declaration."""
    held = Counter(check.theorem.name for run in runs for check in run.certificate().theorems)
    against = [name for run in runs for name in contradicted(run)]
    text = "no run contradicts a theorem on convergence that holds for its declaration"
    told = ", ".join(f"{name} {count}" for name, count in held.items())
    shown = f"{len(runs)} runs: {told}" + "".join(f"; against {name}" for name in against)
    turns = "a run that contradicts one"
    return own([Claim(text, shown, bool(held) and not against, turns=turns)])
