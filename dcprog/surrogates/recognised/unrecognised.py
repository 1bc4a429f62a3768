"""The exception that ends the recognition of a problem that is no risk."""

from __future__ import annotations

__all__ = ["Unrecognised"]


class Unrecognised(Exception):
    """The problem, or a part of it, is not of the form that is looked for."""
