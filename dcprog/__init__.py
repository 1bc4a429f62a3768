"""Convex programming for problems that are almost convex."""

from dcprog.certificate import Certificate, Claim
from dcprog.engine import Progress
from dcprog.errors import NotMajorizable, SubproblemError
from dcprog.losses import hinge, squared_hinge
from dcprog.majorize import Majorant, explain, is_majorizable, majorize
from dcprog.penalties import l2
from dcprog.result import History, Result
from dcprog.risk import Risk
from dcprog.rows import binary_margins, class_margins
from dcprog.solve import solve
from dcprog.transforms import cap_at, cap_largest, power_of

__all__ = [
    "Certificate",
    "Claim",
    "History",
    "Majorant",
    "NotMajorizable",
    "Progress",
    "Result",
    "Risk",
    "SubproblemError",
    "binary_margins",
    "cap_at",
    "cap_largest",
    "class_margins",
    "explain",
    "hinge",
    "is_majorizable",
    "l2",
    "majorize",
    "power_of",
    "solve",
    "squared_hinge",
]
