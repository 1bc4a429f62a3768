"""Moves of a race: lower points near the end of a run, one file a strategy."""
