"""Starts of a race: one file a strategy, and the pool of their points."""
