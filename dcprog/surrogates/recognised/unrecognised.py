"""What reading a problem as a risk ends with where it is none."""

from __future__ import annotations

__all__ = ["Unrecognised"]


class Unrecognised(Exception):
    """The problem, or a part of it, is not of the form that is looked for."""
