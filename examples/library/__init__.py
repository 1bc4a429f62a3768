"""What this library itself promises: majorants, descent, criticality, good points, bounds."""
