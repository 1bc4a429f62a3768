"""Convex programming for problems that are almost convex."""

from dcprog.certificate import Certificate, Claim
from dcprog.engine import Progress
from dcprog.errors import NotMajorizable, SubproblemError
from dcprog.majorize import Majorant, explain, is_majorizable, majorize
from dcprog.result import History, Result
from dcprog.solve import solve

__all__ = [
    "Certificate",
    "Claim",
    "History",
    "Majorant",
    "NotMajorizable",
    "Progress",
    "Result",
    "SubproblemError",
    "explain",
    "is_majorizable",
    "majorize",
    "solve",
]
