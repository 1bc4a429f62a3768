"""Subproblem solvers, one a file, each behind a small protocol."""
