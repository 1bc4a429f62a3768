"""Solvers of the convex subproblems, which share a small protocol."""
