"""What became of a case: its outcome, what is wrong with it, and which exceptions are allowed."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import dcprog as dc

__all__ = ["DOCUMENTED", "Hang", "Report", "generator", "is_ours", "judged_exception", "where"]

DOCUMENTED = {
    "converged",
    "max_iter",
    "time_limit",
    "interrupted",
    "infeasible",
    "no_feasible_point",
    "unbounded",
    "solver_failed",
}
OURS = Path(dc.__file__).resolve().parent.parent
KINDS = {"problems": 1, "fits": 2, "faults": 3, "bounds": 4, "blocks": 5}


class Hang(BaseException):
    """The alarm of a case; no ``except Exception`` of the library can swallow it."""


@dataclass
class Report:
    """The outcome of a case in a word, its failures, and remarks that are counted, no failures."""

    outcome: str = ""
    failures: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    case: str = ""
    seconds: float = 0.0

    def fail(self, kind: str, detail: str = "") -> None:
        """Note a failure; `kind` is what failures are counted by."""
        self.failures.append(f"{kind}: {detail}" if detail else kind)

    def include(self, kind: str | None, detail: str = "") -> None:
        """The same for a check that found nothing if `kind` is None."""
        if kind is not None:
            self.fail(kind, detail)


def generator(kind: str, number: int) -> np.random.Generator:
    """The random numbers of a case, a function of its name alone."""
    return np.random.default_rng([KINDS[kind], number])


def where(error: BaseException) -> tuple[str, str]:
    """The innermost frame of ours, and whose the frame that raised is: ours, sklearn, other."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if is_ours(f.filename)]
    last = frames[-1].filename if frames else ""
    owner = "ours" if is_ours(last) else "sklearn" if "sklearn" in last else "other"
    if not ours:
        return "outside", owner
    path = Path(ours[-1].filename).resolve().relative_to(OURS)
    return f"{path}:{ours[-1].name}", owner


def is_ours(filename: str) -> bool:
    """Is it a file of the library, wherever its checkout lies?"""
    path = Path(filename).resolve()
    inside = OURS in path.parents and ".venv" not in path.parts
    return inside and path.relative_to(OURS).parts[0] in ("dcprog", "models")


def judged_exception(
    error: BaseException, allowed: Callable[[str], bool]
) -> tuple[str, str | None]:
    """The outcome that an exception is, and the failure if it is an undocumented one.

    A refusal is documented; a ValueError is where our own or scikit-learn's check of the input
    raised it and `allowed` says that this input may be refused with that message.
    """
    if isinstance(error, dc.NotMajorizable):
        return "NotMajorizable", None
    place, owner = where(error)
    name = type(error).__name__
    if isinstance(error, ValueError | TypeError) and owner != "other" and allowed(str(error)):
        return "ValueError", None
    return name, f"undocumented {name} at {place}: {str(error)[:160]}"
