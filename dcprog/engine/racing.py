"""Starts that a surrogate offers a race beyond those that every surrogate has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from dcprog.foundation.arrays import Array

__all__ = ["Draft", "Racing"]


@dataclass(frozen=True, eq=False)
class Draft:
    """A point that was cheap to find.

    Attributes
    ----------
    kind : str
        How it was found: ``subset``, ``graduated``, …
    x : array
    value : float
        F(x), of what is minimised.
    """

    kind: str
    x: Array
    value: float


@runtime_checkable
class Racing(Protocol):
    """A surrogate that drafts starts by itself.

    A run is dear and a draft is cheap: the race runs from the best ones only. A surrogate that is
    no such thing is raced by the starts that every surrogate has.
    """

    def drafts(
        self,
        near: list[Array],
        effort: str,
        rng: np.random.Generator,
        time_limit: float | None = None,
    ) -> list[Draft]:
        """Points to run from, the lowest first, none of them near those that runs have ended at.

        Parameters
        ----------
        near : list of array
            Where runs have ended.
        effort : {"default", "high"}
        rng : numpy Generator
        time_limit : float, optional
            Seconds.

        Returns
        -------
        list of Draft
        """
