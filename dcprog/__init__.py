"""Convex programming for problems that are almost convex."""
from dcprog.errors import NotMajorizable, SubproblemError
from dcprog.majorize import Majorant, explain, is_majorizable, majorize
